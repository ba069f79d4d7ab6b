"""Text of learned thresholds: the guarantee, its evidence and the unused labels."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from evalmark.core.text import count, one_line
from evalmark.stats.agreement.roc import Direction
from evalmark.stats.agreement.threshold_learning import ErrorRates
from evalmark.stats.calibration.evidence import LabelEvidence
from evalmark.stats.calibration.threshold_calibration import CASE, CalibratedMetric, Calibration

from .numbers import interval_in_brackets, percent

SAMPLE = 80
"""How many outputs are suggested to be labelled."""


def calibration_title(calibration: Calibration) -> str:
    """Name the source and count the labels that thresholds were learned from."""
    evidence = calibration.evidence
    cases = len({one.cluster for one in evidence.labelled})
    return (
        f"{calibration.kind} {one_line(calibration.name, 60)} · {evidence.liked:,} good and {evidence.disliked:,} bad "
        f"{'answer' if len(evidence.labelled) == 1 else 'answers'} to {count(cases, 'input')}"
    )


def unused_labels(evidence: LabelEvidence) -> list[str]:
    """Describe labels that were not used or need a remark; empty if there are none."""
    counts = [
        (evidence.contested, "contested, as many people call them good as bad"),
        (evidence.unlabelled, "without a thumb"),
        (evidence.failed, "labelled that ended in an error"),
        (evidence.gone, "labelled and deleted since"),
        (evidence.contradicting, "used although good in one place and bad in another"),
    ]
    return [f"{n:,} {what}" for n, what in counts if n]


def threshold_text(one: CalibratedMetric) -> str:
    """Describe the threshold, or say that there is none.

    `at least 0.82`, or `at most 0.1` where lower is better.
    """
    learned = one.learned
    if learned.threshold is None:
        return "no threshold"
    return f"{'at most' if learned.direction == 'lower' else 'at least'} {learned.threshold:g}"


def guarantee_lines(one: CalibratedMetric, calibration: Calibration) -> Iterator[tuple[str, str]]:
    """Yield `(topic, text)` lines: the guarantee of one threshold of a calibration, or what it lacks."""
    learned = one.learned
    guarantee = f"{_promise(one)}, with {percent(learned.level)} confidence"
    if learned.threshold is None:
        yield "guarantee", f"{guarantee}: not possible: {learned.reason}"
        if learned.missing:
            of_clusters = "" if one.unit == CASE else " with a case"
            yield (
                "missing",
                f"{count(learned.missing, f'further {one.unit}')}{of_clusters} labelled bad, none of which may pass",
            )
    else:
        yield "guarantee", f"{guarantee}; the labels show at most {percent(learned.bound)}"
        yield "false passes", _errors(learned.in_sample, learned.cross_fitted, passed=True)
        yield "false fails", _errors(learned.in_sample, learned.cross_fitted, passed=False)
    yield (
        "labels",
        (
            f"{learned.good:,} good ({count(learned.good_cases, one.unit)}) and {learned.bad:,} bad "
            f"({count(learned.bad_cases, one.unit)})"
        ),
    )
    area = "needs both labels" if learned.auc is None else f"{learned.auc:z.3f}"
    yield "AUC", area + interval_in_brackets(learned.auc_interval, "z.3f")
    yield from _choice(one, calibration)
    yield from _remarks(one)


def _promise(one: CalibratedMetric) -> str:
    share = percent(one.learned.max_false_pass)
    if one.unit == CASE:
        return f"at most {share} of bad cases pass"
    return f"in at most {share} of {one.unit}s with a bad case does one pass"


def _errors(inside: ErrorRates | None, outside: ErrorRates | None, *, passed: bool) -> str:
    def rate(rates: ErrorRates) -> str:
        k, n = (rates.false_pass, rates.bad) if passed else (rates.false_fail, rates.good)
        return f"{k:,} of {n:,}"

    parts = [] if inside is None else [f"{rate(inside)} on the labels it was learned from"]
    return " · ".join(parts + ([] if outside is None else [f"{rate(outside)} on held-out labels"]))


def _choice(one: CalibratedMetric, calibration: Calibration) -> Iterator[tuple[str, str]]:
    """Say how the labelled outputs were chosen, as far as it is known."""
    if not one.is_random:
        yield "assumes", "labels were chosen at random among outputs like those that a threshold will judge"
    if one.set_aside:
        yield (
            "set aside",
            f"{count(one.set_aside, 'label')} on outputs that evalmark did not draw, and that were not chosen at random",
        )
    if calibration.kind == "run" and one.learned.threshold is None and (n := _next_sample(calibration.evidence)):
        yield "next", f"{label_command(calibration.name, n=n)} draws outputs to label, and records them"


def _next_sample(evidence: LabelEvidence) -> int:
    """Return how many outputs to draw next: those of the largest random sample while it lacks labels, more afterwards.

    0 if every output of the run is labelled.
    """
    if evidence.labelled and not evidence.unlabelled:
        return 0
    labelled = {one.key for one in evidence.labelled}
    drawn = max((one.trials for one in evidence.samples if not one.by_verdict), key=len, default=())
    return max(SAMPLE, len(drawn)) if set(drawn) - labelled else len(drawn) + SAMPLE


def label_command(run: str, by_verdict: str = "", n: int = SAMPLE) -> str:
    """Return the command line that draws outputs of a run to label."""
    verdicts = f" --by-verdict {quote(by_verdict)}" if by_verdict else ""
    return f"evalmark label {run} --sample {n}{verdicts}"


def _remarks(one: CalibratedMetric) -> Iterator[tuple[str, str]]:
    liked, disliked = one.barred
    if liked or disliked:
        yield (
            "never pass",
            f"{liked:,} good and {disliked:,} bad, closer to a disliked example than to a liked one",
        )
    if one.alone:
        yield (
            "alone",
            f"{count(one.alone, 'output')} with nothing to compare with: no other labelled answer to the input",
        )
    if one.unscored > one.alone:
        yield "unscored", f"{count(one.unscored - one.alone, 'labelled output')} without a score by this metric"
    if one.one_sided:
        yield (
            "one-sided",
            f"{count(one.one_sided, 'output')} compared with disliked examples only, where values have another meaning",
        )


BIN_WIDTH = 0.05
"""Width of a histogram bin of scores."""


def bin_counts(values: Sequence[float], threshold: float | None, direction: Direction) -> Mapping[int, int]:
    """Count values in bins of 0.05 from the threshold, so that the threshold is always a bin edge."""
    start, lower = threshold or 0.0, direction == "lower"
    places = ((value - start) / BIN_WIDTH for value in values)
    return Counter(math.ceil(p - 1e-9) - 1 if lower else math.floor(p + 1e-9) for p in places)


def shown_bins(one: CalibratedMetric) -> Sequence[int]:
    """List the bins from the best to the worst score, including the two around the threshold."""
    learned = one.learned
    bins = {
        step for kind in (one.liked, one.disliked) for step in bin_counts(kind, learned.threshold, learned.direction)
    }
    if not bins:
        return ()
    if learned.threshold is not None:
        bins |= {-1, 0}
    steps = range(min(bins), max(bins) + 1)
    return steps if learned.direction == "lower" else steps[::-1]


def bin_edge(step: int, one: CalibratedMetric) -> str:
    """Format the edge of a bin that belongs to it: the lower edge, or the upper one if lower is better."""
    at = (one.learned.threshold or 0.0) + BIN_WIDTH * (step + (one.learned.direction == "lower"))
    return f"{min(1.0, max(0.0, at)):z.2f}"
