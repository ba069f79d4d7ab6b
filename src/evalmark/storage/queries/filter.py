"""Which results of a run somebody wants to see, and the SQL that finds them: conditions are parameters, never text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from evalmark.core.values.score import Verdict
from evalmark.storage.database.fields import like_pattern, like_pattern_in_json, sql_text

Order = Literal["position", "case", "verdict", "seconds", "score"]

_SCORES = """
    json_each(r.scores) j where json_type(j.value, '$.value') in ('real', 'integer', 'number')
    and cast(json_extract(j.value, '$.value') as double precision) between ? and ?
"""
_LEAST, _MOST = -1e308, 1e308


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFilter:
    """Which results of a run, and in which order; every condition has to hold."""

    verdicts: tuple[Verdict, ...] = ()
    """Empty: all of them."""
    tag: str = ""
    text: str = ""
    """Stands in the id, the input, an answer or a reason; capitals of the Latin alphabet count as small letters."""
    metric: str = ""
    """The metric that `low` and `high` are about; empty: any."""
    low: float | None = None
    high: float | None = None
    """Both ends belong to the range."""
    numbers: frozenset[int] | None = None
    """Only results with these numbers, found in another way; None: all of them, empty: none."""
    without: frozenset[int] = frozenset()
    """None of the results with these numbers."""
    order: Order = "position"
    sorted_metric: str = ""
    """By whose values the order `score` sorts."""
    descending: bool = False


@dataclass(frozen=True, slots=True)
class SqlCondition:
    """Text of SQL, and the parameters in it."""

    conditions: str
    given: tuple[Any, ...]


def filter_condition(run: int, wanted: ResultFilter) -> SqlCondition:
    """The conditions on rows `r` of the table `result`."""
    found = [("r.run = ? and r.pass > 0", (run,)), *_conditions(wanted)]
    return SqlCondition(
        conditions=" and ".join(text for text, _ in found),
        given=tuple(value for _, given in found for value in given),
    )


def sort_value(wanted: ResultFilter) -> SqlCondition:
    """The value by which the order `score` sorts a row `r`; null without one."""
    worst = "max" if wanted.descending else "min"
    value = f"{worst}(cast(json_extract(j.value, '$.value') as double precision))"
    return SqlCondition(
        conditions=f"(select {value} from {_SCORES} and json_extract(j.value, '$.name') = ?)",  # noqa: S608  texts of ours
        given=(_LEAST, _MOST, sql_text(wanted.sorted_metric)),
    )


def _conditions(wanted: ResultFilter) -> Iterator[tuple[str, tuple[Any, ...]]]:
    if wanted.verdicts:
        yield f"r.verdict in ({', '.join('?' * len(wanted.verdicts))})", wanted.verdicts
    if wanted.tag:
        is_tagged = "exists (select 1 from json_each(r.content, '$.tags') t where t.value = ?)"
        yield f"(r.content like ? escape '!' and {is_tagged})", (like_pattern_in_json(wanted.tag), sql_text(wanted.tag))
    if wanted.text:
        # The JSON is looked at as a text first, which is fast, and then field by field: names of fields do not count.
        held = "(r.{0} like ? escape '!' and exists (select 1 from json_tree(r.{0}) t where t.atom like ? escape '!'))"
        anywhere = " or ".join(held.format(column) for column in ("content", "output", "scores"))
        inside, bare = like_pattern_in_json(wanted.text), like_pattern(wanted.text)
        yield f"(cast(r.case_id as text) like ? escape '!' or {anywhere})", (bare, *(inside, bare) * 3)
    if wanted.low is not None or wanted.high is not None:
        about = " and json_extract(j.value, '$.name') = ?" if wanted.metric else ""
        metric = (sql_text(wanted.metric),) if wanted.metric else ()
        yield f"exists (select 1 from {_SCORES}{about})", (*score_bounds(wanted), *metric)  # noqa: S608  texts of ours
    if wanted.numbers is not None:
        yield "r.number in (select cast(value as bigint) from json_each(?))", (json.dumps(sorted(wanted.numbers)),)
    if wanted.without:
        yield "r.number not in (select cast(value as bigint) from json_each(?))", (json.dumps(sorted(wanted.without)),)


def score_bounds(wanted: ResultFilter) -> tuple[float, float]:
    """The range of scores that is wanted."""
    return (_LEAST if wanted.low is None else wanted.low), (_MOST if wanted.high is None else wanted.high)
