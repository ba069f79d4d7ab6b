"""Selects results of a run, by SQL conditions whose values are always parameters."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evalmark.core.values.score import Verdict
from evalmark.storage.database.fields import like_pattern, like_pattern_in_json, sql_text

Order = Literal["position", "case", "verdict", "seconds", "score"]

Measure = Literal["seconds", "tokens", "cost"]

_OWN_CALLS = "select t.value from json_each(r.output, '$.metadata.calls') t"
_INPUT, _OUTPUT = (f"cast(json_extract(r.output, '$.usage.{kind}_tokens') as bigint)" for kind in ("input", "output"))
_MEASURES: Mapping[Measure, str] = {
    "seconds": "+r.seconds",  # without the index of times, along which a single row is found slowly
    # what the target reports, else what its calls used
    "tokens": f"""coalesce({_INPUT} + {_OUTPUT}, {_INPUT}, {_OUTPUT}, (
        select sum(coalesce(c.input_tokens, 0) + coalesce(c.output_tokens, 0)) from call c where c.key in ({_OWN_CALLS})
    ))""",  # noqa: S608  texts of ours
    # unknown unless the price of each of its calls is known
    "cost": f"""(
        select case when count(c.cost) = (select count(distinct o.value) from ({_OWN_CALLS}) o) then sum(c.cost) end
        from call c where c.key in ({_OWN_CALLS})
    )""",  # noqa: S608  texts of ours
}
_NUMBER = """
    case when json_type(j.value, '$.value') in ('real', 'integer', 'number')
        then cast(json_extract(j.value, '$.value') as double precision)
    when json_type(j.value, '$.raw') in ('real', 'integer', 'number')
        then cast(json_extract(j.value, '$.raw') as double precision) end
"""
"""The number of a score that reports show: its value from 0 to 1, else its number in the unit of the metric."""
_LEAST, _MOST = -1e308, 1e308


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFilter:
    """Selects results of a run and sorts them; every condition has to hold."""

    verdicts: tuple[Verdict, ...] = ()
    """Empty: all verdicts."""
    tag: str = ""
    target: str = ""
    """The name of the target; empty: all."""
    text: str = ""
    """Occurs in the id, a text of the case or of the output, or a reason; case is ignored for ASCII letters."""
    metric: str = ""
    """The metric that `low` and `high` refer to; empty: any metric."""
    low: float | None = None
    high: float | None = None
    """The range includes both ends."""
    measure: Measure | None = None
    """What `low` and `high` refer to instead of a score: the time, the tokens or the cost in US dollars of an output."""
    metadata: str = ""
    """A field of a case's metadata, of nested objects with dots between their names. It equals `value`, or, if `value` is None,
    `low` and `high` refer to it instead of a score.
    """
    value: str | None = None
    """Text, number, `true` or `false`; also what one element of a list equals."""
    numbers: frozenset[int] | None = None
    """Only results with these row numbers; None: all, empty: none."""
    without: frozenset[int] = frozenset()
    """Exclude results with these row numbers."""
    order: Order = "position"
    sorted_metric: str = ""
    """The metric whose values the order `score` sorts by."""
    descending: bool = False
    also: tuple["ResultFilter", ...] = ()
    """Conditions that have to hold too; their order does not count."""
    excluding: tuple["ResultFilter", ...] = ()
    """Conditions of which none may hold."""
    any_of: tuple["ResultFilter", ...] = ()
    """Conditions of which at least one has to hold; empty: no such condition."""


@dataclass(frozen=True, slots=True)
class SqlCondition:
    """An SQL condition and its parameters."""

    conditions: str
    parameters: tuple[Any, ...]


def filter_condition(run: int, filters: ResultFilter) -> SqlCondition:
    """Return the condition on rows `r` of the table `result`."""
    found = [("r.run = ? and r.pass > 0", (run,)), *_conditions(filters)]
    return SqlCondition(
        conditions=" and ".join(text for text, _ in found),
        parameters=tuple(value for _, parameters in found for value in parameters),
    )


def sort_value(filters: ResultFilter) -> SqlCondition:
    """Return the SQL expression by which the order `score` sorts a row `r`; null without a value."""
    worst = "max" if filters.descending else "min"
    scores = f"json_each(r.scores) j where {_NUMBER} between ? and ? and json_extract(j.value, '$.name') = ?"
    return SqlCondition(
        conditions=f"(select {worst}({_NUMBER}) from {scores})",  # noqa: S608  texts of ours
        parameters=(_LEAST, _MOST, sql_text(filters.sorted_metric)),
    )


def _conditions(filters: ResultFilter) -> Iterator[tuple[str, tuple[Any, ...]]]:
    if filters.verdicts:
        yield f"r.verdict in ({', '.join('?' * len(filters.verdicts))})", filters.verdicts
    if filters.tag:
        is_tagged = "exists (select 1 from json_each(r.content, '$.tags') t where t.value = ?)"
        yield (
            f"(r.content like ? escape '!' and {is_tagged})",
            (like_pattern_in_json(filters.tag), sql_text(filters.tag)),
        )
    if filters.target:
        yield "r.target = ?", (sql_text(filters.target),)
    if filters.text:
        # Search the JSON as a text first, which is fast, then its fields: names of fields and of metrics do not count.
        held = "(r.{0} like ? escape '!' and exists (select 1 from {1} like ? escape '!'))"
        fields = {name: f"json_tree(r.{name}) t where t.atom" for name in ("content", "output")}
        fields["scores"] = "json_each(r.scores) j where json_extract(j.value, '$.reason')"
        anywhere = " or ".join(held.format(column, values) for column, values in fields.items())
        inside, bare = like_pattern_in_json(filters.text), like_pattern(filters.text)
        yield f"(cast(r.case_id as text) like ? escape '!' or {anywhere})", (bare, *(inside, bare) * 3)
    if filters.metadata:
        yield _metadata_condition(filters)
    elif filters.measure is not None:
        yield f"({_MEASURES[filters.measure]} between ? and ?)", score_bounds(filters)
    elif filters.low is not None or filters.high is not None:
        yield _score_condition(filters)
    yield from _further_conditions(filters)


def _score_condition(filters: ResultFilter) -> tuple[str, tuple[Any, ...]]:
    """Return the condition on the scores of a metric, or on those of any."""
    scores, bounds = f"json_each(r.scores) j where {_NUMBER} between ? and ?", score_bounds(filters)
    if not filters.metric:
        return f"exists (select 1 from {scores})", bounds  # noqa: S608  texts of ours
    named = f"{scores} and json_extract(j.value, '$.name') = ?"
    return f"exists (select 1 from {named})", (*bounds, sql_text(filters.metric))  # noqa: S608  texts of ours


def _metadata_condition(filters: ResultFilter) -> tuple[str, tuple[Any, ...]]:
    """Return the condition on a field of the metadata; the JSON is searched as a text first, which is fast."""
    path, value = f"$.metadata.{filters.metadata}", filters.value
    number = "when json_type(r.content, ?) in ('real', 'integer') then cast(json_extract(r.content, ?) as double precision) between ? and ?"
    key = like_pattern_in_json(filters.metadata.rpartition(".")[2])
    if value is None:
        return f"(r.content like ? escape '!' and case {number} end)", (key, path, path, *score_bounds(filters))
    written = sql_text(value)
    element, elements = _element_condition(filters, value)
    cases: list[tuple[str, tuple[Any, ...]]] = [
        ("when json_type(r.content, ?) = 'text' then json_extract(r.content, ?) = ?", (path, path, written)),
        (
            f"when json_type(r.content, ?) = 'array' then exists (select 1 from json_each(r.content, ?) t where {element})",  # noqa: S608  texts of ours
            (path, path, *elements),
        ),
        ("when json_type(r.content, ?) in ('true', 'false') then json_type(r.content, ?) = ?", (path, path, value)),
    ]
    if filters.low is not None:
        cases.append((number, (path, path, *score_bounds(filters))))
    is_plain = filters.low is None and value not in ("true", "false")
    within = like_pattern_in_json(value) if is_plain else key
    parameters = (one for _, several in cases for one in several)
    return f"(r.content like ? escape '!' and case {' '.join(text for text, _ in cases)} end)", (within, *parameters)


def _element_condition(filters: ResultFilter, value: str) -> tuple[str, tuple[Any, ...]]:
    """Return the condition on an element `t` of a list in the metadata; a truth value is no number, as outside of lists."""
    # in SQLite the value of an element that is true is 1
    text = "case when t.type in ('true', 'false') then t.type else cast(t.value as text) end = ?"
    if filters.low is None:
        return text, (sql_text(value),)
    number = "case when t.type in ('real', 'integer') then cast(t.value as double precision) between ? and ? end"
    return f"({text} or {number})", (sql_text(value), *score_bounds(filters))


def _further_conditions(filters: ResultFilter) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the conditions on times and row numbers, and those of other filters."""
    if filters.numbers is not None:
        yield "r.number in (select cast(value as bigint) from json_each(?))", (json.dumps(sorted(filters.numbers)),)
    if filters.without:
        yield "r.number not in (select cast(value as bigint) from json_each(?))", (json.dumps(sorted(filters.without)),)
    for one in filters.also:
        yield from _conditions(one)
    for one in filters.excluding:
        excluded = _together(one)
        # A condition on a missing value is null, which means that it does not hold.
        yield f"not coalesce(({excluded.conditions}), false)", excluded.parameters
    if filters.any_of:
        choices = [_together(one) for one in filters.any_of]
        either = " or ".join(f"({one.conditions})" for one in choices)
        yield f"({either})", tuple(value for one in choices for value in one.parameters)


def _together(filters: ResultFilter) -> SqlCondition:
    parts = list(_conditions(filters))
    return SqlCondition(
        conditions=" and ".join(text for text, _ in parts) or "true",
        parameters=tuple(value for _, parameters in parts for value in parameters),
    )


def score_bounds(filters: ResultFilter) -> tuple[float, float]:
    """Return the range of scores."""
    return (_LEAST if filters.low is None else filters.low), (_MOST if filters.high is None else filters.high)
