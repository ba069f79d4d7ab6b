"""Reports: functions from a run to text. They open no file, read no store and print nothing."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .cleaning import clean
    from .digest import as_markdown
    from .document import as_json, as_jsonl
    from .junit import as_junit
    from .options import Look, Options, Writer
    from .page import as_html
    from .screen import one_case, run_list, terminal
    from .sheet import as_csv
    from .writers import WRITERS, writer_for

__all__ = [
    "WRITERS",
    "Look",
    "Options",
    "Writer",
    "as_csv",
    "as_html",
    "as_json",
    "as_jsonl",
    "as_junit",
    "as_markdown",
    "clean",
    "one_case",
    "run_list",
    "terminal",
    "writer_for",
]

__getattr__ = deferred(
    __name__,
    {
        "Look": "options",
        "Options": "options",
        "WRITERS": "writers",
        "Writer": "options",
        "as_csv": "sheet",
        "as_html": "page",
        "as_json": "document",
        "as_jsonl": "document",
        "as_junit": "junit",
        "as_markdown": "digest",
        "clean": "cleaning",
        "one_case": "screen",
        "run_list": "screen",
        "terminal": "screen",
        "writer_for": "writers",
    },
)
