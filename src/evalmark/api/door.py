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
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_a_thread(work)


def _in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    answers: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001  it is raised again, in the caller's thread
            errors.append(error)

    thread = Thread(target=run, name="evalmark", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return answers[0]
