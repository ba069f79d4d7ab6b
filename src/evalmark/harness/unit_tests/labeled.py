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

    Args:
        label: 1 for liked, 0 for disliked.
        value: A text, or JSON data.

    Raises:
        ConfigError: the label is neither 0 nor 1.

    Example:
        >>> from evalmark.unit_tests import LabeledOutput
        >>> LabeledOutput(label=1, value="Oslo").value
        'Oslo'
    """

    label: int
    value: Any

    def __post_init__(self) -> None:
        if not isinstance(self.label, int) or self.label not in (0, 1):
            raise ConfigError(
                f"LabeledOutput: Label must be either 0 or 1; found {self.label!r}. Write 1 for liked, 0 for disliked."
            )
        object.__setattr__(self, "label", int(self.label))


@dataclass(frozen=True, kw_only=True)
class TestCase:
    """Inputs with their labelled outputs.

    Args:
        id: An id that is unique in the test; None: an id is computed from the inputs.
        inputs: A mapping of names to values, or the single input of a recorded answer.
        outputs: `LabeledOutput` objects, or mappings `{"label": 1, "value": "…"}`.
        for_template_name: The registered prompt that produced the outputs.
        for_tracking_project: The project in which they were recorded.

    Raises:
        ConfigError: there are no inputs, or an output is invalid.

    Example:
        >>> from evalmark.unit_tests import TestCase
        >>> TestCase(inputs={"country": "Norway"}, outputs=[{"label": 1, "value": "Oslo"}]).outputs
        [LabeledOutput(label=1, value='Oslo')]
    """

    __test__: ClassVar[bool] = False  # pytest would take the class for tests
    id: str | None = None
    inputs: Any
    outputs: Sequence[LabeledOutput]
    for_template_name: str | None = None
    for_tracking_project: str | None = None

    def __post_init__(self) -> None:
        if self.inputs is None:
            raise ConfigError("TestCase: `inputs` is None; give a mapping of names to values.")
        if isinstance(self.outputs, (str, Mapping)) or not isinstance(self.outputs, Iterable):
            raise ConfigError(
                f"TestCase: `outputs` is {self.outputs!r:.100}; give a list of LabeledOutput(label=…, value=…)."
            )
        object.__setattr__(self, "outputs", [_as_labeled_output(output) for output in self.outputs])


def _as_labeled_output(output: Any) -> LabeledOutput:
    if isinstance(output, LabeledOutput):
        return output
    if isinstance(output, Mapping) and {"label", "value"} <= output.keys():
        return LabeledOutput(label=output["label"], value=output["value"])
    raise ConfigError(f"TestCase: the output {output!r:.100} is not a LabeledOutput; it needs a `label` and a `value`.")


def as_case(test_case: TestCase, place: str = "") -> Case:
    """Return the test case as a row of a dataset; the same inputs give the same id."""
    metadata = {
        "for_template_name": test_case.for_template_name,
        "for_tracking_project": test_case.for_tracking_project,
    }
    return Case(
        id=test_case.id or case_id(test_case.inputs),
        input=test_case.inputs,
        examples=tuple(Example(value=output.value, liked=output.label == 1) for output in test_case.outputs),
        metadata={name: value for name, value in metadata.items() if value is not None},
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
