"""Run coroutines from synchronous code."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion and return its result, even if an event loop is already running.

    In scripts this is `asyncio.run`. In a notebook, or inside another loop, the coroutine runs on a new loop in a
    new thread, so nothing has to be patched.
    """
    results: list[T] = []

    async def store_result() -> None:
        # The result is not returned: asyncio formats a main task's result when it restores SIGINT, which is slow for
        # a run with many results.
        results.append(await work)

    if _has_running_loop():
        _run_in_thread(store_result())
    else:
        asyncio.run(store_result())
    return results[0]


def _has_running_loop() -> bool:
    # Asked first: an error of the work that is raised while this one is handled would be chained to it.
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_in_thread(work: Coroutine[Any, Any, None]) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:  # noqa: BLE001  it is raised again, in the caller's thread
            errors.append(error)

    thread = Thread(target=run, name="evalmark", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


class BackgroundLoop:
    """An event loop in its own thread, for work that continues between synchronous calls."""

    def __init__(self) -> None:
        self.events = asyncio.new_event_loop()
        """The loop itself."""
        self._thread = Thread(target=self._run, name="evalmark", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start work on the loop. May be called from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.events)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work on the loop, wait for it and return its result. Must not be called from the loop itself."""
        return self.start(work).result()

    def close(self) -> None:
        """Cancel running work and end the thread."""
        self.events.call_soon_threadsafe(self.events.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            self.events.run_forever()
        finally:  # waiting callers are cancelled even if the loop failed
            try:
                self.events.run_until_complete(_cancel_others())
                self.events.run_until_complete(self.events.shutdown_asyncgens())
            finally:
                self.events.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
