"""A program: runs a suite again and again, kills it at one write after the other, and takes it up again.

Each attempt is a fork of this process, which has imported everything already. It prints one JSON line an
attempt, and waits for a line before the next one. Call: killed_runs.py SUITE HOW POINT...
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from evalmark.cli import main
from evalmark.report import Options, as_jsonl
from evalmark.store import open_store
from evalmark.testing.crash import Disk

STORE = "evalmark.db"


def in_a_fork(act) -> int:
    """The exit code of `act` in a child, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            act()
        except SystemExit as left:
            os._exit(left.code or 0)
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run(*more: str) -> None:
    main(["run", "suite.json", "--store", STORE, "-j", "3", "--quiet", *more])


def run_until(point: int | None, how: str) -> None:
    with Disk(Path.cwd(), at=point, how=how) as disk:
        try:
            run()
        finally:
            Path("changes").write_text(str(disk.changes), encoding="utf-8")


def state() -> tuple[int, bool]:
    """How many results are kept, and whether the run had ended before the kill."""
    if not Path(STORE).exists():
        return 0, False
    with open_store(STORE) as store:  # for writing: also mends what a kill left behind
        runs = store.runs(1)
        return (len(runs[0].results), runs[0].status == "complete") if runs else (0, False)


def kept() -> dict:
    with open_store(STORE, read_only=True) as store:
        run = store.run("last")
        export = "".join(as_jsonl(run, options=Options(times=False)))
        return {"export": export, "notes": run.notes, "calls": sum(spent.calls for spent in run.spending)}


def asked() -> int:
    path = Path("asked.txt")
    return len(path.read_text(encoding="utf-8").split()) if path.exists() else 0


def attempt(suite: Path, point: int | None, how: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        for path in suite.parent.glob("*.*"):
            if path.is_file():
                shutil.copy(path, folder)
        os.chdir(folder)
        first = in_a_fork(lambda: run_until(point, how))
        changes = int(Path("changes").read_text(encoding="utf-8")) if Path("changes").exists() else None
        before, (there, complete) = asked(), state()
        second = 0 if complete else in_a_fork(lambda: run("--resume"))
        found = {"point": point, "first": first, "second": second, "changes": changes, "kept": there}
        found |= {"asked_before": before, "asked": asked(), **kept()}
        os.chdir("/")
        return found


if __name__ == "__main__":
    suite, how, *points = sys.argv[1:]
    for point in points:
        found = attempt(Path(suite).resolve(), None if point == "none" else int(point), how)
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
        sys.stdin.readline()
