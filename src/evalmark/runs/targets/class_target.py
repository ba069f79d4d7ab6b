"""Targets that remember what they were asked: a new one for each row, and one for each conversation."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from evalmark.core.protocols import Target
from evalmark.core.values.case import Case, Output


@dataclass(frozen=True, kw_only=True)
class ClassTarget:
    """A class whose objects are asked; what one of them remembers never reaches another row."""

    name: str
    fingerprint: str
    kind: type
    """The class."""
    make: Callable[[], Awaitable[Target]]
    """Makes a target around a new object. Foreign code: may raise."""
    is_async: bool = False
    """Whether the objects are asked on the event loop."""

    async def __call__(self, case: Case) -> Output:
        """What a new object gives for the case."""
        target = await self.make()
        return await target(case)

    def anew(self) -> Target:
        """A target that keeps one object, made at its first question, for the turns of a conversation."""
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
