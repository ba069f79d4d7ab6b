"""Identifies the process that writes a run, so that a later process with the same id is not taken for it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from .connection import Connection

UNKNOWN = "unknown"
"""The start time of a process on a system that does not report it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterProcess:
    """A process that writes a run."""

    host: str
    boot: str
    """Changes with every boot of the machine; empty where the system does not report it."""
    pid: int
    started: str
    """When the process started, as the system reports it."""
    since: str

    def same_process(self, other: "WriterProcess") -> bool:
        """Return whether both are the same process."""
        return (self.host, self.boot, self.pid, self.started) == (other.host, other.boot, other.pid, other.started)


def this_process() -> WriterProcess:
    """Return the current process as the writer of a run."""
    return WriterProcess(
        host=socket.gethostname(),
        boot=_boot(),
        pid=os.getpid(),
        started=process_start(os.getpid()) or UNKNOWN,
        since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def process_has_ended(holder: WriterProcess, here: WriterProcess, started_of: Callable[[int], str | None]) -> bool:
    """Return whether the process has certainly ended; False for processes of other machines."""
    if holder.host != here.host:
        return False
    if holder.boot != here.boot:
        return True
    now = started_of(holder.pid)
    return now is None or (now != holder.started and UNKNOWN not in (now, holder.started))


def writer_has_ended(db: Connection, run: int, pass_: int, holder: WriterProcess, here: WriterProcess) -> bool:
    """Return whether the writer of a pass has certainly ended.

    A server knows by its locks; for a file, the process is checked.
    """
    held = db.is_locked(run, pass_)
    return process_has_ended(holder, here, process_start) if held is None else not held


def process_start(pid: int) -> str | None:
    """Return when a process started; None when it does not exist or is a zombie."""
    if sys.platform == "win32":  # os.kill would end the process on Windows
        return UNKNOWN
    if not _exists(pid):
        return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return _start_from_ps(pid)
    fields = stat.rpartition(b")")[2].split()
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _start_from_ps(pid: int) -> str:
    """Return the start time that `ps` reports, for systems without /proc."""
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    except OSError:
        return UNKNOWN
    return found.stdout.strip() or UNKNOWN


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def to_text(holder: WriterProcess) -> str:
    """Encode a holder as JSON."""
    return json.dumps(asdict(holder))


def from_text(text: str | None) -> WriterProcess | None:
    """Decode a holder; None when no process holds the run.

    Raises:
        ValueError: the text is something else.
    """
    if text is None:
        return None
    try:
        return WriterProcess(**json.loads(text))
    except TypeError as wrong:
        raise ValueError(str(wrong)) from wrong
