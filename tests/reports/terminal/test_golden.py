"""Every text of one run, compared with files a reviewer can read.

To write them anew after a change that is meant: `EVALMARK_WRITE_GOLDEN=1 pytest tests/reports/terminal/test_golden.py`.
"""

import os
from pathlib import Path

import pytest

from evalmark.reports.terminal.call import call_screen
from evalmark.reports.terminal.cases import case_screen
from evalmark.reports.terminal.comparison import comparison_screen
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.forecast import forecast_screen
from evalmark.reports.terminal.imports import import_screen
from evalmark.reports.terminal.run_list import ListedRun, run_list_screen
from evalmark.reports.terminal.run_report import run_screen
from evalmark.reports.terminal.target_overview import overview_screen
from evalmark.stats.summary.target_overview import overview as side_by_side
from evalmark.stats.summary.totals import run_totals
from tests.reports.terminal.exchanges import BROKEN, CALL, FORECAST
from tests.reports.text import agents, compared, judged, sides
from tests.reports.text.example import RESULTS, RUN

GOLDEN = Path(__file__).parent / "golden"
PARTS = [
    ("mapped", "answers", "the output"),
    ("left out", "overview.csv\x1b[31m", "computed anew"),
    ("mapped", "a column with a name that is longer than the room there is for it", ""),
]
KEPT = ".evalmark/evalmark.db"
TEXTS = {
    "terminal-80.txt": lambda: run_screen(RUN, TerminalStyle(width=80, store=KEPT)),
    "terminal-120.txt": lambda: run_screen(RUN, TerminalStyle(width=120, store=KEPT)),
    "terminal-ascii.txt": lambda: run_screen(RUN, TerminalStyle(width=80, unicode=False)),
    "terminal-color.txt": lambda: run_screen(RUN, TerminalStyle(width=100, color=True)),
    "case.txt": lambda: (
        case_screen(RESULTS[4], TerminalStyle(width=80), run=RUN) + case_screen(RESULTS[-1], TerminalStyle(width=80))
    ),
    "judged-80.txt": lambda: run_screen(judged.RUN, TerminalStyle(width=80, store=KEPT)),
    "judged-120.txt": lambda: run_screen(judged.RUN, TerminalStyle(width=120, store=KEPT)),
    "judged-case.txt": lambda: case_screen(judged.RUN.results[4], TerminalStyle(width=80), run=judged.RUN),
    "agent-case.txt": lambda: "".join(case_screen(r, TerminalStyle(width=80), run=agents.RUN) for r in agents.RESULTS),
    "call.txt": lambda: call_screen(CALL, TerminalStyle(width=80)) + call_screen(BROKEN, TerminalStyle(width=80)),
    "plan.txt": lambda: (
        forecast_screen(FORECAST, TerminalStyle(width=80)) + forecast_screen(FORECAST, TerminalStyle(width=120))
    ),
    "sides.txt": lambda: run_screen(sides.RUN, TerminalStyle(width=100)),
    "overview-80.txt": lambda: overview_screen(sides.RUN, side_by_side(sides.RUN), TerminalStyle(width=80)),
    "overview-120.txt": lambda: overview_screen(sides.RUN, side_by_side(sides.RUN), TerminalStyle(width=120)),
    "overview-ascii.txt": lambda: overview_screen(
        sides.RUN, side_by_side(sides.RUN), TerminalStyle(width=100, unicode=False)
    ),
    "account.txt": lambda: import_screen(
        "results: 2 of 3", PARTS, ["rows.csv:4: 2 cells", "\x1b[31mx"] * 11, TerminalStyle(width=80)
    ),
    "compared-80.txt": lambda: comparison_screen(compared.WORSE, TerminalStyle(width=80)),
    "compared-120.txt": lambda: comparison_screen(compared.WORSE, TerminalStyle(width=120)),
    "compared-ascii.txt": lambda: comparison_screen(compared.WORSE, TerminalStyle(width=100, unicode=False), limit=3),
    "compared-pairs.txt": lambda: comparison_screen(
        compared.WORSE, TerminalStyle(width=80), limit=2, pairs=compared.PAIRS
    ),
    "compared-few.txt": lambda: (
        comparison_screen(compared.FEW, TerminalStyle(width=80))
        + comparison_screen(compared.NOTHING, TerminalStyle(width=80))
    ),
    "list.txt": lambda: run_list_screen(
        [ListedRun(run=RUN, totals=run_totals(RUN), spending=RUN.spending)], TerminalStyle(width=100)
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_its_golden_file(name):
    found = TEXTS[name]().encode("utf-8", "backslashreplace")
    path = GOLDEN / name
    if os.environ.get("EVALMARK_WRITE_GOLDEN"):
        path.write_bytes(found)
    assert found.decode() == path.read_bytes().decode()


def test_no_golden_file_is_left_over():
    assert {path.name for path in GOLDEN.iterdir()} == set(TEXTS)
