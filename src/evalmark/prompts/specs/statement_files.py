"""Parses text files with one statement per line, as people and models write them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.strict_yaml import parse_yaml

_MARK = re.compile(
    r"(?:[-*+•\u2013_]|\(?\d{1,3}[.):]|(?:\*\*)?(?:inverse )?rule \d{1,3}[.:](?:\*\*)?)(?:\s+|$)", re.IGNORECASE
)
"""List markers before a statement."""
_HEADING = re.compile(
    r"#{0,6}\s*(?:\*\*)?(?:(?:output|inverse|inverted|negated|input) )?(?:rules|specification)\s*(?:\*\*)?:?(?:\*\*)?",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```\w*")
_CHECK = re.compile(r"check:(?=\s|$)\s*")
"""The start of a line with the check of the rule above it."""
RULE, CHECK = "rule", "check"
_REFUSAL = re.compile(
    r"(?:i['\u2019]m sorry|i am sorry|sorry, |i (?:can['\u2019]t|cannot) (?:assist|help))", re.IGNORECASE
)


class StatementLine(NamedTuple):
    """A statement with its explicit check."""

    line: int
    text: str
    check: tuple[int, Any] | None = None
    """The line and the data of the check; None without one."""


def lines_of(text: str) -> tuple[str, ...]:
    r"""Return the statements in a text, one per line, without numbers, bullets, headings and code fences.

    A line that is a JSON list of texts gives each of these texts.

    >>> lines_of("Rules:\n1. Be short.\n - Be kind.\n\n[\"Be clear.\"]")
    ('Be short.', 'Be kind.', 'Be clear.')
    """
    return tuple(statement for _, statement in numbered_statements(text))


def numbered_statements(text: str) -> list[tuple[int, str]]:
    """Return the statements of a text with their line numbers; invalid checks are left out."""
    return [(one.line, one.text) for one in _read(text, None)]


def statements_with_checks(text: str, place: str) -> list[StatementLine]:
    """Return the statements of a text with their explicit checks, from the line below or from a JSON object.

    Raises:
        DataError: A check cannot be read, has no statement, or is the second one of a statement.
    """
    return list(_read(text, place))


def _read(text: str, place: str | None) -> Iterator[StatementLine]:
    held: list[StatementLine] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        plain = _strip_marks(line.strip())
        if check := _CHECK.match(plain):
            held = held if place is None else _with_check(held, (number, plain[check.end() :]), place)
            continue
        if not plain:
            continue
        yield from held
        data = _object(plain) if place is None else _rule_object(plain, f"{place}:{number}")
        if data is None:
            held = [StatementLine(number, statement) for statement in _statements(plain)]
        else:
            stated = (number, data[CHECK]) if CHECK in data else None
            held = [StatementLine(number, str(data[RULE]).strip(), stated)]
    yield from held


def _with_check(held: list[StatementLine], found: tuple[int, str], place: str) -> list[StatementLine]:
    line, source = found
    here = f"{place}:{line}"
    if not held:
        raise PlacedError(here, "this check has no rule above it; write it below its rule.")
    if held[-1].check is not None:
        raise PlacedError(
            here, "the rule above already has a check; write both as one: {words: {max: 80}, sentences: 1}."
        )
    try:
        data = parse_yaml(source, here)
    except PlacedError as fault:
        raise PlacedError(here, f"the check is {fault.message}") from None
    return [*held[:-1], held[-1]._replace(check=(line, data))]


def _object(line: str) -> Mapping[str, Any] | None:
    """Return the rule object in a line of JSON; None for other lines."""
    if not (line.startswith("{") and line.rstrip(",").endswith("}") and f'"{RULE}"' in line):
        return None
    try:
        data = parse_json(line.rstrip(","), "")
    except PlacedError:
        return None
    return data if isinstance(data, Mapping) and isinstance(data.get(RULE), str) else None


def _rule_object(line: str, here: str) -> Mapping[str, Any] | None:
    data = _object(line)
    if data is not None and (unknown := [key for key in data if key not in (RULE, CHECK)]):
        raise PlacedError(here, f"a rule takes `{RULE}` and `{CHECK}`, not {unknown[0]!r}.")
    return data


def _strip_marks(line: str) -> str:
    start = 0
    while mark := _MARK.match(line, start):
        start = mark.end()
    return line[start:]


def _statements(line: str) -> list[str]:
    line = _strip_marks(line)
    if not line or _HEADING.fullmatch(line) or _FENCE.fullmatch(line):
        return []
    if (listed := _json_list(line)) is not None:
        return [statement for item in listed for part in item.splitlines() for statement in _statements(part.strip())]
    return [line]


def _json_list(line: str) -> list[str] | None:
    """Return the texts of a JSON list that is the whole line; None for other lines."""
    if not (line.startswith('["') and line.endswith('"]')):
        return None
    try:
        data = parse_json(line, "")
    except PlacedError:
        return None
    return data if isinstance(data, list) and all(isinstance(item, str) for item in data) else None


def is_check(line: str) -> bool:
    """Return whether a line holds the check of the rule above it."""
    return _CHECK.match(_strip_marks(line.strip())) is not None


def is_refusal(statements: list[str]) -> bool:
    """Return whether the statements are only a model's refusal to write them."""
    return bool(statements) and len(statements) <= 2 and _REFUSAL.match(statements[0]) is not None
