"""A program: merges shards again and again, fails at one write after the other, and merges once more.

Each attempt is a fork of this process, in a folder with copies of the shards. Call: killed_merge FOLDER HOW POINT...
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from evalmark.cli import main
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_json import as_jsonl
from evalmark.store import open_store
from evalmark.testing.failing_disk import FailingDisk

from .killing import in_a_fork, program

MERGED = "merged.db"


def merge(point: int | None = None, how: str = "before") -> None:
    with Path("said").open("w", encoding="utf-8") as said, FailingDisk(at=point, mode=how) as disk:
        sys.stderr = said
        try:
            main(["merge", *sorted(map(str, Path().glob("shard-*.db"))), "-o", MERGED, "-q"])
        finally:
            Path("changes").write_text(str(disk.changes), encoding="utf-8")


def kept() -> list[list[object]]:
    """The runs that are there, with how many results and calls each has."""
    if not Path(MERGED).exists():
        return []
    with open_store(MERGED) as store:  # for writing: also mends what a kill left behind
        calls = sum(model.calls for model in store.recordings.by_model())
        return [[run.status, len(run.results), calls] for run in store.runs()]


def attempt(folder: Path, point: int | None, how: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as here:
        for path in folder.glob("shard-*.db"):
            shutil.copy(path, here)
        os.chdir(here)
        first = in_a_fork(lambda: merge(point, how))
        said = Path("said").read_text(encoding="utf-8")
        found = {"point": point, "first": first, "said": said, "after_first": kept()}
        found["changes"] = int(Path("changes").read_text(encoding="utf-8")) if Path("changes").exists() else None
        second = in_a_fork(merge)
        with open_store(MERGED, read_only=True) as store:
            export = "".join(as_jsonl(store.run("last"), options=ReportOptions(times=False)))
        os.chdir("/")
        return found | {"second": second, "after_second": kept_there(here), "export": export}


def kept_there(folder: str) -> list[list[object]]:
    os.chdir(folder)
    try:
        return kept()
    finally:
        os.chdir("/")


if __name__ == "__main__":
    program(attempt)
