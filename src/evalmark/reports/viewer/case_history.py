"""The results of a case in other runs of its suite."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalmark.core.text import one_line
from evalmark.core.values.run import Run, metrics_for
from evalmark.core.values.score import Result
from evalmark.reports.html.escaping import source_text
from evalmark.reports.text.verdicts import score_kind, short_score, shown_scores, verdict_cause
from evalmark.stats.comparison.metric_values import case_fingerprint
from evalmark.storage.queries.pages import NumberedResult, TargetCase

from .store_view import StoreView

MOST_LATER, MOST_EARLIER = 3, 7
"""Other runs that are shown, at most."""
_EXCERPT = 240
"""Characters of an output."""
_METRICS = 3
"""Metrics that have a column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRunResult:
    """The results of a case in another run of its suite."""

    run: Run
    is_later: bool
    """Whether the run was made after the one of the page."""
    results: Sequence[NumberedResult]
    """One for each repeat, on one target."""
    target: str
    """The target, if it is another one; else empty."""
    output: str
    """The beginning of the output, or of its error, of the first repeat that did not pass; empty if it is the same."""
    number: int
    """The row number of that repeat."""
    is_error: bool
    is_edited: bool
    """Whether the case had another input or expected output."""
    scores: Mapping[str, tuple[str, str]]
    """The kind and text of each score by its metric."""
    decided_by: Sequence[str]
    """The metrics that decided the verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseHistory:
    """The results of a case in other runs of its suite."""

    others: Sequence[OtherRunResult] = ()
    """The newest first."""
    metrics: Sequence[str] = ()
    """Metrics that have a column; those that decided the verdict on the page come first."""

    @property
    def passed(self) -> list[bool]:
        """Whether each repeat passed, for each other run in which all repeats passed or failed."""
        verdicts = [{each.verdict for each in one.results} for one in self.others]
        return [every == {"pass"} for every in verdicts if every <= {"pass", "fail", "error"}]


def case_history(view: StoreView, run: Run, result: Result) -> CaseHistory:
    """Return the results of the case of a result in the runs of its suite around its run."""
    if not (run.name or run.suite):
        return CaseHistory()
    later, earlier = view.store.runs_of_suite(run, later=MOST_LATER, earlier=MOST_EARLIER)
    others = [*later, *earlier]
    cases = {other.id: case for other in others if (case := _case_in(other, run, result)) is not None}
    results = view.store.results_of_case(cases)
    found = [
        _other_run_result(other, result, several, is_later=place < len(later))
        for place, other in enumerate(others)
        if (several := results.get(other.id))
    ]
    return CaseHistory(others=found, metrics=_columns(result, found))


def _columns(result: Result, others: Sequence[OtherRunResult]) -> list[str]:
    """Choose the metrics that have a column: those that decided, then those that can, in the order of the suite."""
    kinds = [(score.name, score_kind(score)) for score in shown_scores(result)]
    kinds += [(name, kind) for one in others for name, (kind, _) in one.scores.items()]
    can_decide = dict.fromkeys(name for name, kind in kinds if kind in ("pass", "fail", "error"))
    deciding = dict.fromkeys(score.name for score in verdict_cause(result)[1])
    return [*(deciding | can_decide | dict.fromkeys(name for name, _ in kinds))][:_METRICS]


def _case_in(other: Run, run: Run, result: Result) -> TargetCase | None:
    """Identify the case in another run: on the same target, or on the only one of each run."""
    trial, targets = result.trial, other.target.split(", ")
    if trial.target in targets:
        return TargetCase(trial.dataset, trial.case.id, trial.target, trial.mode)
    is_only = len(targets) == 1 and ", " not in run.target
    return TargetCase(trial.dataset, trial.case.id, other.target, trial.mode) if is_only else None


def _other_run_result(run: Run, result: Result, several: Sequence[NumberedResult], *, is_later: bool) -> OtherRunResult:
    shown = next((one for one in several if one.verdict not in ("pass", "ungated", "unscored")), several[0])
    output = shown.result.output
    metrics = metrics_for(run.metrics, result.trial.dataset)
    is_same = (output.value, output.error) == (result.output.value, result.output.error)
    text = output.error if output.error is not None else source_text(output.value)
    return OtherRunResult(
        run=run,
        is_later=is_later,
        results=several,
        target="" if shown.result.trial.target == result.trial.target else shown.result.trial.target,
        output="" if is_same else one_line(text, _EXCERPT) or "(empty)",
        number=shown.number,
        is_error=output.error is not None,
        is_edited=not shown.is_cut and case_fingerprint(shown.result.trial) != case_fingerprint(result.trial),
        scores={
            score.name: (score_kind(score), short_score(score, metrics.get(score.name)))
            for score in shown_scores(shown.result)
        },
        decided_by=[score.name for score in verdict_cause(shown.result)[1]],
    )
