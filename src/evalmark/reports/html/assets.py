"""What a page needs to be one file: its style, its script, and a policy that lets nothing else in."""

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

_LOOK = ("look.css", "compared.css", "drawn.css")
_ACTING = ("labels.css", "keys.css")


def stylesheet(*, acts: bool = False) -> str:
    """The style sheet that every page begins with: colours, type, tables, texts, forms, for light, dark and paper.

    With `acts` it has labels and keys as well, which stand on pages with a script.
    """
    return "".join(map(_file, _LOOK + _ACTING if acts else _LOOK))


def script(texts: Iterable[str] = ()) -> str:
    """The script of a page that acts: keys, then each of these texts; names that one of them gives stay in it."""
    return "".join(f"(() => {{\n{text}}})();\n" for text in (_file("keys.js"), *texts))


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def standalone_values(style: str = "", script: str = "") -> dict[str, Any]:
    """What `alone.html` has to be given: the common look with more `style` behind it, a script of ours, and the policy.

    The policy names both by their hash, so that nothing else on the page can act, whatever gets into it.
    """
    style = stylesheet(acts=bool(script)) + style
    policy = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        *([f"script-src {_hash(script)}", "require-trusted-types-for 'script'"] if script else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return {"policy": Markup("; ".join(policy)), "style": Markup(style), "script": Markup(script)}  # noqa: S704  files of ours


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


ShortcutScope = Literal["", "labels", "viewer"]
"""Where a key acts: everywhere, where labels are given, or in the viewer alone."""


class Shortcut(NamedTuple):
    """A key, or two of a kind, and what it does."""

    names: tuple[str, ...]
    does: str
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
