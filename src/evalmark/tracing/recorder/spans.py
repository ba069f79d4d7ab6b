"""Open sessions and spans: what the app sees while it is being recorded."""

import os
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Union

from evalmark.core.values.case import Usage
from evalmark.core.values.session import SpanKind, session_id_for_key
from evalmark.runs.engine.trial import describe_error

from .copies import copy_value

Scope = Union["OpenSession", "OpenSpan", None]
Redact = Callable[[str], str]
"""Returns what may be stored of a text."""

# Apps call through code that does not know of recording; tasks and copied contexts carry the variable along.
CURRENT: ContextVar[Scope] = ContextVar("evalmark_recording", default=None)
"""The innermost open session or span of the current context."""
RECORD = "EVALMARK_RECORD"
_OFF = frozenset(("off", "0", "false", "no"))


def is_recording_off() -> bool:
    """Whether the environment variable `EVALMARK_RECORD` switches recording off."""
    return os.environ.get(RECORD, "").lower() in _OFF


def session_id(project: str, key: object) -> str:
    """The id of the session with this key of the app; a random id where the key is None."""
    return os.urandom(8).hex() if key is None else session_id_for_key(project, key)


def is_sampled(session: str, share: float) -> bool:
    """Whether a session is in the recorded share; the result is the same in every process.

    >>> is_sampled("00000000ffffffff", 0.01), is_sampled("ffffffff00000000", 0.99), is_sampled("f" * 16, 1.0)
    (True, False, True)
    """
    return share >= 1 or int(session[:8], 16) < share * 2**32


class OpenSession:
    """A session that is being recorded; `with evalmark.record(...) as session` returns one.

    Attributes:
        id: 16 hexadecimal digits.
        project: The name given to `record`.
        metadata: More data about the session, stored with it; may be changed until the session ends.

    Example:
        >>> from evalmark.recording import OpenSession
        >>> session = OpenSession("0123456789abcdef", "demo")
        >>> with session.answer("Is Oslo in Norway?") as span:
        ...     span.output = "Yes."
    """

    __slots__ = ("id", "metadata", "metadata_copy", "opened_by", "outer", "project", "redact", "sink", "started")

    def __init__(
        self,
        identity: str,
        project: str,
        sink: "Callable[[OpenSpan], None] | None" = None,
        redact: Redact | None = None,
    ) -> None:
        """Create a session; `sink` receives each ended span, and nothing is recorded without one."""
        self.id = identity
        self.project = project
        self.metadata: dict[str, Any] = {}
        self.metadata_copy: dict[str, Any] = {}
        """The metadata as it was when the last answer ended."""
        self.started = time.time()
        self.sink = sink
        self.redact = redact
        self.outer: Scope = None
        self.opened_by: object = None

    def answer(self, input: Any = None, *, name: str = "", metadata: Mapping[str, Any] | None = None) -> "OpenSpan":  # noqa: A002  the name users pass
        """Create the top-level span of one answer of the app, for a `with` block.

        Args:
            input: The question or request to the app.
            name: A name for the answer; empty for none.
            metadata: More data to store with the answer.

        Returns:
            The span; set its `output` inside the block.
        """
        return OpenSpan(self, None, kind="run", name=name).set_input(input, metadata)


class OpenSpan:
    """One answer, or one step of an answer, that is being recorded. Attributes may be set until it ends.

    Attributes:
        input: The input of the app, the model or the tool.
        output: What it returns.
        contexts: Retrieved texts; an answer without its own has those of its retrieval steps.
        template: The registered name of the prompt that the step fills.
        model: The name of the model that was called.
        usage: Token counts, as `Usage` or as the mapping a provider returned.
        cost: US dollars.
        name: The name of the step or answer.
        metadata: More data to store with the span.

    Example:
        >>> from evalmark.recording import OpenSession
        >>> with OpenSession("0123456789abcdef", "demo").answer("What is 1 + 1?") as span:
        ...     span.output, span.model = "2", "openai/NAME"
    """

    __slots__ = (
        *("answer", "contexts", "cost", "error", "id", "input", "kind", "metadata", "model", "name", "opened_by"),
        *("outer", "output", "parent", "retrieved", "seconds", "session", "started", "template", "usage"),
        *("_clock", "_copied_input"),
    )

    def __init__(self, session: OpenSession, parent: "OpenSpan | None", *, kind: SpanKind, name: str = "") -> None:
        """Create a span of a session, inside of `parent` if that is given."""
        self.session = session
        self.id = os.urandom(8).hex()
        self.parent = "" if parent is None else parent.id
        self.answer: OpenSpan = self if parent is None else parent.answer
        """The top-level span around this one; the span itself if it is top-level."""
        self.kind: SpanKind = kind
        self.name = name
        self.input: Any = None
        self._copied_input: Any = None
        """The input if it has been copied already."""
        self.output: Any = None
        self.error: str | None = None
        self.contexts: Any = None
        self.template = ""
        self.model = ""
        self.usage: Usage | Mapping[str, Any] | None = None
        self.cost: float | None = None
        self.metadata: dict[str, Any] = {}
        self.seconds: float | None = None
        self.retrieved: list[Any] = []
        """The outputs of the retrieval steps inside of this answer."""
        self.outer: Scope = None
        self.opened_by: object = None
        self.started = time.time()
        self._clock = time.perf_counter()

    def set_input(self, value: Any, metadata: Mapping[str, Any] | None = None) -> "OpenSpan":
        """Copy the input and the metadata; return the span."""
        if self.session.sink is not None:
            self.input = self._copied_input = copy_or_error(value)
            if metadata:
                self.metadata = copy_or_error(dict(metadata))
        return self

    def set_arguments(self, arguments: Callable[[], Any]) -> None:
        """Take the copied arguments of a function call as the input."""
        try:
            self.input = self._copied_input = arguments()
        except Exception as error:  # noqa: BLE001  objects of the app are read here, and it must not fail
            self.input = self._copied_input = _unreadable(error)

    def end(self, output: Any = None) -> None:
        """End the span and hand it over for storing.

        Args:
            output: What the app returned; ignored if `output` was set before.
        """
        if self.session.sink is None:
            return
        self.seconds = time.perf_counter() - self._clock
        try:
            self._copy_all(output)
        except Exception as error:  # noqa: BLE001  objects of the app are read here, and it must not fail
            self.output = _unreadable(error)
        self.session.sink(self)

    def fail(self, error: BaseException) -> None:
        """End the span with an error.

        Args:
            error: What the app raised.
        """
        if self.session.sink is not None:
            self.error = describe_error(error)
            self.end()

    def _copy_all(self, output: Any) -> None:
        """Copy everything that the app may change after the end."""
        if self.input is not self._copied_input:
            self.input = copy_value(self.input)
        self.output = copy_value(output if self.output is None else self.output)
        if self.metadata:
            self.metadata = copy_value(self.metadata)
        if self.contexts is not None:
            self.contexts = copy_value(self.contexts)
        if self.usage is not None and type(self.usage) is not Usage:
            self.usage = copy_value(self.usage)
        if self.answer is self and self.session.metadata:
            self.session.metadata_copy = copy_value(self.session.metadata)
        if self.kind == "retrieval" and self.answer is not self:
            self.answer.retrieved.append(self.output if self.contexts is None else self.contexts)

    def __enter__(self) -> "OpenSpan":
        self.outer = CURRENT.get()
        CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        exit_span(self)
        if error is None:
            self.end()
        else:
            self.fail(error)


def exit_span(scope: OpenSession | OpenSpan) -> None:
    """Make the session or span around this one current again, unless this one has been left already."""
    current_scope = CURRENT.get()
    while current_scope is not None and current_scope is not scope:
        current_scope = current_scope.outer
    if current_scope is scope:
        CURRENT.set(scope.outer)


def current() -> OpenSpan:
    """Return the innermost open answer or step.

    Returns:
        The span; outside of any answer a span that is not stored, so that setting its attributes has no effect.

    Example:
        >>> from evalmark import record
        >>> record.current().metadata["passages"] = 3
    """
    scope = CURRENT.get()
    return scope if isinstance(scope, OpenSpan) else OpenSpan(OpenSession("", ""), None, kind="step")


def copy_or_error(value: Any) -> Any:
    """Copy a value; return a note with the name of the error if copying fails."""
    try:
        return copy_value(value)
    except Exception as error:  # noqa: BLE001  objects of the app are read here, and it must not fail
        return _unreadable(error)


def _unreadable(error: Exception) -> str:
    return f"(not kept: {type(error).__name__})"
