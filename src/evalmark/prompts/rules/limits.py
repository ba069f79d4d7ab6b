"""Rules on the number of words, sentences, lines, characters, paragraphs and bullet points."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from evalmark.core.lazy import need
from evalmark.core.text import count
from evalmark.scoring.builtin.sentences import split_sentences

from .checks import CheckResult, Requirement, RuleCheck, describe_bounds, within_bounds
from .language import language_named
from .phrases import NUMBER, Clause, number_of

_UNIT = r"\s+(?P<unit>words?|sentences?|lines?|characters?|paragraphs?|bullet\s+points?|bullets?)\b"
_NO_TAIL = r"(?:\s+(?:in\s+(?:total\s+)?length|in\s+total|total|long|overall|of\s+text|only|under\s+any\s+circumstances|in\s+a\s+single\s+(?:response|reply|answer)))*"
_TAIL = rf"{_NO_TAIL}(?:,?\s+including\s+(?:the\s+|any\s+|all\s+)?\w+)?"
_MOST = (
    r"at\s+most|no\s+more\s+than|not\s+more\s+than|(?:a\s+)?maximum\s+(?:length\s+)?of|no\s+longer\s+than|not\s+longer\s+than|"
    r"up\s+to|within|limited\s+to|restricted\s+to|capped\s+at|less\s+than\s+or\s+equal\s+to|equal\s+to\s+or\s+less\s+than|not\s+exceeding|"
    r"never\s+exceeding|without\s+exceeding|max\.?"
)
_LEAST = r"at\s+least|no\s+fewer\s+than|no\s+less\s+than|not\s+less\s+than|not\s+fewer\s+than|(?:a\s+)?minimum\s+(?:length\s+)?of|no\s+shorter\s+than"
_BELOW = r"fewer\s+than|less\s+than|under|below|shorter\s+than"
_ABOVE = r"more\s+than|longer\s+than|greater\s+than|over|above"
_LOW, _HIGH = rf"(?P<low>{NUMBER})", rf"(?P<high>{NUMBER})"
_ONE = r"(?:(?:a|one)\s+)?sing(?:le|ular)"
_ADJECTIVE = r"(?:short|brief|concise|clear|simple|succinct|coherent|cohesive|complete|polite|friendly|plain|continuous|direct|informative|precise|formal)"
_ONE_KIND = re.compile(
    rf"(?:exactly\s+)?(?:(?:an?|one)\s+(?:{_ADJECTIVE},?\s+)*sing(?:le|ular),?\s+(?:{_ADJECTIVE},?\s+(?:and\s+)?)*|one\s+(?:{_ADJECTIVE},?\s+(?:and\s+)?)+|(?:an?|one)\s+single\s+(?!or\b)[a-z]+\s+(?=sentence|paragraph))"
    r"(?=(?:sentence|paragraph|line|word)\b)",
    re.IGNORECASE,
)
_QUALITIES = re.compile(
    rf"(?:{_ADJECTIVE}(?:,\s+|\s+and\s+|,\s+and\s+))+(?=not\s+exceeding|at\s+most|no\s+more|no\s+longer|fewer|less|limited|between|under|below|with\s)(?:with\s+)?",
    re.I,
)
_BE = re.compile(
    r"(?:be(?:\s+(?:kept|written|expressed|given|provided|made|presented|contained|formatted|structured|returned|crafted|composed|delivered))?(?:\s+(?:only|just|strictly))?"
    r"(?:\s+(?:in|as|on|to)\b)?|consist\s+of|comprise|total|range|have\s+a\s+(?:total\s+)?length\s+of|(?:stay|remain|fit|be\s+kept)(?=\s+(?:with)?in|\s+under|\s+below|\s+on)(?:\s+(?:in|on)\b)?)\s+",
    re.IGNORECASE,
)
_HOLD = re.compile(r"(?:contain|have|include|use)\s+(?:only\s+)?", re.IGNORECASE)
_EXCEED = re.compile(r"(?:exceed|surpass|go\s+over|go\s+beyond)\s+", re.IGNORECASE)
_SIZE = re.compile(
    r"have\s+a\s+(?:total\s+)?(word|character|sentence|line)\s+count\s+(?:of\s+)?(?P<rest>.+)", re.IGNORECASE
)
_OF_NOUN = re.compile(
    rf"(?:an?|one)\s+(?:{_ADJECTIVE},?\s+){{0,2}}(?:(?<!one\s)(?:paragraph|sentence)(?=\s+(?:of|with)\s+(?:a\s+max|at\s+m|no\s+m|under|up\s+to))|text|message|greeting|headline|title|caption|tweet|slogan|phrase|question|comment|note|"
    r"email|letter|response|reply|answer|string)\s+(?:of|with)\s+(?=[^,;]+$)",
    re.IGNORECASE,
)
_OF_LIST = re.compile(r"an?\s+(?:bulleted\s+)?list\s+(?:of|with)\s+(?=.*\bbullet)", re.IGNORECASE)
_COMPOUND = re.compile(
    rf"(?:an?\s+)?(?:single|(?P<low>{NUMBER}))-(?P<unit>sentence|paragraph|word|line)\s+"
    r"(?:summary|answer|response|reply|title|headline|description|explanation|definition|sentence|paragraph|message|output|text|statement|caption|label|greeting|phrase)"
    r"(?:\s+that\s+(?:[a-z]+ly\s+)?[a-z]+s\b(?:(?!\bor\b)[^,;])*)?",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"(?:,?\s+(?:that|which)\s+(?:[a-z]+ly\s+)?[a-z]+s\b|,\s+ensuring\b|\s+(?:representing|describing|summarizing|naming|stating|explaining)\s)(?:(?!\bor\b)[^,;])*",
    re.IGNORECASE,
)
_FEW = 20
"""Fewer characters probably means people in a story."""
_WITHOUT = re.compile(
    r",?\s+(?:with\s+no|without(?:\s+any)?)\s+(?:(?:spaces?|punctuation(?:\s+marks)?|quotes|quotation\s+marks|explanations?|formatting|markdown|"
    r"(?:additional|other|extra)\s+text)(?:,\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+)?)+",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"(?P<weak>,\s*(?:and\s+)?|\s+(?:of|with|using)\s+|\s+(?=not\s+exceeding))|\s+and\s+(?:be\s+)?", re.IGNORECASE
)


_NO_PROSE = re.compile(r"\s*(?:#{1,6}\s|[-*+\u2022]\s|\d+[.)]\s|```|\||>|\*\*[^*\n]+\*\*\s*$|-{3,})")
"""The start of a Markdown heading, list, code block, table or quotation."""


class Amount(NamedTuple):
    """A limit as written in a rule."""

    limit: "Limit"
    end: int
    is_bare: bool
    """Whether it is only a number: `3 sentences`. With the verb `contain`, more are allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit on how much of something the output has.

    >>> Limit(unit="word", high=3)("one two three four")
    CheckResult(holds=False, reason='4 words, at most 3')
    """

    unit: str
    """`word`, `sentence`, `line`, `character`, `paragraph` or `bullet point`."""
    low: int | None = None
    high: int | None = None
    is_whole: bool = True

    @property
    def description(self) -> str:
        return f"{describe_bounds(self.low, self.high)} {self.unit}{'' if (self.high or self.low) == 1 else 's'}"

    def __call__(self, text: str) -> CheckResult:
        """Count; the result is undecided if common ways of counting differ and it matters."""
        least, most = amounts(text, self.unit)
        holds = within_bounds(least, self.low, self.high)
        if least != most and (holds != within_bounds(most, self.low, self.high) or _between(least, most, self)):
            return CheckResult(
                None,
                f"{least:,} to {count(most, self.unit)}, by how they are counted; {describe_bounds(self.low, self.high)}",
            )
        shown = count(most, self.unit) if least == most else f"{least:,} to {count(most, self.unit)}"
        return CheckResult(holds, f"{shown}, {describe_bounds(self.low, self.high)}")


def _between(least: int, most: int, limit: Limit) -> bool:
    """Return whether an amount between two that are out of bounds would be within."""
    low, high = limit.low or 0, limit.high
    return not within_bounds(least, low, high) and least < low and high is not None and most > high


def amounts(text: str, unit: str) -> tuple[int, int]:
    """Return the smallest and largest number of units that common ways of counting find in a text.

    >>> [amounts("A well-known fact. Ask Dr. Smith!", unit) for unit in ("word", "sentence", "line", "paragraph")]
    [(6, 7), (2, 2), (1, 1), (1, 1)]
    """
    found = _COUNTS[unit](text.strip())
    return min(found), max(found)


def _words(text: str) -> tuple[int, ...]:
    if any(unicodedata.name(letter, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "THAI")) for letter in text):
        return (bool(text), len(text))  # no blanks between words
    tokens = text.split()
    spoken = sum(any(map(str.isalnum, token)) for token in tokens)
    joined = re.findall(r"[^\W_]+(?:['\u2019.][^\W_]+)*", text)
    return (len(tokens), spoken, max(spoken, len(joined)))


def _sentences(text: str) -> tuple[int, ...]:
    text = re.sub(r"^[ \t]*(?:\d{1,3}[.)]|[-*+\u2022])[ \t]+", "", text, flags=re.MULTILINE)
    lines = [part for line in text.splitlines() for part in split_sentences(line)]
    return (len(split_sentences(text)), len(lines), sum(_has_end(part) for part in lines))


def _has_end(text: str) -> bool:
    return re.search(r"[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\]*_]*\s*$", text) is not None


def _lines(text: str) -> tuple[int, ...]:
    lines = text.splitlines()
    return (len(lines), sum(bool(line.strip()) for line in lines))


def _characters(text: str) -> tuple[int, ...]:
    return (len(text), len(need("regex").findall(r"\X", text)), len(text.replace("\r\n", "\n")))


def _paragraphs(text: str) -> tuple[int, ...]:
    blocks = [block for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n")) if block.strip()]
    prose = [block for block in blocks if _has_end(block) and not _NO_PROSE.match(block)]
    lines = [line for line in re.split(r"\n|<br\s*/?>", text, flags=re.IGNORECASE) if line.strip()]
    tagged = len(re.findall(r"<p[\s>]", text, re.IGNORECASE))
    return (len(blocks), max(len(prose), bool(blocks)), len(lines), *([tagged] if tagged else []))


def _bullets(text: str) -> tuple[int, ...]:
    marks = re.findall(r"^([ \t]*)([-*+\u2022\u2023\u25e6\u2013]|\d{1,3}[.)])[ \t]+\S", text, re.MULTILINE)
    top = min((len(indent) for indent, _ in marks), default=0)
    plain = [mark for indent, mark in marks if len(indent) == top and not mark[0].isdigit()]
    return (len(marks), len(plain))


_COUNTS: dict[str, Callable[[str], tuple[int, ...]]] = {
    "word": _words,
    "sentence": _sentences,
    "line": _lines,
    "character": _characters,
    "paragraph": _paragraphs,
    "bullet point": _bullets,
}

_AMOUNTS = tuple(
    re.compile(pattern + _UNIT + _NO_TAIL + tail, re.IGNORECASE)
    for pattern, tail in (
        (rf"between\s+{_LOW}\s+(?:and|to)\s+{_HIGH}", ""),
        (rf"(?:from\s+)?{_LOW}\s*(?:to|-|\u2013)\s*{_HIGH}", ""),
        (
            rf"(?:{_LEAST})\s+{_LOW}(?:\s+(?P<first>words?|characters?|sentences?|lines?|paragraphs?))?,?\s+(?:and|but)\s+(?:{_MOST})\s+{_HIGH}",
            "",
        ),
        (rf"(?:(?P<most>{_MOST})|(?P<below>{_BELOW})|(?P<least>{_LEAST})|(?P<above>{_ABOVE}))\s+{_LOW}", ""),
        (
            _LOW,
            r"\s*,?\s+(?:(?P<most>or\s+(?:less|fewer)|maximum|max|at\s+most|at\s+the\s+most)|(?P<least>or\s+(?:more|longer)|minimum|at\s+least))\b",
        ),
        (rf"(?P<exact>exactly|precisely)\s+(?:{_ONE}|{_LOW})", ""),
        (rf"(?P<exact>{_ONE}|(?:only|just)\s+(?:a|one)|one\s+and\s+only\s+one)", ""),
        (_LOW, ""),
    )
)


def _amount(text: str, start: int) -> Amount | None:
    """Return the limit that starts at a position."""
    for pattern in _AMOUNTS:
        if match := pattern.match(text, start):
            limit = _limit(match)
            return None if limit is None else Amount(limit, match.end(), pattern is _AMOUNTS[-1])
    return None


def _limit(match: re.Match[str]) -> Limit | None:
    groups = match.groupdict()
    unit, first = _unit(match["unit"]), groups.get("first")
    low = number_of(groups["low"]) if groups.get("low") else 1
    high = number_of(groups["high"]) if groups.get("high") else low
    if high < low or (first and _unit(first) != unit):
        return None
    if groups.get("most") or groups.get("below"):
        most = low - bool(groups.get("below"))
        return Limit(unit=unit, high=most) if most else None
    if groups.get("least") or groups.get("above"):
        return Limit(unit=unit, low=low + bool(groups.get("above")))
    return Limit(unit=unit, low=low, high=high) if high else None


def _unit(word: str) -> str:
    plain = " ".join(word.lower().split()).rstrip("s")
    return "bullet point" if plain == "bullet" else plain


_EXACTLY = re.compile(r"(?:exactly|precisely|only|just)\s", re.IGNORECASE)


def limits_in(clause: Clause) -> Requirement | None:
    """Return the limits that a clause sets on the whole output; None if there are none, or they apply to parts."""
    text = clause.text
    if match := _SIZE.fullmatch(text):
        text = f"be {match['rest']} {match[1]}s"
    if clause.negated:
        return _prohibited(text)
    if match := _EXCEED.match(text):
        return _exceeding(text, match.end())
    if (match := _HOLD.match(text)) and not _BE.match(text):
        found = _amount(text, match.end())
        one = "only" in match[0].lower() and found is not None and found.limit.high == 1
        fit = found is not None and (not found.is_bare or one) and re.fullmatch(_TAIL, text[found.end :], re.IGNORECASE)
        return Requirement((found.limit,)) if found is not None and fit and not _may_be_people(found.limit) else None
    if match := _BE.match(text):
        is_kept = re.match(r"be\s+kept\s", text, re.IGNORECASE) is not None or text.lower().startswith("fit")
        return _limit_chain(text, match.end(), is_kept)
    return None


def _may_be_people(limit: Limit) -> bool:
    return limit.unit == "character" and max(limit.low or 0, limit.high or 0) < _FEW


def _exceeding(text: str, start: int) -> Requirement | None:
    found = _amount(text, start)
    if found is None or not (found.is_bare or found.limit.high == 1) or not _ends(text, found.end):
        return None
    return Requirement((Limit(unit=found.limit.unit, low=(found.limit.high or 0) + 1),))


def _prohibited(text: str) -> Requirement | None:
    """Return a limit that is stated as a prohibition."""
    if match := _EXCEED.match(text):
        found = _amount(text, match.end())
        fit = found is not None and (found.is_bare or found.limit.high == 1) and _ends(text, found.end)
        return (
            Requirement((Limit(unit=found.limit.unit, high=found.limit.high),)) if found is not None and fit else None
        )
    match = re.match(r"(?:be|contain|have|include|use|span|consist\s+of)\s+", text, re.IGNORECASE)
    found = None if match is None else _amount(text, match.end())
    if found is None or not _ends(text, found.end):
        return None
    low, high = found.limit.low, found.limit.high
    if re.match(rf"\w+\s+(?:of\s+)?(?:{_ABOVE})\s", text, re.IGNORECASE) and low is not None:
        return Requirement((Limit(unit=found.limit.unit, high=low - 1),))
    if re.match(rf"\w+\s+(?:of\s+)?(?:{_BELOW})\s", text, re.IGNORECASE) and high is not None:
        return Requirement((Limit(unit=found.limit.unit, low=high + 1),))
    return None


def _ends(text: str, place: int) -> bool:
    return re.fullmatch(_TAIL, text[place:], re.IGNORECASE) is not None


def _limit_chain(text: str, start: int, is_kept: bool) -> Requirement | None:
    """Return a chain of limits on the whole output: `a single paragraph of at most 80 words, in English`."""
    if match := _COMPOUND.fullmatch(text, start):
        number = number_of(match["low"]) if match["low"] else 1
        return Requirement((Limit(unit=match["unit"].lower(), low=number, high=number),), is_whole=False)
    if match := _ONE_KIND.match(text, start):
        plain = re.fullmatch(rf"(?:exactly\s+)?{_ONE}\s+", match[0], re.IGNORECASE) is not None
        found = _linked(f"{text[:start]}a single {text[match.end() :]}", start, is_kept)
        return found if plain or found is None else Requirement(found.checks, is_whole=False)
    opening = next((m for kind in (_OF_NOUN, _OF_LIST, _QUALITIES) if (m := kind.match(text, start))), None)
    found = _linked(text, start if opening is None else opening.end(), is_kept)
    return found if opening is None or found is None else Requirement(found.checks, is_whole=False)


def _linked(text: str, place: int, is_kept: bool) -> Requirement | None:
    checks: list[RuleCheck] = []
    while True:
        found = _element(text, place, is_kept)
        if found is None or (checks and isinstance(checks[-1], Limit) and not _may_follow(text, place, checks)):
            return None
        if _may_share_a_bound(text[place:], found[0], checks):
            return None
        check, place = found
        checks.append(check)
        if _ends(text, place):
            return Requirement(tuple(checks))
        if any(map(is_single, checks)) and _asks_for_more(check, text[place:]):
            return Requirement(tuple(checks), is_whole=False)
        if (joint := _JOINT.match(text, place)) is None:
            return None
        place = joint.end()


def _may_share_a_bound(value: str, check: RuleCheck, earlier: list[RuleCheck]) -> bool:
    """Return whether an amount without its own bound may share an earlier one: `at most 3 sentences and 50 words`."""
    if not isinstance(check, Limit) or check.low != check.high or _EXACTLY.match(value):
        return False
    return any(isinstance(one, Limit) and one.low != one.high for one in earlier)


def _asks_for_more(check: RuleCheck, rest: str) -> bool:
    """Return whether the rest only describes the one thing that the output is."""
    small = isinstance(check, Limit) and check.unit in ("word", "line", "sentence")
    return _RELATIVE.fullmatch(rest) is not None or (small and _WITHOUT.fullmatch(rest) is not None)


def _may_follow(text: str, place: int, checks: list[RuleCheck]) -> bool:
    """Return whether a further limit applies to the whole output."""
    if is_single(checks[-1]) or re.search(r"\sand\s+(?:be\s+)?$", text[:place], re.IGNORECASE):
        return True
    found = _amount(text, place)
    by_comma = re.search(r",\s*(?:and\s+)?$", text[:place], re.IGNORECASE) is not None
    return by_comma and any(map(is_single, checks)) and (found is None or not found.is_bare)


def is_single(check: RuleCheck) -> bool:
    """Return whether the output is one thing by this check, so that statements about that thing apply to the output."""
    return isinstance(check, Limit) and (check.low, check.high) == (1, 1)


def _element(text: str, place: int, is_kept: bool) -> tuple[RuleCheck, int] | None:
    found = _amount(text, place)
    if found is not None:
        limit = found.limit
        if is_kept and found.is_bare and limit.low != 1:
            limit = Limit(unit=limit.unit, high=limit.high)
        return limit, found.end
    return language_named(text, place)
