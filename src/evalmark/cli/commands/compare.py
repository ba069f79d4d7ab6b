"""`evalmark compare`: compare two stored runs."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.command_line import refuse_overwriting
from evalmark.cli.terminal.exit_codes import comparison_code
from evalmark.cli.terminal.output import (
    print_line,
    print_store_note,
    print_text,
    print_workflow_command,
    terminal_style,
    write_job_summary,
)
from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.text import count
from evalmark.inputs.documents.atomic_write import write_atomically

from . import flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalmark.cli.terminal import run_references
    from evalmark.core.values.run import Run
    from evalmark.reports.files import github, writers
    from evalmark.reports.files import trade_offs as trade_offs_files
    from evalmark.reports.terminal import comparison
    from evalmark.reports.terminal import trade_offs as trade_offs_screen
    from evalmark.reports.text import comparison as comparison_text
    from evalmark.runs.execution import baseline as baselines
    from evalmark.stats.comparison import compare as comparing
    from evalmark.stats.comparison import flip_examples, trade_offs
    from evalmark.stats.comparison.change import Comparison
    from evalmark.stats.comparison.flip_examples import FlipExample
    from evalmark.stats.comparison.trade_offs import TradeOffs
    from evalmark.storage.store import store as stored
    from evalmark.storage.store.store import Store
else:
    baselines = LazyModule("evalmark.runs.execution.baseline")
    comparing = LazyModule("evalmark.stats.comparison.compare")
    comparison = LazyModule("evalmark.reports.terminal.comparison")
    flip_examples = LazyModule("evalmark.stats.comparison.flip_examples")
    github = LazyModule("evalmark.reports.files.github")
    run_references = LazyModule("evalmark.cli.terminal.run_references")
    stored = LazyModule("evalmark.storage.store.store")
    trade_offs = LazyModule("evalmark.stats.comparison.trade_offs")
    trade_offs_files = LazyModule("evalmark.reports.files.trade_offs")
    trade_offs_screen = LazyModule("evalmark.reports.terminal.trade_offs")
    comparison_text = LazyModule("evalmark.reports.text.comparison")
    writers = LazyModule("evalmark.reports.files.writers")


_IN_PAGE = 100
"""Changed cases of each target in an HTML page, at least."""

NewerRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="The newer run: its id, the start of one, `last`, or FILE@RUN of another store."
    ),
]
Baselines = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="BASELINE",
        help="The earlier run, such as `last~1` or `last-green`; there may be several. Without one, the targets of RUN are compared.",
    ),
]
Target = Annotated[
    str | None, typer.Option("--target", metavar="NAME", help="A target of RUN, to compare with the one of --against.")
]
Against = Annotated[
    str | None, typer.Option("--against", metavar="NAME", help="Another target of RUN, instead of BASELINE.")
]
Pairs = Annotated[bool, typer.Option("--pairs", help="Show the outputs of changed cases side by side.")]
Margin = Annotated[
    float, typer.Option("--margin", metavar="0..1", help="Differences up to this size count as the same.")
]
Level = Annotated[float, typer.Option("--level", metavar="0..1", help="Confidence level of intervals and tests.")]
Limit = Annotated[
    int,
    typer.Option("-n", "--limit", metavar="N", min=1, max=flags.MAX_COUNT, help="Number of changed cases to show."),
]
Reports = Annotated[
    list[Path] | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write a report: .json, .md or .html. Repeatable."),
]

AllMetrics = Annotated[
    bool, typer.Option("--all-metrics", help="With several baselines, show every metric, not only those that decide.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="github", help="Write a GitHub job summary, and annotations to the standard output."),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command(
        epilog=flags.exit_codes(
            {
                0: "better, or the same within the margin",
                1: "worse",
                2: "usage error, or an invalid run or store",
                3: "cannot tell (0 with --allow-undecided)",
            }
        )
    )(compare)


def compare(  # noqa: PLR0913  each is a flag of the command line
    run: NewerRun,
    baseline: Baselines = None,
    target: Target = None,
    against: Against = None,
    pairs: Pairs = False,
    margin: Margin = 0.05,
    level: Level = 0.95,
    allow_undecided: flags.AllowUndecided = False,
    limit: Limit = 10,
    output: Reports = None,
    to: To = None,
    all_metrics: AllMetrics = False,
    store: flags.Store = None,
) -> None:
    """Compare the newer RUN with BASELINE, case by case: better, worse, the same within a margin, or cannot tell.

    With --target and --against, compare two targets of RUN instead. With several baselines, or with none for a RUN of
    several targets, also show quality against cost and latency.

    For example: evalmark compare last last~1
    """
    if to not in (None, "github"):
        raise ConfigError(
            f"--to takes github, not {to!r}; for a file, use -o FILE, whose extension (.json, .md, .html) selects the format."
        )
    if not (0 < level < 1 and 0 <= margin < 1):
        raise ConfigError(
            f"--level is {level:g} and --margin {margin:g}; the level has to lie between 0 and 1, the margin from 0 to below 1."
        )
    for path in output or []:
        writers.comparison_writer_for(path)
    if (baseline is None and target is None and against is None) or len(baseline or ()) > 1:
        if to or pairs:
            raise ConfigError(
                "compare: --to and --pairs are for one BASELINE; compare with one run at a time for them."
            )
        names, files = baseline or [], output or []
        shown, table = _compare_several(run, names, flags.settings(store=store).store, level, margin, files)
        code = _print_several(shown, names, table, limit, files, all_metrics=all_metrics)
        raise typer.Exit(comparison_code(code, allow_undecided=allow_undecided))
    named = _targets_to_compare(baseline, target, against)
    with ExitStack() as stores:
        newer, earlier = _runs(run, baseline[0] if baseline else None, flags.settings(store=store).store, stores)
        targets = None if named is None else comparing.two_targets(newer, *named)
        refuse_overwriting(
            [name for one in (newer, earlier) for name in (one.suite, *(d.path for d in one.datasets))], output or []
        )
        compared = comparing.compare(newer, earlier, level=level, margin=margin, targets=targets)
        texts = flip_examples.flip_examples(compared, newer, earlier, limit) if pairs or to else []
        compared = run_references.with_store_flag(
            compared,
            run_references.run_location(baseline[0] if baseline else run, flags.settings(store=store).store)[0],
        )
        print_text(comparison.comparison_screen(compared, terminal_style(), limit=limit, pairs=texts if pairs else ()))
        for path in output or []:
            is_page = path.suffix.lower() == ".html"  # which has room for more cases than a screen
            most = max(limit, _IN_PAGE) if is_page else limit if pairs else 0
            writers.save_comparison(compared, path, flip_examples.flip_examples(compared, newer, earlier, most))
            print_line(
                f"{path}: {comparison_text.comparison_title(compared) if targets else f'{compared.run} against {compared.baseline}'}"
            )
        if to:
            _to_github(compared, texts)
    raise typer.Exit(comparison_code(compared.exit_code, allow_undecided=allow_undecided))


def _targets_to_compare(baseline: list[str] | None, target: str | None, against: str | None) -> tuple[str, str] | None:
    """Return the two targets to compare, or None if a baseline is named."""
    if baseline is not None and (target is not None or against is not None):
        raise ConfigError(
            "compare: --target and --against name two targets of one run, and two runs are named; leave out BASELINE."
        )
    if baseline is not None:
        return None
    if target is None or against is None:
        flag, other = ("--against", "--target") if target is None else ("--target", "--against")
        raise ConfigError(f"compare: {flag} names one target of the run; name the other one with {other}.")
    return target, against


def _compare_several(
    run: str, names: list[str], store: str, level: float, margin: float, files: list[Path]
) -> "tuple[list[Comparison], TradeOffs]":
    """Compare a run with each baseline, and the quality, cost and latency of all targets.

    Raises:
        ConfigError: there is no baseline and a single target, or a report would overwrite an input.
    """
    with ExitStack() as stores:
        opened = _StoreOpener(store, stores)
        newer = opened.run(run)
        if not names and len(newer.run.target.split(", ")) < 2:
            raise ConfigError(
                f"compare: BASELINE is missing, and {newer.run.id} has a single target; name an earlier run, such as last~1."
            )
        earlier = [opened.baseline(name, newer.run) for name in names]
        every = [newer, *earlier]
        refuse_overwriting([p for one in every for p in (one.run.suite, *(d.path for d in one.run.datasets))], files)
        runs = [one.run for one in earlier]
        comparisons = comparing.compare_several(newer.run, runs, level=level, margin=margin) if runs else ()
        shown = [
            run_references.with_store_flag(one, run_references.run_location(name, store)[0])
            for one, name in zip(comparisons, names, strict=True)
        ]
        return shown, trade_offs.trade_offs(every, level=level, margin=margin)


def _print_several(
    comparisons: "list[Comparison]",
    names: list[str],
    table: "TradeOffs",
    limit: int,
    files: list[Path],
    *,
    all_metrics: bool,
) -> int:
    """Print the comparisons, their verdicts and the table, write the reports, and return the exit code.

    It is that of the least favourable comparison; 0 without baselines.
    """
    for one in comparisons:
        print_text(comparison.comparison_screen(one, terminal_style(), limit=limit, all_metrics=all_metrics))
    width = max(map(len, names), default=0)
    if names:
        print_line("\n  against")
    for one, name in zip(comparisons, names, strict=True):
        print_line(f"    {name:{width}}  {comparison_text.outcome_text(one)}")
    print_text(trade_offs_screen.trade_offs_screen(table, terminal_style()))
    for path in files:
        write_atomically(path, trade_offs_files.WRITERS[path.suffix.lower()](table, comparisons), "report")
        print_line(f"{path}: {count(len(table.rows), 'target')} compared")
    codes = {one.exit_code for one in comparisons}
    return next((code for code in (1, 3) if code in codes), 0)


class _StoreOpener:
    """Opens each store once, and finds runs in them."""

    def __init__(self, store: str, stores: ExitStack) -> None:
        self._default, self._stores = store, stores
        self._opened: dict[str, Store] = {}

    def store(self, path: str) -> "Store":
        if path not in self._opened:
            self._opened[path] = self._stores.enter_context(
                stored.open_store(path, read_only=True, notes=print_store_note)
            )
        return self._opened[path]

    def run(self, reference: str) -> "trade_offs.Candidate":
        path, name = run_references.run_location(reference, self._default)
        store = self.store(path)
        return trade_offs.Candidate(name=reference, run=store.run(name), prices=store.recordings.prices)

    def baseline(self, reference: str, newer: "Run") -> "trade_offs.Candidate":
        path, name = run_references.run_location(reference, self._default)
        store = self.store(path)
        chosen = baselines.baseline_of(store, name, newer)
        if chosen.run is None:
            raise ConfigError(chosen.reason or f"{reference!r} is not a run to compare with; name one by its id.")
        return trade_offs.Candidate(name=reference, run=chosen.run, prices=store.recordings.prices)


def _runs(run: str, baseline: str | None, store: str, stores: ExitStack) -> "tuple[Run, Run]":
    """Return both runs, each possibly from another store; the same run twice without a baseline."""
    opened = _StoreOpener(store, stores)
    newer = opened.run(run).run
    return (newer, newer) if baseline is None else (newer, opened.baseline(baseline, newer).run)


def _to_github(compared: "Comparison", pairs: "Sequence[FlipExample]") -> None:
    write_job_summary(lambda budget: github.comparison_for_github(compared, pairs, budget=budget))
    for line in github.comparison_annotations(compared, pairs):
        print_workflow_command(line)
