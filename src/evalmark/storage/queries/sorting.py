"""The sort orders of results, each as a list of index ranges and as SQL for sorting a few results.

Both give the same order. Results without a score or a time come last in either direction.
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
    """Results that are consecutive in an index."""

    tables: str = "result r"
    condition: str = "r.run = ? and r.pass > 0"
    parameters: tuple[Any, ...]
    key: tuple[str, ...]
    """The columns of the order; no two results have the same key."""
    membership: str = ""
    """The condition for results that belong to this range."""
    membership_parameters: tuple[Any, ...] = ()
    place: SqlCondition | None = None
    """The current value of the first key column, if that column is in another table."""
    extra_condition: str = ""
    """A condition that the index cannot check."""
    extra_parameters: tuple[Any, ...] = ()
    can_match: bool = True
    """Whether results of the range can match; others only mark positions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultQuery:
    """The SQL of a filter and its order."""

    run: int
    query: SqlCondition
    value: SqlCondition | None
    """The expression by which the order `score` sorts."""
    descending: bool
    sorting: tuple[str, ...]
    """The columns to sort a few results by, all in one direction, except those with `is null`."""
    index_ranges: tuple[IndexRange, ...]
    """The same order as index ranges, one after the other."""


def build_query(run: int, filters: ResultFilter) -> ResultQuery:
    """Build the query for a run."""
    sorting, index_ranges = _ORDERS[filters.order](run, filters)
    return ResultQuery(
        run=run,
        query=filter_condition(run, filters),
        value=sort_value(filters) if filters.order == "score" else None,
        descending=filters.descending,
        sorting=sorting,
        index_ranges=index_ranges,
    )


_Order = tuple[tuple[str, ...], tuple[IndexRange, ...]]


def _by_position(run: int, filters: ResultFilter) -> _Order:
    if len(filters.verdicts) == 1:
        return _IN_RUN, (_of_verdict(run, filters.verdicts[0]),)
    return _IN_RUN, (IndexRange(parameters=(run,), key=_IN_RUN),)


def _of_verdict(run: int, verdict: Verdict, belongs: str = "") -> IndexRange:
    condition = "r.run = ? and r.pass > 0 and r.verdict = ?"
    parameters = (verdict,) if belongs else ()
    return IndexRange(
        condition=condition,
        parameters=(run, verdict),
        key=(*_PLACE, "r.number"),
        membership=belongs,
        membership_parameters=parameters,
    )


def _by_case(run: int, filters: ResultFilter) -> _Order:
    return _BY_CASE, (IndexRange(parameters=(run,), key=_BY_CASE),)


def _by_verdict(run: int, filters: ResultFilter) -> _Order:
    names = WORST_FIRST[::-1] if filters.descending else WORST_FIRST
    every = (_of_verdict(run, name, "r.verdict = ?") for name in names)
    left_out = {name for name in names if filters.verdicts and name not in filters.verdicts}
    index_ranges = tuple(replace(one, can_match=one.parameters[1] not in left_out) for one in every)
    return (_RANK, *_PLACE, "r.number"), index_ranges


def _by_seconds(run: int, filters: ResultFilter) -> _Order:
    known, unknown = "r.seconds is not null", "r.seconds is null"
    part = "r.run = ? and r.pass > 0 and "
    index_ranges = (
        IndexRange(condition=part + known, parameters=(run,), key=("r.seconds", "r.number"), membership=known),
        IndexRange(condition=part + unknown, parameters=(run,), key=("r.number",), membership=unknown),
    )
    return (unknown, "r.seconds", "r.number"), index_ranges


def _by_score(run: int, filters: ResultFilter) -> _Order:
    value = sort_value(filters)
    known = IndexRange(
        # only the first table has a condition for its index, so the database reads it first
        tables="scored c, result r",
        condition="c.run = ? and c.metric = ? and r.number = c.result and r.pass > 0",
        parameters=(run, sql_text(filters.sorted_metric)),
        key=("c.value", "c.result"),
        membership=f"{value.conditions} is not null",
        membership_parameters=value.parameters,
        place=value,
    )
    unknown = IndexRange(
        parameters=(run,),
        key=_IN_RUN,
        membership=f"{value.conditions} is null",
        membership_parameters=value.parameters,
        extra_condition=f"{value.conditions} is null",
        extra_parameters=value.parameters,
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
