"""The one look of all pages."""

from importlib.resources import files

_PARTS = ("look.css", "compared.css", "drawn.css")


def look() -> str:
    """The style sheet that every page begins with: colours, type, tables, texts, forms, for light, dark and paper."""
    return "".join(files(__package__).joinpath(name).read_text(encoding="utf-8") for name in _PARTS)
