"""Builds the rows of `tests.json`, with field names that no input of the prompt uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalmark.core.errors import ConfigError
from evalmark.core.values.plain_data import fingerprint
from evalmark.prompts.specs.case_builder import INPUT_FIELDS, REFERENCE_FIELDS
from evalmark.prompts.specs.row_values import InvalidRowError, input_values
from evalmark.prompts.specs.spec import PromptRule, PromptSpec
from evalmark.prompts.templates.prompt import Scenario
from evalmark.scoring.binding.text import text_of

from .folder_files import RowData
from .variables import NO_SCENARIO

INPUTS = "inputs"


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Names of fields that do not collide with the prompt's inputs."""

    taken: frozenset[str]

    def __call__(self, name: str) -> str:
        """Return the name in the file: with a trailing `_` if an input has this name, which reads as the same field.

        >>> FieldNames(frozenset({"rule"}))("rule"), FieldNames(frozenset({"rule"}))("valid")
        ('rule_', 'valid')
        """
        while name in self.taken:
            name += "_"
        return name

    def get(self, row: Mapping[str, Any], name: str) -> Any:
        """Return the value of a field; None if the row lacks it."""
        return row.get(self(name))


def field_names(spec: PromptSpec) -> FieldNames:
    return FieldNames(frozenset(variable.name for variable in spec.prompt.inputs))


class GeneratedTest(NamedTuple):
    """A test as a model wrote it."""

    inputs: Mapping[str, Any]
    rule: PromptRule | None = None
    """None in baseline tests."""
    reasoning: str = ""
    expected: str = ""
    scenario: str = ""
    generation: int = 1

    @property
    def key(self) -> str:
        """A hash of the rule, the scenario and the inputs."""
        number = self.rule.number if self.rule else 0
        return fingerprint("generated-1", number, self.scenario, self.inputs)[:12]


def input_problem(spec: PromptSpec, inputs: Mapping[str, Any], scenario: Scenario) -> str | None:
    """Return why the prompt cannot take these inputs; None if it can."""
    try:
        input_values(spec.prompt, None, inputs, scenario.parameters)
    except (InvalidRowError, ConfigError) as fault:
        return str(fault)
    blank = [name for name, value in inputs.items() if isinstance(value, str) and not value.strip()]
    return f"`{blank[0]}` is empty" if blank and len(blank) == len(inputs) else None


def unique_drafts(drafts: Sequence[GeneratedTest]) -> list[GeneratedTest]:
    return list({draft.key: draft for draft in reversed(drafts)}.values())[::-1]


def draft_rows(spec: PromptSpec, drafts: Sequence[GeneratedTest], grounded: Mapping[str, bool]) -> list[RowData]:
    """Return drafts as rows; the tests of a rule are numbered."""
    names = field_names(spec)
    numbers: dict[int, int] = {}
    found = []
    for draft in drafts:
        number = draft.rule.number if draft.rule else 0
        numbers[number] = numbers.get(number, 0) + 1
        row: RowData = {names("id"): f"{'b' if draft.rule is None else f'r{number}'}-{draft.key}"}
        if draft.rule is not None:
            row |= {names("ruleid"): number, names("rule"): draft.rule.text, names("inverse"): draft.rule.inverse}
        row |= {names("testid"): numbers[number], names(INPUTS): dict(draft.inputs)}
        row |= {names("reasoning"): draft.reasoning} if draft.reasoning else {}
        if draft.expected and "expectedoutput" not in names.taken:  # any other value is a ground truth
            row["expectedoutput"] = draft.expected
        row |= {names("scenario"): draft.scenario} if draft.scenario else {}
        row |= {names("generation"): draft.generation, names("baseline"): draft.rule is None, names("valid"): None}
        if draft.rule is not None and draft.rule.text in grounded:
            row[names("grounded")] = grounded[draft.rule.text]
        found.append(row)
    return found


def inputs_in(spec: PromptSpec, row: Mapping[str, Any]) -> Any:
    """Return a row's input: all values together, or a field per input; None without any."""
    names = field_names(spec)
    whole = next((found for name in INPUT_FIELDS if (found := names.get(row, name)) not in (None, "")), None)
    apart = {name: row[name] for name in names.taken if row.get(name) is not None}
    return apart or None if whole is None else whole


def is_answered(spec: PromptSpec, row: Mapping[str, Any]) -> bool:
    """Return whether a row has a ground truth, or a model failed to write one."""
    names = field_names(spec)
    return any(names.get(row, name) is not None for name in (*REFERENCE_FIELDS, "groundtruthmodel"))


def inputs_text(inputs: Any) -> str:
    """Return the inputs of a test as text for a model."""
    return text_of(dict(inputs) if isinstance(inputs, Mapping) else inputs)


def scenario_of(spec: PromptSpec, row: Mapping[str, Any]) -> Scenario:
    name = field_names(spec).get(row, "scenario")
    return next((scenario for scenario in spec.prompt.scenarios if scenario.name == name), NO_SCENARIO)


def whole_text(spec: PromptSpec, row: Mapping[str, Any]) -> str:
    """Return the inputs of a test with the scenario's values and the defaults.

    An input specification may mention all variables, wherever their values come from.
    """
    whole, parameters = inputs_in(spec, row), scenario_of(spec, row).parameters
    defaults = {variable.name: variable.default for variable in spec.prompt.inputs if variable.default is not None}
    if not (defaults or parameters):
        return inputs_text(whole)
    try:
        values = input_values(spec.prompt, whole, {}, parameters)
    except InvalidRowError:  # a person may have written it; its fault is reported when the file is read
        return inputs_text(whole)
    return inputs_text({**defaults, **values})
