"""Outputs that people label one by one, in an order that is shuffled and yet the same for everybody."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, TypeVar

from evalmark.core.errors import NotFoundError
from evalmark.core.values.case import Turn
from evalmark.core.values.label import Label, about_output, about_span
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
"""Numbers that ids of trials go to."""
MAX_ITEMS = 10_000
"""Outputs of a queue; nobody labels more in one go, and each page looks at all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueItem:
    """An output that may be labelled: of a run, or recorded."""

    about: str
    """As in `GraderLabel`."""
    number: int | None = None
    """That of the result in its run; None for a recorded answer."""
    span: str = ""
    """The id of the recorded answer; empty for an output of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """An output as somebody sees it who is to label it: nothing of who gave it or of what anybody says of it."""

    subject: LabelSubject
    input: Any
    history: tuple[Turn, ...]
    contexts: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSource:
    """Where outputs are taken from that people label: a run, or what is recorded of a project."""

    ledger: "Store"
    run: str = ""
    """The id of the run; empty for a project."""
    browsing: "ResultBrowser | None" = None
    """The results of the run; None for a project."""
    project: str = ""

    def drawn(self, wanted: "ResultFilter", most: int = MAX_ITEMS, seed: str = "") -> tuple[QueueItem, ...]:
        """A sample of the outputs in shuffled order, without those that ended in an error; of a run those that are wanted.

        It is the same for everybody who draws as many with the same seed; more of them begin with the same ones, and
        outputs that come later leave the others in their order.
        """
        if self.browsing is None:
            return tuple(_span_item(one) for one in _sample(self._spans(), most, seed))
        among = self.browsing.trials().among(self.browsing.numbers_with_output(wanted))
        chosen = _sample(((trial, (number, trial)) for number, trial in among), most, seed)
        return tuple(
            QueueItem(about=about_output(self.run, format_trial_id(trial)), number=number) for number, trial in chosen
        )

    def _spans(self) -> Iterator[tuple[int, str]]:
        return ((_number_of(one), one) for one in self.ledger.sessions.answers_without_error(self.project))

    def labels(self, items: Iterable[QueueItem]) -> list[Label]:
        """Everything ever said of some outputs; of a run, of others of it too."""
        traffic = self.ledger.sessions
        return traffic.labels_of_run(self.run) if self.browsing else traffic.labels(item.about for item in items)

    def shown(self, item: QueueItem) -> ItemView:
        """An output with what it was given for.

        Raises:
            NotFoundError: it is no longer there.
        """
        if self.browsing is None or item.number is None:
            span = self.ledger.sessions.span(item.span)
            contexts = tuple(span.contexts or ())
            return ItemView(
                subject=span_subject(span), input=span.input, history=(), contexts=contexts, value=span.output
            )
        result = self.browsing.result(item.number)
        if result is None:
            raise NotFoundError(f"{self.run} has no such result, or no longer.")
        case = result.trial.case
        return ItemView(
            subject=result_subject(self.run, result),
            input=case.input,
            history=tuple(case.history or ()),
            contexts=tuple(case.contexts_of(result.output) or ()),
            value=result.output.value,
        )


def _sample(things: Iterable[tuple[int, T]], most: int, seed: str) -> list[T]:
    """Things in an order that their numbers, which are digests, and a seed decide; multiplied, digests are shuffled anew."""
    factor = _number_of(seed) | 1
    chosen = nsmallest(min(most, MAX_ITEMS), things, key=lambda one: one[0] * factor % _DIGESTS)
    return [thing for _, thing in chosen]


def _number_of(text: str) -> int:
    return int.from_bytes(sha256(text.encode(errors="surrogatepass")).digest()[:6])


def _span_item(span: str) -> QueueItem:
    return QueueItem(about=about_span(span), span=span)


@dataclass(frozen=True, kw_only=True)
class AnnotatorProgress:
    """What one person has to do of a queue."""

    items: tuple[QueueItem, ...]
    labels: Sequence[Label]
    """Everything ever said of these outputs, by anybody."""
    by: str

    @cached_property
    def thumbs(self) -> Mapping[str, Thumbs]:
        """What each person says of the outputs of the queue, by what it is about."""
        abouts = {item.about for item in self.items}
        return {about: said for about, said in thumbs_of(self.labels).items() if about in abouts}

    @cached_property
    def done(self) -> frozenset[int]:
        """The places of the outputs that this person has labelled."""
        return frozenset(at for at, item in enumerate(self.items) if self.by in self.thumbs.get(item.about, ()))

    def counted(self, liked: bool) -> int:
        """How many outputs this person calls good, or bad."""
        return sum(self.thumbs[self.items[at].about][self.by] is liked for at in self.done)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left; only then may this person see what others say."""
        return len(self.done) == len(self.items)

    def following(self, start: int = 0) -> int | None:
        """The place of the next output without a label, from a place on and then from the first; None where none is left."""
        left = [at for at in range(len(self.items)) if at not in self.done]
        return next((at for at in left if at >= start), left[0] if left else None)

    @property
    def last(self) -> int | None:
        """The place of the output that this person has labelled last."""
        places = {self.items[at].about: at for at in self.done}
        mine = [
            label for label in self.labels if label.by == self.by and label.about in places and label.liked is not None
        ]
        return places[max(mine, key=lambda label: label.created).about] if mine else None


def queue_agreement(source: OutputSource, part: AnnotatorProgress) -> AnnotatorAgreement:
    """How far people agree on the outputs of a queue; outputs for one input count as one case, since they are alike."""
    said = {item.about: part.thumbs[item.about] for item in part.items if item.about in part.thumbs}
    cases = {
        item.about: cluster_of(source.shown(item).input) for item in part.items if len(said.get(item.about, ())) > 1
    }
    return annotator_agreement(said, cases)
