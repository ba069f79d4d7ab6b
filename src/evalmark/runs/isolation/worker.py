"""The main function of a worker process: load the targets, and run one case after the other."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.context.trial_context import trial_context
from evalmark.core.errors import EvalmarkError, RunStoppedError
from evalmark.core.protocols import Target
from evalmark.core.values.case import Output
from evalmark.runs.engine.pipeline import new_conversation
from evalmark.runs.engine.trial import call_target, describe_error

from .messages import CaseFinished, RunCase, TargetsLoaded
from .parent_link import ParentLink, ParentTools, ParentTrialContext
from .parent_watch import end_with_parent
from .worker_setup import FILES_CLOSED, WorkerConfig, set_import_path

_LEFT_TO_THE_RUN = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that reach the whole process group; the process of the run decides when workers end."""
_BEAT = 0.5
"""Seconds."""
LOOP_BROKEN = "the target stopped the event loop of its worker process, or cancelled its tasks"


def run_worker(pipe: "Connection[Any, Any]", order: WorkerConfig) -> None:
    """Run cases until the process of the run ends the link or dies."""
    end_with_parent(order.parent)
    for name in _LEFT_TO_THE_RUN:
        if hasattr(signal, name):
            signal.signal(
                getattr(signal, name), _nothing
            )  # not ignored: programs that a target starts would inherit that
    link = ParentLink(pipe)
    try:
        set_import_path(order)
        targets = {recipe.name: recipe.target() for recipe in order.recipes}
    except BaseException as error:  # noqa: BLE001  foreign code: modules of users
        link.send(TargetsLoaded(str(error) if isinstance(error, EvalmarkError) else describe_error(error)))
        return
    link.send(TargetsLoaded(""))
    worker = _CaseServer(link, order, targets)
    try:
        asyncio.run(worker.serve())
    except BaseException as error:  # noqa: BLE001  foreign code: it can stop the loop, and raise in it
        worker.give_up(error)
    finally:
        _flush()


def _nothing(*_signal: object) -> None:
    """Ignore a signal."""


class _CaseServer:
    """Runs one case at a time, so that a crash belongs to one case."""

    def __init__(self, link: ParentLink, order: WorkerConfig, targets: Mapping[str, Target]) -> None:
        self._link, self._targets = link, targets
        self._tools = ParentTools(link, order.tools)
        self._remembers: tuple[int, Target] | None = None
        self._depth = sys.getrecursionlimit()
        self._is_asked = False

    async def serve(self) -> None:
        waiting: asyncio.Queue[RunCase | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def take(message: RunCase | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: the process is about to end
                loop.call_soon_threadsafe(waiting.put_nowait, message)

        _beat(loop)
        threading.Thread(target=self._link.receive, args=(take,), name="evalmark link", daemon=True).start()
        while (asked := await _next(waiting)) is not None:
            self._is_asked = True
            found = await self._answered(asked)
            sys.setrecursionlimit(max(self._depth, sys.getrecursionlimit()))
            _flush()
            self._is_asked = False
            self._send(found)
            if found.is_last:
                return

    def give_up(self, error: BaseException) -> None:
        """Report the current case as failed, since this process can run no more cases."""
        sys.setrecursionlimit(self._depth)
        if self._is_asked:
            self._send(CaseFinished(Output(error=f"{describe_error(error)}: {LOOP_BROKEN}"), None, is_last=True))

    async def _answered(self, asked: RunCase) -> CaseFinished:
        """Run a case, even if the target cancels every task of the loop."""
        task = asyncio.create_task(self._answer(asked))
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as cancelled:
            _uncancel()
            await asyncio.wait({task}, timeout=1)
            return CaseFinished(Output(error=f"{describe_error(cancelled)}: {LOOP_BROKEN}"), None, is_last=True)
        if task.cancelled():
            return CaseFinished(Output(error=f"CancelledError: {LOOP_BROKEN}"), None)
        return task.result()

    async def _answer(self, asked: RunCase) -> CaseFinished:
        tools = TrialTools(self._tools, asked.case.input)
        with trial_context(ParentTrialContext(self._link, asked.repeat, tools)):
            try:
                output = await call_target(self._target(asked), asked.case)
            except RunStoppedError as fault:
                return CaseFinished(Output(error=describe_error(fault)), fault)
            return CaseFinished(output, tools.fault)

    def _target(self, asked: RunCase) -> Target:
        """Return the target, or its object for this conversation."""
        if asked.conversation is None:
            return self._targets[asked.target]
        if self._remembers is None or self._remembers[0] != asked.conversation:
            self._remembers = (asked.conversation, new_conversation(self._targets[asked.target]))
        return self._remembers[1]

    def _send(self, found: CaseFinished) -> None:
        try:
            self._link.send(found)
        except (OSError, BrokenPipeError):
            os._exit(FILES_CLOSED)
        except Exception as error:  # noqa: BLE001  foreign code: what the target has returned is pickled here
            said = f"the returned value cannot be pickled: {describe_error(error)}; return plain data"
            self._link.send(
                found._replace(output=replace(found.output, value=None, error=said, transcript=(), metadata={}))
            )


def _beat(loop: asyncio.AbstractEventLoop) -> None:
    """Wake the loop regularly, since it waits for ever on files that a target has closed."""
    loop.call_later(_BEAT, _beat, loop)


async def _next(waiting: "asyncio.Queue[RunCase | None]") -> RunCase | None:
    """Return the next case; ignore cancellation by a target after its output."""
    while True:
        try:
            return await waiting.get()
        except asyncio.CancelledError:
            _uncancel()


def _uncancel() -> None:
    if (task := asyncio.current_task()) is not None:
        task.uncancel()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # a target has closed or removed it
            stream.flush()
