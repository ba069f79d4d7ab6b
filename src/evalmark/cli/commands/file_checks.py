"""Find all errors of a suite, prompt, metric or dataset file."""

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import Embedder
from evalmark.core.settings import Settings
from evalmark.inputs.datasets.fields import can_be_case
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.inputs.datasets.reader import check_cases
from evalmark.inputs.datasets.rows import ignore_note
from evalmark.inputs.documents.top_keys import top_keys
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.runs.execution.recorded_cases import recorded_cases
from evalmark.runs.planning.check import check
from evalmark.runs.planning.first_rows import NoteHandler
from evalmark.runs.planning.judges import metric_named
from evalmark.runs.planning.overrides import Overrides
from evalmark.runs.planning.plan import Plan
from evalmark.runs.planning.prompt_plan import is_metric, is_prompt
from evalmark.runs.planning.suite import plan_suite

if TYPE_CHECKING:
    from evalmark.models.embeddings import load, weights
else:
    load = LazyModule("evalmark.models.embeddings.load")
    weights = LazyModule("evalmark.models.embeddings.weights")

ANY_MODEL = "openai/any"
"""A placeholder: the check of a prompt does not depend on the model, and no model is called."""
SUITE_ENDINGS = (".yaml", ".yml", ".json")


def validate(path: Path, settings: Settings, notes: NoteHandler = ignore_note) -> list[str]:
    """Return all errors of a suite or prompt with its datasets, of a metric file, or of a dataset.

    A missing target, model or judge is not an error, because flags of a run can name it. `notes` receives remarks on how
    rows were read.
    """
    try:
        if str(path).startswith(SESSIONS_PREFIX):
            recorded_cases(str(path).removeprefix(SESSIONS_PREFIX), settings, lambda _: None)
            return []
        kind = kind_of_file(path)
        if kind == "metric":
            metric_named(str(path), str(path), ())
            return []
        if kind == "prompt":
            plan = plan_suite(path, settings, Overrides(models=(ANY_MODEL,)), _unfetched)
            return list(check(plan, most=None, final=False, notes=notes).faults)
        if kind == "cases":
            return check_cases(path, notes=notes)
        plan = plan_suite(path, settings, Overrides(default_model=ANY_MODEL), _unfetched, recorded_cases)
        for note in _suite_notes(plan):
            notes(note)
        return list(check(plan, most=None, final=False, notes=notes).faults)
    except ConfigError as fault:
        return str(fault).splitlines()


def _suite_notes(plan: Plan) -> Iterator[str]:
    """Yield the remarks on the plan of a suite."""
    yield from plan.notes
    if not plan.scorers:
        yield "The suite has no metrics, so its outputs are not scored."
    if judged := [one.bound(None).name for one in plan.scorers if one.needs_judge and one.judge is None]:
        verb = "needs" if len(judged) == 1 else "need"
        yield f"{', '.join(judged)} {verb} a judge, which the suite does not name; give `evalmark run` one with --judge."
    if plan.imported:
        yield f"Imported {', '.join(plan.imported)} for this check; no target was called."


def kind_of_file(path: Path) -> Literal["suite", "prompt", "metric", "cases"]:
    """Detect the kind of a file by its name or its top-level keys."""
    if is_metric(path):
        return "metric"
    if is_prompt(path):
        return "prompt"
    keys = set(top_keys(path)) if path.suffix in SUITE_ENDINGS else set()
    if "messages" in keys and path.suffix != ".json" and not keys & {"data", "cases"}:
        return "suite"  # a prompt with the wrong extension; the suite reader reports it
    return _kind_by_keys(keys)


def _kind_by_keys(keys: set[str]) -> Literal["suite", "metric", "cases"]:
    """Detect the kind from all keys together, so that the right reader reports a misspelled key."""
    if "metric_description" in keys:
        return "metric"
    if "datasets" in keys:
        return "suite"
    if not keys or can_be_case(keys, ReadOptions()):
        return "cases"
    if keys & {"metrics", "target"}:
        return "suite"
    if keys & {"data", "cases"}:
        return "cases"
    if "score" in keys or any(map(_nearly("metric_description"), keys)):
        return "metric"
    return "suite" if any(_nearly(name)(key) for name in ("datasets", "metrics") for key in keys) else "cases"


def _nearly(name: str) -> Callable[[str], bool]:
    """Return a test for misspellings of a key."""
    return lambda key: bool(get_close_matches(key.lower(), [name], n=1, cutoff=0.8))


def _unfetched(name: str, settings: Settings, folders: tuple[Path, ...]) -> Embedder | None:
    """Load an embedder, but do not download the weights of a known model."""
    return None if weights.known_model(name) else load.load_embedder(name, settings, folders)
