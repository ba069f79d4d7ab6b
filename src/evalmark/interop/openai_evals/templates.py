"""The templates of OpenAI's graders: texts with `{{item.KEY}}` and `{{sample.KEY}}`."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import plain
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.scoring.binding.text import text_of

SLOT = re.compile(r"\{\{\s*(item|sample)((?:\.[A-Za-z_][\w-]*|\[\d{1,6}\])+)\s*\}\}")
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]")

Data = dict[str, Any]


class MissingValueError(Exception):
    """A template names a value that the item or the sample does not have; the text completes a sentence."""


def item_from(case: Case, expected: str = "", graded: str = "", output: Output | None = None) -> Data:
    """Return the item of a case, as templates and Python graders see it.

    Args:
        case: the case.
        expected: the key of the item that became the expected answer.
        graded: the key of the item that became the output, if items have the outputs.
        output: the output, for `graded`.
    """
    item: Data = {"id": case.id, **plain(case.metadata)}
    variables = plain(case.input)
    item |= variables if isinstance(variables, dict) else {} if variables is None else {"input": variables}
    more = {
        "contexts": None if case.contexts is None else list(case.contexts),
        "history": [{"role": turn.role, "content": text_of(turn.content)} for turn in case.history] or None,
        "tags": list(case.tags) or None,
        "metadata": plain(case.metadata) or None,
        expected or "expected": plain(case.expected),
        graded: plain(output.value) if graded and output is not None else None,
    }
    return item | {key: value for key, value in more.items() if value is not None}


def sample_from(output: Output) -> Data:
    """Return the sample of an output, as templates and Python graders see it."""
    text = text_of(output.value)
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(plain(call.arguments))},
        }
        for call in output.tool_calls
    ]
    message = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
    sample: Data = {"output_text": text, "output_tools": calls, "choices": [{"message": message}]}
    with suppress(PlacedError):  # it is not JSON, so the key is missing
        sample["output_json"] = parse_json(text, "the output") if isinstance(output.value, str) else plain(output.value)
    return sample


def render_template(template: str, item: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
    """Fill the slots of a template; texts in the values are not templates.

    >>> render_template("{{ item.city }}: {{sample.choices[0].x}}", {"city": "Oslo"}, {"choices": [{"x": 1}]})
    'Oslo: 1'

    Raises:
        MissingValueError: the item or the sample has no such value.
    """
    return SLOT.sub(lambda slot: _text(_value(slot, item, sample)), template)


def unknown_slots(template: str) -> list[str]:
    """Return what stands between double braces and is no slot."""
    return re.findall(r"\{\{.*?\}\}|\{%", SLOT.sub("", template), re.DOTALL)


def _value(slot: re.Match[str], item: Mapping[str, Any], sample: Mapping[str, Any]) -> Any:
    value: Any = item if slot[1] == "item" else sample
    for name, number in _STEP.findall(slot[2]):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, Sequence) and not isinstance(value, str) and number and int(number) < len(value):
            value = value[int(number)]
        else:
            raise MissingValueError(f"has no {slot[1]}{slot[2]}")
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
