"""Converts texts and numbers for a PostgreSQL server so that they are read back as SQLite would return them."""

from functools import lru_cache
from typing import Any

from evalmark.core.lazy import need

_ODD = "\ufdd0"
"""Marks a text that the server cannot store. It is a noncharacter, so no other text begins with it."""


class SurrogateText(bytes):
    """The bytes of a text that is not valid UTF-8, as opposed to binary data."""

    __slots__ = ()


@lru_cache(maxsize=1)
def adapters() -> Any:
    """Return the type adapters of a connection."""
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
    """Encode a text for the server; texts with NUL, or that begin with the mark, are converted to hexadecimal."""
    if "\x00" in text or text.startswith(_ODD):
        return f"{_ODD}{text.encode().hex()}!".encode()
    return text.encode()


def decode_text(data: bytes) -> str | bytes:
    """Decode the text that `encode_text` received, or the bytes in its place."""
    text = data.decode()
    if not text.startswith(_ODD):
        return text
    if text.endswith("!"):
        return bytes.fromhex(text[1:-1]).decode()
    return SurrogateText(bytes.fromhex(text[1:]))
