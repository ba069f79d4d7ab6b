"""Planning: whether the range of cases to add holds the right number, and whether planned cases find what they are planned for.

Run: python benchmarks/planning.py [--rounds 400] [--json]

Drawn with fixed seeds. The first rows draw comparisons of two targets whose true difference and share of changing cases (or
spread) are known, and count how often, where the comparison is undecided, `needed_range` holds the number of cases that decides in
four of five comparisons. The bar is 80 %; rows with fewer than a tenth undecided have none. Exit code 1 when a bar is missed.
"""

import argparse
import math
import sys

import numpy as np
from rows import add_json, telling

from evalmark.stats.inference.differences import Difference, difference

SEED = 2026
PASSES = [(0.1, 0.3), (0.05, 0.1), (0.0, 0.1), (0.03, 0.2), (0.15, 0.3), (0.02, 0.05), (0.08, 0.1)]
"""True differences of the pass rate, and the share of cases that change."""
GRADED = [(0.0, 0.1), (0.03, 0.15), (0.08, 0.2), (0.15, 0.3)]
"""True mean differences of graded scores, and the standard deviation of a case's difference."""


def of(first: np.ndarray, second: np.ndarray) -> Difference:
    sides = ({("", str(i)): float(value) for i, value in enumerate(side)} for side in (first, second))
    return difference(("now", "before"), *sides)


def passes(source: np.random.Generator, n: int, effect: float, share: float) -> Difference:
    drawn = source.choice(3, n, p=[(share + effect) / 2, (share - effect) / 2, 1 - share])
    return of(np.isin(drawn, (0, 2)), np.isin(drawn, (1, 2)))


def graded(source: np.random.Generator, n: int, effect: float, spread: float) -> Difference:
    """Scores of 0.5 and 0.5 plus a difference of two values, which keeps the mean and spread exact within 0 and 1."""
    return of(
        0.5 + source.choice([effect - spread, effect + spread], n) * source.uniform(0.999, 1.001, n), np.full(n, 0.5)
    )


def right(found: Difference, effect: float, spread: float, share: float) -> int:
    """Return the number of cases that decides, by the true values."""
    return found._deciding(effect, spread, share)


def held(found: Difference, total: int) -> bool:
    """Return whether the range of an undecided comparison holds the right number; 1 where it has enough cases already."""
    fewest, most = found.needed_range or (0, 0)
    more = max(1, total - found.n)
    return fewest <= more and (most is None or more <= max(1, most))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--cases", type=int, nargs="+", default=[30, 60, 100, 200])
    add_json(parser)
    options = parser.parse_args()
    missed = False
    kinds = [("passes", passes, one) for one in PASSES] + [("graded", graded, one) for one in GRADED]
    with telling(options.json) as tell:
        for kind, draw, (effect, other) in kinds:
            spread = math.sqrt(other - effect**2) if draw is passes else other
            for n in options.cases:
                source = np.random.default_rng([SEED, n, round(1000 * effect), round(1000 * other)])
                found = [draw(source, n, effect, other) for _ in range(options.rounds)]
                total = right(found[0], effect, spread, other if draw is passes else 1.0)
                hits = [held(one, total) for one in found if one.needed_range]
                what = f"{kind}, {effect:+.2f}, {'changing' if draw is passes else 'spread'} {other:.2f}, {n} cases"
                if len(hits) < options.rounds / 10:
                    tell(what=what, found=None, beside=f"{len(hits)} of {options.rounds} undecided; right: {total:,}")
                    continue
                rate = sum(hits) / len(hits)
                points = [one.needed for one in found if one.needed]
                low, high = np.percentile(points, [5, 95])
                beside = (
                    f"{len(hits)} undecided; right: {total - n:,}; single numbers (5-95 %): {low:,.0f} to {high:,.0f}"
                )
                tell(what=what, found=rate, at_least=0.8, beside=beside)
                missed |= rate < 0.8 - 2.6 * math.sqrt(0.16 / len(hits))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
