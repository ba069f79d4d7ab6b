"""Reads the targets of a suite that are not Python: HTTP services and commands."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.findings import json_excerpt
from evalmark.inputs.documents.json_query import query_fault
from evalmark.inputs.secrets.fields import secret_paths

from .models import AddFault, Folders, PlaceOf
from .suite import CommandSpec, HttpSpec

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""`${NAME}`: an environment variable, in a header."""
SUITE_FOLDER = "${suite_folder}"
"""The folder of the suite in a logged request, so that the request is the same on a machine where the folder is another one."""
_FIELDS = ("output", "contexts", "tool_calls", "usage", "cost")
"""Parts of a response that a JSONPath may name."""
_ORIGIN = re.compile(r"https?://[^/?#{}\s@]+(?:[/?#].*)?\Z", re.DOTALL)
"""An address whose server is fixed: a case may fill its path and query only."""
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset(("content-length", "host", "transfer-encoding", "accept-encoding", "connection"))
_SCHEMES = re.compile(r"^(?:Bearer|Basic|Token|ApiKey|Key)\s*$", re.IGNORECASE)


def http_of(target: Mapping[str, Any], target_at: DataPath, place_of: PlaceOf, add_fault: AddFault) -> HttpSpec | None:
    """Read an HTTP service; None if there are faults that the schema has reported."""
    at: DataPath = (*target_at, "http")
    _check_alone(target, target_at, "http", add_fault)
    http = target["http"]
    if not isinstance(http, Mapping) or not http.get("url"):
        return None
    url, method = str(http["url"]), str(http.get("method", "POST")).upper()
    if not _ORIGIN.match(url) or not urlsplit(url).hostname:
        add_fault((*at, "url"), f"is {json_excerpt(url)}; it takes an address such as http://127.0.0.1:8000/ask.")
    headers = {str(name): str(value) for name, value in (http.get("headers") or {}).items()}
    _check_headers((*at, "headers"), headers, add_fault)
    if method == "GET" and "body" in http:
        add_fault((*at, "body"), "cannot be sent with GET; put the values into the `url`, such as ?q={{input}}.")
    return HttpSpec(
        name=str(target.get("name") or ""),
        url=url,
        method=method,
        headers=headers,
        body=http.get("body"),
        queries=dict(_queries(at, http, add_fault)),
        place=place_of(target_at),
    )


def command_of(
    target: Mapping[str, Any], at: DataPath, folders: Folders, place_of: PlaceOf, add_fault: AddFault
) -> CommandSpec | None:
    """Read a command; None if there are faults that the schema has reported."""
    _check_alone(target, at, "command", add_fault)
    words = target["command"]
    if not isinstance(words, list) or not words or not all(isinstance(word, (str, int, float)) for word in words):
        return None
    workspace = None
    if (text := target.get("workspace")) is not None:
        workspace = next((path for folder in folders if (path := folder / text).is_dir()), None)
        if workspace is None:
            add_fault((*at, "workspace"), f"is {json_excerpt(text)}, and there is no such folder beside the suite.")
    return CommandSpec(
        name=str(target.get("name") or ""),
        words=tuple(map(str, words)),
        stdin=target.get("stdin"),
        queries=dict(_queries(at, target, add_fault)),
        workspace=workspace,
        folder=folders[0],
        is_cached=target.get("cache") is True,
        place=place_of(at),
    )


_KEYS: Mapping[str, tuple[str, ...]] = {
    "http": ("http", "name"),
    "command": ("command", "name", "stdin", "output", "contexts", "tool_calls", "workspace", "cache"),
}
"""The keys of a target of each kind."""


def _check_alone(target: Mapping[str, Any], at: DataPath, kind: str, add_fault: AddFault) -> None:
    for key in target:
        if key not in _KEYS[kind]:
            hint = "put it inside `http`" if kind == "http" and key in _FIELDS else "leave it out"
            add_fault((*at, key), f"cannot be combined with `{kind}`; {hint}.")


def _check_headers(at: DataPath, headers: Mapping[str, str], add_fault: AddFault) -> None:
    """Refuse invalid headers, and secrets that are written out: they would be in every copy of the suite."""
    for name, value in headers.items():
        if name.lower() in _OWN_HEADERS:
            add_fault((*at, name), "is set by evalmark itself; leave it out.")
        elif not _HEADER.fullmatch(name):
            add_fault((*at, name), "is not the name of a header; use letters, digits and hyphens.")
        elif not value.isprintable():
            add_fault((*at, name), "contains a line break or a control character; remove it.")
        rest = VARIABLE.sub("", value).strip()
        if any(secret_paths({name: ""})) and rest and not _SCHEMES.match(rest):
            add_fault((*at, name), "contains a secret; write ${NAME} and set that environment variable.")


def _queries(at: DataPath, settings: Mapping[str, Any], add_fault: AddFault) -> Iterator[tuple[str, str]]:
    for name in _FIELDS:
        if not isinstance(text := settings.get(name), str):
            continue
        if fault := query_fault(text):
            add_fault((*at, name), f"is {json_excerpt(text)}: {fault}.")
        yield name, text


def relative_program(word: str, folders: Folders) -> Path | None:
    """Return the file of a program that is named by a path, relative to the suite; None for a name such as `python`."""
    if "/" not in word and "\\" not in word:
        return None
    return next((path for folder in folders if (path := folder / word).is_file()), folders[0] / word)
