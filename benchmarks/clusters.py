"""Cases that depend on each other: coverage of pass rates by document, and false calls of comparisons and early stops.

Run: python benchmarks/clusters.py [--rounds 1000] [--compared 1000]

The first table draws 20 documents with 10 questions each (and other numbers); every document has a pass rate of its own, drawn
from a Beta distribution whose variance gives the correlation of two questions on it (ICC). It shows coverage and mean width of
nominal 95 % intervals of the pass rate, for several methods; `evalmark` is what reports print with `cluster: document`.

The second compares two runs that differ by document, while the mean does not: a share of the documents is answered anew, each as well
as a new draw from the same distribution. Counted are the verdicts `better` and `worse`, with and without `cluster: document`.

The third stops runs by `--until-decided` whose cases depend on each other, in a random order: their verdict is on these cases, so
that it does not matter. Counted are verdicts that the whole run contradicts.

The exit code is 1 when a row misses its bar: a coverage of 0.93, at most 5 % false calls.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from evalmark import Case, Gate, Output, Result, Run, Score, compare
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.stats.inference.dirichlet import dirichlet_interval
from evalmark.stats.inference.intervals import wilson
from evalmark.stats.inference.means import share_interval
from evalmark.stats.summary.sequential_gate import PlannedRun, SequentialGate

BAR, MOST = 0.93, 0.05
METHODS = ("Wilson, cases", "1.96 SE, clustered", "CR1, t", "Dirichlet bound", "evalmark")
Ends = tuple[float, float]


@dataclass(frozen=True)
class Documents:
    """Documents with questions whose answers depend on each other."""

    count: int
    questions: int
    rate: float
    icc: float

    def rates(self, source: np.random.Generator) -> np.ndarray:
        """Draw the pass rate of each document."""
        if not self.icc:
            return np.full(self.count, self.rate)
        total = 1 / self.icc - 1
        return source.beta(self.rate * total, (1 - self.rate) * total, self.count)

    def passed(self, source: np.random.Generator) -> np.ndarray:
        """Draw how many questions on each document pass."""
        return source.binomial(self.questions, self.rates(source))


def intervals(of: Documents, passed: np.ndarray) -> tuple[Ends, ...]:
    """Return the interval of each method."""
    shares, mean = passed / of.questions, float(passed.sum()) / (of.count * of.questions)
    error = shares.std(ddof=1) / math.sqrt(of.count)
    half = stats.t.ppf(0.975, of.count - 1) * error
    flags = [float(number < k) for k in passed for number in range(of.questions)]
    clusters = [document for document in range(of.count) for _ in range(of.questions)]
    found = (
        wilson(int(passed.sum()), of.count * of.questions).ends,
        (mean - 1.96 * error, mean + 1.96 * error),
        (mean - half, mean + half),
        dirichlet_interval(shares.tolist(), 0, 1).ends,
        share_interval(flags, clusters).ends,
    )
    return tuple(ends or (0.0, 1.0) for ends in found)


def coverage(of: Documents, rounds: int) -> list[tuple[int, float]]:
    """Return how many intervals of each method held the rate, and their mean width."""
    source = np.random.default_rng([of.count, of.questions, round(1000 * of.rate), round(1000 * of.icc)])
    held, widths = [0] * len(METHODS), [0.0] * len(METHODS)
    for _ in range(rounds):
        for number, (low, high) in enumerate(intervals(of, of.passed(source))):
            held[number] += low <= of.rate <= high
            widths[number] += (high - low) / rounds
    return list(zip(held, widths, strict=True))


def misses_coverage(held: int, rounds: int) -> bool:
    """Return whether so few would be seen in at most one of 200 such rows, were the coverage just that of the bar."""
    return bool(stats.binom.cdf(held, rounds, BAR) < 0.005)


def misses_calls(calls: int, rounds: int) -> bool:
    """Return whether so many would be seen in at most one of 200 such rows, were the share of false calls just 5 %."""
    return bool(stats.binom.sf(calls - 1, rounds, MOST) < 0.005)


def result(document: int, question: int, passed: bool) -> Result:
    case = Case(id=f"{document}-{question}", input=f"{document}-{question}", metadata={"document": document})
    position = document * 1_000 + question
    score = Score(name="right", raw=passed, value=float(passed), passed=bool(passed))
    return Result(
        trial=Trial(case=case, dataset="d", position=position), output=Output(value=str(passed)), scores=(score,)
    )


def run_of(answers: np.ndarray, field: str) -> Run:
    results = [result(d, q, bool(passed)) for d, row in enumerate(answers) for q, passed in enumerate(row)]
    info = DatasetInfo(name="d", cluster=field)
    return Run(id="", name="bot", created="", metrics=(Metric(name="right"),), datasets=(info,), results=results)


def changed_documents(of: Documents, share: float, source: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the answers of two runs, between which this share of the documents is drawn anew."""
    rates = of.rates(source)
    luck = source.random((of.count, of.questions))
    is_changed = source.random(of.count) < share
    later = np.where(is_changed, of.rates(source), rates)
    return luck < rates[:, None], np.where(is_changed[:, None], source.random(luck.shape), luck) < later[:, None]


def false_calls(of: Documents, share: float, rounds: int) -> tuple[int, int]:
    """Return how often a comparison says better or worse, with and without clusters."""
    counts = [0, 0]
    source = np.random.default_rng([of.count, of.questions, round(1000 * of.icc), round(100 * share)])
    for _ in range(rounds):
        before, now = changed_documents(of, share, source)
        for number, field in enumerate(("document", "")):
            outcome = compare(run_of(now, field), run_of(before, field)).outcome
            counts[number] += outcome in ("better", "worse")
    return counts[0], counts[1]


def wrong_stops(of: Documents, rounds: int) -> tuple[int, int]:
    """Return how often an early stop contradicts the whole run, and how often there is one."""
    source = np.random.default_rng([of.count, of.questions, 77])
    wrong = early = 0
    size = of.count * of.questions
    for _ in range(rounds):
        answers = source.random((of.count, of.questions)) < of.rates(source)[:, None]
        whole = PlannedRun(sizes={"d": size}, metrics=[Metric(name="right")], targets=[""])
        deciding = SequentialGate(Gate(min_pass_rate=of.rate), whole)
        truth = "pass" if answers.mean() >= of.rate - 1e-12 else "fail"
        for place in source.permutation(size)[:-1]:
            document, question = divmod(int(place), of.questions)
            deciding.add([result(document, question, bool(answers[document, question]))])
            if deciding.outcome is not None:
                break
        early += deciding.outcome is not None
        wrong += deciding.outcome not in (None, truth)
    return wrong, early


def rows() -> Iterator[Documents]:
    for rate in (0.5, 0.7, 0.85, 0.9, 0.95):
        yield Documents(20, 10, rate, 0.3)
    for rate in (0.5, 0.85, 0.95):
        yield Documents(20, 10, rate, 0.1)
        yield Documents(20, 10, rate, 0.6)
        yield Documents(50, 3, rate, 0.3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=1_000, help="draws in each row of the first table")
    parser.add_argument("--compared", type=int, default=1_000, help="comparisons and early stops in each other row")
    options, missed = parser.parse_args(), []
    print(f"pass rates by document, {options.rounds} draws: coverage (mean width)\n")
    print(
        f"| documents | questions | ICC | pass rate | {' | '.join(METHODS)} |\n|--:|--:|--:|--:|{'--:|' * len(METHODS)}"
    )
    for of in rows():
        found = coverage(of, options.rounds)
        missed += [f"coverage of {of}"] if misses_coverage(found[-1][0], options.rounds) else []
        cells = " | ".join(f"{held / options.rounds:.3f} ({width:.3f})" for held, width in found)
        print(f"| {of.count} | {of.questions} | {of.icc} | {of.rate} | {cells} |", flush=True)
    print(f"\ndocuments change and the mean does not, {options.compared} comparisons: false calls\n")
    print("| documents | questions | ICC | of them changed | by document | by case |\n|--:|--:|--:|--:|--:|--:|")
    for of in (
        Documents(20, 10, 0.7, 0.3),
        Documents(20, 10, 0.7, 0.1),
        Documents(10, 5, 0.7, 0.3),
        Documents(50, 4, 0.8, 0.5),
    ):
        for share in (0.3, 1.0):
            clustered, alone = false_calls(of, share, options.compared)
            missed += [f"false calls of {of}"] if misses_calls(clustered, options.compared) else []
            shares = " | ".join(f"{100 * calls / options.compared:.1f} %" for calls in (clustered, alone))
            print(f"| {of.count} | {of.questions} | {of.icc} | {100 * share:g} % | {shares} |", flush=True)
    print(f"\n`--until-decided` on documents, {options.compared} runs: wrong verdicts\n")
    print("| documents | questions | ICC | rate and bar | wrong | stopped early |\n|--:|--:|--:|--:|--:|--:|")
    for of in (Documents(20, 10, 0.8, 0.3), Documents(20, 10, 0.9, 0.6)):
        wrong, early = wrong_stops(of, options.compared)
        missed += [f"early stops of {of}"] if misses_calls(wrong, options.compared) else []
        share, stopped = 100 * wrong / options.compared, 100 * early / options.compared
        print(f"| {of.count} | {of.questions} | {of.icc} | {of.rate} | {share:.1f} % | {stopped:.0f} % |", flush=True)
    print("", *(f"MISSED: {line}" for line in missed), sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
