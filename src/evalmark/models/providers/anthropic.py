"""Anthropic's Messages API as a chat model."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evalmark.core.values.call import Reply, ReplyForm, ReplyStatus, Request
from evalmark.core.values.case import Usage
from evalmark.core.values.plain_data import plain

from .endpoint import Endpoint
from .http import HttpClient
from .http_chat import HttpChat
from .replies import kept_headers, token_count, tool_call
from .request_body import encode_body, split_system
from .response import Response, read_json, response_error
from .structured import EMPTY_CALL, TOOL, ForcedCall, object_schema, read_forced_call

VERSION = "2023-06-01"
MAX_TOKENS = 8_192
"""Default `max_tokens`: the API requires the setting, and all current models accept this value."""
_NAMES = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "stop": "stop_sequences"}
_STATUSES: Mapping[str, ReplyStatus] = {  # all others (`pause_turn`, …) are stops before the end
    "end_turn": "ok",
    "stop_sequence": "ok",
    "tool_use": "ok",
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "refused",
}


class AnthropicChat(HttpChat):
    """A Claude model at an address."""

    def __init__(self, endpoint: Endpoint, http: HttpClient, within: float) -> None:
        key = {"x-api-key": endpoint.key} if endpoint.key else {}
        headers = {**key, "anthropic-version": VERSION}
        super().__init__(endpoint, http, within, url=f"{endpoint.base_url}/v1/messages", headers=headers)

    def _encode(self, request: Request, form: ReplyForm) -> bytes:
        return encode_body(_body(request, form, self._endpoint), self._endpoint)

    def _read(self, response: Response, form: ReplyForm) -> Reply:
        return read_reply(response, self._endpoint, form)


def _body(request: Request, form: ReplyForm, endpoint: Endpoint) -> dict[str, Any]:
    system, turns = split_system(request.messages, endpoint)
    body = {
        "model": endpoint.model,
        "max_tokens": MAX_TOKENS,
        "messages": [{"role": role, "content": content} for role, content in turns],
        **_settings(request.settings),
    }
    if system:
        body["system"] = system
    if form == "schema":
        schema = {"type": "json_schema", "schema": grammar_schema(object_schema(request))}
        body["output_config"] = {**body.get("output_config", {}), "format": schema}
    elif form == "tool":
        tool = {"name": TOOL, "description": "Gives the answer.", "input_schema": object_schema(request)}
        body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
    return body


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings under the names of Anthropic, without `seed`, which it does not have."""
    given = {_NAMES.get(name, name): plain(value) for name, value in settings.items() if value is not None}
    given.pop("seed", None)
    if isinstance(stop := given.get("stop_sequences"), str):
        given["stop_sequences"] = [stop]
    return given


def read_reply(response: Response, endpoint: Endpoint, form: ReplyForm) -> Reply:
    """Read the reply in a response.

    Raises:
        ModelCallError: The response has no reply.
    """
    data = read_json(response, endpoint)
    blocks = data.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise response_error(response, endpoint, "answered without a list of blocks in `content`")
    calls = tuple(tool_call(block.get("name"), block.get("input")) for block in blocks if _is(block, "tool_use"))
    text = "".join(_texts(blocks, "text"))
    found = read_forced_call(text, calls) if form == "tool" else ForcedCall(text, None, calls)
    status = _STATUSES.get(str(data.get("stop_reason")), "truncated")
    if status == "refused":
        found = found._replace(text=found.text or _explanation(data))
    elif status == "ok" and found == EMPTY_CALL:
        status = "empty"
    model = data.get("model")
    return Reply(
        text=found.text,
        status=status,
        data=found.data,
        reasoning="".join(_texts(blocks, "thinking")),
        tool_calls=found.calls,
        usage=read_usage(data.get("usage")),
        model=model if isinstance(model, str) else "",
        seconds=response.seconds,
        headers=kept_headers(response.headers),
    )


def _is(block: Mapping[str, Any], kind: str) -> bool:
    return block.get("type") == kind


def _texts(blocks: list[dict[str, Any]], kind: str) -> Iterator[str]:
    return (block[kind] for block in blocks if _is(block, kind) and isinstance(block.get(kind), str))


def _explanation(data: Mapping[str, Any]) -> str:
    details = data.get("stop_details")
    return str(details.get("explanation") or "") if isinstance(details, Mapping) else ""


def read_usage(given: Any) -> Usage:
    """Read the token counts of a reply; impossible ones are None.

    >>> read_usage({"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}).input_tokens
    100
    """
    usage = given if isinstance(given, Mapping) else {}
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    details = usage.get("output_tokens_details")
    # Anthropic counts cached input tokens separately.
    parts = [token_count(part) for part in (usage.get("input_tokens"), read or 0, written or 0)]
    return Usage(
        input_tokens=None if None in parts else sum(part for part in parts if part is not None),
        output_tokens=token_count(usage.get("output_tokens")),
        cached_tokens=token_count(read),
        cache_write_tokens=token_count(written),
        reasoning_tokens=token_count(details.get("thinking_tokens")) if isinstance(details, Mapping) else None,
    )


_UNSUPPORTED_KEYWORDS = frozenset(
    (
        *("contains", "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maxProperties", "maximum"),
        *("minLength", "minProperties", "minimum", "multipleOf", "uniqueItems"),
    )
)
"""Keywords of JSON Schema that Anthropic does not enforce; they are added to the description for the model."""


def grammar_schema(schema: Any) -> Any:
    """Convert a schema for Anthropic: objects are closed, and unsupported limits move to the description.

    Objects without named properties stay open, since they could only be empty otherwise.

    >>> grammar_schema({"type": "object", "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 4}}})
    {'type': 'object', 'properties': {'score': {'type': 'integer', 'description': 'minimum: 0, maximum: 4'}}, \
'additionalProperties': False}
    """
    if isinstance(schema, list):
        return [grammar_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    unsupported = [f"{word}: {json.dumps(value)}" for word, value in schema.items() if _is_unsupported(word, value)]
    supported = {word: _inner(word, value) for word, value in schema.items() if not _is_unsupported(word, value)}
    if unsupported:
        supported["description"] = " ".join(filter(None, [supported.get("description"), ", ".join(unsupported)]))
    if supported.get("properties"):
        supported.setdefault("additionalProperties", False)
    return supported


def _is_unsupported(word: str, value: Any) -> bool:
    return word in _UNSUPPORTED_KEYWORDS or (word == "minItems" and value not in (0, 1))


def _inner(word: str, value: Any) -> Any:
    if word in ("properties", "$defs", "definitions") and isinstance(value, Mapping):
        return {name: grammar_schema(part) for name, part in value.items()}
    return grammar_schema(value) if word in ("items", "anyOf", "allOf") else value
