"""Read text files as a stream, with strict decoding."""

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from .errors import PlacedError, excerpt
from .files import open_file, regular_file

CHUNK = 1 << 20
"""The number of bytes read at once."""
MAX_ROW = 32 << 20
"""The most characters of one row or one whole document."""

_NOT_TEXT = (
    (b"\x1f\x8b", "is compressed with gzip; add .gz to its name"),
    (b"PK\x03\x04", "is a zip archive (an Excel workbook, perhaps); export the sheet as CSV"),
    (b"PAR1", "is a Parquet file; let its name end in .parquet"),
)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def text_chunks(path: Path, encoding: str | None = None) -> Iterator[str]:
    """Yield the text of a file in pieces of about a megabyte.

    A byte order mark is dropped, and a file whose name ends in .gz is unpacked.

    Args:
        path: the file.
        encoding: a name that Python knows; None: UTF-8.

    Raises:
        DataError: the file cannot be opened, unpacked or decoded; the message names line and byte.
    """
    regular_file(path)
    place = str(path)
    decoder = _Decoder(place, known_encoding(encoding, place))
    first = True
    with _opened(path) as file:
        while raw := _read(file, place):
            if first:
                _check_start(raw, place, encoding)
            if text := decoder(raw, False):
                yield text.removeprefix("\ufeff") if first else text
                first = False
    if rest := decoder(b"", True):
        yield rest


def read_text(path: Path, encoding: str | None = None) -> str:
    """Read the whole text of a small file.

    Raises:
        DataError: as `text_chunks`, and for more than 32 MiB.
    """
    pieces: list[str] = []
    size = 0
    for piece in text_chunks(path, encoding):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_ROW:
            raise PlacedError(str(path), f"is larger than {MAX_ROW >> 20} MiB, too large to be read as one document.")
    return "".join(pieces)


def known_encoding(encoding: str | None, place: str) -> str | None:
    """Return the normalized name of an encoding; None stays None.

    Raises:
        DataError: Python knows no text encoding of that name.
    """
    if encoding is None:
        return None
    try:
        codec = codecs.lookup(encoding)
        "".encode(encoding)  # refuses codecs that are not for text
    except (LookupError, ValueError):
        raise PlacedError(
            place, f"there is no text encoding {encoding!r}; 'utf-8' and 'cp1252' are usual ones."
        ) from None
    return codec.name


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with open_file(path) as file:
        yield cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix.lower() == ".gz" else file


def _read(file: BinaryIO, place: str) -> bytes:
    try:
        return file.read(CHUNK)
    except EOFError:
        raise PlacedError(place, "the gzip data ends too early; the file was cut off.") from None
    except (OSError, zlib.error) as error:
        raise PlacedError(place, f"cannot be read: {error}.") from None


def _check_start(raw: bytes, place: str, encoding: str | None) -> None:
    for mark, sentence in _NOT_TEXT:
        if raw.startswith(mark):
            raise PlacedError(place, f"{sentence}.")
    if encoding is not None:
        return
    guess = "utf-16" if raw.startswith(_UTF16) else _utf16_without_mark(raw[:1024])
    if guess:
        raise PlacedError(
            f"{place}:1",
            f"the file looks like {guess}. Save it as UTF-8; for a dataset, `encoding: {guess}` beside its `path` works too.",
        )


def _utf16_without_mark(head: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark: in mostly Latin text, every other byte is zero."""
    if len(head) < 4 or head.count(0) * 4 < len(head):
        return None
    return "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"


class _Decoder:
    """Decodes bytes and keeps track of line and column for messages."""

    def __init__(self, place: str, encoding: str | None) -> None:
        self._place = place
        self._encoding = encoding
        self._step: Callable[[bytes, bool], str] = codecs.getincrementaldecoder(encoding or "utf-8")().decode
        self._line = 1
        self._column = 0

    def __call__(self, raw: bytes, last: bool) -> str:
        try:
            text = self._step(raw, last)
        except UnicodeDecodeError as error:
            raise self._fault(error, last) from None
        except UnicodeError as error:
            raise PlacedError(f"{self._place}:{self._line}", f"cannot be read as {self._encoding}: {error}.") from None
        self._move(text)
        return text

    def _move(self, text: str) -> None:
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") - 1 if lines else self._column + len(text)

    def _fault(self, error: UnicodeDecodeError, last: bool) -> PlacedError:
        raw = bytes(error.object)
        self._move(raw[: error.start].decode(self._encoding or "utf-8", errors="replace"))
        place = f"{self._place}:{self._line}"
        found = f"byte 0x{raw[error.start]:02X} at column {self._column + 1}"
        if last and error.reason == "unexpected end of data":
            return PlacedError(place, f"{found} begins a character that is not finished; the file was cut off.")
        if self._encoding is not None:
            return PlacedError(place, f"{found} is not {self._encoding}; name another encoding.")
        if _decodes(raw, "cp1252"):
            return PlacedError(
                place,
                f"{found} is not UTF-8; the file looks like cp1252 (Western European, Windows). "
                "Save it as UTF-8; for a dataset, `encoding: cp1252` beside its `path` works too.",
            )
        return PlacedError(place, f"{found} is not UTF-8. Save the file as UTF-8, or name its encoding.")


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def first_character(path: Path, encoding: str | None = None) -> str:
    """Return the first character of a file that is not white space; empty if there is none.

    `[` or `{` distinguishes a list from an object without reading the rest.

    Raises:
        DataError: as `text_chunks`.
    """
    for chunk in text_chunks(path, encoding):
        if found := chunk.lstrip():
            return found[0]
    return ""


def numbered_lines(chunks: Iterable[str]) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of a text with their numbers; lines longer than `MAX_ROW` are truncated soon after it.

    >>> list(numbered_lines(["a\nb", "c\n"]))
    [(1, 'a'), (2, 'bc')]
    """
    number, rest, size = 1, list[str](), 0
    for chunk in chunks:
        first, *more = chunk.split("\n")
        if size <= MAX_ROW:
            rest.append(first)
            size += len(first)
        if not more:
            continue
        yield number, "".join(rest)
        for number, line in enumerate(more[:-1], start=number + 1):  # noqa: B020  continues the count
            yield number, line
        number, rest, size = number + 1, [more[-1]], len(more[-1])
    if size:
        yield number, "".join(rest)


def excerpt_at(text: str, at: int) -> str:
    """Return the text at an offset, for a message.

    >>> excerpt_at("[1, 2,, 3]", 6)
    " near ', 3]'"
    """
    piece = text[at : at + 20].split("\n")[0].strip()
    return f" near {excerpt(piece)}" if piece else ""
