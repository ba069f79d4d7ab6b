"""Parse JSON piece by piece, with memory for the longest item only."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .errors import PlacedError
from .strict_json import RefusedJsonError, decode_at, location, refused_fault, syntax_fault
from .text import CHUNK, MAX_ROW, excerpt_at

_SPACE = re.compile(r"[ \t\r\n]*")
_LENIENT = json.JSONDecoder(parse_int=len)  # finds the end of a refused value, even with very long numbers
_TAIL = 16
"""An error this close to the end of the window may only mean that more text must be read."""


class StreamItem(NamedTuple):
    """One item of a list, or its fault."""

    line: int
    column: int
    """0 when the item is the first on its line."""
    value: Any
    """The data, or a `PlacedError`."""


class JsonStream:
    """Parses the text of one JSON file through a moving window."""

    def __init__(self, chunks: Iterator[str], place: str) -> None:
        self._chunks = chunks
        self._place = place
        self._text = ""
        self._at = 0
        self._line = 1
        self._column = 0
        self._counted = 0
        self._marked = 0

    def peek(self) -> str:
        """Return the next character that is not white space; empty at the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def items(self) -> Iterator[StreamItem]:
        """Yield the items of the list that starts here; a refused item is yielded as a `PlacedError`.

        Raises:
            DataError: the text is not valid JSON, so the rest cannot be read.
        """
        self._expect("[", "a list")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            self.peek()
            line, column = self._mark()
            yield StreamItem(line, column, self.value())
            if self._next("]"):
                return

    def members(self) -> Iterator[str]:
        """Yield the keys of the object that starts here; the caller reads each value before the next key.

        Raises:
            DataError: the text is not valid JSON, or a key occurs twice.
        """
        self._expect("{", "an object")
        seen: set[str] = set()
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                raise self._fault("a key in double quotes was expected")
            start = self._spot()
            key = str(self.value())
            if key in seen:
                raise PlacedError(start, f"the key {key!r} occurs a second time.")
            seen.add(key)
            self._expect(":", "a colon")
            self.peek()
            yield key
            if self._next("}"):
                return

    def finish(self) -> None:
        """Check that nothing follows.

        Raises:
            DataError: more text follows.
        """
        if self.peek():
            raise self._fault("more text after the end of the JSON value")

    def value(self) -> Any:
        """Return the value that starts here, or a `PlacedError` if it is valid JSON but refused.

        Raises:
            DataError: the text here is not valid JSON.
        """
        more = False
        while True:
            try:
                value, end = decode_at(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._may_be_cut(error.pos) and self._fill():
                    continue
                raise self._syntax(error) from None
            except RefusedJsonError:
                if not more and self._fill():
                    more = True
                    continue
                return self._refused()
            if end == len(self._text) and self._fill():
                continue  # the number may have more digits
            self._at = end
            return value

    def _may_be_cut(self, at: int) -> bool:
        return at >= len(self._text) - _TAIL or self._text[at] == '"'

    def _syntax(self, error: json.JSONDecodeError) -> PlacedError:
        line, column = self._here()
        text = self._text[self._at :]
        return syntax_fault(
            text, json.JSONDecodeError(error.msg, text, error.pos - self._at), self._place, line, column
        )

    def _refused(self) -> PlacedError:
        """Return the fault of the value here and move behind it; raise the fault if the value's end cannot be found."""
        while True:
            try:
                _, end = _LENIENT.raw_decode(self._text, self._at)
                break
            except RecursionError:
                line, column = self._here()
                raise refused_fault(self._text[self._at :], 0, self._place, line, column) from None
            except json.JSONDecodeError as error:
                if self._may_be_cut(error.pos) and self._fill():
                    continue
                raise self._syntax(error) from None
        line, column = self._here()
        fault = refused_fault(self._text[self._at : end], 0, self._place, line, column)
        self._at = end
        return fault

    def _fill(self) -> bool:
        """Read more until the window has doubled; at the end of the file, change nothing and return False."""
        size = len(self._text) - self._at
        if size > MAX_ROW:
            raise PlacedError(self._spot(), f"one value is larger than {MAX_ROW >> 20} MiB; split it.")
        missing_chars = max(size, CHUNK // 2)
        pieces: list[str] = []
        while missing_chars > 0 and (chunk := next(self._chunks, "")):
            pieces.append(chunk)
            missing_chars -= len(chunk)
        if not pieces:
            return False
        self._count()
        self._text, self._at, self._counted = "".join((self._text[self._at :], *pieces)), 0, 0
        return True

    def _count(self) -> None:
        """Update line and column to the current position."""
        above = self._text.count("\n", self._counted, self._at)
        if above:
            self._line += above
            self._column = self._at - self._text.rfind("\n", self._counted, self._at) - 1
        else:
            self._column += self._at - self._counted
        self._counted = self._at

    def _here(self) -> tuple[int, int]:
        self._count()
        return self._line, self._column

    def _mark(self) -> tuple[int, int]:
        """Return the line of an item, and its column if it is not the first item on the line."""
        line, column = self._here()
        again = line == self._marked
        self._marked = line
        return line, column + 1 if again else 0

    def _spot(self) -> str:
        line, column = self._here()
        return location("", 0, self._place, line, column)

    def _fault(self, finding: str) -> PlacedError:
        where = "; the text ends too early" if self._at >= len(self._text) else excerpt_at(self._text, self._at)
        return PlacedError(self._spot(), f"not valid JSON: {finding}{where}.")

    def _expect(self, letter: str, what: str) -> None:
        if self.peek() != letter:
            raise self._fault(f"{what} was expected")
        self._at += 1

    def _next(self, closing: str) -> bool:
        """Move over a comma (return False) or the closing bracket (return True)."""
        found = self.peek()
        if found not in (",", closing) or not found:
            raise self._fault(f"a comma or {closing!r} was expected")
        self._at += 1
        if found == "," and self.peek() == closing:
            raise self._fault(f"there is a comma before {closing!r}")
        return found == closing
