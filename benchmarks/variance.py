"""Where the variance of scores comes from: estimated sources, projected intervals, and how often the advice is right.

Run: python benchmarks/variance.py [--rounds 100] [--widths 40]

Each row draws evaluations whose true components of variance are known: documents, cases, repeats, judges, what a judge thinks of a case,
and single verdicts add independent uniform effects to a score; pass or fail is drawn with the rate of its case. One row loses a tenth of
the scores. All of it goes through `summarise`, as in a report.

The first table shows the true share of each source and the mean and standard deviation of the estimates. The second compares the
projected half-width of the interval after each change with the one that evaluations have when they are drawn with that change. The
third shows how often the advice of the report is the one that the true half-widths give by the same rule, and how much wider the
interval is after the advised change than after the best.

The exit code is 1 when a mean share is off by more than 0.03 and four standard errors, when a projected interval is on average more than
10 % narrower or 20 % wider than the true one, or when the advised change leaves an interval that is on average more than 5 % wider than the
narrowest.
"""

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

import numpy as np

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import SampleChange, VarianceSource, VarianceSplit
from evalmark.stats.summary.variance_split import TOLERANCE

MEAN = 0.6
OFF, ERRORS = 0.03, 4.0
NARROWER, WIDER = 0.10, 0.20


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How an evaluation is made, and the standard deviation that each source adds to a score."""

    name: str
    cases: int
    repeats: int = 1
    judges: int = 0
    verdicts: int = 1
    documents: int = 0
    """0: cases are independent; otherwise `cases` is the number in each document."""
    document: float = 0.0
    case: float = 0.0
    repeat: float = 0.0
    judge: float = 0.0
    judge_by_case: float = 0.0
    verdict: float = 0.0
    is_pass_rate: bool = False
    lost: float = 0.0

    def shares(self) -> Mapping[VarianceSource, float]:
        """Return the true share of each source that a report can tell."""
        variances: dict[VarianceSource, float] = {
            "cluster": self.document**2,
            "case": self.case**2,
            "repeat": self.repeat**2,
            "judge": self.judge**2,
            "judge_by_case": self.judge_by_case**2,
            "verdict": self.verdict**2 / self.verdicts,
        }
        if self.is_pass_rate:
            variances["repeat"] = MEAN * (1 - MEAN) - self.document**2 - self.case**2
        if self.repeats == 1:
            variances["case"] += variances.pop("repeat")
            if self.judges > 1:
                variances["judge_by_case"] += variances.pop("verdict")
        elif self.judges < 2 and self.verdicts == 1:
            variances["repeat"] += variances.pop("verdict")
        total = math.fsum(variances.values())
        return {source: value / total for source, value in variances.items() if value}

    def after(self, change: SampleChange) -> "Evaluation":
        """Return the evaluation after a change."""
        changes: dict[SampleChange, dict[str, Any]] = {
            "clusters": {"documents": 2 * self.documents},
            "cases": {"cases": 2 * self.cases},
            "repeats": {"repeats": 2 * self.repeats},
            "judges": {"judges": 2 * self.judges},
            "verdicts": {"verdicts": 2 * self.verdicts},
            "better_judge": {"judge_by_case": 0.0, "verdict": 0.0},
        }
        return replace(self, **changes[change])

    def run(self, source: np.random.Generator) -> Run:
        """Draw the results of one evaluation."""
        groups = max(1, self.documents)
        shape = (groups, self.cases, self.repeats, max(1, self.judges), self.verdicts)

        def effect(deviation: float, *axes: int) -> np.ndarray:
            size = [shape[axis] if axis in axes else 1 for axis in range(5)]
            return source.uniform(-1, 1, size) * math.sqrt(3) * deviation

        rates = MEAN + effect(self.document, 0) + effect(self.case, 0, 1)
        if self.is_pass_rate:
            verdicts = (source.random(shape) < rates).astype(float)
        else:
            effects = effect(self.repeat, 0, 1, 2) + effect(self.judge, 3) + effect(self.judge_by_case, 0, 1, 3)
            verdicts = rates + effects + effect(self.verdict, 0, 1, 2, 3, 4)
        kept = source.random(shape[:4]) >= self.lost
        metrics = tuple(self._metrics())
        results = [
            self._result(place, verdicts[place], kept[place], metrics) for place in np.ndindex(groups, *shape[1:3])
        ]
        info = DatasetInfo(name="d", cluster="document" if self.documents else "")
        return Run(id="", name="", created="", metrics=metrics, datasets=(info,), repeat=self.repeats, results=results)

    def _metrics(self) -> Iterator[Metric]:
        for number in range(max(1, self.judges)):
            base = "quality" if self.judges > 1 else ""
            judge = f"judge {number}" if self.judges else ""
            yield Metric(name=f"quality [{judge}]" if base else "quality", base=base, judge=judge)

    def _result(
        self, place: tuple[int, int, int], verdicts: np.ndarray, kept: np.ndarray, metrics: tuple[Metric, ...]
    ) -> Result:
        document, case, repeat = place
        scores = []
        for metric, several, is_kept in zip(metrics, verdicts, kept, strict=True):
            value = float(several.mean())
            detail = {"verdicts": several.tolist()} if self.verdicts > 1 else {}
            if is_kept:
                raw = bool(value) if self.is_pass_rate else value
                scores.append(Score(name=metric.name, raw=raw, value=value, detail=detail))
        one = Case(id=f"{document}-{case}", input=f"{document}-{case}", metadata={"document": document})
        trial = Trial(case=one, dataset="d", position=document * 10_000 + case, repeat=repeat)
        return Result(trial=trial, output=Output(value="text"), scores=tuple(scores))


EVALUATIONS = (
    Evaluation(name="cases differ", cases=40, repeats=3, case=0.15, repeat=0.05),
    Evaluation(name="repeats differ", cases=40, repeats=3, case=0.02, repeat=0.15),
    Evaluation(name="repeats differ, many cases", cases=300, repeats=2, case=0.02, repeat=0.2),
    Evaluation(name="pass rate, cases differ", cases=100, repeats=3, case=0.2, is_pass_rate=True),
    Evaluation(name="pass rate, repeats differ", cases=100, repeats=3, case=0.03, is_pass_rate=True),
    Evaluation(name="two judges", cases=60, judges=2, case=0.1, judge=0.03, judge_by_case=0.08),
    Evaluation(
        name="two judges, repeats, a tenth lost",
        cases=60,
        repeats=2,
        judges=2,
        case=0.08,
        repeat=0.05,
        judge=0.02,
        judge_by_case=0.04,
        verdict=0.03,
        lost=0.1,
    ),
    Evaluation(name="noisy judge asked twice", cases=300, judges=1, verdicts=2, case=0.03, verdict=0.18),
    Evaluation(
        name="noisy judge asked twice, repeats", cases=150, repeats=2, judges=1, verdicts=2,
        case=0.03, repeat=0.03, verdict=0.16,
    ),
    Evaluation(name="documents differ", documents=20, cases=5, repeats=2, document=0.12, case=0.05, repeat=0.05),
    Evaluation(name="cases of documents differ", documents=40, cases=3, repeats=2, document=0.04, case=0.12, repeat=0.05),
)  # fmt: skip


def split_of(of: Evaluation, source: np.random.Generator) -> VarianceSplit:
    """Draw an evaluation and split its variance."""
    (split,) = summarise(of.run(source)).groups[0].variances
    if split.reason:
        raise ValueError(f"{of.name}: {split.reason}")
    return split


@dataclass(frozen=True)
class Measurement:
    """The estimates in the reports of many evaluations, and the true half-widths."""

    shares: Mapping[VarianceSource, list[float]]
    projected: Mapping[SampleChange, list[float]]
    true: Mapping[SampleChange, float]
    advised: Counter[SampleChange]
    best: SampleChange

    @property
    def wider(self) -> float:
        """How much wider the interval is after the advised change than after the best one, on average."""
        least = min(self.true.values())
        return fmean(self.true[change] / least - 1 for change in self.advised.elements())


def measure(of: Evaluation, rounds: int, widths: int) -> Measurement:
    """Draw evaluations, and as many after each change."""
    source = np.random.default_rng([ord(letter) for letter in of.name])
    shares: dict[VarianceSource, list[float]] = defaultdict(list)
    projected: dict[SampleChange, list[float]] = defaultdict(list)
    advised: Counter[SampleChange] = Counter()
    costs: dict[SampleChange, int] = {}
    for _ in range(rounds):
        split = split_of(of, source)
        for name, share in split.shares.items():
            shares[name].append(share)
        for one in split.projections:
            projected[one.change].append(one.half_width)
            costs[one.change] = one.outputs + one.verdicts
        if split.advice is not None:
            advised[split.advice.change] += 1
    true = {
        change: fmean(split_of(of.after(change), source).interval.half_width or math.nan for _ in range(widths))
        for change in projected
    }
    limit = min(true.values()) * (1 + TOLERANCE)
    # equal costs: repeats need no new cases
    order = ("better_judge", "verdicts", "judges", "repeats", "cases", "clusters")
    best = min((c for c in true if true[c] <= limit), key=lambda c: (costs[c], order.index(c)))
    return Measurement(shares, projected, true, advised, best)


def misses(of: Evaluation, found: Measurement) -> Iterator[str]:
    """Yield which bars a row misses."""
    for name, share in of.shares().items():
        drawn = found.shares.get(name, [0.0, 0.0])
        error = stdev(drawn) / math.sqrt(len(drawn))
        if abs(fmean(drawn) - share) > OFF + ERRORS * error:
            yield f"{of.name}: share of {name} is {fmean(drawn):.3f}, not {share:.3f}"
    for change, drawn_widths in found.projected.items():
        if not 1 - NARROWER <= fmean(drawn_widths) / found.true[change] <= 1 + WIDER:
            yield f"{of.name}: projected {fmean(drawn_widths):.4f} for {change}, is {found.true[change]:.4f}"
    if found.wider > TOLERANCE:
        yield f"{of.name}: the advised change leaves intervals {100 * found.wider:.1f} % wider than the best"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=100, help="evaluations in each row")
    parser.add_argument("--widths", type=int, default=40, help="evaluations after each change")
    options = parser.parse_args()
    missed: list[str] = []
    all_found = []
    for of in EVALUATIONS:
        found = measure(of, options.rounds, options.widths)
        missed += misses(of, found)
        all_found.append((of, found))
        print(f"{of.name}: done", file=sys.stderr, flush=True)
    print("\n| evaluation | source | true share | mean estimate | sd |\n|:--|:--|--:|--:|--:|")
    for of, found in all_found:
        for name, share in of.shares().items():
            drawn = found.shares.get(name, [0.0, 0.0])
            print(f"| {of.name} | {name} | {share:.3f} | {fmean(drawn):.3f} | {stdev(drawn):.3f} |")
    print("\n| evaluation | change | projected half-width | true |\n|:--|:--|--:|--:|")
    for of, found in all_found:
        for change, drawn_widths in found.projected.items():
            print(f"| {of.name} | {change} | {fmean(drawn_widths):.4f} | {found.true[change]:.4f} |")
    print("\n| evaluation | right advice | given | other advice | wider than the best |\n|:--|:--|--:|:--|--:|")
    for of, found in all_found:
        right = 100 * found.advised[found.best] / found.advised.total()
        others = ", ".join(
            f"{c} {100 * n / found.advised.total():.0f} %" for c, n in found.advised.most_common() if c != found.best
        )
        print(f"| {of.name} | {found.best} | {right:.0f} % | {others} | {100 * found.wider:.1f} % |")
    print("", *(f"MISSED: {line}" for line in missed), sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
