"""The end of a unit test: the text it prints, and the error that lists failed cases."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from evalmark.core.text import clean, count, display_text, one_line
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
"""Characters of a text that the error repeats."""


class UnitTestFailedError(AssertionError):
    """Cases of a unit test did not pass, or none was evaluated."""

    def __init__(self, message: str, run: Run, results: Sequence[TestCaseResult] = ()) -> None:
        super().__init__(mask_secrets(message))
        self.run = run
        """The whole run, as the store has it."""
        self.results = tuple(results)
        """What was found for the cases that did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTestSummary:
    """The result of a unit test."""

    name: str
    run: Run
    found: Sequence[JudgedCase]
    seconds: float
    store: str
    """Where the run is kept; empty where it is not."""
    flag: str = ""
    """Names the store to commands; empty where they find it by themselves."""

    @property
    def failed(self) -> list[JudgedCase]:
        """The cases that did not pass."""
        return [found for found in self.found if not found[0].passed]

    @property
    def overall(self) -> float | None:
        """The mean of all scores; None where there is none."""
        scores = [result.score for result, _ in self.found if result.score is not None]
        return sum(scores) / len(scores) if scores else None

    @property
    def scored(self) -> int:
        """The number of scores in the mean."""
        return sum(result.score is not None for result, _ in self.found)


def summary_text(summary: UnitTestSummary, look: TerminalStyle) -> str:
    """Return the text at the end: the run as `evalmark show` prints it, and a line on the test."""
    total, failing = len(summary.found), len(summary.failed)
    mean = "none" if summary.overall is None else f"{number_text(summary.overall)} (mean of {summary.scored:,})"
    line = (
        f"Unit test {one_line(summary.name)} finished in {duration(summary.seconds)}: overall score {mean}, "
        f"{total:,} processed, {total - failing:,} passed, {failing:,} failed"
    )
    text = f"{run_screen(summary.run, look).rstrip()}\n\n  {line}\n\n"
    return text if look.unicode else text.encode("ascii", "replace").decode("ascii")


def stdout_look(store: str, flags: str) -> TerminalStyle:
    """Return what the standard output can show."""
    is_open = sys.stdout is not None and not sys.stdout.closed
    interactive = is_open and sys.stdout.isatty()
    return TerminalStyle(
        store=store,
        flags=flags,
        width=max(60, min(shutil.get_terminal_size((100, 24)).columns, 140)),
        color=interactive and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        unicode=is_open and (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf"),
    )


def print_summary(text: str) -> None:
    """Print a text; a closed standard output is no error."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.write(mask_known_secrets(text))
        sys.stdout.flush()
    except OSError:  # the reader has closed it
        return


def failure_of(summary: UnitTestSummary) -> UnitTestFailedError | None:
    """Return the error of a test that did not pass; None where every case did."""
    failing = summary.failed
    again = f" Look again with: evalmark show {summary.run.id} --failed{summary.flag}" if summary.store else ""
    if not summary.found:
        why = " ".join(summary.run.notes) or "Nothing asked for test_cases()."
        message = (
            f"unit test {summary.name!r}: no case was evaluated, so nothing was tested. {why} Call evaluate() of each case "
            "of test.test_cases()."
        )
        return UnitTestFailedError(message, summary.run)
    if not failing:
        return None
    head = f"unit test {summary.name!r}: {len(failing):,} of {count(len(summary.found), 'case')} did not pass.{again}"
    lines = [_line(result, kept) for result, kept in failing[:_MOST_LISTED]]
    more = [f"  and {len(failing) - _MOST_LISTED:,} more"] if len(failing) > _MOST_LISTED else []
    return UnitTestFailedError("\n".join([head, *lines, *more]), summary.run, [result for result, _ in failing])


def _line(result: TestCaseResult, kept: Result) -> str:
    """Return the lines of a case that did not pass: which one, and why."""
    case = kept.trial.case
    where = f"{case.id} ({case.place})" if case.place else case.id
    asked = one_line(display_text(case.input), 80)
    return f"  {clean(where)}: {_why(result, kept)}\n      inputs: {asked}"


def _why(result: TestCaseResult, kept: Result) -> str:
    if result.error_description is not None:
        return f"error: {one_line(result.error_description, _LONGEST)}"
    said = next((score.reason for score in kept.scores if score.reason), result.reasoning or "")
    reason = f": {one_line(said, _LONGEST)}" if said else ""
    head = "not judged" if result.score is None and not _is_scored(kept) else f"score {number_text(result.score)}"
    return f"{head}{reason}"


def _is_scored(kept: Result) -> bool:
    return any(score.status == "scored" for score in kept.scores)
