"""How each field of a value is written as JSON, and how strictly it is read back.

Writing trusts nothing, since foreign code fills the fields: whatever a target or a scorer left
there becomes plain data. Reading is strict: a damaged row is noticed, never half understood.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_args

from evalmark.values import (
    MAX_DEPTH,
    Attempt,
    DatasetInfo,
    Direction,
    Example,
    Gate,
    Metric,
    Mode,
    Output,
    Reply,
    ReplyForm,
    ReplyStatus,
    Request,
    RunStatus,
    Spending,
    Status,
    Token,
    ToolCall,
    Turn,
    Usage,
    plain,
)

_LONGEST_INT = 14_000
"""Bits; Python refuses to print longer integers in decimal, so they are kept as hexadecimal text."""

_dump = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class Field(NamedTuple):
    """How one field is written and read; None and `skip` are left out, unless `skip` is `REQUIRED`."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    skip: Any = None


Spec = Mapping[str, Field]

REQUIRED = object()
"""In the place of `skip`: the field has no default, so it is always written."""


def to_json(data: Any) -> str:
    """Plain data as pure ASCII JSON.

    Two adjacent lone surrogates that spell one character come back as that character.
    """
    try:
        return _dump(data)
    except ValueError:
        return _dump(_printable(data))


def filled(value: Any, spec: Spec) -> dict[str, Any]:
    """The fields of a value that say something, as plain data."""
    data = {}
    for name, (write, _, skip) in spec.items():
        item = getattr(value, name)
        if (item is None and skip is not REQUIRED) or (type(item) is type(skip) and item == skip):
            continue
        data[name] = write(item)
    return data


def read(kind: Callable[..., Any], spec: Spec, data: object) -> Any:
    """The value that `filled` was given.

    Raises:
        ValueError: the data has another form.
    """
    fields = {}
    for name, item in an_object(data).items():
        if name not in spec:
            raise ValueError(f"an unknown field {name!r}")
        fields[name] = spec[name].read(item)
    try:
        return kind(**fields)
    except TypeError as missing:
        raise ValueError(str(missing)) from missing


def sql_real(value: object) -> float | None:
    """A number for an SQL column: NaN, infinities and integers beyond every float are unknown.

    >>> sql_real(1), sql_real(float("nan")), sql_real(10**400)
    (1.0, None, None)
    """
    try:
        number = float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def sql_text(text: str) -> str | bytes:
    r"""A text as SQLite can keep it: as it is, or as bytes where it holds lone surrogates.

    >>> sql_text("a\x00b"), sql_text("\ud800")
    ('a\x00b', b'\xed\xa0\x80')
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def from_sql(value: object) -> str:
    """The text that `sql_text` was given."""
    text: str = value.decode(errors="surrogatepass") if isinstance(value, bytes) else a_text(value)
    return text


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return hex(value) if isinstance(value, int) and value.bit_length() > _LONGEST_INT else value


# Writers.


def _kept(value: Any, depth: int = 0) -> Any:
    try:
        return plain(value, depth)
    except Exception as error:  # noqa: BLE001  foreign code: the value's own __str__, tolist or model_dump
        if isinstance(value, dict) and depth < MAX_DEPTH:
            return {_kept_text(key): _kept(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
            return [_kept(item, depth + 1) for item in value]
        return f"(a {type(value).__name__} that cannot be stored: {type(error).__name__})"


def _kept_text(value: Any) -> str:
    return value if type(value) is str else str(_kept(value))


def _kept_texts(value: Any) -> list[str]:
    items = _kept(value)
    return [_kept_text(item) for item in items] if isinstance(items, list) else [_kept_text(items)]


def _kept_mapping(value: Any) -> dict[str, Any]:
    kept = _kept(value)
    return kept if isinstance(kept, dict) else {"value": kept}


def _kept_number(value: Any) -> Any:
    number = value if type(value) is float else _kept(value)
    return None if sql_real(number) is None else number


def _kept_count(value: Any) -> int | None:
    return value if type(value) is int else None


def _kept_names(value: Any) -> dict[str, str]:
    return {name: _kept_text(item) for name, item in _kept_mapping(value).items()}


def _kept_token(token: Token) -> list[Any]:
    others = [[_kept_text(text), _kept(logprob)] for text, logprob in token.others]
    return [_kept_text(token.text), _kept(token.logprob), *([others] if others else [])]


def _kept_call(call: Any) -> dict[str, Any]:
    return filled(call, _TOOL_CALL) if isinstance(call, ToolCall) else {"name": _kept_text(call)}


# Readers.


def _checked(kind: type | tuple[type, ...], what: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind) or (numbers and isinstance(value, bool)):
            raise ValueError(f"{type(value).__name__} in the place of {what}")
        return value

    numbers = kind not in (bool, str, dict, list)  # Python takes a truth value for a number
    return check


a_text = _checked(str, "a text")
a_whole_number = _checked(int, "a whole number")
an_object = _checked(dict, "an object")
a_list = _checked(list, "a list")
_a_number = _checked((int, float), "a number")


def _number_or_unknown(value: Any) -> Any:
    return None if value is None else _a_number(value)


def _some_texts(value: Any) -> tuple[str, ...]:
    return tuple(a_text(item) for item in a_list(value))


def _count_or_unknown(value: Any) -> Any:
    if value is not None and a_whole_number(value) < 0:
        raise ValueError(f"{value} in the place of a count")
    return value


def _a_logprob(value: Any) -> float:
    """A number, or the name of one that JSON has no word for."""
    return float(value if value in ("-inf", "inf", "nan") else _a_number(value))


def _a_token(data: Any) -> Token:
    match a_list(data):
        case [text, logprob]:
            return Token(a_text(text), _a_logprob(logprob))
        case [text, logprob, others]:
            pairs = tuple((a_text(word), _a_logprob(number)) for word, number in map(a_list, a_list(others)))
            return Token(a_text(text), _a_logprob(logprob), pairs)
    raise ValueError("a list of another length in the place of a token")


def _one_of(words: tuple[str, ...]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in words:
            raise ValueError(f"{value!r} in the place of one of {', '.join(words)}")
        return value

    return check


a_status = _one_of(get_args(RunStatus))
a_mode = _one_of(get_args(Mode))


def _mapping_of(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {key: check(item) for key, item in an_object(value).items()}


def _one(kind: type, spec: Spec) -> Field:
    return Field(lambda value: filled(value, spec), lambda data: read(kind, spec, data))


def _many(kind: type, spec: Spec, write: Callable[[Any], Any] | None = None) -> Field:
    one = _one(kind, spec)
    each = write or one.write
    return Field(lambda items: [each(item) for item in items], lambda data: tuple(map(one.read, a_list(data))), ())


# The fields of every value that is stored.

_ANYTHING = Field(_kept, lambda value: value)
_CONTENT = _ANYTHING._replace(skip=REQUIRED)
_TEXT = Field(_kept_text, a_text, "")
_NAME = Field(_kept_text, a_text)
_TEXTS = Field(_kept_texts, _some_texts)
_NUMBER = Field(_kept_number, _number_or_unknown)
_COUNT = Field(_kept, a_whole_number)
_SUM = _COUNT._replace(skip=0)
_TRUTH = Field(_kept, _checked(bool, "true or false"))
_MAPPING = Field(_kept_mapping, an_object, {})
_NUMBERS = Field(_kept_mapping, _mapping_of(_a_number), {})
_NAMES = Field(_kept_mapping, _mapping_of(a_text), {})
_DIRECTION = Field(_kept_text, _one_of(get_args(Direction)), "higher")

_TOOL_CALL: Spec = {"name": _NAME, "arguments": _MAPPING, "result": _ANYTHING, "error": _NAME}
OUTPUT: Spec = {
    "value": _ANYTHING,
    "error": _NAME,
    "seconds": _NUMBER,
    "contexts": _TEXTS,
    "tool_calls": _many(ToolCall, _TOOL_CALL, _kept_call),
    "metadata": _MAPPING,
}
_TURNS = _many(Turn, {"role": _NAME, "content": _CONTENT})
CASE: Spec = {
    "id": _NAME,
    "input": _ANYTHING,
    "expected": _ANYTHING,
    "examples": _many(Example, {"value": _CONTENT, "liked": _TRUTH}),
    "contexts": _TEXTS,
    "history": _TURNS,
    "given": _one(Output, OUTPUT),
    "tags": Field(_kept_texts, _some_texts, ()),
    "metadata": _MAPPING,
}
SCORE: Spec = {
    "name": _NAME,
    "status": Field(_kept_text, _one_of(get_args(Status)), "scored"),
    "raw": _ANYTHING,
    "value": _NUMBER,
    "direction": _DIRECTION,
    "passed": _TRUTH,
    "reason": _TEXT,
    "detail": _MAPPING,
}
_SPENDING: Spec = {
    "model": _NAME,
    "calls": _SUM,
    "replayed": _SUM,
    "failed": _SUM,
    "repeated": _SUM,
    "attempts": _SUM,
    "input_tokens": _SUM,
    "output_tokens": _SUM,
    "unknown_usage": _SUM,
    "cost": _NUMBER,
    "unknown_cost": _SUM,
}
RUN: Spec = {
    "id": _NAME,
    "name": _NAME,
    "created": _NAME,
    "finished": _NAME,
    "status": Field(_kept_text, a_status),
    "target": _TEXT,
    "datasets": _many(DatasetInfo, {"name": _NAME, "path": _TEXT, "rows": _COUNT}),
    "metrics": _many(
        Metric,
        {
            "name": _NAME,
            "direction": _DIRECTION,
            "threshold": _NUMBER,
            "unit": _TEXT,
            "judge": _TEXT,
            "mode": Field(_kept_text, a_mode, "single"),
            "base": _TEXT,
        },
    ),
    "repeat": _COUNT,
    "gate": _one(
        Gate, {"min_pass_rate": _NUMBER, "max_unscored": _COUNT, "max_errors": _COUNT, "thresholds": _NUMBERS}
    ),
    "suite": _TEXT,
    "plan": _TEXT,
    "embedder": _TEXT,
    "versions": _NAMES,
    "spending": _many(Spending, _SPENDING),
    "notes": Field(_kept_texts, _some_texts, ()),
}
REQUEST: Spec = {
    "messages": _TURNS._replace(skip=REQUIRED),
    "schema": Field(_kept_mapping, an_object),
    "settings": _MAPPING,
    "logprobs": _SUM,
}
_TALLY = Field(_kept_count, _count_or_unknown)
_USAGE: Spec = dict.fromkeys(
    ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens"), _TALLY
)
_ATTEMPT: Spec = {"seconds": _NUMBER._replace(skip=REQUIRED), "error": _NAME, "status": _TALLY, "body": _TEXT}
REPLY: Spec = {
    "text": _TEXT,
    "status": Field(_kept_text, _one_of(get_args(ReplyStatus)), "ok"),
    "data": _ANYTHING,
    "form": Field(_kept_text, _one_of(get_args(ReplyForm)), ""),
    "reasoning": _TEXT,
    "tool_calls": _many(ToolCall, _TOOL_CALL, _kept_call),
    "usage": _one(Usage, _USAGE)._replace(skip=Usage()),
    "cost": _NUMBER,
    "model": _TEXT,
    "system_fingerprint": _TEXT,
    "seconds": _NUMBER,
    "attempts": _many(Attempt, _ATTEMPT),
    "tokens": Field(lambda tokens: [*map(_kept_token, tokens)], lambda data: tuple(map(_a_token, a_list(data))), ()),
    "headers": Field(_kept_names, _mapping_of(a_text), {}),
    "key": _TEXT,
    "replayed": _TRUTH._replace(skip=False),
}
CALL: Spec = {
    "key": _NAME,
    "model": _NAME,
    "identity": _NAME,
    "repeat": _SUM,
    "use": _SUM,
    "created": _TEXT,
    "request": _one(Request, REQUEST),
    "reply": _one(Reply, REPLY),
}
