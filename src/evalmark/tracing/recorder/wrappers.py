"""Wrap functions, coroutine functions and generator functions so that each call is recorded as a span.

Results and exceptions of the wrapped function are passed on unchanged.
"""

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any

from evalmark.core.foreign.binding import signature_of

from .copies import Arguments, StreamPieces, copy_value
from .spans import CURRENT, OpenSpan, Scope, copy_or_error, exit_span

BeginSpan = Callable[[tuple[Any, ...], dict[str, Any]], OpenSpan | None]
"""Starts the span of a call; returns None if the call is not recorded."""

MAX_PIECES = 100_000
"""Largest number of items recorded of one stream."""
CLOSED_EARLY = "closed_early"
"""Metadata key of a span whose stream was closed before its end."""


class ArgumentCopier:
    """Copies the arguments of calls of one function, by the names of its parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            parameters = list(signature_of(function).parameters.values())
        except (TypeError, ValueError):  # C functions without a signature
            parameters = []
        parameters_by = {parameter.name: parameter for parameter in parameters}
        by_position = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._skipped = 1 if by_position[:1] in (["self"], ["cls"]) else 0
        self._names = tuple(by_position[self._skipped :])
        required = [name for name in self._names if parameters_by[name].default is inspect.Parameter.empty]
        only = self._names if len(parameters) - self._skipped == 1 else required
        self._required = only[0] if len(only) == 1 else ""

    def __call__(self, args: tuple[Any, ...], named: dict[str, Any]) -> Arguments:
        """Copy the arguments of one call."""
        positional = args[self._skipped :]
        return Arguments(self._names, self._required, copy_value(positional), copy_value(named) if named else {})


def wrap_function(function: Callable[..., Any], begin: BeginSpan) -> Callable[..., Any]:
    """Return a function of the same kind that records each call as a span."""
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, begin)
    if inspect.iscoroutinefunction(function):
        return _coroutine(function, begin)
    if inspect.isgeneratorfunction(function):
        return _generator(function, begin)
    return _plain(function, begin)


def _plain(function: Callable[..., Any], begin: BeginSpan) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        span = begin(args, named)
        if span is None:
            return function(*args, **named)
        try:
            result = function(*args, **named)
        except BaseException as error:
            exit_span(span)
            span.fail(error)
            raise
        exit_span(span)
        span.end(result)
        return result

    return call


def _coroutine(function: Callable[..., Any], begin: BeginSpan) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **named: Any) -> Any:
        span = begin(args, named)
        if span is None:
            return await function(*args, **named)
        try:
            result = await function(*args, **named)
        except BaseException as error:
            exit_span(span)
            span.fail(error)
            raise
        exit_span(span)
        span.end(result)
        return result

    return call


class _Stream:
    """The span of one stream; it is the current span only while the generator itself runs."""

    def __init__(self, span: OpenSpan | None) -> None:
        self._span = span
        self._inside: Scope = CURRENT.get()
        self._outside: Scope = None if span is None else span.outer
        self._pieces: list[Any] = []
        if span is not None:
            CURRENT.set(self._outside)

    def enter(self) -> None:
        """Make the span current again: the generator resumes."""
        if self._span is not None:
            self._outside = CURRENT.get()
            CURRENT.set(self._inside)

    def leave(self) -> None:
        """Restore the span of the reader: the generator has yielded or ended."""
        if self._span is not None:
            self._inside = CURRENT.get()
            CURRENT.set(self._outside)

    def add(self, piece: Any) -> None:
        """Copy an item that the generator yielded."""
        if self._span is not None and self._span.session.sink is not None and len(self._pieces) < MAX_PIECES:
            self._pieces.append(piece if type(piece) is str else copy_or_error(piece))

    def finish(self, error: BaseException | None = None, *, early: bool = False) -> None:
        """End the span; `early` means that the reader closed the stream before its end."""
        self.leave()
        if (span := self._span) is None:
            return
        if span.output is None:
            span.output = StreamPieces(self._pieces)
        if early:
            span.metadata[CLOSED_EARLY] = True
        if error is None:
            span.end()
        else:
            span.fail(error)


def _generator(function: Callable[..., Any], begin: BeginSpan) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Generator[Any, Any, Any]:
        stream = _Stream(begin(args, named))
        generator = function(*args, **named)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            stream.enter()
            try:
                piece = step()
            except StopIteration as end:
                stream.finish()
                return end.value
            except BaseException as error:
                stream.finish(error)
                raise
            stream.leave()
            stream.add(piece)
            try:
                sent = yield piece
                step = functools.partial(generator.send, sent)
            except GeneratorExit:
                _close(generator, stream)
                raise
            except BaseException as thrown:  # noqa: BLE001  passed on to the generator, which handles or raises it
                step = functools.partial(generator.throw, thrown)

    return call


def _close(generator: Generator[Any, Any, Any], stream: _Stream) -> None:
    """Close a generator that the reader has closed."""
    stream.enter()
    try:
        generator.close()
    finally:
        stream.finish(early=True)


def _async_generator(function: Callable[..., Any], begin: BeginSpan) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        stream = _Stream(begin(args, named))
        generator: AsyncGenerator[Any, Any] = function(*args, **named)
        step: Callable[[], Awaitable[Any]] = generator.__anext__
        while True:
            try:
                piece = await _next(step, stream)
            except StopAsyncIteration:
                return
            try:
                sent = yield piece
                step = functools.partial(generator.asend, sent)
            except GeneratorExit:
                await _aclose(generator, stream)
                raise
            except BaseException as thrown:  # noqa: BLE001  passed on to the generator, which handles or raises it
                step = functools.partial(generator.athrow, thrown)

    return call


async def _next(step: Callable[[], Awaitable[Any]], stream: _Stream) -> Any:
    """Return the next item of an asynchronous generator; raises what it raises, StopAsyncIteration at its end."""
    stream.enter()
    try:
        piece = await step()
    except StopAsyncIteration:
        stream.finish()
        raise
    except BaseException as error:
        stream.finish(error)
        raise
    stream.leave()
    stream.add(piece)
    return piece


async def _aclose(generator: AsyncGenerator[Any, Any], stream: _Stream) -> None:
    """Close an asynchronous generator that the reader has closed."""
    stream.enter()
    try:
        await generator.aclose()
    finally:
        stream.finish(early=True)
