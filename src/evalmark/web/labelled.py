"""Which results of a run people have labelled, and the pages that show only those."""

from collections.abc import Iterator
from dataclasses import replace

from evalmark.addresses.asking import CasesAsked
from evalmark.labelling import Thumbs, thumbs_of
from evalmark.values import Run, about_output

from .shelf import Shelf


def held_to_labels(shelf: Shelf, run: Run, asked: CasesAsked, author: str) -> CasesAsked:
    """What is asked, held to the results that are labelled as it says; `author` is who asks."""
    if not asked.label:
        return asked
    before = about_output(run.id)
    said = {
        about.removeprefix(before): thumbs
        for about, thumbs in thumbs_of(shelf.store.traffic.labels_of_run(run.id)).items()
    }
    chosen = frozenset(
        _numbers(shelf, run, {trial for trial, thumbs in said.items() if _is(asked.label, thumbs, author)})
    )
    wanted = asked.wanted
    if asked.label in ("none", "not-mine"):
        return replace(asked, wanted=replace(wanted, without=wanted.without | chosen))
    numbers = chosen if wanted.numbers is None else chosen & wanted.numbers
    return replace(asked, wanted=replace(wanted, numbers=numbers))


def _numbers(shelf: Shelf, run: Run, trials: set[str]) -> Iterator[int]:
    return (number for number, _ in shelf.browsing(run).trials().numbered(trials)) if trials else iter(())


def _is(label: str, thumbs: Thumbs, author: str) -> bool:
    """Whether an output is labelled so; for what is not labelled, whether it is."""
    up = sum(thumbs.values())
    down = len(thumbs) - up
    return {"up": up > down, "down": down > up, "disputed": up == down, "none": True, "not-mine": author in thumbs}[
        label
    ]
