"""Detects the language of an output by its script and its most frequent words."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from .checks import CheckResult, Requirement
from .phrases import Clause

SMALL_WORDS = {
    "English": "the and of to in is that it was for on are with as be this have from or by not but what all were when we there",
    "German": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass",
    "French": "le la les de des et un une du est dans pour que qui sur pas avec sont au par plus ce il elle nous vous cette",
    "Spanish": "el la los las de y que en un una es por con para del se no su lo como más pero al este esta son muy",
    "Italian": "il lo la gli le di e che un una è per con del della non si nel sono dei come più ma questo alla anche",
    "Portuguese": "o a os as de e que do da em um uma para com não no na por mais se dos como mas ao são foi também",
    "Dutch": "de het een en van in is dat op te zijn met voor niet aan er om ook als bij maar door uit naar deze wordt",
}
"""The most frequent words of a language; some belong to several languages."""
SCRIPTS = {
    **dict.fromkeys(SMALL_WORDS, ("LATIN",)),
    "Russian": ("CYRILLIC",),
    "Ukrainian": ("CYRILLIC",),
    "Greek": ("GREEK",),
    "Arabic": ("ARABIC",),
    "Hebrew": ("HEBREW",),
    "Hindi": ("DEVANAGARI",),
    "Thai": ("THAI",),
    "Korean": ("HANGUL",),
    "Chinese": ("CJK",),
    "Japanese": ("HIRAGANA", "KATAKANA", "CJK"),
}
MIN_WORDS = 20
"""A text with fewer words has no certain language, except by its script."""
MIN_LETTERS = 12
MAX_FOREIGN_SHARE = 0.05
"""A text is in another language if a smaller share of its letters is of the script; names and code often are not."""
_NAMES = "|".join(SCRIPTS)
_NAMED = re.compile(
    rf"(?:written\s+)?(?:entirely\s+|only\s+|always\s+)?in\s+(?:the\s+)?(?P<name>{_NAMES})(?:\s+language)?\b",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(
    r"(?:be\s+(?:(?:always|only|entirely|exclusively)\s+)?(?:(?:written|given|provided|generated|expressed|kept|returned|presented)\s+)?(?:entirely\s+|only\s+|exclusively\s+)?in\s+|the\s+language\s+be\s+)"
    rf"(?P<kind>(?:simple|plain|clear|fluent|formal|standard|correct|grammatical|proper)\s+)?(?P<name>{_NAMES})(?:\s+language)?(?:\s+(?:only|exclusively))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The output is in a language; short or ambiguous outputs are undecided."""

    name: str
    is_whole: bool = True

    @property
    def description(self) -> str:
        return f"in {self.name}"

    def __call__(self, text: str) -> CheckResult:
        letters = [letter for letter in text if letter.isalpha()]
        if len(letters) < MIN_LETTERS:
            return CheckResult(None, "too short to detect its language")
        share = sum(unicodedata.name(letter, "").startswith(SCRIPTS[self.name]) for letter in letters) / len(letters)
        if MAX_FOREIGN_SHARE <= share < 0.5:
            return CheckResult(None, f"{share:.0%} of its letters are of the script of {self.name}")
        if share < MAX_FOREIGN_SHARE:
            return CheckResult(False, f"{share:.0%} of its letters are of the script of {self.name}")
        if self.name not in SMALL_WORDS:
            return CheckResult(None, f"its letters are of the script of {self.name}, which other languages may share")
        spoken = language_of(text)
        if spoken is None:
            return CheckResult(None, "the language is unclear")
        return CheckResult(spoken == self.name, f"it is in {spoken}")


def language_of(text: str) -> str | None:
    """Return the language of a text in Latin letters; None if it is too short or ambiguous.

    >>> language_of("The cat sat on the mat and it was not there when we came in from the rain that fell all day.")
    'English'
    """
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(words) < MIN_WORDS:
        return None
    counts = Counter(words)
    shares = {
        name: sum(counts[word] for word in set(small.split())) / len(words) for name, small in SMALL_WORDS.items()
    }
    (first, best), (_, second) = sorted(shares.items(), key=lambda item: -item[1])[:2]
    return first if best >= 0.15 and best >= 1.5 * second else None


def language_in(clause: Clause) -> Requirement | None:
    """Return the language that a clause asks for."""
    match = None if clause.negated else _LANGUAGE.fullmatch(clause.text)
    return None if match is None else Requirement((Language(name=_known(match["name"])),), is_whole=not match["kind"])


def language_named(text: str, start: int) -> tuple[Language, int] | None:
    """Return the language of `in …` at a position in a clause, and its end."""
    match = _NAMED.match(text, start)
    return None if match is None else (Language(name=_known(match["name"])), match.end())


def _known(name: str) -> str:
    return next(known for known in SCRIPTS if known.lower() == name.lower())
