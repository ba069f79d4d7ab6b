"""Text of a comparison of two runs: table cells, remarks and verdict sentences."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evalmark.core.text import count, one_line
from evalmark.core.values.score import Result
from evalmark.stats.comparison.change import Comparison, Flip, MetricChange, Outcome, Slice, TargetChange, Unjudged
from evalmark.stats.comparison.compared_cases import CaseOutcome, ComparedCases
from evalmark.stats.comparison.flip_examples import FlipExample
from evalmark.stats.inference.differences import Difference

from .numbers import DASH, GAP, interval_in_brackets, more_cases, number_text, percent
from .titles import quoted
from .verdicts import deciding_scores, score_text

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


def side_names(found: Comparison, change: TargetChange) -> SideNames:
    """Name the two sides of a target's comparison so that they differ."""
    if not found.is_of_one_run:
        return TWO_RUNS
    names = [one_line(name) or GAP for name in (change.against, change.target)]
    short = [one_line(name, _LONGEST) for name in names]
    if short[0] == short[1]:  # they differ only after the cut
        short = [name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}" for name in names]
    return SideNames(before=short[0], now=short[1], of_one_run=True)


OVERALL = "pass rate"
"""Name of the overall change, of whole cases."""
_NAMED = 3
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


class ChangedCases(NamedTuple):
    """Cases that changed, and the metric that says so."""

    change: MetricChange
    flips: Sequence[Flip]

    @property
    def heading(self) -> str:
        """Heading of the list of cases."""
        return f"cases by {_name(self.change)}" if self.change.name else "flips"


def comparison_title(found: Comparison) -> str:
    """Title: the common name of both runs, both names, or the two targets of one run."""
    if found.is_of_one_run:
        target = found.targets[0]
        return f"{one_line(target.target, 100) or GAP} against {one_line(target.against, 100) or GAP}"
    now, before = (one_line(name, 100) or "run" for name in found.names)
    return now if now == before else f"{now} against {before}"


def run_labels(found: Comparison) -> list[str]:
    """Ids and start times of both runs."""
    runs = zip((found.run, found.baseline), found.created, strict=True)
    return [f"{one_line(run)}{f' of {_day(created)}' if created else ''}" for run, created in runs]


def runs_line(found: Comparison) -> str:
    """Both runs as one line."""
    now, before = run_labels(found)
    return f"two targets of run {now}" if found.is_of_one_run else f"run {now}, against {before}"


def _day(created: str) -> str:
    return one_line(created)[:16].replace("T", " ")


def outcome_text(found: Comparison) -> str:
    """The verdict as one or two words."""
    return "the same" if found.outcome == "same" else found.outcome


def verdict_sentence(found: Comparison) -> str:
    """Explain the verdict in one sentence."""
    several = len(found.targets) > 1
    changes = [(target, change) for target in found.targets for change in target.changes]
    told = [(c, t) for t, c in changes if t.outcome_of(c) == found.outcome]
    decisive = [_is(c) if found.is_of_one_run else _went(c, t if several else None) for c, t in told]
    if not found.targets:
        return "Nothing could be compared."
    if found.outcome == "same" and all(target.is_identical for target in found.targets):
        return f"All outputs and all {'compared ' * found.rules.is_partial}scores are identical."
    if found.outcome == "same":
        return f"No difference is larger than the margin of {_points(found.margin)} points."
    if found.outcome == "cannot tell":
        return _incomparable(found) or _undecided([change for _, change in changes], of_one_run=found.is_of_one_run)
    more = f", and {count(len(decisive) - _NAMED, 'more metric')}" if len(decisive) > _NAMED else ""
    said = "; ".join(decisive[:_NAMED]) + more
    unclear = [_name(change) for target, change in changes if target.outcome_of(change) == "cannot tell"]
    doubt = f" Cannot tell for {_listed(unclear)}." if found.outcome == "better" and unclear else ""
    return f"{said}.{doubt}"


def rescore_hint(found: Comparison) -> tuple[str, str]:
    """How to compare the metrics left out: a sentence and a command; both empty if none is left out."""
    if found.rescore:
        return "To compare every metric, rescore the older run and compare with the result:", found.rescore
    if found.rules.left_out:
        return (
            (
                "No command can rescore the older run with scorers defined in Python; check out that version and run it with "
                "the current scorers."
            ),
            "",
        )
    return "", ""


def _incomparable(found: Comparison) -> str:
    """Explain why nothing could be compared; empty if something was."""
    if not any(target.matching.common for target in found.targets):
        return f"The two {'targets' if found.is_of_one_run else 'runs'} have no case in common."
    if found.rules.is_partial and not any(c.difference.n for target in found.targets for c in target.changes):
        return "No metric is judged by the same rule in both runs, so nothing can be compared."
    return ""


def _undecided(changes: Sequence[MetricChange], *, of_one_run: bool) -> str:
    """Explain why neither a change nor equality could be shown."""
    if not any(change.difference.n for change in changes):
        return f"No case was judged {'of both targets' if of_one_run else 'in both runs'}, so nothing can be compared."
    lost = [_name(change) for change in changes if change.is_lost]
    if lost:
        return f"{_listed(lost)} judged no case {'of both targets' if of_one_run else 'in both runs'}."
    is_better = any(change.outcome == "better" for change in changes)
    doubted = [_name(change) for change in changes if change.is_in_doubt or (is_better and change.may_be_worse)]
    if doubted:
        return f"Missing results could change the verdict on {_listed(doubted)}: it does not hold if they are counted at their worst."
    differences, difference = ("differences", "a difference") if of_one_run else ("changes", "a change")
    if not any(change.difference.up or change.difference.down for change in changes):
        return f"No case changed, but there are too few cases to rule out {difference}."
    return f"The {differences} may be chance, and there are too few cases to rule out {difference}."


def _is(change: MetricChange) -> str:
    """Describe a difference between two targets of one run."""
    return f"{_name(change)} is {_value(change, change.now)} against {_value(change, change.before)}"


def _went(change: MetricChange, target: TargetChange | None) -> str:
    now, before = change.now or 0.0, change.before or 0.0
    went = "rose" if now > before else "fell"
    of = f" of {one_line(target.target, 40)}" if target is not None else ""
    return f"{_name(change)}{of} {went} from {_value(change, before)} to {_value(change, now)}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def target_title(change: TargetChange, *, several: bool, of_one_run: bool = False) -> str:
    """Title of a target's section: its name if there are several, and the number of cases."""
    named = f"{one_line(change.target, 100) or GAP}   " if several else ""
    return f"{named}{count(change.matching.common, 'case')} {'of both targets' if of_one_run else 'in both runs'}"


def change_rows(target: TargetChange) -> list[ChangeRow]:
    """Table rows: whole cases first, then each metric."""
    return [_row(change, target) for change in target.changes]


def _row(change: MetricChange, target: TargetChange) -> ChangeRow:
    found = change.difference
    p = found.p if found.adjusted is None else found.adjusted
    return ChangeRow(
        metric=_name(change) + (" ↓" if change.direction == "lower" else ""),
        n=f"{found.n:,}",
        before=_value(change, change.before),
        now=_value(change, change.now),
        difference=_signed(change, found.value),
        interval=_interval(change),
        p=GAP if p is None else _luck(p),
        verdict=IDENTICAL if target.is_identical and not change.is_lost else change_verdict(found, change),
        outcome=target.outcome_of(change),
    )


def change_verdict(found: Difference, change: MetricChange | None = None) -> str:
    """Format the verdict on one difference."""
    outcome = found.outcome if change is None else change.outcome
    if outcome != "same":
        return outcome
    within = f"{_points(found.margin)} points" if change is None or change.is_share else _plain(change, found.margin)
    return f"the same ±{within}"


def _name(change: MetricChange) -> str:
    return one_line(change.name, _NAME) or OVERALL


def _value(change: MetricChange, number: float | None) -> str:
    return percent(number) if change.is_share else number_text(number, change.unit)


def _plain(change: MetricChange, number: float) -> str:
    """Format a difference without its sign."""
    return f"{_points(number)} points" if change.is_share else number_text(number, change.unit)


def _points(share: float) -> str:
    return f"{100 * share:z.3g}"


def _turned(change: MetricChange, number: float) -> float:
    """Convert a gain to the raw difference, whichever direction is better."""
    return number if change.direction == "higher" else -number


def _signed(change: MetricChange, number: float | None) -> str:
    if number is None:
        return GAP
    number = _turned(change, number)
    if change.is_share:
        return f"{100 * number:+z.1f}"
    if not change.unit:
        return f"{number:+z.3f}"
    return f"{number:+z,.0f}" if 1000 <= abs(number) < 1e9 else f"{number:+z.3g}"


def _interval(change: MetricChange) -> str:
    ends = change.difference.interval.ends
    if ends is None:
        return GAP
    low, high = sorted(_turned(change, end) for end in ends)
    return f"{_signed_as_it_is(change, low)} {DASH} {_signed_as_it_is(change, high)}"


def _signed_as_it_is(change: MetricChange, number: float) -> str:
    return _signed(change, _turned(change, number))


def _luck(p: float) -> str:
    """Format a p value with two digits, never as 0."""
    return "<0.0001" if p < 1e-4 else f"{p:z.2g}" if p < 0.1 else f"{p:z.2f}"


def table_remarks(found: Comparison) -> list[str]:
    """Notes below the tables: units, intervals, adjustment of p values."""
    changes = [change for target in found.targets for change in target.changes]
    tests = sum(change.difference.p is not None for change in changes)
    said = []
    if any(change.is_share for change in changes):
        said.append("Differences of shares are in points.")
    said.append(
        f"{100 * found.level:g} % intervals, paired by case"
        + (f"; p is adjusted for {tests} tests (Holm)." if tests > 1 else ".")
    )
    if any(change.direction == "lower" for change in changes):
        said.append("↓ lower is better.")
    return said


def change_remarks(target: TargetChange, sides: tuple[str, str] = TWO_RUNS.where) -> list[tuple[str, str]]:
    """List `(metric, remark)`: missing results, and how many cases would decide an open verdict."""
    return [(_name(change), said) for change in target.changes for said in _remarks(change, target, sides)]


def _remarks(change: MetricChange, target: TargetChange, sides: tuple[str, str]) -> Iterable[str]:
    found = change.difference
    where = [_unjudged(one, side) for one, side in zip(change.unjudged, sides, strict=True) if one.total]
    if where:
        yield f"not scored: {', '.join(where)}."
    if change.is_in_doubt or change.may_be_worse:
        yield _whatever_is_missing(change)
    if target.outcome_of(change) == found.judged_outcome == "cannot tell" and found.n:
        yield _what_would_decide(change, found)


def _unjudged(one: Unjudged, side: str) -> str:
    kinds = ((one.errors, "errors" if one.errors > 1 else "error"), (one.unscored, "unscored"))
    return f"{one.total:,} of {count(one.of, 'trial')} {side} ({', '.join(f'{n:,} {kind}' for n, kind in kinds if n)})"


def _whatever_is_missing(change: MetricChange) -> str:
    worst, best = change.difference.worst, change.difference.best
    if worst is None or best is None:
        return "its values have no known range, so the missing ones leave it undecided."
    ends = sorted((_turned(change, worst.value or 0.0), _turned(change, best.value or 0.0)))
    low, high = (_signed_as_it_is(change, end) for end in ends)
    return f"depending on the missing results, the difference is anywhere from {low} to {high}."


def _what_would_decide(change: MetricChange, found: Difference) -> str:
    cases = count(found.n, "case")
    if found.smallest is None:
        can = f"{cases} cannot detect any change"
    else:
        can = f"{cases} can only detect changes of {_plain(change, found.smallest)} or more"
    same = "" if found.within is None else f" and rule out those beyond {_plain(change, found.within)}"
    more = more_cases(found)
    more = more and f"; add {more} similar cases to decide"
    return f"{can}{same}{more}."


def summary_cases(target: TargetChange) -> ChangedCases:
    """Choose the changed cases for a summary line: by the deciding metric, else by pass or fail."""
    is_decided = target.outcome_of(target.deciding) in ("better", "worse")
    if is_decided or not target.overall.difference.n:
        return ChangedCases(target.deciding, target.moved)
    return ChangedCases(target.overall, target.flips)


def summary_line(target: TargetChange) -> tuple[str, str]:
    """Summarize the changes of one target in a line, with the verdict."""
    change, matching = summary_cases(target).change, target.matching
    found, (worse, better) = change.difference, change.moved
    left = matching.common - found.n + len(matching.new) + len(matching.gone) + len(matching.edited)
    parts = [f"{worse:,} worse", f"{better:,} better", f"{change.stayed:,} the same"]
    parts += [f"{left:,} not comparable"] if left else []
    counts = ", ".join(parts) + (f" by {_name(change)}" if change.name else "")
    if found.n and not worse + better and not found.missing and found.outcome == "cannot tell":
        return f"{counts}: nothing changed", "same"
    luck = "" if found.p is None else f" ({found.test}: p = {found.p:z.2g})"
    return f"{counts}: {change_verdict(found, change)}{luck}", change.outcome


def flip_name(flip: Flip) -> str:
    """Name a case by its id, or by its input if the id was generated."""
    return one_line(flip.case, _NAME) if flip.asked is None else quoted(flip.asked).strip()


def case_counts(target: TargetChange) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """For each change: how many cases became worse, stayed, became better, and the largest changes."""
    return [(_name(change), _single(change)) for change in target.changes]


def _single(change: MetricChange) -> list[tuple[str, str, str]]:
    ends = (-change.ordered[0], change.ordered[-1]) if change.ordered else (0.0, 0.0)
    worst, best = (_plain(change, end) if end > 0 else "" for end in ends)
    worse, better = change.moved
    return [
        ("worse", f"{worse:,}", worst if worse else ""),
        ("unchanged", f"{change.stayed:,}", ""),
        ("better", f"{better:,}", best if better else ""),
    ]


def decided_metrics(target: TargetChange) -> list[str]:
    """List the metrics that became better or worse, one line each."""
    return [
        f"{change.outcome}: {_went(change, None)}" for change in target.metrics if change.outcome in ("better", "worse")
    ]


def changed_cases(target: TargetChange) -> list[ChangedCases]:
    """Cases that changed by the deciding metric, then those that changed between pass and fail."""
    found = [ChangedCases(target.deciding, target.moved)]
    if target.deciding.name:
        found.append(ChangedCases(target.overall, target.flips))
    return [one for one in found if one.flips]


def changed_cases_title(moved: ChangedCases, heads: SideNames = TWO_RUNS) -> str:
    """Count worse, better and unchanged cases."""
    (worse, better), same = moved.change.moved, moved.change.stayed
    if heads.of_one_run:
        return f"{worse:,} worse with {heads.now}, {better:,} better, {same:,} unchanged"
    return f"{worse:,} worse, {better:,} better, {same:,} unchanged"


def flip_line(flip: Flip, heads: SideNames = TWO_RUNS, *, several: bool = False) -> tuple[str, str]:
    """A case and its change; with the dataset if there are several."""
    where = f" ({one_line(flip.dataset, 60)})" if several else ""
    asked = "" if flip.asked is None else quoted(flip.asked)
    return f"{one_line(flip.case, 100)}{where}{asked}", flip_text(flip, heads)


def flip_text(flip: Flip, heads: SideNames = TWO_RUNS) -> str:
    """Describe how a case changed."""
    if flip.metric:
        return _moved_said(flip, heads)
    is_whole = {flip.before, flip.now} == {0.0, 1.0}
    if heads.of_one_run and is_whole:
        return f"passes only with {heads.before if flip.before else heads.now}"
    if heads.of_one_run:
        return f"passes {percent(flip.now)} of its repeats, with {heads.before} {percent(flip.before)}"
    if is_whole:
        return "passed, fails now" if flip.before else "failed, passes now"
    return f"passed {percent(flip.before)} of its repeats, now {percent(flip.now)}"


def _moved_said(flip: Flip, heads: SideNames) -> str:
    """Describe a metric's change on one case."""
    before, now = (percent(n) if flip.is_share else number_text(n, flip.unit) for n in (flip.before, flip.now))
    name = one_line(flip.metric, _NAME)
    if heads.of_one_run:
        return f"{name} is {now} with {heads.now}, {before} with {heads.before}"
    return f"{name} {'rose' if flip.now > flip.before else 'fell'} from {before} to {now}"


def more_flips(moved: ChangedCases, shown: int) -> str:
    """Say how many more changed cases exist; empty if all are shown."""
    left = len(moved.flips) - shown
    return f"and {left:,} more; show all with -n {len(moved.flips)}" if shown and left > 0 else ""


def pair_scores(pair: FlipExample) -> list[tuple[str, str]]:
    """Pairs `(before, now)` of the scores that decided either result."""
    return deciding_texts(pair.before, pair.now, pair.flip.metric)


def deciding_texts(before: Result, now: Result, metric: str = "") -> list[tuple[str, str]]:
    """Pairs `(before, now)` of the deciding scores of any two results."""
    decided = [score for result in (before, now) for score in deciding_scores(result)]
    names = dict.fromkeys(([metric] if metric else []) + [score.name for score in decided])
    return [(_said(before, name), _said(now, name)) for name in names]


class CaseScore(NamedTuple):
    """One metric's scores of a case in two runs."""

    metric: str
    before: str
    now: str
    difference: str
    went: CaseOutcome | None


def case_scores(cases: ComparedCases, case: int) -> list[CaseScore]:
    """List every metric's score of a case in both runs; repeats are averaged."""
    return [
        CaseScore(
            metric=_name(change),
            before=_value(change, found[0]),
            now=_value(change, found[1]),
            difference=_signed(change, gain),
            went=cases.went(number, case),
        )
        for number, change in enumerate(cases.change.changes)
        if (found := cases.values[number][case]) is not None and (gain := cases.gain(number, case)) is not None
    ]


def _said(result: Result, name: str) -> str:
    found = [score for score in result.scores if score.name == name]
    return " ".join(
        f"{one_line(name, _NAME)}: {score_text(score, {})}{'. ' if score.reason else ''}{one_line(score.reason)}"
        for score in found
    )


def slice_lines(target: TargetChange) -> list[tuple[str, str]]:
    """List the tags whose cases became better or worse."""
    telling = [one for one in target.slices if one.difference.outcome in ("better", "worse")]
    telling.sort(key=lambda one: (one.difference.outcome != "worse", one.difference.value or 0.0))
    return [(f"tag {one_line(one.tag, 40)}", _slice(one)) for one in telling]


def slices_remark(target: TargetChange) -> str:
    """Say how many tags were tested and how p was adjusted; empty if no case has a tag."""
    if not target.slices:
        return ""
    looked = f"{count(len(target.slices), 'tag')} tested, p adjusted for all of them (Benjamini-Hochberg)"
    return f"{looked}." if slice_lines(target) else f"{looked}; none stands out."


def _slice(one: Slice) -> str:
    found = one.difference
    interval = interval_in_brackets(found.interval, "+z.1f", 100)
    p = "" if found.adjusted is None else f", p {_luck(found.adjusted)}"
    value = 100 * (found.value or 0.0)
    return f"{found.outcome}, {value:+z.1f} points{interval} on {count(found.n, 'case')}{p}"
