"""Quality against cost and latency as JSON, Markdown and HTML, alone or after comparisons with several baselines."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalmark.core.values.plain_data import finite_number
from evalmark.reports.html.assets import standalone_values
from evalmark.reports.html.jinja import render_page, template_environment
from evalmark.reports.text.comparison import run_titles
from evalmark.reports.text.trade_offs import HEADS, trade_off_remarks, trade_off_rows, trade_off_title
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.trade_offs import TradeOff, TradeOffs

from .comparison_json import comparison_values
from .comparison_markdown import comparison_in_markdown
from .json_values import field_values, json_line
from .markdown import markdown_text

_TEMPLATES = Path(__file__).parent / "templates"
FORMAT = {"format": "evalmark-comparisons", "version": 1}


def trade_offs_as_json(trade_offs: TradeOffs, comparisons: Sequence[Comparison] = ()) -> Iterator[str]:
    """Yield one JSON document with the comparisons, each as in its own report, and the table."""
    yield (
        json_line(FORMAT | {"comparisons": [*map(comparison_values, comparisons)], **trade_off_values(trade_offs)})
        + "\n"
    )


def trade_off_values(trade_offs: TradeOffs) -> dict[str, Any]:
    """Convert the table to JSON values; unknown values are null."""
    return {
        "quality": trade_offs.metric or None,
        **field_values(trade_offs, "level", "tests", "unknown"),
        "trade_offs": [_values(row) for row in trade_offs.rows],
    }


def _values(row: TradeOff) -> dict[str, Any]:
    cost = row.cost
    return {
        **field_values(row, "name", "run", "target"),
        "quality": finite_number(row.quality),
        **field_values(row, "interval", "n"),
        "cost": finite_number(cost.cost),
        **field_values(cost, "priced", "unpriced", "uncalled"),
        "seconds_median": finite_number(row.seconds),
        **field_values(row, "standing", "others"),
    }


def trade_offs_in_markdown(trade_offs: TradeOffs, comparisons: Sequence[Comparison] = ()) -> Iterator[str]:
    """Yield the comparisons and the table as Markdown."""
    for comparison in comparisons:
        yield from comparison_in_markdown(comparison)
        yield "\n"
    called = _row_names(trade_offs, _run_names(comparisons))
    yield f"## {markdown_text(trade_off_title(trade_offs).capitalize())}\n\n"
    yield f"| {' | '.join(HEADS)} |\n|:--|--:|--:|--:|--:|:--|\n"
    for cells in trade_off_rows(trade_offs, called):
        yield f"| {' | '.join(map(markdown_text, cells))} |\n"
    yield "\n"
    for remark in trade_off_remarks(trade_offs, called):
        yield f"<sub>{markdown_text(remark)}</sub>\n\n"


def _run_names(comparisons: Sequence[Comparison]) -> dict[str, str]:
    """Return the name and time of each compared run by its id, with the id where another run has the same."""
    titles = {
        run: title for one in comparisons for run, title in zip((one.run, one.baseline), run_titles(one), strict=True)
    }
    times = Counter(titles.values())
    return {run: title if times[title] == 1 else f"{title} · {run}" for run, title in titles.items()}


def _row_names(trade_offs: TradeOffs, runs: Mapping[str, str]) -> dict[str, str]:
    """Return what the rows of named runs are called, with the target where a run has several."""
    targets = Counter(row.run for row in trade_offs.rows)
    return {
        row.name: f"{runs[row.run]} · {row.target}" if targets[row.run] > 1 else runs[row.run]
        for row in trade_offs.rows
        if row.run in runs
    }


def trade_offs_as_html(trade_offs: TradeOffs, comparisons: Sequence[Comparison] = ()) -> Iterator[str]:
    """Yield one page with the table and the comparisons, without scripts or remote content."""
    runs = _run_names(comparisons)
    values = {"trade_offs": trade_offs, "several": comparisons, "runs": runs, "called": _row_names(trade_offs, runs)}
    yield render_page(template_environment(_TEMPLATES, {}), "trade_offs_page.html", standalone_values() | values)


WRITERS = {".json": trade_offs_as_json, ".md": trade_offs_in_markdown, ".html": trade_offs_as_html}
"""Writers `write(trade_offs, comparisons=())` by file extension."""
