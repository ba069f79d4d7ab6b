"""Reports: functions from a run to text. They open no file, read no store and print nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_FILES = {
    "cleaning": ("clean",),
    "digest": ("as_markdown",),
    "document": ("as_json", "as_jsonl"),
    "junit": ("as_junit",),
    "options": ("Look", "Options", "Writer"),
    "page": ("as_html",),
    "screen": ("one_case", "run_list", "terminal"),
    "sheet": ("as_csv",),
    "writers": ("WRITERS", "writer_for"),
}


def __getattr__(name: str) -> Any:
    """Loads a name's file at first use, so that importing the room costs nothing."""
    for file, names in _FILES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
