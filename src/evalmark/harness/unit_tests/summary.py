"""The end of a unit test: the text it prints, and the error that lists failed cases."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from evalmark.core.text import clean, count, display_text, encodable, one_line
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.inputs.secrets.known_secrets import mask_known_secrets
from evalmark.inputs.secrets.masks import mask_secrets
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.run_report import run_screen
from evalmark.reports.text.numbers import duration, number_text

from .results import TestCaseResult
from .run import JudgedCase

_MOST_LISTED = 20
_LONGEST = 300
"""The most characters of a text in the error."""


class UnitTestFailedError(AssertionError):
    """Cases of a unit test did not pass, or none was evaluated."""

    def __init__(self, message: str, run: Run, results: Sequence[TestCaseResult] = ()) -> None:
        super().__init__(mask_secrets(message))
        self.run = run
        """The whole run, as it is stored."""
        self.results = tuple(results)
        """The results of the cases that did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTestSummary:
    """The result of a unit test."""

    name: str
    run: Run
    cases: Sequence[JudgedCase]
    seconds: float
    store: str
    """The store of the run; empty if it is not stored."""
    flag: str = ""
    """The `--store` flag of commands; empty if they use this store by default."""

    @property
    def failed(self) -> list[JudgedCase]:
        """The cases that did not pass."""
        return [case for case in self.cases if not case[0].passed]


def summary_text(summary: UnitTestSummary, look: TerminalStyle) -> str:
    """Return the text at the end: the run as `evalmark show` prints it, and a line about the test."""
    total, failing = len(summary.cases), len(summary.failed)
    scores = [result.score for result, _ in summary.cases if result.score is not None]
    mean = f"{number_text(fmean(scores))} (mean of {len(scores):,})" if scores else "none"
    line = (
        f"Unit test {one_line(summary.name)} finished in {duration(summary.seconds)}: overall score {mean}, "
        f"{total:,} processed, {total - failing:,} passed, {failing:,} failed"
    )
    text = f"{run_screen(summary.run, look).rstrip()}\n\n  {line}\n\n"
    return text if look.unicode else text.encode("ascii", "replace").decode("ascii")


def print_summary(text: str) -> None:
    """Print a text, with escapes for characters that the standard output does not know; do nothing if it is closed."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.write(encodable(mask_known_secrets(text), sys.stdout))
        sys.stdout.flush()
    except OSError:  # the reader has closed it
        return


def failure_of(summary: UnitTestSummary) -> UnitTestFailedError | None:
    """Return the error of a test that did not pass; None where every case passed."""
    failing = summary.failed
    again = f" Show it again with: evalmark show {summary.run.id} --failed{summary.flag}" if summary.store else ""
    if not summary.cases:
        why = " ".join(summary.run.notes) or "test_cases() was not called."
        message = (
            f"unit test {summary.name!r}: no case was evaluated. {why} Call evaluate() of each case of "
            "test.test_cases()."
        )
        return UnitTestFailedError(message, summary.run)
    if not failing:
        return None
    head = f"unit test {summary.name!r}: {len(failing):,} of {count(len(summary.cases), 'case')} did not pass.{again}"
    lines = [_line(result, stored) for result, stored in failing[:_MOST_LISTED]]
    more = [f"  and {len(failing) - _MOST_LISTED:,} more"] if len(failing) > _MOST_LISTED else []
    return UnitTestFailedError("\n".join([head, *lines, *more]), summary.run, [result for result, _ in failing])


def _line(result: TestCaseResult, stored: Result) -> str:
    """Return the lines of a case that did not pass: which one, and why."""
    case = stored.trial.case
    where = f"{case.id} ({case.place})" if case.place else case.id
    inputs = one_line(display_text(case.input), 80)
    return f"  {clean(where)}: {_why(result, stored)}\n      inputs: {inputs}"


def _why(result: TestCaseResult, stored: Result) -> str:
    if result.error_description is not None:
        return f"error: {one_line(result.error_description, _LONGEST)}"
    reasoning = next((score.reason for score in stored.scores if score.reason), result.reasoning or "")
    reason = f": {one_line(reasoning, _LONGEST)}" if reasoning else ""
    is_scored = any(score.status == "scored" for score in stored.scores)
    head = "not judged" if result.score is None and not is_scored else f"score {number_text(result.score)}"
    return f"{head}{reason}"
