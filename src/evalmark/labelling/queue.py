"""Outputs that people label one by one, in an order that is shuffled and yet the same for everybody."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from heapq import nsmallest
from typing import TYPE_CHECKING

from evalmark.calibration import cluster_of
from evalmark.values import Label

from .raters import Thumbs, thumbs_of

if TYPE_CHECKING:
    from evalmark.store import Browsing, Store, Wanted

MOST = 10_000
"""Outputs of a queue; nobody labels more in one go, and each page looks at all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An output that may be labelled: of a run, or recorded."""

    about: str
    """As in `Label`."""
    number: int | None = None
    """That of the result in its run; None for a recorded answer."""
    span: str = ""
    """The id of the recorded answer; empty for an output of a run."""


def outputs_of_run(browsing: "Browsing", run: str, wanted: "Wanted") -> list[Item]:
    """The outputs of a run that are wanted, without those that ended in an error."""
    named = browsing.trials().named(browsing.answered(wanted))
    return [Item(about=f"output:{run}/{trial}", number=number) for number, trial in named]


def answers_of_project(ledger: "Store", project: str) -> list[Item]:
    """The recorded answers of a project, without those that ended in an error."""
    return [Item(about=f"span:{one}", span=one) for one in ledger.traffic.answered(project)]


def drawn(items: Iterable[Item], most: int = MOST, seed: str = "") -> tuple[Item, ...]:
    """A sample of outputs in shuffled order: the same for everybody who draws as many with the same seed.

    More of them begin with the same ones, and it does not matter in which order they come or how many others there are.

    >>> few = [Item(about=f"span:{number}") for number in range(9)]
    >>> drawn(few, 3) == drawn(reversed(few))[:3]
    True
    """
    return tuple(nsmallest(min(most, MOST), items, key=lambda item: _draw(seed, item.about)))


def _draw(seed: str, about: str) -> bytes:
    return sha256(f"{seed}\0{about}".encode(errors="surrogatepass")).digest()


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one person has to do of a queue."""

    items: tuple[Item, ...]
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


def cases_of(ledger: "Store", browsing: "Browsing | None", items: Iterable[Item]) -> dict[str, str]:
    """The case of each output, by what the output is about: outputs for one input are as alike as may be."""
    items = list(items)
    spans = {span.id: span for span in ledger.traffic.spans(item.span for item in items if item.span)}
    found: dict[str, str] = {}
    for item in items:
        if item.span in spans:
            found[item.about] = cluster_of(spans[item.span].input)
        elif item.number is not None and browsing is not None and (result := browsing.result(item.number)) is not None:
            found[item.about] = cluster_of(result.trial.case.input)
    return found
