"""What an app did for its users, as it was recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from .usage import Usage

SpanKind = Literal["run", "step", "model", "tool", "retrieval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One thing an app did: an answer to a user, or a step on the way to one."""

    id: str
    """16 hex digits."""
    session: str
    """The id of the session it is part of."""
    project: str
    parent: str = ""
    """The id of the span that it is a step of; empty for an answer to a user, the only kind that becomes a test case."""
    kind: SpanKind = "run"
    name: str = ""
    """What was called: a function, a model, a tool."""
    template: str = ""
    """The registered name of the prompt that it filled; empty where it filled none."""
    started: str
    """ISO 8601 in UTC, to the microsecond."""
    seconds: float | None = None
    """None when it did not end."""
    input: Any = None
    output: Any = None
    error: str | None = None
    """One line: the type and the text of what it raised; None when it ended well."""
    contexts: tuple[str, ...] | None = None
    """What was retrieved; None when nobody said."""
    model: str = ""
    usage: Usage | None = None
    """Tokens; None when nobody counted them."""
    cost: float | None = None
    """In US dollars; None when unknown."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What an app did for one user in one go."""

    id: str
    """16 hex digits."""
    project: str
    started: str
    """ISO 8601 in UTC, to the microsecond."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    dropped: int = 0
    """Spans that were not kept because they came faster than the store could take them."""
    spans: tuple[Span, ...] = field(default=(), repr=False)
    """In the order in which they began."""

    @property
    def answers(self) -> tuple[Span, ...]:
        """The spans that are no steps of others."""
        return tuple(span for span in self.spans if not span.parent)


def session_id_for_key(project: str, key: object) -> str:
    """The id of the session of a project that the app knows by a key of its own; the same in every process.

    >>> session_id_for_key("shop", "user-7") == session_id_for_key("shop", "user-7") != session_id_for_key("bank", "user-7")
    True
    """
    return sha256(f"session-1\0{project}\0{key}".encode(errors="surrogatepass")).hexdigest()[:16]
