"""Asks a model whether the prompt supports a rule, and whether a test's input is valid."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalmark.prompts.specs.spec import PromptSpec
from evalmark.scoring.judges.delimiters import untrusted_text
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.replies import ReplyFault, describe_reply_value
from evalmark.scoring.judges.verdict import shorten_reason

from .drafts import gather_all
from .folder_files import RowData, with_replaced
from .generation_record import RuleGroundedness
from .rows import FieldNames, field_names, inputs_in, whole_text
from .stage_calls import StageModels, StageQuestion, prompt_slots, untrusted_slots
from .stages import GROUNDEDNESS, VALIDITY, Stage
from .statements import TEXT

MAX_TESTS_PER_CALL = 10
"""Tests judged in one call."""
MAX_RULES_PER_CALL = 25
ROW = object_schema({"number": {"type": "integer"}, "reason": TEXT, "holds": {"type": "boolean"}})
SCHEMA = object_schema({"verdicts": {"type": "array", "items": ROW}})


class ValidityVerdict(NamedTuple):
    """The verdict on one of several items."""

    holds: bool
    reason: str


def parse_verdicts(raw: Any, amount: int) -> list[ValidityVerdict] | ReplyFault:
    """Return one verdict for each number from 1 to `amount`, in order.

    >>> parse_verdicts([{"number": 1, "reason": "It says so.", "holds": True}], 1)
    [ValidityVerdict(holds=True, reason='It says so.')]
    """
    if not isinstance(raw, list):
        return ReplyFault(f"`verdicts` is {describe_reply_value(raw)}, not a list")
    found: dict[int, ValidityVerdict] = {}
    for place, row in enumerate(raw, 1):
        if not isinstance(row, Mapping):
            return ReplyFault(f"verdict {place} is {describe_reply_value(row)}, not an object")
        number, holds, reason = row.get("number"), row.get("holds"), row.get("reason")
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= amount:
            return ReplyFault(
                f"`number` of verdict {place} is {describe_reply_value(number)}, and there are 1 to {amount}"
            )
        if not isinstance(holds, bool):
            return ReplyFault(f"`holds` of verdict {place} is {describe_reply_value(holds)}, not true or false")
        if number in found:
            return ReplyFault(f"there are two verdicts on number {number}")
        found[number] = ValidityVerdict(holds, shorten_reason(reason) if isinstance(reason, str) else "")
    if missing := [number for number in range(1, amount + 1) if number not in found]:
        return ReplyFault(f"there is no verdict on number {missing[0]}")
    return [found[number] for number in range(1, amount + 1)]


async def _ask_verdicts(
    models: StageModels, stage: Stage, material: Mapping[str, Any], amount: int
) -> list[ValidityVerdict]:
    question = StageQuestion(texts=stage.name, key="verdicts", schema=SCHEMA, material=material)

    def read(found: Mapping[str, Any]) -> list[ValidityVerdict] | ReplyFault:
        return parse_verdicts(found["verdicts"], amount)

    return await models.ask(stage, question, read)


async def check_groundedness(
    models: StageModels, spec: PromptSpec, rules: Sequence[str]
) -> dict[str, RuleGroundedness]:
    """Return whether the prompt supports each of these rules."""
    parts = [rules[at : at + MAX_RULES_PER_CALL] for at in range(0, len(rules), MAX_RULES_PER_CALL)]
    verdicts = await gather_all([_grounded(models, spec, part) for part in parts])
    raw = [verdict for part in verdicts for verdict in part]
    return {rule: RuleGroundedness(one.holds, one.reason) for rule, one in zip(rules, raw, strict=True)}


async def _grounded(models: StageModels, spec: PromptSpec, rules: Sequence[str]) -> list[ValidityVerdict]:
    listed = "\n".join(f"{number}. {rule}" for number, rule in enumerate(rules, 1))
    return await _ask_verdicts(
        models, GROUNDEDNESS, {**prompt_slots(spec), **untrusted_slots(rules=listed)}, len(rules)
    )


def rows_without_validity(spec: PromptSpec, rows: Sequence[RowData]) -> list[RowData]:
    """Return the rows that were not checked for validity; empty without an input specification."""
    names = field_names(spec)
    return [r for r in rows if spec.input_spec and names.get(r, "valid") is None and inputs_in(spec, r) is not None]


async def check_validity(models: StageModels, spec: PromptSpec, rows: Sequence[RowData]) -> list[RowData]:
    """Return the rows with `valid` filled in; unchanged without an input specification."""
    names = field_names(spec)
    unchecked = rows_without_validity(spec, rows)
    parts = [unchecked[at : at + MAX_TESTS_PER_CALL] for at in range(0, len(unchecked), MAX_TESTS_PER_CALL)]
    verdicts = await gather_all([_valid(models, spec, part) for part in parts])
    raw = [verdict for part in verdicts for verdict in part]
    marked = [_marked(row, verdict, names) for row, verdict in zip(unchecked, raw, strict=True)]
    return with_replaced(rows, unchecked, marked)


async def _valid(models: StageModels, spec: PromptSpec, rows: Sequence[RowData]) -> list[ValidityVerdict]:
    pieces = [untrusted_text(f"input {n}", whole_text(spec, row)) for n, row in enumerate(rows, 1)]
    material = {**untrusted_slots(input_spec="\n".join(spec.input_spec)), "tests": pieces}
    return await _ask_verdicts(models, VALIDITY, material, len(rows))


def _marked(row: RowData, verdict: ValidityVerdict, names: FieldNames) -> RowData:
    why = names("invalid_because")
    plain = {key: value for key, value in row.items() if key != why}
    reason = {} if verdict.holds else {why: verdict.reason}
    return {**plain, names("valid"): verdict.holds, **reason}
