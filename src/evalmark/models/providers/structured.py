"""How one JSON object is asked for: native JSON schema first, a forced tool call next, in the prompt last."""

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
"""The name of the one tool that a forced call goes to, and of a native schema."""
FORMS: tuple[ReplyForm, ...] = ("schema", "tool", "text")

Ask = Callable[[Request, ReplyForm], Awaitable[Reply]]
"""Sends one request in the form asked for: `schema`, `tool`, `text` (the request then holds the instruction already,
and nothing is left to do), or "" where no object is wanted. In the form `tool` it fills `data` itself from the
arguments of the call; in the others the ladder reads `data` out of the text."""

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
"""Schemas that are remembered; a program that makes a new one for each call must not fill the memory."""

K = TypeVar("K")
V = TypeVar("V")


class ReplyFormat(NamedTuple):
    """An object that is asked for."""

    schema: dict[str, Any]
    """As plain data."""
    text: str
    """The one JSON text of the schema."""
    strict: bool
    """Whether OpenAI's strict mode takes it."""


@dataclass(frozen=True, slots=True)
class StructuredOutputFallback:
    """Which form of structured replies a server takes, for each schema; one object a model, filled while calls run."""

    _known: dict[str, ReplyForm] = field(default_factory=dict, repr=False)
    _wanted: dict[int, ReplyFormat] = field(default_factory=dict, repr=False)

    async def ask(self, request: Request, ask: Ask) -> Reply:
        """The reply, in the first form that the server does not reject; `form` and `data` are filled.

        A rejected form costs an attempt (`Reply.attempts`) and is not tried again for the same schema. A server that
        takes a form and then answers something else than one object is taken at its word: `data` is None.

        Raises:
            ModelCallError: no reply, for a reason that has nothing to do with the form, or in no form at all.
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
        """What a schema comes to, worked out once: the same few schemas come with thousands of requests."""
        found = self._wanted.get(id(schema))
        if found is None or found.schema != schema:  # another object may have come to the place of one that is gone
            found = _keep(self._wanted, id(schema), ReplyFormat(plain(schema), canonical(schema), is_strict(schema)))
        return found


def _keep(kept: dict[K, V], key: K, value: V) -> V:
    if len(kept) >= _MOST_KNOWN:
        kept.clear()
    kept[key] = value
    return value


def _filled(reply: Reply, form: ReplyForm, rejected: list[Attempt]) -> Reply:
    data = reply.data if form == "tool" else parse_object(reply.text)
    return replace(reply, form=form, data=data, attempts=(*rejected, *reply.attempts))


def _with_attempts(error: ModelCallError, earlier: list[Attempt]) -> ModelCallError:
    error.attempts = (*earlier, *error.attempts)
    return error


def is_format_rejection(error: ModelCallError) -> bool:
    """Whether a server turned a request down for the form it was asked to answer in."""
    if not error.attempts:
        return False
    last = error.attempts[-1]
    # Some routers say 404 where no server behind them takes the form, and some servers fail while they compile a schema.
    refused = error.fault == "rejected" or last.status in (404, 500, 501)
    # A web page is what a machine in between says of its own troubles; scripts in it are full of functions.
    return refused and not last.body.lstrip().startswith("<") and bool(_FORM_WORDS.search(last.body))


def with_schema_instruction(request: Request) -> Request:
    """The request with the schema as its last instruction, and no other way to ask for the object.

    It goes to the end of the last message where that is the user's: many models want the two to take turns.
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
    """Whether a schema is one that OpenAI's strict mode takes: every object closed, every property required.

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
    """What a reply with a forced tool call comes to."""

    text: str
    data: dict[str, Any] | None
    calls: tuple[ToolCall, ...]
    """Those of other tools."""


EMPTY_CALL = ForcedCall("", None, ())


def read_forced_call(text: str, calls: tuple[ToolCall, ...]) -> ForcedCall:
    """The object, if the tool was called with one; else what was said in its place.

    >>> read_forced_call("", (ToolCall(name="answer", arguments={"score": 1}),)).data
    {'score': 1}
    """
    asked = next((call for call in calls if call.name == TOOL), None)
    if asked is None:  # the server let the model answer in words
        return ForcedCall(text, parse_object(text), calls)
    others = tuple(call for call in calls if call.name != TOOL)
    if asked.error is None:
        return ForcedCall(text, dict(asked.arguments), others)
    return ForcedCall(text or asked.error, None, others)
