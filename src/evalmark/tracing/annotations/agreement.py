"""Agreement of annotators on the outputs that several of them labelled."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from evalmark.core.values.label import Label, current_labels
from evalmark.stats.calibration.audit import compare_verdicts, human_agreement
from evalmark.stats.calibration.audit_results import HumanAgreement, VerdictAgreement
from evalmark.stats.inference.intervals import LEVEL

Thumbs = Mapping[str, bool]
"""The last thumb of each annotator on one output, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorPair:
    """The labels of two annotators on the outputs that both labelled."""

    first: str
    second: str
    compared: VerdictAgreement
    """The second compared with the first; "passed" in the table means that the second labels the output as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorAgreement:
    """The agreement of all annotators on some outputs."""

    people: tuple[tuple[str, int], ...]
    """Annotators with their numbers of labels, largest first."""
    together: HumanAgreement | None
    """The agreement of all annotators; None if no output has two labels."""
    pairs: tuple[AnnotatorPair, ...]
    """Each pair of annotators, largest number of shared outputs first."""
    disputed: tuple[str, ...]
    """Outputs with as many good as bad labels, in the order given."""


def thumbs_of(labels: Iterable[Label]) -> dict[str, Thumbs]:
    """Return the current thumbs by output."""
    found: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for label in current_labels(labels):
        if label.liked is not None:
            found[label.about][label.by] = label.liked
    return dict(found)


def annotator_agreement(
    thumbs_by_output: Mapping[str, Thumbs], cases: Mapping[str, str], level: float = LEVEL
) -> AnnotatorAgreement:
    """Compute the agreement from the thumbs on each output; `cases` names the case of outputs that share one.

    With fewer than 10 cases kappa, alpha and AC1 have no interval.

    >>> found = annotator_agreement({"a": {"ann": True, "bob": True}, "b": {"ann": True}}, {})
    >>> found.people, found.together.outputs, found.pairs[0].compared.kappa
    ((('ann', 2), ('bob', 1)), 1, None)
    """
    several = {about: thumbs for about, thumbs in thumbs_by_output.items() if len(thumbs) > 1}
    labels_by_output = [(cases.get(about, about), tuple(thumbs.values())) for about, thumbs in several.items()]
    label_counts = Counter(by for thumbs in thumbs_by_output.values() for by in thumbs)
    pairs = sorted(
        _pairs(several, cases, level), key=lambda pair: (-pair.compared.confusion.n, pair.first, pair.second)
    )
    return AnnotatorAgreement(
        people=tuple(sorted(label_counts.items(), key=lambda one: (-one[1], one[0]))),
        together=human_agreement(labels_by_output, level) if labels_by_output else None,
        pairs=tuple(pairs),
        disputed=tuple(about for about, thumbs in several.items() if 2 * sum(thumbs.values()) == len(thumbs)),
    )


def _pairs(several: Mapping[str, Thumbs], cases: Mapping[str, str], level: float) -> Iterator[AnnotatorPair]:
    shared: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for about, thumbs in several.items():
        for two in combinations(sorted(thumbs), 2):
            shared[two].append(about)
    for (first, second), abouts in shared.items():
        verdicts = [[several[about][by] for about in abouts] for by in (first, second)]
        agreement = compare_verdicts(verdicts[0], verdicts[1], [cases.get(about, about) for about in abouts], level)
        yield AnnotatorPair(first=first, second=second, compared=agreement)
