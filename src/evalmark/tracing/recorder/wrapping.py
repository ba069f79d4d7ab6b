"""Functions of all four kinds with a span around each call; what they give and raise goes through untouched."""

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any

from .copying import Pieces, copied
from .under_way import CURRENT, OpenSpan, Under, leave, safely

Open = Callable[[tuple[Any, ...], dict[str, Any]], OpenSpan | None]
"""Begins the span of a call; None: the call is not recorded."""

MOST_PIECES = 100_000
"""Pieces of a stream that are kept."""
CLOSED_EARLY = "closed_early"
"""In the metadata of a span whose stream nobody read to its end."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a function was called with; it becomes the input of the span off the app's thread."""

    names: tuple[str, ...]
    """Of the parameters that are given by position."""
    alone: str
    """The one parameter that has to be given; empty where there are none, or several."""
    positional: list[Any]
    named: dict[str, Any]

    @property
    def input(self) -> Any:
        """The one argument that has to be given, where no other was; else all of them by name."""
        given = dict(zip(self.names, self.positional, strict=False))
        if self.alone and len(self.positional) + len(self.named) == 1:
            return {**given, **self.named}.get(self.alone, {**given, **self.named})
        rest = self.positional[len(self.names) :]
        return {**given, **({"args": rest} if rest else {}), **self.named}


class Taker:
    """Copies the arguments of one function; knows the names of its parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # functions of C that do not say
            parameters = []
        parameters_by = {parameter.name: parameter for parameter in parameters}
        by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._skipped = 1 if by_position[:1] in (["self"], ["cls"]) else 0
        self._names = tuple(by_position[self._skipped :])
        required = [name for name in self._names if parameters_by[name].default is inspect.Parameter.empty]
        alone = self._names if len(parameters) - self._skipped == 1 else required
        self._alone = alone[0] if len(alone) == 1 else ""

    def __call__(self, args: tuple[Any, ...], named: dict[str, Any]) -> Arguments:
        """A copy of what one call is given."""
        positional = args[self._skipped :]
        return Arguments(self._names, self._alone, copied(positional), copied(named) if named else {})


def wrapped(function: Callable[..., Any], begin: Open) -> Callable[..., Any]:
    """A function of the same kind that records each of its calls."""
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, begin)
    if inspect.iscoroutinefunction(function):
        return _coroutine(function, begin)
    if inspect.isgeneratorfunction(function):
        return _generator(function, begin)
    return _plain(function, begin)


def _plain(function: Callable[..., Any], begin: Open) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        span = begin(args, named)
        if span is None:
            return function(*args, **named)
        try:
            found = function(*args, **named)
        except BaseException as error:
            leave(span)
            span.fail(error)
            raise
        leave(span)
        span.end(found)
        return found

    return call


def _coroutine(function: Callable[..., Any], begin: Open) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **named: Any) -> Any:
        span = begin(args, named)
        if span is None:
            return await function(*args, **named)
        try:
            found = await function(*args, **named)
        except BaseException as error:
            leave(span)
            span.fail(error)
            raise
        leave(span)
        span.end(found)
        return found

    return call


class _Stream:
    """The span of one stream: the innermost while the stream works, and not while somebody reads what it gave."""

    def __init__(self, span: OpenSpan | None) -> None:
        self._span = span
        self._inside: Under = CURRENT.get()
        self._outside: Under = None if span is None else span.above
        self._pieces: list[Any] = []
        if span is not None:
            CURRENT.set(self._outside)

    def enter(self) -> None:
        """The stream goes on."""
        if self._span is not None:
            self._outside = CURRENT.get()
            CURRENT.set(self._inside)

    def leave(self) -> None:
        """The stream waits for its reader, or is over."""
        if self._span is not None:
            self._inside = CURRENT.get()
            CURRENT.set(self._outside)

    def gave(self, piece: Any) -> None:
        """It gave something."""
        if self._span is not None and self._span.session.desk is not None and len(self._pieces) < MOST_PIECES:
            self._pieces.append(piece if type(piece) is str else safely(piece))

    def over(self, error: BaseException | None = None, *, early: bool = False) -> None:
        """It has come to its end, or has been left."""
        self.leave()
        if (span := self._span) is None:
            return
        if span.output is None:
            span.output = Pieces(self._pieces)
        if early:
            span.metadata[CLOSED_EARLY] = True
        if error is None:
            span.end()
        else:
            span.fail(error)


def _generator(function: Callable[..., Any], begin: Open) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Generator[Any, Any, Any]:
        stream = _Stream(begin(args, named))
        made = function(*args, **named)
        step: Callable[[], Any] = functools.partial(next, made)
        while True:
            stream.enter()
            try:
                piece = step()
            except StopIteration as end:
                stream.over()
                return end.value
            except BaseException as error:
                stream.over(error)
                raise
            stream.leave()
            stream.gave(piece)
            try:
                sent = yield piece
                step = functools.partial(made.send, sent)
            except GeneratorExit:
                _close(made, stream)
                raise
            except BaseException as thrown:  # noqa: BLE001  it goes to the generator, which says what becomes of it
                step = functools.partial(made.throw, thrown)

    return call


def _close(made: Generator[Any, Any, Any], stream: _Stream) -> None:
    """Nobody wants more of it."""
    stream.enter()
    try:
        made.close()
    finally:
        stream.over(early=True)


def _async_generator(function: Callable[..., Any], begin: Open) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        stream = _Stream(begin(args, named))
        made: AsyncGenerator[Any, Any] = function(*args, **named)
        step: Callable[[], Awaitable[Any]] = made.__anext__
        while True:
            try:
                piece = await _next(step, stream)
            except StopAsyncIteration:
                return
            try:
                sent = yield piece
                step = functools.partial(made.asend, sent)
            except GeneratorExit:
                await _aclose(made, stream)
                raise
            except BaseException as thrown:  # noqa: BLE001  it goes to the generator, which says what becomes of it
                step = functools.partial(made.athrow, thrown)

    return call


async def _next(step: Callable[[], Awaitable[Any]], stream: _Stream) -> Any:
    """The next piece of an asynchronous stream. Raises what the stream raises, and StopAsyncIteration at its end."""
    stream.enter()
    try:
        piece = await step()
    except StopAsyncIteration:
        stream.over()
        raise
    except BaseException as error:
        stream.over(error)
        raise
    stream.leave()
    stream.gave(piece)
    return piece


async def _aclose(made: AsyncGenerator[Any, Any], stream: _Stream) -> None:
    """Nobody wants more of it."""
    stream.enter()
    try:
        await made.aclose()
    finally:
        stream.over(early=True)
