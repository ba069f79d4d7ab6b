"""How texts and numbers go to a PostgreSQL server and come back: all as SQLite has them."""

from functools import lru_cache
from typing import Any

from evalmark.core.lazy import need

_ODD = "\ufdd0"
"""Stands before a text that the server could not keep; no text has it, since it is no character."""


class SurrogateText(bytes):
    """A text that is no UTF-8, in the place of one; told from bytes that are meant."""

    __slots__ = ()


@lru_cache(maxsize=1)
def adapters() -> Any:
    """What a connection is to know of types."""
    psycopg = need("psycopg", "postgres")
    strings = need("psycopg.types.string", "postgres")
    made = psycopg.adapt.AdaptersMap(psycopg.adapters)

    class Text(strings.StrDumperUnknown):  # type: ignore[misc, name-defined]  # loaded where it is used
        def dump(self, text: str) -> bytes:
            return encode_text(text)

    class Odd(strings.StrDumperUnknown):  # type: ignore[misc, name-defined]
        def dump(self, text: SurrogateText) -> bytes:
            return f"{_ODD}{text.hex()}".encode()

    class Received(psycopg.adapt.Loader):  # type: ignore[misc, name-defined]
        def load(self, data: Any) -> str | bytes:
            return decode_text(bytes(data))

    class Number(psycopg.adapt.Loader):  # type: ignore[misc, name-defined]
        def load(self, data: Any) -> int | float:
            return int(bytes(data)) if bytes(data).lstrip(b"-").isdigit() else float(bytes(data))

    made.register_dumper(str, Text)
    made.register_dumper(SurrogateText, Odd)
    for kind in ("text", "varchar", "bpchar", "name"):
        made.register_loader(kind, Received)
    made.register_loader("numeric", Number)
    return made


def encode_text(text: str) -> bytes:
    """A text as the server can keep it: as it is, but for NUL and what begins as a text that was changed for it."""
    if "\x00" in text or text.startswith(_ODD):
        return f"{_ODD}{text.encode().hex()}!".encode()
    return text.encode()


def decode_text(data: bytes) -> str | bytes:
    """The text that `sent` was given, or bytes that stood in the place of one."""
    text = data.decode()
    if not text.startswith(_ODD):
        return text
    if text.endswith("!"):
        return bytes.fromhex(text[1:-1]).decode()
    return SurrogateText(bytes.fromhex(text[1:]))
