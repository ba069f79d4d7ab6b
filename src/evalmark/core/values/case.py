"""Cases, conversations and outputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

from .plain_data import canonical, fingerprint

_CLUSTER_FIELDS = ("input", "expected", "contexts", "history")
"""Fields of a case that may cluster cases, besides those of its metadata and of its input."""
HASH_MASK = (1 << 64) - 1
"""Keeps 64 bits of a hash, as a number that is not negative."""
_MADE_ID = re.compile(r"[0-9a-f]{12}(-[0-9]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider reports them; None if it reports none or an impossible number."""

    input_tokens: int | None = None
    """All input tokens, those read from the provider's cache included."""
    output_tokens: int | None = None
    """All output tokens, those of reasoning included."""
    cached_tokens: int | None = None
    """Input tokens read from the provider's cache."""
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A good (liked) or bad (disliked) answer to a case."""

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
    """A call of a tool by a target, with its result."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    error: str | None = None
    """The tool's error in one line; None if it did not fail, or never ran."""
    id: str = ""
    """The model's id of the call; empty if it has none."""
    started: str | None = None
    """ISO 8601 in UTC; None if unknown."""
    seconds: float | None = None
    """How long the call took; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The output of a target for a case, or its error.

    >>> Output(value="Oslo", contexts=("Oslo is the capital of Norway.",)).error is None
    True
    """

    value: Any = None
    error: str | None = None
    """One line: the type and text of the target's exception; None if it raised none."""
    seconds: float | None = None
    """Wall time inside the target, without queues; for a model, the time of the attempt that succeeded. None if nothing
    was called (the row has the output)."""
    waited: float | None = None
    """Seconds spent waiting in addition to `seconds`: queues, rate limits and retries; None if not measured."""
    contexts: tuple[str, ...] | None = None
    """The passages the target retrieved; None if it did not report any."""
    tool_calls: tuple[ToolCall, ...] = ()
    """In call order; taken from the transcript if only that is given."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    transcript: tuple[Turn | ToolCall, ...] = ()
    """Messages and tool calls in order; empty if the target does not report them."""
    usage: Usage | None = None
    """The tokens the target reports; None if it reports none."""
    masked: bool = False
    """Whether a secret was masked in the stored output or case; such an output cannot be scored again."""

    def __post_init__(self) -> None:
        if self.transcript and not self.tool_calls:
            calls = tuple(event for event in self.transcript if isinstance(event, ToolCall))
            object.__setattr__(self, "tool_calls", calls)


def is_generated_id(key: str) -> bool:
    """Tell whether the id of a case looks generated: 12 hex digits, and a number for duplicates.

    >>> is_generated_id("53383426a9b2"), is_generated_id("53383426a9b2-2"), is_generated_id("paris")
    (True, True, False)
    """
    return _MADE_ID.fullmatch(key) is not None


def is_blank(value: Any) -> bool:
    r"""Tell whether a value is None or a text without a visible character.

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
    """One row of a dataset: an input, and what is known about good and bad answers to it.

    >>> case = Case(id="no", input="The capital of Norway?", expected="Oslo", tags=("geo",))
    >>> case.liked, case.contexts
    (('Oslo',), None)
    """

    id: str
    input: Any = None
    expected: Any = None
    """The reference answer; None if there is none."""
    examples: tuple[Example, ...] = ()
    """Further answers, liked and disliked."""
    contexts: tuple[str, ...] | None = None
    """The passages on which an output should be based; None if the row has none."""
    history: tuple[Turn, ...] = ()
    given: Output | None = None
    """An output that the row already has; it is scored if there is no target."""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    """`file:line` of the row; not part of the fingerprint."""
    original: str = ""
    """The fingerprint of the original row, if a secret was masked in the stored one; else empty."""

    @property
    def has_generated_id(self) -> bool:
        """Whether the id looks generated, as `is_generated_id` tells."""
        return is_generated_id(self.id)

    @property
    def liked(self) -> tuple[Any, ...]:
        """The expected answer, if any, and all liked examples."""
        first = () if self.expected is None else (self.expected,)
        return first + tuple(e.value for e in self.examples if e.liked)

    @property
    def references(self) -> tuple[Any, ...]:
        """The liked answers that are not blank, against which an output can be scored.

        >>> Case(id="1", expected="  ", examples=(Example(value="Oslo"),)).references
        ('Oslo',)
        """
        return tuple(value for value in self.liked if not is_blank(value))

    @property
    def disliked(self) -> tuple[Any, ...]:
        """All disliked examples."""
        return tuple(e.value for e in self.examples if not e.liked)

    def contexts_of(self, output: Output) -> tuple[str, ...] | None:
        """Return the passages for an output: its own if it has any, else those of the row."""
        return self.contexts if output.contexts is None else output.contexts

    @property
    def fingerprint(self) -> str:
        """A hash of everything that a target or a scorer can see of the case."""
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


def cluster_value(case: Case, field: str) -> Any:
    """Return what a case has in the field that clusters cases; None if it has nothing there.

    The field is one of the metadata, of the input if that is a mapping, or `input`, `expected`, `contexts` or `history`.

    >>> cluster_value(Case(id="1", input={"document": "a.pdf", "question": "Who?"}), "document")
    'a.pdf'
    """
    for fields in (case.metadata, case.input):
        if isinstance(fields, Mapping) and fields.get(field) is not None:
            return fields[field]
    return (getattr(case, field) or None) if field in _CLUSTER_FIELDS else None


def content_hash(case: Case) -> int:
    """Return a hash of everything in a case but its id; equal for equal rows, within one process.

    >>> content_hash(Case(id="1", input="Who?")) == content_hash(Case(id="2", input="Who?"))
    True
    """
    given = None if case.given is None else (case.given.value, case.given.contexts, case.given.tool_calls)
    parts = (case.input, case.expected, case.examples, case.contexts, case.history, given, case.tags, case.metadata)
    return hash(tuple(map(hashable, parts))) & HASH_MASK


def hashable(value: Any) -> Any:
    """Return what is hashed in the place of a value; equal for equal values."""
    if value is None or isinstance(value, str):
        return value
    return canonical(value) if value else type(value)
