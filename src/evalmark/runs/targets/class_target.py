"""Target classes: a new object for each row, and one object for each conversation."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from evalmark.core.protocols import Target
from evalmark.core.values.case import Case, Output


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
