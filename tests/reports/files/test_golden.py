"""Every text of one run, compared with files a reviewer can read.

To write them anew after a change that is meant: `EVALMARK_WRITE_GOLDEN=1 pytest tests/reports/files/test_golden.py`.
"""

import os
import re
from pathlib import Path

import pytest

from evalmark.reports.files.comparison_html import comparison_as_html
from evalmark.reports.files.comparison_json import comparison_as_json
from evalmark.reports.files.comparison_markdown import comparison_in_markdown
from evalmark.reports.files.github import annotations, as_github, comparison_annotations
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_csv import as_csv
from evalmark.reports.files.run_html import as_html
from evalmark.reports.files.run_markdown import as_markdown
from evalmark.reports.files.writers import WRITERS
from tests.reports.text import agents, compared, judged, sides
from tests.reports.text.example import RUN

GOLDEN = Path(__file__).parent / "golden"


def html(run, **options):
    """A page without its style sheet, its script and their hashes: those are files that a reviewer reads as such."""
    return bare("".join(as_html(run, options=ReportOptions(**options))))


def bare(text):
    text = re.sub(r"<(style|script)>.*?</\1>", r"<\1>…</\1>", text, flags=re.DOTALL)
    text = re.sub(r"Written by evalmark [\w.+]+", "Written by evalmark …", text)
    return re.sub(r"'sha256-[^']*'", "'sha256-…'", text)


TEXTS = {
    f"{name}{ending}": lambda write=write, run=run: "".join(write(run))
    for name, run in (("run", RUN), ("judged", judged.RUN), ("agent", agents.RUN))
    for ending, write in WRITERS.items()
    if ending not in (".html", ".xml")
} | {
    "raw.csv": lambda: "".join(as_csv(RUN, options=ReportOptions(raw=True))),
    "run.github.md": lambda: "".join(as_github(RUN)),
    "judged.github.md": lambda: "".join(as_github(judged.RUN)),
    "sides.md": lambda: "".join(as_markdown(sides.RUN)),
    "run.html": lambda: html(RUN),
    "judged.html": lambda: html(judged.RUN),
    "agent.html": lambda: html(agents.RUN),
    "sides.html": lambda: html(sides.RUN),
    "sides.github.md": lambda: "".join(as_github(sides.RUN)),
    "compared.md": lambda: "".join(comparison_in_markdown(compared.WORSE, compared.PAIRS)),
    "compared.html": lambda: bare("".join(comparison_as_html(compared.WORSE, compared.PAIRS))),
    "compared.json": lambda: "".join(comparison_as_json(compared.WORSE, compared.PAIRS)),
    "compared.annotations.txt": lambda: "\n".join([*comparison_annotations(compared.WORSE, compared.PAIRS), ""]),
    "compared.run.md": lambda: "".join(as_markdown(compared.NOW, options=ReportOptions(comparison=compared.FEW))),
    "compared.run.html": lambda: html(compared.NOW, comparison=compared.WORSE, baseline=compared.THEN, cases=3),
    "annotations.txt": lambda: "\n".join([*annotations(RUN), *annotations(judged.RUN), ""]),
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
