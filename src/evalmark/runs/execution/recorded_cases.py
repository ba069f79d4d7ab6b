"""Recorded and labelled outputs as the cases of a dataset."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from evalmark.core.errors import DataError, StoreError
from evalmark.core.settings import Settings
from evalmark.core.text import count
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import plain
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.storage.store.store import open_store

if TYPE_CHECKING:
    from evalmark.storage.sessions.examples import LabelledAnswers


def recorded_cases(project: str, settings: Settings, note: Callable[[str], None]) -> Iterator[Case]:
    """Return the labelled outputs of a project in the store of the settings: a case for each input, with examples.

    `note` is called once for each group of outputs that is left out.

    Raises:
        DataError: nothing is recorded of the project, or no label can be used.
    """
    location = f"{SESSIONS_PREFIX}{project}"
    try:
        with open_store(settings.store, read_only=True) as store:
            labelled = store.sessions.labelled_answers(project)
            others = [] if labelled.cases else store.sessions.projects()
    except StoreError as fault:
        raise DataError(f"{location}: {fault}") from fault
    if not labelled.cases:
        raise DataError(f"{location}: {_nothing(project, labelled, others)}")
    if labelled.contested:
        note(f"{location}: {count(labelled.contested, 'answer')} that people disagree on left out.")
    if labelled.failed:
        note(f"{location}: {count(labelled.failed, 'labelled answer')} that ended in an error left out.")
    return iter(labelled.cases)


def as_row(case: Case) -> dict[str, object]:
    """Return a case with examples as a row of a dataset; reading it gives the same case."""
    row: dict[str, object] = {"id": case.id, "input": plain(case.input)}
    row["liked"] = [plain(one.value) for one in case.examples if one.liked]
    row["disliked"] = [plain(one.value) for one in case.examples if not one.liked]
    row |= {} if case.contexts is None else {"contexts": list(case.contexts)}
    return {**row, "metadata": plain(case.metadata)}


def _nothing(project: str, labelled: "LabelledAnswers", others: list[str]) -> str:
    answers = labelled.contested + labelled.unlabelled + labelled.failed
    if not answers:
        close = get_close_matches(project, others, n=1)
        advice = f"there is {', '.join(others)}." if others else "record something with evalmark.record first."
        return f"nothing is recorded of this project; {f'did you mean {close[0]}?' if close else advice}"
    message = f"{count(answers, 'answer')} recorded, and no label that can be used"
    message += (
        f" ({labelled.contested} contested, {labelled.failed} on errors)"
        if labelled.contested or labelled.failed
        else ""
    )
    return f"{message}; label answers with: evalmark note ID --label up"
