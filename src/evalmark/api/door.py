"""The one thin sync door in front of everything async."""

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and give what it returns, also where a loop is already running.

    In scripts this is `asyncio.run`; in a notebook or inside another loop the work gets a
    thread and a loop of its own, so nothing has to be patched.
    """
    answers: list[T] = []

    async def kept() -> None:
        # Not returned: asyncio writes out what a main task returned when it puts SIGINT back,
        # which takes long for a run of many results.
        answers.append(await work)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(kept())
    else:
        _in_a_thread(kept())
    return answers[0]


def _in_a_thread(work: Coroutine[Any, Any, None]) -> None:
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
