"""Run report as one HTML file: opens from disk, loads nothing, readable without JavaScript."""

from collections.abc import Iterator, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path

from evalmark.core.money import spent_lines
from evalmark.core.values.run import Run
from evalmark.reports.html.assets import script, standalone_values
from evalmark.reports.html.jinja import template_environment
from evalmark.reports.text.judges import agreement_rows
from evalmark.reports.text.numbers import limit_text
from evalmark.reports.text.titles import run_facts, run_origin, trial_counts
from evalmark.stats.comparison.baseline_outputs import baseline_outputs
from evalmark.stats.summary.gate import summary_and_verdict
from evalmark.stats.summary.metric_summary import scale_ends
from evalmark.stats.summary.summary import Summary

from .case_list import NAMED, CaseList
from .case_rows import RowContext
from .options import DEFAULT_OPTIONS, ReportOptions
from .target_overview import overview_tables, split_overview

_COLUMNS = 12
"""Most metrics with a column of their own."""
_FORMS = 8_000
"""Bytes after the rows without the script, rounded up."""
_WENT = {"worse": "worse", "better": "better", "other": "changed", "new": "new"}


def as_html(run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """Yield the page: verdict, metrics, worst cases, then every case as an expandable row.

    `options.room` limits its size: longer texts are cut to the same length, with a note.
    """
    summary, verdict = summary_and_verdict(run, summary)
    context, style = _about(run, summary, options), _file("cases.css")
    acting = script([_file("cases.js")]) if summary.trials else ""
    listing = CaseList(about=context, summary=summary, options=options, behind=len(acting.encode()) + _FORMS)
    timed = options.times and summary.total.seconds_median is not None
    has_baseline = context.earlier is not None
    values = {
        "run": run,
        "summary": summary,
        "verdict": verdict,
        "facts": [*run_facts(run, summary), *run_origin(run)] if options.times else trial_counts(summary),
        "endings": endings(summary),
        "comparison": options.comparison,
        "sides": overview_tables(run, split_overview(run, summary)),
        "more": _more(run, summary, options),
        "looking": [(row.id, row.name) for row in listing.worst] if verdict.scored else [],
        "columns": context.columns,
        "timed": timed,
        "has_baseline": has_baseline,
        # Trials of several runs that are reported as one belong to no run of that name.
        "takes_labels": options.times and bool(run.id and summary.trials) and "+" not in run.id,
    }
    offered = {"cut": listing.cut, "fitted": listing.fitted, "rest": listing.rest, "WENT": _WENT}
    templates = template_environment(Path(__file__).parent / "templates", offered)
    style += _widths(context, summary, timed=timed)
    width = 3 + has_baseline + len(context.columns) + timed
    draw_row = partial(getattr(templates.get_template("row.html").module, "one"), timed=timed, width=width)  # noqa: B009  a macro
    page = templates.get_template("report.html").generate(
        values, **standalone_values(style, acting), rows=listing.rows(draw_row)
    )
    for chunk in page:
        listing.written += len(chunk.encode())
        yield chunk


def _about(run: Run, summary: Summary, options: ReportOptions) -> RowContext:
    comparison, baseline = options.comparison, options.baseline
    earlier = None
    if comparison is not None and baseline is not None:
        shown = chain(islice(run.results, options.cases), summary.worst[:NAMED])
        earlier = baseline_outputs(comparison, shown, baseline)
    return RowContext(
        run=run,
        columns={name: _head(name, run) for name in islice(summary.metric_names, _COLUMNS)},
        times=options.times,
        earlier=earlier,
    )


def endings(summary: Summary) -> list[tuple[str, int]]:
    """Count how trials ended, including those left out of the headline."""
    tallies = [group.tally for group in summary.groups]
    names = {"pass": "passed", "fail": "failed", "error": "errors", "unscored": "unscored", "ungated": "ungated"}
    counts = [(kind, sum(getattr(tally, name) for tally in tallies)) for kind, name in names.items()]
    return [(kind, n) for kind, n in counts if n]


def _more(run: Run, summary: Summary, options: ReportOptions) -> list[tuple[str, Sequence[tuple[str, str]]]]:
    spending = spent_lines(run) if options.times else []
    return [("Judges compared", agreement_rows(summary.agreements)), ("Model calls", spending)]


def _head(name: str, run: Run) -> str | None:
    """Threshold or direction of a metric for its column head; None if datasets differ."""
    limits = {(metric.direction, metric.threshold) for metric in run.metrics if metric.name == name}
    if len(limits) > 1:
        return None
    direction, threshold = next(iter(limits), ("higher", None))
    if threshold is None:
        return "↓" if direction == "lower" else ""
    return limit_text(direction, threshold)


def _widths(context: RowContext, summary: Summary, *, timed: bool) -> str:
    """Return the CSS of the column widths; each row has a layout of its own."""
    lengths = {
        metric.name: max(map(len, metric.choices), default=0) + 8 for metric in summary.metrics if metric.choices
    }
    lengths |= {metric.name: 17 for metric in context.run.metrics if metric.unit and scale_ends(metric.unit)}
    heads = [min(11.0, max(6.5, 0.45 * len(name) + 1.3, 0.5 * lengths.get(name, 0) + 2)) for name in context.columns]
    least = [10.0, 6.5, *([11.0] if context.earlier is not None else []), 13.0, *heads, *([6.0] if timed else [])]
    shares = {0: "2fr", len(least) - len(heads) - timed - 1: "3fr"}
    tracks = " ".join(
        f"minmax({width:.4g}rem,{shares[n]})" if n in shares else f"{width:.4g}rem" for n, width in enumerate(least)
    )
    return f".all{{--columns:{tracks};min-width:{sum(least):.4g}rem}}\n"


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
