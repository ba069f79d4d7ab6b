"""The one thin sync door in front of everything async."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and give what it returns, also where a loop is already running.

    In scripts this is `asyncio.run`; in a notebook or inside another loop the work gets a
    thread and a loop of its own, so nothing has to be patched.
    """
    answers: list[T] = []

    async def kept() -> None:
        # Not returned: asyncio writes out what a main task returned when it puts SIGINT back,
        # which takes long for a run of many results.
        answers.append(await work)

    if _has_running_loop():
        _run_in_thread(kept())
    else:
        asyncio.run(kept())
    return answers[0]


def _has_running_loop() -> bool:
    """Asked beforehand: an error of the work, raised while this one is handled, would be told with it."""
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
    """An event loop in a thread of its own, for work that goes on between the calls that ask for it."""

    def __init__(self) -> None:
        self.events = asyncio.new_event_loop()
        """The loop itself."""
        self._thread = Thread(target=self._run, name="evalmark", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin work on the loop; from any thread."""
        return asyncio.run_coroutine_threadsafe(work, self.events)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work gives; waits for it, so not for code that runs on this loop."""
        return self.start(work).result()

    def close(self) -> None:
        """Cancel what is under way and end the thread."""
        self.events.call_soon_threadsafe(self.events.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            self.events.run_forever()
        finally:  # whoever waits is told, also where something has broken the loop
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
