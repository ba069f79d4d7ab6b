"""Parse JSON as tools in Python write it, with NaN and Infinity for values that they do not have."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalmark.core.values.plain_data import MAX_DEPTH
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import deeper_than
from evalmark.inputs.documents.text import numbered_lines, text_chunks

MAX_DOCUMENT = 128 << 20
"""The most characters of one document."""


def parse_lenient_json(text: str, place: str, *, depth: int | None = MAX_DEPTH) -> Any:
    """Parse JSON; NaN, Infinity and numbers that are too large become None.

    Args:
        text: the document.
        place: the file, for messages.
        depth: the most levels of lists and objects; None: as many as Python's parser reads.

    Raises:
        DataError: the text is not valid JSON, or nested too deeply.
    """
    too_deep = PlacedError(place, "has lists and objects nested too deeply, or a number with too many digits.")
    try:
        value = json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except json.JSONDecodeError as error:
        where = f"{place}:{error.lineno}:{error.colno}"
        raise PlacedError(where, f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}.") from None
    except (RecursionError, ValueError):
        raise too_deep from None
    if depth is not None and deeper_than(value, depth):
        raise too_deep
    return value


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def read_lenient_json(path: Path, *, depth: int | None = MAX_DEPTH, advice: str = "") -> Any:
    """Read a file with one JSON document.

    Raises:
        DataError: as `parse_lenient_json`, and for a file that cannot be read or is too large.
    """
    pieces, size = [], 0
    for piece in text_chunks(path):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_DOCUMENT:
            raise PlacedError(
                str(path), f"is larger than {MAX_DOCUMENT >> 20} MiB, too large for one document{advice}."
            )
    return parse_lenient_json("".join(pieces), str(path), depth=depth)


def lenient_rows(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects of a JSONL file with their places.

    Raises:
        DataError: the file cannot be read, or a line is not an object.
    """
    for number, line in numbered_lines(text_chunks(path)):
        if not line.strip():
            continue
        row = parse_lenient_json(line, f"{path}:{number}")
        if not isinstance(row, dict):
            raise PlacedError(f"{path}:{number}", "is not an object.")
        yield row, f"{path}:{number}"
