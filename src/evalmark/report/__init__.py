"""Reports: functions from a run to the text of a file. They open no file, read no store and print nothing."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .compared import comparison_in_markdown
    from .compared_annotations import comparison_annotations, comparison_for_github
    from .compared_document import comparison_as_json
    from .compared_writers import COMPARISON_WRITERS, comparison_writer_for
    from .digest import as_markdown
    from .document import as_json, as_jsonl
    from .github import LIMIT, LISTED, annotations, as_github
    from .junit import as_junit
    from .options import Options, Writer
    from .page import as_html
    from .separation import separation_page
    from .sheet import as_csv
    from .writers import KINDS, WRITERS, writer_for

__all__ = [
    "COMPARISON_WRITERS",
    "KINDS",
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
    "comparison_annotations",
    "comparison_as_json",
    "comparison_for_github",
    "comparison_in_markdown",
    "comparison_writer_for",
    "separation_page",
    "writer_for",
]

__getattr__ = deferred(
    __name__,
    {
        "COMPARISON_WRITERS": "compared_writers",
        "KINDS": "writers",
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
        "separation_page": "separation",
        "comparison_annotations": "compared_annotations",
        "comparison_as_json": "compared_document",
        "comparison_for_github": "compared_annotations",
        "comparison_in_markdown": "compared",
        "comparison_writer_for": "compared_writers",
        "writer_for": "writers",
    },
)
