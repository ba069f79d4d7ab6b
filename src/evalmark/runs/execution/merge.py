"""Merges shards, kept in several stores, into one run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random

from evalmark.core.text import count
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.run import Run
from evalmark.core.values.score import VerdictListener
from evalmark.storage.merging.shards import merged_header
from evalmark.storage.results.run_ids import new_run_id
from evalmark.storage.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedShards:
    """The run made of shards."""

    run: Run
    """As it is stored."""
    remarks: tuple[str, ...] = ()
    """Remarks on the merge, one sentence each."""


def merge_shards(
    shards: Sequence[tuple[Store, Run]], store: Store, on_verdicts: VerdictListener | None = None
) -> MergedShards:
    """Merge shards, each given with the store it is in, into one run, and store it.

    The same shards make a run of the same id, so that merging them once more adds labels given since, and nothing else. `on_verdicts`
    is called while results are merged, in another thread.

    Raises:
        ConfigError: they are not the shards of one run, or one is given twice; all faults are named, nothing was written.
        StoreError: a shard cannot be read, or the store cannot be written; nothing of the run is there.
    """
    run = merged_header([run for _, run in shards], "")
    run = replace(run, id=_id_of(run, [run for _, run in shards]))
    merge = store.merge(run, shards, on_verdicts)
    stored = store.run(run.id)
    remarks = [] if merge.is_new else [_merged_before(run, merge.labels)]
    if merge.damaged:
        was, is_sent = ("was", "it is") if merge.damaged == 1 else ("were", "they are")
        remarks.append(
            f"{count(merge.damaged, 'recorded call')} {was} damaged and left out; {is_sent} sent again when needed."
        )
    return MergedShards(run=stored, remarks=tuple(remarks))


def _merged_before(run: Run, labels: int) -> str:
    if not labels:
        return f"These shards were merged before, as {run.id}; nothing new is written."
    return f"These shards were merged before, as {run.id}; {count(labels, 'new label')} written there."


def _id_of(run: Run, shards: Sequence[Run]) -> str:
    """Return an id that sorts by the start of the first shard and is the same for the same state of the same shards."""
    states = sorted((shard.id, shard.status, shard.finished or "", len(shard.results)) for shard in shards)
    return new_run_id(datetime.fromisoformat(run.created), Random(fingerprint(states)))  # noqa: S311  no secret
