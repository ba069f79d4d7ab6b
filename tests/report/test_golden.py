"""Every report of one run, compared with files a reviewer can read.

To write them anew after a change that is meant: `EVALMARK_WRITE_GOLDEN=1 pytest tests/report/test_golden.py`.
"""

import os
from pathlib import Path

import pytest

from evalmark.report import WRITERS, Look, Options, one_case, run_list, terminal
from evalmark.report.sheet import as_csv

from .example import RESULTS, RUN

GOLDEN = Path(__file__).parent / "golden"
KEPT = ".evalmark/evalmark.db"
REPORTS = {
    f"run{ending}": lambda write=write: "".join(write(RUN)) for ending, write in WRITERS.items() if ending != ".xml"
} | {
    "raw.csv": lambda: "".join(as_csv(RUN, options=Options(raw=True))),
    "terminal-80.txt": lambda: terminal(RUN, Look(width=80, store=KEPT)),
    "terminal-120.txt": lambda: terminal(RUN, Look(width=120, store=KEPT)),
    "terminal-ascii.txt": lambda: terminal(RUN, Look(width=80, unicode=False)),
    "terminal-color.txt": lambda: terminal(RUN, Look(width=100, color=True)),
    "case.txt": lambda: one_case(RESULTS[4], Look(width=80), run=RUN) + one_case(RESULTS[-1], Look(width=80)),
    "list.txt": lambda: run_list([RUN], Look(width=100)),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_its_golden_file(name):
    found = REPORTS[name]().encode("utf-8", "backslashreplace")
    path = GOLDEN / name
    if os.environ.get("EVALMARK_WRITE_GOLDEN"):
        path.write_bytes(found)
    assert found.decode() == path.read_bytes().decode()


def test_no_golden_file_is_left_over():
    assert {path.name for path in GOLDEN.iterdir()} == set(REPORTS)
