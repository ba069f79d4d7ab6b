"""What all tests share: the folder of golden vectors, a quiet network, a clean world."""

import gc
import ipaddress
import os
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from .importing import own_imports
from .postgres import schema, server

# Machines that run tests are shared: how long an example takes says nothing of it.
hypothesis.settings.register_profile("new", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
# A change is judged by the same examples each time, so by few; `make sweep` draws new ones, twice as many.
hypothesis.settings.register_profile("same", hypothesis.settings.get_profile("new"), derandomize=True, max_examples=50)
hypothesis.settings.load_profile("same")

# Hundreds of programs are started by tests: each finds what the one before it has compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell without job control has what it starts in the background ignore Ctrl-C, and so would all programs of the tests.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

ROOT = Path(__file__).parent.parent

PEAK = """
def peak():
    'The most memory this program has used, in MB; `getrusage` would also count its parent at the time of the fork.'
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines["VmHWM"].split()[0]) // 1024
"""
"""A function for programs that tests start; Linux only."""
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")


def _work_in_memory(folder: Path = Path("/dev/shm"), room: int = 4 << 30) -> None:  # noqa: S108  where Linux has it
    """Have temporary files in memory: thousands of stores are written to the disk otherwise, each statement waiting for it."""
    if "TMPDIR" in os.environ or not os.access(folder, os.W_OK | os.X_OK):
        return
    found = os.statvfs(folder)
    if found.f_bavail * found.f_frsize >= room and not found.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


_work_in_memory()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: to look for garbage among it would take a third of the collection, and more later.

    Half of it is compiling, which the next run of tests is spared.
    """
    gc.disable()
    keeps_nothing, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = keeps_nothing
        gc.freeze()
        gc.enable()


def _refuse_the_outside(event: str, args: tuple) -> None:
    """Only loopback may be reached from the test process: evalmark sends nothing anywhere by itself."""
    if event != "socket.connect":
        return
    address = args[1]
    if isinstance(address, tuple) and not _is_loopback(str(address[0])):
        raise PermissionError(f"a test tried to reach {address!r}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


sys.addaudithook(_refuse_the_outside)


@pytest.fixture(scope="module", autouse=True)
def _imports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with own_imports(tmp_path_factory.getbasetemp(), ROOT / "examples"):
        yield


@pytest.fixture(autouse=True)
def _keys() -> Iterator[None]:
    """The keys that one test has sent are no secrets of the next one."""
    yield
    if (known := sys.modules.get("evalmark.inputs.secrets.known_secrets")) is not None:
        known.forget_registered_secrets()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The golden vectors and real data that lie beside a development checkout."""
    folder = ROOT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip("the folder ../shared with golden vectors is not here")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that is there for these tests."""
    with server() as address:
        yield address


@pytest.fixture
def on_a_server(postgres: str) -> Iterator[str]:
    """A place for a store on it."""
    with schema(postgres) as place:
        yield place


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no EVALMARK_* variable but what the test sets."""
    for name in [n for n in os.environ if n.startswith("EVALMARK_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
