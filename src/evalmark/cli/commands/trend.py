"""`evalmark trend`: a metric over the runs of a suite, with control limits."""

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from evalmark.cli.terminal.output import print_document, print_store_note, print_text, terminal_style
from evalmark.core.errors import ConfigError, NotFoundError
from evalmark.core.lazy import LazyModule

from . import flags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalmark.core.values.run import Run
    from evalmark.inputs.documents import atomic_write
    from evalmark.reports.files import trend as trend_files
    from evalmark.reports.terminal import trend as trend_chart
    from evalmark.stats.comparison import baseline_choice, metric_series
    from evalmark.stats.comparison.metric_series import MetricSeries
    from evalmark.storage.store import store as stored
    from evalmark.storage.store.store import Store
else:
    atomic_write = LazyModule("evalmark.inputs.documents.atomic_write")
    baseline_choice = LazyModule("evalmark.stats.comparison.baseline_choice")
    metric_series = LazyModule("evalmark.stats.comparison.metric_series")
    stored = LazyModule("evalmark.storage.store.store")
    trend_chart = LazyModule("evalmark.reports.terminal.trend")
    trend_files = LazyModule("evalmark.reports.files.trend")

FORMATS = ("json", "md")

Which = Annotated[
    str,
    typer.Argument(metavar="SUITE|RUN", help="A suite file, the name of a suite, or one of its runs, such as `last`."),
]
Metric = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="The metric to show, or `all` [default: pass rate].")
]
Target = Annotated[str | None, typer.Option("--target", metavar="NAME", help="Only this target [default: all].")]
Last = Annotated[
    int, typer.Option("-n", "--last", metavar="N", min=1, max=flags.MAX_COUNT, help="Number of runs to show.")
]
Output = Annotated[
    list[Path] | None, typer.Option("-o", "--output", metavar="FILE", help="Write a report: .json or .md. Repeatable.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="json|md", help="Write this format to the standard output instead of a chart."),
]


def add(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command()(trend)


def trend(  # noqa: PLR0913  each is a flag of the command line
    which: Which = "last",
    metric: Metric = None,
    target: Target = None,
    last: Last = 50,
    output: Output = None,
    to: To = None,
    store: flags.Store = None,
) -> None:
    """Show the pass rate or a metric over the runs of a suite, with control limits.

    The limits account for looking at every run: while nothing changes, the chance of any run outside is at most 5 %.

    For example: evalmark trend suite.yaml --metric all
    """
    _check_formats(to, output or [])
    with stored.open_store(flags.settings(store=store).store, read_only=True, notes=print_store_note) as run_store:
        runs = baseline_choice.runs_of_series(_newest(run_store, which), run_store.runs())
        if not runs:
            raise ConfigError(
                f"{which!r} has no complete run of all its cases, so there is no trend to show. Run the whole suite first."
            )
        found = metric_series.metric_series([metric_series.run_values(run) for run in runs])
    series = [metric_series.newest_runs(one, last) for one in found]
    chosen = _chosen(series, metric, target)
    for path in output or ():
        atomic_write.write_atomically(path, "".join(_document(path.suffix[1:], series, chosen)), "the trend")
    if to is not None:
        print_document(_document(to, series, chosen))
    elif not output:
        print_text(trend_chart.trend_screen(series, chosen, terminal_style()))


def _check_formats(to: str | None, output: "Sequence[Path]") -> None:
    if to is not None and to not in FORMATS:
        raise ConfigError(f"--to takes {' or '.join(FORMATS)}, not {to!r}.")
    for path in output:
        if path.suffix[1:] not in FORMATS:
            raise ConfigError(f"{path}: a trend is written as .json or .md; name a file with one of these extensions.")


def _newest(run_store: "Store", which: str) -> "Run":
    """Return the newest run of a suite that is given by its file or name, or the run with an id."""
    named = (one for one in run_store.runs() if which in (one.name, one.suite) or _is_file(one, which))
    if (found := next(named, None)) is not None:
        return found
    try:
        return run_store.run(which)
    except NotFoundError as error:
        raise ConfigError(f"{error} No run has this name or suite file either; evalmark list shows all runs.") from None


def _is_file(run: "Run", which: str) -> bool:
    return bool(run.suite) and PurePath(run.suite).name == PurePath(which).name


def _chosen(series: "Sequence[MetricSeries]", metric: str | None, target: str | None) -> "list[MetricSeries]":
    """Return the series to show.

    Raises:
        ConfigError: there is no such metric or target.
    """
    targets = list(dict.fromkeys(one.target for one in series))
    if target is not None and target not in targets:
        raise ConfigError(f"no run has the target {target!r}; there are {', '.join(map(repr, targets))}.")
    of_target = [one for one in series if target is None or one.target == target]
    names = list(dict.fromkeys(one.metric for one in of_target))
    if not names:
        raise ConfigError(
            "the runs have no metrics, so there is no trend to show. Score them first: evalmark rescore RUN --metric NAME"
        )
    if metric == "all":
        return of_target
    wanted = ("" if "" in names else names[0]) if metric in (None, "pass rate") else metric
    if wanted not in names:
        known = ", ".join(repr(name or "pass rate") for name in names)
        raise ConfigError(
            f"no run has the metric {metric!r}, or its verdicts are those of the pass rate in every run, which stands for it; there are {known}."
        )
    return [one for one in of_target if one.metric == wanted]


def _document(kind: str, series: "Sequence[MetricSeries]", chosen: "Sequence[MetricSeries]") -> "list[str]":
    if kind == "json":
        return list(trend_files.trend_as_json(chosen))
    return list(trend_files.trend_in_markdown(series, chosen))
