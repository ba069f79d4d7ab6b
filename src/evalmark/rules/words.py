"""Words that have to stand in an output, must not, or have to stand in a certain order or place."""

import re
from dataclasses import dataclass
from typing import Literal

from evalmark.scoring import shown

from .finding import Finding
from .phrases import OUTPUT, quoted_in

_MUST = r"(?:must|should|shall|has to|needs to)"
_THINGS = r"(?:(?:any of\s+)?(?:the\s+)?(?:following\s+)?(?:exact\s+)?(?:words?|phrases?|terms?|labels?|texts?|strings?|expressions?)\s*(?:or phrases?)?\s*:?\s*)?"
_FORBIDDEN = re.compile(
    rf"^(?:{OUTPUT}\s+(?:(?:must|should|shall|may|can)\s*not|cannot|must never|should never|never)\s+(?:contain|include|use|mention|say)s?|"
    rf"(?:please\s+)?(?:do not|don['\u2019]t|never|avoid)\s+(?:use|using|say|saying|mention|mentioning|include|including)?)\s+{_THINGS}(?P<list>[\"'`\u201c\u2018].+)$",
    re.IGNORECASE,
)
_REQUIRED = re.compile(
    rf"^{OUTPUT}\s+{_MUST}\s+(?:always\s+)?(?:contain|include|mention|have)\s+{_THINGS}(?P<list>[\"'`\u201c\u2018].+)$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\b(?:following|after|under)\s+the\s+(?:label|heading|title)\s+(?P<list>[\"'`\u201c].+)$", re.IGNORECASE
)
_END = re.compile(
    rf"^{OUTPUT}\s+{_MUST}\s+(?:always\s+)?(?P<where>start|begin|end)\s+with\s+{_THINGS}(?P<list>[\"'`\u201c\u2018].+)$",
    re.IGNORECASE,
)
_ORDER = re.compile(
    rf"^{OUTPUT}\s+{_MUST}\s+(?:strictly\s+)?(?:follow|keep to|be in|appear in)\s+(?:the|this)\s+order\s*:\s*(?P<list>.+)$",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never|no|without)\b", re.IGNORECASE)
_ANY = re.compile(r"\b(?:or|any of|one of|either)\b", re.IGNORECASE)
_EDGE = re.compile(
    r"[\s.,;!\"'`\u201c\u201d\u2018\u2019]|\band\b|\bor\b|\bthe\b|\bwords?\b|\bphrases?\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forbidden:
    """None of these words stands in the output; case does not count, and a part of a longer word is not the word.

    >>> Forbidden(words=("AI",))("I said it.").holds, Forbidden(words=("AI",))("As an ai, no.").holds
    (True, False)
    """

    words: tuple[str, ...]
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The words."""
        return "not " + " or ".join(map(shown, self.words))

    def __call__(self, text: str) -> Finding:
        """Look for each."""
        there = [word for word in self.words if _stands(word, text)]
        return Finding(not there, f"it says {shown(there[0])}" if there else f"it says none of {len(self.words)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """These texts stand in the output, letter for letter."""

    texts: tuple[str, ...]
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The texts."""
        return " and ".join(map(shown, self.texts))

    def __call__(self, text: str) -> Finding:
        """Look for each."""
        missing = [wanted for wanted in self.texts if wanted not in text]
        return Finding(not missing, f"{shown(missing[0])} is missing" if missing else f"{self.says} there")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The output begins, or ends, with a text; blanks around it do not count."""

    text: str
    where: Literal["start", "end"]
    is_whole: bool = True

    @property
    def says(self) -> str:
        """Where, and what."""
        return f"{self.where}s with {shown(self.text)}"

    def __call__(self, text: str) -> Finding:
        """Compare."""
        said = text.strip()
        holds = said.startswith(self.text) if self.where == "start" else said.endswith(self.text)
        shown_end = said[:40] if self.where == "start" else said[-40:]
        return Finding(holds, f"it {self.where}s with {shown(shown_end)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """These texts stand in the output in this order; where one is missing, nothing can be said of the order."""

    texts: tuple[str, ...]
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The order."""
        return "in order: " + ", ".join(self.texts)

    def __call__(self, text: str) -> Finding:
        """Compare the places where each stands first."""
        places = [text.find(wanted) for wanted in self.texts]
        if -1 in places:
            return Finding(None, f"{shown(self.texts[places.index(-1)])} is missing")
        late = next((n for n in range(1, len(places)) if places[n] < places[n - 1]), None)
        if late is None:
            return Finding(True, "all in order")
        return Finding(False, f"{shown(self.texts[late])} stands before {shown(self.texts[late - 1])}")


def words_in(rule: str) -> Forbidden | Required | Ends | Ordered | None:
    """What a rule asks of words."""
    if match := _FORBIDDEN.match(rule):
        words, whole = _list(match["list"])
        return Forbidden(words=words, is_whole=whole) if words else None
    if match := _END.match(rule):
        texts, whole = _list(match["list"])
        where: Literal["start", "end"] = "end" if match["where"].lower() == "end" else "start"
        return Ends(text=texts[0], where=where, is_whole=whole) if len(texts) == 1 else None
    if match := _REQUIRED.match(rule) or (None if _NOT.search(rule) else _LABEL.search(rule)):
        texts, whole = _list(match["list"])
        whole = whole and match.re is _REQUIRED
        several = len(texts) > 1 and _ANY.search(match["list"])
        return Required(texts=texts, is_whole=whole) if texts and not several else None
    if match := _ORDER.match(rule):
        return _order(match["list"])
    return None


def _order(said: str) -> Ordered | None:
    items = quoted_in(said) or tuple(part for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", said.rstrip(". ")) if part)
    fit = 2 <= len(items) <= 20 and all(len(item) <= 40 for item in items)
    return Ordered(texts=items) if fit else None


def _list(said: str) -> tuple[tuple[str, ...], bool]:
    """The texts between quotes, and whether nothing else stands there."""
    texts = tuple(dict.fromkeys(quoted_in(said)))
    rest = said
    for text in sorted(texts, key=len, reverse=True):
        rest = rest.replace(text, "")
    return texts, not _EDGE.sub("", rest)


def _stands(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None
