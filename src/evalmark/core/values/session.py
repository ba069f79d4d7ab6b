"""Recorded sessions of an app, with their spans."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

from .case import Usage

SESSION_FIELD = "session"
"""The field of a case's metadata that names its session, by which cases of a project depend on each other."""
SpanKind = Literal["run", "step", "model", "tool", "retrieval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One recorded operation of an app: an answer to a user, or a step of one."""

    id: str
    """16 hex digits."""
    session: str
    """The id of its session."""
    project: str
    parent: str = ""
    """The id of the parent span; empty for an answer to a user. Only those become test cases."""
    kind: SpanKind = "run"
    name: str = ""
    """The name of the function, model or tool that was called."""
    template: str = ""
    """The registered name of its prompt template; empty if it has none."""
    started: str
    """ISO 8601 in UTC, to the microsecond."""
    seconds: float | None = None
    """None if it did not end."""
    input: Any = None
    output: Any = None
    error: str | None = None
    """One line: the type and text of its exception; None if it succeeded."""
    contexts: tuple[str, ...] | None = None
    """The retrieved passages; None if unknown."""
    model: str = ""
    usage: Usage | None = None
    """Tokens; None if unknown."""
    cost: float | None = None
    """In US dollars; None if unknown."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session of an app with one user."""

    id: str
    """16 hex digits."""
    project: str
    started: str
    """ISO 8601 in UTC, to the microsecond."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    dropped: int = 0
    """How many spans were dropped because they came faster than the store could save them."""
    spans: tuple[Span, ...] = field(default=(), repr=False)
    """Ordered by start time."""

    @property
    def answers(self) -> tuple[Span, ...]:
        """The spans without a parent."""
        return tuple(span for span in self.spans if not span.parent)


def session_id_for_key(project: str, key: object) -> str:
    """Make the id of a session from the app's own key; the same in every process.

    >>> session_id_for_key("shop", "user-7") == session_id_for_key("shop", "user-7") != session_id_for_key("bank", "user-7")
    True
    """
    return sha256(f"session-1\0{project}\0{key}".encode(errors="surrogatepass")).hexdigest()[:16]


def seconds_between(began: str, ended: str) -> float | None:
    """Return the seconds between two times; None if one is invalid or lacks a time zone, or the order is wrong.

    >>> seconds_between("2026-11-21T10:15:00Z", "2026-11-21T10:16:30Z")
    90.0
    >>> seconds_between("2026-11-21T10:15:00Z", "soon"), seconds_between("2026-11-21T10:15:00Z", "2026-11-21T10:14:00Z")
    (None, None)
    """
    try:
        seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    except (TypeError, ValueError):
        return None
    return seconds if seconds >= 0 else None
