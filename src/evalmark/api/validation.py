"""Everything that can be wrong with a file, read to its end."""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from evalmark.cases import ReadOptions, can_ask, check_cases
from evalmark.documents import top_keys
from evalmark.errors import ConfigError
from evalmark.judges import read_metric
from evalmark.models import known_model, load_embedder
from evalmark.plans import check, plan_suite
from evalmark.roles import Embedder
from evalmark.settings import Settings

SUITE_ENDINGS = (".yaml", ".yml", ".json")


def validate(path: Path, settings: Settings) -> list[str]:
    """Every fault of a suite with its datasets, of a metric file or of a dataset; an empty list when there is none.

    A suite may still get its target and its judge from the command line of a run.
    """
    try:
        kind = _kind(path)
        if kind == "metric":
            read_metric(path)
            return []
        if kind == "cases":
            return check_cases(path)
        return list(check(plan_suite(path, settings, load=_unfetched), most=None, final=False).faults)
    except ConfigError as fault:
        return str(fault).splitlines()


def _kind(path: Path) -> Literal["suite", "metric", "cases"]:
    """What a file is by the keys at its top, so that one misspelled key is named by the reader of that kind."""
    keys = set(top_keys(path)) if path.suffix in SUITE_ENDINGS else set()
    if "metric_description" in keys:
        return "metric"
    if "datasets" in keys:
        return "suite"
    if not keys or can_ask(keys, ReadOptions()):
        return "cases"
    if keys & {"metrics", "target"}:
        return "suite"
    if keys & {"data", "cases"}:
        return "cases"
    if "score" in keys or any(map(_nearly("metric_description"), keys)):
        return "metric"
    return "suite" if any(_nearly(name)(key) for name in ("datasets", "metrics") for key in keys) else "cases"


def _nearly(name: str) -> Callable[[str], bool]:
    """Tells keys that were surely meant as this one."""
    return lambda key: bool(get_close_matches(key.lower(), [name], n=1, cutoff=0.8))


def _unfetched(name: str, settings: Settings, folders: tuple[Path, ...]) -> Embedder | None:
    """A known model is known to be right; its weights are fetched when a run needs them."""
    return None if known_model(name) else load_embedder(name, settings, folders)
