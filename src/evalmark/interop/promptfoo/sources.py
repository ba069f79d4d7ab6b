"""Read what promptfoo's configs keep in other files: tests, defaults and values of variables."""

import base64
import json
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.foreign.allowed_folders import project_roots
from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import allowed_path, open_file
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import read_text

Data = dict[str, Any]
MOST_FILES = 100_000
"""The most files and folders that are looked at for a pattern."""
MOST_WILDCARDS = 10
MOST_REFERENCES = 100_000
"""The most values after references are replaced."""
MOST_BYTES = 4 << 20
"""Bytes of a picture, a sound or a film in a variable."""
CODE_ENDINGS = (".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
_PICTURES = {".jpg": "jpeg", ".jpeg": "jpeg", ".png": "png", ".gif": "gif", ".webp": "webp", ".bmp": "bmp"}
_MEDIA = (".mp3", ".wav", ".ogg", ".m4a", ".flac", ".mp4", ".webm", ".mov", ".avi", ".mkv")
_UNREAD = (".xlsx", ".xls", ".pdf", ".docx")


class UnreadableSourceError(Exception):
    """A file that a config names cannot be read, or is code; the text is the reason."""


def matching_files(name: str, folder: Path) -> list[Path]:
    """Return the files of a name or pattern such as `tests/*.yaml`, sorted; they lie under the folder or its project.

    A file that is not in the folder is looked for at the root of its project, where promptfoo may have been started.

    Raises:
        UnreadableSourceError: there is no such file, or it lies elsewhere.
    """
    text = name.removeprefix("file://")
    try:
        if not is_pattern(text) or (folder / text).is_file():
            return [allowed_path(text, folder, *project_roots((folder,)))]
        files = [allowed_path(os.path.relpath(path, folder), folder) for path in _matches(text, folder)]
    except DataError as error:
        why = error.message if isinstance(error, PlacedError) else str(error)
        raise UnreadableSourceError(f"{name!r:.60} cannot be read: {why.rstrip('.')}") from None
    if not files:
        raise UnreadableSourceError(f"{name!r:.60} matches no file")
    return files


def is_pattern(name: str) -> bool:
    """Whether a name may match several files."""
    return bool(re.search(r"[*?]|\{[^{}]*,", name))


def _matches(pattern: str, folder: Path) -> list[Path]:
    """Return the files that match a pattern; links are not followed, and hidden and installed folders not entered."""
    parts = pattern.removeprefix("./").split("/")
    fixed = next(number for number, part in enumerate(parts) if is_pattern(part))
    base = folder / ("/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else ""))
    roots = project_roots((folder,))
    if not any(Path(os.path.realpath(base)).is_relative_to(root) for root in roots):
        raise UnreadableSourceError(f"{pattern!r:.60} leads out of the folder")
    form = re.compile(_expression("/".join(parts[fixed:])))
    found: list[Path] = []
    seen = 0
    for place, folders, names in os.walk(base):
        folders[:] = sorted(one for one in folders if one != "node_modules" and not one.startswith("."))
        seen += len(names) + len(folders)
        if seen > MOST_FILES:
            raise UnreadableSourceError(f"{pattern!r:.60} would search more than {MOST_FILES:,} files")
        paths = (Path(place, name) for name in names)
        found += [path for path in paths if form.fullmatch(path.relative_to(base).as_posix())]
    return sorted(found)


def _expression(pattern: str) -> str:
    """Return the regular expression of a pattern: `*` and `?` within a name, `**` over folders, `{a,b}`."""
    forms = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"\*\*/|\*\*|\{[^{}/]*\}|.", pattern, re.DOTALL)
    if sum(piece in forms for piece in pieces) > MOST_WILDCARDS:
        raise UnreadableSourceError(f"{pattern!r:.60} has more than {MOST_WILDCARDS} wildcards")
    choices = (piece[1:-1].split(",") if len(piece) > 1 and piece[0] == "{" else [] for piece in pieces)
    return "".join(
        forms.get(piece) or (f"(?:{'|'.join(map(re.escape, words))})" if words else re.escape(piece))
        for piece, words in zip(pieces, choices, strict=True)
    )


def read_documents(name: str, folder: Path) -> Iterator[Document]:
    """Yield the data files of a name or pattern: YAML, JSON or JSONL, with references replaced.

    Raises:
        UnreadableSourceError: there is no such file, or it is of another kind.
        DataError: a file cannot be parsed.
    """
    for path in matching_files(name, folder):
        ending = path.suffix.lower()
        if ending in (*CODE_ENDINGS, *_UNREAD, ".csv"):
            raise UnreadableSourceError(f"{name!r:.60} is a {ending} file, which is not read here")
        yield dereferenced(_lines(path) if ending == ".jsonl" else load_document(path))


def _lines(path: Path) -> Document:
    """Read a JSONL file as a list."""
    rows: list[Any] = []
    lines: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            lines[(len(rows),)] = number
            rows.append(parse_json(line, f"{path}:{number}"))
    return Document(path=path, data=rows, lines=lines)


def dereferenced(document: Document) -> Document:
    """Replace each mapping with a `$ref` to another part of the document (`#/…`) by that part.

    Keys beside the `$ref` win. References into other files, and those of JSON Schemas, stay.

    Raises:
        DataError: a reference leads to itself, or the data becomes too large.
    """
    count = 0

    def walk(value: Any, trail: tuple[str, ...]) -> Any:
        nonlocal count
        count += 1
        if count > MOST_REFERENCES and trail:
            raise PlacedError(document.place_of(), f"its references expand to more than {MOST_REFERENCES:,} values.")
        if isinstance(value, list):
            return [walk(item, trail) for item in value]
        if not isinstance(value, dict):
            return value
        name = value.get("$ref")
        part = _part(document.data, name) if isinstance(name, str) else None
        if part is None:
            return {key: walk(item, trail) for key, item in value.items()}
        if name in trail:
            raise PlacedError(document.place_of(), f"the reference {name!r:.60} leads to itself.")
        more = {key: item for key, item in value.items() if key != "$ref"}
        return walk({**part, **more} if isinstance(part, dict) else part, (*trail, str(name)))

    if "$ref" not in json.dumps(document.data, default=str):
        return document
    return Document(path=document.path, data=walk(document.data, ()), lines=document.lines)


def _part(data: Any, name: str) -> Any:
    """Return the part of the data that a reference such as `#/definitions/polite` names; None if there is none."""
    if not name.startswith("#/"):
        return None
    for key in name.removeprefix("#/").split("/"):
        key = key.replace("~1", "/").replace("~0", "~")
        if isinstance(data, list) and key.isdecimal() and int(key) < len(data):
            data = data[int(key)]
        else:
            data = data.get(key) if isinstance(data, dict) else None
    return data


def variables_from(names: Sequence[Any], folder: Path) -> Data:
    """Return the variables in the files of names and patterns; later files win.

    Raises:
        UnreadableSourceError: a file is missing, or holds no mapping.
        DataError: a file cannot be parsed.
    """
    variables: Data = {}
    for name in names:
        for document in read_documents(str(name), folder):
            if not isinstance(document.data, dict):
                raise UnreadableSourceError(f"{str(name)!r:.60} holds no mapping of variables")
            variables |= document.data
    return variables


def variable_files(value: Any, folder: Path) -> list[Any]:
    """Return the values of a variable: a pattern `file://…` is one value for each file."""
    if not (isinstance(value, str) and value.startswith("file://") and is_pattern(value.removeprefix("file://"))):
        return [value]
    return [f"file://{os.path.relpath(path, folder)}" for path in matching_files(value, folder)]


@lru_cache(maxsize=64)
def value_of_file(name: str, folder: Path) -> str:
    """Return the value of a variable that is `file://…`, as promptfoo does: a text, YAML as JSON, a picture as a data URL.

    Raises:
        UnreadableSourceError: the file is missing, is code, or is of a kind that is not read.
        DataError: it cannot be parsed.
    """
    ending = Path(name.partition("#")[0]).suffix.lower()
    if ending.partition(":")[0] in CODE_ENDINGS:
        raise UnreadableSourceError(f"{name!r:.60} is code")
    if ending in _UNREAD:
        raise UnreadableSourceError(f"{name!r:.60} is a {ending} file, which is not read")
    [path, *_] = matching_files(name, folder)
    if ending in (".yaml", ".yml"):
        return json.dumps(load_document(path).data, ensure_ascii=False, separators=(",", ":"), default=str)
    if ending not in _PICTURES and ending not in _MEDIA:
        return read_text(path).strip()
    with open_file(path) as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UnreadableSourceError(f"{name!r:.60} is larger than {MOST_BYTES >> 20} MiB")
    encoded = base64.b64encode(content).decode()
    return f"data:image/{_PICTURES[ending]};base64,{encoded}" if ending in _PICTURES else encoded
