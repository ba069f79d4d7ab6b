"""A program under test: started for each request, without a shell, and called with the limits of a model."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.errors import ModelCallError
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.text import one_line
from evalmark.core.values.call import Attempt, Reply, Request
from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.json_query import missing_part
from evalmark.inputs.secrets.known_secrets import mask_known_secrets
from evalmark.inputs.suites.services import SUITE_FOLDER

from .workspace import content_hash, copy_workspace, file_stamps, remove_workspace, workspace_changes

MAX_OUTPUT = 32 << 20
"""Bytes; a program that prints more is stopped."""
_LAST_BYTES, _LAST_LINES = 4096, 5
"""How much of the end of the error stream an error shows."""
_PIECE = 1 << 16
_POLL_SECONDS = 0.05
_QUIET_SECONDS, _MOST_WAITS = 0.5, 20
"""How long to wait for more from the streams of a program that has ended, and how often."""
_RUNNING: set[int] = set()
"""The process groups of the programs that run now: global, since the handler of a second Ctrl-C has to end those of all runs."""


class CommandProgram:
    """A program with fixed settings; the settings of a request hold its `arguments`, the message its standard input."""

    has_price: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        program: str,
        *,
        folder: Path,
        workspace: Path | None = None,
        queries: Mapping[str, str],
        is_cached: bool = False,
    ) -> None:
        """`program` is the file to start; each call gets a copy of `workspace`, or runs in `folder`."""
        self.name, self.is_cached = name, is_cached
        self._program, self._folder, self._workspace, self._queries = program, folder, workspace, queries
        self._threads = DaemonThreads()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the command is made of, as far as they are known; `--watch` follows them."""
        return (Path(self._program),)

    @property
    def variant(self) -> str:
        """Differs between programs that run in other folders, or whose output is read in another way."""
        return fingerprint(str(self._folder), str(self._workspace), self._queries, self.is_cached)

    @cached_property
    def identity(self) -> str:
        """The command with a hash of its program and its workspace, so that a changed one has no cached replies."""
        return f"command/{self.name}@{content_hash([Path(self._program), self._workspace])}"

    async def __call__(self, request: Request) -> Reply:
        """Start the program, wait for its end, and return what it printed.

        Raises:
            ModelCallError: It cannot be started, exits with another status than 0, or prints too much or not what was expected.
        """
        if not self.is_cached:
            current_trial_context().has_unreplayable_call = True
        arguments = [
            str(word).replace(SUITE_FOLDER, str(self._folder)) for word in request.settings.get("arguments", ())
        ]
        stdin = "".join(str(turn.content) for turn in request.messages).encode(errors="surrogatepass")
        if self._workspace is None:
            return await self._run(arguments, stdin, self._folder, {})
        started = time.perf_counter()
        parent = Path(tempfile.mkdtemp(prefix="evalmark-"))
        try:
            copy, original = parent / self._workspace.name, self._workspace
            try:
                await self._threads.run(lambda _: copy_workspace(original, copy))
            except OSError as error:
                raise self._error(f"the workspace cannot be copied: {one_line(error, 300)}", started) from None
            before = await self._threads.run(lambda _: file_stamps(copy))
            reply = await self._run(arguments, stdin, copy, before)
        finally:
            remove_workspace(parent)
        return reply

    async def _run(self, arguments: Sequence[str], stdin: bytes, folder: Path, before: Mapping[str, Any]) -> Reply:
        started = time.perf_counter()
        status, printed, errors = await self._finish([self._program, *arguments], stdin, folder)
        seconds = time.perf_counter() - started
        if status != 0:
            reason = f"exited with status {status}" if status > 0 else f"was ended by {_signal_name(-status)}"
            raise self._error(f"{reason}{_last_lines(errors)}", started)
        text = printed.decode("utf-8", errors="replace")
        if fault := missing_part(text, self._queries):
            raise self._error(f"did not print what the suite expects: {fault}", started)
        changes = None
        if self._workspace is not None:
            original = self._workspace
            changes = await self._threads.run(lambda _: workspace_changes(original, folder, before))
        return Reply(
            text=text, status="ok" if text.strip() or changes else "empty", data=changes or None, seconds=seconds
        )

    def _error(self, what: str, started: float) -> ModelCallError:
        message = mask_known_secrets(f"{self.name}: {what}".rstrip(".") + ".")
        attempt = Attempt(seconds=time.perf_counter() - started, error=message)
        return ModelCallError(message, fault="rejected", attempts=(attempt,))

    async def _finish(self, words: Sequence[str], stdin: bytes, folder: Path) -> tuple[int, bytes, bytes]:
        """Run a program to its end; whatever happens, it and what it has started are ended."""
        started = time.perf_counter()
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                start_new_session=sys.platform != "win32",
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelCallError(f"{self.name}: cannot be started: {reason}.", fault="closed") from None
        _RUNNING.add(process.pid)
        printed, errors = _PrintedBytes(MAX_OUTPUT, process.pid), _PrintedBytes(_LAST_BYTES)
        reading: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(_feed(process.stdin, stdin)),
            asyncio.ensure_future(printed.read(process.stdout)),
            asyncio.ensure_future(errors.read(process.stderr)),
        ]
        try:
            status = await _exit_status(process)
            _end_group(process.pid)  # what it left running would keep the streams open
            await _read_rest(reading, printed, errors)
            if printed.is_full:
                raise self._error(f"printed more than {MAX_OUTPUT >> 20} MiB and was stopped", started)
        finally:
            _end_group(process.pid)
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await _exit_status(process)
            _RUNNING.discard(process.pid)
            for task in reading:
                task.cancel()
            process._transport.close()  # type: ignore[attr-defined]  # nothing public closes streams that others hold open
        return status, bytes(printed.content), bytes(errors.content)


class _PrintedBytes:
    """Keeps at most `most` bytes of a stream of a program: the first ones if `group` is given, else the last ones.

    `group` is the process group of the program, which is ended at the limit. The stream is read to its end in any case, since
    asyncio reports the end of a process only after that of its streams.
    """

    def __init__(self, most: int, group: int | None = None) -> None:
        self.content, self.is_full, self.received = bytearray(), False, 0
        self._most, self._group = most, group

    async def read(self, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (piece := await stream.read(_PIECE)):
            self.received += len(piece)
            if self._group is None:
                self.content = (self.content + piece)[-self._most :]
            elif len(self.content) + len(piece) <= self._most:
                self.content += piece
            else:
                self.is_full = True
                _end_group(self._group)


async def _read_rest(reading: Sequence[asyncio.Future[Any]], *streams: _PrintedBytes) -> None:
    """Read the streams of a program that has ended to their end, or until nothing more comes.

    A program that it started in a session of its own is not ended with it, and may hold the streams open for ever.
    """
    quiet = 0
    for _ in range(_MOST_WAITS):
        received = sum(stream.received for stream in streams)
        _, pending = await asyncio.wait(reading, timeout=_QUIET_SECONDS)
        quiet = quiet + 1 if received == sum(stream.received for stream in streams) else 0
        if not pending or quiet > 1:  # once may be a pause of this process
            break


async def _exit_status(process: asyncio.subprocess.Process) -> int:
    """Wait for the end of a program, even if one that it started holds its streams open."""
    ended = asyncio.ensure_future(process.wait())
    while process.returncode is None:
        await asyncio.wait({ended}, timeout=_POLL_SECONDS)
    ended.cancel()
    return process.returncode


async def _feed(stream: asyncio.StreamWriter | None, content: bytes) -> None:
    """Write the standard input; a program that does not read it all is no error."""
    if stream is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(content)
        await stream.drain()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.close()
        await stream.wait_closed()


def end_programs() -> None:
    """End all programs that run now, for a process that exits at once."""
    for group in tuple(_RUNNING):
        _end_group(group)


def _end_group(group: int) -> None:
    """End a program and all that it started in its process group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_lines(errors: bytes) -> str:
    lines = [line.strip() for line in errors.decode("utf-8", errors="replace").splitlines() if line.strip()]
    if not lines:
        return ", and printed no error"
    # The last line usually names the cause, and pages cut long errors at their end.
    *before, last = lines[-_LAST_LINES:]
    return f": {last[:600]}" + (f" (before it: {' | '.join(before)[-600:]})" if before else "")
