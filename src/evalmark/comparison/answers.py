"""What the baseline answered to the trials of a run, one by one."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from evalmark.values import Mode, Result, Run, Trial, Verdict

from .change import Comparison
from .columns import content
from .rules import SAME, Rules

_Place = tuple[str, Mode, int, str]
"""A target of the baseline, how it was asked, for which time, and what it was asked."""


class Earlier(NamedTuple):
    """What was answered to a trial in the baseline."""

    value: Any
    error: str | None
    verdict: Verdict
    """As the newer run judges."""
    rules: Rules = SAME

    def went(self, now: Result) -> str:
        """What became of it: `worse` and `better` where it passed or failed and does the contrary now, else `other` or `same`."""
        verdict = self.rules.run(now).verdict
        if {self.verdict, verdict} == {"pass", "fail"}:
            return "worse" if verdict == "fail" else "better"
        is_same = (self.verdict, self.value, self.error) == (verdict, now.output.value, now.output.error)
        return "same" if is_same else "other"


def earlier_answers(found: Comparison, results: Iterable[Result], baseline: Run) -> Mapping[str, Earlier]:
    """The answers of the baseline to the trials of some results of a run, by the id of the trial.

    A case is known again by its content, and by its id where several have the same; a trial of which there is no such answer
    is left out. Of each result of the baseline only its answer is held.
    """
    against = {change.target: change.against for change in found.targets}
    wanted = {
        result.trial.id: (_place(result.trial, against[result.trial.target]), result.trial.case.id)
        for result in results
        if result.trial.target in against
    }
    places = {place for place, _ in wanted.values()}
    met: dict[_Place, dict[str, Earlier]] = {}
    for result in baseline.results if places else ():
        place = _place(result.trial, result.trial.target)
        if place in places:
            verdict = found.rules.baseline(result).verdict
            answer = Earlier(result.output.value, result.output.error, verdict, found.rules)
            met.setdefault(place, {})[result.trial.case.id] = answer
    return {
        trial: answers.get(case) or next(iter(answers.values()))
        for trial, (place, case) in wanted.items()
        if (answers := met.get(place)) and (case in answers or len(answers) == 1)
    }


def _place(trial: Trial, target: str) -> _Place:
    return target, trial.mode, trial.repeat, content(trial)
