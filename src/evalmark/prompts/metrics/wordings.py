"""The words of this room's questions, as data files."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.document import document_of


@cache
def texts(name: str) -> dict[str, Any]:
    """A file of texts that is shipped with evalmark."""
    file = files("evalmark.prompts.metrics").joinpath("texts", f"{name}.yaml")
    found: dict[str, Any] = document_of(file.read_text(encoding="utf-8"), Path(file.name), lambda key: True).data
    return found
