"""Style sheets, scripts and keyboard shortcuts of pages, and the content policy of single-file pages."""

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

_BASE = ("base.css", "comparison.css", "charts.css")
_INTERACTIVE = ("labels.css", "shortcuts.css")


def stylesheet(*, interactive: bool = False) -> str:
    """Return the common style sheet, for light, dark and print.

    With `interactive`, include the styles of labels and shortcuts, for pages with a script.
    """
    return "".join(map(_file, _BASE + _INTERACTIVE if interactive else _BASE))


def script(texts: Iterable[str] = ()) -> str:
    """Return a page's script: the shortcuts, then each text in a scope of its own."""
    return "".join(f"(() => {{\n{text}}})();\n" for text in (_file("shortcuts.js"), *texts))


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def standalone_values(style: str = "", script: str = "") -> dict[str, Any]:
    """Values for `standalone.html`: style sheet, script and content security policy.

    The policy allows only these two, by their hashes.
    """
    style = stylesheet(interactive=bool(script)) + style
    policy = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        *([f"script-src {_hash(script)}", "require-trusted-types-for 'script'"] if script else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return {"policy": Markup("; ".join(policy)), "style": Markup(style), "script": Markup(script)}  # noqa: S704  trusted files


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


ShortcutScope = Literal["", "labels", "viewer"]
"""Where a shortcut works: everywhere, on pages with labels, or in the viewer only."""


class Shortcut(NamedTuple):
    """A keyboard shortcut: one or two keys, and what they do."""

    names: tuple[str, ...]
    action: str
    of: ShortcutScope = ""


SHORTCUTS = (
    Shortcut(("j", "k"), "next and previous row, or case"),
    Shortcut(("h", "l"), "previous and next answer of a row", "viewer"),
    Shortcut(("Enter", "o"), "open it, or close what is open"),
    Shortcut(("u", "d"), "label it good (thumb up) or bad (thumb down)", "labels"),
    Shortcut(("c",), "write a comment", "labels"),
    Shortcut(("s", "z"), "in a queue: skip, undo", "viewer"),
    Shortcut(("n", "p"), "older and newer session", "viewer"),
    Shortcut(("/",), "search"),
    Shortcut(("Esc",), "leave a field"),
    Shortcut(("?",), "this list"),
)
