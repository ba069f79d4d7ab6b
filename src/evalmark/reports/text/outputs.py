"""Outputs that no metric has scored, case by case, for reports that show targets side by side."""

from collections.abc import Mapping
from typing import NamedTuple

from evalmark.core.case_titles import case_title
from evalmark.core.text import count, one_line
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Trial
from evalmark.stats.summary.summary import Summary

MAX_CASES = 20
"""The most cases shown; the viewer, HTML and CSV have all of them."""


class CaseOutputs(NamedTuple):
    """The outputs of one case."""

    title: str
    trial: Trial
    by_target: Mapping[str, Result]
    """The first result of each target that ran the case."""


class OutputTable(NamedTuple):
    """The outputs of the first cases of a run."""

    targets: list[str]
    """In the order in which the user named them."""
    cases: list[CaseOutputs]
    remarks: list[str]
    """What the table leaves out, one sentence each."""


def has_unscored_outputs(summary: Summary) -> bool:
    """Return whether a run has outputs but no metrics, so that its outputs are shown instead of its worst cases."""
    return not summary.metrics and bool(summary.total.ungated)


def output_table(run: Run) -> OutputTable:
    """Return the outputs of the first cases, in the order of the run."""
    cases: dict[tuple[str, int], dict[str, Result]] = {}
    further = set()
    for result in run.results:
        trial = result.trial
        key = (trial.dataset, trial.position)
        if key not in cases and len(cases) == MAX_CASES:
            further.add(key)
        elif trial.repeat == 0:
            cases.setdefault(key, {})[trial.target] = result
    remarks = [f"{count(len(further), 'more case')}; all of them: evalmark view"] if further else []
    remarks += [f"The first of {run.repeat} repeats is shown."] if run.repeat > 1 else []
    targets = run.in_order(dict.fromkeys(target for by_target in cases.values() for target in by_target))
    return OutputTable(targets, [_case(run, by_target) for by_target in cases.values()], remarks)


def _case(run: Run, by_target: Mapping[str, Result]) -> CaseOutputs:
    trial = next(iter(by_target.values())).trial
    dataset = f" ({one_line(trial.dataset, 60)})" if len(run.datasets) > 1 else ""
    return CaseOutputs(case_title(trial.case.id, trial.case.input, trial.position) + dataset, trial, by_target)
