"""Test cases: inputs, and outputs that people liked or disliked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Example
from evalmark.storage.sessions.examples import case_id


@dataclass(frozen=True, kw_only=True)
class LabeledOutput:
    """An output with its label.

    Raises:
        ConfigError: the label is neither 0 nor 1.
    """

    label: int
    """1: liked; 0: disliked."""
    value: Any
    """A text, or JSON data."""

    def __post_init__(self) -> None:
        if not isinstance(self.label, int) or self.label not in (0, 1):
            raise ConfigError(
                f"LabeledOutput: Label must be either 0 or 1; found {self.label!r}. Write 1 for liked, 0 for disliked."
            )
        object.__setattr__(self, "label", int(self.label))


@dataclass(frozen=True, kw_only=True)
class TestCase:
    """Inputs with their labelled outputs.

    Outputs may also be given as mappings `{"label": 1, "value": "…"}`.

    Raises:
        ConfigError: there are no inputs, or an output is none.
    """

    __test__: ClassVar[bool] = False  # pytest would take the class for tests
    id: str | None = None
    """None: one is made of the inputs."""
    inputs: Any
    """A mapping of names to values, or the one value that an answer was recorded for."""
    outputs: Sequence[LabeledOutput]
    for_template_name: str | None = None
    """The prompt whose outputs these are."""
    for_tracking_project: str | None = None
    """The project in which they were recorded."""

    def __post_init__(self) -> None:
        if self.inputs is None:
            raise ConfigError("TestCase: `inputs` is None; give a mapping of names to values.")
        if isinstance(self.outputs, (str, Mapping)) or not isinstance(self.outputs, Iterable):
            raise ConfigError(
                f"TestCase: `outputs` is {self.outputs!r:.100}; give a list of LabeledOutput(label=…, value=…)."
            )
        object.__setattr__(self, "outputs", [_labeled(output) for output in self.outputs])


def _labeled(given: Any) -> LabeledOutput:
    if isinstance(given, LabeledOutput):
        return given
    if isinstance(given, Mapping) and {"label", "value"} <= given.keys():
        return LabeledOutput(label=given["label"], value=given["value"])
    raise ConfigError(f"TestCase: the output {given!r:.100} is no LabeledOutput; it needs a `label` and a `value`.")


def as_case(given: TestCase, place: str = "") -> Case:
    """Return the test case as a row of a dataset; the same inputs give the same id."""
    said = {"for_template_name": given.for_template_name, "for_tracking_project": given.for_tracking_project}
    return Case(
        id=given.id or case_id(given.inputs),
        input=given.inputs,
        examples=tuple(Example(value=output.value, liked=output.label == 1) for output in given.outputs),
        metadata={name: value for name, value in said.items() if value is not None},
        place=place,
    )


def from_case(case: Case, *, template: str | None = None, project: str | None = None) -> TestCase:
    """Return a row of a dataset as a test case."""
    liked = [LabeledOutput(label=1, value=value) for value in case.liked]
    disliked = [LabeledOutput(label=0, value=value) for value in case.disliked]
    return TestCase(
        id=case.id,
        inputs=case.input,
        outputs=[*liked, *disliked],
        for_template_name=template,
        for_tracking_project=project,
    )
