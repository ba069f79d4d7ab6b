"""The one look of all pages, and the script of those that act."""

from collections.abc import Iterable
from importlib.resources import files

_LOOK = ("look.css", "compared.css", "drawn.css")
_ACTING = ("labels.css", "keys.css")


def look(*, acts: bool = False) -> str:
    """The style sheet that every page begins with: colours, type, tables, texts, forms, for light, dark and paper.

    With `acts` it has labels and keys as well, which stand on pages with a script.
    """
    return "".join(map(_file, _LOOK + _ACTING if acts else _LOOK))


def script(texts: Iterable[str] = ()) -> str:
    """The script of a page that acts: keys, then each of these texts; names that one of them gives stay in it."""
    return "".join(f"(() => {{\n{text}}})();\n" for text in (_file("keys.js"), *texts))


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
