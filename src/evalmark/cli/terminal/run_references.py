"""Resolve run references of the command line: an id, or FILE@RUN of another store."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.storage.results.run_ids import is_suite_reference
from evalmark.storage.store.location import parse_run_address
from evalmark.storage.store.store import Store, open_store

from .command_line import store_flag
from .output import print_store_note

if TYPE_CHECKING:
    from evalmark.core.values.run import Run
    from evalmark.stats.comparison.change import Comparison


def find_runs(references: Sequence[str], store: str, stores: ExitStack) -> Iterator["Run"]:
    """Yield the referenced runs with their spending."""
    return (run for _, run in find_stored_runs(references, store, stores))


def find_stored_runs(
    references: Sequence[str],
    store: str,
    stores: ExitStack,
    in_file: "Callable[[str, Store], Sequence[Run]] | None" = None,
) -> Iterator[tuple["Store", "Run"]]:
    """Yield the referenced runs with their stores; `in_file` selects the runs of a file without a run id."""
    run_stores: dict[str, Store] = {}
    for reference in references:
        path, name = run_location(reference, store)
        if path not in run_stores:
            run_stores[path] = stores.enter_context(open_store(path, read_only=True, notes=print_store_note))
        run_store = run_stores[path]
        for run in in_file(path, run_store) if in_file and is_file(reference) else [run_store.run(name)]:
            # A killed run has no spending in its header, but the call log has it.
            yield run_store, run if run.spending else replace(run, spending=run_store.spending(run.id))


def with_store_flag(comparison: "Comparison", store: str) -> "Comparison":
    """Add the `--store` flag of the baseline's store to the rescore command of a comparison."""
    return replace(comparison, rescore=comparison.rescore + store_flag(store)) if comparison.rescore else comparison


def is_file(reference: str) -> bool:
    """Whether the reference names a file without a run id."""
    return parse_run_address(reference) is None and not is_suite_reference(reference) and Path(reference).is_file()


def run_location(reference: str, store: str) -> tuple[str, str]:
    """Return the store of a reference (file or server address) and the run in it.

    Raises:
        ConfigError: the reference looks like a file that does not exist.
    """
    if (address := parse_run_address(reference)) is not None:
        return address
    if is_suite_reference(reference):
        return store, reference
    path, at, name = reference.rpartition("@")
    if Path(reference).is_file():
        return reference, "last"
    if at and Path(path).is_file():
        return path, name or "last"
    for file in filter(None, (reference, path)):
        if Path(file).name != file or file.endswith(".db"):
            raise ConfigError(
                f"{file}: this store file does not exist. Name a store as FILE or FILE@RUN, or a run by its id."
            )
    return store, reference
