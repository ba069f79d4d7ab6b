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
    free = [variable for variable in prompt.inputs if variable.name not in scenario.parameters]
    needed = [variable for variable in free if variable.required]
    return tuple(needed or (variable for variable in free if variable.type not in NOT_WRITTEN))


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
    strange = {
        variable.name: variable
        for s in scenarios
        for variable in open_inputs(prompt, s)
        if variable.type in NOT_WRITTEN
    }
    if strange:
        raise ConfigError.of(
            [
                f"{prompt.file}:{variable.line}: the input {variable.name!r} has the type {variable.type}, and no model writes one; "
                "give it a default, or write tests.json by hand."
                for variable in strange.values()
            ]
        )


def describe_inputs(inputs: Sequence[Input]) -> str:
    """Describe inputs, one per line, with all that the prompt's file says about them."""
    return "\n".join(_line(variable) for variable in inputs)


def _line(variable: Input) -> str:
    value = [one_line(variable.description)] if variable.description else []
    value += [f"one of {canonical(list(variable.choices))}"] if variable.choices else []
    value += [f"{canonical(variable.default)} where none is given"] if variable.default is not None else []
    value += [f"for example {canonical(variable.example)}"] if variable.example is not None else []
    return f"{variable.name} ({variable.type or 'text'}){': ' if value else ''}{'; '.join(value)}"


def inputs_schema(inputs: Sequence[Input]) -> dict[str, Any]:
    """Return the schema of an object with a value per input; lists and mappings are requested as JSON text."""
    return object_schema({variable.name: _schema(variable) for variable in inputs})


def _schema(variable: Input) -> Mapping[str, Any]:
    if variable.choices and all(isinstance(choice, str) for choice in variable.choices):
        return {"type": "string", "enum": list(variable.choices)}
    if variable.type in ("array", "object", "thread"):
        return {"type": "string", "description": f"JSON text of a value of the type {variable.type}"}
    return {"type": PLAIN.get(variable.type or "", "string")}
