"""Words of rules that every reader of a rule needs: who is spoken of, what has to be, numbers, lists."""

import re

NUMBERS = {
    word: n
    for n, word in enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
}
NUMBERS |= {"eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "fifty": 50, "a single": 1, "single": 1}
NUMBER = rf"(\d{{1,3}}(?:,\d{{3}})+|\d{{1,7}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
OUTPUT = (
    r"(?:(?:the|each|every|this|your|its|all|any)\s+)?(?:(?:generated|final|model['\u2019]?s|chatbot['\u2019]?s|entire|whole|overall|"
    r"resulting|text)\s+)*(?:output|response|answer|reply|result|text|summary|description|completion|generated prompt)s?"
)
"""The thing that is judged, as rules call it."""
MUST = (
    r"(?:(?:must|should|shall|will|has|have|needs?|is|are|does|do|always|only|also|strictly|be|contains?|includes?|consists?|"
    r"comprise|use|using|written|formatted|structured|returned|provided|presented|kept|with|as|in|of|to|an?|the|its|form|"
    r"format|length|total)\s+)*"
)
"""Words between the thing and what is asked of it that change nothing; `may` and `can` are not among them."""
END = r"\s*(?:in length|in total|long|overall|of text|tags?|only)?\s*[.!]?\s*$"
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|otherwise|in case|depending on|preferably|ideally|generally|usually|typically|"
    r"optionally|(?:where|as|if|when) (?:applicable|possible|appropriate|necessary|needed))\b"
    r"|\b(?:about|around|approximately|roughly|nearly|almost)\s+(?:\d|a |one|two|three|four|five|six|ten)",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\"([^\"]{1,80})\"|\u201c([^\u201d]{1,80})\u201d|`([^`]{1,80})`|(?<!\w)['\u2018]([^'\u2019]{1,80})['\u2019](?!\w)"
)


def is_conditional(rule: str) -> bool:
    """Whether a rule holds for some outputs only, or only more or less: nothing in it can be checked for all."""
    return _CONDITION.search(rule) is not None


def number_of(word: str) -> int:
    """A number as a rule writes it.

    >>> number_of("1,000"), number_of("Three"), number_of("a single")
    (1000, 3, 1)
    """
    plain = " ".join(word.lower().split())
    return NUMBERS[plain] if plain in NUMBERS else int(plain.replace(",", ""))


def quoted_in(text: str) -> tuple[str, ...]:
    """The texts between quotes.

    >>> quoted_in('Say "yes", `no` or "it is so", and do not shout.')
    ('yes', 'no', 'it is so')
    """
    return tuple(next(filter(None, groups)) for groups in _QUOTED.findall(text))


def items_of(text: str) -> tuple[str, ...]:
    """The items of a list in words: those between quotes where there are any, else what commas part.

    >>> items_of("spam, ham, or eggs."), items_of('"yes" or "no"'), items_of("whatever fits best here, really")
    (('spam', 'ham', 'eggs'), ('yes', 'no'), ())
    """
    if quoted := quoted_in(text):
        return tuple(dict.fromkeys(quoted))
    parts = re.split(r"\s*[,;|]\s*(?:and |or )?|\s+(?:and|or)\s+", text.strip().rstrip(".!"))
    items = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    fit = len(items) >= 2 and all(len(item) <= 40 and len(item.split()) <= 3 for item in items)
    return items if fit else ()
