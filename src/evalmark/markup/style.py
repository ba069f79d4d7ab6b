"""The one look of all pages."""

from importlib.resources import files


def look() -> str:
    """The style sheet that every page begins with: colours, type, tables, texts, forms, for light, dark and paper."""
    return files(__package__).joinpath("look.css").read_text(encoding="utf-8")
