"""The inputs of a prompt that tests give values to, and their JSON Schema."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.values.plain_data import canonical
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.templates.prompt import Input, Prompt, Scenario
from evalmark.scoring.judges.measure import object_schema
from evalmark.scoring.judges.template import one_line

NO_SCENARIO = Scenario(name="")
"""Stands for a prompt without scenarios."""
NOT_WRITTEN = ("image", "audio", "file")
"""Types of inputs that a model cannot write."""
PLAIN = {"integer": "integer", "number": "number", "boolean": "boolean"}


def scenarios_of(prompt: Prompt) -> Sequence[Scenario]:
    """Return the scenarios that leave an input open for tests."""
    return [scenario for scenario in prompt.scenarios or (NO_SCENARIO,) if open_inputs(prompt, scenario)]


def open_inputs(prompt: Prompt, scenario: Scenario = NO_SCENARIO) -> tuple[Input, ...]:
    """Return the inputs that a test gives: those that need a value, else all that the scenario does not set."""
    free = [known for known in prompt.inputs if known.name not in scenario.parameters]
    needed = [known for known in free if known.required]
    return tuple(needed or (known for known in free if known.type not in NOT_WRITTEN))


def check_inputs(spec: PromptSpec) -> None:
    """Raise an error for a prompt without inputs that a model can write.

    Raises:
        ConfigError: It has no input, or requires one of a type that no model can write.
    """
    prompt = spec.prompt
    scenarios = scenarios_of(prompt)
    if not scenarios:
        raise ConfigError(
            f"{prompt.place}: the prompt has no input that tests could differ in; add a variable, such as {{{{text}}}}."
        )
    strange = {known.name: known for s in scenarios for known in open_inputs(prompt, s) if known.type in NOT_WRITTEN}
    if strange:
        raise ConfigError.of(
            [
                f"{prompt.file}:{known.line}: the input {known.name!r} has the type {known.type}, and no model writes one; "
                "give it a default, or write tests.json by hand."
                for known in strange.values()
            ]
        )


def describe_inputs(inputs: Sequence[Input]) -> str:
    """Describe inputs, one per line, with all that the prompt's file says about them."""
    return "\n".join(_line(known) for known in inputs)


def _line(known: Input) -> str:
    value = [one_line(known.description)] if known.description else []
    value += [f"one of {canonical(list(known.choices))}"] if known.choices else []
    value += [f"{canonical(known.default)} where none is given"] if known.default is not None else []
    value += [f"for example {canonical(known.example)}"] if known.example is not None else []
    return f"{known.name} ({known.type or 'text'}){': ' if value else ''}{'; '.join(value)}"


def inputs_schema(inputs: Sequence[Input]) -> dict[str, Any]:
    """Return the schema of an object with a value per input; lists and mappings are requested as JSON text."""
    return object_schema({known.name: _schema(known) for known in inputs})


def _schema(known: Input) -> Mapping[str, Any]:
    if known.choices and all(isinstance(choice, str) for choice in known.choices):
        return {"type": "string", "enum": list(known.choices)}
    if known.type in ("array", "object", "thread"):
        return {"type": "string", "description": f"JSON text of a value of the type {known.type}"}
    return {"type": PLAIN.get(known.type or "", "string")}
