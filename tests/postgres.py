"""A PostgreSQL server of our own, for as long as the tests take: real, on loopback, with nothing in it."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

DEBIAN = Path("/usr/lib/postgresql")
"""Where Debian keeps the programs of each version, off the path."""


def program(name: str) -> str | None:
    """A program of PostgreSQL, of the newest version there is."""
    found = sorted(DEBIAN.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(found[-1]) if found else shutil.which(name)


@dataclass
class Cluster:
    """A server that can be stopped and started again; a database in it is its data folder's."""

    postgres: str
    folder: Path
    port: int
    whose: dict[str, int]
    fsync: str = "off"
    """Durability is not what tests are about; benchmarks are."""
    process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f"postgresql://evalmark@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        # A socket in the folder is all it listens on but loopback.
        words = [self.postgres, "-D", str(self.folder / "data"), "-k", str(self.folder), "-p", str(self.port)]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*words, "-c", "listen_addresses=127.0.0.1", "-c", f"fsync={self.fsync}"],
                stdout=log,
                stderr=log,
                **self.whose,
            )
        _wait_for(self.address, self.process, self.folder / "log")

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)  # ends connections, and then itself
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.process.kill()
            self.process.wait()


@contextmanager
def server() -> Iterator[str]:
    """The address of a database on a server that is started here; skips, and says so, where that cannot be."""
    with cluster() as started:
        yield started.address


@contextmanager
def cluster(fsync: str = "off") -> Iterator[Cluster]:
    """A server that is started here; skips, and says so, where that cannot be."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'evalmark[postgres]'")
    initdb, postgres = program("initdb"), program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("there is no PostgreSQL here; on Debian: apt-get install postgresql")
    whose = _somebody()
    folder = Path(tempfile.mkdtemp(prefix="evalmark-pg-"))
    try:
        if whose:
            os.chown(folder, whose["user"], whose["group"])
        data = folder / "data"
        _run([initdb, "-D", str(data), "-U", "evalmark", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], whose)
        started = Cluster(postgres, folder, _free_port(), whose, fsync)
        try:
            started.start()
            yield started
        finally:
            started.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def schema(address: str) -> Iterator[str]:
    """A place for one store on the server, and nothing of it afterwards."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    yield f"{address}?schema={name}"
    with psycopg.connect(address, autocommit=True) as db:
        db.execute(f"drop schema if exists {name} cascade")


def _somebody() -> dict[str, int]:
    """As whom the server runs: it refuses to be root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid}
    pytest.skip("PostgreSQL does not run as root, and there is nobody else here")


def _run(words: list[str], whose: dict[str, int]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/", **whose)
    assert done.returncode == 0, done.stderr


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(address: str, process: subprocess.Popen, log: Path) -> None:
    import psycopg

    for _ in range(600):
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")
        with suppress(psycopg.OperationalError), psycopg.connect(address, connect_timeout=5):
            return
        time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8", errors="replace"))
