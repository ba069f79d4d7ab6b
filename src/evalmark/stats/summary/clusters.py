"""Tells which cases depend on each other, so that intervals and tests count them together."""

from collections.abc import Iterable, Mapping
from typing import Any

from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import canonical
from evalmark.core.values.run import Run
from evalmark.core.values.score import Trial

_FIELDS = ("input", "expected", "contexts", "history")
"""Fields of a case that may cluster cases, besides those of its metadata and of its input."""
_MASK = (1 << 64) - 1


def cluster_value(case: Case, field: str) -> Any:
    """Return what a case has in the field that clusters cases; None if it has nothing there.

    The field is one of the metadata, of the input if that is a mapping, or `input`, `expected`, `contexts` or `history`.

    >>> cluster_value(Case(id="1", input={"document": "a.pdf", "question": "Who?"}), "document")
    'a.pdf'
    """
    for fields in (case.metadata, case.input):
        if isinstance(fields, Mapping) and fields.get(field) is not None:
            return fields[field]
    return (getattr(case, field) or None) if field in _FIELDS else None


def content_hash(case: Case) -> int:
    """Return a hash of everything in a case but its id; equal for equal rows, within one process.

    >>> content_hash(Case(id="1", input="Who?")) == content_hash(Case(id="2", input="Who?"))
    True
    """
    given = None if case.given is None else (case.given.value, case.given.contexts, case.given.tool_calls)
    parts = (case.input, case.expected, case.examples, case.contexts, case.history, given, case.tags, case.metadata)
    return hash(tuple(map(_hashable, parts))) & _MASK


def _hashable(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return canonical(value) if value else type(value)


class ClusterFinder:
    """Finds the cluster of a trial: its document, say, its conversation, or its case with all equal rows and repeats.

    Args:
        run: A run, whose datasets name the fields that cluster their cases.
    """

    def __init__(self, run: Run) -> None:
        self._fields = {info.name: info.cluster for info in run.datasets if info.cluster}

    def find(self, trial: Trial) -> int:
        """Return the number of the cluster; cases without the field are clusters of their own."""
        field = self._fields.get(trial.dataset)
        if field and (value := cluster_value(trial.case, field)) is not None:
            return hash((field, _hashable(value))) & _MASK
        if trial.mode == "conversation":
            return hash((trial.mode, trial.dataset)) & _MASK
        return content_hash(trial.case)

    def unit(self, groups: Iterable[tuple[str, str]]) -> str:
        """Return what one cluster of the groups, each a dataset and a mode, is called."""
        units = {
            self._fields.get(dataset) or ("conversation" if mode != "single" else "case") for dataset, mode in groups
        }
        return units.pop() if len(units) == 1 else "cluster" if units else "case"
