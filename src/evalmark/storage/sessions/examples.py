"""Builds test cases from recorded answers and their labels."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalmark.core.values.case import Case, Example
from evalmark.core.values.label import Label, about_span, current_labels, majority_vote
from evalmark.core.values.plain_data import canonical, fingerprint
from evalmark.core.values.session import SESSION_FIELD, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswer:
    """A recorded answer, and whether people like it."""

    span: Span
    liked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledAnswers:
    """The labelled answers of a project or a prompt."""

    cases: tuple[Case, ...]
    """One case for each input, in the order of recording; its examples are the labelled answers."""
    labelled: tuple[LabelledAnswer, ...]
    """The answers with a clear majority of thumbs, in the order of recording."""
    contested: int
    """Answers with as many thumbs up as down; they are left out."""
    unlabelled: int
    """Answers without a thumb."""
    failed: int
    """Labelled answers that ended in an error and have no output; they are left out."""

    @property
    def sessions(self) -> Mapping[str, str]:
        """Map inputs, as canonical text, to the session that each was first recorded in.

        Empty unless sessions cluster the inputs: a single session holds them all, or no session holds two of them.
        """
        return _sessions(self.labelled)


def label_answers(answers: Iterable[Span], labels: Iterable[Label]) -> LabelledAnswers:
    """Build test cases from recorded answers and their labels.

    Answers to the same input form one case. The majority of the people decides about an answer. A text that is
    liked on one answer and disliked on another becomes an example of both kinds.
    """
    by_span: defaultdict[str, list[Label]] = defaultdict(list)
    for label in labels:
        if label.about.startswith(about_span()):
            by_span[label.about.removeprefix(about_span())].append(label)
    labelled: list[LabelledAnswer] = []
    contested = unlabelled = failed = 0
    for span in answers:
        current = current_labels(by_span.get(span.id, ()))
        liked = majority_vote(current)
        if liked is None:
            thumbs = any(label.liked is not None for label in current)
            contested += thumbs
            unlabelled += not thumbs
        elif span.error is not None:
            failed += 1
        else:
            labelled.append(LabelledAnswer(span=span, liked=liked))
    return LabelledAnswers(
        cases=_cases(labelled, _sessions(labelled)),
        labelled=tuple(labelled),
        contested=contested,
        unlabelled=unlabelled,
        failed=failed,
    )


def _sessions(labelled: Iterable[LabelledAnswer]) -> Mapping[str, str]:
    first: dict[str, str] = {}
    for one in labelled:
        first.setdefault(canonical(one.span.input), one.span.session)
    return first if 1 < len(set(first.values())) < len(first) else {}


def _cases(labelled: Sequence[LabelledAnswer], sessions: Mapping[str, str]) -> tuple[Case, ...]:
    by_input: defaultdict[str, list[LabelledAnswer]] = defaultdict(list)
    for one in labelled:
        by_input[canonical(one.span.input)].append(one)
    return tuple(_case(group, sessions.get(given)) for given, group in by_input.items())


def _case(group: Sequence[LabelledAnswer], session: str | None) -> Case:
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
        metadata={
            "project": first.project,
            "spans": [one.span.id for one in group],
            **({SESSION_FIELD: session} if session else {}),
        },
        place=f"{first.project}: span {first.id}",
    )


def case_id(given: Any) -> str:
    """Return the id of the case for a recorded input: 12 hex digits."""
    return fingerprint("recorded-1", given)[:12]
