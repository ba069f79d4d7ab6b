"""Encloses untrusted texts in a prompt between delimiters that their authors could not have known."""

import hashlib
from collections.abc import Callable, Sequence
from itertools import count as endless
from typing import NamedTuple

MAX_TEXT_CHARS = 100_000
"""Characters of one text that a judge is shown. The rest is cut off, and the score's detail says so."""
MIN_DELIMITER_CHARS = 16


class UntrustedText(NamedTuple):
    """A text for a prompt that neither evalmark nor the metric's author wrote."""

    label: str
    """What the text is, as the prompt calls it: `output`, `context 2`."""
    text: str
    length: int
    """The number of characters before it was cut."""

    @property
    def is_cut(self) -> bool:
        return self.length > len(self.text)


def untrusted_text(label: str, text: str) -> UntrustedText:
    """Label a text and cut it to `MAX_TEXT_CHARS`."""
    return UntrustedText(label, text[:MAX_TEXT_CHARS], len(text))


def delimit(part: UntrustedText, mark: str) -> str:
    """Return the unchanged text between two lines that hold the delimiter.

    >>> print(delimit(untrusted_text("output", "Oslo"), "3f"))
    <data-3f name="output">
    Oslo
    </data-3f>
    """
    cut = f' cut="the first {len(part.text):,} of {part.length:,} characters"' if part.is_cut else ""
    return f'<data-{mark} name="{part.label}"{cut}>\n{part.text}\n</data-{mark}>'


def _digest(parts: Sequence[UntrustedText], attempt: int) -> str:
    digest = hashlib.sha256(f"evalmark-fence-{attempt}".encode())
    for part in parts:
        for text in (part.label, part.text):
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big"))
            digest.update(encoded)
    return digest.hexdigest()


def delimiter_for(
    parts: Sequence[UntrustedText], digest: Callable[[Sequence[UntrustedText], int], str] = _digest
) -> str:
    """Return a delimiter for these texts: hex digits that occur in none of them.

    It is a hash of all texts, so a text would have to contain its own hash to close its block. Equal texts get the same
    delimiter, so an equal request is found again in the call log.
    """
    texts = [part.text.casefold() for part in parts]
    for attempt in endless():
        whole = digest(parts, attempt)
        for length in range(MIN_DELIMITER_CHARS, len(whole) + 1, 16):
            if not any(whole[:length] in text for text in texts):
                return whole[:length]
    raise AssertionError("unreachable")
