"""Text files with one statement a line, as people and models write them."""

import re

from evalmark.documents import PlacedError, parse_json

_MARK = re.compile(
    r"(?:[-*+•\u2013_]|\(?\d{1,3}[.):]|(?:\*\*)?(?:inverse )?rule \d{1,3}[.:](?:\*\*)?)(?:\s+|$)", re.IGNORECASE
)
"""What lists put before a line."""
_HEADING = re.compile(
    r"#{0,6}\s*(?:\*\*)?(?:(?:output|inverse|inverted|negated|input) )?(?:rules|specification)\s*(?:\*\*)?:?(?:\*\*)?",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```\w*")
_REFUSAL = re.compile(
    r"(?:i['\u2019]m sorry|i am sorry|sorry, |i (?:can['\u2019]t|cannot) (?:assist|help))", re.IGNORECASE
)


def lines_of(text: str) -> tuple[str, ...]:
    r"""The statements in a text, one a line, without numbers, bullets, headings and fences of code.

    A line that is a JSON list of texts stands for these texts.

    >>> lines_of("Rules:\n1. Be short.\n - Be kind.\n\n[\"Be clear.\"]")
    ('Be short.', 'Be kind.', 'Be clear.')
    """
    return tuple(statement for _, statement in numbered(text))


def numbered(text: str) -> list[tuple[int, str]]:
    """The statements of a text, each with the number of its line."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        found += [(number, statement) for statement in _statements(line.strip())]
    return found


def _statements(line: str) -> list[str]:
    start = 0
    while mark := _MARK.match(line, start):
        start = mark.end()
    line = line[start:]
    if not line or _HEADING.fullmatch(line) or _FENCE.fullmatch(line):
        return []
    if (listed := _listed(line)) is not None:
        return [statement for item in listed for part in item.splitlines() for statement in _statements(part.strip())]
    return [line]


def _listed(line: str) -> list[str] | None:
    """The texts of a JSON list that is the whole line; None where it is none."""
    if not (line.startswith('["') and line.endswith('"]')):
        return None
    try:
        data = parse_json(line, "")
    except PlacedError:
        return None
    return data if isinstance(data, list) and all(isinstance(item, str) for item in data) else None


def is_refusal(statements: list[str]) -> bool:
    """Whether all that a file holds is a model that would not write it."""
    return bool(statements) and len(statements) <= 2 and _REFUSAL.match(statements[0]) is not None
