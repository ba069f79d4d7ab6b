"""What may be done with tests that are there: longer inputs, and answers that others can be held against."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.call import Reply, Request
from evalmark.prompts.specs.filling import UnfitRowError, values_of
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.templates.rendering import render
from evalmark.scoring.binding.wording import text_of
from evalmark.scoring.judges.faults import describe_reply_value
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.template import one_line

from .asking import Asking, Sheet, Wrong, prompt_shown, shown
from .drafting import read_inputs, side_by_side
from .keeping import Row
from .rows import INPUTS, Columns, columns_of, inputs_in, inputs_text, is_answered, scenario_of
from .stages import EXPANSION, GROUNDTRUTH, VALIDITY, Stage
from .statements import TEXT
from .variables import inputs_schema, open_inputs

ANSWERS = 2
"""How often an answer is asked for before a test goes without."""


def to_expand(spec: PromptSpec, rows: Sequence[Row], times: int) -> list[Row]:
    """The rows that were generated and have been made longer less often than is wanted."""
    names = columns_of(spec)
    return [row for row in rows if names.get(row, "generation") and (names.get(row, "expanded") or 0) < times]


async def expanded(asking: Asking, spec: PromptSpec, rows: Sequence[Row], times: int) -> list[Row]:
    """The rows with longer inputs; what was said of the shorter ones is not said of these."""
    wanted = to_expand(spec, rows, times)
    longer = await side_by_side([_longer(asking, spec, row, times) for row in wanted])
    by_row = {id(row): one for row, one in zip(wanted, longer, strict=True)}
    return [by_row.get(id(row), row) for row in rows]


async def _longer(asking: Asking, spec: PromptSpec, row: Row, times: int) -> Row:
    names = columns_of(spec)
    while (names.get(row, "expanded") or 0) < times:
        row = await _once_longer(asking, spec, row, names)
    return row


async def _once_longer(asking: Asking, spec: PromptSpec, row: Row, names: Columns) -> Row:
    scenario = scenario_of(spec, row)
    inputs = names.get(row, INPUTS)
    sheet = Sheet(
        words="expansion",
        key="inputs",
        schema=object_schema({"inputs": inputs_schema(open_inputs(spec.prompt, scenario)), "expected": TEXT}),
        material={
            **prompt_shown(spec, "testExpansion"),
            **shown(
                input_spec="\n".join(spec.input_spec), rule=str(names.get(row, "rule") or ""), input=inputs_text(inputs)
            ),
        },
    )

    def read(found: Mapping[str, Any]) -> Row | Wrong:
        longer = read_inputs(found["inputs"], spec, scenario)
        if isinstance(longer, Wrong):
            return longer
        expected = found.get("expected")
        guess = {"expectedoutput": one_line(expected)} if isinstance(expected, str) and expected.strip() else {}
        old = {"expectedoutput", names("groundtruth"), names("invalid_because")}
        plain = {key: value for key, value in row.items() if key not in old}
        number = (names.get(row, "expanded") or 0) + 1
        first = row.get(names("testinputOriginal"), inputs)
        marks = {names("testinputOriginal"): first, names("expanded"): number, names("valid"): None}
        return {**plain, names(INPUTS): longer, **(guess if "expectedoutput" not in names.taken else {}), **marks}

    return await asking.ask(EXPANSION, sheet, read)


def without_truth(spec: PromptSpec, rows: Sequence[Row]) -> list[Row]:
    """The rows for which no ground truth was looked for yet."""
    return [row for row in rows if not is_answered(spec, row) and inputs_in(spec, row) is not None]


async def grounded_truths(asking: Asking, spec: PromptSpec, rows: Sequence[Row]) -> list[Row]:
    """The rows with the answer of a model as ground truth, where another one finds it good enough for that."""
    wanted = without_truth(spec, rows)
    answered = await side_by_side([_with_truth(asking, spec, row) for row in wanted])
    by_row = {id(row): one for row, one in zip(wanted, answered, strict=True)}
    return [by_row.get(id(row), row) for row in rows]


async def _with_truth(asking: Asking, spec: PromptSpec, row: Row) -> Row:
    names = columns_of(spec)
    model = {names("groundtruthmodel"): asking.models[GROUNDTRUTH.name].name}
    try:
        request = _request(spec, row)
    except UnfitRowError:  # a person may have written it; reading the file says what is wrong with it
        return row
    for more in range(ANSWERS):
        answer = text_of(_said(await asking.send(GROUNDTRUTH, request, more)))
        if answer.strip() and await _is_good(asking, spec, request, answer):
            return {**row, names("groundtruth"): answer, **model}
    return {**row, **model}


def _request(spec: PromptSpec, row: Row) -> Request:
    """What a model under test would be asked.

    Raises:
        UnfitRowError: the prompt cannot be filled with what the row says.
    """
    values = values_of(spec.prompt, inputs_in(spec, row), {}, scenario_of(spec, row).parameters)
    return Request(
        messages=tuple(render(spec.prompt, values)), schema=spec.prompt.schema, settings=spec.prompt.settings
    )


def _said(reply: Reply) -> str:
    return reply.text if reply.status == "ok" else ""


async def _is_good(asking: Asking, spec: PromptSpec, request: Request, answer: str) -> bool:
    asked = "\n\n".join(f"{turn.role}:\n{text_of(turn.content)}" for turn in request.messages)
    sheet = Sheet(
        words="groundtruth",
        key="good",
        schema=object_schema({"reason": TEXT, "good": {"type": "boolean"}}),
        material=shown(prompt=asked, rules="\n".join(spec.rules), output=answer),
    )

    def read(found: Mapping[str, Any]) -> bool | Wrong:
        good = found["good"]
        return good if isinstance(good, bool) else Wrong(f"`good` is {describe_reply_value(good)}, not true or false")

    return await asking.ask(VALIDITY, sheet, read)


def undone(spec: PromptSpec, stage: Stage, rows: Sequence[Row]) -> list[Row]:
    """The tests without what a stage added to them; an input that was made longer goes back to what it was."""
    return [_undone(columns_of(spec), stage, row) for row in rows]


def _undone(names: Columns, stage: Stage, row: Row) -> Row:
    first = names("testinputOriginal")
    if stage is EXPANSION and first in row:
        kept = {key: value for key, value in row.items() if key not in (first, names("expanded"))}
        return {**kept, names(INPUTS): row[first], names("valid"): None}
    gone = {VALIDITY: ("valid", "invalid_because"), GROUNDTRUTH: ("groundtruth", "groundtruthmodel")}.get(stage, ())
    if stage is GROUNDTRUTH and names.get(row, "groundtruthmodel") is None:  # a person has written it
        return row
    return {key: value for key, value in row.items() if key not in map(names, gone)}
