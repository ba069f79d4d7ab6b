"""Who writes a run: a process that is told apart from later ones with the same number."""

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
"""The start of a process that is there, but whose start this system does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process, and since when it holds a run."""

    host: str
    boot: str
    """Changes with every start of the machine; empty where the system does not tell."""
    pid: int
    started: str
    """When the process started, in the system's own words."""
    since: str

    def same_process(self, other: "Holder") -> bool:
        """Whether both are one process, whatever they hold."""
        return (self.host, self.boot, self.pid, self.started) == (other.host, other.boot, other.pid, other.started)


def this_process() -> Holder:
    """The holder that this process is from now on."""
    return Holder(
        host=socket.gethostname(),
        boot=_boot(),
        pid=os.getpid(),
        started=process_start(os.getpid()) or UNKNOWN,
        since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def process_has_ended(holder: Holder, here: Holder, started_of: Callable[[int], str | None]) -> bool:
    """Whether the holder's process has certainly ended; of another machine nothing is certain."""
    if holder.host != here.host:
        return False
    if holder.boot != here.boot:
        return True
    now = started_of(holder.pid)
    return now is None or (now != holder.started and UNKNOWN not in (now, holder.started))


def writer_has_ended(db: Connection, run: int, pass_: int, holder: Holder, here: Holder) -> bool:
    """Whether the one who wrote a pass of a run has certainly ended: a server knows, of a file the process tells."""
    held = db.is_locked(run, pass_)
    return process_has_ended(holder, here, process_start) if held is None else not held


def process_start(pid: int) -> str | None:
    """When a process started; None when there is none with this number, or only its remains."""
    if sys.platform == "win32":  # asking with a signal would end it
        return UNKNOWN
    if not _exists(pid):
        return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return _asked(pid)
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


def _asked(pid: int) -> str:
    """What `ps` says, for systems without /proc."""
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


def to_text(holder: Holder) -> str:
    """The holder as JSON."""
    return json.dumps(asdict(holder))


def from_text(text: str | None) -> Holder | None:
    """The holder that `to_text` was given; None when nobody holds the run.

    Raises:
        ValueError: the text is something else.
    """
    if text is None:
        return None
    try:
        return Holder(**json.loads(text))
    except TypeError as wrong:
        raise ValueError(str(wrong)) from wrong
