"""Recorded answers that people have labelled, as test cases."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evalmark.core.values.case import Case, Example
from evalmark.core.values.label import Label, about_span, current_labels, majority_vote
from evalmark.core.values.plain_data import canonical, fingerprint
from evalmark.core.values.session import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """A recorded answer and what people say of it in the end."""

    span: Span
    liked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswers:
    """What the labels of a project come to."""

    cases: tuple[Case, ...]
    """One for each input, in the order in which it was first seen; its examples are the answers people labelled."""
    said: tuple[LabelledAnswer, ...]
    """Every answer that people agree on, in the order of recording."""
    contested: int
    """Answers that as many people like as dislike; they are left out."""
    unlabelled: int
    """Answers without a thumb."""
    failed: int
    """Labelled answers that ended in an error and have no output; they are left out."""


def label_answers(answers: Iterable[Span], labels: Iterable[Label]) -> LabelledAnswers:
    """Test cases out of recorded answers and the labels on them.

    Answers to the same input make one case. An answer that several people judged counts for what more of them say; the
    same text liked here and disliked there is an example of both kinds, as people meant it.
    """
    by_span: defaultdict[str, list[Label]] = defaultdict(list)
    for label in labels:
        if label.about.startswith(about_span()):
            by_span[label.about.removeprefix(about_span())].append(label)
    said: list[LabelledAnswer] = []
    contested = unlabelled = failed = 0
    for span in answers:
        words = current_labels(by_span.get(span.id, ()))
        liked = majority_vote(words)
        if liked is None:
            thumbs = any(label.liked is not None for label in words)
            contested += thumbs
            unlabelled += not thumbs
        elif span.error is not None:
            failed += 1
        else:
            said.append(LabelledAnswer(span=span, liked=liked))
    return LabelledAnswers(
        cases=_cases(said), said=tuple(said), contested=contested, unlabelled=unlabelled, failed=failed
    )


def _cases(said: Sequence[LabelledAnswer]) -> tuple[Case, ...]:
    by_input: defaultdict[str, list[LabelledAnswer]] = defaultdict(list)
    for one in said:
        by_input[canonical(one.span.input)].append(one)
    return tuple(_case(group) for group in by_input.values())


def _case(group: Sequence[LabelledAnswer]) -> Case:
    first = group[0].span
    examples = {
        (canonical(one.span.output), one.liked): Example(value=one.span.output, liked=one.liked) for one in group
    }
    contexts = next((one.span.contexts for one in group if one.liked and one.span.contexts), None)
    return Case(
        id=case_id(first.input),
        input=first.input,
        examples=tuple(examples.values()),
        contexts=contexts,
        metadata={"project": first.project, "spans": [one.span.id for one in group]},
        place=f"{first.project}: span {first.id}",
    )


def case_id(given: Any) -> str:
    """The id of the case that a recorded input makes: 12 hex digits."""
    return fingerprint("recorded-1", given)[:12]
