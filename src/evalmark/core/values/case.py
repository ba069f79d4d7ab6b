"""What goes in: a case, its examples, and what a target gave for it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

from .plain_data import fingerprint
from .usage import Usage

_MADE_ID = re.compile(r"[0-9a-f]{12}(-[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """An answer that somebody liked or disliked."""

    value: Any
    liked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation."""

    role: str
    """`user`, `assistant`, `system` or `tool`."""
    content: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool a target called, and what came back."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    error: str | None = None
    """What the tool said went wrong, in one line; None when it did not fail, or never ran."""
    id: str = ""
    """By which the model tells its calls apart; empty where nobody gave one."""
    started: str | None = None
    """ISO 8601 in UTC; None when nobody noted it."""
    seconds: float | None = None
    """Until the result was there; None when nobody took the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What the target gave for a case, or why it gave nothing."""

    value: Any = None
    error: str | None = None
    """One line: the type and the text of what the target raised; None when it answered."""
    seconds: float | None = None
    """Wall time inside the target, in no queue; of a model, that of the attempt that succeeded. None when nothing was
    called (a given answer)."""
    waited: float | None = None
    """Seconds beside `seconds` until the answer was there: queues, rate limits and retries; None where not measured."""
    contexts: tuple[str, ...] | None = None
    """What the target retrieved; None when it said nothing about it."""
    tool_calls: tuple[ToolCall, ...] = ()
    """In the order they were made; those of the transcript where only that is given."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    transcript: tuple[Turn | ToolCall, ...] = ()
    """What was said and which tools were called, in order; empty when the target keeps none."""
    usage: Usage | None = None
    """Tokens that the target says it took; None when it said nothing of them."""
    masked: bool = False
    """Whether a secret was taken out of what is kept of it, or of its case; no scorer can judge it anew."""

    def __post_init__(self) -> None:
        if self.transcript and not self.tool_calls:
            calls = tuple(event for event in self.transcript if isinstance(event, ToolCall))
            object.__setattr__(self, "tool_calls", calls)


def is_blank(value: Any) -> bool:
    r"""Whether a value is None or a text without a visible character: blanks, marks of no width and controls are none.

    >>> is_blank(" \n"), is_blank("\u200b\ufeff"), is_blank(0)
    (True, True, False)
    """
    if not isinstance(value, str):
        return value is None
    text = value.strip()
    if not text or text[0].isalnum():
        return not text
    return all(character.isspace() or category(character) in ("Cf", "Cc") for character in text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: an input, and what is known about good and bad answers to it."""

    id: str
    input: Any = None
    expected: Any = None
    """The reference answer; None when there is none."""
    examples: tuple[Example, ...] = ()
    """Further answers, liked and disliked."""
    contexts: tuple[str, ...] | None = None
    """The passages an answer should rest on; None when the row says nothing about them."""
    history: tuple[Turn, ...] = ()
    given: Output | None = None
    """An answer that the row brings along; scored as it is when there is no target."""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    """`file:line` of the row; not part of the fingerprint."""
    original: str = ""
    """The fingerprint of the row as it was, where a secret was taken out of what is kept of it; else empty."""

    @property
    def has_generated_id(self) -> bool:
        """Whether the id looks like one that was made of a row without: 12 hex digits, and a count for twins."""
        return _MADE_ID.fullmatch(self.id) is not None

    @property
    def liked(self) -> tuple[Any, ...]:
        """The expected answer, if there is one, and all liked examples."""
        first = () if self.expected is None else (self.expected,)
        return first + tuple(e.value for e in self.examples if e.liked)

    @property
    def references(self) -> tuple[Any, ...]:
        """The liked answers that an output can be judged against: a blank text is none.

        >>> Case(id="1", expected="  ", examples=(Example(value="Oslo"),)).references
        ('Oslo',)
        """
        return tuple(value for value in self.liked if not is_blank(value))

    @property
    def disliked(self) -> tuple[Any, ...]:
        """All disliked examples."""
        return tuple(e.value for e in self.examples if not e.liked)

    def contexts_of(self, output: Output) -> tuple[str, ...] | None:
        """The passages an output should rest on: those it brings along, else those of the row."""
        return self.contexts if output.contexts is None else output.contexts

    @property
    def fingerprint(self) -> str:
        """Changes whenever anything a target or a scorer can see changes."""
        if self.original:
            return self.original
        given = None if self.given is None else (self.given.value, self.given.contexts, self.given.tool_calls)
        return fingerprint(
            self.id,
            self.input,
            self.expected,
            self.examples,
            self.contexts,
            self.history,
            given,
            self.tags,
            self.metadata,
        )
