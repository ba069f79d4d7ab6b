"""The variables of metric prompts, and their values."""

from collections.abc import Mapping
from typing import Any

from evalmark.core.values.case import Case, Output
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.scoring.binding.text import text_of

LABELS: Mapping[str, str] = {
    "output": "output",
    "input": "input",
    "groundtruth": "expected answer",
    "prompt": "prompt",
    "rules": "rules",
    "intent": "intent",
    "inputSpec": "input specification",
}
"""What the judge's question calls a variable's value."""
SPEC_VARIABLES = ("prompt", "rules", "intent", "inputSpec")
"""Variables that need a prompt under test."""


def variable_values(case: Case, output: Output, spec: PromptSpec | None) -> dict[str, str]:
    """Return the value of every variable; empty if there is none."""
    return {
        "output": text_of(output.value),
        "input": input_text(case.input),
        "groundtruth": text_of(case.expected),
        "prompt": "" if spec is None else spec.body,
        "rules": "" if spec is None else "\n".join(spec.rules),
        "intent": "" if spec is None else spec.intent,
        "inputSpec": "" if spec is None else "\n".join(spec.input_spec),
    }


def input_text(value: Any) -> str:
    """Return the input of a test as text: the only value, or all values as a JSON object."""
    if isinstance(value, Mapping) and len(value) == 1:
        return text_of(next(iter(value.values())))
    return text_of(value)
