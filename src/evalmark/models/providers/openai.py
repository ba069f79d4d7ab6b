"""OpenAI chat completions, also of Azure and the many compatible servers."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from evalmark.core.values.call import Reply, ReplyForm, ReplyStatus, Request, Token
from evalmark.core.values.case import ToolCall, Usage

from .endpoint import Endpoint
from .http import HttpClient, require_key
from .replies import finite_float, kept_headers, parse_object, token_count, tool_call
from .request_body import content_of, encode_body, json_value, messages_text, refuse_reserved_settings, text_of
from .response import Response, one_line, read_json, response_error
from .structured import TOOL, ReplyFormat, StructuredOutputFallback

_CUT = frozenset(("length", "max_tokens", "model_length"))
_FILTERED = re.compile(rb'"code"\s*:\s*"(?:content_filter|content_policy_violation)"|"flagged_input"\s*:')
"""Error codes of Azure, OpenAI and OpenRouter for a prompt that was filtered."""
_OWN_HOST = "https://api.openai.com"
_NEW_LIMIT_SINCE = "2024-09-01"
"""The first version of Azure's dated API with `max_completion_tokens`."""


class OpenAIChat:
    """A chat model of any server with OpenAI's chat completions API."""

    def __init__(self, endpoint: Endpoint, http: HttpClient, within: float) -> None:
        self.name = endpoint.name
        self.identity = endpoint.identity
        self._endpoint = endpoint
        self._http = http
        self._within = within
        self._url = address(endpoint, "chat/completions")
        self._headers = key_headers(endpoint)
        self._limit = "max_completion_tokens" if _knows_new_limit(endpoint) else "max_tokens"
        self._fallback = StructuredOutputFallback()

    async def __call__(self, request: Request) -> Reply:
        """Send one request; one more attempt is made for each form of structured output that the server rejects.

        Raises:
            ModelCallError: There is no reply.
        """
        require_key(self._endpoint)
        refuse_reserved_settings(request, self._endpoint)
        if request.schema is None:
            return await self._ask(request, "")
        return await self._fallback.ask(request, self._ask)

    async def _ask(self, request: Request, form: ReplyForm) -> Reply:
        known = messages_text(request)
        body = encode_body(self._body(request, form, with_messages=known is None), self._endpoint, known)
        response = await self._http.post(self._url, body, self._headers, within=self._within)
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
            body |= _asking(self._fallback.reply_format(request.schema), form)
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


def _asking(wanted: ReplyFormat, form: ReplyForm) -> dict[str, Any]:
    """The part of a request that asks for a JSON object."""
    if form == "schema":
        asked = {"name": TOOL, "schema": wanted.schema, "strict": wanted.strict}
        return {"response_format": {"type": "json_schema", "json_schema": asked}}
    tool = {"name": TOOL, "description": "Gives the answer.", "parameters": wanted.schema}
    return {
        "tools": [{"type": "function", "function": tool | {"strict": True} if wanted.strict else tool}],
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
    text = text_of(message.get("content"))
    calls = _tool_calls(message)
    found = None
    if form == "tool":
        text, found, calls = _answer(text, message, calls)
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) else ""
    text = text or refusal
    model, system = data.get("model"), data.get("system_fingerprint")
    usage = data.get("usage")
    return Reply(
        text=text,
        status=_status(choice.get("finish_reason"), refusal=bool(refusal), empty=not (text or calls) and found is None),
        data=found,
        reasoning=_reasoning(message),
        tool_calls=calls,
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
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        raise response_error(response, endpoint, "answered without a message")
    if choice.get("finish_reason") == "error" or choice.get("error"):
        told = one_line(str(choice.get("error") or "no reason given"), 200)
        raise response_error(response, endpoint, f"broke off its answer: {told}")
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
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return ()
    functions = (call.get("function") for call in calls if isinstance(call, dict))
    return tuple(tool_call(f.get("name"), f.get("arguments")) for f in functions if isinstance(f, dict))


def _answer(
    text: str, message: Mapping[str, Any], calls: tuple[ToolCall, ...]
) -> tuple[str, dict[str, Any] | None, tuple[ToolCall, ...]]:
    """The text, the object and the other tool calls of a reply to a request with a forced call of `TOOL`."""
    asked = next((call for call in calls if call.name == TOOL), None)
    if asked is None:  # the server did not enforce the call
        return text, parse_object(text), calls
    others = tuple(call for call in calls if call.name != TOOL)
    if asked.error is None:
        return text, dict(asked.arguments), others
    arguments = (call["function"].get("arguments") for call in message["tool_calls"] if isinstance(call, dict))
    return text or next((said for said in arguments if isinstance(said, str)), ""), None, others


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
    places = content if isinstance(content, list) else []
    found = (_token(place) for place in places)
    return tuple(
        Token(*token, others=tuple(other for said in _list(place.get("top_logprobs")) if (other := _token(said))))
        for place, token in zip(places, found, strict=True)
        if token
    )


def _token(place: Any) -> tuple[str, float] | None:
    if not isinstance(place, dict):
        return None
    text, logprob = place.get("token"), finite_float(place.get("logprob"))
    return (text, logprob) if isinstance(text, str) and logprob is not None else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
