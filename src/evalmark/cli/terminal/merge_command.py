"""Carry out a merge of shards in front of a person: the table, what is missing, the exit code."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.reports.files.writers import WRITERS
from evalmark.reports.terminal.run_report import run_screen
from evalmark.runs.execution.merge import merge_shards
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.merging.shards import shard_faults as merging_faults
from evalmark.storage.store.store import Store, open_store

from .command_line import repeat_command
from .output import print_error, print_text, run_look
from .progress import Progress
from .shards import StoredRun, shards_of_suites

if TYPE_CHECKING:
    from evalmark.core.values.run import Run

WORST_FIRST = (1, 3, 0)
_UNRECORDED_FLAGS = "--target, --model, --judge, --lock, --embeddings, --mode"
"""Flags that change a run and that no run records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """Options of a merge."""

    place: str
    """The store of the merged run."""
    worst: int = 5
    """The number of worst cases to show."""
    quiet: bool = False


def run_merge(shards: Sequence[str], source: str, wish: MergeOptions) -> int:
    """Merge the named runs and return the exit code; ids are looked up in the store `source`.

    Shards of several suites become one run per suite, and the worst code counts.

    Raises:
        EvalmarkError: the runs cannot be merged, or one cannot be read; nothing is stored then.
    """
    if wish.place.lower().endswith(tuple(WRITERS)):
        raise ConfigError(
            f"{wish.place}: shards are merged into a store, as merged.db; reports of it are written with evalmark report."
        )
    with ExitStack() as stores:
        suites = shards_of_suites(shards, source, stores, lambda remark: print_error(f"{remark}\n"))
        for found in suites:  # before the target store is created
            if faults := merging_faults([run for _, run in found]):
                raise ConfigError.of(faults)
        run_store = stores.enter_context(open_store(wish.place))
        codes = [_merge(found, run_store, wish) for found in suites]
    return min(codes, key=WORST_FIRST.index)


def _merge(found: Sequence[StoredRun], run_store: "Store", wish: MergeOptions) -> int:
    """Merge the shards of one suite and print the result."""
    with Progress(quiet=wish.quiet) as progress:
        progress.begin("merging", sum(len(run.results) for _, run in found))
        merged = merge_shards(found, run_store, progress.recorded)
    for remark in merged.remarks:
        print_error(f"{remark}\n")
    summary = summarise(merged.run)
    verdict = apply_gate(summary, merged.run.gate)
    if not wish.quiet:
        seen = run_look(merged.run, wish.place, wish.worst)
        print_text(run_screen(merged.run, seen, summary=summary, verdict=verdict))
    if merged.run.status != "complete" and merged.run.suite:
        print_error(
            "Not complete. This command runs the missing cases; add the flags of the shards that are not recorded "
            f"({_UNRECORDED_FLAGS}): {_remaining_command(found, merged.run, wish.place)}\n"
        )
    return verdict.exit_code


def _remaining_command(found: Sequence[StoredRun], whole: "Run", place: str) -> str:
    """Return the command that runs the missing cases of a merged run, with the recorded flags of its shards."""
    words = ["run", whole.suite, "--store", place, "--repeat", str(whole.repeat)]
    shard = found[0][1].shard  # the same in all shards, otherwise they could not be merged
    if shard is not None:
        words += ["--limit", str(shard.limit)] if shard.limit is not None else []
        words += [word for condition in shard.only for word in ("--filter", condition)]
    return f"{repeat_command(words)} --resume {whole.id}"
