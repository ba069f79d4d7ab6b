"""Walk over JSON text to find the places of values and faults. It is slow, so it is not used to read data."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from evalmark.core.values.plain_data import MAX_DEPTH

Path = tuple[str | int, ...]
MAX_DIGITS = 4300
"""The most digits of a whole number: Python's default limit."""

_TOKEN = re.compile(
    r"[ \t\r\n]*(?:"
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")'
    r"|(?P<word>NaN|-?Infinity|true|false|null)"
    r"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<mark>[\[\]{}:,]))",
    re.DOTALL,
)


@dataclass(slots=True)
class _JsonFrame:
    """One open list or object."""

    is_object: bool
    key: str | int
    wants_key: bool
    seen: dict[str, int] = field(default_factory=dict)
    """The first offset of each key."""


class JsonStep(NamedTuple):
    """One token of the text: a key, the start of a container, or a plain value."""

    kind: Literal["key", "open", "text", "word", "number"]
    path: Path
    offset: int
    sign: str
    earlier: int | None
    """For a duplicate key, the offset of the first one."""


class JsonFault(NamedTuple):
    """Something that is valid JSON but not allowed in data."""

    offset: int
    message: str
    earlier: int | None = None


def walk_json(text: str, at: int = 0) -> Iterator[JsonStep]:
    """Yield every step of the JSON value that starts at `at`; stop where the text is not valid JSON."""
    stack: list[_JsonFrame] = []
    while match := _TOKEN.match(text, at):
        at, kind = match.end(), str(match.lastgroup)
        sign, offset = match[kind], match.start(kind)
        if kind == "mark" and sign in "]},:":
            _close_or_continue(stack, sign)
        elif stack and stack[-1].wants_key:
            if kind != "text":
                return
            yield _key(stack, sign, offset)
        else:
            yield JsonStep("open" if kind == "mark" else kind, _path(stack), offset, sign, None)  # type: ignore[arg-type]
            if kind == "mark":
                stack.append(_JsonFrame(sign == "{", "" if sign == "{" else 0, sign == "{"))
        if not stack:
            return


def _path(stack: list[_JsonFrame]) -> Path:
    return tuple(frame.key for frame in stack)


def _close_or_continue(stack: list[_JsonFrame], sign: str) -> None:
    if not stack or sign == ":":
        return
    if sign in "]}":
        stack.pop()
    elif stack[-1].is_object:
        stack[-1].wants_key = True
    else:
        stack[-1].key = int(stack[-1].key) + 1


def _key(stack: list[_JsonFrame], sign: str, offset: int) -> JsonStep:
    frame = stack[-1]
    try:
        frame.key = str(json.loads(sign))
    except ValueError:
        frame.key = sign
    earlier = frame.seen.setdefault(frame.key, offset)
    frame.wants_key = False
    return JsonStep("key", _path(stack), offset, sign, earlier if earlier != offset else None)


def first_json_fault(text: str, at: int = 0) -> JsonFault | None:
    """Return the first thing in a JSON text that is valid but refused."""
    for step in walk_json(text, at):
        if found := _fault_of(step):
            return found
    return None


def _fault_of(step: JsonStep) -> JsonFault | None:
    where = json_path(step.path)
    if step.kind == "key" and step.earlier is not None:
        return JsonFault(step.offset, f"the key {where} occurs a second time", step.earlier)
    if step.kind == "open" and len(step.path) >= MAX_DEPTH:
        return JsonFault(step.offset, f"nested deeper than {MAX_DEPTH} levels")
    if step.kind == "word" and step.sign.lstrip("-") in ("NaN", "Infinity"):
        return JsonFault(step.offset, f"{step.sign} at {where} is not valid JSON; write null for an unknown number")
    if step.kind == "number":
        return _number(step, where)
    return None


def _number(step: JsonStep, where: str) -> JsonFault | None:
    if step.sign.lstrip("-").isdigit():
        digits = len(step.sign.lstrip("-"))
        if digits <= MAX_DIGITS:
            return None
        return JsonFault(
            step.offset, f"the number at {where} has {digits} digits, more than {MAX_DIGITS}; write it as text"
        )
    if math.isinf(float(step.sign)):
        shown = step.sign if len(step.sign) < 30 else step.sign[:30] + "…"
        return JsonFault(step.offset, f"{shown} at {where} is too large for a number; write it as text")
    return None


def json_path(path: Path) -> str:
    """Format a path in the usual notation.

    >>> json_path(("data", 3, "input"))
    '$.data[3].input'
    """
    long = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "$" + (long if len(long) <= 80 else long[:77] + "…")
