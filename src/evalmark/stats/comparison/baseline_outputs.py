"""Finds the baseline's output for each trial of a run."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from evalmark.core.values.run import Run
from evalmark.core.values.score import Mode, Result, Score, Trial, Verdict
from evalmark.stats.inference.argument_checks import check_arguments

from .change import Comparison, is_unchanged
from .metric_values import case_fingerprint
from .scoring_rules import SAME, ScoringRules

_Place = tuple[str, Mode, int, str]
"""A target of the baseline, the mode, the repeat, and the fingerprint of the case."""


class BaselineOutput(NamedTuple):
    """The output of the baseline for one trial."""

    value: Any
    error: str | None
    verdict: Verdict
    """By the rules of the newer run."""
    rules: ScoringRules = SAME
    metric: str = ""
    """The metric that ranks cases; empty: pass or fail."""
    score: Score | None = None
    """The score of that metric."""

    def outcome(self, now: Result) -> str:
        """Return `worse` or `better` by the deciding metric, otherwise by pass or fail; else `other` or `same`."""
        score = next((score for score in now.scores if score.name == self.metric), None)
        if self.score is not None and score is not None and (found := _moved(self.score, score)):
            return found
        verdict = self.rules.run(now).verdict
        if {self.verdict, verdict} == {"pass", "fail"}:
            return "worse" if verdict == "fail" else "better"
        is_same = (self.verdict, self.value, self.error) == (verdict, now.output.value, now.output.error)
        return "same" if is_same else "other"


@check_arguments
def baseline_outputs(found: Comparison, results: Iterable[Result], baseline: Run) -> Mapping[str, BaselineOutput]:
    """Return the baseline's outputs for the trials of some results, by trial id.

    A case is identified by its content, and by its id if several have the same content. Trials without a match
    are left out.
    """
    deciding = {change.against: change.deciding.name for change in found.targets}
    against = {change.target: change.against for change in found.targets}
    wanted = {
        result.trial.id: (_place(result.trial, against[result.trial.target]), result.trial.case.id)
        for result in results
        if result.trial.target in against
    }
    places = {place for place, _ in wanted.values()}
    met: dict[_Place, dict[str, BaselineOutput]] = {}
    for result in baseline.results if places else ():
        place = _place(result.trial, result.trial.target)
        if place in places:
            judged, metric = found.rules.baseline(result), deciding.get(result.trial.target, "")
            score = next((score for score in judged.scores if score.name == metric), None)
            answer = BaselineOutput(
                result.output.value, result.output.error, judged.verdict, found.rules, metric, score
            )
            met.setdefault(place, {})[result.trial.case.id] = answer
    return {
        trial: answers.get(case) or next(iter(answers.values()))
        for trial, (place, case) in wanted.items()
        if (answers := met.get(place)) and (case in answers or len(answers) == 1)
    }


def _moved(before: Score, now: Score) -> str:
    """Return how an output changed by one metric; empty if it is unchanged within rounding, or unknown."""
    if before.status != "scored" or now.status != "scored":
        return ""
    in_units = before.value is None or now.value is None
    numbers = [one.raw if in_units else one.value for one in (before, now)]
    old, new = (float(number) if isinstance(number, (int, float)) else None for number in numbers)
    if old is None or new is None or is_unchanged(old, new, in_units=in_units):
        return ""
    return "better" if (new > old) is (now.direction == "higher") else "worse"


def _place(trial: Trial, target: str) -> _Place:
    return target, trial.mode, trial.repeat, case_fingerprint(trial)
