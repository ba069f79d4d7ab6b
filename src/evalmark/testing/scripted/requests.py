"""The requests of the scripted server, and its default replies."""

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SECRET_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "x-goog-api-key", "proxy-authorization", "cookie"})

Provider = Literal["openai", "azure", "anthropic", "gemini"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedRequest:
    """One request, in a form that is the same for all providers."""

    provider: Provider
    kind: Literal["chat", "embeddings"] = "chat"
    model: str = ""
    messages: tuple[tuple[str, str], ...] = ()
    """Role and text, in order; for embeddings the role is `input`."""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema of the requested object, natively or as a forced tool."""
    form: Literal["", "schema", "tool"] = ""
    """How the object is requested."""
    tool: str = ""
    """The name of the forced tool."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The rest of the body, under the names of the provider."""
    number: int = 0
    """The number of the request, from 0."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers by lower-case name, without API keys."""
    path: str = ""
    """Path and query of the URL."""
    problem: str = ""
    """Why the request was rejected; empty if it was not."""

    @property
    def text(self) -> str:
        """The last message of the user."""
        return next((text for role, text in reversed(self.messages) if role in ("user", "input")), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRequest:
    """An HTTP request that is not interpreted yet."""

    path: str
    names: Mapping[str, str]
    """The variable parts of the path: deployment, model or method."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    number: int
    key: str | None = None
    """The only accepted key; None accepts any."""


class WrongRequestError(Exception):
    """A request that the provider would reject."""

    def __init__(
        self, message: str, *, status: int = 400, parameter: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.parameter = parameter
        self.code = code


def request_details(received: RawRequest) -> dict[str, Any]:
    """Return the fields of a `ScriptedRequest` that every kind of request has."""
    headers = {name: value for name, value in received.headers.items() if name not in SECRET_HEADERS}
    return {"number": received.number, "headers": headers, "path": received.path}


def check_number(name: str, value: Any, limits: tuple[float | None, float | None], *, whole: bool) -> None:
    """Reject a value that is not a number within the limits; None is accepted."""
    low, high = limits
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        expected = "an integer" if whole else "a number"
        raise WrongRequestError(f"{name}: expected {expected}, got {value!r}.", parameter=name, code="invalid_type")
    if (low is not None and value < low) or (high is not None and value > high):
        raise WrongRequestError(f"{name}: {value} does not lie in {low}..{high}.", parameter=name)


def check_known(body: Mapping[str, Any], known: Collection[str], sentence: str) -> None:
    """Reject fields that the provider does not know, with its message."""
    for name in body:
        if name not in known:
            raise WrongRequestError(sentence.format(name=name), parameter=name)


def sub_schemas(
    schema: Any, location: tuple[str, ...] = (), level: int = 1
) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    """Yield each part of a schema with its location and depth, the schema itself first."""
    if not isinstance(schema, Mapping):
        return
    yield "/".join(location) or "(root)", level, schema
    for key in ("properties", "$defs", "definitions"):
        for name, part in schema.get(key, {}).items():
            yield from sub_schemas(part, (*location, key, name), level + (key == "properties"))
    yield from sub_schemas(schema.get("items"), (*location, "items"), level + 1)
    for key in ("anyOf", "allOf", "oneOf"):
        for number, part in enumerate(schema.get(key, ())):
            yield from sub_schemas(part, (*location, key, str(number)), level)


def check_key(received: RawRequest, given: str | None, *, required: bool, status: int = 401) -> None:
    """Reject a request without the required key."""
    if (received.key is not None and given != received.key) or (required and not given):
        raise WrongRequestError("the API key is missing or wrong", status=status, code="invalid_api_key")


def minimal_example(schema: Any, top: Any = None) -> Any:
    """Return a minimal value that fits a JSON Schema.

    >>> minimal_example({"type": "object", "properties": {"score": {"type": "integer", "minimum": 1}, "why": {"type": "string"}}})
    {'score': 1, 'why': 'text'}
    """
    top = schema if top is None else top
    if not isinstance(schema, Mapping):
        return None
    if "$ref" in schema:
        return minimal_example(top.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1]), top)
    if "const" in schema or "enum" in schema:
        return schema.get("const", *schema.get("enum", [None])[:1])
    if "anyOf" in schema:
        return minimal_example(schema["anyOf"][0], top)
    return _minimal_value(schema, top)


def _minimal_value(schema: Mapping[str, Any], top: Any) -> Any:
    kind = schema.get("type")
    kind = str((kind[0] if isinstance(kind, list) else kind) or "object").lower()
    if kind == "object":
        return {name: minimal_example(part, top) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [minimal_example(schema.get("items"), top)] * int(schema.get("minItems", 0))
    return {
        "string": "text",
        "integer": schema.get("minimum", 0),
        "number": schema.get("minimum", 0.5),
        "boolean": True,
    }.get(kind)


def default_reply(request: ScriptedRequest) -> str:
    """Return the default reply: the last message of the user, or a minimal object that fits the schema."""
    return json.dumps(minimal_example(request.schema)) if request.schema is not None else request.text


def unit_vector(text: str, dimensions: int = 8) -> list[float]:
    """Return a unit vector that depends only on the text."""
    digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(2 * dimensions)
    numbers = [int.from_bytes(digest[i : i + 2], "big") - 32_767.5 for i in range(0, len(digest), 2)]
    length = math.sqrt(sum(n * n for n in numbers))
    return [n / length for n in numbers]


def count_tokens(texts: Sequence[str]) -> int:
    """Return the number of words of the texts, at least 1, as their number of tokens."""
    return max(1, sum(len(text.split()) for text in texts))
