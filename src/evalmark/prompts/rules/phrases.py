"""Splits a rule in English into sentences and clauses, with quoted texts masked and subjects removed."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
NUMBERS = {word: n for n, word in enumerate(["zero", *_ONES, *_TEENS])}
NUMBERS |= {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SMALL = rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES)}))?|{'|'.join([*_TEENS, *_ONES, 'zero'])})"
NUMBER = (
    r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d{1,7}(?![\d.,]*\d)|"
    rf"(?:(?:an?|{_SMALL})\s+(?:hundred|thousand)(?:\s+(?:and\s+)?{_SMALL})?|{_SMALL})\b)"
)
"""A number in digits or words."""
_THING = r"(?:output(?:\s+text)?|response|reply|completion|generated\s+(?:text|answer)|answer)"
_SIDE = r"(?:generated|entire|whole|overall|complete|(?:model|chatbot|assistant)(?:['\u2019]?s)?)"
OUTPUT = (
    rf"(?:(?:(?:the|your|its)\s+(?:(?:final\s+)?(?:{_SIDE}\s+)*(?:output|response|reply|completion)|(?:{_SIDE}\s+)*{_THING})(?:\s+of\s+the\s+(?:chatbot|model|assistant))?)|"
    rf"(?:(?:each|every|any)\s+(?:{_SIDE}\s+)*(?:output|response|reply|completion))|(?:all\s+)?(?:outputs|responses|replies))"
)
"""How rules name the whole output; a summary, a title or one of several answers may be only a part of it."""
_YES = (
    r"(?:(?:must|should|shall|has\s+to|have\s+to|needs?\s+to|is\s+to|are\s+to|is\s+required\s+to|will)"
    r"(?:\s+(?:always|strictly|also|consistently))*)"
)
_NO = (
    r"(?:(?:must|should|shall|may|can|will)\s+(?:not|never)(?:\s+ever)?|cannot|can['\u2019]t|mustn['\u2019]t|shouldn['\u2019]t|"
    r"(?:is|are)\s+not\s+(?:allowed|permitted)\s+to|do(?:es)?\s+not|never)"
)
_STATES = r"(?:is|are|has|contains?|consists?\s+of|comprises?)"
_BASE = {"is": "be", "are": "be", "has": "have", "contains": "contain", "consists": "consist", "comprises": "comprise"}
_CLAUSE = re.compile(rf"(?:(?P<no>{_NO})|(?P<yes>{_YES})|(?P<states>(?={_STATES}\b)))\s*", re.IGNORECASE)
_SUBJECT = re.compile(
    r"(?:(?:the\s+)?(?:output|response)\s+format(?=\s+(?:must|should|shall)\s+be\s+(?:valid\s+)?JSON\b)|"
    rf"{OUTPUT}|(?:all\s+)?(?:output|response|reply))\s+",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    rf"(?:the\s+)?(?:total\s+|overall\s+)?(?:length\s+of\s+(?:{OUTPUT})|(?:{OUTPUT})(?:['\u2019]s?)?\s+(?:total\s+)?length)\s+",
    re.IGNORECASE,
)
_COUNT = re.compile(
    rf"the\s+(?:total\s+)?(?:(?P<unit>word|character|sentence|line)\s+count\s+of|number\s+of\s+(?P<units>word|character|sentence|line)s\s+in)\s+{OUTPUT}\s+",
    re.IGNORECASE,
)
_EXTREME = re.compile(
    rf"the\s+(?P<bound>maximum|minimum)\s+length\s+of\s+{OUTPUT}\s+(?:must\s+be|should\s+be|is)\s+", re.I
)
_TONGUE = re.compile(
    rf"the\s+(?:language\s+(?:of|used\s+in)\s+{OUTPUT}|(?:output|response)\s+language)\s+", re.IGNORECASE
)
_NEXT = re.compile(
    rf"(?:,?\s+(?:and|but)|,|;)\s+(?:it\s+|{OUTPUT}\s+)?(?=(?:{_NO}|{_YES})\s)|"
    rf"\s+(?:that|which)\s+(?=(?:{_NO}|{_YES}|{_STATES})\s)",
    re.IGNORECASE,
)
_SHARED = re.compile(
    r",?\s+and\s+(?=(?:end|begin|start|include|contain|mention|follow|describe|explain|summarize|avoid|address|provide|focus)\s)",
    re.I,
)
_IMPERATIVES = (
    (rf"(?:keep|limit|restrict)\s+{OUTPUT}\s+(?:to\s+)?", "be kept "),
    (r"(?:always\s+)?(?:answer|respond|reply|write)\s+(?:only\s+|always\s+)?in\s+(?=(?:an?\s+)?(?:\w+\s+)?[\w-]+\s*(?:only\s*)?[.!]?$|(?:at|no|not|a|under|exactly|fewer|less)\s)", "be in "),
    (rf"(?:write|give|provide)\s+{OUTPUT}\s+in\s+", "be in "),
    (r"(?:always\s+)?generate\s+(?:all\s+)?(?:texts?|outputs?|responses?|replies)\s+in\s+(?=\w+[.!]?$)", "be in "),
    (r"(?:always\s+)?(?:answer|respond|reply)\s+(?:only\s+with|with(?:\s+only)?(?=\s+[^.]*))\s+", "be only "),
    (r"(?:return|provide|give)\s+(?:the\s+|your\s+)?(?:output|result|results|response|answer)\s+(?=(?:as|in)\s)", "be returned "),
    (r"(?:always\s+)?(?:return|output)\s+(?!must|should|shall|is|has|will|may|can|language|length)(?:only\s+)?", "be only "),
    (r"(?:always\s+)?(?:answer|respond|reply)\s+(?=\u27e6)", "be only "),
    (r"(?:write|use)\s+(?!one\s+of\b)(?=(?:at|no|not|a\s+(?:maximum|single)|one|exactly|fewer|less|between)\s)", "be "),
    (rf"(?:start|begin)\s+{OUTPUT}\s+with\s+", "start with "),
    (rf"end\s+{OUTPUT}\s+with\s+", "end with "),
)  # fmt: skip
_ORDERS = tuple((re.compile(pattern, re.IGNORECASE), verb) for pattern, verb in _IMPERATIVES)
_PROHIBITION = re.compile(
    r"(?:do\s+not|don['\u2019]t|never)\s+(?P<verb>exceed|go\s+over|write|use|say|mention|include)\s+", re.IGNORECASE
)
_AVOID = re.compile(r"avoid\s+(?:using\s+|saying\s+)?(?=(?:the\s+)?(?:words?|phrases?)\s|\u27e6)", re.IGNORECASE)
_BOUND_FIRST = re.compile(
    r"(?:at\s+most|at\s+least|no\s+more\s+than|not\s+more\s+than|(?:a\s+)?maximum\s+of|max\.?|fewer\s+than|under)\s",
    re.I,
)
_ONLY_FIRST = re.compile(
    r"only\s+(?P<verb>be|contain|have|include|use|(?:consist|comprise)(?P<of>\s+of)?)\s+", re.IGNORECASE
)
_POLITE = re.compile(
    r"^(?:please\s+|(?:make\s+sure|ensure|be\s+sure)\s+(?:that\s+)?|only\s+(?=(?:answer|respond|reply|return|output)\s)|you\s+(?:must|should)\s+(?:always\s+)?(?=(?:answer|respond|reply|return|output|use|keep|limit|write)\b))+",
    re.I,
)
_YOU_NOT = re.compile(r"^you\s+(?:must|should|may)\s+(?:not|never)\b", re.IGNORECASE)
_LOOSE = re.compile(
    r"\b(?:if|when|whenever|unless|otherwise|in\s+case|depending|preferably|ideally|generally|usually|typically|normally|"
    r"optionally|possible|applicable|appropriate|necessary|about|around|approximately|approx|roughly|nearly|almost|circa|try|"
    r"aim|attempt|prefer\w*|recommended|encouraged|e\.g|i\.e|for\s+example|for\s+instance|such\s+as|etc|similar|like|except|"
    r"exclud\w+|not\s+counting|apart\s+from|other\s+than|rather\s+than|besides|unlike|per|might|could|need\s+not|would|"
    r"not\s+have\s+to|not\s+need|where|wherever|while|once|until|even|although|though|only\s+for|for\s+each|for\s+every|"
    r"sometimes|often|mostly|mainly|at\s+times|whether)\b|~|\u2248|\.\.|\u2026",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"([^\"]{1,80})\"|\u201c([^\u201d]{1,80})\u201d|`([^`]{1,80})`|(?<!\w)['\u2018]([^'\u2019]{1,80})['\u2019](?!\w)"
)
_MEANS = re.compile(",\\s+where\\s+\u27e6\\d+\u27e7\\s+(?:represents|is|stands\\s+for|denotes)\\b", re.IGNORECASE)
_MASK = re.compile("\u27e6(\\d+)\u27e7")
_EXTRA = re.compile(
    r"(?:do\s+not|don['\u2019]t|never)\s+(?:include|add|provide|write|output|give)\s+(?:any\s+)?(?:other|additional|extra|further)\s+"
    r"(?:text|words|explanations?|comments?|commentary|information|content|formatting|punctuation)"
    r"(?:(?:,|,?\s+or|,?\s+and)\s+(?:text|words|explanations?|comments?|commentary|information|content|formatting|punctuation))*",
    re.IGNORECASE,
)


class Clause(NamedTuple):
    """One demand on the whole output: `be at most 5 words`, `contain ⟦0⟧`."""

    text: str
    """From the verb on, quoted texts masked."""
    negated: bool = False
    of_one: bool = False
    """Whether it describes the single thing that, by the previous clause, the output is."""


class MaskedRule(NamedTuple):
    """A rule with its quoted texts masked, so that they are not read as words of the rule."""

    text: str
    quoted: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences of the rule, without their full stops."""
        return [
            part.rstrip(" .!") for part in re.split(r"(?<=[.!])\s+(?=[A-Z\u27e6])", self.text) if part.rstrip(" .!")
        ]

    def unmasked(self, text: str) -> str:
        """Return a part of the rule with its quoted texts restored, without quotes."""
        return _MASK.sub(lambda match: self.quoted[int(match[1])], text)


def mask_rule(rule: str) -> MaskedRule:
    """Replace each quoted text by its number in brackets, and collapse white space."""
    found: list[str] = []

    text = " ".join(rule.replace("**", "").replace("\u27e6", "").split())

    def mask(match: re.Match[str]) -> str:
        value = next(filter(None, match.groups()))
        is_last = not text[match.end() :].strip(" .")
        inside = re.search(r"[,;]$|(?<=\w)\.$" if is_last and " " not in value else r"[,;]$", value)  # "so," or "so."
        found.append(value[: inside.start()] if inside and inside.start() else value)
        mark = inside[0] if inside else "." if is_last and value.endswith((".", "!")) else ""
        return f"\u27e6{len(found) - 1}\u27e7{mark}"

    plain = _YOU_NOT.sub("do not", _QUOTED.sub(mask, text))
    return MaskedRule(_POLITE.sub("", plain), tuple(found))


def is_ambiguous(text: str) -> bool:
    """Return whether a rule has a condition, an exception, an example or a wish, so that readers may differ on it."""
    return _LOOSE.search(_MEANS.sub("", text)) is not None


def has_placeholder(rule: MaskedRule) -> bool:
    """Return whether a quoted text stands for others: `The writer likes...`, `<name>`."""
    return any(re.search(r"\.\.\.|\u2026|<[^<>]*>|\[[^\]]*\]|\{[^}]*\}", text) for text in rule.quoted)


def is_extra(sentence: str) -> bool:
    """Return whether a sentence only forbids everything else."""
    return _EXTRA.fullmatch(sentence) is not None


def clauses(sentence: str) -> tuple[Clause, ...]:
    """Return the requirements of a sentence on the whole output; empty if it is about something else."""
    if (order := _imperative_clause(sentence)) is not None:
        return tuple(_split(order, sentence))
    if match := _EXTREME.match(sentence):
        return (Clause(f"be a {match['bound'].lower()} of {sentence[match.end() :].strip(' .')}"),)
    for pattern, opening in ((_LENGTH, ""), (_COUNT, ""), (_TONGUE, "the language "), (_SUBJECT, "")):
        if (match := pattern.match(sentence)) is not None and (first := _CLAUSE.match(sentence, match.end())):
            rest = sentence[first.end() :]
            unit = f" {match['unit'] or match['units']}s" if pattern is _COUNT else ""
            return tuple(_split(Clause(f"{opening}{_base_form(rest)}{unit}", bool(first["no"])), sentence))
    return ()


def _imperative_clause(sentence: str) -> Clause | None:
    """Return an imperative sentence as a clause about the output."""
    if match := _PROHIBITION.match(sentence):
        verb = {"exceed": "exceed", "go over": "exceed"}.get(" ".join(match["verb"].lower().split()), "contain")
        return Clause(f"{verb} {sentence[match.end() :]}", negated=True)
    if match := _AVOID.match(sentence):  # as a whole sentence it is an order; "must avoid" is read with the clauses
        return Clause(f"contain {sentence[match.end() :]}", negated=True)
    if _BOUND_FIRST.match(sentence):
        return Clause(f"be {sentence}")
    for pattern, verb in _ORDERS:
        if match := pattern.match(sentence):
            return Clause(verb + sentence[match.end() :])
    return None


def _split(first: Clause, sentence: str) -> Iterator[Clause]:
    """Split a clause where another one with its own verb starts."""
    text, negated, of_one = first.text, first.negated, False
    while (match := _NEXT.search(text)) is not None and (verb := _CLAUSE.match(text, match.end())) is not None:
        yield Clause(text[: match.start()].strip(), negated, of_one)
        of_one = match[0].strip().lower() in ("that", "which")
        text, negated = _base_form(text[verb.end() :]), bool(verb["no"])
    while not negated and (match := _SHARED.search(text)) is not None:  # `must be short and include a link`
        yield Clause(text[: match.start()].strip(), negated, of_one)
        text, of_one = text[match.end() :], False
    yield Clause(text.strip(" ."), negated, of_one)


def _base_form(text: str) -> str:
    """Return a clause with its verb in the base form."""
    if match := _ONLY_FIRST.match(text):
        text = f"{match['verb']} {'' if match['of'] else 'only '}{text[match.end() :]}"
    word, _, rest = text.partition(" ")
    return f"{_BASE.get(word.lower(), word)} {rest}"


def number_of(word: str) -> int:
    """Return a number as a rule writes it.

    >>> number_of("1,000"), number_of("Three"), number_of("twenty-five"), number_of("a hundred and twenty")
    (1000, 3, 25, 120)
    """
    plain = word.lower().replace("-", " ").replace(",", "")
    if plain.strip().isdigit():
        return int(plain)
    total = 0
    for part in plain.split():
        if part in ("hundred", "thousand"):
            total = max(total, 1) * (100 if part == "hundred" else 1_000)
        else:
            total += NUMBERS.get(part, 0)
    return total


def quoted_in(text: str) -> tuple[str, ...]:
    """Return the texts between quotes.

    >>> quoted_in('Say "yes", `no` or "it is so", and do not shout.')
    ('yes', 'no', 'it is so')
    """
    return tuple(next(filter(None, groups)) for groups in _QUOTED.findall(text))
