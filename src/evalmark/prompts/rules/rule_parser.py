"""Derives machine checks from the text of rules."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .checks import AllOf, Requirement, RuleCheck
from .json_structure import JsonText, SchemaText, items_in, structure_in
from .labels import OneOf, labels_in_clause
from .language import language_in
from .limits import Limit, is_single, limits_in
from .markup import markup_in
from .phrases import OUTPUT, Clause, MaskedRule, clauses, has_placeholder, is_ambiguous, is_extra, mask_rule, quoted_in
from .text_form import NumberText, text_form_in
from .words import label_in, words_in

MAX_RULE_CHARS = 2_000
"""Characters of a rule that is parsed; a longer text is not a single rule."""
_SUBJECT = re.compile(rf"^(?:length\s+of\s+)?(?P<thing>{OUTPUT})\b", re.IGNORECASE)
_OF_PARTS = re.compile(r"\b(?:json|keys?|fields?|propert(?:y|ies))\b", re.IGNORECASE)
_KEY = re.compile(r"[\"'](\w{1,40})[\"']\s*:|^\s*[-*#]*\s*(\w{1,40}):(?!//)|</?(\w{1,40})>", re.MULTILINE)
_CUE = re.compile(r"^\s*[*#]*output:|^\s*[*#]*\w+:[*\s]*\Z", re.IGNORECASE | re.MULTILINE)
"""The introduction of an example, or of the answer at the end of a prompt; it names no part of the output."""
_QUALITY = re.compile(r"be\s+(?:[a-z]+(?:,?\s+and)?\s+){0,3}[a-z]+", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:an?|the|of|in|to|one|that|or|not)\b", re.IGNORECASE)
_UNCLEAR = re.compile(
    r"\b(?:or|nor|neither|either|but|each|every|count\w*|limit\w*|length|longer|shorter|words?|sentences?|characters?|lines?|"
    r"paragraphs?|extend\w*|exceed\w*|includ\w+\s+in)\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\b(?:follow\w*|accompan\w+|preced\w+|wrapp\w+|enclos\w+|repeat\w*|prefix\w*|suffix\w*|surround\w*|embed\w*|part|inside|within|"
    r"translat\w+|given|split|divid\w+|doubl\w+|extend\w*|with|by|plus)\b",
    re.IGNORECASE,
)
_APART = re.compile(r"(?:be\s+)?(?:follow\w*|accompan\w+|preced\w+|append\w*|prepend\w*)\b", re.IGNORECASE)
"""Words for text before or after the output, which may or may not count as a part of it."""
_HOLDS = re.compile(r"(?:contain|have|include|use)\b", re.IGNORECASE)


_ONE_THING = re.compile(
    rf"^{OUTPUT}\s+(?:must|should|shall|has\s+to|is\s+to)\s+(?:be|consist\s+of)\s+(?:exactly\s+)?(?:an?|one)\s+(?:single\s+)?(?:\w+\s+)?(?P<thing>paragraph|sentence)\b",
    re.I,
)
_OF_THE_THING = r"^(?P<opening>(?:the\s+(?:language|length)\s+(?:of|used\s+in)\s+)?)the\s+(?:generated\s+|resulting\s+)?(?:{})(?=\s+(?:must|should|shall|is|does|has|cannot|may\s+not|never)\b)"
_ONLY_NAME = re.compile(
    rf"^{OUTPUT}\s+(?:must|should|shall)\s+(?:only\s+(?:include|contain|be)|(?:include|contain|be|consist\s+of)\s+only)\s+(?:the\s+)?(?:name\s+of\s+the\s+)?"
    r"(?:chosen\s+|selected\s+)?(?:category|label|class)(?:\s+name)?(?:\s+as\s+a\s+single\s+word)?(?:,?\s+(?:without|with\s+no)\s[^.]*|\s+and\s+nothing\s+else)?\.?$",
    re.IGNORECASE,
)
_CLASSIFIES = re.compile(
    rf"^{OUTPUT}\s+(?P<verb>must|should|shall)\s+(?:classify|categorize|categorise)\s+[^,:;]{{1,60}}?\s(?:into|as)\s+(?=(?:exactly\s+)?one\s)(?P<labels>.+)$",
    re.IGNORECASE,
)


class RuleContext(NamedTuple):
    """What is known about the prompt of a rule."""

    prompt: str = ""
    schema: Mapping[str, Any] | None = None
    parts: Collection[str] = ()
    """The names of the parts of an output, in lower case."""
    things: Collection[str] = ()
    """What another rule says that the whole output is: `paragraph`."""
    is_only_label: bool = False
    """Whether another rule says that the output is only the name of a category."""


def checks_of(rules: Sequence[str], prompt: str = "", schema: Mapping[str, Any] | None = None) -> dict[int, RuleCheck]:
    """Return the checks of a prompt's rules by number, from 1; rules that refer to each other are read together.

    If a rule says that the output must be a single paragraph, another rule about "the paragraph" applies to the output. If a
    rule says that it must only be the name of the category, another rule that lists the categories gives the names.

    >>> {n: check.description for n, check in checks_of(["The output must be one paragraph.", "The paragraph must be in English."]).items()}
    {1: 'exactly 1 paragraph', 2: 'in English'}
    """
    things = [match["thing"].lower() for rule in rules if (match := _ONE_THING.match(rule)) and _is_one(rule)]
    parts = parts_in(rules, prompt, schema)
    only_label = any(_ONLY_NAME.match(" ".join(rule.split())) for rule in rules)
    context = RuleContext(prompt, schema, parts, tuple(dict.fromkeys(things)), only_label)
    found = {number: _check(rule, context) for number, rule in enumerate(rules, 1)}
    return {number: check for number, check in found.items() if check is not None}


def _is_one(rule: str) -> bool:
    """Return whether a rule says that the output is a single thing."""
    check = check_of(rule)
    return any(map(is_single, check.checks if isinstance(check, AllOf) else (check,))) if check is not None else False


def check_of(
    rule: str, prompt: str = "", schema: Mapping[str, Any] | None = None, parts: Collection[str] = ()
) -> RuleCheck | None:
    """Return the check of a rule in English; None if none is certain, as for most rules.

    A rule has a check only if every word is understood, or the rest asks for something more: then the check can only refute
    the rule. A condition, an exception, an example or a wish leaves the rule to a judge, and so does any statement that may
    be about a part of the output. `prompt` is the text of the prompt, for its lists of labels. `schema` is its response
    schema. `parts` holds the lower-case names of the parts of an output: a rule about "the reply" is not about the output if
    the output has a field of that name.

    >>> check_of("The output must be a single paragraph that does not exceed 80 words.").description
    'exactly 1 paragraph, at most 80 words'
    >>> check_of("The output should ideally be one sentence.") is None
    True
    """
    return _check(rule, RuleContext(prompt, schema, parts))


def _check(rule: str, context: RuleContext) -> RuleCheck | None:
    if not rule.strip() or len(rule) > MAX_RULE_CHARS:
        return None
    read = mask_rule(rule)
    if is_ambiguous(read.text) or has_placeholder(read):
        return None
    demands = [_requirement(_with_output_as_subject(sentence, context), read, context) for sentence in read.sentences]
    if None in demands:
        return None
    found = [check for demand in demands if demand for check in demand.checks]
    checks = tuple(check for place, check in enumerate(found) if check not in found[:place])
    sorts = context.is_only_label and any(map(_CLASSIFIES.match, read.sentences))  # it must also be the right category
    return _combine(checks, not sorts and all(demand.is_whole for demand in demands if demand))


def _with_output_as_subject(sentence: str, context: RuleContext) -> str:
    """Return the sentence with `the output` as its subject if it uses another name for it."""
    if context.things:
        pattern = _OF_THE_THING.format("|".join(context.things))
        sentence = re.sub(pattern, lambda match: f"{match['opening']}the output", sentence, flags=re.IGNORECASE)
    if context.is_only_label and (match := _CLASSIFIES.match(sentence)):
        return f"The output {match['verb']} be {match['labels']}"
    return sentence


def _combine(checks: tuple[RuleCheck, ...], is_whole: bool) -> RuleCheck | None:
    if len(checks) > 1:
        return AllOf(checks=checks, is_whole=is_whole)
    return replace(checks[0], is_whole=is_whole and checks[0].is_whole) if checks else None  # type: ignore[type-var]


def parts_in(rules: Iterable[str], prompt: str = "", schema: Mapping[str, Any] | None = None) -> frozenset[str]:
    """Return the lower-case names of an output's parts: the fields that a schema, the rules or the prompt name.

    >>> sorted(parts_in(["The output is a JSON object with the keys 'reply' and 'Topic'."]))
    ['reply', 'topic']
    """
    named = schema.get("properties") if schema is not None else None
    found = [str(name) for name in named] if isinstance(named, Mapping) else []
    found += [word for rule in rules if _OF_PARTS.search(rule) for word in quoted_in(rule)]
    found += [
        name for text in (*rules, prompt) for groups in _KEY.findall(_CUE.sub("", text)) for name in groups if name
    ]
    return frozenset(name.lower() for name in found)


def _requirement(sentence: str, rule: MaskedRule, context: RuleContext) -> Requirement | None:
    """Return what a sentence requires of the whole output; None if a part of it is not understood and may change the rest."""
    if is_extra(sentence):
        return Requirement(is_whole=False)
    if whole := markup_in(sentence) or items_in(sentence) or label_in(sentence, rule, context.prompt):
        return whole
    if _speaks_of_a_part(sentence, context.parts):
        return None
    value = clauses(sentence)
    found = [_of_clause(clause, rule, context) for clause in value]
    if not any(found) or not _is_consistent(value, found):
        return None
    checks = tuple(check for demand in found if demand for check in demand.checks)
    return Requirement(checks, all(demand is not None and demand.is_whole for demand in found))


def _is_consistent(value: tuple[Clause, ...], found: list[Requirement | None]) -> bool:
    """Return whether the clauses that are not understood leave the others unchanged."""
    first = next(place for place, demand in enumerate(found) if demand is not None)
    for place, (clause, demand) in enumerate(zip(value, found, strict=True)):
        if clause.of_one and (
            not place or _HOLDS.match(value[place - 1].text) or not _says_what_it_is(found[place - 1])
        ):
            return False
        if demand is None and (_UNCLEAR.search(clause.text) or clause.of_one):
            return False
        if demand is None and place < first and not _is_quality(clause):
            return False
    if any(demand is None and _APART.match(clause.text) for clause, demand in zip(value, found, strict=True)):
        return False
    exact = any(_is_exact(check) for demand in found if demand for check in demand.checks)
    unread = [clause for clause, demand in zip(value, found, strict=True) if demand is None]
    return not exact or all(clause.negated or _says_how(clause) for clause in unread)


def _is_exact(check: RuleCheck) -> bool:
    """Return whether a check excludes everything but what it names."""
    return isinstance(check, OneOf | JsonText | SchemaText | NumberText) or (
        isinstance(check, Limit) and check.low == check.high
    )


def _says_how(clause: Clause) -> bool:
    """Return whether a clause says how the output is, and not what else it contains."""
    return clause.text.lower().startswith("be ") and _BESIDE.search(clause.text) is None


def _says_what_it_is(demand: Requirement | None) -> bool:
    """Return whether a clause ends with the one thing that the output is, which the next clause describes."""
    return demand is not None and bool(demand.checks) and is_single(demand.checks[-1])


def _is_quality(clause: Clause) -> bool:
    return _QUALITY.fullmatch(clause.text) is not None and _ARTICLE.search(clause.text) is None


def _of_clause(clause: Clause, rule: MaskedRule, context: RuleContext) -> Requirement | None:
    return (
        labels_in_clause(clause, rule, context.prompt)
        or structure_in(clause, rule, context.schema)
        or limits_in(clause)
        or words_in(clause, rule)
        or language_in(clause)
        or text_form_in(clause)
    )


def _speaks_of_a_part(sentence: str, parts: Collection[str]) -> bool:
    subject = _SUBJECT.search(sentence) if parts else None
    return subject is not None and subject["thing"].lower().split()[-1] in parts
