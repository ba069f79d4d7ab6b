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
from evalmark.runs.tool_replay.remote_tools import RemoteTools

from .messages import CaseFinished, RunCase, TargetsLoaded
from .parent_link import ParentLink, ParentTrialContext
from .parent_watch import end_with_parent
from .worker_setup import FILES_CLOSED, WorkerConfig, set_import_path

_SIGNALS_OF_THE_GROUP = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that reach the whole process group. Workers do nothing on them: the process of the run ends them."""
_WAKE_SECONDS = 0.5
"""Seconds."""
LOOP_BROKEN = "the target stopped the event loop of its worker process, or cancelled its tasks"


def run_worker(pipe: "Connection[Any, Any]", config: WorkerConfig) -> None:
    """Run cases until the process of the run ends the link or dies."""
    end_with_parent(config.parent)
    for name in _SIGNALS_OF_THE_GROUP:
        if hasattr(signal, name):
            signal.signal(
                getattr(signal, name), _nothing
            )  # not ignored: programs that a target starts would inherit that
    link = ParentLink(pipe)
    try:
        set_import_path(config)
        targets = {recipe.name: recipe.target() for recipe in config.recipes}
    except BaseException as error:  # noqa: BLE001  foreign code: modules of users
        link.send(TargetsLoaded(str(error) if isinstance(error, EvalmarkError) else describe_error(error)))
        return
    link.send(TargetsLoaded(""))
    worker = _CaseServer(link, config, targets)
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

    def __init__(self, link: ParentLink, config: WorkerConfig, targets: Mapping[str, Target]) -> None:
        self._link, self._targets = link, targets
        self._tools = RemoteTools(link.request_in_thread, config.tools)
        self._conversation: tuple[int, Target] | None = None
        self._depth = sys.getrecursionlimit()
        self._is_running = False

    async def serve(self) -> None:
        waiting: asyncio.Queue[RunCase | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def take(message: RunCase | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: the process is about to end
                loop.call_soon_threadsafe(waiting.put_nowait, message)

        _wake_regularly(loop)
        threading.Thread(target=self._link.receive, args=(take,), name="evalmark link", daemon=True).start()
        while (request := await _next(waiting)) is not None:
            self._is_running = True
            result = await self._run_case(request)
            sys.setrecursionlimit(max(self._depth, sys.getrecursionlimit()))
            _flush()
            self._is_running = False
            self._send(result)
            if result.is_last:
                return

    def give_up(self, error: BaseException) -> None:
        """Report the current case as failed, since this process can run no more cases."""
        sys.setrecursionlimit(self._depth)
        if self._is_running:
            self._send(CaseFinished(Output(error=f"{describe_error(error)}: {LOOP_BROKEN}"), None, is_last=True))

    async def _run_case(self, message: RunCase) -> CaseFinished:
        """Run a case, even if the target cancels every task of the loop."""
        task = asyncio.create_task(self._call_target(message))
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as cancelled:
            _uncancel()
            await asyncio.wait({task}, timeout=1)
            return CaseFinished(Output(error=f"{describe_error(cancelled)}: {LOOP_BROKEN}"), None, is_last=True)
        if task.cancelled():
            return CaseFinished(Output(error=f"CancelledError: {LOOP_BROKEN}"), None)
        return task.result()

    async def _call_target(self, message: RunCase) -> CaseFinished:
        tools = TrialTools(self._tools, message.case.input)
        with trial_context(ParentTrialContext(self._link, message.repeat, tools)):
            try:
                output = await call_target(self._target(message), message.case)
            except RunStoppedError as fault:
                return CaseFinished(Output(error=describe_error(fault)), fault)
            return CaseFinished(output, tools.fault)

    def _target(self, message: RunCase) -> Target:
        """Return the target, or its object for this conversation."""
        if message.conversation is None:
            return self._targets[message.target]
        if self._conversation is None or self._conversation[0] != message.conversation:
            self._conversation = (message.conversation, new_conversation(self._targets[message.target]))
        return self._conversation[1]

    def _send(self, result: CaseFinished) -> None:
        try:
            self._link.send(result)
        except (OSError, BrokenPipeError):
            os._exit(FILES_CLOSED)
        except Exception as error:  # noqa: BLE001  foreign code: what the target has returned is pickled here
            error_text = f"the returned value cannot be pickled: {describe_error(error)}; return plain data"
            self._link.send(
                result._replace(output=replace(result.output, value=None, error=error_text, transcript=(), metadata={}))
            )


def _wake_regularly(loop: asyncio.AbstractEventLoop) -> None:
    """Wake the loop regularly, since it waits for ever on files that a target has closed."""
    loop.call_later(_WAKE_SECONDS, _wake_regularly, loop)


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
