"""Stopping early: false alarms of 20,000 runs that are checked after every case, and how soon runs are decided.

Run: python benchmarks/sequential.py [--runs 20000] [--cases 1000] [--gated 100]

An alarm is false when the interval leaves out the true mean at any check. Also shown is the share for the usual 95 %
interval, mean plus or minus 1.96 errors, checked as often from the tenth case on. All draws are seeded.

Then the object by which `evalmark run --until-decided` stops, over runs of so many cases (`--gated`) whose gate would be
just met, or just missed, were every case asked: an alarm is false when it says the other. Only the order is drawn.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from evalmark import Case, Gate, Output, Result, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.inference.sequential import BettingSequence, Wealth
from evalmark.stats.summary.criteria import NotWorse
from evalmark.stats.summary.sequential_gate import PlannedRun, SequentialGate

Draw = Callable[[np.random.Generator, int], np.ndarray]
ENOUGH = -math.log1p(-LEVEL)


def passing(rate: float) -> Draw:
    return lambda source, runs: (source.random(runs) < rate).astype(float)


def graded(mean: float) -> Draw:
    return lambda source, runs: source.beta(7 * mean, 7 * (1 - mean), runs)


def paired(better: float, worse: float) -> Draw:
    """Differences of two runs, -1, 0 or 1, mapped to 0 to 1 as `BettingSequence(bounds=(-1, 1))` does."""
    shares = [worse, 1 - better - worse, better]
    return lambda source, runs: source.choice([0.0, 0.5, 1.0], runs, p=shares)


NULLS = {
    "pass rate 0.5": (0.5, passing(0.5)),
    "pass rate 0.8": (0.8, passing(0.8)),
    "pass rate 0.9": (0.9, passing(0.9)),
    "pass rate 0.99": (0.99, passing(0.99)),
    "graded, mean 0.7": (0.7, graded(0.7)),
    "paired, 20 % differ": (0.5, paired(0.1, 0.1)),
    "paired, 4 % differ": (0.5, paired(0.02, 0.02)),
}
DECISIONS = {
    "pass rate 0.5, bar 0.9": (0.9, passing(0.5)),
    "pass rate 0.8, bar 0.9": (0.9, passing(0.8)),
    "pass rate 0.97, bar 0.9": (0.9, passing(0.97)),
    "pass rate 1, bar 0.9": (0.9, passing(1.1)),
    "paired, 20 % worse, 5 % better": (0.5, paired(0.05, 0.2)),
    "paired, 10 % worse, 2 % better": (0.5, paired(0.02, 0.1)),
}


@dataclass(frozen=True)
class Gated:
    """Runs whose verdict is known: the values of all their cases, and what the gate would say of all of them."""

    said: str
    gate: Gate
    values: Sequence[float]
    earlier: Sequence[float] | None = None

    def decided(self, source: np.random.Generator) -> tuple[str | None, int]:
        """What is said, if anything, before the last case of a random order, and after how many cases."""
        size = len(self.values)
        whole = PlannedRun(sizes={"cases": size}, metrics=[Metric(name="metric")], targets=["target"])
        before = {("cases", place): value for place, value in enumerate(self.earlier or ())}
        note = [partial(NotWorse, before, lambda results: results[0].scores[0].value, 0.02)] if self.earlier else []
        deciding = SequentialGate(self.gate, whole, more=note)
        for place in source.permutation(size)[:-1]:
            deciding.add([result(int(place), self.values[place])])
            if deciding.outcome is not None:
                break
        return deciding.outcome, deciding.after


@cache
def result(place: int, value: float) -> Result:
    trial = Trial(case=Case(id=str(place), input=""), dataset="cases", target="target", position=place)
    score = Score(name="metric", value=value, raw=value, passed=value >= 0.5)
    return Result(trial=trial, output=Output(value=""), scores=(score,))


def gated(cases: int) -> dict[str, Gated]:
    """Runs just at the bar and just below it."""
    spread = np.random.default_rng(3).beta(5, 2, cases).round(3)
    mean = float(spread.mean())
    rate = Gate(min_pass_rate=0.9)
    passed = [1.0] * round(0.9 * cases) + [0.0] * (cases - round(0.9 * cases))
    worse = [0.0, *passed[1:]]
    both = Gate(min_pass_rate=float(np.mean(spread >= 0.5)), thresholds={"metric": mean})
    turned = [*passed[1:], passed[0]]
    return {
        "pass rate of 0.9, and 0.9 is asked for": Gated("pass", rate, passed),
        "one case short of it": Gated("fail", rate, worse),
        "a mean that is just reached": Gated("pass", Gate(min_pass_rate=0, thresholds={"metric": mean}), spread),
        "a mean just above": Gated("fail", Gate(min_pass_rate=0, thresholds={"metric": mean + 1e-6}), spread),
        "rate and mean, both just reached": Gated("pass", both, spread),
        "as good as the baseline": Gated("pass", Gate(min_pass_rate=0), turned, passed),
    }


def refuted_at(mean: float, draw: Draw, runs: int, cases: int) -> tuple[np.ndarray, np.ndarray]:
    """The case after which each run refutes the mean, by betting and by the usual interval; 0 where it never does."""
    source, wealth = np.random.default_rng(20241122), Wealth(np.full(runs, mean))
    by_bets, usual = np.zeros(runs, dtype=int), np.zeros(runs, dtype=int)
    total, squares = np.zeros(runs), np.zeros(runs)
    for n in range(1, cases + 1):
        values = draw(source, runs)
        wealth.add(values)
        by_bets[(by_bets == 0) & (wealth.logarithm >= ENOUGH)] = n
        total, squares = total + values, squares + values * values
        if n >= 10:
            error = np.sqrt(np.maximum(0, squares / n - (total / n) ** 2) / n)
            usual[(usual == 0) & (np.abs(total / n - mean) > 1.96 * error)] = n
    return by_bets, usual


def seconds_per_value(values: int = 2_000) -> float:
    source, seen = np.random.default_rng(0), BettingSequence()
    passed = (source.random(values) < 0.8).tolist()
    started = time.perf_counter()
    for value in passed:
        seen.add(value)
    return (time.perf_counter() - started) / values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--gated", type=int, default=100)
    options = parser.parse_args()
    print(f"{options.runs} runs of {options.cases} cases, a look after every case")
    print(f"{'false alarms when nothing differs':36}{'betting':>10}{'usual interval':>16}")
    worst = 0.0
    for name, (mean, draw) in NULLS.items():
        by_bets, usual = refuted_at(mean, draw, options.runs, options.cases)
        worst = max(worst, (by_bets > 0).mean())
        print(f"{name:36}{(by_bets > 0).mean():>10.2%}{(usual > 0).mean():>16.2%}", flush=True)
    print(f"\n{'cases until decided':36}{'median':>10}{'95 of 100':>16}{'undecided':>12}")
    for name, (bar, draw) in DECISIONS.items():
        cases, _ = refuted_at(bar, draw, options.runs, options.cases)
        done = np.where(cases == 0, options.cases + 1, cases)
        middle, late = (int(np.quantile(done, share, method="higher")) for share in (0.5, 0.95))
        shown = [str(n) if n <= options.cases else f"> {options.cases}" for n in (middle, late)]
        print(f"{name:36}{shown[0]:>10}{shown[1]:>16}{(cases == 0).mean():>12.2%}", flush=True)
    print(f"\n{f'the gate of {options.gated} cases':44}{'wrong':>8}{'decided':>10}{'median':>8}")
    for name, each in gated(options.gated).items():
        source = np.random.default_rng(20261122)
        found = [each.decided(source) for _ in range(options.runs)]
        wrong = sum(outcome not in (None, each.said) for outcome, _ in found) / len(found)
        early = sum(outcome is not None for outcome, _ in found) / len(found)
        worst = max(worst, wrong)
        print(f"{name:44}{wrong:>8.2%}{early:>10.2%}{int(np.median([n for _, n in found])):>8}", flush=True)
    print(f"\na value taken: {seconds_per_value() * 1e6:.0f} µs")
    if worst > 1 - LEVEL:
        raise SystemExit(f"false alarms of {worst:.2%} are more than the promised {1 - LEVEL:.0%}")


if __name__ == "__main__":
    main()
