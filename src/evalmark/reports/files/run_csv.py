"""Run report as CSV: one row per trial, safe for spreadsheet programs."""

import csv
import re
from collections.abc import Iterator
from typing import Any, cast

from evalmark.core.text import display_text
from evalmark.core.values.plain_data import finite_number
from evalmark.core.values.run import Run, metrics_for
from evalmark.core.values.score import Result, Score
from evalmark.stats.summary.gate import summary_and_verdict
from evalmark.stats.summary.summary import Summary

from .options import DEFAULT_OPTIONS, ReportOptions

COLUMNS = ("dataset", "case", "repeat", "target", "verdict", "seconds", "error", "input", "expected", "output")
SCORE_COLUMNS = ("value", "raw", "passed", "status", "reason")
"""Columns of each metric, named `<metric> <part>`."""
LAST = ("mode",)
"""After all metrics, so that earlier columns keep their places; then `<metric> judge` for each judged one."""
END = ("waited", "raised_at")
"""After those."""
TIMES = ("seconds", "waited")

_STARTS = "=+\\-@\t\r'\uff1d\uff0b\uff0d\uff20"  # the last four are full-width forms of the first four
_BREAKS = "\r\n\t,;"  # a spreadsheet importer may start a new cell at these characters
_FORMULA = re.compile(f"(?<![^{_BREAKS}])(?=[{_STARTS}])")
_GUARD = re.compile(f"(?<![^{_BREAKS}])'")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def as_csv(run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """One row a trial, and a last one where the run is incomplete; numbers stay numbers, and text that could be a formula gets a leading apostrophe."""
    summary, _ = summary_and_verdict(run, summary)
    names = list(summary.metric_names)
    columns, end = ([name for name in some if options.times or name not in TIMES] for some in (COLUMNS, END))
    judged = dict.fromkeys(metric.name for metric in run.metrics if metric.judge)
    judged_names = [name for name in judged if name in summary.metric_names]
    header = [*columns, *(f"{name} {part}" for name in names for part in SCORE_COLUMNS), *LAST]
    header += [*(f"{name} judge" for name in judged_names), *end]
    yield _row(header, options)
    for result in run.results:
        cells = trial_cells(result)
        scores = {score.name: score for score in result.scores}
        row = [cells[name] for name in columns]
        for name in names:
            row += score_cells(scores.get(name))
        row.append(result.trial.mode)
        metrics = metrics_for(run.metrics, result.trial.dataset)
        row += [metrics[name].judge or None if name in scores and name in metrics else None for name in judged_names]
        row += [cells[name] for name in end]
        yield _row(row, options)
    if run.status != "complete":
        last = {"verdict": "incomplete", "error": " ".join(run.notes[-1:])}
        yield _row([last.get(name) for name in header], options)


def guard_formula(text: str) -> str:
    """Put an apostrophe before anything that a spreadsheet program would run as a formula.

    >>> guard_formula("=1+1"), guard_formula("a,=1+1"), guard_formula("-5"), guard_formula("fine")
    ("'=1+1", "a,'=1+1", '-5', 'fine')
    """
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub("'", text)


def unguard_formula(text: str) -> str:
    """Undo `guard_formula`.

    >>> unguard_formula(guard_formula("'=1+1"))
    "'=1+1"
    """
    return _GUARD.sub("", text)


def trial_cells(result: Result) -> dict[str, Any]:
    """Return the cells of a trial by column."""
    trial, output = result.trial, result.output
    return {
        "dataset": trial.dataset,
        "case": trial.case.id,
        "repeat": trial.repeat,
        "target": trial.target,
        "verdict": result.verdict,
        "seconds": finite_number(output.seconds),
        "waited": finite_number(output.waited),
        "raised_at": None if output.error is None else output.metadata.get("raised_at"),
        "error": output.error,
        "input": trial.case.input,
        "expected": trial.case.expected,
        "output": output.value,
    }


def score_cells(score: Score | None) -> list[Any]:
    """Return the cells of a score in the order of `SCORE_COLUMNS`; None for a trial without it."""
    if score is None:
        return [None] * len(SCORE_COLUMNS)
    raw = float(score.raw) if isinstance(score.raw, bool) else score.raw
    return [finite_number(score.value), raw, score.passed, score.status, score.reason]


class _EchoFile:
    """A file that returns what the csv module writes."""

    def write(self, text: str) -> str:
        return text


_CSV = csv.writer(cast(Any, _EchoFile()), lineterminator="\n")


def _row(cells: list[Any], options: ReportOptions) -> str:
    return cast(str, cast(Any, _CSV).writerow([_cell(cell, options) for cell in cells]))


def _cell(value: Any, options: ReportOptions) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if isinstance(value, int) else finite_number(value)
    if options.raw and isinstance(value, str):
        return value
    text = display_text(value)
    return text if options.raw else guard_formula(text)
