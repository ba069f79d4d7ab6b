"""Reports of runs and comparisons for people and other tools.

`text` formats numbers, verdicts and sentences; `html` has the templates, styles and SVG charts; `terminal`, `files` and
`viewer` build on both. All but the viewer are functions from a run to text: they read no store and print nothing.

The names below are public.
"""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.reports.files.options import ReportOptions
    from evalmark.reports.files.writers import save, save_comparison
    from evalmark.reports.terminal.run_report import run_screen

__all__ = [
    "ReportOptions",
    "run_screen",
    "save",
    "save_comparison",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "ReportOptions": "evalmark.reports.files.options",
        "run_screen": "evalmark.reports.terminal.run_report",
        "save": "evalmark.reports.files.writers",
        "save_comparison": "evalmark.reports.files.writers",
    },
)
