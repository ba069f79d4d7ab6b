"""Checks that runs are shards of one evaluation, and builds the header of the merged run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import DatasetInfo, Run, RunStatus, Shard
from evalmark.core.values.spending import spending_by_model

from .merged_run import common_value, merged_versions
from .missing import missing_shards, own_notes

MERGED_PREFIX = "Merged from shards: "
"""The prefix of the note that says which runs a run was merged from."""


def merged_header(shards: Sequence[Run], run_id: str) -> Run:
    """Build the header of the merged run, as a single machine would have written it, and note its shards.

    It is complete if every shard exists and is complete; notes say what is missing.

    Raises:
        ConfigError: some of them are not shards of the same run; the message names all faults.
    """
    if found := shard_faults(shards):
        raise ConfigError.of(found)
    ordered = sorted(shards, key=lambda run: _shard(run).number)
    first, lost = ordered[0], missing_shards(ordered)
    dealt = _shard(first)
    broken: RunStatus = "stopped" if any(run.status == "stopped" for run in ordered) else "interrupted"
    return replace(
        first,
        id=run_id,
        created=min(run.created for run in ordered),
        finished=max((run.finished for run in ordered if run.finished is not None), default=None),
        status=broken if lost else "complete",
        datasets=tuple(_in_all(infos, known=not lost) for infos in zip(*(r.datasets for r in ordered), strict=True)),
        revision=common_value(ordered, lambda run: run.revision),
        is_part=dealt.limit is not None or bool(dealt.only),
        shard=None,
        versions=merged_versions(ordered),
        spending=spending_by_model(spent for run in ordered for spent in run.spending),
        notes=tuple(dict.fromkeys((*own_notes(ordered), *_commits(ordered), *lost, merge_note(ordered)))),
        results=(),
    )


def merge_note(shards: Sequence[Run]) -> str:
    """Return the note that says which runs a run was merged from."""
    return f"{MERGED_PREFIX}{', '.join(run.id for run in sorted(shards, key=lambda run: _shard(run).number))}."


def is_merged(run: Run) -> bool:
    """Return whether a run was merged from shards."""
    return run.shard is None and any(note.startswith(MERGED_PREFIX) for note in run.notes)


def shard_faults(runs: Sequence[Run]) -> list[str]:
    """Return why runs are not shards of one evaluation, one sentence for each problem; empty if they are."""
    others = [_not_a_shard(run) for run in runs if run.shard is None]
    if others or not runs:
        return others
    return [*_duplicates(runs)] or [*_mismatches(runs)]


def _not_a_shard(run: Run) -> str:
    if is_merged(run):
        return f"run {run.id} is a merged run; name the shards that it was merged from: {_parts(run)}."
    return f"run {run.id} is not a shard: it covers all cases. Run the suite with --shard."


def _parts(run: Run) -> str:
    return (
        next(note for note in run.notes if note.startswith(MERGED_PREFIX)).removeprefix(MERGED_PREFIX).removesuffix(".")
    )


def _duplicates(runs: Sequence[Run]) -> Iterator[str]:
    seen: dict[str, Run] = {}
    for run in runs:
        earlier = seen.setdefault(str(run.shard), run)
        if earlier is not run and earlier.id == run.id:
            yield f"run {run.id} is named twice; name each shard once."
        elif earlier is not run:
            yield f"shard {run.shard} is named twice, as {earlier.id} and {run.id}; leave one of them out."


def _mismatches(runs: Sequence[Run]) -> Iterator[str]:
    first = runs[0]
    for run in runs[1:]:
        found = [what for what, of in _SHARED_PROPERTIES.items() if of(run) != of(first)]
        if rows := _other_rows(run, first):
            found.append(f"the rows of {', '.join(rows)}")
        if found:
            yield (
                f"shard {run.shard} ({run.id}) and shard {first.shard} ({first.id}) do not belong to the same run; they differ in "
                f"{', '.join(found)}."
            )


_SHARED_PROPERTIES: Mapping[str, Callable[[Run], object]] = {
    "the number of shards": lambda run: _shard(run).of,
    "the name of the suite": lambda run: run.name,
    "the target, the scorers or a model": lambda run: run.plan,
    "the datasets": lambda run: [info.name for info in run.datasets],
    "the number of repeats": lambda run: run.repeat,
    "the gate": lambda run: run.gate,
    "--limit": lambda run: _shard(run).limit,
    "--filter": lambda run: _shard(run).only,
}
"""The properties that all shards of one run share."""


def _other_rows(run: Run, first: Run) -> list[str]:
    """Return datasets with different rows in two shards; known only if both shards are complete."""
    here, there = _shard(run).dealt, _shard(first).dealt
    if any(
        metric.mode == "conversation" for metric in run.metrics
    ):  # with conversations, each shard reads only its own datasets
        return [name for name in here if name in there and here[name] != there[name]]
    ended = run.status == first.status == "complete"
    return [name for name in dict.fromkeys((*here, *there)) if ended and here.get(name) != there.get(name)]


def _shard(run: Run) -> Shard:
    if run.shard is None:
        raise ConfigError(f"run {run.id} is not a shard.")
    return run.shard


def _in_all(infos: Sequence[DatasetInfo], *, known: bool) -> DatasetInfo:
    """Return a dataset of the merged run; its rows are known once all shards are complete."""
    return replace(infos[0], rows=sum(info.rows or 0 for info in infos) if known else None)


def _commits(shards: Iterable[Run]) -> Iterator[str]:
    found = dict.fromkeys(run.revision for run in shards)
    if len(found) > 1:
        yield f"The shards were made from different commits: {', '.join(commit or 'an unknown one' for commit in found)}."
