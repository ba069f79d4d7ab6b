"""Selects sessions, by SQL conditions whose values are always parameters."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal, get_args

from evalmark.storage.database.connection import Connection
from evalmark.storage.database.fields import like_pattern, like_pattern_in_json, sql_text

LabelState = Literal["up", "down", "disputed", "not"]
"""The majority of thumbs on an answer: up, down, as many of both, or no thumb."""
LABEL_STATES: tuple[LabelState, ...] = get_args(LabelState)
_MAX_LOOKUPS = 5_000
"""Up to this many spans of a prompt are looked up one by one; with more, some of the newest sessions match soon."""

_THUMBS = """
    select about, sum(case when liked = 'up' then 1 else 0 end) as ups, sum(case when liked = 'down' then 1 else 0 end) as downs
    from (
        select about, liked, row_number() over (partition by about, author order by created desc, number desc) as place
        from (
            select about, number, json_extract(content, '$.by') as author, json_extract(content, '$.created') as created,
                case when instr(content, '"liked":true') > 0 then 'up' when instr(content, '"liked":false') > 0 then 'down' end as liked,
                instr(content, '"score":') + instr(content, '"comment":') as others
            from label where about >= 'span:' and about < 'span;'
        ) labels where liked is not null or others = 0
    ) latest where place = 1 group by about
"""
"""`current_labels` and `majority_vote` for all recorded answers at once. A label without thumb, score and comment
withdraws the earlier one; a label with only a score or a comment leaves the thumb in force. Quotes within JSON texts
are escaped, so no comment is taken for a field.
"""
_ANSWERS = "select p.session from span p"
_LABEL_QUERIES = {
    "up": f"{_ANSWERS} join ({_THUMBS}) t on p.id = substr(t.about, 6) where p.parent = '' and t.ups > t.downs",
    "down": f"{_ANSWERS} join ({_THUMBS}) t on p.id = substr(t.about, 6) where p.parent = '' and t.ups < t.downs",
    "disputed": f"{_ANSWERS} join ({_THUMBS}) t on p.id = substr(t.about, 6) "
    "where p.parent = '' and t.ups = t.downs and t.ups > 0",
}
Range = tuple[float | None, float | None]
_SECONDS = """
    select sum(cast(json_extract(p.content, '$.seconds') as double precision)) from span p
    where p.session = s.id and p.parent = ''
"""
_COSTS = "p.content like '%\"cost\":%' and json_extract(p.content, '$.cost') is not null"
_COST = f"""
    with recursive above(id) as (
        select p.parent from span p where p.session = s.id and p.parent not in ('', p.id) and {_COSTS}
        union select p.parent from span p join above on p.id = above.id where p.parent not in ('', p.id)
    )
    select sum(cast(json_extract(p.content, '$.cost') as double precision)) from span p
    where p.session = s.id and {_COSTS} and p.id not in (select id from above)
"""  # noqa: S608  texts of ours
"""`total_spending`: where a span and its steps both have a cost, the steps count."""
_FAILED = "p.content like '%\"error\":%' and json_extract(p.content, '$.error') is not null"
"""The search in the text comes first, because it is much faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Selects sessions; every condition has to hold."""

    project: str = ""
    """Empty: any project."""
    text: str = ""
    """Occurs in an input, an output or an error; case is ignored for ASCII letters."""
    labelled: LabelState | None = None
    """Has to hold for at least one answer."""
    failed: bool = False
    """At least one answer ended in an error."""
    template: str = ""
    """The name of a prompt that a step or an answer used."""
    since: date | None = None
    """The first day, in UTC, on which it may have begun."""
    until: date | None = None
    """The last one."""
    seconds: Range = (None, None)
    """The least and the most seconds of its answers together, both included. What was not measured is in no range."""
    cost: Range = (None, None)
    """The same for what it cost in US dollars."""

    @property
    def is_all(self) -> bool:
        """Whether every session matches."""
        return self == SessionFilter()


Condition = tuple[str, tuple[Any, ...]]
"""An SQL condition on a row `s` of the table `session`, and its parameters."""


def conditions(db: Connection, filters: SessionFilter) -> Iterator[Condition]:
    """Yield the SQL conditions, in the form that is fastest for the content of the store."""
    yield from _range_conditions(filters)
    if filters.project:
        yield "s.project = ?", (sql_text(filters.project),)
    if filters.template:
        yield _template_condition(db, filters.template)
    if filters.labelled == "not":
        thumbs = f"select t.about from ({_THUMBS}) t where t.ups + t.downs > 0"  # noqa: S608  texts of ours
        yield _some_answer(f"'span:' || p.id not in ({thumbs})"), ()
    elif filters.labelled is not None:
        yield f"s.id in ({_LABEL_QUERIES[filters.labelled]})", ()
    if filters.failed:
        yield _some_answer(_FAILED), ()
    if filters.text:
        yield _text_condition(filters.text)


def _range_conditions(filters: SessionFilter) -> Iterator[Condition]:
    """Yield the conditions on the time, the seconds and the cost; days first, since they are cheap."""
    if filters.since is not None:
        yield "json_extract(s.header, '$.started') >= ?", (filters.since.isoformat(),)
    if filters.until is not None and filters.until < date.max:
        yield "json_extract(s.header, '$.started') < ?", ((filters.until + timedelta(days=1)).isoformat(),)
    for value, (low, high) in ((_SECONDS, filters.seconds), (_COST, filters.cost)):
        if low is not None:
            yield f"({value}) >= ?", (low,)
        if high is not None:
            yield f"({value}) <= ?", (high,)


def _some_answer(holds: str) -> str:
    return f"exists (select 1 from span p where p.session = s.id and p.parent = '' and {holds})"  # noqa: S608  texts of ours


def _template_condition(db: Connection, template: str) -> Condition:
    """Return the condition on the prompt: a few spans are looked up directly, many by session."""
    name = sql_text(template)
    few = "select count(*) from (select 1 from span where template = ? and template != '' limit ?) found"
    if int(db.execute(few, (name, _MAX_LOOKUPS)).get) < _MAX_LOOKUPS:
        return "s.id in (select p.session from span p where p.template = ? and p.template != '')", (name,)
    return "exists (select 1 from span p where p.session = s.id and p.template = ?)", (name,)


def _text_condition(text: str) -> Condition:
    """Return the condition on a text in the input, the output or the error, plain or as JSON."""
    inside, bare = like_pattern_in_json(text), like_pattern(text)
    fields = ("input", "output", "error")
    one = " or ".join(
        f"json_extract(p.content, '$.{field}') like ? escape '!' or json_extract(p.content, '$.{field}') like ? escape '!'"
        for field in fields
    )
    return _some_answer(f"p.content like ? escape '!' and ({one})"), (inside, *(bare, inside) * len(fields))
