"""Queues of outputs to label, in a shuffled order that is the same for all annotators."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, TypeVar

from evalmark.core.errors import NotFoundError
from evalmark.core.values.case import Turn
from evalmark.core.values.label import Label, LabelSample, about_output, about_span
from evalmark.stats.calibration.evidence import cluster_of
from evalmark.storage.queries.trial_numbers import format_trial_id

from .agreement import AnnotatorAgreement, Thumbs, annotator_agreement, thumbs_of
from .labels import LabelSubject, result_subject, span_subject

if TYPE_CHECKING:
    from evalmark.storage.queries.filter import ResultFilter
    from evalmark.storage.queries.pages import ResultBrowser
    from evalmark.storage.store.store import Store

T = TypeVar("T")

_DIGESTS = 2**48
"""The range of the digests of ids."""
MAX_ITEMS = 10_000
"""Most outputs in a queue; each page reads all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueItem:
    """An output to label: of a run, or recorded."""

    about: str
    """As in `Label`."""
    number: int | None = None
    """The number of the result in its run; None for a recorded span."""
    span: str = ""
    """The id of the recorded span; empty for an output of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """An output as an annotator sees it, without its target and without labels."""

    subject: LabelSubject
    input: Any
    history: tuple[Turn, ...]
    contexts: tuple[str, ...]
    value: Any
    expected: Any
    """The expected output of a case, which the page folds; None for a recorded span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSource:
    """The source of the outputs of a queue: a run, or the recorded sessions of a project."""

    store: "Store"
    run: str = ""
    """The id of the run; empty for a project."""
    browsing: "ResultBrowser | None" = None
    """The results of the run; None for a project."""
    project: str = ""

    def sample(self, result_filter: "ResultFilter", limit: int = MAX_ITEMS, seed: str = "") -> tuple[QueueItem, ...]:
        """Return a sample of the outputs without errors in shuffled order; the filter applies to runs.

        The sample depends only on the seed: a larger one starts with the same outputs, and new outputs do not change the
        order of the others.
        """
        if self.browsing is None:
            return tuple(_span_item(one) for one in draw(self._spans(), limit, seed))
        outputs = self.browsing.trials().among(self.browsing.numbers_with_output(result_filter))
        chosen = draw(((trial, (number, trial)) for number, trial in outputs), limit, seed)
        return tuple(
            QueueItem(about=about_output(self.run, format_trial_id(trial)), number=number) for number, trial in chosen
        )

    def recorded_sample(self, sample: LabelSample) -> tuple[QueueItem, ...]:
        """Return the outputs of a sample of the run that are still in the store, in the order of the sample."""
        if self.browsing is None:
            return ()
        numbers = {trial: number for number, trial in self.browsing.trials().numbered(sample.trials)}
        return tuple(
            QueueItem(about=about_output(self.run, trial), number=numbers[trial])
            for trial in sample.trials
            if trial in numbers
        )

    def numbered(self, numbers: Sequence[int]) -> tuple[QueueItem, ...]:
        """Return the outputs of the results with these row numbers, in this order."""
        if self.browsing is None:
            return ()
        trials = dict(self.browsing.trials().among(numbers))
        return tuple(
            QueueItem(about=about_output(self.run, format_trial_id(trials[number])), number=number)
            for number in numbers
            if number in trials
        )

    def _spans(self) -> Iterator[tuple[int, str]]:
        return ((_digest(one), one) for one in self.store.sessions.answers_without_error(self.project))

    def labels(self, items: Iterable[QueueItem]) -> list[Label]:
        """Return all labels of these outputs; for a run, those of its other outputs too."""
        sessions = self.store.sessions
        return sessions.labels_of_run(self.run) if self.browsing else sessions.labels(item.about for item in items)

    def view(self, item: QueueItem) -> ItemView:
        """Return an output with its input.

        Raises:
            NotFoundError: It is no longer in the store.
        """
        if self.browsing is None or item.number is None:
            span = self.store.sessions.span(item.span)
            contexts = tuple(span.contexts or ())
            return ItemView(
                subject=span_subject(span),
                input=span.input,
                history=(),
                contexts=contexts,
                value=span.output,
                expected=None,
            )
        result = self.browsing.result(item.number)
        if result is None:
            raise NotFoundError(f"{self.run} does not have this result, or no longer has it.")
        case = result.trial.case
        return ItemView(
            subject=result_subject(self.run, result),
            input=case.input,
            history=tuple(case.history or ()),
            contexts=tuple(case.contexts_of(result.output) or ()),
            value=result.output.value,
            expected=case.expected,
        )


def draw(items: Iterable[tuple[int, T]], limit: int, seed: str = "") -> list[T]:
    """Draw items, each with its digest, in a random order that depends on the digests and the seed only."""
    factor = _digest(seed) | 1
    chosen = nsmallest(min(limit, MAX_ITEMS), items, key=lambda one: one[0] * factor % _DIGESTS)
    return [item for _, item in chosen]


def _digest(text: str) -> int:
    return int.from_bytes(sha256(text.encode(errors="surrogatepass")).digest()[:6])


def _span_item(span: str) -> QueueItem:
    return QueueItem(about=about_span(span), span=span)


@dataclass(frozen=True, kw_only=True)
class AnnotatorProgress:
    """The progress of one annotator in a queue."""

    items: tuple[QueueItem, ...]
    labels: Sequence[Label]
    """All labels of these outputs, of all annotators."""
    by: str

    @cached_property
    def thumbs(self) -> Mapping[str, Thumbs]:
        """The thumbs of each annotator, by output."""
        abouts = {item.about for item in self.items}
        return {
            about: thumbs_of_output for about, thumbs_of_output in thumbs_of(self.labels).items() if about in abouts
        }

    @cached_property
    def done(self) -> frozenset[int]:
        """The indices of the outputs that this annotator has labelled."""
        return frozenset(at for at, item in enumerate(self.items) if self.by in self.thumbs.get(item.about, ()))

    def counted(self, liked: bool) -> int:
        """Return how many outputs this annotator labels as good, or as bad."""
        return sum(self.thumbs[self.items[at].about][self.by] is liked for at in self.done)

    @property
    def is_done(self) -> bool:
        """Whether all outputs are labelled; only then may the annotator see the labels of others."""
        return len(self.done) == len(self.items)

    def next_unlabelled(self, start: int = 0) -> int | None:
        """Return the index of the next output without a label, from `start` on and then from the first; None if there is none."""
        left = [at for at in range(len(self.items)) if at not in self.done]
        return next((at for at in left if at >= start), left[0] if left else None)

    @property
    def last(self) -> int | None:
        """The index of the output that this annotator labelled last."""
        index_by_output = {self.items[at].about: at for at in self.done}
        own = [
            label
            for label in self.labels
            if label.by == self.by and label.about in index_by_output and label.liked is not None
        ]
        return index_by_output[max(own, key=lambda label: label.created).about] if own else None


def queue_agreement(source: OutputSource, progress: AnnotatorProgress) -> AnnotatorAgreement:
    """Compute the agreement of annotators on a queue; outputs for the same input count as one case."""
    thumbs = {item.about: progress.thumbs[item.about] for item in progress.items if item.about in progress.thumbs}
    cases = {
        item.about: cluster_of(source.view(item).input)
        for item in progress.items
        if len(thumbs.get(item.about, ())) > 1
    }
    return annotator_agreement(thumbs, cases)
