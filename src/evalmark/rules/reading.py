"""What a machine can check of a rule, read out of its words."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .finding import Check
from .labels import one_of_in
from .language import language_in
from .limits import limit_in
from .markup import markup_in
from .phrases import OUTPUT, is_conditional, quoted_in
from .structure import structure_in
from .words import words_in

LONGEST_RULE = 2_000
"""Characters of a rule that is looked at; a longer one is no single rule."""
_SUBJECT = re.compile(rf"^(?P<thing>{OUTPUT})\b", re.IGNORECASE)
_OF_PARTS = re.compile(r"\b(?:json|keys?|fields?|propert(?:y|ies))\b", re.IGNORECASE)
_KEY = re.compile(r"[\"'](\w{1,40})[\"']\s*:")


def check_of(
    rule: str, prompt: str = "", schema: Mapping[str, Any] | None = None, parts: Collection[str] = ()
) -> Check | None:
    """The check of a rule in English; None where none is certain, which is so of most rules.

    Words are taken for a limit, a list of labels, JSON, tags, words or a language only where they say so of the whole
    output, of every output, and without `about` or `if`. Where the rule asks for more than the check, the check can only
    refute it. `prompt` is the text of the prompt, to which rules refer for lists of labels; `schema` the one it asks for; `parts`, in lower case, what it calls the parts of an output: a rule
    of "the reply" is not one of the output where the output has a field of that name.

    >>> check_of("The output must not exceed 80 words.").says
    'at most 80 words'
    >>> check_of("The output should be polite.") is None
    True
    """
    words = " ".join(rule.split())
    if not words or len(words) > LONGEST_RULE or is_conditional(words) or _speaks_of_a_part(words, parts):
        return None
    return (
        one_of_in(words, prompt)
        or limit_in(words)
        or structure_in(words, schema)
        or markup_in(words)
        or words_in(words)
        or language_in(words)
    )


def parts_in(rules: Iterable[str], prompt: str = "", schema: Mapping[str, Any] | None = None) -> frozenset[str]:
    """What the parts of an output are called, in lower case: the fields that a schema, the rules or the prompt name.

    >>> sorted(parts_in(["The output is a JSON object with the keys 'reply' and 'Topic'."]))
    ['reply', 'topic']
    """
    named = schema.get("properties") if schema is not None else None
    found = [str(name) for name in named] if isinstance(named, Mapping) else []
    found += [word for rule in rules if _OF_PARTS.search(rule) for word in quoted_in(rule)]
    return frozenset(name.lower() for name in (*found, *_KEY.findall(prompt)))


def _speaks_of_a_part(rule: str, parts: Collection[str]) -> bool:
    subject = _SUBJECT.match(rule) if parts else None
    return subject is not None and subject["thing"].lower().split()[-1] in parts
