"""Planning: whether the range of cases to add holds the right number, and whether planned cases find what they are planned for.

Run: python benchmarks/planning.py [--rounds 400] [--json]

Drawn with fixed seeds. The first rows draw comparisons of two targets whose true difference and share of changing cases (or
spread) are known, and count how often, where the comparison is undecided, `needed_range` holds the number of cases that decides in
four of five comparisons. The bar is 80 %; rows with fewer than a tenth undecided have none. The
last rows draw comparisons with the number of cases that `plan --detect` gives: power .75 to .85. Exit code 1 when a bar is missed.
"""

import argparse
import math
import sys

import numpy as np
from rows import AddRow, add_json, row_output

from evalmark.stats.inference.clustered_power import clustered_cases_needed, clustered_pairs_needed
from evalmark.stats.inference.differences import Clusters, Difference, clustered_difference, difference
from evalmark.stats.inference.power import cases_needed, pairs_needed

SEED = 2026
PASSES = [(0.1, 0.3), (0.05, 0.1), (0.0, 0.1), (0.03, 0.2), (0.15, 0.3), (0.02, 0.05), (0.08, 0.1)]
"""True differences of the pass rate, and the share of cases that change."""
GRADED = [(0.0, 0.1), (0.03, 0.15), (0.08, 0.2), (0.15, 0.3)]
"""True mean differences of graded scores, and the standard deviation of a case's difference."""

PLANS = [(0.05, 0.1), (0.05, 0.3), (0.1, 0.0), (0.1, 0.05), (0.1, 0.2), (0.2, 0.1), (0.2, 0.4), (0.3, 0.1)]
"""Planned differences of the pass rate, and the share of cases that change by chance alone."""
REPEATED = [(0.1, 0.2, 3), (0.1, 0.3, 5), (0.15, 0.3, 3)]
"""The same with repeats."""
CLUSTERED = [
    (0.1, 0.2, 10, (0.0, 0.3)),
    (0.1, 0.05, 10, (0.0, 0.3)),
    (0.1, 0.2, 10, (0.1, 0.1)),
    (0.1, 0.3, 3, (0.0, 0.3)),
    (0.2, 0.1, 10, (0.0, 0.3)),
    (0.2, 0.3, 5, (0.3, 0.6)),
    (0.05, 0.1, 5, (0.0, 0.1)),
]
"""The same for documents: the cases of each, and the ICC of changes by chance and of changes for good."""


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
    with row_output(options.json) as add_row:
        for kind, draw, (effect, other) in kinds:
            spread = math.sqrt(other - effect**2) if draw is passes else other
            for n in options.cases:
                source = np.random.default_rng([SEED, n, round(1000 * effect), round(1000 * other)])
                found = [draw(source, n, effect, other) for _ in range(options.rounds)]
                total = right(found[0], effect, spread, other if draw is passes else 1.0)
                hits = [held(one, total) for one in found if one.needed_range]
                what = f"{kind}, {effect:+.2f}, {'changing' if draw is passes else 'spread'} {other:.2f}, {n} cases"
                if len(hits) < options.rounds / 10:
                    add_row(what=what, found=None, note=f"{len(hits)} of {options.rounds} undecided; right: {total:,}")
                    continue
                rate = sum(hits) / len(hits)
                points = [one.needed for one in found if one.needed]
                low, high = np.percentile(points, [5, 95])
                note = (
                    f"{len(hits)} undecided; right: {total - n:,}; single numbers (5-95 %): {low:,.0f} to {high:,.0f}"
                )
                add_row(what=what, found=rate, at_least=0.8, note=note)
                missed |= rate < 0.8 - 2.6 * math.sqrt(0.16 / len(hits))
        missed |= planned(options.rounds, add_row)
    return int(missed)


def planned(rounds: int, add_row: AddRow) -> bool:
    """Tell how often the planned number of cases finds the difference that it was planned for."""
    missed = False
    for effect, chance in PLANS:
        n = pairs_needed(effect, min(1.0, chance + effect)) or 0
        source = np.random.default_rng([SEED, n])
        found = [passes(source, n, effect, min(1.0, chance + effect)).outcome == "better" for _ in range(rounds)]
        missed |= tell_power(add_row, f"passes, {effect:+.2f}, {chance:.0%} change by chance: {n} cases", found)
    for effect, chance, repeats in REPEATED:
        lasting, once = 0.0, chance / 2
        n = cases_needed(effect, variance=lasting + 2 * once / repeats + effect * (1 - effect)) or 0
        source = np.random.default_rng([SEED, n, repeats])
        found = [repeated(source, n, effect, chance, repeats).outcome == "better" for _ in range(rounds)]
        missed |= tell_power(
            add_row, f"passes, {effect:+.2f}, {chance:.0%} change, {repeats} repeats: {n} cases", found
        )
    for plan in CLUSTERED:
        effect, chance, size, icc = plan
        n = clustered_pairs_needed(effect, chance, size, icc) or 0
        source = np.random.default_rng([SEED, n, size])
        found = [by_document(source, n, plan).outcome == "better" for _ in range(rounds)]
        what = (
            f"passes, {effect:+.2f}, {chance:.0%} change by chance, documents of {size}, ICC {icc[0]:g} and {icc[1]:g}"
        )
        missed |= tell_power(add_row, f"{what}: {n} cases", found)
    for effect, spread in ((0.1, 0.3), (0.08, 0.2), (0.15, 0.3)):
        n = clustered_cases_needed(effect, spread**2, size=1) or 0
        source = np.random.default_rng([SEED, n])
        found = [graded(source, n, effect, spread).outcome == "better" for _ in range(rounds)]
        missed |= tell_power(add_row, f"graded, {effect:+.2f}, spread {spread:.2f}: {n} cases", found)
    return missed


def tell_power(add_row: AddRow, what: str, found: list[bool]) -> bool:
    """Tell a power with its bar, .75 to .85; return whether the draws contradict the bar."""
    rate, slack = sum(found) / len(found), 2.6 * math.sqrt(0.16 / len(found))
    add_row(what=f"power, {what}", found=rate, at_least=0.75, at_most=0.85)
    return not 0.75 - slack <= rate <= 0.85 + slack


def by_document(source: np.random.Generator, n: int, plan: tuple[float, float, int, tuple[float, float]]) -> Difference:
    """Documents whose cases change for good at a rate of their own, or by chance, together or each alone."""
    effect, chance, size, (alike, icc) = plan
    count, total = n // size, 1 / icc - 1
    for_good = source.random((count, size)) < source.beta(effect * total, (1 - effect) * total, count)[:, None]
    share = chance / (1 - effect)
    luck = source.choice([1, -1, 0], (count, size + 1), p=[share / 2, share / 2, 1 - share])
    luck = np.where(source.random((count, 1)) < alike, luck[:, -1:], luck[:, :-1])
    apart = np.where(for_good, 1, luck).ravel()
    names = [("", f"{place}") for place in range(n)]
    now, before = ({name: float(d == way) for name, d in zip(names, apart, strict=True)} for way in (1, -1))
    clusters = Clusters(numbers={name: place // size for place, name in enumerate(names)}, unit="document")
    return clustered_difference(("now", "before"), (now, before), clusters)


def repeated(source: np.random.Generator, n: int, effect: float, chance: float, repeats: int) -> Difference:
    """Means of repeats: a share `effect` of the cases fails always before and passes always now, the others at one rate."""
    rate = (1 + math.sqrt(1 - 2 * chance / (1 - effect))) / 2  # the rate at which two answers differ with this chance
    before, now = (source.binomial(repeats, rate, n) / repeats for _ in range(2))
    fixed = source.random(n) < effect
    return of(np.where(fixed, 1.0, now), np.where(fixed, 0.0, before))


if __name__ == "__main__":
    sys.exit(main())
