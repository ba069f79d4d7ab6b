"""Select the shards of store files: the newest one of each suite."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.storage.merging.shards import is_merged

from .run_references import find_stored_runs, is_file

if TYPE_CHECKING:
    from evalmark.core.values.run import Run
    from evalmark.storage.store.store import Store

StoredRun = tuple["Store", "Run"]
"""A run with its store."""


def shards_of_suites(
    references: Sequence[str], source: str, stores: ExitStack, tell: Callable[[str], None]
) -> list[list[StoredRun]]:
    """Return the referenced shards, grouped by suite in the order in which they ran.

    `tell` gets one sentence for each shard in the files that is left out.

    Raises:
        ConfigError: the references mix a run with a file of shards of several suites, which is ambiguous.
        StoreError: a run does not exist, or a store cannot be read.
    """
    several: dict[str, list[Run]] = {}

    def in_file(path: str, run_store: "Store") -> "list[Run]":
        found = _newest(path, run_store, tell)
        if len(found) > 1:
            several[path] = found
        return found

    named = [*find_stored_runs(references, source, stores, in_file)]
    if not several:
        return [named]
    if not all(map(is_file, references)):
        raise ConfigError.of([_unclear(path, found) for path, found in several.items()])
    suites: dict[tuple[str, str], list[StoredRun]] = {}
    for run_store, run in named:
        suites.setdefault(_suite(run), []).append((run_store, run))
    return [*suites.values()]


def _newest(path: str, run_store: "Store", tell: Callable[[str], None]) -> "list[Run]":
    """Return the newest shard of each suite in a store, oldest suite first, without merged runs.

    Without shards, return the newest run; the merge then reports that it is no shard.
    """
    suites: dict[tuple[str, str], list[Run]] = {}
    for run in run_store.runs():
        if not is_merged(run):
            suites.setdefault(_suite(run), []).append(run)
    having = [runs for runs in suites.values() if any(run.shard is not None for run in runs)]
    for newest, *earlier in having:
        other = next((run for run in earlier if run.shard is not None and _differs(run, newest)), None)
        if other is not None:
            tell(
                f"{path}: of {newest.suite or newest.name}, the newest run {newest.id} is taken; {other.id}, "
                f"{_differs(other, newest)}, is left out, and can be named as {path}@{other.id}."
            )
    return [newest for newest, *_ in reversed(having)] or [run_store.run("last")]


def _differs(run: "Run", newest: "Run") -> str:
    """Return how an earlier shard differs from the newest one, or an empty text."""
    if run.plan != newest.plan:
        return "with another target, other scorers or models"
    return f"shard {run.shard}" if str(run.shard) != str(newest.shard) else ""


def _suite(run: "Run") -> tuple[str, str]:
    return run.suite, "" if run.suite else run.name


def _unclear(path: str, found: "Sequence[Run]") -> str:
    suites = ", ".join(f"{run.suite or run.name} ({run.id})" for run in found)
    return (
        f"{path}: there are shards of several suites, {suites}; name the one that is meant, as {path}@{found[-1].id}."
    )
