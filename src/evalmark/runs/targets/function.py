"""Python targets: functions, callables, classes, agents and programs, adapted to the target protocol."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from evalmark.core.context.clock import Stopwatch
from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ConfigError
from evalmark.core.foreign.binding import Binding, bind, signature_of
from evalmark.core.foreign.copying import copy_value
from evalmark.core.foreign.identity import describe_object
from evalmark.core.foreign.named_objects import load_object
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.protocols import Target
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint

from .agent import AgentTarget, agent_framework, agent_target
from .given_target import GivenTarget
from .model import ModelTarget
from .output import as_output, join_chunks, resolve_result
from .program import ProgramTarget, is_program, program_target

TARGET_PARAMETERS: Mapping[str, Callable[[Case], Any]] = {
    "input": lambda case: case.input,
    "question": lambda case: case.input,
    "query": lambda case: case.input,
    "case": lambda case: case,
    "history": lambda case: case.history,
    "contexts": lambda case: case.contexts,
    "metadata": lambda case: case.metadata,
}
"""The parameter names that a target may use, and their values."""


@dataclass(frozen=True, kw_only=True)
class FunctionTarget:
    """A function under test: async functions run on the event loop, all others in threads.

    The function gets copies of mutable values, so that the scorers see the original case.
    """

    name: str
    function: Callable[..., Any]
    binding: Binding
    fingerprint: str
    threads: DaemonThreads = field(default_factory=DaemonThreads, repr=False, compare=False)

    @property
    def is_blind(self) -> bool:
        """Whether it has no parameter that a case fills, so that it is called in the same way for every case."""
        return self.binding.first is None and not self.binding.names

    @property
    def is_async(self) -> bool:
        """Whether the function runs on the event loop, where blocking work keeps every other trial waiting."""
        return _is_async(self.function)

    async def __call__(self, case: Case) -> Output:
        """Call the function with a case. Raises the function's error."""
        first = () if self.binding.first is None else (self.binding.first,)
        offers = {name: copy_value(TARGET_PARAMETERS[name](case)) for name in (*first, *self.binding.names)}
        args, named = self.binding.arguments(offers)
        uses = current_trial_context()
        call, clock = partial(self.function, *args, **named), uses.clock()
        returned = await run_and_time(call, clock, None if self.is_async else self.threads)
        return as_output(returned, uses.active_seconds())


def as_target(thing: Any, *, folders: Sequence[Path] = ()) -> Target:
    """Adapt an object to the target protocol, without calling it.

    Args:
        thing: A function, a callable, a runnable, a class, a DSPy program, an agent, or `package.module:attribute`.
        folders: Folders that are searched for the module.

    Raises:
        ConfigError: the object cannot be called, or one of its parameters cannot be filled.
    """
    name = thing if isinstance(thing, str) else target_name(thing)
    if isinstance(thing, str):
        thing = load_object(thing, folders, what="target")
    if isinstance(thing, (FunctionTarget, GivenTarget, ModelTarget, ClassTarget, ProgramTarget, AgentTarget)):
        return thing
    if inspect.isclass(thing) and (method := _call_method(thing)):
        return _class_target(thing, method, name)
    if is_program(thing):
        return program_target(thing, name)
    if not inspect.isclass(thing) and (kind := agent_framework(thing)):
        return agent_target(thing, kind, name)
    function = _function(thing, name)
    return FunctionTarget(
        name=name,
        function=function,
        binding=bind(function, TARGET_PARAMETERS, what=f"target {name!r}", first="input"),
        fingerprint=target_fingerprint(thing, name),
    )


def _call_method(thing: type) -> str | None:
    """Return the method that calls objects of a class, or None."""
    names = ("invoke", "__call__", "ainvoke")
    return next((name for name in names if inspect.isfunction(getattr(thing, name, None))), None)


def _class_target(thing: type, method: str, name: str) -> "ClassTarget":
    """Create the target of a class, without creating an object yet."""
    parameters = signature_of(thing).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if needed:
        raise ConfigError(
            f"target {name!r} is a class whose parameter {needed[0]!r} has no default. Name an instance, or give the parameter a default."
        )
    bind(partial(getattr(thing, method), None), TARGET_PARAMETERS, what=f"target {name!r}", first="input")
    threads = DaemonThreads()  # shared by all objects; otherwise every row would leave a thread behind
    is_async = _is_async(getattr(thing, method))

    async def make() -> Target:
        # In a thread: creating an object may take long, for example to load a model.
        made = thing() if is_async else await threads.run(lambda _: thing())
        return replace(cast(FunctionTarget, as_target(made)), threads=threads)

    return ClassTarget(name=name, fingerprint=target_fingerprint(thing, name), kind=thing, make=make, is_async=is_async)


def _function(thing: Any, name: str) -> Callable[..., Any]:
    """Return the callable: the object itself, or its `invoke` or `ainvoke` method."""
    if inspect.isclass(thing):
        raise ConfigError(
            f"target {name!r} is a class whose instances cannot be called. Give it a method `__call__` or `invoke`, or name a "
            "function."
        )
    if inspect.isfunction(thing) and next(iter(signature_of(thing).parameters), "") == "self":
        raise ConfigError(f"target {name!r} is an unbound method. Name a method of an instance, or a function.")
    # Look at the class, since mocks and proxies have any attribute.
    methods = [method for method in ("invoke", "ainvoke") if callable(getattr(type(thing), method, None))]
    if "invoke" not in methods and callable(thing):
        return cast(Callable[..., Any], thing)
    if methods:
        return cast(Callable[..., Any], getattr(thing, methods[0]))
    raise ConfigError(
        f"target {name!r} is a value of type {type(thing).__name__}, which cannot be called. "
        "Name a function, an object that can be called, or one with a method `invoke`."
    )


def _is_async(function: Callable[..., Any]) -> bool:
    return any(
        inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found)
        for found in (function, type(function).__call__)
    )


async def run_and_time(call: Callable[[], Any], clock: Stopwatch, threads: DaemonThreads | None) -> Any:
    """Make a call, await its result and read its stream; in a thread if `threads` is given.

    The clock runs only while foreign code runs, not in queues.
    """
    if threads is not None:
        returned = await threads.run(partial(_call_timed, call, clock))
        if not (inspect.isawaitable(returned) or inspect.isasyncgen(returned)):
            return returned
        with clock:
            return await resolve_result(returned)
    with clock:
        return await resolve_result(call())


def _call_timed(call: Callable[[], Any], clock: Stopwatch, is_wanted: Callable[[], bool]) -> Any:
    """Make the call in the thread; read a generator to its end there."""
    with clock:
        returned = call()
        return join_chunks(returned, is_wanted) if inspect.isgenerator(returned) else returned


@dataclass(frozen=True, kw_only=True)
class ClassTarget:
    """A class as a target. Each row gets a new object, so that no state reaches another row."""

    name: str
    fingerprint: str
    kind: type
    """The class."""
    make: Callable[[], Awaitable[Target]]
    """Creates a target around a new object. Foreign code: may raise."""
    is_async: bool = False
    """Whether the objects run on the event loop."""

    async def __call__(self, case: Case) -> Output:
        """Call a new object with the case."""
        target = await self.make()
        return await target(case)

    def new_conversation(self) -> Target:
        """Return a target that keeps one object, created at the first turn, for a conversation."""
        return _ConversationTarget(self)


class _ConversationTarget:
    """One object for all turns."""

    def __init__(self, whole: ClassTarget) -> None:
        self.name = whole.name
        self._make = whole.make
        self._target: Target | None = None

    async def __call__(self, case: Case) -> Output:
        if self._target is None:
            self._target = await self._make()
        return await self._target(case)


def target_name(thing: Any) -> str:
    """Return `package.module:name` of a function or class, or the `name` of an object or of its class.

    >>> import textwrap
    >>> target_name(textwrap.shorten)
    'textwrap:shorten'
    """
    while isinstance(thing, partial):
        thing = thing.func
    own = getattr(thing, "name", None)
    if isinstance(own, str) and own:
        return own
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(named, "__module__", None) or "builtins"
    return f"{module}:{named.__qualname__}"


def target_fingerprint(thing: Any, name: str) -> str:
    """Return the object's own `fingerprint`, or one of its name, source and settings."""
    own = getattr(thing, "fingerprint", None)
    return own if isinstance(own, str) and own else fingerprint(name, describe_object(thing))
