"""The orders in which results are looked through: each as stretches of an index, and as one sorting of a few of them.

Both give the same order. What has no score or no time comes last, whichever way the others stand.
"""

from dataclasses import dataclass, replace
from typing import Any

from evalmark.core.values.score import Verdict
from evalmark.storage.database.fields import sql_text

from .filter import ResultFilter, SqlCondition, filter_condition, sort_value

WORST_FIRST: tuple[Verdict, ...] = ("error", "fail", "unscored", "pass", "ungated")
_RANK = "case r.verdict " + " ".join(f"when '{name}' then {rank}" for rank, name in enumerate(WORST_FIRST)) + " end"
_PLACE = ("r.source", "r.dataset", "r.position", "r.repeat")
_IN_RUN = (*_PLACE, "r.target", "r.mode", "r.verdict", "r.number")
_BY_CASE = ("r.dataset", "r.case_id", "r.target", "r.repeat", "r.mode", "r.fingerprint")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRange:
    """Results that stand one after the other in an index."""

    tables: str = "result r"
    held: str = "r.run = ? and r.pass > 0"
    given: tuple[Any, ...]
    key: tuple[str, ...]
    """The columns by which they stand so; no two results have the same."""
    belongs: str = ""
    """What holds for a result that has its place here; all that are wanted and have it are found here."""
    belongs_given: tuple[Any, ...] = ()
    place: SqlCondition | None = None
    """What a result has in the place of the first column of the key, where that is another table's."""
    besides: str = ""
    """A condition that is looked at one by one."""
    besides_given: tuple[Any, ...] = ()
    is_wanted: bool = True
    """Whether any of them may be wanted; one that is not still has its place here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultQuery:
    """What is wanted of a run, as SQL."""

    run: int
    query: SqlCondition
    value: SqlCondition | None
    """By what the order `score` sorts."""
    descending: bool
    sorting: tuple[str, ...]
    """Columns that put a few results into order, all of them in one direction but those that say `is null`."""
    stretches: tuple[IndexRange, ...]
    """The same order, one stretch after the other."""


def build_query(run: int, wanted: ResultFilter) -> ResultQuery:
    """What is wanted of the run with a number."""
    sorting, stretches = _ORDERS[wanted.order](run, wanted)
    return ResultQuery(
        run=run,
        query=filter_condition(run, wanted),
        value=sort_value(wanted) if wanted.order == "score" else None,
        descending=wanted.descending,
        sorting=sorting,
        stretches=stretches,
    )


_Order = tuple[tuple[str, ...], tuple[IndexRange, ...]]


def _by_position(run: int, wanted: ResultFilter) -> _Order:
    if len(wanted.verdicts) == 1:
        return _IN_RUN, (_of_verdict(run, wanted.verdicts[0]),)
    return _IN_RUN, (IndexRange(given=(run,), key=_IN_RUN),)


def _of_verdict(run: int, verdict: Verdict, belongs: str = "") -> IndexRange:
    held = "r.run = ? and r.pass > 0 and r.verdict = ?"
    given = (verdict,) if belongs else ()
    return IndexRange(held=held, given=(run, verdict), key=(*_PLACE, "r.number"), belongs=belongs, belongs_given=given)


def _by_case(run: int, wanted: ResultFilter) -> _Order:
    return _BY_CASE, (IndexRange(given=(run,), key=_BY_CASE),)


def _by_verdict(run: int, wanted: ResultFilter) -> _Order:
    names = WORST_FIRST[::-1] if wanted.descending else WORST_FIRST
    every = (_of_verdict(run, name, "r.verdict = ?") for name in names)
    left_out = {name for name in names if wanted.verdicts and name not in wanted.verdicts}
    stretches = tuple(replace(one, is_wanted=one.given[1] not in left_out) for one in every)
    return (_RANK, *_PLACE, "r.number"), stretches


def _by_seconds(run: int, wanted: ResultFilter) -> _Order:
    known, unknown = "r.seconds is not null", "r.seconds is null"
    part = "r.run = ? and r.pass > 0 and "
    stretches = (
        IndexRange(held=part + known, given=(run,), key=("r.seconds", "r.number"), belongs=known),
        IndexRange(held=part + unknown, given=(run,), key=("r.number",), belongs=unknown),
    )
    return (unknown, "r.seconds", "r.number"), stretches


def _by_score(run: int, wanted: ResultFilter) -> _Order:
    value = sort_value(wanted)
    known = IndexRange(
        # Only the first table has a condition by which it can be searched, so that it leads.
        tables="scored c, result r",
        held="c.run = ? and c.metric = ? and r.number = c.result and r.pass > 0",
        given=(run, sql_text(wanted.sorted_metric)),
        key=("c.value", "c.result"),
        belongs=f"{value.conditions} is not null",
        belongs_given=value.given,
        place=value,
    )
    unknown = IndexRange(
        given=(run,),
        key=_IN_RUN,
        belongs=f"{value.conditions} is null",
        belongs_given=value.given,
        besides=f"{value.conditions} is null",
        besides_given=value.given,
    )
    last = tuple(f"case when r.v is null then {column} end" for column in _IN_RUN[:-1])
    return ("r.v is null", "r.v", *last, "r.number"), (known, unknown)


_ORDERS = {
    "position": _by_position,
    "case": _by_case,
    "verdict": _by_verdict,
    "seconds": _by_seconds,
    "score": _by_score,
}
