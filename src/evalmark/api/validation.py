"""Everything that can be wrong with a file, read to its end."""

from pathlib import Path

from evalmark.cases import check_cases
from evalmark.documents import has_key
from evalmark.errors import ConfigError
from evalmark.models import known_model, load_embedder
from evalmark.roles import Embedder
from evalmark.settings import Settings

from .checking import check
from .suite import plan_suite

SUITE_ENDINGS = (".yaml", ".yml", ".json")


def validate(path: Path, settings: Settings) -> list[str]:
    """Every fault of a suite with its datasets, or of a dataset; an empty list when there is none."""
    try:
        if not _is_suite(path):
            return check_cases(path)
        return list(check(plan_suite(path, settings, load=_unfetched), most=None).faults)
    except ConfigError as fault:
        return str(fault).splitlines()


def _is_suite(path: Path) -> bool:
    """A mapping that names datasets is a suite; anything else is read as a dataset."""
    if path.suffix not in SUITE_ENDINGS:
        return False
    return has_key(path, "datasets")


def _unfetched(name: str, settings: Settings, folders: tuple[Path, ...]) -> Embedder | None:
    """A known model is known to be right; its weights are fetched when a run needs them."""
    return None if known_model(name) else load_embedder(name, settings, folders)
