"""Style sheets, scripts and keyboard shortcuts of pages, and the content policy of single-file pages."""

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from itertools import islice
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

_BASE = ("base.css", "rich_text.css", "reading.css", "comparison.css", "charts.css")
_INTERACTIVE = ("labels.css", "shortcuts.css")
_COLORS = re.compile(r":root \{\s*(?:color-scheme: light dark;)?([^}]*--back[^}]*)\}")
_PAGE_RULES = re.compile(
    r"^(?:html|body|main|\.top|\.skip|\.crumbs|\.filters|@keyframes|/\*)[^\n]*\n|^@media print \{.*?^\}\n",
    re.MULTILINE | re.DOTALL,
)
"""Rules of base.css for whole pages, for forms and for paper."""
_NOTEBOOK_RESET = (
    "h2 { margin: .8rem 0 .4rem; } .opening h2 { margin: 0; } table { table-layout: auto; border: 0; margin: 0; color: inherit; font: inherit; } "
    "tbody tr, tbody tr:nth-child(odd) { background: none; } th, td { max-width: none; } dt { float: none; width: auto; font-weight: normal; }"
)
"""Undoes the rules of notebooks that the style sheet does not set itself."""
_LIGHT_THEMES = ('[data-jp-theme-light="true"]', ".vscode-light", "html[theme=light]")
_DARK_THEMES = ('[data-jp-theme-light="false"]', ".vscode-dark", "html[theme=dark]")


def stylesheet(*, interactive: bool = False) -> str:
    """Return the common style sheet, for light, dark and print.

    With `interactive`, include the styles of labels and shortcuts, for pages with a script.
    """
    return "".join(map(_file, _BASE + _INTERACTIVE if interactive else _BASE))


def compared_cases_style() -> str:
    """Return the styles of `compared_cases.html`."""
    return _file("compared_cases.css")


def timeline_style() -> str:
    """Return the styles of `timeline.html`."""
    return _file("timeline.css")


@cache
def fragment_stylesheet() -> Markup:
    """Return the common style sheet for the element `.evalmark` of a page by others, such as a notebook.

    Colours follow the theme of JupyterLab, VS Code and Colab where they name one, else that of the system.
    """
    light, dark = (match[1] for match in islice(_COLORS.finditer(_file("base.css")), 2))
    rules = _PAGE_RULES.sub("", _COLORS.sub("", _file("base.css") + _file("comparison.css")))
    themes = [f"@media (prefers-color-scheme: dark) {{ .evalmark {{{dark}}} }}"]
    for colors, places in ((light, _LIGHT_THEMES), (dark, _DARK_THEMES)):
        themes.append(f"{', '.join(f'{place} .evalmark' for place in places)} {{{colors}}}")
    own = "padding: .8rem 1rem; background: var(--back); color: var(--text); font: 14px/1.5 system-ui, sans-serif;"
    own += " overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 7px;"
    # The class three times: as specific as the rules of notebooks for tables and lists, which would else win.
    nested = f"{own}\n{_NOTEBOOK_RESET}\n{rules}"
    return Markup(f".evalmark {{{light}}}\n" + "\n".join(themes) + f"\n.evalmark.evalmark.evalmark {{ {nested} }}")  # noqa: S704  trusted files


def script(texts: Iterable[str] = ()) -> str:
    """Return a page's script: the shortcuts, then each text in a scope of its own."""
    return "".join(f"(() => {{\n{text}}})();\n" for text in (_file("shortcuts.js"), *texts))


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def standalone_values(style: str = "", script: str = "") -> dict[str, Any]:
    """Values for `standalone.html`: style sheet, script, content security policy and the version of evalmark.

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
    return {
        "policy": Markup("; ".join(policy)),  # noqa: S704  trusted files, here and below
        "style": Markup(style),  # noqa: S704
        "script": Markup(script),  # noqa: S704
        "made_by": f"evalmark {version('evalmark')}",
    }


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
    Shortcut(("h", "l"), "previous and next answer of a row, or step of a timeline", "viewer"),
    Shortcut(("Enter", "o"), "open it, or close what is open; o unfolds a row in place"),
    Shortcut(("u", "d"), "label it good (thumb up) or bad (thumb down)", "labels"),
    Shortcut(("c",), "write a comment", "labels"),
    Shortcut(("r", "w"), "on the page of a case: say that a score is right or wrong", "viewer"),
    Shortcut(("1 to 9",), "on the page of a case: go to a score and open its reason", "viewer"),
    Shortcut(("e", "x"), "in a timeline: go to the next failed step, unfold all steps", "viewer"),
    Shortcut(("s", "z"), "in a queue: skip, undo", "viewer"),
    Shortcut(
        ("n", "p"),
        "in a comparison or a grid: next and previous case with other verdicts; of sessions: older and newer",
        "viewer",
    ),
    Shortcut(("/",), "search"),
    Shortcut(("Ctrl+K",), "go to a page, run, suite or metric", "viewer"),
    Shortcut(("Esc",), "leave a field"),
    Shortcut(("?",), "this list"),
)
