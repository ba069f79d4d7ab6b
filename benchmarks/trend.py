"""Control limits over many runs: false alarms while nothing changes, and how soon a lasting change is found.

Run: python benchmarks/trend.py [--series 150] [--runs 120] [--table 1|2|3]

The first table draws series of runs on the same cases. Each case has a pass rate of its own, so that runs depend on each
other; nothing changes. Counted are the series in which any run is outside: by evalmark's limits, by the mean and three
standard deviations of the earlier runs (from five on), and by the mean difference from the run before, where it is more than
1.96 standard errors from 0.

The second table lowers the pass rate after some runs, and counts how many runs later a run is below its limit.

The third one breaks an assumption: whole runs differ, in no order, as with a provider that
answers from several versions of a model. It counts the series in which any run is outside. Below it are
series whose failed cases are replaced, and series that would count replies of the call log in each run that replays them.

The exit code is 1 when a row of the first table has more than 5 % of false alarms by evalmark's limits, beyond what so many
series show by chance.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evalmark.stats.inference.control_chart import FALSE_ALARMS, ControlChart

Source = np.random.Generator
Units = dict[object, tuple[float, int]]
LOOKED = 25
"""Runs after a change in which it may be found."""


def passes(source: Source, rates: np.ndarray) -> Units:
    return {case: (float(passed), 1) for case, passed in enumerate(source.random(len(rates)) < rates)}


def rates(source: Source, cases: int, mean: float = 0.85, spread: float = 2.0) -> np.ndarray:
    """Draw the pass rate of each case; with a spread of 2, a sixth of the cases have another verdict in the next run."""
    return source.beta(mean * spread, (1 - mean) * spread, cases)


def flaky(source: Source, cases: int) -> Iterator[Units]:
    own = rates(source, cases)
    while True:
        yield passes(source, own)


def deterministic(source: Source, cases: int) -> Iterator[Units]:
    same = passes(source, rates(source, cases))
    while True:
        yield same


def repeated(source: Source, cases: int) -> Iterator[Units]:
    own = rates(source, cases)
    while True:
        yield {case: (float(passed), 3) for case, passed in enumerate(source.binomial(3, own))}


def unscored(source: Source, cases: int) -> Iterator[Units]:
    """Yield runs in which a tenth of the scores are missing, more of those that failed."""
    own = rates(source, cases)
    while True:
        run = passes(source, own)
        yield {case: one for case, one in run.items() if source.random() > (0.08 if one[0] else 0.2)}


def renewed(source: Source, cases: int) -> Iterator[Units]:
    """Yield runs of a dataset in which a case leaves and another comes every second run."""
    own = dict(enumerate(rates(source, cases)))
    for number in range(10**9):
        if number % 2:
            del own[min(own)]
            own[cases + number] = float(rates(source, 1)[0])
        yield {case: (float(source.random() < rate), 1) for case, rate in own.items()}


def by_document(source: Source, cases: int) -> Iterator[Units]:
    """Yield runs in which the questions on one document pass or fail together half of the time."""
    own = rates(source, cases)
    while True:
        run: Units = {}
        for document, rate in enumerate(own):
            together = source.random() < 0.5
            passed = 5 * (source.random() < rate) if together else source.binomial(5, rate)
            run[document] = (float(passed), 5)
        yield run


def by_run(source: Source, cases: int, spread: float) -> Iterator[Units]:
    """Yield runs whose cases are all easier or all harder, by a normal shift of the log odds with this standard deviation."""
    own = rates(source, cases)
    while True:
        yield passes(source, shifted(source, own, spread))


def shifted(source: Source, own: np.ndarray, spread: float) -> np.ndarray:
    odds = own / np.maximum(1 - own, 1e-12) * math.exp(spread * source.normal())
    return odds / (1 + odds)


def graded(source: Source, cases: int) -> Iterator[Units]:
    centre = rates(source, cases)
    while True:
        yield {case: (float(source.beta(6 * c + 0.01, 6 * (1 - c) + 0.01)), 1) for case, c in enumerate(centre)}


def in_dollars(source: Source, cases: int) -> Iterator[Units]:
    centre = source.lognormal(0, 1, cases)
    while True:
        yield {case: (float(c * source.lognormal(0, 0.8)), 1) for case, c in enumerate(centre)}


@dataclass(frozen=True)
class Unchanged:
    """A process without any change."""

    name: str
    cases: int
    process: Callable[[Source, int], Iterator[Units]]
    bounded: bool = True


PROCESSES = (
    Unchanged("pass or fail", 100, flaky),
    Unchanged("pass or fail", 20, flaky),
    Unchanged("pass or fail", 5, flaky),
    Unchanged("deterministic", 100, deterministic),
    Unchanged("3 repeats", 50, repeated),
    Unchanged("a tenth unscored, more of the failures", 100, unscored),
    Unchanged("a case replaced every second run", 50, renewed),
    Unchanged("20 documents of 5 questions", 20, by_document),
    Unchanged("graded from 0 to 1", 50, graded),
    Unchanged("dollars", 50, in_dollars, bounded=False),
)


@dataclass
class Rules:
    """Which rules have raised an alarm in a series."""

    chart: ControlChart
    evalmark: bool = False
    three_deviations: bool = False
    pairwise: bool = False

    def add(self, run: Units, before: Units | None, means: list[float]) -> None:
        self.evalmark = self.evalmark or self.chart.add(run).outside is not None
        value = mean(run)
        if len(means) >= 5:
            self.three_deviations |= abs(value - statistics.fmean(means)) > 3 * statistics.stdev(means) + 1e-9
        if before is not None:
            apart = [run[unit][0] - before[unit][0] for unit in run if unit in before]
            error = statistics.stdev(apart) / math.sqrt(len(apart)) if len(apart) > 1 else 0.0
            self.pairwise |= error > 0 and abs(statistics.fmean(apart)) > 1.96 * error
        means.append(value)


def mean(run: Units) -> float:
    return math.fsum(total for total, _ in run.values()) / max(1, sum(n for _, n in run.values()))


def false_alarms(process: Unchanged, series: int, runs: int) -> tuple[float, float, float]:
    found = []
    for number in range(series):
        source = np.random.default_rng([number, process.cases])
        rules = Rules(ControlChart(ends=(0.0, 1.0) if process.bounded else None))
        before, means, steps = None, [], process.process(source, process.cases)
        for _ in range(runs):
            run = next(steps)
            rules.add(run, before, means)
            before = run
        found.append((rules.evalmark, rules.three_deviations, rules.pairwise))
    return tuple(statistics.fmean(column) for column in zip(*found, strict=True))


def delays(cases: int, spread: float, after: int, to: float, series: int) -> list[int | None]:
    """Return in which run after the change each series is below its limit; None for not at all or too early."""
    found: list[int | None] = []
    for number in range(series):
        source = np.random.default_rng([number, cases, after])
        own, chart, place = rates(source, cases, spread=spread), ControlChart(), None
        for look in range(after + LOOKED):
            point = chart.add(passes(source, own if look < after else own * to / 0.85))
            if point.outside:
                place = look - after + 1 if look >= after and point.outside == "below" else None
                break
        found.append(place)
    return found


def show_delays(series: int) -> None:
    print(
        f"| cases | change by chance | falls from .85 to | after runs | found within {LOOKED} | median run | 90 % by run |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for cases, spread, to in ((50, 2.0, 0.75), (100, 2.0, 0.75), (100, 9.0, 0.75), (200, 2.0, 0.75), (100, 2.0, 0.8)):
        for after in (5, 10, 30):
            found = delays(cases, spread, after, to, series)
            share = statistics.fmean(one is not None for one in found)
            late = sorted(math.inf if one is None else one for one in found)
            chance = 2 * 0.85 * 0.15 * spread / (spread + 1)
            median, most = (f"{late[int(q * len(late))]:g}".replace("inf", "later") for q in (0.5, 0.9))
            print(
                f"| {cases} | {100 * chance:.0f} % | {to:g} | {after} | {100 * share:.0f} % | {median} | {most} |",
                flush=True,
            )


def show_run_effects(series: int, runs: int) -> None:
    print(f"| whole runs differ by (sd) | cases | a run outside in {runs} runs | of them within the first 30 |")
    print("|--:|--:|--:|--:|")
    for cases in (20, 100):
        for spread in (0.15, 0.3, 0.6):
            found = [
                first_outside(by_run(np.random.default_rng([n, cases]), cases, spread), runs) for n in range(series)
            ]
            source = np.random.default_rng(cases)
            means = [float(shifted(source, rates(source, 10_000), spread).mean()) for _ in range(300)]
            share, early = (statistics.fmean(one is not None and one <= most for one in found) for most in (runs, 30))
            print(
                f"| {100 * statistics.stdev(means):.1f} points | {cases} | {100 * share:.0f} % | {100 * early:.0f} % |",
                flush=True,
            )
    print()


def weeded(source: Source, cases: int, most: int) -> Iterator[Units]:
    """Yield runs after each of which up to `most` failed cases are replaced by new ones."""
    own = dict(enumerate(rates(source, cases)))
    new = iter(range(cases, 10**9))
    while True:
        run: Units = {case: (float(source.random() < rate), 1) for case, rate in own.items()}
        yield run
        for case in [case for case, (passed, _) in run.items() if not passed][:most]:
            del own[case]
            own[next(new)] = float(rates(source, 1)[0])


def replayed(source: Source, cases: int, often: int) -> Iterator[Units]:
    """Yield runs with the same outputs, until a harmless edit of the prompt draws others, which are replayed as often."""
    own = rates(source, cases)
    while True:
        yield from [passes(source, own)] * often


def show_chosen_values(series: int) -> None:
    rows = [(f"{most} of the failed cases replaced after each run", weeded, most, 120) for most in (1, 3)]
    rows += [(f"{often} runs replay each of two draws", replayed, often, 2 * often) for often in (10, 30)]
    for name, process, number, runs in rows:
        found = [first_outside(process(np.random.default_rng([n, number]), 100, number), runs) for n in range(series)]
        share = statistics.fmean(one is not None for one in found)
        print(f"100 cases, {name}: {100 * share:.0f} % of {series} series have a run outside in {runs}", flush=True)


def first_outside(process: Iterator[Units], runs: int) -> int | None:
    """Return the number of the first run that is outside."""
    chart = ControlChart()
    return next((look for look in range(1, runs + 1) if chart.add(next(process)).outside), None)


def show_false_alarms(series: int, runs: int) -> bool:
    """Print a row for each process, and return whether any has too many false alarms by evalmark's limits."""
    chance = 3 * math.sqrt(FALSE_ALARMS * (1 - FALSE_ALARMS) / series)
    print(
        f"| nothing changes in {runs} runs | cases | evalmark | 3 standard deviations | each against the one before |"
    )
    print("|:--|--:|--:|--:|--:|")
    missed = False
    for process in PROCESSES:
        shares = false_alarms(process, series, runs)
        missed = missed or shares[0] > FALSE_ALARMS + chance
        cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
        print(f"| {process.name} | {process.cases} | {cells} |", flush=True)
    print()
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=150)
    parser.add_argument("--runs", type=int, default=120)
    parser.add_argument("--table", type=int, choices=(1, 2, 3), help="only this table")
    how = parser.parse_args()
    missed = how.table in (None, 1) and show_false_alarms(how.series, how.runs)
    if how.table in (None, 2):
        show_delays(max(2, how.series // 3))
    if how.table in (None, 3):
        show_run_effects(how.series, how.runs)
        show_chosen_values(how.series)
    sys.exit(missed)


if __name__ == "__main__":
    main()
