"""A program: imports results or labels again and again, fails at one write after the other, and does it once more.

Each attempt is a fork of this process, in a folder with copies of the files. Call: killed_import FOLDER HOW POINT...
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from evalmark.cli import main
from evalmark.store import open_store
from evalmark.testing.failing_disk import FailingDisk

from .killing import in_a_fork, program

STORE = "kept.db"


def act(point: int | None = None, how: str = "before") -> None:
    words = Path("words").read_text(encoding="utf-8").split()
    with Path("said").open("w", encoding="utf-8") as said, FailingDisk(at=point, mode=how) as disk:
        sys.stderr = said
        try:
            main([*words, "--store", STORE])
        finally:
            Path("changes").write_text(str(disk.changes), encoding="utf-8")


def kept() -> list[object]:
    """The runs that are there, with how many results each has, and how many labels."""
    if not Path(STORE).exists():
        return [[], 0]
    with open_store(STORE) as store:  # for writing: also mends what a kill left behind
        return [[[run.status, len(run.results)] for run in store.runs()], len(store.sessions.all_labels())]


def attempt(folder: Path, point: int | None, how: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as here:
        shutil.copytree(folder, here, dirs_exist_ok=True)
        os.chdir(here)
        first = in_a_fork(lambda: act(point, how))
        found: dict[str, object] = {"point": point, "first": first, "after_first": kept()}
        found["changes"] = int(Path("changes").read_text(encoding="utf-8")) if Path("changes").exists() else None
        second = in_a_fork(act)
        found |= {"second": second, "after_second": kept(), "said": Path("said").read_text(encoding="utf-8")}
        os.chdir("/")
        return found


if __name__ == "__main__":
    program(attempt)
