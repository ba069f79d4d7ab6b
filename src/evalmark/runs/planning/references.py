"""Reference outputs: which scorer needs one, and when a dataset's `answer` column holds it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from evalmark.core.errors import ConfigError, DataError
from evalmark.core.values.case import Case
from evalmark.inputs.datasets.fields import JUDGED_ANSWER
from evalmark.inputs.datasets.options import BadRow

from .plan import DatasetSource, NoteHandler, Plan, ScorerSpec, ignore_note

CHECKED_ROWS = 1_000
"""Rows of each dataset that are read and checked before the first trial."""
EMPTY = Case(id="")
_FULL = replace(EMPTY, expected="x")


def with_references(plan: Plan) -> Plan:
    """Read `answer` as the reference, where a target is called and the rows have no other reference.

    Else the answers that rows bring along have no use once a target is asked, and that is said.
    """
    if plan.is_answered or plan.kept is not None:
        return plan
    compares = any(map(_may_compare, plan.scorers))
    return replace(plan, sources=tuple(_read_with_target(one, plan.target_name, compares) for one in plan.sources))


def _may_compare(asked: ScorerSpec) -> bool:
    """Return whether a scorer looks at the reference, or might."""
    if getattr(asked.scorer, "needs_example_output", False) or getattr(asked.scorer, "needs_expected", False):
        return True
    with suppress(ConfigError):
        bound = asked.bound(None)
        return bound.may_compare or bool(bound.lacks(EMPTY) and not bound.lacks(_FULL))
    return False


def _read_with_target(source: DatasetSource, target: str, compares: bool) -> DatasetSource:
    def read(note: NoteHandler) -> Iterator[Case | BadRow]:
        first = _first(source)
        if not any(case.given is not None for case in first):
            return source.read(note)
        if compares and source.read_references is not None and not any(case.liked or case.disliked for case in first):
            rows = source.read_references
            if any(isinstance(row, Case) and row.references for row in islice(rows(ignore_note), CHECKED_ROWS)):
                note(
                    f"{source.info.name}: `answer` is read as the expected answer, since {target} is asked and no other "
                    "column holds one."
                )
                return rows(note)
        note(f"{source.info.name}: the answers in the rows are not judged, since {target} is asked for new ones.")
        return source.read(lambda said: None if said.startswith(JUDGED_ANSWER) else note(said))

    return replace(source, read=read, read_references=None)


def _first(source: DatasetSource) -> Sequence[Case]:
    """Return the first cases; none where the file cannot be read, which the check before the run reports."""
    with suppress(DataError):
        return [row for row in islice(source.read(ignore_note), CHECKED_ROWS) if isinstance(row, Case)]
    return ()
