"""Wrong verdicts of comparisons: failures that became errors, rare falls of graded scores, and how often the truth is found.

Run: python benchmarks/comparison_errors.py [--rounds 600]

Every row draws so many comparisons of two runs whose true difference is known, with fixed seeds, and counts the verdicts. A row
with a bar ends with `held` or `MISSED`: missed are bars that the draws contradict, at a level of 0.005. The exit code is 1 when a
bar is missed.

The first table loses answers: a bot answers at random, and in the newer run all its wrong answers, or half of them, raise an
error. The second has graded scores near 0.98 of which a small share falls by 0.9.
"""

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial

Draw = Callable[[random.Random], Run]


def answered(case: int, repeat: int, score: float | None, *, passes: bool | None = None) -> Result:
    """One trial; without a score the target raised."""
    trial = Trial(case=Case(id=f"c{case}", input=f"question {case}"), dataset="d", position=case, repeat=repeat)
    if score is None:
        return Result(trial=trial, output=Output(error="ValueError: no answer"), scores=())
    scores = (Score(name="right", raw=score, value=score, passed=passes),)
    return Result(trial=trial, output=Output(value=f"{score:.17g}"), scores=scores)


def run_of(results: list[Result], repeat: int = 1) -> Run:
    return Run(id="", name="bot", created="", metrics=(Metric(name="right"),), repeat=repeat, results=results)


@dataclass(frozen=True)
class Bot:
    """A bot that passes at random, and of which answers are lost."""

    n: int
    rate: float
    repeats: int = 1
    lost_failures: float = 0.0
    """The share of its wrong answers that become errors."""
    lost: float = 0.0
    """The share of all its answers that become errors."""

    def __call__(self, source: random.Random) -> Run:
        results = []
        for case in range(self.n):
            for repeat in range(self.repeats):
                passes = source.random() < self.rate
                is_lost = source.random() < (self.lost if passes else max(self.lost, self.lost_failures))
                results.append(answered(case, repeat, None if is_lost else float(passes), passes=passes))
        return run_of(results, self.repeats)


@dataclass(frozen=True)
class Graded:
    """Scores near 0.98, of which a share falls by 0.9."""

    n: int
    falls: float = 0.0
    noise: float = 0.005

    def __call__(self, source: random.Random) -> Run:
        scores = (0.98 + source.gauss(0, self.noise) - 0.9 * (source.random() < self.falls) for _ in range(self.n))
        return run_of([answered(case, 0, min(1.0, max(0.0, score))) for case, score in enumerate(scores)])


@dataclass(frozen=True)
class Spread:
    """Scores spread over the scale, as most judges give."""

    n: int
    drop: float = 0.0

    def __call__(self, source: random.Random) -> Run:
        scores = (source.betavariate(5, 2) - self.drop for _ in range(self.n))
        return run_of([answered(case, 0, max(0.0, score)) for case, score in enumerate(scores)])


@dataclass(frozen=True)
class Row:
    """Two runs that are drawn many times, and what may be said of them."""

    name: str
    now: Draw
    before: Draw
    words: tuple[str, ...]
    """The verdicts that are counted."""
    most: float | None = None
    """The share of them that is allowed."""
    least: float | None = None
    """The share of them that is asked for."""
    same_answers: bool = False
    """Whether both runs draw the same answers, so that they differ in what is lost alone."""

    def outcome(self, seed: str) -> str:
        source = random.Random(seed)  # noqa: S311  luck, no secret
        before = random.Random(seed) if self.same_answers else source  # noqa: S311  luck, no secret
        return compare(self.now(source), self.before(before)).outcome

    def holds(self, count: int, rounds: int) -> bool:
        """Whether so many verdicts would be seen in at least one of 200 such tables, were the bar just kept."""
        if self.most is not None:
            return _chance(rounds, self.most, range(count, rounds + 1)) >= 0.005
        return self.least is None or _chance(rounds, self.least, range(count + 1)) >= 0.005

    def bar(self) -> str:
        if self.most is not None:
            return f"<= {100 * self.most:g} %"
        return "" if self.least is None else f">= {100 * self.least:g} %"


def _chance(rounds: int, share: float, counts: range) -> float:
    return math.fsum(math.comb(rounds, k) * share**k * (1 - share) ** (rounds - k) for k in counts)


def losing() -> Iterator[Row]:
    for n in (100, 300):
        for repeats in (1, 3):
            for share, called in ((1.0, "all"), (0.5, "half")):
                name = f"no change, {called} failures lost, {n} cases, {repeats} repeat{'s' * (repeats > 1)}"
                bot = Bot(n, 0.75, repeats)
                yield Row(name, Bot(n, 0.75, repeats, lost_failures=share), bot, ("better",), most=0.05)
    few = Bot(54, 0.786, 3, 1.0), Bot(54, 0.786, 3)
    yield Row("no change, all failures lost, 54 cases, 3 repeats", *few, ("better",), most=0.05)
    yield Row("the same answers, all failures lost, 54 cases, 3 repeats", *few, OK, most=0.0, same_answers=True)
    gain = Bot(300, 0.75, lost=0.02), Bot(300, 0.6, lost=0.02)
    yield Row("15 points better, 2 % lost in both, 300 cases", *gain, ("better",), least=0.85)
    yield Row("15 points better, 2 % lost now, 300 cases", gain[0], Bot(300, 0.6), ("better",), least=0.85)
    loss = Bot(300, 0.6, lost=0.02), Bot(300, 0.75, lost=0.02)
    yield Row("15 points worse, 2 % lost in both, 300 cases", *loss, ("worse",))


def grading() -> Iterator[Row]:
    for n in (10, 20, 30, 50, 72, 100, 300):
        for drop in (0.05, 0.1):
            name = f"{100 * drop:g} points lost by rare falls, {n} cases"
            yield Row(name, Graded(n, drop / 0.9), Graded(n), ("same",), most=0.035)
    for n in (72, 100, 300):
        yield Row(f"no change but noise of 0.005, {n} cases", Graded(n), Graded(n), ("same",), least=BARS.get(n))
    for n in (10, 30, 100):
        yield Row(f"no change, 5 % fall in both, {n} cases", Graded(n, 0.05), Graded(n, 0.05), CHANGED, most=0.05)
        yield Row(f"no change, scores spread, {n} cases", Spread(n), Spread(n), CHANGED, most=0.05)
    yield Row("10 points lost, scores spread, 100 cases", Spread(100, 0.1), Spread(100), ("worse",))


OK = ("better", "same")
"""The verdicts with exit code 0."""
CHANGED = ("better", "worse")
BARS = {100: 0.95, 300: 0.95}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=600, help="comparisons in each row")
    rounds, missed = parser.parse_args().rounds, 0
    for title, rows in (("answers that are lost", losing()), ("graded scores", grading())):
        print(f"\n{title}, {rounds} comparisons in each row\n")
        print("| the truth | the verdict | how often | bar | |\n|:--|:--|--:|--:|:--|")
        for number, row in enumerate(rows):
            found = Counter(row.outcome(f"{title} {number} {round_}") for round_ in range(rounds))
            count = sum(found[word] for word in row.words)
            share, holds = count / rounds, row.holds(count, rounds)
            missed += not holds
            word = "" if not row.bar() else "held" if holds else "MISSED"
            print(f"| {row.name} | {' or '.join(row.words)} | {100 * share:.1f} % | {row.bar()} | {word} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
