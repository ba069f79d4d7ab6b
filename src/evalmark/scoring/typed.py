"""A setting in the type that a scorer's parameter names."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError


def read(value: Any, hint: Any, folders: Sequence[Path]) -> tuple[Any, str]:
    """The value in the hinted type, or what is wrong with it."""
    try:
        adapter = TypeAdapter(hint)
    except PydanticUserError:  # a type of the user's own: nothing to check
        return value, ""
    try:
        return adapter.validate_python(value, strict=True), ""
    except ValidationError as error:
        problem = error.errors()[0]["msg"]
    try:
        read = adapter.validate_json(json.dumps(value), strict=True)
    except (ValidationError, TypeError, ValueError):
        return value, problem[:1].lower() + problem[1:]
    return (_placed(read, folders) if isinstance(read, Path) else read), ""


def _placed(path: Path, folders: Sequence[Path]) -> Path:
    """A path beside the file that names it, if it lies there."""
    return next((folder / path for folder in folders if (folder / path).exists()), path)
