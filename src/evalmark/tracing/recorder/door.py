"""`evalmark.record`: around an app's answers, as a decorator or as a session for `with`."""

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, overload

from evalmark.core.errors import ConfigError
from evalmark.core.values.session import SpanKind

from .desks import desk_for
from .texts import Redact
from .under_way import CURRENT, OpenSession, OpenSpan, Under, current, is_off, is_sampled, leave, session_id
from .wrapping import Taker, wrapped

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("step", "model", "tool", "retrieval")


class Step:
    """A step on the way to an answer, for `with` or on a function; made by `step`."""

    def __init__(self, name: str, kind: SpanKind, template: str, given: Any) -> None:
        self._name, self._kind, self._template, self._input = name, kind, template, given

    def __call__(self, function: F) -> F:
        """The function, each of whose calls within an answer is recorded."""
        if not callable(function):
            raise ConfigError(f"step() is put on a function; found {function!r}.")
        name, take = self._name or getattr(function, "__name__", ""), Taker(function)

        def begin(args: tuple[Any, ...], named: dict[str, Any]) -> OpenSpan | None:
            span = self._begun(name)
            return None if span is None else _entered(span, lambda: take(args, named))

        return cast(F, wrapped(function, begin))

    def __enter__(self) -> OpenSpan:
        span = self._begun(self._name)
        if span is None:
            return OpenSpan(OpenSession("", "", None), None, kind=self._kind)
        span.maker = self
        return span.asked(self._input).__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """End the innermost step that was entered through this."""
        found = _made_by(self)
        if isinstance(found, OpenSpan):
            found.__exit__(kind, error, trace)

    def _begun(self, name: str) -> OpenSpan | None:
        found = CURRENT.get()
        if not isinstance(found, OpenSpan) or found.session.desk is None:
            return None
        span = OpenSpan(found.session, found, kind=self._kind, name=name)
        span.template = self._template
        return span


@overload
def step(name: F, /) -> F: ...


@overload
def step(name: str = "", /, *, kind: SpanKind = "step", template: str = "", input: Any = None) -> Step: ...


def step(name: Any = "", /, *, kind: SpanKind = "step", template: str = "", input: Any = None) -> Any:  # noqa: A002  what a user calls it
    """A step on the way to an answer: a call of a model or a tool, a search. Outside of answers nothing is recorded.

    On a function, bare or with arguments, each call is a step; for `with`, `input` is what it is asked:

        with record.step("search", kind="retrieval", input=query) as span:
            span.output = search(query)

    `kind` is `step`, `model`, `tool` or `retrieval`; what a retrieval gives are the contexts of the answer. `template`
    is the registered name of the prompt that the step fills.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind not in KINDS:
        raise ConfigError(f"a step is of kind {', '.join(KINDS)}; found {kind!r}.")
    if callable(name):
        return Step("", kind, template, None)(name)
    return Step(name, kind, template, input)


class record:  # noqa: N801  used as a function
    """Record what an app does for its users, in the store, for later tests.

    As a decorator, each call of the function is an answer to a user: what it takes is the input, what it gives, yields
    or raises the output. For `with`, it is a session whose answers are opened one by one:

        with evalmark.record("demoChatGPT", session=user_id) as session:
            with session.answer(question) as span:
                span.output = bot(question)

    `session` is what the app knows the session by; `metadata` is kept with it. `sample` is the share of sessions that
    are recorded. `redact` is called with each text before it goes to the disk, and gives what is kept of it; keys and
    passwords are taken out in any case. `store` names the file, or a server; without it that of the settings is used.

    Raises:
        ConfigError: an argument cannot be used; nothing that happens later raises anything.
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
            raise ConfigError(f"record() takes the name of a project first; found {project!r}.")
        if isinstance(sample, bool) or not isinstance(sample, (int, float)) or not 0 <= sample <= 1:
            raise ConfigError(f"record({project!r}): sample is the share of sessions, from 0 to 1; found {sample!r}.")
        if redact is not None and not callable(redact):
            raise ConfigError(f"record({project!r}): redact is a function from a text to a text; found {redact!r}.")
        self._project, self._key, self._metadata = project, session, metadata
        self._sample, self._redact, self._store = sample, redact, store

    def __call__(self, function: F) -> F:
        """The function, each of whose calls is recorded."""
        if not callable(function):
            raise ConfigError(f"record({self._project!r}) is put on a function; found {function!r}.")
        name, take = getattr(function, "__name__", ""), Taker(function)

        def begin(args: tuple[Any, ...], named: dict[str, Any]) -> OpenSpan | None:
            return _answering(self.open, name, lambda: take(args, named))

        return cast(F, wrapped(function, begin))

    def __enter__(self) -> OpenSession:
        session = self.open()
        session.maker = self
        session.above = CURRENT.get()
        CURRENT.set(session)
        return session

    def __exit__(self, *error: object) -> None:
        """Leave the innermost session that was entered through this."""
        found = _made_by(self)
        if found is not None:
            leave(found)

    def open(self) -> OpenSession:
        """A session that has not been entered, for those who keep track themselves."""
        identity = session_id(self._project, self._key)
        is_kept = not is_off() and is_sampled(identity, self._sample)
        session = OpenSession(identity, self._project, desk_for(self._store) if is_kept else None, self._redact)
        if is_kept and self._key is not None:
            session.metadata["session"] = str(self._key)
        if is_kept and self._metadata:
            session.metadata |= self._metadata
        return session


def _answering(opened: Callable[[], OpenSession], name: str, take: Callable[[], Any]) -> OpenSpan | None:
    """The span of a call: a step of what is under way here, else an answer, in a session of its own if need be."""
    found = CURRENT.get()
    if isinstance(found, OpenSpan):
        return (
            None
            if found.session.desk is None
            else _entered(OpenSpan(found.session, found, kind="step", name=name), take)
        )
    session = opened() if found is None else found
    # Where the session is not kept the span is entered all the same: steps inside must not begin one of their own.
    return _entered(OpenSpan(session, None, kind="run", name=name), take)


def _made_by(maker: object) -> Under:
    """The innermost that was entered through something; None where it has been left already."""
    found = CURRENT.get()
    while found is not None and found.maker is not maker:
        found = found.above
    return found


def _entered(span: OpenSpan, take: Callable[[], Any]) -> OpenSpan:
    if span.session.desk is not None:
        span.take(take)
    return span.__enter__()
