"""Tells which cases depend on each other, so that intervals and tests count them together."""

from collections.abc import Iterable

from evalmark.core.values.case import HASH_MASK, cluster_value, content_hash, hashable, is_blank
from evalmark.core.values.run import Run
from evalmark.core.values.score import Trial


def case_name(trial: Trial) -> str:
    """Return the name of a trial's case, for figures where each case is independent."""
    return f"{trial.dataset}/{trial.case.id}"


class ClusterFinder:
    """Finds the cluster of a trial: its document, say, its conversation, or its case with all equal rows and repeats.

    Args:
        runs: Runs, whose datasets name the fields that cluster their cases; later ones win.
    """

    def __init__(self, *runs: Run) -> None:
        self._fields = {info.name: info.cluster for run in runs for info in run.datasets if info.cluster}
        self._numbers: dict[int, int] = {}
        self._clustered: set[str] = set()
        """Datasets with a case that has the field."""

    def find(self, trial: Trial) -> int:
        """Return the number of the cluster; cases without the field are clusters of their own."""
        field = self._fields.get(trial.dataset)
        if field and (value := cluster_value(trial.case, field)) is not None:
            self._clustered.add(trial.dataset)
            return hash((field, hashable(value))) & HASH_MASK
        if trial.mode == "conversation":
            return hash((trial.mode, trial.dataset)) & HASH_MASK
        case = trial.case
        if (
            case.given is None and not case.history and is_blank(case.input)
        ):  # a test, say, of which only the name is known
            return hash((trial.dataset, case.id)) & HASH_MASK
        return content_hash(case)

    def name(self, trial: Trial) -> str:
        """Return a name of the cluster: its number in the order of the trials, the same in every process."""
        return str(self._numbers.setdefault(self.find(trial), len(self._numbers)))

    def unit(self, groups: Iterable[tuple[str, str]]) -> str:
        """Return what one cluster of the groups, each a dataset and a mode, is called, as far as trials were found."""
        fields = {dataset: field for dataset, field in self._fields.items() if dataset in self._clustered}
        units = {fields.get(dataset) or ("conversation" if mode != "single" else "case") for dataset, mode in groups}
        return " or ".join(sorted(units)) or "case"
