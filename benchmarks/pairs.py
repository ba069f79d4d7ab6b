"""Pass or fail on the same cases: how often chance is called a change, and how often a true change is found.

Run: python benchmarks/pairs.py [--most 300] [--json]

Nothing is drawn: every possible outcome is weighed by its probability. The first table has the largest rate of false calls over
all shares of changed pairs (0 to 1 in steps of 0.005, finer below 0.05) and all numbers of cases from 5 to `--most`, for the rule
that `compare` uses and for its two parts alone. The second has the power of the whole verdict (test and interval agree) for a
pass rate of .85 that falls to .75, by the number of cases and the share of cases that change. A missed bar ends with exit code 1.
"""

import argparse
import math
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
from rows import add_json, row_output
from scipy.stats import binom

from evalmark.stats.inference.differences import difference
from evalmark.stats.inference.paired import changed_pairs_test, mcnemar

Test = Callable[[int, int, int], float | None]
"""Takes the changes down and up and the number of pairs; returns p."""


def by_rule(down: int, up: int, n: int) -> float | None:
    return changed_pairs_test(down, up, n)[0]


TESTS: dict[str, Test] = {
    "mid-p up to 70 % changed, exact above": by_rule,
    "mid-p only": lambda down, up, n: mcnemar(down, up).mid_p,
    "exact only": lambda down, up, n: mcnemar(down, up).exact,
}
SHARES = np.concatenate([np.arange(0, 0.05, 0.0025), np.linspace(0.05, 1, 191)])


def false_calls(test: Test, n: int, alpha: float, shares: np.ndarray = SHARES) -> float:
    """Return the largest probability of p < `alpha` when a pair is as likely to change up as down."""
    called = np.zeros(n + 1)
    for changed in range(1, n + 1):
        called[changed] = tail(changed, fewest(test, changed, n, alpha))
    return float((binom.pmf(np.arange(n + 1)[None, :], n, shares[:, None]) @ called).max())


@cache
def fewest(test: Test, changed: int, n: int, alpha: float) -> int:
    """Return the number of splits of `changed` pairs, from 0 in the minority, that have p < `alpha`."""
    low, high = 0, changed // 2 + 1
    while low < high:
        middle = (low + high) // 2
        p = test(middle, changed - middle, n)
        low, high = (middle + 1, high) if p is not None and p < alpha else (low, middle)
    return low


@cache
def tail(changed: int, splits: int) -> float:
    return min(1.0, 2 * float(binom.cdf(splits - 1, changed, 0.5))) if splits else 0.0


def power(n: int, before: float, now: float, share: float) -> float:
    """Return the probability of the verdict `worse` where `share` of the cases change."""
    down, up = (share + before - now) / 2, (share - before + now) / 2
    both, neither = before - down, 1 - before - up
    total = 0.0
    for changed in range(n + 1):
        for fell in range(changed + 1):
            rose, rest = changed - fell, n - changed
            if fell <= rose or by_rule(rose, fell, n) >= 0.05:
                continue
            logarithm = xlog(fell, down) + xlog(rose, up) + xlog(rest, both + neither)
            weight = math.exp(log_choices(n, fell, rose, rest) + logarithm)
            if weight > 1e-9:
                total += weight * agreeing(n, fell, rose, both / (both + neither))
    return total


def agreeing(n: int, fell: int, rose: int, odds: float) -> float:
    """Return how likely the other cases pass such that the interval agrees with the test."""
    rest = n - fell - rose
    weights = binom.pmf(np.arange(rest + 1), rest, odds)
    return float(sum(w for k, w in enumerate(weights) if w > 1e-7 and verdict(n, fell, rose, k)))


@cache
def verdict(n: int, fell: int, rose: int, passed: int) -> bool:
    first = [0.0] * fell + [1.0] * (rose + passed) + [0.0] * (n - fell - rose - passed)
    second = [1.0] * fell + [0.0] * rose + first[fell + rose :]
    sides = ({("", str(i)): value for i, value in enumerate(side)} for side in (first, second))
    return difference(("now", "before"), *sides).outcome == "worse"


def xlog(count: int, share: float) -> float:
    return 0.0 if not count else -math.inf if share <= 0 else count * math.log(share)


def log_choices(n: int, *parts: int) -> float:
    return math.lgamma(n + 1) - sum(math.lgamma(part + 1) for part in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=300, help="the largest number of cases in the first table")
    parser.add_argument("--cases", type=int, nargs="+", default=[50, 100, 200], help="the cases of the second table")
    add_json(parser)
    options = parser.parse_args()
    missed = False
    with row_output(options.json) as add_row:
        for name, test in TESTS.items():
            for alpha in (0.05, 0.025, 0.01) if test is by_rule else (0.05,):
                rates = {n: false_calls(test, n, alpha) for n in range(5, options.most + 1)}
                n = max(rates, key=rates.__getitem__)
                bar = 0.05 if (name, alpha) == (next(iter(TESTS)), 0.05) else None
                add_row(what=f"false calls, {name}, p < {alpha}", found=rates[n], at_most=bar, note=f"at {n} cases")
                missed |= bar is not None and rates[n] > bar
            usual = false_calls(test, 100, 0.05, np.array([0.25]))
            add_row(what=f"false calls, {name}, 100 cases, 25 % change", found=usual)
        for n in options.cases:
            for share in (0.15, 0.25, 0.325):
                found = power(n, 0.85, 0.75, share)
                bar = 0.5 if (n, share) == (100, 0.25) else None
                add_row(what=f"found, .85 to .75, {n} cases, {share:.1%} change", found=found, at_least=bar)
                missed |= bar is not None and found < bar
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
