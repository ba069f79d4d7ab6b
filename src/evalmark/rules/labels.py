"""Outputs that have to be one of several labels and nothing else."""

import re
from dataclasses import dataclass

from evalmark.scoring import shown

from .finding import Finding
from .phrases import MUST, OUTPUT, items_of

_NOUN = (
    r"(?:labels?|words?|values?|categor(?:y|ies)|tags?|options?|class(?:es)?|strings?|answers?|choices?|terms?|ratings?|"
    r"part[- ]of[- ]speech tags?|part of speech tags?|sentiments?|types?)"
)
_ONE_OF = re.compile(
    rf"^(?:{OUTPUT}\s+{MUST}|(?:please\s+)?(?:return|answer with|respond with|reply with|output|use)\s+(?:only\s+)?)"
    rf"(?:exactly\s+)?(?:one of|either)\s*(?:(?:these|the following|the|those)\b\s*)?(?:{_NOUN}\b)?\s*:?\s*(?P<list>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_MUST_BE = re.compile(
    rf"^{OUTPUT}\s+(?:must|should|shall)\s+(?:only\s+|always\s+|strictly\s+)*be\s+(?P<list>.+)$", re.IGNORECASE
)
_FROM_LIST = re.compile(
    rf"^{OUTPUT}\s+{MUST}(?:exactly\s+)?(?:an? |one )?(?:single\s+|one\s+|exact match to one\s+)*(?:of the\s+)?{_NOUN}\s+(?:from|in|out of)\s+"
    r"(?:the|a|an)\s+(?:pre-?defined|provided|given|listed|specified|allowed|fixed|following)?\s*(?:alphabetical\s+)?(?:list|set)\b"
    r"(?:\s+(?:in|of|from)\s+(?:the\s+)?(?:system\s+)?(?:prompt|instructions?))?\s*[.]?\s*$",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?<![\w$])([A-Z][A-Z0-9_]{0,11}\$?):\s")
_FALLBACK = re.compile(r"\b(?:return|answer|reply|say|output)\s+[\"'`]?([A-Z]\w*)[\"'`]?\s*(?:[.]|$)", re.MULTILINE)
LEAST = 3
"""Labels that a list in a prompt has to have, to be taken for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """The output is one of these labels, letter for letter, and nothing else; blanks around it do not count.

    >>> OneOf(labels=("spam", "ham"))("Spam")
    Finding(holds=False, reason="'Spam' is none of the 2 labels")
    """

    labels: tuple[str, ...]
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The labels."""
        first = ", ".join(self.labels[:4])
        return f"exactly one of {first}" + (f" and {len(self.labels) - 4} more" if len(self.labels) > 4 else "")

    def __call__(self, text: str) -> Finding:
        """Compare."""
        said = text.strip()
        holds = said in self.labels
        return Finding(holds, f"{shown(said)} is {'one' if holds else 'none'} of the {len(self.labels)} labels")


def one_of_in(rule: str, prompt: str = "") -> OneOf | None:
    """The labels that a rule allows; where it speaks of the prompt's list, those that the prompt lists."""
    if _FROM_LIST.match(rule):
        listed = labels_in(prompt)
        return OneOf(labels=listed) if len(listed) >= LEAST else None
    for pattern in (_ONE_OF, _MUST_BE):
        if match := pattern.match(rule):
            items = _only_items(match["list"], quoted=pattern is _MUST_BE)
            return OneOf(labels=items) if len(items) >= 2 else None
    return None


def _only_items(said: str, quoted: bool) -> tuple[str, ...]:
    """The items of a list that is all there is: what else stands there could allow more, or ask for more."""
    items = items_of(said)
    rest = said
    for item in sorted(items, key=len, reverse=True):
        rest = rest.replace(item, "", 1)
    has_quotes = any(mark in said for mark in "\"'`\u201c\u2018")
    clean = (
        re.fullmatch(r"(?:[\s,;|\"'`\u201c\u201d\u2018\u2019.:()\[\]]|\band\b|\bor\b|\beither\b)*", rest) is not None
    )
    return items if clean and (has_quotes or not quoted) else ()


def labels_in(prompt: str) -> tuple[str, ...]:
    """The labels that a prompt lists as `LABEL: meaning`, after the word `list`, with those that it says to return otherwise.

    >>> labels_in("The list of tags: CC: Conjunction, NN: Noun, VB: Verb. If there is none, return Unknown.")
    ('CC', 'NN', 'VB', 'Unknown')
    """
    opening = re.search(r"\blist of\b[^:]{0,80}:", prompt)
    listed = _LISTED.findall(prompt[opening.end() - 1 :]) if opening else []
    return tuple(dict.fromkeys([*listed, *_FALLBACK.findall(prompt)])) if len(set(listed)) >= LEAST else ()
