"""Merge shards from the command line: table, missing cases and exit code."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.reports.files.writers import WRITERS
from evalmark.reports.terminal.run_report import run_screen
from evalmark.runs.execution.merge import merge_shards
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.merging.shards import is_merged
from evalmark.storage.merging.shards import shard_faults as merging_faults
from evalmark.storage.store.store import Store, open_store

from .command_line import repeat_command
from .exit_codes import worst_code
from .output import print_error, print_store_note, print_text, run_style
from .progress import Progress
from .run_references import find_stored_runs, is_file

if TYPE_CHECKING:
    from evalmark.core.values.run import Run

_UNRECORDED_FLAGS = "--target, --model, --judge, --lock, --embeddings, --mode"
"""Flags that change a run and that no run records."""


StoredRun = tuple["Store", "Run"]
"""A run with its store."""


def run_merge(shards: Sequence[str], source: str, target: str, *, worst: int = 5, quiet: bool = False) -> int:
    """Merge the named runs into the store `target` and return the exit code; ids are looked up in the store `source`.

    `worst` is the number of worst cases to show.

    Shards of several suites become one run per suite, and the worst code counts.

    Raises:
        EvalmarkError: the runs cannot be merged, or one cannot be read; nothing is stored then.
    """
    if target.lower().endswith(tuple(WRITERS)):
        raise ConfigError(
            f"{target}: shards are merged into a store, as merged.db; reports of it are written with evalmark report."
        )
    with ExitStack() as stores:
        suites = shards_of_suites(shards, source, stores, lambda remark: print_error(f"{remark}\n"))
        for shards_of_suite in suites:  # before the target store is created
            if faults := merging_faults([run for _, run in shards_of_suite]):
                raise ConfigError.of(faults)
        run_store = stores.enter_context(open_store(target, notes=print_store_note))
        codes = [_merge(shards_of_suite, run_store, target, worst=worst, quiet=quiet) for shards_of_suite in suites]
    return worst_code(codes)


def _merge(shards: Sequence[StoredRun], run_store: "Store", target: str, *, worst: int, quiet: bool) -> int:
    with Progress(quiet=quiet) as progress:
        progress.begin("merging", sum(len(run.results) for _, run in shards))
        merged = merge_shards(shards, run_store, progress.recorded)
    for remark in merged.remarks:
        print_error(f"{remark}\n")
    summary = summarise(merged.run)
    verdict = apply_gate(summary, merged.run.gate)
    if not quiet:
        look = run_style(merged.run, target, worst)
        print_text(run_screen(merged.run, look, summary=summary, verdict=verdict))
    if merged.run.status != "complete" and merged.run.suite:
        print_error(
            "Not complete. This command runs the missing cases; add the flags of the shards that are not recorded "
            f"({_UNRECORDED_FLAGS}): {_remaining_command(shards, merged.run, target)}\n"
        )
    return verdict.exit_code


def _remaining_command(shards: Sequence[StoredRun], whole: "Run", store: str) -> str:
    """Return the command that runs the missing cases of a merged run, with the recorded flags of its shards."""
    arguments = ["run", whole.suite, "--store", store, "--repeat", str(whole.repeat)]
    shard = shards[0][1].shard  # equal in all shards, otherwise the merge refuses them
    if shard is not None:
        arguments += ["--limit", str(shard.limit)] if shard.limit is not None else []
        arguments += [word for condition in shard.only for word in ("--filter", condition)]
    return f"{repeat_command(arguments)} --resume {whole.id}"


def shards_of_suites(
    references: Sequence[str], source: str, stores: ExitStack, tell: Callable[[str], None]
) -> list[list[StoredRun]]:
    """Return the referenced shards, grouped by suite in the order in which they ran.

    `tell` receives a message for each shard in the files that is left out.

    Raises:
        ConfigError: the references mix a run with a file of shards of several suites, which is ambiguous.
        StoreError: a run does not exist, or a store cannot be read.
    """
    several: dict[str, list[Run]] = {}

    def in_file(path: str, run_store: "Store") -> "list[Run]":
        shards = _newest(path, run_store, tell)
        if len(shards) > 1:
            several[path] = shards
        return shards

    stored = [*find_stored_runs(references, source, stores, in_file)]
    if not several:
        return [stored]
    if not all(map(is_file, references)):
        raise ConfigError.of([_unclear(path, shards) for path, shards in several.items()])
    suites: dict[tuple[str, str], list[StoredRun]] = {}
    for run_store, run in stored:
        suites.setdefault(_suite(run), []).append((run_store, run))
    return [*suites.values()]


def _newest(path: str, run_store: "Store", tell: Callable[[str], None]) -> "list[Run]":
    """Return the newest shard of each suite in a store, oldest suite first, without merged runs.

    Without shards, return the newest run; the merge then reports that it is not a shard.
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
                f"{path}: merging {newest.id}, the newest run of {newest.suite or newest.name}; {other.id}, "
                f"{_differs(other, newest)}, is left out; to merge it, name {path}@{other.id}."
            )
    return [newest for newest, *_ in reversed(having)] or [run_store.run("last")]


def _differs(run: "Run", newest: "Run") -> str:
    """Return how an earlier shard differs from the newest one, or an empty text."""
    if run.plan != newest.plan:
        return "with another target, other scorers or models"
    return f"shard {run.shard}" if str(run.shard) != str(newest.shard) else ""


def _suite(run: "Run") -> tuple[str, str]:
    return run.suite, "" if run.suite else run.name


def _unclear(path: str, shards: "Sequence[Run]") -> str:
    suites = ", ".join(f"{run.suite or run.name} ({run.id})" for run in shards)
    return f"{path}: there are shards of several suites, {suites}; name one of them, such as {path}@{shards[-1].id}."
