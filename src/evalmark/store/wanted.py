"""Which results of a run somebody wants to see, and the SQL that finds them: conditions are parameters, never text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from evalmark.database.fields import sql_text
from evalmark.database.searching import containing, within_json
from evalmark.values import Verdict

Order = Literal["position", "case", "verdict", "seconds", "score"]

_KEYS = {
    "position": "",
    "case": "min(r.case_id)",
    "verdict": "min(case r.verdict when 'error' then 0 when 'fail' then 1 when 'unscored' then 2 when 'pass' then 3 else 4 end)",
    "seconds": "{worst}(r.seconds)",
    "score": "{worst}((select c.value from temp.cell c where c.result = r.number and c.metric = ?))",
}
"""What rows are sorted by; `worst` is the end at which the sorting begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
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

    @property
    def needs_scores(self) -> bool:
        """Whether single scores have to be known."""
        return self.low is not None or self.high is not None or self.order == "score"


@dataclass(frozen=True, slots=True)
class Query:
    """Text of SQL, and the parameters in it."""

    conditions: str
    given: tuple[Any, ...]
    key: str
    key_given: tuple[Any, ...]
    direction: str


def query_of(run: int, wanted: Wanted) -> Query:
    """The conditions on rows `r` of the table `result`, and what to sort them by; an empty key is the order of the run."""
    found = [("r.run = ? and r.pass > 0", (run,)), *_conditions(wanted)]
    key = _KEYS[wanted.order].format(worst="max" if wanted.descending else "min")
    return Query(
        conditions=" and ".join(text for text, _ in found),
        given=tuple(value for _, given in found for value in given),
        key=key,
        key_given=(sql_text(wanted.sorted_metric),) if wanted.order == "score" else (),
        direction="desc" if wanted.descending else "asc",
    )


def _conditions(wanted: Wanted) -> Iterator[tuple[str, tuple[Any, ...]]]:
    if wanted.verdicts:
        yield f"r.verdict in ({', '.join('?' * len(wanted.verdicts))})", wanted.verdicts
    if wanted.tag:
        is_tagged = "exists (select 1 from json_each(r.content, '$.tags') t where t.value = ?)"
        yield f"(r.content like ? escape '!' and {is_tagged})", (within_json(wanted.tag), sql_text(wanted.tag))
    if wanted.text:
        # The JSON is looked at as a text first, which is fast, and then field by field: names of fields do not count.
        held = "(r.{0} like ? escape '!' and exists (select 1 from json_tree(r.{0}) t where t.atom like ? escape '!'))"
        anywhere = " or ".join(held.format(column) for column in ("content", "output", "scores"))
        inside, bare = within_json(wanted.text), containing(wanted.text)
        yield f"(cast(r.case_id as text) like ? escape '!' or {anywhere})", (bare, *(inside, bare) * 3)
    if wanted.low is not None or wanted.high is not None:
        about = " and c.metric = ?" if wanted.metric else ""
        bounds = "c.value >= ? and c.value <= ?"
        given = (
            *((sql_text(wanted.metric),) if wanted.metric else ()),
            _or(wanted.low, -1e308),
            _or(wanted.high, 1e308),
        )
        one = f"select 1 from temp.cell c where c.result = r.number{about} and {bounds}"  # noqa: S608  texts of ours
        yield f"exists ({one})", given
    if wanted.numbers is not None:
        yield "r.number in (select value from json_each(?))", (json.dumps(sorted(wanted.numbers)),)
    if wanted.without:
        yield "r.number not in (select value from json_each(?))", (json.dumps(sorted(wanted.without)),)


def _or(bound: float | None, otherwise: float) -> float:
    return otherwise if bound is None else bound
