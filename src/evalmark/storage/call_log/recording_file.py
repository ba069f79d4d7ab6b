"""Reads and writes files of recorded calls, which a team keeps with its suites: one call a line, with its key."""

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.errors import StoreError, ToolError
from evalmark.core.values.call import Call, Reply
from evalmark.core.values.tool import ToolRecording
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import MAX_ROW, numbered_lines, text_chunks
from evalmark.inputs.secrets.known_secrets import mask_known_secrets
from evalmark.storage.database.connection import Connection
from evalmark.storage.database.field_specs import CALL, TOOL_RECORDING
from evalmark.storage.database.fields import dump_fields, load_fields, to_json
from evalmark.storage.database.schema import transaction

from .rows import CallRow, encode_call
from .stored_tool_log import put
from .tool_rows import ToolRow, encode_tool

FORMAT = "evalmark-calls"
VERSION = 1
_CHANGED = (
    "the key does not match the request in the line, so the line was changed; remove it, or export the file again."
)
_TOOL_KEY = re.compile(r"tool-[0-9a-f]{32}")
NO_ADDRESSES: Mapping[str, str] = {}
_MOST_COST = 1_000_000
"""US dollars. A higher cost in a file is refused, since it would spoil every sum."""
PUBLIC_HEADERS = frozenset({"apim-request-id", "date", "request-id", "x-request-id"})
"""Response headers that a file contains: those that a provider needs to find a request."""


class ImportedCalls(NamedTuple):
    """How many calls an import added."""

    added: int
    known: int
    """Calls that were recorded before; they stay unchanged."""


def _lines(calls: Iterable[Call | ToolRecording]) -> Iterator[str]:
    """Return the lines of the file. `calls` are sorted by key, so that two exports differ only where their calls differ."""
    yield _line({"format": FORMAT, "version": VERSION})
    for call in calls:
        if isinstance(call, ToolRecording):
            yield _line(dump_fields(call, TOOL_RECORDING))
        else:
            altered = call.computed_key != call.key
            yield _line(dump_fields(replace(call, reply=call.reply and _public(call.reply), altered=altered), CALL))


def _line(data: dict[str, Any]) -> str:
    return f"{mask_known_secrets(to_json(data))}\n"


def _public(reply: Reply) -> Reply:
    """Return the reply without failed attempts, private headers and replay state."""
    headers = {name: value for name, value in reply.headers.items() if name.lower() in PUBLIC_HEADERS}
    return replace(reply, attempts=(), headers=headers, key="", replayed=False)


def write_calls(path: Path, calls: Iterable[Call | ToolRecording]) -> int:
    """Write calls to a temporary file, then rename it to `path`; return how many calls were written.

    Raises:
        StoreError: there is no call, the file cannot be written, or it contains anything but recordings; an older file
            stays unchanged.
    """
    _refuse_other(path)
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        try:
            with draft.open("x", encoding="ascii", newline="") as stream:
                count = sum(stream.write(line) > 0 for line in _lines(calls))
                stream.flush()
                os.fsync(stream.fileno())
            if count == 1:  # replacing a file by an empty one would make the team pay for all calls again
                raise StoreError(f"{path}: no recorded call matches the options, so nothing was written.")
            draft.replace(path)
        finally:
            with contextlib.suppress(OSError):  # already renamed if all went well
                draft.unlink()
    except OSError as error:
        raise _write_error(path, error) from error
    return count - 1


def _write_error(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path}: the recordings cannot be written: {error.strerror or error}; free disk space, create the folder, or "
        "name another file."
    )


def _refuse_other(path: Path) -> None:
    """Refuse to replace a file that holds anything but recordings.

    Raises:
        StoreError: the file contains something else.
    """
    start = f'{{"format":"{FORMAT}"'.encode()
    try:
        if path.is_dir():
            raise StoreError(f"{path}: this is a folder; name a file in it.")
        if not path.exists():
            return
        if path.is_file():  # do not open a pipe, which could block
            with path.open("rb") as stream:
                if stream.read(len(start)) in (b"", start):
                    return
    except OSError as error:
        raise _write_error(path, error) from error
    raise StoreError(
        f"{path}: the file contains something other than recorded calls and was not changed; name another file."
    )


def read_calls(path: Path, addresses: Mapping[str, str] = NO_ADDRESSES) -> list[CallRow | ToolRow]:
    """Read the calls of a file; check the form of each line, and that its key matches its request.

    Each call of an endpoint in `addresses` is read as a call of the address that it maps to.

    Raises:
        DataError: it is not such a file, one of its lines is invalid, or one of the addresses does not occur; the message
            names the line.
    """
    found = numbered_lines(text_chunks(path))
    _check_first(path, *next(found, (1, "")))
    rows: list[CallRow | ToolRow] = []
    seen: dict[str, int] = {}
    seen_addresses: dict[str, None] = {}
    for number, line in found:
        location = f"{path}:{number}"
        key, row = _call(line, path, number, _AddressMap(addresses, seen_addresses))
        if key in seen:
            raise PlacedError(location, f"the key {key!r} occurs a second time; the first one is in line {seen[key]}.")
        seen[key] = number
        rows.append(row)
    if missing := [address for address in addresses if address not in seen_addresses]:
        known = ", ".join(seen_addresses) or "none at all"
        raise PlacedError(str(path), f"contains no call of a model at {missing[0]}; its addresses are {known}.")
    return rows


class _AddressMap(NamedTuple):
    """Replaces addresses of endpoints, and records which of them occurred."""

    addresses: Mapping[str, str]
    seen_addresses: dict[str, None]

    def __call__(self, call: Call) -> Call:
        """Return the call with its address replaced, also within the name of the model."""
        model, _, address = call.identity.rpartition("@")
        self.seen_addresses.setdefault(address)
        if (new := self.addresses.get(address)) is None:
            return call
        identity = f"{model}@{new}"
        name = call.model.replace(f":{address}/", f":{new}/", 1)
        return replace(call, model=name, identity=identity, key=call.request.key(identity, call.repeat, call.use))


def _check_first(path: Path, number: int, line: str) -> None:
    location = f"{path}:{number}"
    try:
        head = parse_json(line, str(path), number) if line.strip() else None
    except PlacedError:  # not JSON, so not a file of `evalmark cache export`
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise PlacedError(
            location,
            f'is not a file of recorded calls, which starts with {{"format":"{FORMAT}",…}}; `evalmark cache export` writes them.',
        )
    version = head.get("version")
    if type(version) is int and version > VERSION:
        raise PlacedError(
            location, f"a newer evalmark wrote this file (version {version}, this one knows {VERSION}); update."
        )
    if type(version) is not int or version != VERSION or len(head) != 2:
        raise PlacedError(location, f"the first line is not that of version {VERSION}; export the file again.")


def _call(line: str, path: Path, number: int, with_address: _AddressMap) -> tuple[str, CallRow | ToolRow]:
    location = f"{path}:{number}"
    if len(line) > MAX_ROW:
        raise PlacedError(location, f"the line is longer than {MAX_ROW >> 20} MiB.")
    data = parse_json(line, str(path), number)
    if isinstance(data, dict) and "tool" in data:
        return _tool_call(data, location)
    try:
        call: Call = load_fields(Call, CALL, data)
        row = encode_call(replace(with_address(call), reply=call.reply and _public(call.reply)))
    except (ValueError, TypeError) as fault:
        raise PlacedError(location, f"is not a recorded call: {fault}.") from None
    cost = None if call.reply is None else call.reply.cost
    if cost is not None and not 0 <= cost <= _MOST_COST:
        raise PlacedError(location, f"says that the call cost {cost:g} dollars; remove the line, or the cost in it.")
    if not call.can_be_replayed:
        raise PlacedError(location, "contains no reply that can be replayed; only such calls are imported.")
    if call.computed_key != call.key and not call.altered:
        raise PlacedError(location, _CHANGED)
    return call.key, row


def _tool_call(data: dict[str, Any], location: str) -> tuple[str, ToolRow]:
    try:
        recording: ToolRecording = load_fields(ToolRecording, TOOL_RECORDING, data)
        row = encode_tool(recording)
    except (ValueError, TypeError, ToolError) as fault:
        raise PlacedError(location, f"is not a recorded tool call: {fault}.") from None
    if recording.computed_key != recording.key and not recording.altered:
        raise PlacedError(location, _CHANGED)
    if not _TOOL_KEY.fullmatch(recording.key):
        raise PlacedError(location, f"the key {recording.key!r} is not the key of a tool call; export the file again.")
    return recording.key, row


def add_calls(db: Connection, rows: Sequence[CallRow | ToolRow]) -> ImportedCalls:
    """Add all calls in one transaction; a replayable call that is already recorded stays unchanged."""
    columns = ", ".join(CallRow._fields)
    added = 0
    with transaction(db):
        for row in rows:
            if isinstance(row, ToolRow):
                added += put(db, None, row) is row
                continue
            db.execute(
                f"insert into call ({columns}) values ({', '.join('?' * len(row))}) on conflict (key) do update set "  # noqa: S608  columns
                f"run = null, {', '.join(f'{name} = excluded.{name}' for name in row._fields if name != 'key')} "
                "where call.ok = 0",
                row,
            )
            added += db.changes()
    return ImportedCalls(added, len(rows) - added)
