"""Gemini's generateContent as a chat model."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from evalmark.core.values.call import Reply, ReplyForm, ReplyStatus, Request, Token
from evalmark.core.values.case import Usage
from evalmark.core.values.plain_data import plain

from .endpoint import Endpoint
from .http import HttpClient
from .http_chat import HttpChat
from .replies import finite_float, kept_headers, token_count, tool_call
from .request_body import encode_body, split_system
from .response import Response, read_json, response_error
from .structured import EMPTY_CALL, TOOL, ForcedCall, object_schema, read_forced_call

_NAMES = {"top_p": "topP", "top_k": "topK", "max_tokens": "maxOutputTokens", "stop": "stopSequences"}
_OUTSIDE_CONFIG = frozenset(
    {"cachedContent", "labels", "safetySettings", "serviceTier", "store", "toolConfig", "tools"}
)
"""Settings outside of `generationConfig`; all others are inside."""
_MOST_LOGPROBS = 20
_STATUSES: Mapping[str, ReplyStatus] = {
    "STOP": "ok",
    "MAX_TOKENS": "truncated",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "IMAGE_SAFETY": "filtered",
    "IMAGE_PROHIBITED_CONTENT": "filtered",
    "LANGUAGE": "filtered",
    "MODEL_ARMOR": "filtered",
}


class GeminiChat(HttpChat):
    """A Gemini model at an address."""

    def __init__(self, endpoint: Endpoint, http: HttpClient, within: float) -> None:
        model = endpoint.model if "/" in endpoint.model else f"models/{endpoint.model}"
        url = f"{endpoint.base_url}/v1beta/{quote(model)}:generateContent"
        super().__init__(endpoint, http, within, url=url, headers=key_header(endpoint))

    def _encode(self, request: Request, form: ReplyForm) -> bytes:
        return encode_body(_body(request, form, self._endpoint), self._endpoint)

    def _read(self, response: Response, form: ReplyForm) -> Reply:
        return read_reply(response, self._endpoint, form)


def key_header(endpoint: Endpoint) -> dict[str, str]:
    """Return the header with the key; empty if there is no key."""
    return {"x-goog-api-key": endpoint.key} if endpoint.key else {}


def _body(request: Request, form: ReplyForm, endpoint: Endpoint) -> dict[str, Any]:
    system, turns = split_system(request.messages, endpoint)
    given = {_NAMES.get(name, name): plain(value) for name, value in request.settings.items() if value is not None}
    config = {name: value for name, value in given.items() if name not in _OUTSIDE_CONFIG}
    if isinstance(stop := config.get("stopSequences"), str):
        config["stopSequences"] = [stop]
    if request.logprobs:
        config |= {"responseLogprobs": True, "logprobs": min(request.logprobs, _MOST_LOGPROBS)}
    body: dict[str, Any] = {name: value for name, value in given.items() if name in _OUTSIDE_CONFIG}
    if form == "schema":
        config |= {
            "responseMimeType": "application/json",
            "responseJsonSchema": lone_references(object_schema(request)),
        }
    elif form == "tool":
        body |= _forced_call(request)
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    roles = {"user": "user", "assistant": "model"}
    body["contents"] = [{"role": roles[role], "parts": _content_parts(content)} for role, content in turns]
    return {**body, "generationConfig": config}


def _content_parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    return [{name: value for name, value in part.items() if name != "type"} for part in content]


def _forced_call(request: Request) -> dict[str, Any]:
    schema = lone_references(object_schema(request))
    function = {"name": TOOL, "description": "Gives the answer.", "parametersJsonSchema": schema}
    calling = {"mode": "ANY", "allowedFunctionNames": [TOOL]}
    return {"tools": [{"functionDeclarations": [function]}], "toolConfig": {"functionCallingConfig": calling}}


def lone_references(schema: Any) -> Any:
    """Remove everything next to a `$ref`, as Gemini requires.

    >>> lone_references({"properties": {"a": {"$ref": "#/$defs/A", "description": "..."}}})
    {'properties': {'a': {'$ref': '#/$defs/A'}}}
    """
    if isinstance(schema, list):
        return [lone_references(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    lone = isinstance(schema.get("$ref"), str)
    return {word: lone_references(value) for word, value in schema.items() if not lone or word.startswith("$")}


def read_reply(response: Response, endpoint: Endpoint, form: ReplyForm) -> Reply:
    """Read the reply in a response.

    Raises:
        ModelCallError: The response has no reply.
    """
    data = read_json(response, endpoint)
    candidate = _candidate(data, response, endpoint)
    parts = _parts(candidate)
    text = "".join(part["text"] for part in parts if _is_text(part) and not part.get("thought"))
    made = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    calls = tuple(tool_call(call.get("name"), call.get("args")) for call in made)
    found = read_forced_call(text, calls) if form == "tool" else ForcedCall(text, None, calls)
    model = data.get("modelVersion")
    return Reply(
        text=found.text or _explanation(data, candidate),
        status=_status(data, candidate, has_content=found != EMPTY_CALL),
        data=found.data,
        reasoning="".join(part["text"] for part in parts if _is_text(part) and part.get("thought")),
        tool_calls=found.calls,
        usage=read_usage(data.get("usageMetadata")),
        model=model if isinstance(model, str) else "",
        seconds=response.seconds,
        tokens=_tokens(candidate.get("logprobsResult")),
        headers=kept_headers(response.headers),
    )


def _candidate(data: Mapping[str, Any], response: Response, endpoint: Endpoint) -> Mapping[str, Any]:
    """The first candidate; empty if the prompt was blocked."""
    candidates = data.get("candidates") or []
    if not isinstance(candidates, list) or not all(isinstance(candidate, dict) for candidate in candidates):
        raise response_error(response, endpoint, "answered without a list in `candidates`")
    if not candidates and not isinstance(data.get("promptFeedback"), dict) and "usageMetadata" not in data:
        raise response_error(response, endpoint, "answered with neither `candidates` nor `promptFeedback`")
    return candidates[0] if candidates else {}


def _parts(candidate: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str)


def _explanation(data: Mapping[str, Any], candidate: Mapping[str, Any]) -> str:
    feedback = data.get("promptFeedback")
    blocked = feedback.get("blockReasonMessage") if isinstance(feedback, dict) else None
    text = candidate.get("finishMessage") or blocked
    return text if isinstance(text, str) else ""


def _status(data: Mapping[str, Any], candidate: Mapping[str, Any], *, has_content: bool) -> ReplyStatus:
    feedback = data.get("promptFeedback")
    if not candidate and isinstance(feedback, dict) and feedback.get("blockReason"):
        return "filtered"
    # Any other reason (`OTHER`, `MALFORMED_FUNCTION_CALL`, …) means that the reply is incomplete.
    status = _STATUSES.get(str(candidate.get("finishReason", "STOP")), "truncated" if has_content else "empty")
    return "empty" if status == "ok" and not has_content else status


def read_usage(given: Any) -> Usage:
    """Read the token counts of a reply; impossible ones are None.

    >>> read_usage({"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 20}).output_tokens
    25
    """
    usage = given if isinstance(given, Mapping) else {}
    known = "promptTokenCount" in usage
    # The server omits counts of zero, and does not count thoughts as tokens of the candidates.
    return Usage(
        input_tokens=_sum(usage, "promptTokenCount", "toolUsePromptTokenCount") if known else None,
        output_tokens=_sum(usage, "candidatesTokenCount", "thoughtsTokenCount") if known else None,
        cached_tokens=token_count(usage.get("cachedContentTokenCount", 0)) if known else None,
        reasoning_tokens=token_count(usage.get("thoughtsTokenCount", 0)) if known else None,
    )


def _sum(usage: Mapping[str, Any], *names: str) -> int | None:
    counts = [token_count(usage.get(name, 0)) for name in names]
    return None if None in counts else sum(count for count in counts if count is not None)


def _tokens(result: Any) -> tuple[Token, ...]:
    """The tokens with their alternatives; empty if the lists of the server are inconsistent."""
    if not isinstance(result, Mapping) or not isinstance(chosen := result.get("chosenCandidates"), list):
        return ()
    places = result.get("topCandidates")
    tops = places if isinstance(places, list) and len(places) == len(chosen) else [{}] * len(chosen)
    tokens = [_token(each, top) for each, top in zip(chosen, tops, strict=True)]
    return tuple(token for token in tokens if token is not None) if None not in tokens else ()


def _token(chosen: Any, top: Any) -> Token | None:
    pair = _pair(chosen)
    others = top.get("candidates") if isinstance(top, Mapping) else None
    pairs = [_pair(other) for other in others] if isinstance(others, list) else []
    return None if pair is None else Token(*pair, tuple(other for other in pairs if other is not None))


def _pair(candidate: Any) -> tuple[str, float] | None:
    found = candidate if isinstance(candidate, Mapping) else {}
    text, logprob = found.get("token"), finite_float(found.get("logProbability", 0.0))
    return (text, logprob) if isinstance(text, str) and logprob is not None else None
