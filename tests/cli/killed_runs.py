"""A program: runs a suite again and again, kills it at one write after the other, and takes it up again.

Each attempt is a fork of this process, which has imported everything already. Call: killed_runs FOLDER HOW POINT...
"""

import os
import shutil
import tempfile
from pathlib import Path

from evalmark.cli import main
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_json import as_jsonl
from evalmark.store import open_store
from evalmark.testing.failing_disk import FailingDisk

from .killing import JOBS, in_a_fork, program

STORE = "evalmark.db"


def run(*more: str) -> None:
    main(["run", "suite.json", "--store", STORE, "-j", str(JOBS), "--quiet", *more])


def run_until(point: int | None, how: str) -> None:
    with FailingDisk(Path.cwd(), at=point, mode=how) as disk:
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
        export = "".join(as_jsonl(run, options=ReportOptions(times=False)))
        return {"export": export, "notes": run.notes, "calls": sum(spent.calls for spent in run.spending)}


def asked() -> int:
    path = Path("asked.txt")
    return len(path.read_text(encoding="utf-8").split()) if path.exists() else 0


def attempt(suite_in: Path, point: int | None, how: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        for path in suite_in.glob("*.*"):
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
    program(attempt)
