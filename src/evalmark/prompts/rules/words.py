"""Rules on words that the output must contain, must not contain, or must have in a certain order or position."""

import re
from dataclasses import dataclass
from typing import Literal

from evalmark.scoring.binding.text import preview

from .checks import CheckResult, Requirement
from .phrases import Clause, MaskedRule

_Q = r"\u27e6\d+\u27e7"
_THINGS = (
    r"(?:(?:any\s+of\s+)?(?:the\s+)?(?:following\s+)?(?:exact\s+)?(?P<noun>words?|phrases?|terms?|labels?|texts?|strings?|expressions?|disclaimer|sentence|names?)"
    r"(?:\s+or\s+phrases?)?\s*:?\s*)?"
)
_LIST = rf"(?P<list>(?:the\s+(?:words?|phrases?)\s+)?{_Q}(?:\s*(?:,\s*(?:and|or)|,|and|or)\s*(?:the\s+(?:words?|phrases?)\s+)?{_Q})*)"
_CONTAIN = re.compile(rf"(?:contain|include|mention|have|use|say)\s+{_THINGS}{_LIST}(?P<tail>.*)", re.IGNORECASE)
_END = re.compile(
    rf"(?P<where>start|begin|end)\s+with\s+(?:the\s+)?(?:exact\s+)?(?:(?:words?|phrase|text|sentence|string|label|prefix)\s*:?\s+)?(?P<list>{_Q})(?P<tail>.*)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"(?:strictly\s+)?(?:follow|keep\s+to|be\s+in|appear\s+in)\s+(?:the|this)\s+order\s*:\s*(?P<list>.+)", re.IGNORECASE
)
_LABEL = re.compile(
    rf"[a-z ]+\s(?:must|should|shall)\s+be\s+[a-z -]*\b(?:following|after|under)\s+the\s+(?:label|heading|title)\s+(?P<list>{_Q})",
    re.IGNORECASE,
)
_ANY = re.compile(r"\b(?:or|any|one|either)\b", re.IGNORECASE)
_WIDER = re.compile(r",?\s+(?:or|and)\s+(?:anything|any\s+other|other\s+words|variants?)\b[^,;.]*", re.IGNORECASE)
_ADDED = re.compile(
    r"\s+(?:at\s+least\s+(?:once|twice|\d+\s+times)|followed\s+by\s+(?:(?!\b(?:or|either)\b).)+|in\s+(?:two|three|different)\s+senses)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenWords:
    """The output contains none of these words.

    A word in lower case also matches with capitals. The result is undecided if only the case differs otherwise (`US`, `us`),
    or if the word is part of a longer one.

    >>> [ForbiddenWords(words=("AI",))(text).holds for text in ("I see.", "As an AI, no.", "As an ai, no.", "It said no.")]
    [True, False, None, None]
    """

    words: tuple[str, ...]
    is_whole: bool = True

    @property
    def description(self) -> str:
        return "not " + " or ".join(map(preview, self.words))

    def __call__(self, text: str) -> CheckResult:
        small = text.lower()
        there = [w for w in self.words if _contains_word(w, text) or (w.islower() and _contains_word(w, small))]
        if there:
            return CheckResult(False, f"it says {preview(there[0])}")
        near = next((word for word in self.words if word.lower() in small), None)
        if near is not None:
            return CheckResult(None, f"it says {preview(near)} only with other case, or within a word")
        return CheckResult(True, f"it says none of {len(self.words)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredTexts:
    """The output contains these texts; undecided if one occurs only with other case or inside a word."""

    texts: tuple[str, ...]
    is_whole: bool = True

    @property
    def description(self) -> str:
        return " and ".join(map(preview, self.texts))

    def __call__(self, text: str) -> CheckResult:
        missing = [expected for expected in self.texts if not _stands_alone(expected, text)]
        gone = [expected for expected in missing if expected.rstrip(".,;!?").casefold() not in text.casefold()]
        if gone or not missing:
            return CheckResult(not gone, f"{preview(gone[0])} is missing" if gone else f"{self.description} there")
        return CheckResult(None, f"{preview(missing[0])} occurs only with other case, or within a word")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsOrEndsWith:
    """The output starts or ends with a text; white space around it is ignored."""

    text: str
    where: Literal["start", "end"]
    is_whole: bool = True

    @property
    def description(self) -> str:
        return f"{self.where}s with {preview(self.text)}"

    def __call__(self, text: str) -> CheckResult:
        value = text.strip()
        at_start = self.where == "start"
        holds: bool | None = value.startswith(self.text) if at_start else value.endswith(self.text)
        plain, expected = (words.strip(" \t\r\n\"'`*_.\u201c\u201d").casefold() for words in (value, self.text))
        if holds and not _stands_alone(
            self.text, value[: len(self.text) + 1] if at_start else value[-len(self.text) - 1 :]
        ):
            holds = None  # a part of a longer word
        elif not holds and expected and (plain.startswith(expected) if at_start else plain.endswith(expected)):
            holds = None  # differs only in case, quotes or a full stop
        return CheckResult(holds, f"it {self.where}s with {preview(value[:40] if at_start else value[-40:])}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedTexts:
    """The output contains these texts in this order, each once; undecided if one is missing or repeated.

    A text at the start of a line counts before one within a line.
    """

    texts: tuple[str, ...]
    is_whole: bool = True

    @property
    def description(self) -> str:
        return "in order: " + ", ".join(self.texts)

    def __call__(self, text: str) -> CheckResult:
        found = [_places(expected, text) for expected in self.texts]
        for expected, there in zip(self.texts, found, strict=True):
            if len(there) != 1:
                return CheckResult(None, f"{preview(expected)} is {'there more than once' if there else 'missing'}")
        places = [there[0] for there in found]
        late = next((n for n in range(1, len(places)) if places[n] < places[n - 1]), None)
        if late is None:
            return CheckResult(True, "all in order")
        return CheckResult(False, f"{preview(self.texts[late])} comes before {preview(self.texts[late - 1])}")


def words_in(clause: Clause, rule: MaskedRule) -> Requirement | None:
    """Return what a clause requires of words."""
    if match := _CONTAIN.fullmatch(clause.text):
        texts = _texts(match["list"], rule)
        return _forbidden(match, texts) if clause.negated else _required(match, texts)
    if clause.negated:
        return None
    if match := _END.fullmatch(clause.text):
        where: Literal["start", "end"] = "end" if match["where"].lower() == "end" else "start"
        known = not match["tail"] or _ADDED.fullmatch(match["tail"])
        (text,) = _texts(match["list"], rule)
        fit = known and (where == "start" or not match["tail"])
        return Requirement((StartsOrEndsWith(text=text, where=where),), is_whole=not match["tail"]) if fit else None
    if match := _ORDER.fullmatch(clause.text):
        return _order(match["list"], rule)
    return None


def label_in(sentence: str, rule: MaskedRule, prompt: str) -> Requirement | None:
    """Return the label that something must follow, if the prompt has a line with it: then every output must contain it."""
    match = _LABEL.fullmatch(sentence)
    if match is None:
        return None
    (label,) = _texts(match["list"], rule)
    lines = (line.strip() for line in prompt.splitlines())
    return (
        Requirement((RequiredTexts(texts=(label,)),), is_whole=False)
        if any(line.startswith(label) for line in lines)
        else None
    )


def _forbidden(match: re.Match[str], texts: tuple[str, ...]) -> Requirement | None:
    wider = _WIDER.fullmatch(match["tail"]) is not None
    if match["tail"] and not wider:
        return None
    return Requirement((ForbiddenWords(words=texts),), is_whole=not wider)


def _required(match: re.Match[str], texts: tuple[str, ...]) -> Requirement | None:
    opening = match[0][: match.start("list") - match.start()]
    added = _ADDED.fullmatch(match["tail"]) is not None
    if (match["tail"] and not added) or _ANY.search(match["list"]) or _ANY.search(opening):
        return None
    return Requirement((RequiredTexts(texts=texts),), is_whole=not added)


def _order(value: str, rule: MaskedRule) -> Requirement | None:
    items = _texts(value, rule) or tuple(
        part for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", value.rstrip(". ")) if part
    )
    plain = all(item[:1].isupper() and len(item.split()) <= 3 and not _ANY.search(item) for item in items)
    fit = 2 <= len(items) <= 20 and (plain or bool(_texts(value, rule)))
    return Requirement((OrderedTexts(texts=items),)) if fit else None


def _places(expected: str, text: str) -> list[int]:
    """Return the positions of a text: at line starts, if there are any."""
    opening = r"^[ \t>#*_\-]*(?:\d+[.)])?[ \t*_]*"
    at_start = [match.end() for match in re.finditer(opening + re.escape(expected) + r"(?!\w)", text, re.MULTILINE)]
    return at_start or [match.end() for match in re.finditer(rf"(?<!\w){re.escape(expected)}(?!\w)", text)]


def _texts(value: str, rule: MaskedRule) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(rule.unmasked, re.findall(_Q, value))))


def _stands_alone(expected: str, text: str) -> bool:
    """Return whether a text occurs in another one without adjacent letters."""
    before = r"(?<![^\W\d_])" if expected[:1].isalpha() else ""
    after = r"(?![^\W\d_])" if expected[-1:].isalpha() else ""
    return re.search(before + re.escape(expected) + after, text) is not None


def _contains_word(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
