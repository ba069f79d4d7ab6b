"""OpenAI chat completions, also of Azure and the many compatible servers."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from evalmark.core.text import one_line
from evalmark.core.values.call import Reply, ReplyForm, ReplyStatus, Request, Token
from evalmark.core.values.case import ToolCall, Usage

from .endpoint import Endpoint
from .http import HttpClient
from .http_chat import HttpChat
from .replies import finite_float, kept_headers, token_count, tool_call
from .request_body import content_of, encode_body, json_value, messages_text, text_of
from .response import Response, read_json, response_error
from .structured import TOOL, ForcedCall, ReplyFormat, read_forced_call

_CUT = frozenset(("length", "max_tokens", "model_length"))
_FILTERED = re.compile(rb'"code"\s*:\s*"(?:content_filter|content_policy_violation)"|"flagged_input"\s*:')
"""Error codes of Azure, OpenAI and OpenRouter for a prompt that was filtered."""
_OWN_HOST = "https://api.openai.com"
_NEW_LIMIT_SINCE = "2024-09-01"
"""The first version of Azure's dated API with `max_completion_tokens`."""


class OpenAIChat(HttpChat):
    """A chat model of any server with OpenAI's chat completions API."""

    def __init__(self, endpoint: Endpoint, http: HttpClient, within: float) -> None:
        url = address(endpoint, "chat/completions")
        super().__init__(endpoint, http, within, url=url, headers=key_headers(endpoint))
        self._limit = "max_completion_tokens" if _knows_new_limit(endpoint) else "max_tokens"

    def _encode(self, request: Request, form: ReplyForm) -> bytes:
        known = messages_text(request)
        return encode_body(self._body(request, form, with_messages=known is None), self._endpoint, known)

    def _read(self, response: Response, form: ReplyForm) -> Reply:
        return read_reply(response, self._endpoint, form)

    def _body(self, request: Request, form: ReplyForm, with_messages: bool = True) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._endpoint.model}
        if with_messages:
            body["messages"] = [{"role": t.role, "content": content_of(t.content)} for t in request.messages]
        for name, value in request.settings.items():
            if value is not None:
                body[self._limit if name == "max_tokens" else name] = json_value(value)
        if request.logprobs:
            body["logprobs"], body["top_logprobs"] = True, request.logprobs
        if request.schema is not None and form in ("schema", "tool"):
            body |= _format_fields(self._fallback.reply_format(request.schema), form)
        return body


def address(endpoint: Endpoint, what: str) -> str:
    """Return the URL of `chat/completions` or `embeddings`."""
    if endpoint.provider != "azure":
        return f"{endpoint.base_url}/{what}"
    if not endpoint.api_version:
        return f"{endpoint.base_url}/openai/v1/{what}"
    deployment = quote(endpoint.model, safe="")
    version = quote(endpoint.api_version, safe="")
    return f"{endpoint.base_url}/openai/deployments/{deployment}/{what}?api-version={version}"


def key_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the header with the key; empty if there is no key."""
    if not endpoint.key:
        return {}
    return {"api-key": endpoint.key} if endpoint.provider == "azure" else {"authorization": f"Bearer {endpoint.key}"}


def _knows_new_limit(endpoint: Endpoint) -> bool:
    if endpoint.provider == "azure":
        return not endpoint.api_version or endpoint.api_version >= _NEW_LIMIT_SINCE
    return endpoint.base_url.startswith(f"{_OWN_HOST}/")


def _format_fields(reply_format: ReplyFormat, form: ReplyForm) -> dict[str, Any]:
    if form == "schema":
        schema = {"name": TOOL, "schema": reply_format.schema, "strict": reply_format.strict}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    tool = {"name": TOOL, "description": "Gives the answer.", "parameters": reply_format.schema}
    return {
        "tools": [{"type": "function", "function": tool | {"strict": True} if reply_format.strict else tool}],
        "tool_choice": {"type": "function", "function": {"name": TOOL}},
    }


def read_reply(response: Response, endpoint: Endpoint, form: ReplyForm) -> Reply:
    """Read the reply in a response.

    Raises:
        ModelCallError: The response has no reply.
    """
    if response.status in (400, 403) and _FILTERED.search(response.body):
        return Reply(status="filtered", seconds=response.seconds, headers=kept_headers(response.headers))
    data = read_json(response, endpoint)
    choice = _choice(data, response, endpoint)
    message = choice["message"]
    text, calls = text_of(message.get("content")), _tool_calls(message)
    found = read_forced_call(text, calls, _raw_arguments(message)) if form == "tool" else ForcedCall(text, None, calls)
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) else ""
    text = found.text or refusal
    is_empty = not (text or found.calls) and found.data is None
    model, system = data.get("model"), data.get("system_fingerprint")
    usage = data.get("usage")
    return Reply(
        text=text,
        status=_status(choice.get("finish_reason"), refusal=bool(refusal), empty=is_empty),
        data=found.data,
        reasoning=_reasoning(message),
        tool_calls=found.calls,
        usage=read_usage(usage) if isinstance(usage, dict) else _NO_USAGE,
        cost=_cost(usage) if endpoint.provider == "openrouter" else None,
        model=model if isinstance(model, str) else "",
        system_fingerprint=system if isinstance(system, str) else "",
        seconds=response.seconds,
        tokens=_tokens(choice["logprobs"]) if choice.get("logprobs") else (),
        headers=kept_headers(response.headers),
    )


_NO_USAGE = Usage()


def _choice(data: Mapping[str, Any], response: Response, endpoint: Endpoint) -> dict[str, Any]:
    choice = next(iter(_list(data.get("choices"))), None)
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise response_error(response, endpoint, "answered without a message")
    if choice.get("finish_reason") == "error" or choice.get("error"):
        reason = one_line(str(choice.get("error") or "no reason given"), 200)
        raise response_error(response, endpoint, f"ended its reply with an error: {reason}")
    return choice


def _status(finish: Any, *, refusal: bool, empty: bool) -> ReplyStatus:
    if finish == "content_filter":
        return "filtered"
    if refusal:
        return "refused"
    if isinstance(finish, str) and finish in _CUT:
        return "truncated"
    return "empty" if empty else "ok"


def _reasoning(message: Mapping[str, Any]) -> str:
    for name in ("reasoning_content", "reasoning"):
        if isinstance(found := message.get(name), str):
            return found
    return ""


def _tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    functions = (call.get("function") for call in _list(message.get("tool_calls")) if isinstance(call, dict))
    return tuple(tool_call(f.get("name"), f.get("arguments")) for f in functions if isinstance(f, dict))


def _raw_arguments(message: Mapping[str, Any]) -> str:
    """The arguments of the first tool call that has any, as the server sent them."""
    functions = (call.get("function") for call in _list(message.get("tool_calls")) if isinstance(call, dict))
    arguments = (function.get("arguments") for function in functions if isinstance(function, dict))
    return next((text for text in arguments if isinstance(text, str)), "")


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Read the token counts of a reply; impossible ones are None."""
    into, out = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = into.get("cached_tokens") if isinstance(into, dict) else usage.get("prompt_cache_hit_tokens")
    return Usage(
        input_tokens=token_count(usage.get("prompt_tokens")),
        output_tokens=token_count(usage.get("completion_tokens")),
        cached_tokens=token_count(cached),
        reasoning_tokens=token_count(out.get("reasoning_tokens")) if isinstance(out, dict) else None,
    )


def _cost(usage: Any) -> float | None:
    """The cost of a call in US dollars, which OpenRouter reports."""
    cost = finite_float(usage.get("cost")) if isinstance(usage, dict) else None
    return cost if cost is not None and 0 <= cost <= 1e6 else None


def _tokens(logprobs: Any) -> tuple[Token, ...]:
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tuple(
        Token(*token, others=tuple(other for top in _list(entry.get("top_logprobs")) if (other := _token(top))))
        for entry in _list(content)
        if (token := _token(entry))
    )


def _token(entry: Any) -> tuple[str, float] | None:
    if not isinstance(entry, dict):
        return None
    text, logprob = entry.get("token"), finite_float(entry.get("logprob"))
    return (text, logprob) if isinstance(text, str) and logprob is not None else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
