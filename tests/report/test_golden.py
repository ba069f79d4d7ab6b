"""Every report of one run, compared with files a reviewer can read.

To write them anew after a change that is meant: `EVALMARK_WRITE_GOLDEN=1 pytest tests/report/test_golden.py`.
"""

import os
from pathlib import Path

import pytest

from evalmark.report import WRITERS, Look, Options, one_call, one_case, plan, run_list, terminal
from evalmark.report.sheet import as_csv

from . import judged
from .example import RESULTS, RUN

GOLDEN = Path(__file__).parent / "golden"
KEPT = ".evalmark/evalmark.db"
REPORTS = {
    f"{name}{ending}": lambda write=write, run=run: "".join(write(run))
    for name, run in (("run", RUN), ("judged", judged.RUN))
    for ending, write in WRITERS.items()
    if ending != ".xml"
} | {
    "raw.csv": lambda: "".join(as_csv(RUN, options=Options(raw=True))),
    "terminal-80.txt": lambda: terminal(RUN, Look(width=80, store=KEPT)),
    "terminal-120.txt": lambda: terminal(RUN, Look(width=120, store=KEPT)),
    "terminal-ascii.txt": lambda: terminal(RUN, Look(width=80, unicode=False)),
    "terminal-color.txt": lambda: terminal(RUN, Look(width=100, color=True)),
    "case.txt": lambda: one_case(RESULTS[4], Look(width=80), run=RUN) + one_case(RESULTS[-1], Look(width=80)),
    "judged-80.txt": lambda: terminal(judged.RUN, Look(width=80, store=KEPT)),
    "judged-120.txt": lambda: terminal(judged.RUN, Look(width=120, store=KEPT)),
    "judged-case.txt": lambda: one_case(judged.RUN.results[4], Look(width=80), run=judged.RUN),
    "call.txt": lambda: one_call(judged.CALL, Look(width=80)) + one_call(judged.BROKEN, Look(width=80)),
    "plan.txt": lambda: plan(judged.FORECAST, Look(width=80)) + plan(judged.FORECAST, Look(width=120)),
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
