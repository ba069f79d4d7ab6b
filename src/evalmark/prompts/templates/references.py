"""Resolves `${env:NAME}` and `${file:PATH}`: only given variables, only files under the prompt's folder."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.document import DataPath, document_of
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.inputs.documents.findings import Findings, json_excerpt
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.documents.text import read_text
from evalmark.inputs.secrets.fields import secret_paths

from .frontmatter import is_text

MAX_FILE_BYTES = 4 << 20
"""The largest size of a referenced file."""
_TOO_LARGE = f"it is larger than {MAX_FILE_BYTES >> 20} MiB."
CONNECTION_KEYS = ("configuration", "connection")
"""Keys about the connection to a model. They may hold secrets, so they are neither resolved nor kept."""
REFERENCE_KEYS = (
    "inputs",
    "sample",
    "testSamples",
    "testData",
    "scenarios",
    "instructions",
    "model",
    "modelParameters",
)
"""Keys in which references are resolved."""
_SECRET = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\{(env|file):([^}]*)\}")
_DATA = (".json", ".yaml", ".yml")
_ODD = re.compile(r"^[A-Za-z][A-Za-z0-9+.\-]*:|\\|%[0-9A-Fa-f]{2}|[\x00-\x1f\x7f]")
"""URLs, drives, backslashes and escaped characters."""


def without_connections(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a file without those about connections to models or tools."""
    found = {key: value for key, value in data.items() if key not in CONNECTION_KEYS}
    return found | {key: _without(found[key]) for key in ("model", "tools") if key in found}


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(item) for key, item in value.items() if key not in CONNECTION_KEYS}
    return [_without(item) for item in value] if isinstance(value, list) else value


def resolve_references(data: Mapping[str, Any], env: Mapping[str, str], findings: Findings) -> dict[str, Any]:
    """Return the keys of a file with references replaced by their values, in the keys that are used here.

    Messages stay unchanged, and resolved values are not searched for further references.
    """
    return {
        key: _resolve(value, env, findings, (key,)) if key in REFERENCE_KEYS else value for key, value in data.items()
    }


def _resolve(data: Any, env: Mapping[str, str], findings: Findings, at: DataPath) -> Any:
    if isinstance(data, str):
        return _look_up(data, env, findings, at)
    if isinstance(data, dict):
        return {key: _resolve(value, env, findings, (*at, key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_resolve(value, env, findings, (*at, number)) for number, value in enumerate(data)]
    return data


def _look_up(text: str, env: Mapping[str, str], findings: Findings, at: DataPath) -> Any:
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        if _REFERENCE.search(text):
            findings.note(
                findings.line_of(at), "a reference inside other text is not resolved; it has to be the whole value."
            )
        return text
    kind, raw = found.groups()
    try:
        return _variable(raw, env) if kind == "env" else file_under(findings.document.path.parent, raw)
    except PlacedError as error:
        findings.add_fault(at, f"names the file {json_excerpt(raw)}: {error.message}")
    except DataError as error:
        if at[0] == "model":  # the command line usually names the model
            findings.note(findings.line_of(at), f"{json_path(at)} {error}")
        else:
            findings.add_fault(at, str(error))
    return None


def _variable(raw: str, env: Mapping[str, str]) -> str:
    name, colon, other = raw.partition(":")
    if _SECRET.search(name) or any(secret_paths({name: ""})):
        raise DataError(f"names the variable {json_excerpt(name)}, a secret; it would be recorded with every question.")
    if name in env:
        return env[name]
    if colon:
        return other
    raise DataError(f"names the variable {json_excerpt(name)}, which is not set; set it, or write the value itself.")


def file_under(folder: Path, raw: str) -> Any:
    """Return the data of a JSON or YAML file, or the text of another file, under a folder; links are followed.

    Raises:
        DataError: The path is not relative, leads out of the folder, or is not a regular file of at most 4 MiB.
    """
    parts = raw.split("/")
    if not raw.strip() or _ODD.search(raw) or raw.startswith(("/", "~")):
        raise PlacedError(json_excerpt(raw), "only a relative path inside the prompt's folder is allowed.")
    real, root = Path(os.path.realpath(folder / raw)), Path(os.path.realpath(folder))
    if ".." in parts or not real.is_relative_to(root):
        raise PlacedError(json_excerpt(raw), "it is outside the prompt's folder; copy the file there.")
    regular_file(folder / raw)
    if real.stat().st_size > MAX_FILE_BYTES:
        raise PlacedError(json_excerpt(raw), _TOO_LARGE)
    text = read_text(real)
    if len(text) > MAX_FILE_BYTES:  # gzip content may be larger than the file
        raise PlacedError(json_excerpt(raw), _TOO_LARGE)
    return document_of(text, real, is_text).data if real.suffix.lower() in _DATA else text
