"""Sessions and spans while they last, as the app sees them."""

import os
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

from evalmark.core.values.session import SpanKind, session_id_for_key
from evalmark.core.values.usage import Usage
from evalmark.runs.engine.trial import describe_error

from .copying import copied

if TYPE_CHECKING:
    from .desks import Desk
    from .texts import Redact

Under = Union["OpenSession", "OpenSpan", None]

# An app calls through code that knows nothing of recording; tasks and copied contexts carry it along.
CURRENT: ContextVar[Under] = ContextVar("evalmark_recording", default=None)
"""The innermost session or span that is under way here."""
RECORD = "EVALMARK_RECORD"
_OFF = frozenset(("off", "0", "false", "no"))


def is_off() -> bool:
    """Whether the environment switches recording off."""
    return os.environ.get(RECORD, "").lower() in _OFF


def session_id(project: str, key: object) -> str:
    """The id of the session that an app knows by a key of its own; a fresh one where it has none."""
    return os.urandom(8).hex() if key is None else session_id_for_key(project, key)


def is_sampled(session: str, share: float) -> bool:
    """Whether a session is among those that are recorded; the same word for the same session everywhere.

    >>> is_sampled("00000000ffffffff", 0.01), is_sampled("ffffffff00000000", 0.99), is_sampled("f" * 16, 1.0)
    (True, False, True)
    """
    return share >= 1 or int(session[:8], 16) < share * 2**32


class OpenSession:
    """A session while it lasts."""

    __slots__ = ("above", "desk", "id", "maker", "metadata", "project", "redact", "said", "started")

    def __init__(self, identity: str, project: str, desk: "Desk | None", redact: "Redact | None" = None) -> None:
        self.id = identity
        self.project = project
        self.metadata: dict[str, Any] = {}
        """What else is known of it; may be added to while it lasts."""
        self.said: dict[str, Any] = {}
        """A copy of the metadata, made with the last answer."""
        self.started = time.time()
        self.desk = desk
        """Where its spans go; None: nowhere."""
        self.redact = redact
        self.above: Under = None
        self.maker: object = None

    def answer(self, input: Any = None, *, name: str = "", metadata: Mapping[str, Any] | None = None) -> "OpenSpan":  # noqa: A002  what a user calls it
        """An answer to a user, for `with`: what the app is asked, and what it is called."""
        return OpenSpan(self, None, kind="run", name=name).asked(input, metadata)


class OpenSpan:
    """An answer or a step while it lasts; each field may be set until it ends."""

    __slots__ = (
        *("above", "answer", "contexts", "cost", "error", "id", "input", "kind", "maker", "metadata", "model"),
        *("name", "output", "parent", "retrieved", "seconds", "session", "started", "template", "usage"),
        *("_asked", "_clock"),
    )

    def __init__(self, session: OpenSession, above: "OpenSpan | None", *, kind: SpanKind, name: str = "") -> None:
        self.session = session
        self.id = os.urandom(8).hex()
        self.parent = "" if above is None else above.id
        self.answer: OpenSpan = self if above is None else above.answer
        """The answer that it is a step of; itself where it is one."""
        self.kind: SpanKind = kind
        self.name = name
        self.input: Any = None
        self._asked: Any = None
        """The copy of the input that has been made already."""
        self.output: Any = None
        self.error: str | None = None
        self.contexts: Any = None
        """Texts that were retrieved; of an answer, those of its retrieval steps unless others are set."""
        self.template = ""
        """The registered name of the prompt that it fills."""
        self.model = ""
        self.usage: Usage | Mapping[str, Any] | None = None
        """Tokens, as `Usage` or in the words of a provider."""
        self.cost: float | None = None
        """In US dollars."""
        self.metadata: dict[str, Any] = {}
        self.seconds: float | None = None
        self.retrieved: list[Any] = []
        self.above: Under = None
        self.maker: object = None
        self.started = time.time()
        self._clock = time.perf_counter()

    def asked(self, given: Any, metadata: Mapping[str, Any] | None = None) -> "OpenSpan":
        """Take a copy of what it is asked, and of what else is known."""
        if self.session.desk is not None:
            self.input = self._asked = safely(given)
            if metadata:
                self.metadata = safely(dict(metadata))
        return self

    def take(self, arguments: Callable[[], Any]) -> None:
        """Take what a function is called with for the input."""
        try:
            self.input = self._asked = arguments()
        except Exception as fault:  # noqa: BLE001  foreign code: the app's own objects are read; it must not notice
            self.input = self._asked = _unreadable(fault)

    def end(self, output: Any = None) -> None:
        """It has ended well; `output` is what it gave, unless that was set before."""
        if self.session.desk is None:
            return
        self.seconds = time.perf_counter() - self._clock
        try:
            self._seal(output)
        except Exception as fault:  # noqa: BLE001  foreign code: the app's own objects are read; it must not notice
            self.output = _unreadable(fault)
        self.session.desk.put(self)

    def fail(self, error: BaseException) -> None:
        """It has ended in an error."""
        if self.session.desk is not None:
            self.error = describe_error(error)
            self.end()

    def _seal(self, output: Any) -> None:
        """Copy all that the app may change after the end."""
        if self.input is not self._asked:
            self.input = copied(self.input)
        self.output = copied(output if self.output is None else self.output)
        if self.metadata:
            self.metadata = copied(self.metadata)
        if self.contexts is not None:
            self.contexts = copied(self.contexts)
        if self.usage is not None and type(self.usage) is not Usage:
            self.usage = copied(self.usage)
        if self.answer is self and self.session.metadata:
            self.session.said = copied(self.session.metadata)
        if self.kind == "retrieval" and self.answer is not self:
            self.answer.retrieved.append(self.output if self.contexts is None else self.contexts)

    def __enter__(self) -> "OpenSpan":
        self.above = CURRENT.get()
        CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave(self)
        if error is None:
            self.end()
        else:
            self.fail(error)


def leave(under: OpenSession | OpenSpan) -> None:
    """Make what was under way before it the innermost again, here, unless it has been left already."""
    found = CURRENT.get()
    while found is not None and found is not under:
        found = found.above
    if found is under:
        CURRENT.set(under.above)


def current() -> OpenSpan:
    """The innermost answer or step that is under way here; outside of all, one that nobody keeps."""
    found = CURRENT.get()
    return found if isinstance(found, OpenSpan) else OpenSpan(OpenSession("", "", None), None, kind="step")


def safely(value: Any) -> Any:
    """A copy of a value, or why there is none; never raises."""
    try:
        return copied(value)
    except Exception as fault:  # noqa: BLE001  foreign code: the app's own objects are read; it must not notice
        return _unreadable(fault)


def _unreadable(fault: Exception) -> str:
    return f"(not kept: {type(fault).__name__})"
