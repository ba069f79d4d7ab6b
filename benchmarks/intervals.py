"""Coverage and width of intervals of a mean: how often nominal 95 % hold the true value, for several methods.

Run: python benchmarks/intervals.py [--rounds 400] [--only graded] [--sizes 5 20]

The first table counts out pass and fail: with n cases and a true rate, every number of passes has a known chance. The second
counts out the Dirichlet bound for scores on a few steps, over a grid of all distributions on these steps, and shows the one that
it holds least often. The third draws graded scores, with fixed seeds, and measures each method on the same draws; `evalmark` is
what reports print: the Dirichlet bound, or Wilson's interval where all scores of a draw are 0 or 1. The last has scores without
known ends, for which evalmark prints Student's t, and how often it adds its caution.

The exit code is 1 when a row of evalmark misses a bar: coverage of 0.93, and, on uniform scores from 50 on, 1.3 times the width of t.
A miss is a count that would be seen in fewer than one of 200 such tables, were the bar just kept.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from evalmark.stats.inference.dirichlet import dirichlet_interval
from evalmark.stats.inference.intervals import LEVEL, clopper_pearson, wilson
from evalmark.stats.inference.means import mean_interval, skewness_caution
from evalmark.stats.inference.sequential import Wealth

SIZES = (5, 10, 20, 50, 100, 300)
BAR, WIDEST = 0.93, 1.3
TAIL = (1 - LEVEL) / 2
Ends = tuple[float, float]
Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Scores:
    """A distribution of scores with its true mean."""

    draw: Draw
    mean: float


def zeros_and_ones(source: np.random.Generator, n: int) -> np.ndarray:
    """Seven in ten perfect, two in ten 0, the rest uniform."""
    kind = source.random(n)
    return np.where(kind < 0.7, 1.0, np.where(kind < 0.9, 0.0, source.random(n)))


def near_one(source: np.random.Generator, n: int) -> np.ndarray:
    """19 of 20 within 0.04 of 1, one of 20 below 0.3."""
    return np.where(source.random(n) < 0.95, 1 - 0.04 * source.random(n), 0.3 * source.random(n))


GRADED = {
    "uniform from 0 to 1": Scores(lambda source, n: source.random(n), 0.5),
    "1 to 5, mostly 4 and 5": Scores(lambda source, n: source.choice(5, n, p=[0.05, 0.1, 0.2, 0.35, 0.3]) / 4, 0.6875),
    "near the bottom, Beta(0.1, 2)": Scores(lambda source, n: source.beta(0.1, 2, n), 0.1 / 2.1),
    "0 or 1, one of ten between": Scores(zeros_and_ones, 0.75),
    "95 % near 1, 5 % low": Scores(near_one, 0.95 * 0.98 + 0.05 * 0.15),
}
UNKNOWN_ENDS = {
    "normal": Scores(lambda source, n: source.normal(10, 3, n), 10.0),
    "exponential": Scores(lambda source, n: source.exponential(10, n), 10.0),
    "lognormal": Scores(lambda source, n: source.lognormal(0, 1, n), math.exp(0.5)),
    "0, one of 20 about 100": Scores(lambda source, n: (source.random(n) < 0.05) * source.normal(100, 10, n), 5.0),
}


def student(values: np.ndarray) -> Ends:
    half = stats.t.ppf(1 - TAIL, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return values.mean() - half, values.mean() + half


def normal(values: np.ndarray) -> Ends:
    half = 1.96 * values.std(ddof=1) / math.sqrt(len(values))
    return values.mean() - half, values.mean() + half


def wilson_bound(values: np.ndarray) -> Ends:
    """Wilson's formula with the mean in the place of the share."""
    return wilson(float(values.sum()), len(values)).ends or (0.0, 1.0)


def bootstrap(values: np.ndarray) -> Ends:
    """The bootstrap, bias-corrected and accelerated; values that are all equal have none."""
    if np.ptp(values) == 0:
        return values[0], values[0]
    found = stats.bootstrap((np.sort(values),), np.mean, n_resamples=999, method="BCa", rng=np.random.default_rng(0))
    return found.confidence_interval.low, found.confidence_interval.high


def betting(values: np.ndarray, orders: int = 10, steps: int = 200) -> Ends:
    """Bets for a known number of values, their wealth averaged over random orders of the sorted values.

    The mean of wealths is a wealth, too, so that the level is proven; the seed does not depend on the order of the cases.
    """
    grid = np.arange(steps + 1) / steps
    shuffled = np.random.default_rng(0).permuted(np.tile(np.sort(values), (orders, 1)), axis=1)
    wealth = Wealth(np.tile(grid, (orders, 1)), planned=len(values))
    for column in shuffled.T:
        wealth.add(column[:, None])
    possible = np.flatnonzero(np.exp(np.minimum(wealth.logarithm, 50)).mean(axis=0) < 1 / (1 - LEVEL))
    return grid[max(0, possible[0] - 1)], grid[min(steps, possible[-1] + 1)]


def dirichlet(values: np.ndarray) -> Ends:
    return dirichlet_interval(values.tolist(), 0, 1).ends or (0.0, 1.0)


METHODS: dict[str, Callable[[np.ndarray], Ends]] = {
    "t": student,
    "1.96 SE": normal,
    "BCa": bootstrap,
    "Wilson bound": wilson_bound,
    "betting": betting,
    "evalmark": lambda values: mean_interval(values.tolist()).ends or (0.0, 1.0),
}


@dataclass
class Tally:
    """How many intervals held the mean, and their widths."""

    held: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, ends: Ends, mean: float) -> None:
        self.held += ends[0] <= mean <= ends[1]
        self.widths.append(ends[1] - ends[0])

    @property
    def width(self) -> float:
        return math.fsum(self.widths) / len(self.widths)

    def __str__(self) -> str:
        return f"{self.held / len(self.widths):.3f} ({self.width:.3f})"

    def misses(self) -> bool:
        """Whether so few would be seen in at most one of 200 such tables, were the coverage just that of the bar."""
        return bool(stats.binom.cdf(self.held, len(self.widths), BAR) < 0.005)


def graded(name: str, n: int, rounds: int, methods: dict[str, Callable[[np.ndarray], Ends]]) -> dict[str, Tally]:
    """Draw so many samples and measure each method on them."""
    scores, source = GRADED[name], np.random.default_rng([n, list(GRADED).index(name)])
    found = {method: Tally() for method in methods}
    for _ in range(rounds):
        values = scores.draw(source, n)
        for method, interval in methods.items():
            found[method].add(interval(values), scores.mean)
    return found


def graded_misses(name: str, n: int, found: dict[str, Tally]) -> list[str]:
    missed = [f"{name}, n {n}: coverage below {BAR}"] if found["evalmark"].misses() else []
    if name.startswith("uniform") and n >= 50 and found["evalmark"].width > WIDEST * found["t"].width:
        missed.append(f"{name}, n {n}: more than {WIDEST} times as wide as t")
    return missed


def shares(n: int, rate: float) -> dict[str, tuple[float, float]]:
    """Return the exact coverage and mean width of intervals of a share."""
    counts = np.arange(n + 1)
    chances = stats.binom.pmf(counts, n, rate)
    spread = np.sqrt(counts * (n - counts) / n**2 / (n - 1))
    ends = {
        "Wilson": [wilson(int(k), n).ends for k in counts],
        "Clopper-Pearson": [clopper_pearson(int(k), n).ends for k in counts],
        "Jeffreys": stats.beta.ppf([[TAIL], [1 - TAIL]], counts + 0.5, n - counts + 0.5).T,
        "t": [(k / n - h, k / n + h) for k, h in zip(counts, stats.t.ppf(1 - TAIL, n - 1) * spread, strict=True)],
        "1.96 SE": [(k / n - h, k / n + h) for k, h in zip(counts, 1.96 * spread, strict=True)],
    }
    sides = {method: np.asarray(each, dtype=float) for method, each in ends.items()}
    return {
        method: (
            float(chances[(low <= rate) & (rate <= high)].sum()),
            float((chances * (high - low)).sum()),
        )
        for method, (low, high) in ((method, each.T) for method, each in sides.items())
    }


def least_coverage(steps: int, n: int, parts: int) -> tuple[float, tuple[float, ...]]:
    """Count out the Dirichlet bound on scores 0, 1/(steps - 1), ..., 1: its least coverage, and the chances of that case.

    The chances of the steps are all those with so many equal `parts`.
    """
    values = np.arange(steps) / (steps - 1)
    samples = np.asarray(list(compositions(n, steps)))
    ends = np.asarray([dirichlet(np.repeat(values, counts)) for counts in samples])
    ways = math.lgamma(n + 1) - np.asarray([math.fsum(math.lgamma(k + 1) for k in counts) for counts in samples])
    least = (1.0, (0.0,))
    for split in compositions(parts, steps):
        chance = np.asarray(split) / parts
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(samples > 0, samples * np.log(chance), 0.0).sum(axis=1)
        mean = float(chance @ values)
        held = (ends[:, 0] <= mean + 1e-12) & (mean - 1e-12 <= ends[:, 1])
        least = min(least, (float(np.exp(ways + logs)[held].sum()), tuple(chance.tolist())))
    return least


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a sum of so many numbers from 0 on, in order."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield tuple(high - low - 1 for low, high in itertools.pairwise(edges))


def print_shares() -> None:
    print("pass or fail, counted out: coverage (mean width)\n\n| true rate | n |", end="")
    for rate in (0.5, 0.8, 0.95, 0.99):
        for n in SIZES:
            found = shares(n, rate)
            if (rate, n) == (0.5, SIZES[0]):
                print(f" {' | '.join(found)} |\n|--:|--:|{'--:|' * len(found)}")
            print(f"| {rate} | {n} | {' | '.join(f'{held:.3f} ({width:.3f})' for held, width in found.values())} |")


def print_counted() -> list[str]:
    print(
        "\nthe Dirichlet bound on a few steps, counted out\n\n| steps | n | least coverage | chances of the steps |\n|--:|--:|--:|:--|"
    )
    missed = []
    for steps, n, parts in ((2, 5, 200), (2, 20, 200), (3, 5, 20), (3, 10, 20), (3, 20, 20), (5, 5, 10), (5, 8, 10)):
        least, chances = least_coverage(steps, n, parts)
        missed += [f"{steps} steps, n {n}: {least:.4f}"] if least < LEVEL else []
        print(f"| {steps} | {n} | {least:.3f} | {', '.join(f'{chance:g}' for chance in chances)} |", flush=True)
    return missed


def print_graded(rounds: int, sizes: list[int]) -> list[str]:
    print(f"\ngraded scores, {rounds} draws: coverage (mean width)\n")
    print(f"| scores | n | {' | '.join(METHODS)} |\n|:--|--:|{'--:|' * len(METHODS)}")
    missed = []
    for name in GRADED:
        for n in sizes:
            found = graded(name, n, rounds, METHODS)
            missed += graded_misses(name, n, found)
            print(f"| {name} | {n} | {' | '.join(map(str, found.values()))} |", flush=True)
    return missed


def print_unknown(rounds: int, sizes: list[int]) -> None:
    print(
        f"\nscores without known ends, {rounds} draws\n\n| scores | n | coverage of t | with a caution |\n|:--|--:|--:|--:|"
    )
    for number, (name, scores) in enumerate(UNKNOWN_ENDS.items()):
        for n in sizes:
            source, held, warned = np.random.default_rng([n, number]), 0, 0
            for _ in range(rounds):
                values = scores.draw(source, n)
                ends = mean_interval(values.tolist(), bounded=False).ends
                held += ends is not None and ends[0] <= scores.mean <= ends[1]
                warned += bool(skewness_caution(values.tolist()))
            print(f"| {name} | {n} | {held / rounds:.3f} | {100 * warned / rounds:.0f} % |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=400, help="draws in each row")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="how many scores")
    parser.add_argument("--only", choices=("shares", "counted", "graded", "unknown"), help="one of the tables")
    options, missed = parser.parse_args(), []
    if options.only in (None, "shares"):
        print_shares()
    if options.only in (None, "counted"):
        missed += print_counted()
    if options.only in (None, "graded"):
        missed += print_graded(options.rounds, options.sizes)
    if options.only in (None, "unknown"):
        print_unknown(options.rounds, options.sizes)
    print("", *(f"MISSED: {line}" for line in missed), sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
