"""The table `[tool.evalmark.models]`: endpoints with names chosen by the user."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.core.errors import ConfigError

from .addresses import validate_address

_TABLE = "pyproject.toml: [tool.evalmark.models]"
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_FIELDS = ("provider", "model", "base_url", "key", "api_version")
_PRICES = ("input", "output", "cached")
"""Prices of the model, read by `models.middleware.prices`."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """One row of the table."""

    provider: str
    model: str
    base_url: str = ""
    key: str = ""
    """The name of the variable that holds the key."""
    api_version: str = ""
    location: str = ""
    """Its location in the file, for messages."""


def read_table(table: Mapping[str, Any], providers: Collection[str]) -> dict[str, ModelEntry]:
    """Read and check the table.

    Raises:
        ConfigError: Rows or fields are invalid; each is named with its location, without values that may be keys.
    """
    faults: list[str] = []
    named = {name: row for name, given in table.items() if (row := _row(name, given, providers, faults)) is not None}
    if faults:
        raise ConfigError.of(faults)
    return named


def _row(name: str, given: Any, providers: Collection[str], faults: list[str]) -> ModelEntry | None:
    location = f"{_TABLE} {name}"
    if not _NAME.fullmatch(name):
        faults.append(f"{_TABLE} {name!r} cannot be a name. Use letters, digits, dots, dashes and underscores.")
        return None
    if not isinstance(given, Mapping):
        faults.append(f'{location} is not a table. Write {name} = {{provider = "openai", model = "MODEL"}}.')
        return None
    before = len(faults)
    faults += [
        f"{location}.{key} is unknown; an endpoint has {', '.join((*_FIELDS, *_PRICES))}."
        for key in given
        if key not in (*_FIELDS, *_PRICES)
    ]
    texts = {key: _text(f"{location}.{key}", given[key], faults) for key in _FIELDS if key in given}
    faults += [f"{location}.{key} is missing." for key in ("provider", "model") if key not in given]
    if len(faults) == before:
        _check(location, texts, providers, faults)
    return ModelEntry(location=location, **texts) if len(faults) == before else None


def _text(location: str, given: Any, faults: list[str]) -> str:
    if not isinstance(given, str) or not given.strip():
        # The value may be a misplaced key: only its type is named.
        faults.append(
            f"{location} is {'empty' if isinstance(given, str) else f'a {type(given).__name__}'}, not a text."
        )
        return ""
    return given.strip()


def _check(location: str, texts: Mapping[str, str], providers: Collection[str], faults: list[str]) -> None:
    provider = texts["provider"]
    if provider not in providers and provider != "google":
        faults.append(f"{location}.provider is {provider!r}; use one of {', '.join(providers)}.")
    if "key" in texts and not _VARIABLE.fullmatch(texts["key"]):
        faults.append(
            f"{location}.key must be the name of the variable that contains the key, such as MY_API_KEY, not the key itself."
        )
    if provider == "openai_compatible" and "base_url" not in texts:
        faults.append(
            f"{location}.base_url is missing. Write the address of the server, such as http://127.0.0.1:8000/v1."
        )
    if provider == "pydantic-ai" and not {"base_url", "key"}.isdisjoint(texts):
        faults.append(f"{location}: pydantic-ai finds address and key itself. Remove base_url and key.")
    if "api_version" in texts and provider != "azure":
        faults.append(f"{location}.api_version is for azure only. Remove it.")
    if "base_url" in texts:
        try:
            validate_address(texts["base_url"], f"{location}.base_url")
        except ConfigError as error:
            faults.append(str(error))
