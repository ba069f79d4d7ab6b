"""Selects parts of JSON data by a JSONPath (RFC 9535)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evalmark.core.errors import DataError
from evalmark.core.lazy import LazyModule

from .strict_json import parse_json

if TYPE_CHECKING:
    import jsonpath
else:
    jsonpath = LazyModule("jsonpath")


def query_fault(text: str) -> str | None:
    """Return why a text is not a JSONPath; None if it is one.

    >>> query_fault("$.choices[0].message.content"), query_fault("choices[0]")
    (None, 'a JSONPath begins with $, such as $.answer')
    """
    if not text.startswith("$"):
        return "a JSONPath begins with $, such as $.answer"
    try:
        _compiled(text)
    except (jsonpath.JSONPathError, ValueError, RecursionError) as error:
        return str(error).partition("\n")[0]
    return None


def query_json(text: str, data: Any) -> Any:
    """Return the value that a JSONPath selects: one value, or a list if the path may select several.

    >>> query_json("$.docs[*].text", {"docs": [{"text": "a"}, {"text": "b"}]})
    ['a', 'b']

    Raises:
        LookupError: the path selects one value, and there is none.
    """
    query = _compiled(text)
    values = query.findall(data)
    if not query.singular_query():
        return values
    if not values:
        raise LookupError(text)
    return values[0]


def response_json(text: str) -> Any:
    """Return the data of a response. Raises ValueError: it is not strict JSON."""
    try:
        return parse_json(text, "the response")
    except DataError as error:
        raise ValueError(str(error)) from None


def missing_part(text: str, queries: Mapping[str, str]) -> str | None:
    """Return which part of a response is missing; None if it has all of them.

    >>> missing_part('{"answer": "Oslo"}', {"output": "$.answer"})
    >>> missing_part('{"error": "busy"}', {"output": "$.answer"})
    '`output` $.answer is not in {"error": "busy"}'
    """
    if not queries:
        return None
    try:
        data = response_json(text)
    except ValueError:
        kind = "a web page" if "<html" in text[:1000].lower() else repr(text.strip()[:60])
        return f"`{next(iter(queries))}` needs JSON, and this is {kind}"
    for name, query in queries.items():
        try:
            query_json(query, data)
        except LookupError:
            return f"`{name}` {query} is not in {' '.join(text.split())[:120]}"
    return None


@lru_cache(maxsize=64)  # the same few paths are read in every response of a run
def _compiled(text: str) -> "jsonpath.JSONPath":
    query = jsonpath.JSONPathEnvironment(strict=True).compile(text)
    if not isinstance(query, jsonpath.JSONPath):
        raise TypeError(f"{text} combines several paths")
    return query
