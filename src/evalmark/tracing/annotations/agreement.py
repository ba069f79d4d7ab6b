"""How far people agree on what each of them has labelled."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from evalmark.core.values.label import Label, current_labels
from evalmark.stats.calibration.audit import compare_verdicts, human_agreement
from evalmark.stats.calibration.audit_results import HumanAgreement, VerdictAgreement
from evalmark.stats.inference.intervals import LEVEL

Thumbs = Mapping[str, bool]
"""The last thumb of each person on one thing, by the person's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorPair:
    """What two people say of the outputs that both have labelled."""

    first: str
    second: str
    compared: VerdictAgreement
    """The second held against the first: what the table calls passed, the second calls good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorAgreement:
    """How far people agree on some outputs."""

    people: tuple[tuple[str, int], ...]
    """Who has labelled how many, the busiest first."""
    together: HumanAgreement | None
    """All people, where an output has two labels or more; None where none has."""
    pairs: tuple[AnnotatorPair, ...]
    """Each two people, those first who share the most outputs."""
    disputed: tuple[str, ...]
    """Outputs that as many call good as bad, by what they are about, in the order given."""


def thumbs_of(labels: Iterable[Label]) -> dict[str, Thumbs]:
    """The thumbs in force, by what they are about."""
    found: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for label in current_labels(labels):
        if label.liked is not None:
            found[label.about][label.by] = label.liked
    return dict(found)


def annotator_agreement(
    said: Mapping[str, Thumbs], cases: Mapping[str, str], level: float = LEVEL
) -> AnnotatorAgreement:
    """How far people agree, from the thumbs on each output; `cases` names the case of an output where it has several.

    Below 10 cases kappa, alpha and AC1 have no interval, and say so.

    >>> found = agreement({"a": {"ann": True, "bob": True}, "b": {"ann": True}}, {})
    >>> found.people, found.together.outputs, found.pairs[0].compared.kappa
    ((('ann', 2), ('bob', 1)), 1, None)
    """
    several = {about: thumbs for about, thumbs in said.items() if len(thumbs) > 1}
    votes = [(cases.get(about, about), tuple(thumbs.values())) for about, thumbs in several.items()]
    busy = Counter(by for thumbs in said.values() for by in thumbs)
    pairs = sorted(
        _pairs(several, cases, level), key=lambda pair: (-pair.compared.confusion.n, pair.first, pair.second)
    )
    return AnnotatorAgreement(
        people=tuple(sorted(busy.items(), key=lambda one: (-one[1], one[0]))),
        together=human_agreement(votes, level) if votes else None,
        pairs=tuple(pairs),
        disputed=tuple(about for about, thumbs in several.items() if 2 * sum(thumbs.values()) == len(thumbs)),
    )


def _pairs(several: Mapping[str, Thumbs], cases: Mapping[str, str], level: float) -> Iterator[AnnotatorPair]:
    shared: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for about, thumbs in several.items():
        for two in combinations(sorted(thumbs), 2):
            shared[two].append(about)
    for (first, second), abouts in shared.items():
        words = [[several[about][by] for about in abouts] for by in (first, second)]
        found = compare_verdicts(words[0], words[1], [cases.get(about, about) for about in abouts], level)
        yield AnnotatorPair(first=first, second=second, compared=found)
