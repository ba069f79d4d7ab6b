"""Checks how the outputs were chosen whose labels are used, and which of them evalmark drew at random."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from evalmark.core.values.label import LabelSample
from evalmark.stats.inference.means import FEW
from evalmark.stats.inference.shift import DistributionShift, ScoreDistribution, distribution_shift, score_distribution

from .audit_results import DrawnLabels, GroundTruth
from .evidence import LabelEvidence, LabelledOutput
from .judge_rates import JudgeVerdict

CHOSEN = "the labelled outputs score otherwise than the other outputs of the run, so they were not drawn at random"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreChoice:
    """How outputs were chosen whose labels a threshold is learned from."""

    reason: str = ""
    """Why no threshold can be learned from them; otherwise empty."""
    is_random: bool = False
    """Whether they are known to be random: evalmark drew them, or there are no others."""
    set_aside: int = 0
    """Labels on other outputs than those that evalmark drew, if these are not used."""


def random_labels(
    evidence: LabelEvidence, values: Mapping[str, float], clusters: Mapping[str, str], level: float
) -> tuple[tuple[LabelledOutput, ...], ScoreChoice]:
    """Return the labels to learn from; only those of drawn outputs if all together do not score like the other outputs.

    `values` has the score of each output, labelled or not, and `clusters` its case.
    """
    drawn = _drawn(evidence)
    labelled = {one.key for one in evidence.labelled}
    others = [key for key in values if key not in labelled]
    if len(drawn) == len(evidence.labelled) or not evidence.unlabelled:
        return evidence.labelled, ScoreChoice(is_random=bool(evidence.labelled))
    before = score_distribution([values[key] for key in others], [clusters[key] for key in others])
    found = None if before is None else _shift(before, values, clusters, labelled)
    if found is None or found.p >= level:
        return evidence.labelled, ScoreChoice()
    if len({one.cluster for one in drawn}) >= FEW:
        return drawn, ScoreChoice(is_random=True, set_aside=len(evidence.labelled) - len(drawn))
    return evidence.labelled, ScoreChoice(reason=CHOSEN)


def _shift(
    before: ScoreDistribution, values: Mapping[str, float], clusters: Mapping[str, str], keys: Collection[str]
) -> DistributionShift | None:
    known = [key for key in values if key in keys]
    return distribution_shift(before, [values[key] for key in known], [clusters[key] for key in known])


def _drawn(evidence: LabelEvidence) -> tuple[LabelledOutput, ...]:
    """Return the labels on outputs that evalmark drew at random, none of which was skipped."""
    keys = drawn_keys(evidence, {one.key for one in evidence.labelled})
    return tuple(one for one in evidence.labelled if one.key in keys)


def drawn_keys(evidence: LabelEvidence, labelled: Collection[str]) -> set[str]:
    """Return the labelled outputs that evalmark drew at random among all outputs, from samples without gaps.

    Samples of fewer outputs than the run has are left out: they were drawn before the others were there, or of a shard,
    and other shards may have more labels or fewer.
    """
    random = [
        one
        for one in evidence.samples
        if not one.by_verdict and one.outputs >= evidence.outputs and not skipped(one, labelled)
    ]
    return {trial for sample in random for trial in sample.trials if trial in labelled}


def drawn_truths(
    truths: GroundTruth, metric: str, judged: Sequence[JudgeVerdict]
) -> tuple[GroundTruth, DrawnLabels | None]:
    """Return only the labels of drawn outputs if they suffice, with their number; otherwise all labels, and None.

    They suffice from 10 labelled cases on, if each verdict of the judge has some.
    """
    samples = [
        sample
        for sample in truths.samples
        if sample.by_verdict in ("", metric) and sample.outputs >= len(judged)  # else there were fewer outputs then
    ]
    drawn = {trial for sample in samples for trial in sample.trials}
    used = [row for row in judged if row.key in drawn and row.key in truths.verdicts]
    if len({row.case for row in used}) < FEW or len({row.passed for row in used}) < len({row.passed for row in judged}):
        return truths, None
    verdicts = {key: liked for key, liked in truths.verdicts.items() if key in drawn}
    return replace(truths, verdicts=verdicts), DrawnLabels(
        used=len(used),
        set_aside=len(truths.verdicts) - len(verdicts),
        skipped=len(set().union(*(skipped(sample, verdicts) for sample in samples))),
        by_verdict=any(sample.by_verdict and used_from(sample, verdicts) for sample in samples),
    )


def skipped(sample: LabelSample, labelled: Collection[str]) -> set[str]:
    """Return drawn outputs without a label that come before the last labelled one.

    The labelled outputs of a sample are random if they are its first ones.
    """
    places = [place for place, trial in enumerate(sample.trials) if trial in labelled]
    return {trial for trial in sample.trials[: places[-1]] if trial not in labelled} if places else set()


def used_from(sample: LabelSample, labelled: Collection[str]) -> bool:
    """Return whether an output of a sample is labelled."""
    return any(trial in labelled for trial in sample.trials)
