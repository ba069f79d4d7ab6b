"""Reports missing shards of an evaluation."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evalmark.core.values.run import Run, RunStatus

MISSING_PREFIX = "Missing: "
"""The prefix of notes about missing shards; a run that is resumed drops these notes."""
_NAMED = 10
"""The largest number of shard ranges in a note."""


def missing_shards(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return one sentence for each problem of an incomplete set of shards; empty unless all runs are shards."""
    shards = [run.shard for run in runs if run.shard is not None]
    if len(shards) < len(runs) or not shards:
        return ()
    of = max(shard.of for shard in shards)
    lost = sorted({*range(1, of + 1)} - {shard.number for shard in shards})
    notes = [f"{MISSING_PREFIX}{_listed(lost)} of {of} {'is' if len(lost) == 1 else 'are'} missing."] if lost else []
    broken = (run for run in runs if run.status != "complete")
    return (*notes, *(f"{MISSING_PREFIX}shard {run.shard} ({run.id}) did not finish." for run in broken))


def lone_shard(run: Run) -> Run:
    """Return a single shard as the only available part of an evaluation, which is then incomplete."""
    lost = missing_shards([run])
    if not lost:
        return replace(run, shard=None)
    datasets = tuple(replace(info, rows=None) for info in run.datasets)
    broken: RunStatus = "interrupted" if run.status == "complete" else run.status
    return replace(run, shard=None, status=broken, datasets=datasets, notes=(*own_notes([run]), *lost))


def own_notes(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the notes of the runs, without notes that say that a run is a shard."""
    yield from (note for run in runs for note in run.notes if run.shard is None or note != run.shard.note)


def _listed(numbers: Sequence[int]) -> str:
    """Format numbers of shards, consecutive ones as ranges.

    >>> _listed([3]), _listed([1, 2, 3, 7])
    ('shard 3', 'shards 1 to 3, 7')
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] + 1 == number:
            spans[-1].append(number)
        else:
            spans.append([number])
    ranges = [str(span[0]) if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans]
    more = " and others" if len(ranges) > _NAMED else ""
    return f"shard{'' if len(numbers) == 1 else 's'} {', '.join(ranges[:_NAMED])}{more}"
