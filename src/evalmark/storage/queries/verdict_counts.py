"""Counts the verdicts of runs, for a list of runs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.core.values.score import Verdict
from evalmark.storage.database.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCounts:
    """The number of trials with each verdict."""

    verdicts: Mapping[Verdict, int]
    counted: Mapping[Verdict, int] | None = None
    """Without prompt tests that do not count for the headline figure; None if there are too many to read."""
    by_case: tuple[tuple[int, int], ...] = ()
    """If cases have several trials, or rows are equal in everything but the id: how often each case, with all rows that
    equal it, passed, and how often it passed or failed.
    """


def count_verdicts(db: Connection, run_id: str, datasets: int) -> VerdictCounts:
    """Count the verdicts of a run with this many datasets; empty if the run does not exist."""
    number: int = db.execute("select number from run where id = ?", (run_id,)).get or 0
    part = "r.run = ? and r.pass > 0"  # indexes hold all counted columns
    verdicts = _verdicts(db, part, number)
    first = f"select {_IS_RULE_TEST}, target, mode from result r where {part} and source = ? limit 1"  # noqa: S608
    # All tests of a prompt are marked, so one of each dataset tells; results of unknown datasets come last.
    found: list[Any] = [db.execute(first, (number, source)).fetchone() for source in range(datasets + 1)]
    firsts = [row for row in found if row is not None]
    are_of_rules = any(of_a_rule for of_a_rule, *_ in firsts)
    if not firsts or (are_of_rules and sum(verdicts.values()) > _MANY_TESTS):
        return VerdictCounts(verdicts=verdicts, counted=None if firsts else verdicts)
    counted = f"{part} and {COUNTED_SQL}" if are_of_rules else part
    # only the index that begins with the source holds all columns of this query
    other = "source >= 0 and (repeat > 0 or target <> ? or mode <> ?)"
    several = f"select 1 from result r where {part} and {other} limit 1"  # noqa: S608  texts of ours
    # the content of a case is all but its id
    equal = f"select 1 from result r where {part} and repeat = 0 and target = ? and mode = ? group by {_CONTENT} having count(*) > 1 limit 1"  # noqa: S608  texts of ours
    is_read = sum(verdicts.values()) <= _MANY_TESTS
    has_equal = is_read and db.execute(equal, (number, *firsts[0][1:])).fetchone() is not None
    group = _CONTENT if has_equal else "source, dataset, position"
    by_case = f"""
        select count(*) filter (where verdict = 'pass'), count(*) filter (where verdict in ('pass', 'fail'))
        from result r where {counted}
        group by {group}
    """  # noqa: S608  texts of ours
    has_several = has_equal or db.execute(several, (number, *firsts[0][1:])).fetchone() is not None
    return VerdictCounts(
        verdicts=verdicts,
        counted=_verdicts(db, counted, number) if are_of_rules else verdicts,
        by_case=tuple(db.execute(by_case, (number,)).fetchall()) if has_several else (),
    )


_MANY_TESTS = 20_000
"""The largest number of prompt tests, and of cases that may be equal, that are read one by one."""
_CONTENT = """case when content in ('{}', '{"input":""}') then case_id else content end"""
"""The SQL expression that is equal for equal cases: the content, or the id of a test whose content is unknown."""
_IS_RULE_TEST = """
    (json_type(r.content, '$.metadata.rule') is not null or json_type(r.content, '$.metadata.ruleid') is not null)
"""
_NOT_COUNTED = """
    coalesce(json_type(r.content, '$.metadata.baseline'), '') = 'true'
    or coalesce(json_type(r.content, '$.metadata.valid'), '') = 'false'
    or coalesce(json_type(r.content, '$.metadata.grounded'), '') = 'false'
    or exists (select 1 from json_each(r.content, '$.tags') t where t.value = 'baseline')
"""
COUNTED_SQL = f"not ({_IS_RULE_TEST} and ({_NOT_COUNTED}))"
"""The condition that a result `r` counts for the headline figure, like `left_out` in `stats.summary.collection`; a test
compares both.
"""


def _verdicts(db: Connection, conditions: str, number: int) -> Mapping[Verdict, int]:
    sql = f"select verdict, count(*) from result r where {conditions} group by verdict"  # noqa: S608  texts of ours
    return Counter(dict(db.execute(sql, (number,))))
