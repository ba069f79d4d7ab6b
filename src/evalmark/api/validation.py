"""Everything that can be wrong with a file, read to its end."""

from pathlib import Path

from evalmark.cases import check_cases
from evalmark.documents import has_key
from evalmark.errors import ConfigError
from evalmark.judges import read_metric
from evalmark.models import known_model, load_embedder
from evalmark.roles import Embedder
from evalmark.settings import Settings

from .checking import check
from .suite import plan_suite

SUITE_ENDINGS = (".yaml", ".yml", ".json")


def validate(path: Path, settings: Settings) -> list[str]:
    """Every fault of a suite with its datasets, of a metric file or of a dataset; an empty list when there is none.

    A suite may still get its target and its judge from the command line of a run.
    """
    try:
        if _is(path, "metric_description"):
            read_metric(path)
            return []
        if not _is(path, "datasets"):
            return check_cases(path)
        return list(check(plan_suite(path, settings, load=_unfetched), most=None, final=False).faults)
    except ConfigError as fault:
        return str(fault).splitlines()


def _is(path: Path, key: str) -> bool:
    """A mapping with `datasets` is a suite, one with `metric_description` a metric; anything else is read as cases."""
    return path.suffix in SUITE_ENDINGS and has_key(path, key)


def _unfetched(name: str, settings: Settings, folders: tuple[Path, ...]) -> Embedder | None:
    """A known model is known to be right; its weights are fetched when a run needs them."""
    return None if known_model(name) else load_embedder(name, settings, folders)
