"""An event loop with a virtual clock, so that tests do not wait."""

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop whose clock jumps to the next scheduled event when nothing else is to do.

    `asyncio.sleep`, timeouts and everything else that uses the time of the loop see the virtual time, which starts at 0. Work
    in threads takes real time; the loop does not wait for it while an event is scheduled.

    Args:
        main: The coroutine.

    Returns:
        The result of the coroutine.

    Example:
        >>> async def hour():
        ...     await asyncio.sleep(3600)
        ...     return asyncio.get_running_loop().time()
        >>> run_in_virtual_time(hour())
        3600.0
    """
    with asyncio.Runner(loop_factory=_VirtualTimeLoop) as runner:
        return runner.run(main)


class _VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual_selector = _VirtualTimeSelector(selectors.DefaultSelector())
        super().__init__(self._virtual_selector)

    def time(self) -> float:
        return self._virtual_selector.now


class _VirtualTimeSelector(selectors.BaseSelector):
    """Moves the clock instead of waiting for the next event."""

    def __init__(self, inner: selectors.BaseSelector) -> None:
        self._inner = inner
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._inner.select(None if timeout is None else 0)
        if not ready and timeout is not None:
            self.now += max(0.0, timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()
