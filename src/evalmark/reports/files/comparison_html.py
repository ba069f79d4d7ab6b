"""Comparison of two runs as one HTML file: the verdict, the metrics, and the changed cases with both outputs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalmark.reports.html.assets import compared_cases_style, standalone_values
from evalmark.reports.html.compared_cases import case_of_example
from evalmark.reports.html.jinja import render_page, template_environment
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.flip_examples import FlipExample

_TEMPLATES = Path(__file__).parent / "templates"


def comparison_as_html(comparison: Comparison, pairs: Sequence[FlipExample] = ()) -> Iterator[str]:
    """Yield the page, without scripts or remote content; `pairs` are the changed cases to show with both outputs."""
    cases = [case_of_example(pair) for pair in pairs]
    values = {
        **standalone_values(compared_cases_style()),
        "comparison": comparison,
        "cases": {
            change.target: [one for one in cases if one.target == change.target] for change in comparison.targets
        },
    }
    yield render_page(template_environment(_TEMPLATES, {}), "comparison_page.html", values)
