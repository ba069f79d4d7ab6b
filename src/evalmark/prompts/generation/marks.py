"""What a model says of rules and tests: whether the prompt bears a rule out, and whether an input keeps to its specification."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalmark.prompts.specs.spec import PromptSpec
from evalmark.scoring.judges.delimiters import untrusted_text
from evalmark.scoring.judges.faults import describe_reply_value
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.verdict import shorten_reason

from .asking import Asking, Sheet, Wrong, prompt_shown, shown
from .drafting import side_by_side
from .keeping import Row
from .rows import Columns, columns_of, inputs_in, whole_text
from .side_data import Mark
from .stages import GROUNDEDNESS, VALIDITY, Stage
from .statements import TEXT

AT_ONCE = 10
"""Tests that are judged in one call."""
RULES_AT_ONCE = 25
ROW = object_schema({"number": {"type": "integer"}, "reason": TEXT, "holds": {"type": "boolean"}})
SCHEMA = object_schema({"verdicts": {"type": "array", "items": ROW}})


class Verdict(NamedTuple):
    """What was said of one of several."""

    holds: bool
    reason: str


def read_verdicts(said: Any, amount: int) -> list[Verdict] | Wrong:
    """One verdict for each of so many numbers, in their order.

    >>> read_verdicts([{"number": 1, "reason": "It says so.", "holds": True}], 1)
    [Verdict(holds=True, reason='It says so.')]
    """
    if not isinstance(said, list):
        return Wrong(f"`verdicts` is {describe_reply_value(said)}, not a list")
    found: dict[int, Verdict] = {}
    for place, row in enumerate(said, 1):
        if not isinstance(row, Mapping):
            return Wrong(f"verdict {place} is {describe_reply_value(row)}, not an object")
        number, holds, reason = row.get("number"), row.get("holds"), row.get("reason")
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= amount:
            return Wrong(f"`number` of verdict {place} is {describe_reply_value(number)}, and there are 1 to {amount}")
        if not isinstance(holds, bool):
            return Wrong(f"`holds` of verdict {place} is {describe_reply_value(holds)}, not true or false")
        if number in found:
            return Wrong(f"there are two verdicts on number {number}")
        found[number] = Verdict(holds, shorten_reason(reason) if isinstance(reason, str) else "")
    if missing := [number for number in range(1, amount + 1) if number not in found]:
        return Wrong(f"there is no verdict on number {missing[0]}")
    return [found[number] for number in range(1, amount + 1)]


async def _judged(asking: Asking, stage: Stage, material: Mapping[str, Any], amount: int) -> list[Verdict]:
    sheet = Sheet(words=stage.name, key="verdicts", schema=SCHEMA, material=material)

    def read(found: Mapping[str, Any]) -> list[Verdict] | Wrong:
        return read_verdicts(found["verdicts"], amount)

    return await asking.ask(stage, sheet, read)


async def grounded(asking: Asking, spec: PromptSpec, rules: Sequence[str]) -> dict[str, Mark]:
    """Whether the prompt bears out each of these rules."""
    parts = [rules[at : at + RULES_AT_ONCE] for at in range(0, len(rules), RULES_AT_ONCE)]
    verdicts = await side_by_side([_grounded(asking, spec, part) for part in parts])
    said = [verdict for part in verdicts for verdict in part]
    return {rule: Mark(one.holds, one.reason) for rule, one in zip(rules, said, strict=True)}


async def _grounded(asking: Asking, spec: PromptSpec, rules: Sequence[str]) -> list[Verdict]:
    listed = "\n".join(f"{number}. {rule}" for number, rule in enumerate(rules, 1))
    return await _judged(asking, GROUNDEDNESS, {**prompt_shown(spec), **shown(rules=listed)}, len(rules))


def unjudged(spec: PromptSpec, rows: Sequence[Row]) -> list[Row]:
    """Those of which nobody has said yet whether they are valid; none where there is no input specification."""
    names = columns_of(spec)
    return [r for r in rows if spec.input_spec and names.get(r, "valid") is None and inputs_in(spec, r) is not None]


async def validated(asking: Asking, spec: PromptSpec, rows: Sequence[Row]) -> list[Row]:
    """The rows, with `valid` where it was not known; as they are where there is no input specification."""
    names = columns_of(spec)
    wanted = unjudged(spec, rows)
    parts = [wanted[at : at + AT_ONCE] for at in range(0, len(wanted), AT_ONCE)]
    verdicts = await side_by_side([_valid(asking, spec, part) for part in parts])
    said = [verdict for part in verdicts for verdict in part]
    by_row = {id(row): verdict for row, verdict in zip(wanted, said, strict=True)}
    return [_marked(row, by_row[id(row)], names) if id(row) in by_row else row for row in rows]


async def _valid(asking: Asking, spec: PromptSpec, rows: Sequence[Row]) -> list[Verdict]:
    pieces = [untrusted_text(f"input {n}", whole_text(spec, row)) for n, row in enumerate(rows, 1)]
    material = {**shown(input_spec="\n".join(spec.input_spec)), "tests": pieces}
    return await _judged(asking, VALIDITY, material, len(rows))


def _marked(row: Row, verdict: Verdict, names: Columns) -> Row:
    why = names("invalid_because")
    plain = {key: value for key, value in row.items() if key != why}
    reason = {} if verdict.holds else {why: verdict.reason}
    return {**plain, names("valid"): verdict.holds, **reason}
