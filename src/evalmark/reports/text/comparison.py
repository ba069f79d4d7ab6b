"""Text of a comparison of two runs: table cells, remarks and verdict sentences."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from evalmark.core.text import count, distinct_from, one_line, percent_distinct_from
from evalmark.core.values.run import Gate
from evalmark.stats.comparison.change import Comparison, MetricChange, Outcome, Slice, TargetChange, Unjudged
from evalmark.stats.inference.differences import Difference
from evalmark.stats.inference.intervals import LEVEL

from .change_words import CASE_WORDS, OUTCOME_WORDS
from .numbers import GAP, mean_number, more_cases, number_text, percent, range_text, with_minus
from .titles import CLUSTERED

_LONGEST = 24
"""Longest name above a column of numbers, in characters."""


class SideNames(NamedTuple):
    """Names of the two sides of a comparison: the targets if one run is compared, else before and now."""

    before: str = "before"
    now: str = "now"
    of_one_run: bool = False

    @property
    def where(self) -> tuple[str, str]:
        """Phrases that locate something on either side."""
        return (f"of {self.before}", f"of {self.now}") if self.of_one_run else ("in the baseline", "in the run")


TWO_RUNS = SideNames()


def side_names(comparison: Comparison, change: TargetChange) -> SideNames:
    """Name the two sides of a target's comparison so that they differ."""
    if not comparison.is_of_one_run:
        return TWO_RUNS
    names = [one_line(name) or GAP for name in (change.against, change.target)]
    short = [one_line(name, _LONGEST) for name in names]
    if short[0] == short[1]:  # they differ only after the cut
        short = [name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}" for name in names]
    return SideNames(before=short[0], now=short[1], of_one_run=True)


OVERALL = "pass rate"
"""Name of the overall change, of whole cases."""
_NAMED = 3
_METRICS = 4
"""Most metrics named before a remark."""
"""How many metrics the verdict sentence names."""
_NAME = 60
IDENTICAL = "identical"
"""Verdict if all outputs and all scores are identical."""


class ChangeRow(NamedTuple):
    """One metric in the table of changes."""

    metric: str
    n: str
    before: str
    now: str
    difference: str
    interval: str
    p: str
    verdict: str
    outcome: Outcome


def comparison_title(comparison: Comparison) -> str:
    """Title: the common name of both runs, both names, or the two targets of one run."""
    if comparison.is_of_one_run:
        target = comparison.targets[0]
        return f"{one_line(target.target, 100) or GAP} against {one_line(target.against, 100) or GAP}"
    now, before = (one_line(name, 100) or "run" for name in comparison.names)
    return now if now == before else f"{now} against {before}"


def run_labels(comparison: Comparison) -> list[str]:
    """Ids and start times of both runs."""
    runs = zip((comparison.run, comparison.baseline), comparison.created, strict=True)
    return [f"{one_line(run)}{f' of {_day(created)}' if created else ''}" for run, created in runs]


def run_titles(comparison: Comparison) -> list[str]:
    """Names and start times of both runs."""
    runs = zip(comparison.names, comparison.created, strict=True)
    return [" · ".join(filter(None, (one_line(name, 60) or "run", _day(created)))) for name, created in runs]


def runs_line(comparison: Comparison) -> str:
    """Both runs as one line."""
    now, before = run_labels(comparison)
    return f"two targets of run {now}" if comparison.is_of_one_run else f"run {now}, against {before}"


def _day(created: str) -> str:
    return one_line(created)[:16].replace("T", " ")


def outcome_text(comparison: Comparison) -> str:
    """The verdict as one or two words."""
    return OUTCOME_WORDS[comparison.outcome]


def verdict_sentence(comparison: Comparison) -> str:
    """Explain the verdict in one sentence."""
    several = len(comparison.targets) > 1
    changes = [(target, change) for target in comparison.targets for change in target.changes]
    decided = [(c, t) for t, c in changes if t.outcome_of(c) == comparison.outcome]
    decisive = [
        _values_text(c) if comparison.is_of_one_run else change_sentence(c, t if several else None) + _flips_text(c, t)
        for c, t in decided
    ]
    if not comparison.targets:
        return "Nothing could be compared."
    if comparison.outcome == "same" and all(target.is_identical for target in comparison.targets):
        return f"All outputs and all {'compared ' * comparison.rules.is_partial}scores are identical."
    if comparison.outcome == "same":
        return f"No difference is larger than the margin of {_points(comparison.margin)} points."
    if comparison.outcome == "cannot tell":
        return _incomparable(comparison) or _undecided(
            [change for _, change in changes], of_one_run=comparison.is_of_one_run
        )
    more = f", and {count(len(decisive) - _NAMED, 'more metric')}" if len(decisive) > _NAMED else ""
    sentences = "; ".join(decisive[:_NAMED]) + more
    unclear = [metric_name(change) for target, change in changes if target.outcome_of(change) == "cannot tell"]
    doubt = f" Cannot tell for {_listed(unclear)}." if comparison.outcome == "better" and unclear else ""
    return f"{sentences}.{doubt}"


def rescore_hint(comparison: Comparison) -> tuple[str, str]:
    """How to compare the metrics left out: a sentence and a command; both empty if none is left out."""
    if comparison.rescore:
        return "To compare every metric, rescore the older run and compare with the result:", comparison.rescore
    if comparison.rules.left_out:
        return (
            (
                "No command can rescore the older run with scorers defined in Python; check out that version and run it with "
                "the current scorers."
            ),
            "",
        )
    return "", ""


def _incomparable(comparison: Comparison) -> str:
    """Explain why nothing could be compared; empty if something was."""
    if not any(target.matching.common for target in comparison.targets):
        return f"The two {'targets' if comparison.is_of_one_run else 'runs'} have no case in common."
    if comparison.rules.is_partial and not any(c.difference.n for target in comparison.targets for c in target.changes):
        return "No metric is judged by the same rule in both runs, so nothing can be compared."
    return ""


def _undecided(changes: Sequence[MetricChange], *, of_one_run: bool) -> str:
    """Explain why neither a change nor equality could be shown."""
    if not any(change.difference.n for change in changes):
        return f"No case was judged {'of both targets' if of_one_run else 'in both runs'}, so nothing can be compared."
    lost = [metric_name(change) for change in changes if change.is_lost]
    if lost:
        return f"{_listed(lost)} judged no case {'of both targets' if of_one_run else 'in both runs'}."
    is_better = any(change.outcome == "better" for change in changes)
    doubted = [metric_name(change) for change in changes if change.is_in_doubt or (is_better and change.may_be_worse)]
    if doubted:
        return f"Missing results could change the verdict on {_listed(doubted)}: it does not hold if they are counted at their worst."
    differences, difference = ("differences", "a difference") if of_one_run else ("changes", "a change")
    if not any(change.difference.up or change.difference.down for change in changes):
        return f"No case changed, but there are too few cases to rule out {difference}."
    return f"The {differences} may be chance, and there are too few cases to rule out {difference}."


def _values_text(change: MetricChange) -> str:
    return f"{metric_name(change)} is {metric_value(change, change.now)} against {metric_value(change, change.before)}"


def change_sentence(change: MetricChange, target: TargetChange | None = None) -> str:
    """Describe how a metric changed, of a target if there are several."""
    now, before = change.now or 0.0, change.before or 0.0
    verb = "rose" if now > before else "fell"
    of = f" of {one_line(target.target, 40)}" if target is not None else ""
    earlier, later = _apart(change, before, now), _apart(change, now, before)
    return f"{metric_name(change)}{of} {verb} from {earlier} to {later}"


def _apart(change: MetricChange, number: float, other: float) -> str:
    """Format a value of the changed metric so that it shows whether it is above or below the other one."""
    text = metric_value(change, number)
    if number == other or text != metric_value(change, other):
        return text
    if change.is_share:
        return percent_distinct_from(number, other)
    return distinct_from(number, [other], lambda one, digits: f"{one:z.{digits}g}", 4)


def _flips_text(change: MetricChange, target: TargetChange) -> str:
    """Count the cases that passed less or more often, after the change of the pass rate; empty for a metric."""
    flips = [] if change.name else [flip for flip in target.flips if not flip.metric]
    regressed = sum(flip.is_worse for flip in flips)
    words = (CASE_WORDS["worse"], CASE_WORDS["better"])
    counts = [(n, word) for n, word in zip((regressed, len(flips) - regressed), words, strict=True) if n]
    texts = [f"{n:,} {word}" if place else f"{count(n, 'case')} {word}" for place, (n, word) in enumerate(counts)]
    return f" ({', '.join(texts)})" if texts else ""


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def target_title(change: TargetChange, *, several: bool, of_one_run: bool = False) -> str:
    """Title of a target's section: its name if there are several, and the number of cases."""
    prefix = f"{one_line(change.target, 100) or GAP}   " if several else ""
    return f"{prefix}{count(change.matching.common, 'case')} {'of both targets' if of_one_run else 'in both runs'}"


def change_rows(target: TargetChange, gate: Gate | None = None) -> list[ChangeRow]:
    """Table rows: whole cases first, then each metric; values show on which side of the threshold of the gate they are."""
    return [_row(change, target, _needed(change, gate)) for change in target.changes]


def _needed(change: MetricChange, gate: Gate | None) -> float | None:
    """Return what the gate requires of the pass rate, or of the mean of a metric; None if nothing."""
    if gate is None:
        return None
    if not change.name:
        return gate.min_pass_rate
    return gate.thresholds.get(
        change.name, gate.min_score if change.direction == "higher" and not change.unit else None
    )


def _row(change: MetricChange, target: TargetChange, needed: float | None) -> ChangeRow:
    difference = change.difference
    p = difference.verdict_p
    return ChangeRow(
        metric=metric_name(change) + (" ↓" if change.direction == "lower" else ""),
        n=f"{difference.n:,}",
        before=_value_beside(change, change.before, needed),
        now=_value_beside(change, change.now, needed),
        difference=signed_difference(change, difference.value),
        interval=_interval(change),
        p=GAP if p is None else p_value_text(p, difference.interval.level),
        verdict=IDENTICAL if target.is_identical and not change.is_lost else change_verdict(difference, change),
        outcome=target.outcome_of(change),
    )


def change_verdict(difference: Difference, change: MetricChange | None = None) -> str:
    """Format the verdict on one difference."""
    outcome = difference.outcome if change is None else change.outcome
    if outcome != "same":
        return OUTCOME_WORDS[outcome]
    within = (
        f"{_points(difference.margin)} points"
        if change is None or change.is_share
        else plain_difference(change, difference.margin)
    )
    return f"the same ±{within}"


def metric_name(change: MetricChange) -> str:
    """Name of the changed metric; the pass rate if whole cases changed."""
    return one_line(change.name, _NAME) or OVERALL


def metric_value(change: MetricChange, number: float | None) -> str:
    """Format a value of the changed metric."""
    return percent(number) if change.is_share else mean_number(number, change.unit)


def _value_beside(change: MetricChange, number: float | None, limit: float | None) -> str:
    """Format a value with enough digits to show on which side of a limit it is."""
    text = metric_value(change, number)
    if number is None or limit is None or text != metric_value(change, limit):
        return text
    if change.is_share:
        return percent_distinct_from(number, limit)
    return with_minus(distinct_from(number, [limit], lambda one, digits: f"{one:z.{digits}f}", 3))


def plain_difference(change: MetricChange, number: float) -> str:
    """Format a difference without its sign."""
    return f"{_points(number)} points" if change.is_share else number_text(number, change.unit)


def _points(share: float) -> str:
    return f"{100 * share:z.3g}"


def raw_difference(change: MetricChange, number: float) -> float:
    """Convert a gain to the raw difference, whichever direction is better."""
    return number if change.direction == "higher" else -number


def signed_difference(change: MetricChange, number: float | None) -> str:
    """Format a gain as a difference of raw values with its sign."""
    if number is None:
        return GAP
    number = raw_difference(change, number)
    return _signed(change, number)


def _signed(change: MetricChange, number: float, limits: Sequence[float] = ()) -> str:
    """Format a raw difference so that it shows on which side of each limit it is."""
    if change.is_share:
        return signed_points(number, limits)
    if 1000 <= abs(number) < 1e9:
        return with_minus(f"{number:+z,.0f}")
    kind, digits = ("g", 3) if change.unit else ("f", 3)
    return with_minus(distinct_from(number, limits, lambda one, digits: f"{one:+z.{digits}{kind}}", digits))


def signed_points(share: float, limits: Sequence[float] = ()) -> str:
    """Format a difference of shares in points, so that it shows on which side of each limit it is.

    >>> signed_points(0.1234), signed_points(0.0003), signed_points(0.0003, [0]), signed_points(0.0498, [0.05])
    ('+12.3', '+0.0', '+0.03', '+4.98')
    """
    points = [100 * limit for limit in limits]
    return with_minus(distinct_from(100 * share, points, lambda one, digits: f"{one:+z.{digits}f}", 1))


def _interval(change: MetricChange) -> str:
    ends = change.difference.interval.ends
    if ends is None:
        return GAP
    margin = change.difference.margin
    low, high = sorted(raw_difference(change, end) for end in ends)
    return range_text(*(_signed(change, end, (0.0, margin, -margin)) for end in (low, high)))


def _signed_raw(change: MetricChange, number: float) -> str:
    return signed_difference(change, raw_difference(change, number))


def p_value_text(p: float, level: float = LEVEL) -> str:
    """Format a p value with two digits, never as 0, and with more where it shows on which side of 1 - `level` it is.

    >>> p_value_text(0.0496), p_value_text(0.0504), p_value_text(0.31), p_value_text(0.00001)
    ('0.0496', '0.0504', '0.31', '<0.0001')
    """
    return "<0.0001" if p < 1e-4 else distinct_from(p, [1 - level], _p_digits, 2)


def _p_digits(p: float, digits: int) -> str:
    return f"{p:z.{digits}f}" if round(p, digits) >= 0.1 else f"{p:z.{digits}g}"


def table_remarks(comparison: Comparison) -> list[str]:
    """Notes below the tables: units, intervals, adjustment of p values."""
    changes = [change for target in comparison.targets for change in target.changes]
    tests = comparison.tests
    remarks = []
    if any(change.is_share for change in changes):
        remarks.append("Differences of shares are in points.")
    remarks.append(
        f"{100 * comparison.level:g} % intervals, paired by case{_clustered(changes)}"
        + (f"; p is adjusted for {tests} tests, the intervals are not." if tests > 1 else ".")
    )
    if any(change.direction == "lower" for change in changes):
        remarks.append("↓ lower is better.")
    return [*remarks, *_as_overall(comparison)]


def _as_overall(comparison: Comparison) -> Iterator[str]:
    """Name the metrics that have no row because they have the values of the pass rate."""
    targets: dict[str, list[str]] = {}
    for target in comparison.targets:
        for name in target.as_overall:
            targets.setdefault(name, []).append(one_line(target.target, 60))
    metrics: dict[tuple[str, ...], list[str]] = {}
    for name, found in targets.items():
        metrics.setdefault(tuple(found), []).append(one_line(name, 60))
    for some, names in metrics.items():
        of = "" if len(some) == len(comparison.targets) else f" of {_few(some)}"
        yield f"{_few(names)}: the same as the {OVERALL}{of}."


def _clustered(changes: Sequence[MetricChange]) -> str:
    """Say how many clusters the cases are in; empty if no cases depend on each other."""
    found = [change.difference for change in changes if _is_clustered(change.difference)]
    if not found:
        return ""
    most = max(found, key=lambda one: one.clusters or 0)
    unit = most.interval.method.rpartition(CLUSTERED)[2]
    return f", clustered by {one_line(unit, 40)} ({count(most.clusters or 0, 'cluster')})"


def _is_clustered(difference: Difference) -> bool:
    return CLUSTERED in difference.interval.method


def change_remarks(target: TargetChange, sides: tuple[str, str] = TWO_RUNS.where) -> list[tuple[str, str]]:
    """List `(metrics, remark)`: missing results, and how many cases would decide an open verdict; equal remarks stand once."""
    metrics: dict[str, list[str]] = {}
    for change in target.changes:
        for remark in _remarks(change, target, sides):
            metrics.setdefault(remark, []).append(metric_name(change))
    return [(_few(names), remark) for remark, names in metrics.items()]


def _few(names: Sequence[str]) -> str:
    """Name a few metrics, and how many there are beside them."""
    shown = names if len(names) <= _METRICS else names[: _METRICS - 1]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def _remarks(change: MetricChange, target: TargetChange, sides: tuple[str, str]) -> Iterable[str]:
    difference = change.difference
    missing = [_unjudged(one, side) for one, side in zip(change.unjudged, sides, strict=True) if one.total]
    if missing:
        yield f"not scored: {', '.join(missing)}."
    if change.is_in_doubt or change.may_be_worse:
        yield _whatever_is_missing(change)
    is_open = target.outcome_of(change) == difference.judged_outcome == "cannot tell" and difference.n
    # More cases would not undo what another metric has shown.
    if is_open and not any(target.outcome_of(other) == "worse" for other in target.changes):
        yield _what_would_decide(change, difference)


def what_would_decide(comparison: Comparison) -> str:
    """Say what the cases of an undecided comparison can detect by the deciding metric, and how many more would decide.

    Empty where it is decided, or has several targets.
    """
    if comparison.outcome != "cannot tell" or len(comparison.targets) != 1:
        return ""
    target = comparison.targets[0]
    change, difference = target.deciding, target.deciding.difference
    is_open = target.outcome_of(change) == difference.judged_outcome == "cannot tell" and difference.n
    return f"By {metric_name(change)}, {_what_would_decide(change, difference)}" if is_open else ""


def _unjudged(one: Unjudged, side: str) -> str:
    kinds = ((one.errors, "errors" if one.errors > 1 else "error"), (one.unscored, "unscored"))
    return f"{one.total:,} of {count(one.of, 'trial')} {side} ({', '.join(f'{n:,} {kind}' for n, kind in kinds if n)})"


def _whatever_is_missing(change: MetricChange) -> str:
    worst, best = change.difference.worst, change.difference.best
    if worst is None or best is None:
        return "its values have no known range, so the missing ones leave it undecided."
    ends = sorted((raw_difference(change, worst.value or 0.0), raw_difference(change, best.value or 0.0)))
    low, high = (_signed_raw(change, end) for end in ends)
    doubt = (
        f"{OUTCOME_WORDS[change.difference.judged_outcome]} by the scored cases alone; " if change.is_in_doubt else ""
    )
    return f"{doubt}depending on the missing results, the difference is anywhere from {low} to {high}."


def _what_would_decide(change: MetricChange, difference: Difference) -> str:
    cases = count(difference.n, "case")
    if difference.smallest is None:
        power, joint = f"{cases} cannot detect any change", ", but rule out changes"
    else:
        power = f"{cases} can only detect changes of {plain_difference(change, difference.smallest)} or more"
        joint = " and rule out those"
    same = "" if difference.within is None else f"{joint} beyond {plain_difference(change, difference.within)}"
    more = more_cases(difference)
    where = " in other clusters" if _is_clustered(difference) else ""
    more = more and f"; add {more} similar cases{where} to decide"
    return f"{power}{same}{more}."


def points_in_brackets(difference: Difference) -> str:
    """Format the interval of a difference of shares in points, in brackets after a space; empty if it is unknown."""
    limits = (0.0, difference.margin, -difference.margin)
    ends = [signed_points(end, limits) for end in difference.interval.ends or ()]
    return f" ({range_text(*ends)})" if ends else ""


def slice_lines(target: TargetChange) -> list[tuple[str, str]]:
    """List the tags whose cases became better or worse."""
    telling = [one for one in target.slices if one.difference.outcome in ("better", "worse")]
    telling.sort(key=lambda one: (one.difference.outcome != "worse", one.difference.value or 0.0))
    return [(f"tag {one_line(one.tag, 40)}", _slice(one)) for one in telling]


def slices_remark(target: TargetChange) -> str:
    """Say how many tags were tested and how p was adjusted; empty if no case has a tag."""
    if not target.slices:
        return ""
    looked = f"{count(len(target.slices), 'tag')} tested, p adjusted for all of them"
    return f"{looked}." if slice_lines(target) else f"{looked}; none changed significantly."


def _slice(one: Slice) -> str:
    difference = one.difference
    interval = points_in_brackets(difference)
    p = "" if difference.adjusted is None else f", p {p_value_text(difference.adjusted, difference.interval.level)}"
    value = signed_points(difference.value or 0.0)
    return f"{OUTCOME_WORDS[difference.outcome]}, {value} points{interval} on {count(difference.n, 'case')}{p}"
