"""Reports: functions from a run to the text of a file. They open no file, read no store and print nothing."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .digest import as_markdown
    from .document import as_json, as_jsonl
    from .github import LIMIT, LISTED, annotations, as_github
    from .junit import as_junit
    from .options import Options, Writer
    from .page import as_html
    from .sheet import as_csv
    from .writers import WRITERS, writer_for

__all__ = [
    "LIMIT",
    "LISTED",
    "WRITERS",
    "Options",
    "Writer",
    "annotations",
    "as_csv",
    "as_github",
    "as_html",
    "as_json",
    "as_jsonl",
    "as_junit",
    "as_markdown",
    "writer_for",
]

__getattr__ = deferred(
    __name__,
    {
        "LIMIT": "github",
        "LISTED": "github",
        "Options": "options",
        "WRITERS": "writers",
        "Writer": "options",
        "annotations": "github",
        "as_csv": "sheet",
        "as_github": "github",
        "as_html": "page",
        "as_json": "document",
        "as_jsonl": "document",
        "as_junit": "junit",
        "as_markdown": "digest",
        "writer_for": "writers",
    },
)
