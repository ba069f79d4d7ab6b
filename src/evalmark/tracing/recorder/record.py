"""`evalmark.record` and `evalmark.record.step`: decorators and context managers that record an app."""

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, overload

from evalmark.core.errors import ConfigError
from evalmark.core.values.session import SpanKind

from .queue_registry import queue_for
from .spans import (
    CURRENT,
    OpenSession,
    OpenSpan,
    Redact,
    Scope,
    current,
    exit_span,
    is_recording_off,
    is_sampled,
    session_id,
)
from .wrappers import ArgumentCopier, wrap_function

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("step", "model", "tool", "retrieval")


class StepRecorder:
    """Records a step of an answer, as a context manager or a decorator; `step` creates it."""

    def __init__(self, name: str, kind: SpanKind, template: str, value: Any) -> None:
        """`value` is the input of the step when used as a context manager."""
        self._name, self._kind, self._template, self._input = name, kind, template, value

    def __call__(self, function: F) -> F:
        """Return the function so that each call inside of an answer is recorded as a step.

        Raises:
            ConfigError: `function` is not callable.
        """
        if not callable(function):
            raise ConfigError(f"step() decorates a function; found {function!r}.")
        name, copy_arguments = self._name or getattr(function, "__name__", ""), ArgumentCopier(function)

        def begin(args: tuple[Any, ...], named: dict[str, Any]) -> OpenSpan | None:
            span = self._new_span(name)
            return None if span is None else _enter(span, lambda: copy_arguments(args, named))

        return cast(F, wrap_function(function, begin))

    def __enter__(self) -> OpenSpan:
        span = self._new_span(self._name)
        if span is None:
            return OpenSpan(OpenSession("", ""), None, kind=self._kind)
        span.opened_by = self
        return span.set_input(self._input).__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """End the innermost step opened by this recorder."""
        scope = _scope_of(self)
        if isinstance(scope, OpenSpan):
            scope.__exit__(kind, error, trace)

    def _new_span(self, name: str) -> OpenSpan | None:
        scope = CURRENT.get()
        if not isinstance(scope, OpenSpan) or scope.session.sink is None:
            return None
        span = OpenSpan(scope.session, scope, kind=self._kind, name=name)
        span.template = self._template
        return span


@overload
def step(name: F, /) -> F: ...


@overload
def step(name: str = "", /, *, kind: SpanKind = "step", template: str = "", input: Any = None) -> StepRecorder: ...


def step(name: Any = "", /, *, kind: SpanKind = "step", template: str = "", input: Any = None) -> Any:  # noqa: A002  the name users pass
    """Record a step of an answer: a call of a model or a tool, or a search. Outside of answers nothing is recorded.

    Use it as a decorator, with or without arguments, or in a `with` block.

    Args:
        name: The name of the step; by default the name of the decorated function.
        kind: `step`, `model`, `tool` or `retrieval`. The outputs of retrievals become the contexts of the answer.
        template: The registered name of the prompt that the step fills; empty for none.
        input: The input of the step in a `with` block; a decorated function records its arguments.

    Returns:
        The decorated function, or a context manager that returns the span of the step.

    Raises:
        ConfigError: There is no such kind.

    Example:
        >>> from evalmark import record
        >>> with record.step("search", kind="retrieval", input="Oslo") as span:
        ...     span.output = ["Oslo is the capital of Norway."]
    """
    if kind not in KINDS:
        raise ConfigError(f"step(): kind is {kind!r}; use one of {', '.join(KINDS)}.")
    if callable(name):
        return StepRecorder("", kind, template, None)(name)
    return StepRecorder(name, kind, template, input)


class record:  # noqa: N801  used like a function
    """Record what an app answers its users, in the store, as a source of test cases.

    As a decorator it records each call of a function as an answer: the arguments are the input; the result, the yielded
    items or the exception are the output. In a `with` block it opens a session whose answers are recorded one by one.

    Args:
        project: The name under which the recorded sessions are found.
        session: The key by which the app knows the session, such as a user id; None for a new session each time.
        metadata: More data to store with the session.
        sample: The share of sessions to record, from 0 to 1.
        redact: A function that returns what may be stored of a text. Keys and passwords are masked in any case.
        store: A file or the address of a server; None for the store in the settings.

    Raises:
        ConfigError: An argument is not valid. Recording itself never raises.

    Example:
        >>> from evalmark import record
        >>> with record("demo", session="user-7", sample=0) as session:
        ...     with session.answer("Is Oslo in Norway?") as span:
        ...         span.output = "Yes."
    """

    step = staticmethod(step)
    current = staticmethod(current)

    def __init__(
        self,
        project: str,
        *,
        session: object = None,
        metadata: Mapping[str, Any] | None = None,
        sample: float = 1.0,
        redact: Redact | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(project, str) or not project.strip():
            raise ConfigError(f"record(): the first argument is the name of a project; found {project!r}.")
        if isinstance(sample, bool) or not isinstance(sample, (int, float)) or not 0 <= sample <= 1:
            raise ConfigError(f"record({project!r}): sample is the share of sessions, from 0 to 1; found {sample!r}.")
        if redact is not None and not callable(redact):
            raise ConfigError(f"record({project!r}): redact is a function from a text to a text; found {redact!r}.")
        self._project, self._key, self._metadata = project, session, metadata
        self._sample, self._redact, self._store = sample, redact, store

    def __call__(self, function: F) -> F:
        """Return the function so that each call is recorded.

        Raises:
            ConfigError: `function` is not callable.
        """
        if not callable(function):
            raise ConfigError(f"record({self._project!r}) decorates a function; found {function!r}.")
        name, copy_arguments = getattr(function, "__name__", ""), ArgumentCopier(function)

        def begin(args: tuple[Any, ...], named: dict[str, Any]) -> OpenSpan | None:
            return _start_span(self.open, name, lambda: copy_arguments(args, named))

        return cast(F, wrap_function(function, begin))

    def __enter__(self) -> OpenSession:
        session = self.open()
        session.opened_by = self
        session.outer = CURRENT.get()
        CURRENT.set(session)
        return session

    def __exit__(self, *error: object) -> None:
        """Leave the innermost session opened by this recorder."""
        scope = _scope_of(self)
        if scope is not None:
            exit_span(scope)

    def open(self) -> OpenSession:
        """Create a session without making it the current one, for code that passes it on itself.

        Returns:
            The session; it is not recorded if it is not sampled or recording is off.
        """
        identity = session_id(self._project, self._key)
        is_recorded = not is_recording_off() and is_sampled(identity, self._sample)
        queue = queue_for(self._store) if is_recorded else None
        session = OpenSession(identity, self._project, None if queue is None else queue.put, self._redact)
        if is_recorded and self._key is not None:
            session.metadata["session"] = str(self._key)
        if is_recorded and self._metadata:
            session.metadata |= self._metadata
        return session


def _start_span(open_session: Callable[[], OpenSession], name: str, arguments: Callable[[], Any]) -> OpenSpan | None:
    """Start the span of a call: a step if an answer is open, otherwise an answer, in a new session if none is open."""
    scope = CURRENT.get()
    if isinstance(scope, OpenSpan):
        if scope.session.sink is None:
            return None
        return _enter(OpenSpan(scope.session, scope, kind="step", name=name), arguments)
    session = open_session() if scope is None else scope
    # Entered even if the session is not recorded: otherwise calls inside would open sessions of their own.
    return _enter(OpenSpan(session, None, kind="run", name=name), arguments)


def _scope_of(opener: object) -> Scope:
    """Return the innermost session or span that `opener` opened; None if it has been left already."""
    scope = CURRENT.get()
    while scope is not None and scope.opened_by is not opener:
        scope = scope.outer
    return scope


def _enter(span: OpenSpan, arguments: Callable[[], Any]) -> OpenSpan:
    if span.session.sink is not None:
        span.set_arguments(arguments)
    return span.__enter__()
