"""Carry out a merge of shards in front of a person: the table, what is missing, the exit code."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from evalmark import api, console, report, stats, store
from evalmark.errors import ConfigError
from evalmark.shell.progress import Progress
from evalmark.shell.shards import Stands, shards_of_suites
from evalmark.shell.terminal import complain, look_at, say
from evalmark.shell.words import once_more

WORST_FIRST = (1, 3, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the person wants of a merge besides its exit code."""

    places: Sequence[str]
    """The store that the whole goes to; that there are several is a fault."""
    worst: int = 5
    """How many of the worst cases to show."""
    quiet: bool = False

    @property
    def place(self) -> str:
        """The store that the whole goes to."""
        return self.places[0]


def carry_out_merge(shards: Sequence[str], source: str, wish: Wish) -> int:
    """Merge the runs that are named, those by id of the store `source`; gives the exit code of what comes of it.

    Where files hold shards of several suites, each suite is merged, and the worst code counts.

    Raises:
        EvalmarkError: they cannot be merged, or one cannot be read; nothing of the whole is kept.
    """
    if len(wish.places) > 1:
        raise ConfigError(
            f"-o names one store for the whole, and there are {', '.join(wish.places)}; name one of them."
        )
    if Path(wish.place).suffix.lstrip(".") in report.KINDS:
        raise ConfigError(
            f"{wish.place}: shards are merged into a store, as merged.db; reports of it are written with evalmark report."
        )
    with ExitStack() as stores:
        suites = shards_of_suites(shards, source, stores, lambda remark: complain(f"{remark}\n"))
        for found in suites:  # before there is a store for the whole
            api.refuse_no_whole([run for _, run in found])
        ledger = stores.enter_context(store.open_store(wish.place))
        codes = [_merge(found, ledger, wish) for found in suites]
    return min(codes, key=WORST_FIRST.index)


def _merge(found: Sequence[Stands], ledger: "store.Store", wish: Wish) -> int:
    """Merge the shards of one suite, and say what came of it."""
    with Progress(quiet=wish.quiet) as progress:
        progress.begin("merging", sum(len(run.results) for _, run in found))
        merged = api.merge_shards(found, ledger, progress.recorded)
    for remark in merged.remarks:
        complain(f"{remark}\n")
    summary = stats.summarise(merged.run)
    verdict = stats.judge(summary, merged.run.gate)
    if not wish.quiet:
        seen = look_at(merged.run, wish.place, wish.worst)
        say(console.terminal(merged.run, seen, summary=summary, verdict=verdict))
    if merged.run.status != "complete" and merged.run.suite:
        again = once_more(["run", merged.run.suite, "--store", wish.place])
        complain(
            f"Not complete. With the flags of the shards, this asks what is missing: {again} --resume {merged.run.id}\n"
        )
    return verdict.exit_code
