"""Limits on words, sentences, lines, characters and paragraphs."""

import re
from dataclasses import dataclass

from evalmark.scorers.sentences import split
from evalmark.values import count

from .bounds import fits, said
from .finding import Finding
from .phrases import END, MUST, NUMBER, OUTPUT, number_of

_UNIT = r"\s+(words?|sentences?|lines?|characters?|paragraphs?)\b"
_MOST = (
    r"(?:at most|no more than|not more than|not be more than|not exceed|not be longer than|no longer than|a maximum of|"
    r"maximum of|limited to|not go over|without exceeding|not contain more than|not have more than|within|up to)"
)
_BELOW = r"(?:fewer than|less than|under|below|shorter than)"
_LEAST = r"(?:at least|no fewer than|no less than|not less than|not fewer than|a minimum of|minimum of)"
_ABOVE = r"(?:more than|longer than)"
_EXACT = r"(?:exactly|precisely|only|just)"
_OPENING = re.compile(
    rf"^(?:{OUTPUT}\s+{MUST}|(?:please\s+)?(?:keep|limit|restrict)\s+(?:{OUTPUT}|it)\s+to\s+|"
    r"(?:please\s+)?(?:use|write|answer (?:in|with)|respond (?:in|with)|reply (?:in|with)|return|do)\s+)",
    re.IGNORECASE,
)
_SPAN = re.compile(
    rf"(?:between\s+{NUMBER}\s+and\s+{NUMBER}|{NUMBER}\s*(?:to|-|\u2013)\s*{NUMBER}){_UNIT}", re.IGNORECASE
)
_BOUND = re.compile(
    rf"(?:(?P<most>{_MOST})|(?P<below>{_BELOW})|(?P<least>{_LEAST})|(?P<above>{_ABOVE})|(?P<exact>{_EXACT}))\s+{NUMBER}{_UNIT}",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"{NUMBER}{_UNIT}\s+(?:or (?P<least>more)|or (?P<most>less|fewer)|(?P<most2>at most|maximum|at the most))",
    re.IGNORECASE,
)
_BARE = re.compile(rf"{NUMBER}{_UNIT}", re.IGNORECASE)
_TURNED = re.compile(
    r"\bnot\s+(?:be\s+|have\s+|contain\s+|consist of\s+|only\s+)*(?:at most|no more|limited to|within|up to|fewer|less|under|"
    r"below|shorter|at least|exactly|only|just|a single|one|between|a m)",
    re.IGNORECASE,
)
_OF_PARTS = re.compile(
    r"^\s*(?:per|each|apiece|for (?:each|every)|in (?:each|every)|of (?:each|every))\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much of something an output may have.

    >>> Limit(unit="word", high=3)("one two three four")
    Finding(holds=False, reason='4 words, at most 3')
    """

    unit: str
    """`word`, `sentence`, `line`, `character` or `paragraph`."""
    low: int | None = None
    high: int | None = None
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The limit in words."""
        return f"{said(self.low, self.high)} {self.unit}{'' if (self.high or self.low) == 1 else 's'}"

    def __call__(self, text: str) -> Finding:
        """Count."""
        number = amount(text, self.unit)
        return Finding(fits(number, self.low, self.high), f"{count(number, self.unit)}, {said(self.low, self.high)}")


def amount(text: str, unit: str) -> int:
    """How many of a unit a text has: words are what blanks part, lines and paragraphs have something in them.

    >>> [amount("It costs 3.5 euros. Ask Dr. Smith!", unit) for unit in ("word", "sentence", "line", "paragraph", "character")]
    [7, 2, 1, 1, 34]
    """
    text = text.strip()
    if unit == "word":
        return len(text.split())
    if unit == "sentence":
        return len(split(text))
    if unit == "character":
        return len(text)
    parts = text.splitlines() if unit == "line" else re.split(r"\n\s*\n", text.replace("\r\n", "\n"))
    return sum(bool(part.strip()) for part in parts)


def limit_in(rule: str) -> Limit | None:
    """The limit on the whole output that a rule sets; None where it sets none, or one on parts of the output."""
    opening = _OPENING.match(rule)
    if _TURNED.search(rule):
        return None
    rest = rule[opening.end() :] if opening else rule
    for pattern in (_SPAN, _AFTER, _BOUND, _BARE):
        # Between the thing and its limit there is nothing else, or the limit may be one on something else.
        if (match := pattern.match(rest)) is not None and not _OF_PARTS.match(rest[match.end() :]):
            whole = re.fullmatch(END, rest[match.end() :], re.IGNORECASE) is not None
            return _limit(match, whole) if whole or (opening and pattern is not _BARE) else None
    return None


def _limit(match: re.Match[str], whole: bool) -> Limit:
    kinds = {name.rstrip("2") for name, text in match.groupdict().items() if text is not None}
    words = [text for text in match.groups() if text is not None]
    unit = next(word for word in words if re.fullmatch(_UNIT.strip(r"\s+"), word, re.IGNORECASE)).lower().rstrip("s")
    numbers = [number_of(word) for word in words if re.fullmatch(NUMBER, word, re.IGNORECASE)]
    if len(numbers) == 2:
        return Limit(unit=unit, low=numbers[0], high=numbers[1], is_whole=whole)
    (number,) = numbers
    if kinds & {"most", "below"}:
        return Limit(unit=unit, high=number - ("below" in kinds), is_whole=whole)
    if kinds & {"least", "above"}:
        return Limit(unit=unit, low=number + ("above" in kinds), is_whole=whole)
    return Limit(unit=unit, low=number, high=number, is_whole=whole)
