"""Labels that were drawn or chosen: what `audit` and `calibrate` make of them, and how often moved scores raise an alarm.

Run: python benchmarks/labels.py [--rounds 1000] [--table NAME]

Every row draws so many runs whose truth is known, with fixed seeds. A row with a bar ends with `held` or `MISSED`: missed are
bars that the draws contradict, at a level of 0.005. The exit code is 1 when a bar is missed.

The first table draws nothing: it weighs every number of labels that a random draw may leave on a verdict that has 15 to 85 % of
the outputs, and shows how often there is no corrected rate, or a warning about the choice. The bar, 5 %, is for 22 labels and
more: with fewer, a verdict with 15 % of the outputs may well get no label at all.

The next table audits a judge with labels on some of 1,000 outputs. `refused` is an audit without a corrected pass rate, `wrong`
one whose interval leaves out the true rate, `suspected` one that says that labels were not drawn at random. The second learns
thresholds from labels of 400 outputs. The next one learns thresholds from documents with several outputs each: `broken` is a
threshold by which a bad output passes in more documents than promised, `broken for outputs` one by which more bad outputs pass
than that. Then mean scores of a judge are corrected, and 200 later scores are compared with those of a calibration.
"""

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist

from evalmark.stats.agreement.corrected_rates import prediction_powered
from evalmark.stats.agreement.stratified_rates import labelled_at_random, stratified_rate
from evalmark.stats.agreement.threshold_learning import learn_threshold
from evalmark.stats.calibration.audit_results import UNLIKELY
from evalmark.stats.calibration.evidence import LabelEvidence, LabelledOutput
from evalmark.stats.calibration.graded_audit import score_ranges
from evalmark.stats.calibration.label_choice import random_labels
from evalmark.stats.calibration.score_drift import ALARM
from evalmark.stats.inference.shift import distribution_shift, score_distribution

NORMAL = NormalDist()
Draw = Callable[[random.Random], float]
Choose = Callable[[random.Random, list[bool]], list[int]]
"""The places of the labelled outputs, from the judge's verdicts."""


@dataclass(frozen=True)
class Judge:
    """A pass rate, and how often a judge passes good and fails bad outputs."""

    rate: float
    good: float
    bad: float

    def __str__(self) -> str:
        return f"{self.rate:g} good, judge {self.good:g} and {self.bad:g} right"

    def outputs(self, source: random.Random, n: int) -> tuple[list[bool], list[bool]]:
        """Draw outputs: whether each is good, and the verdicts on it."""
        truth = [source.random() < self.rate for _ in range(n)]
        return truth, [source.random() < (self.good if good else 1 - self.bad) for good in truth]


@dataclass(frozen=True)
class Choice:
    """How outputs are chosen to be labelled."""

    name: str
    passed: int | None
    """How many of those that the judge passed; None: `failed` of all of them, at random."""
    failed: int
    is_random: bool = False

    def __call__(self, source: random.Random, verdicts: list[bool]) -> list[int]:
        places = range(len(verdicts))
        if self.passed is None:
            return source.sample(places, self.failed)
        groups = [[place for place in places if verdicts[place] is verdict] for verdict in (True, False)]
        return [
            place
            for group, n in zip(groups, (self.passed, self.failed), strict=True)
            for place in source.sample(group, min(n, len(group)))
        ]


JUDGES = (
    Judge(0.683, 0.9, 0.8),
    Judge(0.5, 0.9, 0.8),
    Judge(0.8, 0.95, 0.7),
    Judge(0.3, 0.7, 0.95),
    Judge(0.9, 0.9, 0.9),
    Judge(0.865, 0.95, 0.8),
)
"""Each verdict has at least 15 % of the outputs."""
CHOICES = (
    Choice("20 labels at random", None, 20, is_random=True),
    Choice("30 labels at random", None, 30, is_random=True),
    Choice("40 labels at random", None, 40, is_random=True),
    Choice("80 labels at random", None, 80, is_random=True),
    Choice("200 labels at random", None, 200, is_random=True),
    Choice("40 passed, 40 failed", 40, 40),
    Choice("10 passed, 70 failed", 10, 70),
    Choice("70 passed, 10 failed", 70, 10),
    Choice("2 passed, 78 failed", 2, 78),
    Choice("80 failed", 0, 80),
    Choice("80 passed", 80, 0),
)


FEW_LABELS = (10, 15, 20, 22, 25, 30, 40)
FEWEST = 22
"""The fewest labels with at most 5 % false refusals."""


@dataclass(frozen=True)
class Audited:
    """One audit."""

    refused: bool
    wrong: bool
    suspected: bool
    powered_wrong: bool
    """Whether the interval that assumes labels at random among all outputs leaves out the true rate."""


def audited(judge: Judge, choose: Choose, source: random.Random, n: int = 1000) -> Audited:
    truth, verdicts = judge.outputs(source, n)
    chosen = set(choose(source, verdicts))
    labels = [float(good) if place in chosen else None for place, good in enumerate(truth)]
    found = stratified_rate(verdicts, labels)
    chance = labelled_at_random(verdicts, [label is not None for label in labels])
    powered = prediction_powered(
        [float(truth[place]) for place in chosen],
        [float(verdicts[place]) for place in chosen],
        [float(verdict) for place, verdict in enumerate(verdicts) if place not in chosen],
    )
    return Audited(
        refused=found.value is None,
        wrong=misses(found.interval.ends, judge.rate),
        suspected=chance is not None and chance < UNLIKELY,
        powered_wrong=misses(powered.interval.ends, judge.rate),
    )


def misses(ends: tuple[float, float] | None, value: float) -> bool:
    return ends is not None and not ends[0] <= value <= ends[1]


@dataclass(frozen=True)
class Scores:
    """Scores of one kind."""

    name: str
    draw: Draw
    deviation: float


def share(p: float) -> Draw:
    return lambda source: float(source.random() < p)


def near_top(source: random.Random) -> float:
    return source.betavariate(8, 0.5)


def steps(source: random.Random) -> float:
    return source.choices((0.0, 0.25, 0.5, 0.75, 1.0), (5, 10, 20, 35, 30))[0]


def humps(source: random.Random) -> float:
    return source.gauss(0.3, 0.08) if source.random() < 0.3 else source.gauss(0.8, 0.06)


def ends_and_low(source: random.Random) -> float:
    """One of two perfect, one of five 0, the rest from 0 to 0.6."""
    kind = source.random()
    return 1.0 if kind < 0.5 else 0.0 if kind < 0.7 else 0.6 * source.random()


KINDS = (
    Scores("normal", lambda source: source.gauss(0.5, 0.12), 0.12),
    Scores("uniform", lambda source: source.random(), math.sqrt(1 / 12)),
    Scores("mostly high, Beta(5, 2)", lambda source: source.betavariate(5, 2), math.sqrt(10 / 392)),
    Scores("near the top, Beta(8, ½)", near_top, math.sqrt(4 / (8.5**2 * 9.5))),
    Scores("five steps", steps, 0.2806),
    Scores("two humps", humps, 0.2387),
    Scores("mostly 0 or 1, others below 0.6", ends_and_low, math.sqrt(0.5 + 0.3 * 0.12 - 0.59**2)),
)


def later_scores(kind: Scores, source: random.Random, shift: float, n: int) -> list[float]:
    return [kind.draw(source) + shift * kind.deviation for _ in range(n)]


def alarmed(kind: Scores, source: random.Random, n: int, shift: float) -> bool:
    """Whether 200 later scores raise an alarm, after a calibration on `n`."""
    before = score_distribution([kind.draw(source) for _ in range(n)])
    found = distribution_shift(before, later_scores(kind, source, shift, 200)) if before is not None else None
    return found is not None and found.p < ALARM


def alarmed_verdicts(rate: float, source: random.Random, n: int, shift: float) -> bool:
    """The same for verdicts: their pass rate falls by so many standard deviations."""
    before = score_distribution([share(rate)(source) for _ in range(n)])
    lower = max(0.0, rate + shift * math.sqrt(rate * (1 - rate)))
    found = distribution_shift(before, [share(lower)(source) for _ in range(200)]) if before is not None else None
    return found is not None and found.p < ALARM


def alarmed_documents(documents: int, each: int, icc: float, source: random.Random) -> bool:
    """The same for scores on documents, other ones each time, that come from one distribution."""

    def scores() -> tuple[list[float], list[int]]:
        values, names = list[float](), list[int]()
        for name in range(documents):
            level = source.gauss(0.5, 0.12 * math.sqrt(icc))
            values += [level + source.gauss(0, 0.12 * math.sqrt(1 - icc)) for _ in range(each)]
            names += [name] * each
        return values, names

    before = score_distribution(*scores())
    found = distribution_shift(before, *scores()) if before is not None else None
    return found is not None and found.p < ALARM


def chosen_by_score(source: random.Random, order: str) -> bool:
    """Whether 120 labels of 400 outputs are refused by `calibrate`; `order` says which outputs are labelled."""
    scores = [source.betavariate(4, 2) for _ in range(400)]
    places = sorted(range(400), key=lambda place: scores[place])
    if order == "at random":
        source.shuffle(places)
    elif order == "half at random, half the lowest":
        places = [*places[:60], *source.sample(places[60:], 60), *places[60:]]
    told = tuple(
        LabelledOutput(key=str(place), cluster=str(place), content=str(place), liked=scores[place] > 0.5)
        for place in dict.fromkeys(places[:120])
    )
    values = {str(place): score for place, score in enumerate(scores)}
    evidence = LabelEvidence(labelled=told, unlabelled=400 - len(told))
    _, choice = random_labels(evidence, values, {key: key for key in values}, UNLIKELY)
    return bool(choice.reason)


def graded(source: random.Random, order: str, steps: int) -> tuple[bool, bool]:
    """Whether the mean of a judge that scores 0.1 too high is missed, by ranges of scores and by PPI++, with 80 labels."""
    truth = [source.betavariate(4, 2) for _ in range(500)]
    values = [min(1.0, max(0.0, score + source.gauss(0.1, 0.1))) for score in truth]
    values = [round(value * steps) / steps for value in values]
    lowest = sorted(range(500), key=lambda place: values[place])
    chosen = set(
        source.sample(range(500), 80) if order == "at random" else [*lowest[:40], *source.sample(lowest, 60)][:80]
    )
    labels = [truth[place] if place in chosen else None for place in range(500)]
    powered = prediction_powered(
        [truth[place] for place in chosen],
        [values[place] for place in chosen],
        [value for place, value in enumerate(values) if place not in chosen],
    )
    found = stratified_rate(score_ranges(values), labels)
    return misses(found.interval.ends, 2 / 3), misses(powered.interval.ends, 2 / 3)


@dataclass(frozen=True)
class Row:
    """What is counted, and what may be said of it."""

    name: str
    what: str
    one: Callable[[random.Random], bool]
    most: float | None = None
    least: float | None = None

    def holds(self, count: int, rounds: int) -> bool:
        if self.most is not None:
            return _chance(rounds, self.most, range(count, rounds + 1)) >= 0.005
        return self.least is None or _chance(rounds, self.least, range(count + 1)) >= 0.005

    def bar(self) -> str:
        if self.most is not None:
            return f"<= {100 * self.most:g} %"
        return "" if self.least is None else f">= {100 * self.least:g} %"


def _chance(rounds: int, share: float, counts: range) -> float:
    if share in (0.0, 1.0):
        return float((0 if share == 0 else rounds) in counts)
    logs = (
        math.lgamma(rounds + 1)
        - math.lgamma(k + 1)
        - math.lgamma(rounds - k + 1)
        + k * math.log(share)
        + (rounds - k) * math.log1p(-share)
        for k in counts
    )
    return math.fsum(map(math.exp, logs))


def calibrating() -> Iterator[Row]:
    for order, most, least in (
        ("at random", 0.05, None),
        ("half at random, half the lowest", None, 0.95),
        ("the lowest", None, 1.0),
    ):
        yield Row(f"120 of 400 outputs, {order}", "refused", lambda s, o=order: chosen_by_score(s, o), most, least)


def grading() -> Iterator[Row]:
    for steps, word in ((10**6, "no steps"), (4, "five steps")):
        for order in ("at random", "half at random, half the lowest"):
            name = f"80 of 500 outputs, {order}, {word}"
            yield Row(name, "missed by ranges", lambda s, o=order, n=steps: graded(s, o, n)[0], most=0.07)
            yield Row(name, "missed by PPI++", lambda s, o=order, n=steps: graded(s, o, n)[1])


@dataclass(frozen=True)
class Repeats:
    """Cases with several outputs, which are alike with a probability, and labels on whole cases or on single outputs."""

    cases: int
    repeats: int
    labels: int
    alike: float
    whole: bool

    def __str__(self) -> str:
        how = "of whole cases" if self.whole else "anywhere"
        return f"{self.cases} cases, {self.repeats} repeats, {100 * self.alike:g} % alike, {self.labels} labels {how}"

    def audited(self, source: random.Random) -> tuple[bool, bool]:
        """Whether the true rate is missed, and whether the labels are called chosen."""
        judge, truth, verdicts, cases = JUDGES[0], list[bool](), list[bool](), list[int]()
        for case in range(self.cases):
            first = judge.outputs(source, 1)
            for _ in range(self.repeats):
                good, verdict = first if source.random() < self.alike else judge.outputs(source, 1)
                truth += good
                verdicts += verdict
                cases.append(case)
        if self.whole:
            labelled = set(source.sample(range(self.cases), self.labels // self.repeats))
            flags = [case in labelled for case in cases]
        else:
            places = set(source.sample(range(len(truth)), self.labels))
            flags = [place in places for place in range(len(truth))]
        labels = [float(good) if flag else None for good, flag in zip(truth, flags, strict=True)]
        chance = labelled_at_random(verdicts, flags, cases)
        missed = misses(stratified_rate(verdicts, labels, cases).interval.ends, judge.rate)
        return missed, chance is not None and chance < UNLIKELY


def repeating() -> Iterator[Row]:
    for alike in (1.0, 0.5, 0.0):
        for cases, repeats, labels, whole in ((300, 3, 81, False), (300, 3, 81, True), (20, 10, 100, True)):
            one = Repeats(cases, repeats, labels, alike, whole)
            yield Row(str(one), "missed", lambda s, o=one: o.audited(s)[0], most=0.07)
            yield Row(str(one), "called chosen", lambda s, o=one: o.audited(s)[1], most=0.05)


def drifting() -> Iterator[Row]:
    for kind in KINDS:
        for n in (100, 300):
            one = lambda s, d, k=kind, n=n: alarmed(k, s, n, d)  # noqa: E731  a row each
            yield Row(f"{kind.name}, calibrated on {n}, no shift", "alarm", lambda s, f=one: f(s, 0.0), most=0.05)
            for shift, word in ((0.5, "up"), (-0.5, "down")):
                name = f"{kind.name}, calibrated on {n}, all {word} by 0.5 sd"
                yield Row(name, "alarm", lambda s, f=one, d=shift: f(s, d), least=0.8)
    for documents, each in ((10, 20), (20, 10), (40, 5)):
        for icc in (0.1, 0.3, 0.6):
            name = f"normal, {documents} documents with {each} questions, ICC {icc:g}, no shift"
            yield Row(name, "alarm", lambda s, d=documents, e=each, i=icc: alarmed_documents(d, e, i, s), most=0.05)
    for rate in (0.7, 0.9):
        for shift, most, least in ((0.0, 0.05, None), (-0.5, None, 0.8)):
            name = f"verdicts, {rate:g} pass, calibrated on 100, {'down by 0.5 sd' if shift else 'no shift'}"
            yield Row(name, "alarm", lambda s, r=rate, d=shift: alarmed_verdicts(r, s, 100, d), most, least)


@dataclass(frozen=True)
class Promise:
    """Documents with labelled outputs, half of each bad, whose scores are correlated within a document, and a limit."""

    documents: int
    each: int
    icc: float
    limit: float
    by_document: bool = True

    def __str__(self) -> str:
        return (
            f"{self.documents} documents with {self.each} outputs, ICC {self.icc:g}, promised {100 * self.limit:g} % of "
            f"{'documents' if self.by_document else 'outputs, by case'}"
        )

    def threshold(self, source: random.Random) -> float | None:
        """Learn a threshold; scores of bad outputs are uniform, those of good ones higher."""
        scores, labels, clusters = list[float](), list[bool](), list[int]()
        for document in range(self.documents):
            shared = math.sqrt(self.icc) * source.gauss(0, 1)
            for number in range(self.each):
                score = NORMAL.cdf(shared + math.sqrt(1 - self.icc) * source.gauss(0, 1))
                good = number % 2 == 0
                scores.append(1 - (1 - score) ** 3 / 2 if good else score)
                labels.append(good)
                clusters.append(document if self.by_document else len(clusters))
        return learn_threshold(scores, labels, self.limit, clusters=clusters).threshold

    def passing(self, threshold: float | None) -> tuple[float, float]:
        """The true share of bad outputs that pass, and of documents with a bad output that passes."""
        if threshold is None or not 0 < threshold < 1:
            return 0.0, 0.0
        cut, own = NORMAL.inv_cdf(threshold), math.sqrt(1 - self.icc)
        steps = [-6 + 0.02 * step for step in range(601)]
        safe = (
            0.02 * NORMAL.pdf(z) * NORMAL.cdf((cut - math.sqrt(self.icc) * z) / own) ** (self.each // 2) for z in steps
        )
        return 1 - threshold, 1 - math.fsum(safe)

    def broken(self, source: random.Random, *, documents: bool) -> bool:
        outputs, any_passes = self.passing(self.threshold(source))
        return (any_passes if documents else outputs) > self.limit


def promising() -> Iterator[Row]:
    for icc in (0.0, 0.3, 0.6):
        for count, limit in ((20, 0.15), (20, 0.3), (60, 0.05), (100, 0.05)):
            one = Promise(count, 10, icc, limit)
            yield Row(str(one), "broken", lambda s, o=one: o.broken(s, documents=True), most=0.05)
            yield Row(str(one), "broken for outputs", lambda s, o=one: o.broken(s, documents=False), most=0.05)
            case = replace(one, by_document=False)
            yield Row(str(case), "broken for outputs", lambda s, o=case: o.broken(s, documents=False))


def false_refusals(labels: int, outputs: int, passed: int) -> tuple[float, float, float]:
    """Return how probable it is that labels drawn at random leave a verdict without any, are called chosen, or either.

    `passed` of the outputs have the verdict pass.
    """
    empty = chosen = either = 0.0
    for both in range(max(0, labels + passed - outputs), min(labels, passed) + 1):
        chance = math.comb(passed, both) * math.comb(outputs - passed, labels - both) / math.comb(outputs, labels)
        is_empty = both in (0, labels)
        is_labelled = [n < both or 0 <= n - passed < labels - both for n in range(outputs)]
        p = labelled_at_random([n < passed for n in range(outputs)], is_labelled)
        is_chosen = p is not None and p < UNLIKELY
        empty, chosen, either = (
            empty + chance * is_empty,
            chosen + chance * is_chosen,
            either + chance * (is_empty or is_chosen),
        )
    return empty, chosen, either


def refusal_table() -> int:
    missed = 0
    print(
        "\nlabels drawn at random, each verdict with at least 15 % of the outputs, counted out: the most over all shares\n"
    )
    print("| labels | outputs | a verdict without labels | called chosen | either | bars |\n|--:|--:|--:|--:|--:|:--|")
    for labels in FEW_LABELS:
        for outputs in (100, 300, 1000):
            shares = range(math.ceil(0.15 * outputs), outputs - math.ceil(0.15 * outputs) + 1, max(1, outputs // 100))
            found = [false_refusals(labels, outputs, passed) for passed in shares]
            most = [max(column) for column in zip(*found, strict=True)]
            holds = most[2] <= 0.05
            missed += labels >= FEWEST and not holds
            word = ("held" if holds else "MISSED") if labels >= FEWEST else ""
            cells = " | ".join(f"{100 * share:.1f} %" for share in most)
            print(f"| {labels} | {outputs:,} | {cells} | {word} |", flush=True)
    return missed


def audit_table(rounds: int) -> int:
    missed = 0
    print(f"\naudits with labels on some of 1,000 outputs, {rounds} in each row\n")
    print(
        "| labels | the truth | by verdict: refused | wrong | suspected | PPI++ wrong | bars |\n|:--|:--|--:|--:|--:|--:|:--|"
    )
    for choice in CHOICES:
        for judge in JUDGES:
            found = [
                audited(judge, choice, random.Random(f"{choice.name} {judge} {number}"))  # noqa: S311  luck, no secret
                for number in range(rounds)
            ]
            refused, wrong, suspected, powered = (
                sum(map(what, found))
                for what in (
                    lambda one: one.refused,
                    lambda one: one.wrong,
                    lambda one: one.suspected,
                    lambda one: one.powered_wrong,
                )
            )
            bars = [Row("", "wrong", bool, most=0.07).holds(wrong, rounds)]
            if choice.is_random:
                both = sum(one.refused or one.suspected for one in found)
                bars.append(Row("", "false refusals", bool, most=0.05).holds(both, rounds))
            if 0 in (choice.passed, choice.failed):
                bars.append(refused == rounds)
            missed += not all(bars)
            cells = (f"{100 * count / rounds:.1f} %" for count in (refused, wrong, suspected, powered))
            word = "held" if all(bars) else "MISSED"
            print(f"| {choice.name} | {judge} | {' | '.join(cells)} | {word} |", flush=True)
    return missed


def table(title: str, rows: Iterator[Row], rounds: int) -> int:
    missed = 0
    print(f"\n{title}, {rounds} in each row\n")
    print("| the truth | what | how often | bar | |\n|:--|:--|--:|--:|:--|")
    for row in rows:
        seeds = (random.Random(f"{title} {row.name} {number}") for number in range(rounds))  # noqa: S311  luck, no secret
        count = sum(map(row.one, seeds))
        holds = row.holds(count, rounds)
        missed += not holds
        word = "" if not row.bar() else "held" if holds else "MISSED"
        print(f"| {row.name} | {row.what} | {100 * count / rounds:.1f} % | {row.bar()} | {word} |", flush=True)
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=1000, help="draws in each row")
    tables = {
        "audits": audit_table,
        "repeats": lambda n: table("audits of cases with repeats", repeating(), n),
        "chosen": lambda n: table("labels that a threshold is learned from", calibrating(), n),
        "promises": lambda n: table("promises of a threshold learned from documents", promising(), n),
        "graded": lambda n: table("mean scores, corrected by scores of people", grading(), min(200, n)),
        "drift": lambda n: table("200 scores after a calibration", drifting(), n),
    }
    parser.add_argument("--table", choices=tables, action="append", help="only this table; repeatable")
    options = parser.parse_args()
    missed = sum([tables[name](options.rounds) for name in options.table or tables])
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
