"""Stores results as rows of the database, without secrets, and reads them back."""

import zlib
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.errors import StoreError
from evalmark.core.text import count
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint, finite_number
from evalmark.core.values.score import Result, Score, Trial
from evalmark.inputs.secrets.fields import MASK
from evalmark.inputs.secrets.masks import map_texts, mask_secrets, mask_secrets_in_data
from evalmark.storage.database.connection import Connection, StoreLocation
from evalmark.storage.database.errors import store_errors
from evalmark.storage.database.field_specs import CASE, OUTPUT, SCORE, output_fields, read_mode
from evalmark.storage.database.fields import (
    dump_fields,
    from_json,
    from_sql,
    load_fields,
    may_hold_secrets,
    read_int,
    read_list,
    read_object,
    read_text,
    sql_text,
    to_row_json,
)
from evalmark.storage.database.open import open_read_only


class ResultRow(NamedTuple):
    """The columns of a result; large texts come last."""

    dataset: str | bytes
    position: int
    repeat: int
    target: str | bytes
    case_id: str | bytes
    fingerprint: str
    verdict: str
    seconds: float | None
    place: str | bytes
    scores: str
    output: str
    content: str
    """The fields of the case, without its id and place."""
    checksum: int = 0
    """Checksum of all columns but position and place, which change when a case moves."""
    mode: str = "single"


class EncodedResult(NamedTuple):
    """A result as it is written to the database."""

    row: ResultRow
    values: tuple[tuple[str | bytes, float], ...]
    """The metric and the number of each score that has one: its value from 0 to 1, else its number in the unit of the metric."""


def encode_result(result: Result) -> EncodedResult:
    """Encode a result with any content that a target or a scorer gave it."""
    trial, case = result.trial, result.trial.case
    content = dump_fields(case, CASE)
    del content["id"]
    row = ResultRow(
        sql_text(trial.dataset),
        trial.position,
        trial.repeat,
        sql_text(trial.target),
        sql_text(case.id),
        case.fingerprint,
        result.verdict,
        finite_number(result.output.seconds),
        sql_text(case.place),
        to_row_json([dump_fields(score, SCORE) for score in result.scores]),
        to_row_json(output_fields(result.output)),
        to_row_json(content),
        mode=trial.mode,
    )
    values = [(sql_text(score.name), _number(score)) for score in result.scores]
    return EncodedResult(
        row=row._replace(checksum=_checksum(row)),
        values=tuple([(name, value) for name, value in values if value is not None]),
    )


def _number(score: Score) -> float | None:
    value = finite_number(score.value)
    return finite_number(score.raw) if value is None and not isinstance(score.raw, bool) else value


def decode_result(row: ResultRow) -> Result:
    """Decode a result.

    Raises:
        ValueError: the row does not hold what `encode_result` writes.
    """
    case = _case(from_json(row.content), from_sql(row.case_id), from_sql(row.place))
    trial = Trial(
        case=case,
        dataset=from_sql(row.dataset),
        target=from_sql(row.target),
        position=read_int(row.position),
        repeat=read_int(row.repeat),
        mode=read_mode(row.mode),
    )
    scores = tuple(load_fields(Score, SCORE, item) for item in read_list(from_json(row.scores)))
    output = load_fields(Output, OUTPUT, from_json(row.output))
    if row.checksum != _checksum(row):
        raise ValueError("its checksum is wrong")
    return Result(trial=trial, output=output, scores=scores)


def _checksum(row: ResultRow) -> int:
    named: tuple[Any, ...] = (
        *(row.dataset, row.repeat, row.target, row.case_id, row.fingerprint, row.verdict, row.seconds),
        *(() if row.mode == "single" else (row.mode,)),  # unchanged from the time before modes existed
    )
    total = zlib.crc32(repr(named).encode(errors="surrogatepass"))
    for text in (row.scores, row.output, row.content):
        total = zlib.crc32(read_text(text).encode(), total)  # a damaged text may be bytes
    return total


def _case(content: Any, case_id: str, place: str) -> Case:
    def made(**fields: Any) -> Case:
        return Case(**{**fields, "id": case_id, "place": place})

    case: Case = load_fields(made, CASE, read_object(content))
    return case


class RunSink:
    """Stores the results of one run."""

    def __init__(
        self,
        save: Callable[[Connection, Sequence[EncodedResult]], None],
        write: Callable[[Callable[[Connection], None], str], Awaitable[None]],
    ) -> None:
        """`write` runs a function in the writer thread."""
        self._save, self._write = save, write

    async def write(self, results: Sequence[Result]) -> None:
        """Save results. They are durable when this returns.

        Raises:
            StoreFullError: the disk is full; none of these results is saved, all earlier ones are.
            StoreBusyError: another process has taken the run over.
            StoreError: the store cannot be written.
        """
        batch = tuple(results)
        await self._write(lambda db: self._save(db, [encode_result(result) for result in batch]), "the results")


# Masking.


def masked_result(result: Result) -> Result:
    """Return the result without secrets, or the result itself if it holds none.

    A masked output is marked, because no scorer can score it again. The case keeps its original fingerprint.
    """
    case, output, scores = result.trial.case, result.output, result.scores
    if not may_hold_secrets(case, output, scores):
        return result
    fields = {
        "case": dump_fields(case, CASE),
        "place": case.place,
        "output": output_fields(output),
        "scores": [dump_fields(score, SCORE) for score in scores],
    }
    masked_fields = mask_secrets_in_data(fields)
    masked_fields = {
        **masked_fields,
        "output": _mask_errors(masked_fields["output"]),
        "scores": [*map(_mask_errors, masked_fields["scores"])],
    }
    changed = (
        masked_fields["output"] != fields["output"] or masked_fields["case"] != fields["case"] or _is_marked(fields)
    )
    if masked_fields == fields and not changed:
        return result
    masked_output: Output = load_fields(Output, OUTPUT, masked_fields["output"])
    return Result(
        trial=replace(result.trial, case=_masked_case(case, fields, masked_fields)),
        output=replace(masked_output, masked=output.masked or changed),
        scores=tuple(load_fields(Score, SCORE, score) for score in masked_fields["scores"]),
    )


def _mask_errors(data: dict[str, Any]) -> dict[str, Any]:
    """Mask everything in the text of an exception that may be a secret: no scorer reads such texts."""
    name, details = ("reason", "detail") if data.get("status") == "error" else ("error", "metadata")
    masked_fields = {**data, **({name: mask_secrets(data[name])} if name in data else {})}
    if "traceback" in masked_fields.get(details, ()):
        masked_fields[details] = {
            **masked_fields[details],
            "traceback": map_texts(masked_fields[details]["traceback"], mask_secrets),
        }
    return masked_fields


def masked_id(text: str) -> str:
    """Return the id of a case as it is stored. Two ids that differ only in a secret stay different.

    >>> masked_id("case-1"), masked_id("https://ann:pa55word@host/")[:-6]
    ('case-1', 'https://ann:(not kept)@host/-')
    """
    found = mask_secrets(text, careful=True)
    return text if found == text else f"{found}-{fingerprint('id', text)[:6]}"


def masked_results_note(results: int) -> tuple[str, ...]:
    """Return the note of a run with this many results that contain a secret."""
    whom = "it" if results == 1 else "them"
    masked_output = (
        f"{count(results, 'result')} {'contains' if results == 1 else 'contain'} a secret, which is masked as {MASK!r}; "
        f"`evalmark rescore` leaves {whom} unscored."
    )
    return (masked_output,) if results else ()


def _masked_case(case: Case, fields: dict[str, Any], masked_fields: dict[str, Any]) -> Case:
    if masked_fields["case"] == fields["case"] and masked_fields["place"] == fields["place"]:
        return case
    found: Case = load_fields(Case, CASE, {**masked_fields["case"], "id": masked_id(case.id)})
    return replace(found, place=masked_fields["place"], original=case.fingerprint)


def _is_marked(fields: dict[str, Any]) -> bool:
    """Return whether a secret was masked in the output before the target received it."""
    return MASK in str(fields["output"].get("value", "")) and MASK not in str(fields["case"])


# Reading.

_ORDER = ("source", "dataset", "position", "repeat", "target", "mode", "number")
_FIELDS = ", ".join(ResultRow._fields)
_RESULT = f"select {_FIELDS} from result where number = ?"  # noqa: S608  columns, not data
_PAGE = f"""
    select {", ".join(_ORDER)}, {_FIELDS} from result
    where run = ? and pass > 0 and ({", ".join(_ORDER)}) > ({", ".join("?" * len(_ORDER))})
    order by {", ".join(_ORDER)} limit ?
"""  # noqa: S608  columns, not data
_FIRST_PAGE, _LARGEST_PAGE = 8, 500
"""Results in one query."""
_PAGE_TEXT = 1 << 20
"""The approximate number of characters in one page."""


@dataclass(frozen=True, slots=True)
class StoredResults(Collection[Result]):
    """The results of a run, ordered by dataset, position and repeat; one page at a time is in memory.

    Each iteration opens its own connection, so it works in any thread and process, and after the store was
    closed.
    """

    path: StoreLocation
    number: int

    def __iter__(self) -> Iterator[Result]:
        with store_errors(self.path), closing(open_read_only(self.path)) as db:
            for row in _rows(db, self.number):
                yield _decoded(db, self.path, self.number, row)

    def __len__(self) -> int:
        with store_errors(self.path), closing(open_read_only(self.path)) as db:
            return int(db.execute("select count(*) from result where run = ? and pass > 0", (self.number,)).get)

    def __contains__(self, item: object) -> bool:
        return any(item == result for result in self)


def stored_result(db: Connection, path: StoreLocation, run: int, key: int) -> Result | None:
    """Return the result with a row number; None if the row was deleted.

    Raises:
        StoreError: it is damaged.
    """
    found = db.execute(_RESULT, (key,)).fetchone()
    return None if found is None else _decoded(db, path, run, ResultRow._make(found))


def _decoded(db: Connection, path: StoreLocation, run: int, row: ResultRow) -> Result:
    try:
        return decode_result(row)
    except (ValueError, TypeError) as error:
        name = db.execute("select id from run where number = ?", (run,)).get
        raise StoreError(
            f"{path}: run {name}: the stored result of case {row.case_id!r} of {row.dataset!r} is damaged "
            f"({error}). {_advice(path)}"
        ) from error


def _advice(path: StoreLocation) -> str:
    if isinstance(path, Path):
        return f"Save all others with evalmark.store.salvage({str(path)!r}, 'NEW_FILE')."
    return "Take it from a backup of the server."


def _rows(db: Connection, number: int) -> Iterator[ResultRow]:
    """Yield the results of a run in order, a page at a time, without a read lock between pages."""
    last: tuple[Any, ...] = (-1, "", 0, 0, "", "", 0)
    size = _FIRST_PAGE
    while found := db.execute(_PAGE, (number, *last, size)).fetchall():
        page = [ResultRow._make(one[len(_ORDER) :]) for one in found]
        yield from page
        last = found[-1][: len(_ORDER)]
        text = sum(len(row.content) + len(row.output) + len(row.scores) for row in page)
        size = max(1, min(_LARGEST_PAGE, size * _PAGE_TEXT // text))
