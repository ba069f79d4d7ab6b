"""Run report as one HTML file: opens from disk, loads nothing, readable without JavaScript."""

from collections.abc import Iterator, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path

from evalmark.core.money import spent_lines, spent_title
from evalmark.core.text import one_line
from evalmark.core.values.run import Run
from evalmark.reports.html.assets import script, standalone_values, timeline_style
from evalmark.reports.html.escaping import visible
from evalmark.reports.html.jinja import template_environment
from evalmark.reports.text.best_target import BestTargetText, best_target_text
from evalmark.reports.text.change_words import CASE_WORDS
from evalmark.reports.text.gate_marks import trials_decided
from evalmark.reports.text.judges import agreement_rows
from evalmark.reports.text.numbers import limit_text
from evalmark.reports.text.titles import run_facts, run_origin, trial_counts
from evalmark.stats.comparison.baseline_outputs import baseline_outputs
from evalmark.stats.comparison.trade_offs import Candidate, trade_offs
from evalmark.stats.summary.gate import GateVerdict, summary_and_verdict
from evalmark.stats.summary.metric_summary import scale_ends
from evalmark.stats.summary.summary import Summary

from .case_list import NAMED, CaseList
from .case_rows import RowContext
from .options import DEFAULT_OPTIONS, ReportOptions
from .target_overview import overview_tables, split_overview

_COLUMNS = 12
"""Most metrics with a column of their own."""
_UNBROKEN = 5
"""Most metrics whose names a printed page has room for; more are broken within words."""
_WIDEST = 76.0
"""Widest table of cases, in rem, whose scores have columns of their own: that of a page of 1,280 pixels."""
_MOST_TESTED = 40_000
"""Most trials of a run whose targets are tested against each other."""
_FORMS = 8_000
"""Bytes after the rows without the script, rounded up."""
_OUTCOME_WORDS = {"worse": CASE_WORDS["worse"], "better": CASE_WORDS["better"], "other": "changed", "new": "new"}


def as_html(run: Run, summary: Summary | None = None, options: ReportOptions = DEFAULT_OPTIONS) -> Iterator[str]:
    """Yield the page: verdict, metrics, worst cases, then every case as an expandable row.

    `options.budget` limits its size: longer texts are cut to the same length, with a note.
    """
    summary, verdict = summary_and_verdict(run, summary)
    context, style = _about(run, summary, options), timeline_style() + _file("cases.css")
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
        "best": _best(run, summary),
        "sides": overview_tables(run, split_overview(run, summary)),
        "more": _more(run, summary, options),
        "looking": listing.worst if verdict.scored else [],
        "columns": context.columns,
        "timed": timed,
        "has_baseline": has_baseline,
        "has_expected": context.has_expected,
        "order": _order(run, summary, verdict, list(context.columns)),
        # Trials of several runs that are reported as one belong to no run of that name.
        "takes_labels": options.times and bool(run.id and summary.trials) and "+" not in run.id,
    }
    offered = {
        "cut": listing.cut,
        "fitted": listing.fitted,
        "cell": listing.cell,
        "timeline": listing.timeline,
        "rest": listing.rest,
        "outcome_words": _OUTCOME_WORDS,
    }
    templates = template_environment(Path(__file__).parent / "templates", offered)
    widths, is_stacked = _widths(context, summary, timed=timed)
    style += widths
    values["is_stacked"] = is_stacked
    width = 3 + context.has_expected + has_baseline + len(context.columns) + timed
    draw_row = partial(
        getattr(templates.get_template("row.html").module, "one"),  # noqa: B009  a macro
        timed=timed,
        width=width,
        has_expected=context.has_expected,
    )
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
        has_expected=any(one.trial.case.expected is not None for one in summary.worst or islice(run.results, 1)),
        earlier=earlier,
    )


def _best(run: Run, summary: Summary) -> BestTargetText | None:
    """Say which of several targets is the best; not in very large runs, where the tests would take minutes."""
    if len({group.target for group in summary.groups}) < 2 or summary.trials > _MOST_TESTED:
        return None
    return best_target_text(trade_offs([Candidate(name=run.id, run=run, prices=lambda keys: {})]))


def _order(run: Run, summary: Summary, verdict: GateVerdict, columns: list[str]) -> str:
    """Name the first order of the rows for the script: by the mean that missed the gate, else by how trials ended."""
    missed = [name for name in summary.missed if name in columns]
    if trials_decided(summary, run.gate, verdict) or not missed:
        return "verdict"
    lower = any(metric.direction == "lower" for metric in summary.metrics if metric.name == missed[0])
    return f"{'-' if lower else ''}score:{columns.index(missed[0])}"


def endings(summary: Summary) -> list[tuple[str, int]]:
    """Count how trials ended, including those left out of the headline."""
    tallies = [group.tally for group in summary.groups]
    names = {"pass": "passed", "fail": "failed", "error": "errors", "unscored": "unscored", "ungated": "ungated"}
    counts = [(kind, sum(getattr(tally, name) for tally in tallies)) for kind, name in names.items()]
    return [(kind, n) for kind, n in counts if n]


def _more(run: Run, summary: Summary, options: ReportOptions) -> list[tuple[str, Sequence[tuple[str, str]]]]:
    spending = spent_lines(run) if options.times else []
    return [("Judges compared", agreement_rows(summary.agreements)), (spent_title(run), spending)]


def _head(name: str, run: Run) -> str | None:
    """Threshold or direction of a metric for its column head; None if datasets differ."""
    limits = {(metric.direction, metric.threshold) for metric in run.metrics if metric.name == name}
    if len(limits) > 1:
        return None
    direction, threshold = next(iter(limits), ("higher", None))
    if threshold is None:
        return "↓" if direction == "lower" else ""
    return limit_text(direction, threshold)


def _widths(context: RowContext, summary: Summary, *, timed: bool) -> tuple[str, bool]:
    """Return the CSS of the column widths, since each row has a layout of its own, and whether scores share one column.

    They do if columns of their own would make the table wider than most screens.
    """
    lengths = {
        metric.name: max(map(len, metric.choices), default=0) + 8 for metric in summary.metrics if metric.choices
    }
    lengths |= {metric.name: 17 for metric in context.run.metrics if metric.unit and scale_ends(metric.unit)}
    heads = [min(11.0, max(6.5, 0.45 * len(name) + 1.3, 0.5 * lengths.get(name, 0) + 2)) for name in context.columns]
    texts = [13.0, *([9.0] if context.has_expected else [])]
    least = [12.0, 6.5, *([11.0] if context.earlier is not None else []), *texts, *heads, *([6.0] if timed else [])]
    is_stacked = bool(heads) and sum(least) > _WIDEST
    css = _card_heads(context, timed=timed, always=is_stacked)
    if len(context.columns) <= _UNBROKEN:
        css += "@media print{.all>thead>tr>*{overflow-wrap:normal}}\n"
    if is_stacked:
        scores = (len(heads) + timed + 1) // 2 + (context.earlier is not None)  # two beside each other
        rows = f"auto repeat({scores},auto) 1fr"
        texts_css = (
            ""
            if context.has_expected
            else "@media screen and (min-width:60.01rem){.all.stacked>tbody>tr:first-child>.a{grid-column:1/3}}\n"
        )
        return (
            f"@media screen and (min-width:60.01rem){{.all.stacked>tbody>tr:first-child{{grid-template-rows:{rows}}}}}\n{texts_css}{css}",
            True,
        )
    output = len(least) - len(heads) - timed - len(texts)
    shares = {0: "3fr", output: "4fr"} | ({output + 1: "2fr"} if context.has_expected else {})
    tracks = " ".join(
        f"minmax({width:.4g}rem,{shares[n]})" if n in shares else f"{width:.4g}rem" for n, width in enumerate(least)
    )
    css += f"@media screen and (min-width:60.01rem){{.all .none:not(.none + .none){{grid-column:span {len(heads) or 1}}}}}\n"
    return f".all{{--columns:{tracks};min-width:{sum(least):.4g}rem}}\n{css}", False


def _card_heads(context: RowContext, *, timed: bool, always: bool) -> str:
    """Return the CSS that names the cells of a case on a narrow screen, or always, where no column has a head."""
    first = 3 + (context.earlier is not None)
    texts = ["Output", *(["Expected"] if context.has_expected else [])]
    rules = [(first + n, "before", name) for n, name in enumerate(texts)]
    numbers = [*context.columns, *(["Time"] if timed else [])]
    rules += [(first + len(texts) + n, "after", name) for n, name in enumerate(numbers)]
    cell = ".all>tbody>tr:first-child>:nth-child({})::{}{{content:{}}}"
    where = "screen" if always else "screen and (max-width:60rem)"
    return f"@media {where}{{{''.join(cell.format(n, way, _css_string(name)) for n, way, name in rules)}}}\n"


def _css_string(text: str) -> str:
    r"""Quote a text for a style sheet; all but letters and digits of ASCII are escaped.

    >>> _css_string("a_b</style>")
    '"a\\5f b\\3c \\2f style\\3e "'
    """
    shown = one_line(visible(text), 40)
    return f'"{"".join(c if c.isascii() and c.isalnum() else f"{chr(92)}{ord(c):x} " for c in shown)}"'


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
