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
"""Flags that make a run another one, and that no run notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """What the person wants of a merge besides its exit code."""

    place: str
    """The store that the whole goes to."""
    worst: int = 5
    """How many of the worst cases to show."""
    quiet: bool = False


def run_merge(shards: Sequence[str], source: str, wish: MergeOptions) -> int:
    """Merge the runs that are named, those by id of the store `source`; gives the exit code of what comes of it.

    Where files hold shards of several suites, each suite is merged, and the worst code counts.

    Raises:
        EvalmarkError: they cannot be merged, or one cannot be read; nothing of the whole is kept.
    """
    if wish.place.lower().endswith(tuple(WRITERS)):
        raise ConfigError(
            f"{wish.place}: shards are merged into a store, as merged.db; reports of it are written with evalmark report."
        )
    with ExitStack() as stores:
        suites = shards_of_suites(shards, source, stores, lambda remark: print_error(f"{remark}\n"))
        for found in suites:  # before there is a store for the whole
            if faults := merging_faults([run for _, run in found]):
                raise ConfigError.of(faults)
        ledger = stores.enter_context(open_store(wish.place))
        codes = [_merge(found, ledger, wish) for found in suites]
    return min(codes, key=WORST_FIRST.index)


def _merge(found: Sequence[StoredRun], ledger: "Store", wish: MergeOptions) -> int:
    """Merge the shards of one suite, and say what came of it."""
    with Progress(quiet=wish.quiet) as progress:
        progress.begin("merging", sum(len(run.results) for _, run in found))
        merged = merge_shards(found, ledger, progress.recorded)
    for remark in merged.remarks:
        print_error(f"{remark}\n")
    summary = summarise(merged.run)
    verdict = apply_gate(summary, merged.run.gate)
    if not wish.quiet:
        seen = run_look(merged.run, wish.place, wish.worst)
        print_text(run_screen(merged.run, seen, summary=summary, verdict=verdict))
    if merged.run.status != "complete" and merged.run.suite:
        print_error(
            "Not complete. This asks what is missing; add what the shards were given besides to say what is tested and by "
            f"what ({_UNRECORDED_FLAGS}): {_remaining_command(found, merged.run, wish.place)}\n"
        )
    return verdict.exit_code


def _remaining_command(found: Sequence[StoredRun], whole: "Run", place: str) -> str:
    """The command that asks what is missing of a merged run, with the flags of its shards that are known."""
    words = ["run", whole.suite, "--store", place, "--repeat", str(whole.repeat)]
    shard = found[0][1].shard  # all of them say the same, or they would not have been merged
    if shard is not None:
        words += ["--limit", str(shard.limit)] if shard.limit is not None else []
        words += [word for condition in shard.only for word in ("--filter", condition)]
    return f"{repeat_command(words)} --resume {whole.id}"
