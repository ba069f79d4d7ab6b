"""Rules that the output must be one of several labels."""

import re
from dataclasses import dataclass
from typing import Literal

from evalmark.scoring.binding.text import preview

from .checks import CheckResult, Requirement
from .language import SCRIPTS
from .phrases import NUMBER, Clause, MaskedRule, number_of

Case = Literal["exact", "ignore", "unsaid"]
_NOUN = (
    r"(?:(?:category|label|tag|class)\s+names?|part[- ]of[- ]speech\s+tags?|labels?|words?|values?|categor(?:y|ies)|tags?|"
    r"class(?:es)?|strings?|terms?|ratings?|numbers?|verbs?)"
)
_REMARK = (
    r"(?:,?\s*\(?(?:(?P<case>case[- ]sensitive(?:ly)?|exactly\s+as\s+(?:written|shown|listed|spelled)|verbatim)|"
    r"(?P<ignore>case[- ]insensitive(?:ly)?)|only|exactly|without\s+(?:any\s+)?(?:quotes?|quotation\s+marks|punctuation|(?:additional|extra|other)\s+text|explanations?)|"
    r"with\s+no\s+(?:extra|other|additional)\s+text|(?:and\s+)?nothing\s+else|in\s+(?P<letters>lower|upper)[- ]?case)\)?)"
)
_ANNOUNCED = re.compile(
    rf"(?:(?:be|match|exactly\s+match|consist\s+(?:solely\s+|only\s+)?of)\s+(?:(?:only|just|strictly|limited\s+to)\s+)*)"
    rf"(?P<exactly>(?:exactly|strictly|only|precisely)\s+)*one(?:\s+and\s+only\s+one)?\s+of(?:\s+(?:these|those|the))?(?:\s+following)?"
    rf"(?:\s+(?P<number>{NUMBER}))?(?:\s+(?:specific|possible|allowed|valid|exact|given|pre-?defined|permitted|provided|listed))*(?:\s+(?:(?P<noun>{_NOUN})|options?|choices?|answers?|responses?))?"
    rf"(?P<remarks>{_REMARK}*)\s*(?P<colon>:)?\s+(?P<list>.+)",
    re.IGNORECASE,
)
_NAMED_FIRST = re.compile(
    r"be\s+only\s+the\s+(?:name\s+of\s+the\s+)?(?:category|label|tag|class)(?:\s+name)?,\s+one\s+of(?P<colon>:)\s+(?P<list>.+)",
    re.IGNORECASE,
)
_ONE_FROM = re.compile(
    rf"be\s+(?:only\s+)?(?:exactly\s+)?(?:one|a\s+single)\s+(?P<noun>{_NOUN})\s+from\s+(?:the\s+following|this)(?:\s+list)?(?P<colon>:)\s+(?P<list>.+)",
    re.IGNORECASE,
)
_ONE_WORD = re.compile(
    r"be\s+(?:only\s+)?(?:exactly\s+)?(?:one|a\s+single)\s+(?P<noun>word|label|category)(?P<colon>:)\s+(?P<list>.+)",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"be\s+(?:(?:only|just|strictly|exactly)\s+)*(?:either\s+)?(?:the\s+(?:single\s+)?(?:word|label|string)s?\s+)?(?P<list>(?:\u27e6|\b(?:yes|no|true|false)\b).+)",
    re.IGNORECASE,
)
_LIST_TAIL = re.compile(rf"(?P<list>.*?)(?P<remarks>{_REMARK}*)", re.IGNORECASE)
_QUOTED_ITEM = r"\u27e6\d+\u27e7"
_QUOTED_LIST = re.compile(
    rf"{_QUOTED_ITEM}(?:\s*(?:,\s*(?:or|and)|[,;|/]|or|and)\s*(?:the\s+(?:word|label)\s+)?{_QUOTED_ITEM})+"
)
_BARE_ITEM = re.compile(r"[\w$+#][\w$+#.&'/-]*(?:\s+(?:&\s+)?[\w$+#][\w$+#.&'/-]*){0,2}")
_REMARKS = re.compile(
    r"please|lower-?case|upper-?case|verbatim|respectively|capitali[sz]ed|optional|default|\w+[- ]separated",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?:yes\s+or\s+no|no\s+or\s+yes|true\s+or\s+false|false\s+or\s+true)", re.IGNORECASE)
_NO_LABEL = re.compile(
    r"(?:[Aa]n?|[Tt]he)\s|(?:any|some|such|others?|none|another|both|either|neither|all|similar|etc|blank|empty|nothing|or|and|not|no|your|its|in|with|of|for|to|as|followed|plus)\b"
)
_KINDS = frozenset(
    {"json", "xml", "yaml", "csv", "html", "markdown", "text", "plain text", "poem", "list", "table"}
) | {name.lower() for name in SCRIPTS}
_FROM_LIST = re.compile(
    rf"(?:be|contain|match)\s+(?:only\s+)?(?:(?:an?|one)\s+)?(?:single\s+)?(?:exact\s+match\s+to\s+one\s+of\s+the\s+)?{_NOUN}\s+(?:from|in|out\s+of)\s+"
    r"the\s+(?:(?:pre-?defined|provided|given|listed|specified|allowed|fixed|following)\s+)?(?:alphabetical\s+)?(?:list|set)"
    r"(?:\s+(?:in|of|from)\s+(?:the\s+)?(?:system\s+)?(?:prompt|instructions?))?",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?<![\w$])([A-Z][A-Z0-9_]{0,11}\$?):\s")
_FALLBACK = re.compile(r"\b(?:return|answer|reply|say|output)\s+[\"'`]?([A-Z]\w*)[\"'`]?\s*(?:[.]|$)", re.MULTILINE)
_AROUND = " \t\r\n\"'`*_.\u201c\u201d\u2018\u2019"
MIN_LABELS = 3
"""The smallest number of labels that counts as a list in a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """The output is one of these labels and nothing else; white space around it is ignored.

    >>> OneOf(labels=("spam", "ham"))("eggs")
    CheckResult(holds=False, reason="'eggs' is none of the 2 labels")
    """

    labels: tuple[str, ...]
    case: Case = "exact"
    """Whether case counts. `unsaid`: the rule does not say; an output that differs only in case, quotes or a full stop is
    undecided.
    """
    is_whole: bool = True

    @property
    def description(self) -> str:
        first = ", ".join(self.labels[:4])
        return f"exactly one of {first}" + (f" and {len(self.labels) - 4} more" if len(self.labels) > 4 else "")

    def __call__(self, text: str) -> CheckResult:
        value = text.strip()
        of = f"of the {len(self.labels)} labels"
        if value in self.labels:
            return CheckResult(True, f"{preview(value)} is one {of}")
        bare = value.strip(_AROUND).casefold()
        near = next((label for label in self.labels if label.strip(_AROUND).casefold() == bare), None)
        if self.case == "exact" or near is None:
            return CheckResult(False, f"{preview(value)} is none {of}")
        if self.case == "ignore" and value.casefold() in (label.casefold() for label in self.labels):
            return CheckResult(True, f"{preview(value)} is one {of}, but for case")
        return CheckResult(
            None,
            f"{preview(value)} is {preview(near)} in another spelling; the rule does not say whether that is allowed",
        )


def labels_in_clause(clause: Clause, rule: MaskedRule, prompt: str = "") -> Requirement | None:
    """Return the labels that a clause allows; if it refers to the prompt's list, those of the prompt."""
    if clause.negated:
        return None
    text = clause.text.strip()
    if _FROM_LIST.fullmatch(text):
        listed = labels_in_prompt(prompt)
        return Requirement((OneOf(labels=listed, case="unsaid"),)) if len(listed) >= MIN_LABELS else None
    for pattern in (_ANNOUNCED, _NAMED_FIRST, _ONE_FROM, _ONE_WORD, _DIRECT):
        if match := pattern.fullmatch(text):
            return _demand(match, rule)
    return None


def _demand(match: re.Match[str], rule: MaskedRule) -> Requirement | None:
    """Return the labels of a list, if it is unambiguous."""
    groups = match.groupdict()
    listed = _LIST_TAIL.fullmatch(match["list"].rstrip(" ."))
    if listed is None:
        return None
    tail = listed.groupdict()
    sure = bool(groups.get("colon")) and (match.re is _NAMED_FIRST or bool(groups.get("noun")) or _is_order(match))
    labels = _items(listed["list"], rule, sure)
    value, letters = groups.get("number"), groups.get("letters") or tail["letters"]
    if len(labels) < 2 or (value and number_of(value) != len(labels)):
        return None
    if match.re is _DIRECT and re.search(r"\bor\b|[|/]", listed["list"]) is None:
        return None  # may ask for both labels
    if letters and not all(label.islower() if letters.lower() == "lower" else label.isupper() for label in labels):
        return None
    exact, ignored = (bool(groups.get(name) or tail[name]) for name in ("case", "ignore"))
    if exact and ignored:
        return None
    case: Case = "exact" if exact else "ignore" if ignored else "unsaid"
    return Requirement((OneOf(labels=labels, case=case),), is_whole=not letters)


def _is_order(match: re.Match[str]) -> bool:
    """Return whether the rule orders the output to be only one of the listed items, or asks for a match."""
    return re.match(r"be\s+only\s+(?:exactly\s+)?one\s+of:|(?:exactly\s+)?match\s", match[0], re.IGNORECASE) is not None


def _items(value: str, rule: MaskedRule, sure: bool) -> tuple[str, ...]:
    """Return the items of a list; empty if it is ambiguous."""
    text = value.strip()
    bracket = re.fullmatch(r"\[(.+)\]", text)
    if _QUOTED_LIST.fullmatch(bracket[1] if bracket else text):
        found = [rule.unmasked(item) for item in re.findall(_QUOTED_ITEM, text)]
    elif _PAIR.fullmatch(text):
        found = re.split(r"\s+or\s+", text, flags=re.IGNORECASE)
    elif bracket or re.fullmatch(r"[^,;]+(?:\|[^,;|]+)+", text):
        found = re.split(r"\s*[,|]\s*", (bracket[1] if bracket else text).strip())
        found = found if all(map(_is_label, found)) else []
    else:
        found = _bare(text) if sure else []
    return tuple(found) if len(set(found)) == len(found) else ()


def _bare(text: str) -> list[str]:
    """Split labels without quotes at commas, the last one also at `or`; `and` may be part of a label."""
    parts = re.split(r"\s*;\s*" if ";" in text else r"\s*,\s*", text)
    last = re.split(r"^or\s+|^and\s+(?=\S+$)|\s+or\s+", parts[-1]) if len(parts) > 1 else re.split(r"\s+or\s+", text)
    found = [*parts[:-1], *(part for part in last if part)]
    sizes = [len(item.split()) for item in found]
    # A longer item at the end may be a remark on the list: `spam, ham, whichever fits`.
    fit = len(found) > 1 and sizes[-1] <= max(sizes[:-1]) and _REMARKS.fullmatch(found[-1]) is None
    return found if fit and all(map(_is_label, found)) else []


def _is_label(item: str) -> bool:
    plain = item.strip()
    return (
        len(plain) <= 40
        and _BARE_ITEM.fullmatch(plain) is not None
        and _NO_LABEL.match(plain) is None
        and re.search(
            r"\b(?:and|or|for|with|if|of|is|to|the|an?|in|default|etc)\b(?<!^.)|\d\s*-\s*\d|\.\.|^\d+[.)]\s|\s[+*=]",
            plain,
        )
        is None
        and plain.lower() not in _KINDS
    )


def labels_in_prompt(prompt: str) -> tuple[str, ...]:
    """Return the labels that a prompt lists as `LABEL: meaning` after the word `list`, and its fallback labels.

    >>> labels_in_prompt("The list of tags: CC: Conjunction, NN: Noun, VB: Verb. If there is none, return Unknown.")
    ('CC', 'NN', 'VB', 'Unknown')
    """
    opening = re.search(r"\blist of\b[^:]{0,80}:", prompt)
    listed = _LISTED.findall(prompt[opening.end() - 1 :]) if opening else []
    return tuple(dict.fromkeys([*listed, *_FALLBACK.findall(prompt)])) if len(set(listed)) >= MIN_LABELS else ()
