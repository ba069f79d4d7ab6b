"""Rules on tags: their number, nesting and closing."""

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from evalmark.core.text import count

from .checks import CheckResult, Requirement, describe_bounds, within_bounds
from .phrases import NUMBER, OUTPUT, number_of

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
"""HTML elements without an end tag."""
_ANY_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,40})\b([^<>]*)>")
_TAG = r"<(\w+)>"
_MUST = r"(?:must|should|shall|has to|have to|needs? to)"
_AMOUNT = rf"(?:(?P<least>at least)|(?P<most>at most|no more than)|(?P<exact>exactly|only))\s+({NUMBER})|(?P<several>multiple|several)"
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
    rf"^(?:(?:inside|within|in)\s+(?:of\s+)?(?:each|every)\s+{_TAG}\s*(?:tag|element)?,?\s+there\s+{_MUST}\s+be|"
    rf"(?:each|every)\s+<(?P<outer>\w+)>\s*(?:tag|element)\s+{_MUST}\s+(?:contain|have|include))\s+"
    rf"(?:{_AMOUNT}|(?P<one>one|an?))\s+<(?P<tag>\w+)>\s+(?:tags?|elements?)(?P<tail>.*)$",
    re.IGNORECASE,
)
_WRAPPED = re.compile(
    rf"^(?:each|every)\s+\w+\s+{_MUST}\s+be\s+(?:wrapped|enclosed)\s+(?:with|in|inside|within)\s+(?:an?\s+|the\s+)?{_TAG}(?:\s+tags?)?$|"
    rf"^(?:wrap|enclose)\s+(?:each|every)\s+\w+\s+(?:with|in|inside|within)\s+(?:an?\s+|the\s+)?<(?P<tag>\w+)>(?:\s+tags?)?$",
    re.IGNORECASE,
)
_BALANCED = re.compile(
    rf"^(?:{OUTPUT}\s+{_MUST}\s+ensure\s+that\s+)?(?:all|every)\s+(?:HTML\s+|XML\s+)?(?:tags?|elements?)(?:\s+in\s+{OUTPUT})?\s+"
    r"(?:is|are|must\s+be|should\s+be)\s+(?:properly\s+|correctly\s+)?(?:opened\s+and\s+closed|closed)(?P<tail>,.*|\s+(?:properly|correctly))?$",
    re.IGNORECASE,
)
_HTML = re.compile(
    rf"^{OUTPUT}\s+{_MUST}\s+be\s+(?:formatted\s+(?:as|in)|written\s+in|valid|in)\s+(?:valid\s+)?HTML$", re.IGNORECASE
)
_SAYS_NOTHING = re.compile(r"\s*(?:in the (?:output|response))?\s*", re.IGNORECASE)
_MORE = re.compile(r"\s+to\s+[^,;]+", re.IGNORECASE)


class MarkupElements(NamedTuple):
    """The elements of a text, in opening order."""

    tags: tuple[str, ...]
    ends: tuple[int, ...]
    """For each element, how many had opened when it closed: those in between are inside it."""
    fault: str
    """The first fault in their closing; empty without one."""

    def inside(self, outer: str, tag: str) -> list[int]:
        """Return how many elements of a tag are in each of another."""
        places = [place for place, name in enumerate(self.tags) if name == tag]
        return [
            bisect_left(places, end) - bisect_left(places, start + 1)
            for start, (name, end) in enumerate(zip(self.tags, self.ends, strict=True))
            if name == outer
        ]


def parse_markup(text: str) -> MarkupElements:
    """Return the elements of a text, in one pass.

    >>> parse_markup("<p>a<br>b</p><i>").fault, parse_markup("<p><b>x</b></p>").inside("p", "b")
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
    return MarkupElements(
        tuple(tags), tuple(ends), fault or (f"<{tags[opened[-1]]}> is never closed" if opened else "")
    )


def _without_comments(text: str) -> str:
    # A pattern would search for the end of each comment again, which takes quadratic time if there is none.
    opening, *parts = text.split("<!--")
    return "".join([opening, *(part.partition("-->")[2] for part in parts)])


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """The output has a certain number of elements of a tag.

    >>> TagCount(tag="p", low=2)("<p>one</p>").reason
    '1 <p>, at least 2'
    """

    tag: str
    low: int = 0
    high: int | None = None
    is_whole: bool = True

    @property
    def description(self) -> str:
        return f"{describe_bounds(self.low, self.high)} <{self.tag}>"

    def __call__(self, text: str) -> CheckResult:
        number = parse_markup(text).tags.count(self.tag)
        return CheckResult(
            within_bounds(number, self.low, self.high), f"{number} <{self.tag}>, {describe_bounds(self.low, self.high)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsInside:
    """Each element of one tag contains a certain number of another; undecided without any."""

    outer: str
    tag: str
    low: int = 0
    high: int | None = None
    is_whole: bool = True

    @property
    def description(self) -> str:
        return f"{describe_bounds(self.low, self.high)} <{self.tag}> in each <{self.outer}>"

    def __call__(self, text: str) -> CheckResult:
        inside = parse_markup(text).inside(self.outer, self.tag)
        if not inside:
            return CheckResult(None, f"there is no <{self.outer}>")
        wrong = next(
            ((n, number) for n, number in enumerate(inside, 1) if not within_bounds(number, self.low, self.high)), None
        )
        if wrong is None:
            return CheckResult(
                True,
                f"{describe_bounds(self.low, self.high)} in each of {count(len(inside), f'<{self.outer}> element')}",
            )
        return CheckResult(
            False,
            f"{wrong[1]} <{self.tag}> in <{self.outer}> number {wrong[0]}, {describe_bounds(self.low, self.high)}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedTags:
    """Every tag is closed, in the right order."""

    is_whole: bool = True
    description: str = "all tags are closed"

    def __call__(self, text: str) -> CheckResult:
        found = parse_markup(text)
        if not found.tags and not found.fault:
            return CheckResult(None, "there is no tag")
        return CheckResult(not found.fault, found.fault or f"all of {count(len(found.tags), 'element')} closed")


@dataclass(frozen=True, slots=True, kw_only=True)
class HasMarkup:
    """The output has at least one HTML tag."""

    is_whole: bool = False
    description: str = "some HTML tag"

    def __call__(self, text: str) -> CheckResult:
        number = len(parse_markup(text).tags)
        return CheckResult(number > 0, count(number, "element"))


def markup_in(sentence: str) -> Requirement | None:
    """Return what a sentence requires of tags."""
    if match := _INSIDE.fullmatch(sentence):
        low, high = (1, None) if match["one"] else _range(match)
        outer = match["outer"] or re.findall(_TAG, sentence)[0]
        return _with_tail(TagsInside(outer=outer.lower(), tag=match["tag"].lower(), low=low, high=high), match["tail"])
    if match := _NO_TAG.fullmatch(sentence):
        return _with_tail(TagCount(tag=re.findall(_TAG, sentence)[0].lower(), high=0), match["tail"])
    if match := _COUNT.fullmatch(sentence):
        low, high = (0, 0) if match["none"] else _range(match)
        return _with_tail(TagCount(tag=re.findall(_TAG, sentence)[0].lower(), low=low, high=high), match["tail"])
    if match := _BALANCED.fullmatch(sentence):
        return Requirement((ClosedTags(),), is_whole=not (match["tail"] or "").startswith(","))
    if match := _WRAPPED.fullmatch(sentence):
        return Requirement((TagCount(tag=(match[1] or match["tag"]).lower(), low=1),), is_whole=False)
    return Requirement((HasMarkup(),), is_whole=False) if _HTML.fullmatch(sentence) else None


def _with_tail(check: TagCount | TagsInside, tail: str) -> Requirement | None:
    """Return the check, unless the rest of the sentence restricts it."""
    whole = _SAYS_NOTHING.fullmatch(tail) is not None
    return Requirement((check,), is_whole=whole) if whole or _MORE.fullmatch(tail) else None


def _range(match: re.Match[str]) -> tuple[int, int | None]:
    if match["several"]:
        return 2, None
    number = number_of(next(word for word in match.groups() if word and re.fullmatch(NUMBER, word, re.IGNORECASE)))
    return (0 if match["most"] else number), (None if match["least"] else number)
