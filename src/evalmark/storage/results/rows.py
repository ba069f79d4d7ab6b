"""Converts results and headers of runs to rows of the store and back."""

import json
import zlib
from dataclasses import replace
from typing import Any, NamedTuple

from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import finite_number
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Score, Trial
from evalmark.inputs.secrets.masks import mask_secrets_in_data
from evalmark.storage.database.field_specs import CASE, OUTPUT, RUN, SCORE, output_fields, read_mode
from evalmark.storage.database.fields import (
    dump_fields,
    from_sql,
    load_fields,
    read_int,
    read_list,
    read_object,
    read_text,
    sql_text,
    to_json,
)


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


def encode_result(result: Result) -> ResultRow:
    """Encode a result, whatever a target or a scorer has put into it."""
    trial, case = result.trial, result.trial.case
    content = dump_fields(case, CASE)
    del content["id"]
    row = ResultRow(
        dataset=sql_text(trial.dataset),
        position=trial.position,
        repeat=trial.repeat,
        target=sql_text(trial.target),
        case_id=sql_text(case.id),
        fingerprint=case.fingerprint,
        verdict=result.verdict,
        seconds=finite_number(result.output.seconds),
        place=sql_text(case.place),
        scores=to_json([dump_fields(score, SCORE) for score in result.scores]),
        output=to_json(output_fields(result.output)),
        content=to_json(content),
        mode=trial.mode,
    )
    return ResultRow(*row[:-2], _checksum(row), row.mode)


def decode_result(row: ResultRow) -> Result:
    """Decode a result.

    Raises:
        ValueError: the row does not hold what `encode_result` writes.
    """
    case = _case(json.loads(row.content), from_sql(row.case_id), from_sql(row.place))
    trial = Trial(
        case=case,
        dataset=from_sql(row.dataset),
        target=from_sql(row.target),
        position=read_int(row.position),
        repeat=read_int(row.repeat),
        mode=read_mode(row.mode),
    )
    scores = tuple(load_fields(Score, SCORE, item) for item in read_list(json.loads(row.scores)))
    output = load_fields(Output, OUTPUT, json.loads(row.output))
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


def encode_run(run: Run) -> str:
    """Encode the header of a run as JSON, without secrets and without results."""
    return to_json(mask_secrets_in_data(dump_fields(run, RUN)))


def decode_run(text: str) -> Run:
    """Decode the header of a run, without results.

    Raises:
        ValueError: the text is not what `encode_run` writes.
    """
    run: Run = load_fields(Run, RUN, json.loads(text))
    return run


PackedRun = tuple[str, list[tuple[Any, ...]]]
"""A run as plain data, to be sent to another process."""


def pack_run(run: Run) -> PackedRun:
    """Convert the header and the results of a run to plain data."""
    return encode_run(run), [tuple(encode_result(result)) for result in run.results]


def unpack_run(data: PackedRun) -> Run:
    """Convert the data of `pack_run` to a run, with its results in the same order.

    Raises:
        ValueError: the data is not what `pack_run` returns.
    """
    header, rows = data
    return replace(decode_run(header), results=tuple(decode_result(ResultRow(*row)) for row in rows))
