"""The API dialect of each path, and how a scripted response is written in it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import anthropic, gemini, openai
from .delivery import Outgoing
from .requests import Provider, RawRequest, ScriptedRequest, WrongRequestError, default_reply, unit_vector
from .responses import (
    Cut,
    Endless,
    HeadersOnly,
    Raw,
    Reset,
    ScriptedReply,
    ScriptedResponse,
    Slow,
    Status,
    Unsupported,
    as_reply,
)

MESSAGES = {
    400: "The request is not valid.",
    401: "Incorrect API key provided.",
    403: "You may not do this.",
    404: "The model does not exist or you do not have access to it.",
    408: "The request took too long.",
    409: "Conflict.",
    413: "The request is too large.",
    422: "The request cannot be processed.",
    429: "Rate limit reached.",
    500: "The server had an error while processing your request.",
    502: "Bad gateway.",
    503: "The engine is currently overloaded, please try again later.",
    529: "Overloaded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Reads and writes one kind of request of one provider."""

    provider: Provider
    kind: Literal["chat", "embeddings"] = "chat"
    read: Callable[[RawRequest], ScriptedRequest]
    write_chat: Callable[[ScriptedRequest, ScriptedReply], Mapping[str, Any]]
    write_embeddings: Callable[[ScriptedRequest, Sequence[Sequence[float]]], Mapping[str, Any]] | None = None
    write_fault: Callable[[int, WrongRequestError], Mapping[str, Any]]
    unsupported: Callable[[str, str], WrongRequestError]
    asks_for: Callable[[ScriptedRequest, str, Mapping[str, Any]], bool]

    def check_support(self, request: ScriptedRequest, body: Mapping[str, Any], unsupported: Sequence[str]) -> None:
        """Reject parts of a request that the server is configured not to support."""
        for what in unsupported:
            if self.asks_for(request, what, body):
                raise self.unsupported(what, request.model)

    def fault(self, error: WrongRequestError) -> Outgoing:
        """Return an error in the form of the provider."""
        return Outgoing.of(self.write_fault(error.status, error), status=error.status)


def build_response(dialect: Dialect, request: ScriptedRequest, answer: ScriptedResponse) -> Outgoing:
    """Return the HTTP response for a scripted response."""
    match answer:
        case Status():
            return _status(dialect, answer)
        case Raw():
            return Outgoing(body=answer.bytes, content_type=answer.content_type, headers=answer.headers)
        case Reset() | Endless() | HeadersOnly():
            return Outgoing(body=b"", manner=answer)
        case Unsupported():
            return dialect.fault(dialect.unsupported(answer.what, request.model))
    manner = answer if isinstance(answer, Cut | Slow) else None
    return Outgoing.of(_written(dialect, request, answer), manner=manner)


def _written(dialect: Dialect, request: ScriptedRequest, answer: ScriptedResponse) -> Mapping[str, Any]:
    if request.kind == "embeddings" and dialect.write_embeddings is not None:
        return dialect.write_embeddings(request, _vectors(request, answer))
    return dialect.write_chat(request, as_reply(answer) or _plain(request, answer))


def _vectors(request: ScriptedRequest, answer: ScriptedResponse) -> Sequence[Sequence[float]]:
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return answer
    dimensions = request.settings.get("dimensions") or request.settings.get("outputDimensionality") or 8
    return [unit_vector(text, int(dimensions)) for _, text in request.messages]


def _plain(request: ScriptedRequest, answer: ScriptedResponse) -> ScriptedReply:
    """Return a text or an object as the content of a reply, or as the arguments of the forced tool."""
    text = default_reply(request) if answer is None else answer if isinstance(answer, str) else json.dumps(answer)
    return ScriptedReply(tool_calls=[(request.tool, text)]) if request.tool else ScriptedReply(text=text)


def _status(dialect: Dialect, answer: Status) -> Outgoing:
    body = answer.body
    if isinstance(body, str | bytes):
        raw = body.encode() if isinstance(body, str) else body
        return Outgoing(body=raw, status=answer.code, headers=answer.headers, content_type="text/plain")
    if body is None:
        body = dialect.write_fault(answer.code, WrongRequestError(MESSAGES.get(answer.code, "Something went wrong.")))
    return Outgoing.of(body, status=answer.code, headers=answer.headers)


def _dialect(provider: Provider, api: Any, kind: Literal["chat", "embeddings"] = "chat") -> Dialect:
    return Dialect(
        provider=provider,
        kind=kind,
        read=api.read_chat if kind == "chat" else api.read_embeddings,
        write_chat=api.write_chat,
        write_embeddings=getattr(api, "write_embeddings", None),
        write_fault=api.write_fault,
        unsupported=api.unsupported,
        asks_for=api.asks_for,
    )


DIALECTS: Sequence[tuple[str, Dialect]] = (
    ("/v1/chat/completions", _dialect("openai", openai)),
    ("/v1/embeddings", _dialect("openai", openai, "embeddings")),
    ("/openai/deployments/{deployment}/chat/completions", _dialect("azure", openai)),
    ("/openai/deployments/{deployment}/embeddings", _dialect("azure", openai, "embeddings")),
    ("/openai/v1/chat/completions", _dialect("azure", openai)),
    ("/openai/v1/embeddings", _dialect("azure", openai, "embeddings")),
    ("/v1/messages", _dialect("anthropic", anthropic)),
    ("/v1beta/models/{model}:generateContent", _dialect("gemini", gemini)),
    ("/v1beta/models/{model}:embedContent", _dialect("gemini", gemini, "embeddings")),
    ("/v1beta/models/{model}:batchEmbedContents", _dialect("gemini", gemini, "embeddings")),
)
