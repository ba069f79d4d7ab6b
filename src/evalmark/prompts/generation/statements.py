"""The stages that write statements: intent, input specification, rules, inverse rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalmark.core.text import clean
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.specs.statement_files import is_refusal, lines_of
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.replies import ReplyFault, describe_reply_value
from evalmark.scoring.judges.template import one_line

from .stage_calls import StageModels, StageQuestion, prompt_slots, untrusted_slots
from .stages import INPUT_SPEC, INTENT, INVERSE_RULES, RULES, Stage
from .variables import describe_inputs

MAX_STATEMENTS = 200
"""The largest number of statements in one file."""
TEXT = {"type": "string"}


async def intent_of(models: StageModels, spec: PromptSpec) -> tuple[str, ...]:
    """Ask for the purpose of a prompt, in a sentence."""
    question = StageQuestion(
        texts="intent", key="intent", schema=object_schema({"intent": TEXT}), material=prompt_slots(spec, "intent")
    )
    return await models.ask(INTENT, question, lambda found: _statements([found["intent"]], "intent"))


async def input_spec_of(models: StageModels, spec: PromptSpec) -> tuple[str, ...]:
    """Ask for the allowed inputs of a prompt."""
    material = {**prompt_slots(spec, "inputSpec"), **untrusted_slots(variables=describe_inputs(spec.prompt.inputs))}
    return await _ask_list(models, INPUT_SPEC, "input_spec", "statements", material)


async def rules_of(models: StageModels, spec: PromptSpec) -> tuple[str, ...]:
    """Ask for the rules of a prompt's outputs."""
    material = {**prompt_slots(spec, "outputRules"), **untrusted_slots(input_spec="\n".join(spec.input_spec))}
    return await _ask_list(models, RULES, "rules", "rules", material)


async def _ask_list(
    models: StageModels, stage: Stage, texts: str, key: str, material: Mapping[str, Any]
) -> tuple[str, ...]:
    schema = object_schema({key: {"type": "array", "items": TEXT}})
    question = StageQuestion(texts=texts, key=key, schema=schema, material=material)
    return await models.ask(stage, question, lambda found: _statements(found[key], key))


async def inverse_rules_of(models: StageModels, spec: PromptSpec) -> tuple[str, ...]:
    """Ask for the opposite of each rule, in order, without rules that have none."""
    rules = "\n".join(f"{number}. {rule}" for number, rule in enumerate(spec.rules, 1))
    row = object_schema({"rule": {"type": "integer"}, "inverse": TEXT})
    question = StageQuestion(
        texts="inverse_rules",
        key="inverses",
        schema=object_schema({"inverses": {"type": "array", "items": row}}),
        material=untrusted_slots(rules=rules, wishes=spec.prompt.instructions.get("inverseOutputRules", "")),
    )
    return await models.ask(INVERSE_RULES, question, lambda found: parse_inverses(found["inverses"], len(spec.rules)))


def with_statements(spec: PromptSpec, name: str, lines: tuple[str, ...]) -> PromptSpec:
    """Return the spec with the content of one field's file."""
    fields: dict[str, Any] = {name: " ".join(lines) if name == "intent" else lines}
    return replace(spec, **fields)


def _statements(value: Any, key: str) -> tuple[str, ...] | ReplyFault:
    """Return the statements without duplicates, or what is wrong."""
    if not isinstance(value, list):
        return ReplyFault(f"`{key}` is {describe_reply_value(value)}, not a list")
    if not value or len(value) > MAX_STATEMENTS:
        return ReplyFault(f"`{key}` holds {len(value):,} statements; it takes 1 to {MAX_STATEMENTS}")
    found = [statement(text, f"statement {number} of `{key}`") for number, text in enumerate(value, 1)]
    if wrong := next((one for one in found if isinstance(one, ReplyFault)), None):
        return wrong
    texts = [one for one in found if isinstance(one, str)]
    return ReplyFault("it refuses") if is_refusal(texts) else tuple(dict.fromkeys(texts))


def statement(value: Any, what: str) -> str | ReplyFault:
    r"""Return a text as it will be read from its line; list marks, line breaks and headings would change rule numbers.

    Terminal control characters are removed, since people view these files in a terminal.

    >>> statement("1. Be\n  short.", "statement 1")
    'Be short.'
    """
    if not (isinstance(value, str) and clean(value).strip()):
        return ReplyFault(f"{what} is {describe_reply_value(value)}, not a text with something in it")
    lines = lines_of(one_line(clean(value)))
    return lines[0] if len(lines) == 1 else ReplyFault(f"{what} is not one sentence on one line")


def parse_inverses(value: Any, rules: int) -> tuple[str, ...] | ReplyFault:
    """Return the inverse rules in a reply; each rule must occur exactly once.

    >>> parse_inverses([{"rule": 2, "inverse": "Be long."}, {"rule": 1, "inverse": "Be rude."}], 2)
    ('Be rude.', 'Be long.')
    """
    if not isinstance(value, list):
        return ReplyFault(f"`inverses` is {describe_reply_value(value)}, not a list")
    found: dict[int, str] = {}
    for place, row in enumerate(value, 1):
        if wrong := _add_inverse(found, row, place, rules):
            return wrong
    if missing := [number for number in range(1, rules + 1) if number not in found]:
        return ReplyFault(f"there is no inverse of rule {missing[0]}")
    inverses = tuple(found[number] for number in range(1, rules + 1) if found[number])
    return inverses or ReplyFault("no rule has an inverse")


def _add_inverse(found: dict[int, str], row: Any, place: int, rules: int) -> ReplyFault | None:
    if not isinstance(row, Mapping):
        return ReplyFault(f"inverse {place} is {describe_reply_value(row)}, not an object")
    number, value = row.get("rule"), row.get("inverse")
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= rules:
        return ReplyFault(
            f"`rule` of inverse {place} is {describe_reply_value(number)}, and there are rules 1 to {rules}"
        )
    if number in found:
        return ReplyFault(f"there are two inverses of rule {number}")
    if value in ("", None):
        found[number] = ""
        return None
    text = statement(value, f"the inverse of rule {number}")
    if isinstance(text, ReplyFault):
        return text
    if text in found.values():
        return ReplyFault(f"the inverse of rule {number} is that of another rule too")
    found[number] = text
    return None


def first_numbers(spec: PromptSpec, most: int) -> Sequence[int]:
    """Return the numbers of the first rules and of as many inverse rules."""
    rules = range(1, min(most, len(spec.rules)) + 1)
    inverse = range(len(spec.rules) + 1, len(spec.rules) + min(most, len(spec.inverse_rules)) + 1)
    return (*rules, *inverse)
