"""Loads the prompt texts that are shipped with evalmark."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.document import document_of


@cache
def load_texts(package: str, name: str) -> dict[str, Any]:
    """Return the file `texts/NAME.yaml` of a sub-package of `evalmark.prompts`."""
    file = files(f"evalmark.prompts.{package}").joinpath("texts", f"{name}.yaml")
    found: dict[str, Any] = document_of(file.read_text(encoding="utf-8"), Path(file.name), lambda key: True).data
    return found
