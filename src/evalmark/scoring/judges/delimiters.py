"""A fence around what others wrote: nobody who wrote a part of it can have known its mark."""

import hashlib
from collections.abc import Callable, Sequence
from itertools import count as endless
from typing import NamedTuple

MAX_TEXT_CHARS = 100_000
"""Characters of one text that a judge is shown; what comes after is cut off, and the score's detail says so."""
MIN_DELIMITER_CHARS = 16


class UntrustedText(NamedTuple):
    """One text that others wrote."""

    label: str
    """What it is, in our words: `output`, `context 2`."""
    text: str
    length: int
    """Characters it had before it was cut."""

    @property
    def is_cut(self) -> bool:
        """Whether the judge sees less than there is."""
        return self.length > len(self.text)


def untrusted_text(label: str, text: str) -> UntrustedText:
    """A text as a judge is shown it, not longer than `MAX_TEXT_CHARS`."""
    return UntrustedText(label, text[:MAX_TEXT_CHARS], len(text))


def delimit(part: UntrustedText, mark: str) -> str:
    """The text between two lines that hold the mark, letter for letter.

    >>> print(fenced(piece("output", "Oslo"), "3f"))
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
    """The mark of a fence around these texts: hex digits that stand in none of them.

    It is a hash over all of them, so a text would have to hold its own hash to close its fence, and
    the same texts always have the same mark: an equal question is found again among recorded ones.
    """
    texts = [part.text.casefold() for part in parts]
    for attempt in endless():
        whole = digest(parts, attempt)
        for length in range(MIN_DELIMITER_CHARS, len(whole) + 1, 16):
            if not any(whole[:length] in text for text in texts):
                return whole[:length]
    raise AssertionError("unreachable")
