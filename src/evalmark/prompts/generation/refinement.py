"""Refines existing tests: makes inputs longer and adds ground truths."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.call import Request
from evalmark.prompts.specs.row_values import InvalidRowError, input_values
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.templates.rendering import render
from evalmark.scoring.binding.text import text_of
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.replies import ReplyFault, describe_reply_value
from evalmark.scoring.judges.template import one_line

from .drafts import gather_all, parse_inputs
from .folder_files import RowData, with_replaced
from .rows import INPUTS, FieldNames, field_names, inputs_in, inputs_text, is_answered, scenario_of
from .stage_calls import StageModels, StageQuestion, prompt_slots, untrusted_slots
from .stages import EXPANSION, GROUNDTRUTH, VALIDITY, Stage
from .statements import TEXT
from .variables import inputs_schema, open_inputs

MAX_ANSWERS = 2
"""How often a ground truth is requested before the test is left without one."""


def rows_to_expand(spec: PromptSpec, rows: Sequence[RowData], times: int) -> list[RowData]:
    """Return the generated rows that were made longer fewer times than requested."""
    names = field_names(spec)
    return [row for row in rows if names.get(row, "generation") and (names.get(row, "expanded") or 0) < times]


async def expand_rows(models: StageModels, spec: PromptSpec, rows: Sequence[RowData], times: int) -> list[RowData]:
    """Return the rows with longer inputs; marks of the shorter inputs are removed."""
    incomplete = rows_to_expand(spec, rows, times)
    longer = await gather_all([_longer(models, spec, row, times) for row in incomplete])
    return with_replaced(rows, incomplete, longer)


async def _longer(models: StageModels, spec: PromptSpec, row: RowData, times: int) -> RowData:
    names = field_names(spec)
    while (names.get(row, "expanded") or 0) < times:
        row = await _once_longer(models, spec, row, names)
    return row


async def _once_longer(models: StageModels, spec: PromptSpec, row: RowData, names: FieldNames) -> RowData:
    scenario = scenario_of(spec, row)
    inputs = names.get(row, INPUTS)
    question = StageQuestion(
        texts="expansion",
        key="inputs",
        schema=object_schema({"inputs": inputs_schema(open_inputs(spec.prompt, scenario)), "expected": TEXT}),
        material={
            **prompt_slots(spec, "testExpansion"),
            **untrusted_slots(
                input_spec="\n".join(spec.input_spec), rule=str(names.get(row, "rule") or ""), input=inputs_text(inputs)
            ),
        },
    )

    def read(found: Mapping[str, Any]) -> RowData | ReplyFault:
        longer = parse_inputs(found["inputs"], spec, scenario)
        if isinstance(longer, ReplyFault):
            return longer
        expected = found.get("expected")
        guess = {"expectedoutput": one_line(expected)} if isinstance(expected, str) and expected.strip() else {}
        old = {"expectedoutput", names("groundtruth"), names("invalid_because")}
        plain = {key: value for key, value in row.items() if key not in old}
        number = (names.get(row, "expanded") or 0) + 1
        first = row.get(names("testinputOriginal"), inputs)
        marks = {names("testinputOriginal"): first, names("expanded"): number, names("valid"): None}
        return {**plain, names(INPUTS): longer, **(guess if "expectedoutput" not in names.taken else {}), **marks}

    return await models.ask(EXPANSION, question, read)


def rows_without_ground_truth(spec: PromptSpec, rows: Sequence[RowData]) -> list[RowData]:
    """Return the rows for which no ground truth was requested yet."""
    return [row for row in rows if not is_answered(spec, row) and inputs_in(spec, row) is not None]


async def add_ground_truths(models: StageModels, spec: PromptSpec, rows: Sequence[RowData]) -> list[RowData]:
    """Return the rows with a model's output as ground truth, if another model accepts it."""
    incomplete = rows_without_ground_truth(spec, rows)
    answered = await gather_all([_with_truth(models, spec, row) for row in incomplete])
    return with_replaced(rows, incomplete, answered)


async def _with_truth(models: StageModels, spec: PromptSpec, row: RowData) -> RowData:
    names = field_names(spec)
    model = {names("groundtruthmodel"): models.models[GROUNDTRUTH.name].name}
    try:
        request = _request(spec, row)
    except InvalidRowError:  # a person may have written it; its fault is reported when the file is read
        return row
    for attempt in range(MAX_ANSWERS):
        reply = await models.send(GROUNDTRUTH, request, attempt)
        answer = reply.text if reply.status == "ok" else ""
        if answer.strip() and await _is_good(models, spec, request, answer):
            return {**row, names("groundtruth"): answer, **model}
    return {**row, **model}


def _request(spec: PromptSpec, row: RowData) -> Request:
    """Return the request that a model under test would get.

    Raises:
        InvalidRowError: The prompt cannot be filled with the row's values.
    """
    values = input_values(spec.prompt, inputs_in(spec, row), {}, scenario_of(spec, row).parameters)
    return Request(
        messages=tuple(render(spec.prompt, values)), schema=spec.prompt.schema, settings=spec.prompt.settings
    )


async def _is_good(models: StageModels, spec: PromptSpec, request: Request, answer: str) -> bool:
    request_text = "\n\n".join(f"{turn.role}:\n{text_of(turn.content)}" for turn in request.messages)
    question = StageQuestion(
        texts="groundtruth",
        key="good",
        schema=object_schema({"reason": TEXT, "good": {"type": "boolean"}}),
        material=untrusted_slots(prompt=request_text, rules="\n".join(spec.rules), output=answer),
    )

    def read(found: Mapping[str, Any]) -> bool | ReplyFault:
        good = found["good"]
        return (
            good if isinstance(good, bool) else ReplyFault(f"`good` is {describe_reply_value(good)}, not true or false")
        )

    return await models.ask(VALIDITY, question, read)


def undo_stage(spec: PromptSpec, stage: Stage, rows: Sequence[RowData]) -> list[RowData]:
    """Return the tests without what a stage added; an expanded input is restored."""
    return [_undone(field_names(spec), stage, row) for row in rows]


def _undone(names: FieldNames, stage: Stage, row: RowData) -> RowData:
    first = names("testinputOriginal")
    if stage is EXPANSION and first in row:
        rest = {key: value for key, value in row.items() if key not in (first, names("expanded"))}
        return {**rest, names(INPUTS): row[first], names("valid"): None}
    gone = {VALIDITY: ("valid", "invalid_because"), GROUNDTRUTH: ("groundtruth", "groundtruthmodel")}.get(stage, ())
    if stage is GROUNDTRUTH and names.get(row, "groundtruthmodel") is None:  # a person has written it
        return row
    return {key: value for key, value in row.items() if key not in map(names, gone)}
