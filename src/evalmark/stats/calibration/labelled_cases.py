"""Turns labelled outputs into cases that contain their output, ready to be scored."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Example, Output
from evalmark.core.values.label import parse_thumb
from evalmark.core.values.plain_data import canonical
from evalmark.core.values.session import SESSION_FIELD
from evalmark.inputs.datasets.fault_list import FaultList
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.storage.sessions.examples import LabelledAnswer, LabelledAnswers

LABELS = ("label", "thumb", "feedback", "human_label", "rating")
"""The names of fields that may hold a person's label."""
MOST_FAULTS = 20


@check_arguments
def labelled_samples(found: LabelledAnswers) -> tuple[Case, ...]:
    """Return each labelled answer as a case, with the other labelled answers to the same input as examples.

    An answer is never an example of itself, nor is an equal text, because the distance of a text to itself says
    nothing about good and bad answers. The id of a case is the id of the answer's span.
    """
    by_input: defaultdict[str, list[LabelledAnswer]] = defaultdict(list)
    for one in found.labelled:
        by_input[canonical(one.span.input)].append(one)
    sessions = found.sessions
    return tuple(
        _sample(one, by_input[key], sessions.get(key)) for one in found.labelled for key in [canonical(one.span.input)]
    )


def _sample(one: LabelledAnswer, same_input: Iterable[LabelledAnswer], session: str | None) -> Case:
    span, own = one.span, canonical(one.span.output)
    others = {
        (text, other.liked): Example(value=other.span.output, liked=other.liked)
        for other in same_input
        if (text := canonical(other.span.output)) != own
    }
    return Case(
        id=span.id,
        input=span.input,
        examples=tuple(others.values()),
        given=Output(value=span.output, contexts=span.contexts, seconds=span.seconds),
        metadata={SESSION_FIELD: session} if session else {},
        place=f"{span.project}: span {span.id}",
    )


@check_arguments
def row_labels(cases: Iterable[Case]) -> dict[str, bool | None]:
    """Return the labels in the rows of a file, by case id; None for a row without a label.

    The label is in a field called `label`, `thumb`, `feedback`, `human_label` or `rating`.

    Raises:
        ConfigError: rows have two labels, or a label that is not a thumb; every such row is named.
    """
    faults = FaultList(most=MOST_FAULTS)
    found: dict[str, bool | None] = {}
    for case in cases:
        labels = {name: value for name in LABELS if (value := case.metadata.get(name)) not in (None, "")}
        if len(labels) > 1:
            faults.add(f"{' and '.join(labels)} both label this row; leave one out.", case.place or case.id)
            continue
        try:
            found[case.id] = _thumb(labels)
        except ValueError as fault:
            faults.add(f"{fault}.", case.place or case.id)
    if messages := faults.lines():
        raise ConfigError.of(messages)
    return found


def _thumb(labels: Mapping[str, object]) -> bool | None:
    for value in labels.values():
        if isinstance(value, bool):
            return value
        return parse_thumb(f"{value:g}" if isinstance(value, float) else str(value))
    return None
