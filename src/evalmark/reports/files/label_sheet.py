"""A file to label outputs in, which `evalmark note --file` reads."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from evalmark.core.errors import ConfigError
from evalmark.core.values.label import LabelSample, about_output
from evalmark.core.values.run import Run
from evalmark.scoring.binding.text import text_of

from .run_csv import guard_formula

COLUMNS = ("id", "label", "score", "comment", "by", "input", "output")
"""The last two are only for people to read."""
SUFFIXES = (".csv", ".jsonl")


def check_label_sheet(path: Path) -> None:
    """Raise ConfigError unless labels could be read back from a file with this name."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"-o {path}: the name of a file to label in has to end in {' or '.join(SUFFIXES)}.")


def label_sheet(path: Path, run: Run, sample: LabelSample) -> Iterator[str]:
    """Yield the text of a file with a row for each drawn output and empty columns for its label."""
    if path.suffix.lower() == ".jsonl":
        for row in _rows(run, sample):
            yield json.dumps(row, ensure_ascii=False) + "\n"
        return
    yield _csv_line(COLUMNS)
    for row in _rows(run, sample):
        yield _csv_line(guard_formula(row[name]) for name in COLUMNS)


def _rows(run: Run, sample: LabelSample) -> Iterator[dict[str, str]]:
    places = {trial: place for place, trial in enumerate(sample.trials)}
    found = [result for result in run.results if result.trial.id in places]
    for result in sorted(found, key=lambda result: places[result.trial.id]):
        filled = {
            "id": about_output(run.id, result.trial.id),
            "input": text_of(result.trial.case.input),
            "output": text_of(result.output.value),
        }
        yield {name: filled.get(name, "") for name in COLUMNS}


def _csv_line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue()
