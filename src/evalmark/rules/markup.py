"""Rules on tags: how many there are, what stands inside of them, and whether all are closed."""

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from evalmark.values import count

from .bounds import fits, said
from .finding import Finding
from .phrases import NUMBER, OUTPUT, number_of

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
"""Elements of HTML that have no end."""
_ANY_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,40})\b([^<>]*)>")
_TAG = r"<(\w+)>"
_MUST = r"(?:must|should|shall|has to|have to|needs? to)"
_AMOUNT = rf"(?:(?P<least>at least)|(?P<most>at most|no more than)|(?P<exact>exactly|only))\s+{NUMBER}|(?P<several>multiple|several)"
_COUNT = re.compile(
    rf"^(?:there\s+{_MUST}\s+be|{OUTPUT}\s+{_MUST}\s+(?:contain|have|include|use))\s+(?:{_AMOUNT}|(?P<none>no))\s+{_TAG}\s+(?:tags?|elements?)"
    r"(?P<tail>.*)$",
    re.IGNORECASE,
)
_NO_TAG = re.compile(
    rf"^(?:there\s+{_MUST}\s+not\s+be|{OUTPUT}\s+{_MUST}\s+not\s+(?:contain|have|include|use))\s+(?:any\s+)?{_TAG}\s*(?:tags?|elements?)?(?P<tail>.*)$",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    rf"^(?:inside|within|in)\s+(?:of\s+)?(?:each|every)\s+{_TAG}\s*(?:tag|element)?,?\s+there\s+{_MUST}\s+be\s+(?:{_AMOUNT}|(?P<one>one|an?))\s+{_TAG}\s+(?:tags?|elements?)"
    r"(?P<tail>.*)$",
    re.IGNORECASE,
)
_WRAPPED = re.compile(
    rf"\b(?:{_MUST}\s+be\s+)?(?:wrapped|enclosed|wrap)\s+(?:each\s+\w+\s+)?(?:with|in|inside|within)\s+(?:an?\s+|the\s+)?{_TAG}",
    re.IGNORECASE,
)
_BALANCED = re.compile(
    r"\b(?:all|every)\s+(?:HTML\s+|XML\s+)?(?:tags?|elements?)\s+(?:is|are|must be|should be)\s+(?:properly|correctly)?\s*(?:opened and closed|closed)",
    re.IGNORECASE,
)
_HTML = re.compile(
    rf"^{OUTPUT}\s+{_MUST}\s+be\s+(?:formatted\s+(?:as|in)|written\s+in|valid|in)\s+(?:valid\s+)?HTML\b", re.IGNORECASE
)
_SAYS_NOTHING = re.compile(r"\s*(?:in the output)?\s*[.!]?\s*", re.IGNORECASE)


class Reading(NamedTuple):
    """The elements of a text, in the order in which they open."""

    tags: tuple[str, ...]
    ends: tuple[int, ...]
    """For each element, how many had opened when it closed: those between stand inside of it."""
    fault: str
    """The first thing that is wrong with how they are closed; empty where nothing is."""

    def inside(self, outer: str, tag: str) -> list[int]:
        """How many elements of a tag stand in each of another."""
        places = [place for place, name in enumerate(self.tags) if name == tag]
        return [
            bisect_left(places, end) - bisect_left(places, start + 1)
            for start, (name, end) in enumerate(zip(self.tags, self.ends, strict=True))
            if name == outer
        ]


def read_markup(text: str) -> Reading:
    """The elements of a text; one pass, whatever the text is.

    >>> read_markup("<p>a<br>b</p><i>").fault, read_markup("<p><b>x</b></p>").inside("p", "b")
    ('<i> is never closed', [1])
    """
    tags: list[str] = []
    ends: list[int] = []
    fault = ""
    opened: list[int] = []
    depth: Counter[str] = Counter()
    for closing, name, rest in _ANY_TAG.findall(_without_comments(text)):
        tag = name.lower()
        if not closing:
            tags.append(tag)
            ends.append(len(tags))
            if tag not in VOID and not rest.endswith("/"):
                opened.append(len(tags) - 1)
                depth[tag] += 1
        elif not depth[tag]:
            fault = fault or (f"</{tag}> closes nothing" if tag not in VOID else "")
        else:
            while tags[inner := opened.pop()] != tag:
                fault = fault or f"<{tags[inner]}> is not closed before </{tag}>"
                depth[tags[inner]] -= 1
                ends[inner] = len(tags)
            depth[tag] -= 1
            ends[inner] = len(tags)
    for left in opened:
        ends[left] = len(tags)
    return Reading(tuple(tags), tuple(ends), fault or (f"<{tags[opened[-1]]}> is never closed" if opened else ""))


def _without_comments(text: str) -> str:
    # A pattern would look for the end of each comment anew, which takes the square of the time where there is none.
    opening, *parts = text.split("<!--")
    return "".join([opening, *(part.partition("-->")[2] for part in parts)])


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """How many elements of a tag an output has.

    >>> TagCount(tag="p", low=2)("<p>one</p>").reason
    '1 <p>, at least 2'
    """

    tag: str
    low: int = 0
    high: int | None = None
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The number and the tag."""
        return f"{said(self.low, self.high)} <{self.tag}>"

    def __call__(self, text: str) -> Finding:
        """Count."""
        number = read_markup(text).tags.count(self.tag)
        return Finding(fits(number, self.low, self.high), f"{number} <{self.tag}>, {said(self.low, self.high)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsInside:
    """How many elements of a tag stand inside of each of another; without any of the other nothing can be said."""

    outer: str
    tag: str
    low: int = 0
    high: int | None = None
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The number and both tags."""
        return f"{said(self.low, self.high)} <{self.tag}> in each <{self.outer}>"

    def __call__(self, text: str) -> Finding:
        """Count in each."""
        inside = read_markup(text).inside(self.outer, self.tag)
        if not inside:
            return Finding(None, f"there is no <{self.outer}>")
        wrong = next(((n, number) for n, number in enumerate(inside, 1) if not fits(number, self.low, self.high)), None)
        if wrong is None:
            return Finding(
                True, f"{said(self.low, self.high)} in each of {count(len(inside), f'<{self.outer}> element')}"
            )
        return Finding(
            False, f"{wrong[1]} <{self.tag}> in <{self.outer}> number {wrong[0]}, {said(self.low, self.high)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """Every tag is closed, in the right order, and nothing is closed that was not opened."""

    is_whole: bool = True
    says: str = "all tags are closed"

    def __call__(self, text: str) -> Finding:
        """Look at every tag."""
        found = read_markup(text)
        if not found.tags and not found.fault:
            return Finding(None, "there is no tag")
        return Finding(not found.fault, found.fault or f"all of {count(len(found.tags), 'element')} closed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Markup:
    """There is some tag of HTML at all: a text without one is not formatted as HTML."""

    is_whole: bool = False
    says: str = "some HTML tag"

    def __call__(self, text: str) -> Finding:
        """Look for one."""
        number = len(read_markup(text).tags)
        return Finding(number > 0, count(number, "element"))


def markup_in(rule: str) -> TagCount | TagsInside | Balanced | Markup | None:
    """What a rule asks of tags."""
    if match := _INSIDE.match(rule):
        low, high = (1, None) if match["one"] else _range(match)
        tags = [tag.lower() for tag in re.findall(_TAG, rule)]
        return TagsInside(outer=tags[0], tag=tags[1], low=low, high=high, is_whole=_is_end(match["tail"]))
    if match := _NO_TAG.match(rule):
        return TagCount(tag=re.findall(_TAG, rule)[0].lower(), high=0, is_whole=_is_end(match["tail"]))
    if match := _COUNT.match(rule):
        low, high = (0, 0) if match["none"] else _range(match)
        return TagCount(tag=re.findall(_TAG, rule)[0].lower(), low=low, high=high, is_whole=_is_end(match["tail"]))
    if _BALANCED.search(rule):
        return Balanced()
    if match := _WRAPPED.search(rule):
        return TagCount(tag=match[1].lower(), low=1, is_whole=False)
    return Markup() if _HTML.match(rule) else None


def _range(match: re.Match[str]) -> tuple[int, int | None]:
    if match["several"]:
        return 2, None
    number = number_of(next(word for word in match.groups() if word and re.fullmatch(NUMBER, word, re.IGNORECASE)))
    return (0 if match["most"] else number), (None if match["least"] else number)


def _is_end(tail: str) -> bool:
    return _SAYS_NOTHING.fullmatch(tail) is not None
