"""Carry out a merge of shards in front of a person: the table, what is missing, the exit code."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from evalmark import api, console, report, stats, store
from evalmark.errors import ConfigError
from evalmark.shell.progress import Progress
from evalmark.shell.references import kept_beside
from evalmark.shell.terminal import complain, look, say
from evalmark.shell.words import once_more


def carry_out_merge(shards: Sequence[str], source: str, into: str | None, worst: int, *, quiet: bool) -> int:
    """Merge the runs that are named, those by id of the store `source`, and give the exit code of what comes of it.

    Raises:
        EvalmarkError: they cannot be merged, or one cannot be read; nothing of the whole is kept.
    """
    place = source if into is None else into
    if Path(place).suffix.lstrip(".") in report.KINDS:
        raise ConfigError(
            f"{place}: shards are merged into a store, as merged.db; reports of it are written with evalmark report."
        )
    with ExitStack() as stores:
        found = [*kept_beside(shards, source, stores)]
        ledger = stores.enter_context(store.open_store(place))
        with Progress(quiet=quiet) as progress:
            progress.begin("merging", sum(len(run.results) for _, run in found))
            merged = api.merge_shards(found, ledger, progress.recorded)
        for remark in merged.remarks:
            complain(f"{remark}\n")
        summary = stats.summarise(merged.run)
        verdict = stats.judge(summary, merged.run.gate)
        if not quiet:
            say(console.terminal(merged.run, look(store.told_place(place), worst), summary=summary, verdict=verdict))
    if merged.run.status != "complete" and merged.run.suite:
        again = once_more(["run", merged.run.suite, "--store", place])
        complain(
            f"Not complete. With the flags of the shards, this asks what is missing: {again} --resume {merged.run.id}\n"
        )
    return verdict.exit_code
