"""Finds results that show how a changed case differs before and now."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.stats.inference.argument_checks import check_arguments

from .change import Comparison, Flip, Key
from .metric_values import case_key


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipExample:
    """A changed case, with one result of each run."""

    flip: Flip
    before: Result
    now: Result


@check_arguments
def flip_examples(found: Comparison, run: Run, baseline: Run, limit: int) -> list[FlipExample]:
    """Return the results of the first `limit` changed cases of each target, the largest drop first.

    Of a case with repeats, it takes the first passing one where more pass, and the first failing one where fewer
    do; if a metric decided, the best or worst one.
    """
    wanted = [(change, list(islice(change.moved, limit))) for change in found.targets]
    run, baseline = found.rules.runs(run, baseline)
    now = _results(run, {(change.target, (flip.dataset, flip.case)) for change, flips in wanted for flip in flips})
    before = _results(baseline, {(change.against, flip.was) for change, flips in wanted for flip in flips})
    return [
        FlipExample(
            flip=flip,
            before=_example(before[change.against, flip.was], flip.metric, passes=flip.is_worse),
            now=_example(now[change.target, (flip.dataset, flip.case)], flip.metric, passes=not flip.is_worse),
        )
        for change, flips in wanted
        for flip in flips
    ]


def _results(run: Run, wanted: Collection[tuple[str, Key]]) -> dict[tuple[str, Key], list[Result]]:
    found: dict[tuple[str, Key], list[Result]] = {}
    missing = len(wanted) * max(1, run.repeat)
    for result in run.results if wanted else ():
        place = (result.trial.target, case_key(result.trial))
        if place in wanted:
            found.setdefault(place, []).append(result)
            missing -= 1
            if missing <= 0 and len(found) == len(wanted):  # no more results are needed
                break
    return found


def _example(results: Iterable[Result], metric: str, *, passes: bool) -> Result:
    """Return the first result that passes or fails; by a metric the best or worst; the first one if none does."""
    several = list(results)
    if metric:
        known = [(worth, result) for result in several if (worth := _value(result, metric)) is not None]
        return (max if passes else min)(known, key=itemgetter(0), default=(0.0, several[0]))[1]
    word = "pass" if passes else "fail"
    return next((result for result in several if result.verdict == word), several[0])


def _value(result: Result, metric: str) -> float | None:
    """Return the value of a metric for a result, higher if better."""
    for score in result.scores:
        said = score.raw if score.value is None else score.value
        if score.name == metric and score.status == "scored" and isinstance(said, (int, float)):
            return said if score.direction == "higher" else -said
    return None
