"""`evalmark run --watch`: run again when a suite, or a file that its run has read, changes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from evalmark.core.case_titles import CaseTitles
from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.lazy import LazyModule
from evalmark.core.text import count, one_line
from evalmark.reports.text.change_words import CASE_SIGNS, CASE_WORDS

from .exit_codes import INTERRUPTED
from .output import print_error

if TYPE_CHECKING:
    from evalmark.core.values.run import Run
    from evalmark.runs.planning.plan import Plan
    from evalmark.storage.store import store
else:
    store = LazyModule("evalmark.storage.store.store")

POLL_SECONDS = 0.5
SETTLED_SECONDS = 0.3
"""Seconds without a further change until a run starts: editors write a file in several steps."""
_READ_FILES = "_EVALMARK_READ_FILES"
"""The variable with the name of the file in which a run lists the files that it has read."""
_CODE = (".prompty", ".py")
"""Files beside a suite that count even where no run has got as far as reading them."""
_MOST_RUNS, _MOST_NAMES = 100, 5

State = Mapping[str, tuple[int, int]]
"""The time and the size of each file."""


def watch_suites(arguments: Sequence[str], suites: Sequence[Path], location: str) -> int:
    """Run suites in a new process, and again after each change, until Ctrl-C; return the exit code.

    Args:
        arguments: the arguments of the command line.
        suites: the suite files.
        location: the store.
    """
    words = [word for word in arguments if word != "--watch"]
    with tempfile.TemporaryDirectory(prefix="evalmark-watch-") as folder, _RunProcess() as process:
        files = _WatchedFiles(suites, Path(folder) / "read.json")
        while True:
            files.begin()
            earlier = {path: _newest(location, path) for path in suites}
            if process.run(words, files.read) == INTERRUPTED:
                return INTERRUPTED
            for path in suites:
                _print_difference(path, earlier[path], _newest(location, path))
            files.end()
            print_error(f"\nWatching {count(len(files.state()), 'file')}; Ctrl-C ends.\n")
            _print_changes(files.wait_for_change())


class _RunProcess:
    """The process of one run. A signal is passed on to it; between two runs, it ends the command."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "_RunProcess":
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` or a background shell sets it
                self._before[number] = signal.signal(number, self._signal)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def run(self, words: Sequence[str], read: Path) -> int:
        """Run the command in a new Python, so that changed modules are imported again; return its exit code."""
        # Python takes a compiled module for current if the source has the same size and was changed in the same second.
        environ = {**os.environ, _READ_FILES: str(read), "EVALMARK_WATCH": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen([sys.executable, "-m", "evalmark", *words], env=environ)  # noqa: S603  evalmark itself
        try:
            return self._process.wait()
        finally:
            self._process = None

    def _signal(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            raise KeyboardInterrupt
        with suppress(OSError):
            self._process.send_signal(number)


@contextmanager
def reported_files(plans: "list[Plan]") -> Iterator[None]:
    """List the files that a run has read, for the process that watches them; otherwise do nothing."""
    try:
        yield
    finally:
        if target := os.environ.get(_READ_FILES):
            files = sorted({str(path.resolve()) for path in (*_plan_files(plans), *_user_modules())})
            with suppress(OSError):
                Path(target).write_text(json.dumps(files), encoding="utf-8")


def _plan_files(plans: "Iterable[Plan]") -> Iterator[Path]:
    for plan in plans:
        names = [plan.suite, plan.lock, *(source.info.path for source in plan.sources)]
        yield from (Path(name) for name in names if name)
        yield from (spec.file for spec in plan.scorers if spec.file is not None)
        for target in plan.targets:
            if file := getattr(getattr(target, "prompt", None), "file", None):
                yield Path(file)
            yield from getattr(getattr(target, "model", None), "files", ())


def _user_modules() -> Iterator[Path]:
    """Yield the files of imported modules below the working directory or beside a suite, without installed packages."""
    installed = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
    others = (str(Path(__file__).parents[2]), sys.base_prefix, sys.prefix)
    for module in tuple(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if isinstance(name, str) and not name.startswith(others) and not any(part in name for part in installed):
            yield Path(name)


class _WatchedFiles:
    """The suites, the code beside them, and what runs have read; a file that was deleted is watched further."""

    def __init__(self, suites: Sequence[Path], read: Path) -> None:
        """`read` is the file in which a run lists the files that it has read."""
        self.read = read
        self._suites = suites
        self._files: set[Path] = set()
        self._known: State = {}
        self._during: frozenset[str] = frozenset()
        """What changed during the last run."""
        self._caused_run: frozenset[str] = frozenset()
        """What of it has started another run."""
        self._written: frozenset[str] = frozenset()
        """What runs write themselves: it would start one run after the other."""

    def state(self) -> State:
        """Return time and size of each file."""
        listed: list[str] = []
        with suppress(OSError, ValueError):
            listed = json.loads(self.read.read_text(encoding="utf-8"))
        self._files |= {path.resolve() for path in (*self._suites, *self._code(), *map(Path, listed))}
        return {name: state for name, state in _state(self._files).items() if name not in self._written}

    def _code(self) -> Iterator[Path]:
        for path in self._suites:
            with suppress(OSError):
                yield from (file for file in path.absolute().parent.iterdir() if file.suffix in _CODE)

    def begin(self) -> None:
        """Remember the files as they are before a run."""
        self._known = self.state()

    def end(self) -> None:
        """Compare the files after a run; what changed in two runs in a row without another change is written by the runs."""
        now = self.state()
        changed = frozenset(name for name, state in self._known.items() if now.get(name) != state)
        if again := changed & self._caused_run:
            self._written |= again
            print_error(f"\nNo longer watched, since each run changes it: {_names(sorted(again))}\n")
        self._during = changed - again
        self._known = {name: state for name, state in {**now, **self._known}.items() if name not in self._written}

    def wait_for_change(self) -> list[str]:
        """Wait until a file differs from before the run and all of them have settled; return the changed ones."""
        while (now := self.state()) == self._known:
            time.sleep(POLL_SECONDS)
        while True:
            time.sleep(SETTLED_SECONDS)
            if (later := self.state()) == now:
                break
            now = later
        names = {*self._known, *now}
        changed = sorted(name for name in names if self._known.get(name) != now.get(name))
        self._caused_run = self._during.intersection(changed)
        return changed


def _state(files: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Return time and size of each file; a file that does not exist is left out."""
    found = {}
    for path in files:
        with suppress(OSError):
            status = path.stat()
            found[str(path)] = (status.st_mtime_ns, status.st_size)
    return found


def _print_changes(names: Sequence[str]) -> None:
    print_error(f"\nChanged: {_names(names)}\n")


def _names(files: Sequence[str]) -> str:
    return ", ".join(os.path.relpath(name) for name in files[:_MOST_NAMES]) + (
        ", …" if len(files) > _MOST_NAMES else ""
    )


def _newest(location: str, suite: Path) -> "Run | None":
    """Return the newest complete run of a suite; None if there is none."""
    with suppress(EvalmarkError), store.open_store(location, read_only=True) as opened:
        for run in opened.runs(_MOST_RUNS):
            if run.status == "complete" and run.suite and os.path.realpath(run.suite) == os.path.realpath(suite):
                return opened.run(run.id)
    return None


def _print_difference(suite: Path, before: "Run | None", now: "Run | None") -> None:
    if before is not None and now is not None and before.id != now.id:
        titles = CaseTitles()
        print_error(f"\n  {suite.name}: {difference(_outcomes(before, titles), _outcomes(now, titles))}\n")


def _outcomes(run: "Run", titles: CaseTitles) -> dict[tuple[str, str, str], bool | None]:
    """Return whether each case, by dataset, target and title, passes in all its trials; None if some are not judged and none fails."""
    verdicts: dict[tuple[str, str, str], set[str]] = {}
    for result in run.results:
        case = result.trial.case
        key = (result.trial.dataset, result.trial.target, titles(case.id, case.input, result.trial.position))
        verdicts.setdefault(key, set()).add(result.verdict)
    return {key: False if "fail" in found else True if found == {"pass"} else None for key, found in verdicts.items()}


def difference(before: Mapping[Any, bool | None], now: Mapping[Any, bool | None]) -> str:
    """Describe which cases pass now and failed before, and the other way round, and how many lost their verdict.

    >>> difference({"a": True, "b": False, "c": True}, {"a": False, "b": True, "c": None})
    'since the run before, 1 case regressed, 1 improved: ▽ a, △ b; 1 has an error or no score now'
    """
    regressed = [key for key, passes in now.items() if passes is False and before.get(key)]
    improved = [key for key, passes in now.items() if passes and before.get(key) is False]
    lost = sum(passes is None and before.get(key) is not None for key, passes in now.items())
    return f"since the run before, {_changed_cases(regressed, improved)}" + (
        f"; {lost:,} {'has' if lost == 1 else 'have'} an error or no score now" if lost else ""
    )


def _changed_cases(regressed: Sequence[Any], improved: Sequence[Any]) -> str:
    if not regressed and not improved:
        return f"no case {CASE_WORDS['worse']} or {CASE_WORDS['better']}"
    changed = ((CASE_SIGNS["worse"], regressed), (CASE_SIGNS["better"], improved))
    names = [f"{sign} {_case_name(key)}" for sign, keys in changed for key in keys]
    shown = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    counts = f"{count(len(regressed), 'case')} {CASE_WORDS['worse']}, {len(improved):,} {CASE_WORDS['better']}"
    return f"{counts}: {shown}"


def _case_name(key: Any) -> str:
    return one_line(str(key[-1] if isinstance(key, tuple) else key), 40)


def refuse_with_watch(flags: Mapping[str, object]) -> None:
    """Refuse flags that concern one run.

    Raises:
        ConfigError: one of them is set.
    """
    for flag, value in flags.items():
        if value:
            raise ConfigError(f"--watch starts a new run after each change; leave {flag} out.")
