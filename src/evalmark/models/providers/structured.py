"""Structured output: native JSON schema first, then a forced tool call, then an instruction in the prompt."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from evalmark.core.errors import ModelCallError
from evalmark.core.values.call import Attempt, Reply, ReplyForm, Request
from evalmark.core.values.case import ToolCall, Turn
from evalmark.core.values.plain_data import canonical, plain

from .replies import parse_object

TOOL = "answer"
"""The name of the forced tool, and of a native schema."""
FORMS: tuple[ReplyForm, ...] = ("schema", "tool", "text")

Ask = Callable[[Request, ReplyForm], Awaitable[Reply]]
"""Sends one request in a form: `schema`, `tool`, `text` (the request already contains the instruction), or "" for no object.
With `tool` it fills `data` from the arguments of the call; otherwise `data` is parsed from the text."""

_INSTRUCTION = (
    "Reply with one JSON object and nothing else: no words before or after it, no code fence. "
    "It has to match this JSON Schema:\n"
)
_FORM_WORDS = re.compile(
    "response_?format|json_?schema|json_?object|json mode|mime|structured|output[_ ]?(?:format|config)|schema|grammar|guided"
    "|strict|tool|function",
    re.IGNORECASE,
)
_MOST_KNOWN = 256
"""Most schemas cached, for programs that create a new one for each call."""

K = TypeVar("K")
V = TypeVar("V")


class ReplyFormat(NamedTuple):
    """The schema of a requested object."""

    schema: dict[str, Any]
    """As plain data."""
    text: str
    """The canonical JSON text of the schema."""
    strict: bool
    """Whether it is valid in OpenAI's strict mode."""


@dataclass(frozen=True, slots=True)
class StructuredOutputFallback:
    """Tries the forms of structured output in turn, and remembers for each schema which one the server accepts."""

    _known: dict[str, ReplyForm] = field(default_factory=dict, repr=False)
    _formats: dict[int, ReplyFormat] = field(default_factory=dict, repr=False)

    async def ask(self, request: Request, ask: Ask) -> Reply:
        """Return the reply in the first form that the server does not reject, with `form` and `data` filled in.

        A rejected form counts as an attempt (`Reply.attempts`) and is not tried again for the same schema. If the reply is
        not one JSON object, `data` is None.

        Raises:
            ModelCallError: The request failed for another reason, or the server rejected all forms.
        """
        if request.schema is None:
            return await ask(request, "")
        which = self.reply_format(request.schema).text
        first = self._known.get(which, FORMS[0])
        rejected: list[Attempt] = []
        for form in FORMS[FORMS.index(first) :]:
            try:
                reply = await ask(with_schema_instruction(request) if form == "text" else request, form)
            except ModelCallError as error:
                if form == "text" or not is_format_rejection(error):
                    raise _with_attempts(error, rejected) from None
                rejected += error.attempts
                continue
            return _filled(reply, _keep(self._known, which, form), rejected)
        raise AssertionError("the last form returns or raises")

    def reply_format(self, schema: Mapping[str, Any]) -> ReplyFormat:
        """Return the plain data and the JSON text of a schema, cached: thousands of requests share a few schemas."""
        found = self._formats.get(id(schema))
        if found is None or found.schema != schema:  # the id may belong to a new object after the old one was freed
            found = _keep(self._formats, id(schema), ReplyFormat(plain(schema), canonical(schema), is_strict(schema)))
        return found


def _keep(cache: dict[K, V], key: K, value: V) -> V:
    if len(cache) >= _MOST_KNOWN:
        cache.clear()
    cache[key] = value
    return value


def _filled(reply: Reply, form: ReplyForm, rejected: list[Attempt]) -> Reply:
    data = reply.data if form == "tool" else parse_object(reply.text)
    return replace(reply, form=form, data=data, attempts=(*rejected, *reply.attempts))


def _with_attempts(error: ModelCallError, earlier: list[Attempt]) -> ModelCallError:
    error.attempts = (*earlier, *error.attempts)
    return error


def is_format_rejection(error: ModelCallError) -> bool:
    """Whether a server rejected a request because of the form of structured output."""
    if not error.attempts:
        return False
    last = error.attempts[-1]
    # Some routers respond 404 if no server supports the form; some servers fail while they compile a schema.
    refused = error.fault == "rejected" or last.status in (404, 500, 501)
    # An HTML page comes from a proxy; its scripts contain the words of the pattern too.
    return refused and not last.body.lstrip().startswith("<") and bool(_FORM_WORDS.search(last.body))


def with_schema_instruction(request: Request) -> Request:
    """Return the request with the schema as an instruction in the prompt.

    It is added to the last message if that is the user's, since many models require roles to alternate.
    """
    text = f"{_INSTRUCTION}{json.dumps(object_schema(request), ensure_ascii=False)}"
    *before, last = request.messages or (Turn(role="user", content=""),)
    if last.role == "user" and isinstance(last.content, str):
        joined = f"{last.content}\n\n{text}" if last.content else text
        return replace(request, messages=(*before, Turn(role="user", content=joined)), schema=None)
    return replace(request, messages=(*request.messages, Turn(role="user", content=text)), schema=None)


def object_schema(request: Request) -> dict[str, Any]:
    """The schema of a request as plain data."""
    schema: dict[str, Any] = plain(request.schema or {})
    return schema


def is_strict(schema: Any) -> bool:
    """Whether a schema is valid in OpenAI's strict mode: all objects are closed, all properties required.

    >>> is_strict({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    True
    >>> is_strict({"type": "object", "properties": {"a": {}}})
    False
    """
    return isinstance(schema, Mapping) and schema.get("type") == "object" and _closed(schema)


def _closed(schema: Any) -> bool:
    if isinstance(schema, (list, tuple)):
        return all(map(_closed, schema))
    if not isinstance(schema, Mapping):
        return True
    if not _NOT_STRICT.isdisjoint(schema):
        return False
    properties = schema.get("properties", {})
    if schema.get("type") == "object" or properties:
        required = schema.get("required", ())
        if schema.get("additionalProperties") is not False or set(required) != set(properties):
            return False
    inner = [*properties.values(), *(schema[key] for key in _NESTED if key in schema)]
    return all(map(_closed, inner)) and all(map(_closed, schema.get("$defs", {}).values()))


_NESTED = ("items", "anyOf", "prefixItems")
_NOT_STRICT = frozenset(
    (
        *("allOf", "oneOf", "not", "if", "then", "else", "default", "contains", "patternProperties", "propertyNames"),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "minProperties", "maxProperties"),
    )
)


class ForcedCall(NamedTuple):
    """The content of a reply to a request with a forced tool call."""

    text: str
    data: dict[str, Any] | None
    calls: tuple[ToolCall, ...]
    """Calls of other tools."""


EMPTY_CALL = ForcedCall("", None, ())


def read_forced_call(text: str, calls: tuple[ToolCall, ...], raw_arguments: str = "") -> ForcedCall:
    """Return the arguments of the forced call; otherwise the text of the reply, or the arguments as the server sent them.

    >>> read_forced_call("", (ToolCall(name="answer", arguments={"score": 1}),)).data
    {'score': 1}
    """
    forced = next((call for call in calls if call.name == TOOL), None)
    if forced is None:  # the server did not enforce the call
        return ForcedCall(text, parse_object(text), calls)
    others = tuple(call for call in calls if call.name != TOOL)
    if forced.error is None:
        return ForcedCall(text, dict(forced.arguments), others)
    return ForcedCall(text or raw_arguments or forced.error, None, others)
