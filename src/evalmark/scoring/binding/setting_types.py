"""Converts a setting to the type of a scorer's parameter."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import allowed_path


def read_setting(value: Any, hint: Any, folders: Sequence[Path]) -> tuple[Any, str]:
    """Return the value in the hinted type, and what is wrong with it."""
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
    try:
        return _resolve_paths(read, folders), ""
    except PlacedError as fault:
        raw = fault.message.replace(", or give it on the command line", "").rstrip(".")
        return value, f"it {raw}" if raw.startswith(("leads", "is ", "hides")) else raw


def _resolve_paths(read: Any, folders: Sequence[Path]) -> Any:
    """Resolve every path in a value against the folder of the file that names it.

    Raises:
        DataError: A file names a path outside the folders that it may use.
    """
    if isinstance(read, (list, tuple, set, frozenset)):
        return type(read)(_resolve_paths(item, folders) for item in read)
    if isinstance(read, dict):
        return {key: _resolve_paths(item, folders) for key, item in read.items()}
    if not isinstance(read, Path):
        return read
    if isinstance(folders, AllowedFolders):
        return allowed_path(str(read), *folders, is_code=read.suffix == ".py")
    return next((folder / read for folder in folders if (folder / read).exists()), read)
