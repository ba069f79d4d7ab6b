"""Gemini's generateContent and embedContent, for the scripted server."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .requests import (
    RawRequest,
    ScriptedRequest,
    WrongRequestError,
    check_key,
    check_known,
    check_number,
    count_tokens,
    request_details,
    sub_schemas,
)
from .responses import ScriptedReply, with_usage

UNKNOWN = 'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
KNOWN = frozenset(
    (
        *("cachedContent", "contents", "generationConfig", "labels", "model", "safetySettings", "serviceTier"),
        *("store", "systemInstruction", "toolConfig", "tools"),
    )
)
NUMBERS: dict[str, tuple[float | None, float | None]] = {
    "temperature": (0, 2),
    "topP": (0, 1),
    "topK": (1, None),
    "candidateCount": (1, 8),
    "maxOutputTokens": (1, None),
    "presencePenalty": (-2, 2),
    "frequencyPenalty": (-2, 2),
    "seed": (-(2**31), 2**31 - 1),
    "logprobs": (0, 20),
}
WHOLE = frozenset({"topK", "candidateCount", "maxOutputTokens", "seed", "logprobs"})
KNOWN_CONFIG = frozenset(NUMBERS) | {
    *("enableEnhancedCivicAnswers", "mediaResolution", "responseJsonSchema", "responseLogprobs"),
    *("responseMimeType", "responseModalities", "responseSchema", "speechConfig", "stopSequences"),
    "thinkingConfig",
}
OPENAPI_WORDS = frozenset(
    (
        *("anyOf", "default", "description", "enum", "example", "format", "items", "maxItems", "maxLength"),
        *("maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "nullable", "pattern"),
        *("properties", "propertyOrdering", "required", "title", "type"),
    )
)
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
MOST_TEXTS = 100


def read_chat(received: RawRequest) -> ScriptedRequest:
    """Read and check a chat request.

    Raises:
        WrongRequestError: Gemini would reject the request.
    """
    _check_access(received)
    body = received.body
    check_known(body, KNOWN, UNKNOWN)
    config = body.get("generationConfig", {})
    _check_config(config)
    messages = tuple(_content(content, f"contents[{n}]") for n, content in enumerate(body.get("contents") or []))
    if not messages:
        raise WrongRequestError("* GenerateContentRequest.contents: contents is not specified")
    schema, form, tool = _requested_object(body, config)
    system = (
        [("system", _content(body["systemInstruction"], "systemInstruction")[1])] if "systemInstruction" in body else []
    )
    return ScriptedRequest(
        provider="gemini",
        model=received.names["model"],
        messages=(*system, *messages),
        schema=schema,
        form=form,
        tool=tool,
        settings={
            name: value for name, value in config.items() if name not in ("responseSchema", "responseJsonSchema")
        },
        **request_details(received),
    )


def read_embeddings(received: RawRequest) -> ScriptedRequest:
    """Read and check a request for one or several embeddings.

    Raises:
        WrongRequestError: Gemini would reject the request.
    """
    _check_access(received)
    model = received.names["model"]
    single = ":embedContent" in received.path
    requests = [received.body] if single else received.body.get("requests")
    if not isinstance(requests, list) or not 0 < len(requests) <= MOST_TEXTS:
        raise WrongRequestError(
            f"* BatchEmbedContentsRequest.requests: between 1 and {MOST_TEXTS} requests are required"
        )
    for one in requests:
        check_known(one, ("model", "content", "taskType", "title", "outputDimensionality"), UNKNOWN)
        if one.get("model", f"models/{model}" if single else None) != f"models/{model}":
            raise WrongRequestError("* BatchEmbedContentsRequest.requests.model: has to name the model of the address")
    rest = {name: value for name, value in requests[0].items() if name not in ("model", "content")}
    return ScriptedRequest(
        provider="gemini",
        kind="embeddings",
        model=model,
        messages=tuple(("input", _content(one.get("content"), "content")[1]) for one in requests),
        settings=rest,
        tool="one" if single else "",
        **request_details(received),
    )


def _check_access(received: RawRequest) -> None:
    if "key" in received.query:
        raise WrongRequestError(
            "The URL contains the API key, and URLs are logged. Send it in the header x-goog-api-key."
        )
    if not (given := received.headers.get("x-goog-api-key")):
        raise WrongRequestError("Method doesn't allow unregistered callers.", status=403)
    check_key(received, given, required=True, status=400)


def _content(content: Any, location: str) -> tuple[str, str]:
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list) or not parts or not all(isinstance(part, dict) and part for part in parts):
        raise WrongRequestError(f"* GenerateContentRequest.{location}.parts: contents.parts must not be empty.")
    role = content.get("role", "user")
    if role not in ("user", "model") and location.startswith("contents"):
        raise WrongRequestError("Please use a valid role: user, model.")
    if not all(isinstance(part.get("text", ""), str) for part in parts):
        raise WrongRequestError(f"Invalid value at '{location}.parts[0].text' (TYPE_STRING)")
    return str(role), "".join(part.get("text", "") for part in parts)


def _check_config(config: Any) -> None:
    if not isinstance(config, dict):
        raise WrongRequestError("Invalid value at 'generation_config'")
    check_known(config, KNOWN_CONFIG, UNKNOWN)
    for name, limits in NUMBERS.items():
        check_number(name, config.get(name), limits, whole=name in WHOLE)
    if "logprobs" in config and config.get("responseLogprobs") is not True:
        raise WrongRequestError("logprobs can only be set if responseLogprobs is true")
    stops = config.get("stopSequences", [])
    if not isinstance(stops, list) or len(stops) > 5 or not all(isinstance(stop, str) for stop in stops):
        raise WrongRequestError("stopSequences: up to 5 texts")
    if config.get("responseMimeType", "text/plain") not in ("text/plain", "application/json", "text/x.enum"):
        raise WrongRequestError(
            "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are text/plain, application/json"
        )


def _requested_object(body: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """The schema of the requested object, its form, and the forced function."""
    functions = {
        function["name"]: function
        for tool in body.get("tools", [])
        for function in map(_function, tool.get("functionDeclarations", []))
    }
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    if functions and config.get("responseMimeType") == "application/json":
        raise WrongRequestError("Function calling with a response mime type: 'application/json' is unsupported")
    if calling.get("mode", "AUTO") not in ("AUTO", "ANY", "NONE", "VALIDATED"):
        raise WrongRequestError("Invalid value at 'tool_config.function_calling_config.mode'")
    if calling.get("mode") == "ANY":
        name = next(iter([*calling.get("allowedFunctionNames", ()), *functions]), "")
        if name not in functions:
            raise WrongRequestError("allowed_function_names: has to name declared functions")
        found = functions[name]
        return found.get("parametersJsonSchema", found.get("parameters", {})), "tool", name
    schema = _response_schema(config)
    return schema, "" if schema is None else "schema", ""


def _function(function: Any) -> dict[str, Any]:
    if not isinstance(function, dict) or not re.fullmatch(r"[a-zA-Z_][\w.:-]{0,63}", str(function.get("name", ""))):
        raise WrongRequestError("tools: Invalid function name. Must start with a letter or an underscore.")
    check_known(function, ("name", "description", "parameters", "parametersJsonSchema", "behavior"), UNKNOWN)
    if "parameters" in function:
        _check_openapi(function["parameters"])
    return function


def _response_schema(config: Mapping[str, Any]) -> Any:
    if "responseSchema" in config and "responseJsonSchema" in config:
        raise WrongRequestError("Only one of response_schema and response_json_schema can be set.")
    schema = config.get("responseSchema", config.get("responseJsonSchema"))
    if schema is None:
        return {"type": "object"} if config.get("responseMimeType") == "application/json" else None
    if config.get("responseMimeType") not in ("application/json", "text/x.enum"):
        raise WrongRequestError("response_schema requires a response_mime_type of application/json")
    if "responseSchema" in config:
        _check_openapi(schema)
    for location, _, part in sub_schemas(schema):
        if "$ref" in part and any(not word.startswith("$") for word in part):
            raise WrongRequestError(
                f"response_json_schema: {location}: a schema with $ref may have no other keywords than those with $"
            )
    return schema


def _check_openapi(schema: Any) -> None:
    for location, _, part in sub_schemas(schema):
        check_known(
            part,
            OPENAPI_WORDS,
            f'Invalid JSON payload received. Unknown name "{{name}}" at {location!r}: Cannot find field.',
        )
        if not isinstance(part.get("type", ""), str):
            raise WrongRequestError(f"Proto field is not repeating, cannot start list: type at {location!r}")


def write_chat(request: ScriptedRequest, script: ScriptedReply) -> dict[str, Any]:
    """Return a reply in the form of Gemini; a refusal is a blocked prompt."""
    reply: dict[str, Any] = {
        "modelVersion": script.model or request.model,
        "responseId": f"scripted-{request.number}",
    }
    if script.refusal:
        reply["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": script.refusal}
    else:
        reply["candidates"] = [_candidate(request, script)]
    return with_usage(reply, "usageMetadata", script, _usage(request, script))


def _candidate(request: ScriptedRequest, script: ScriptedReply) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": script.reasoning, "thought": True}] if script.reasoning else []
    if script.text:
        parts.append({"text": script.text})
    calls = [(name, _arguments(arguments)) for name, arguments in script.tool_calls]
    if any(arguments is None for _, arguments in calls):
        return {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": script.tool_calls[0][1], "index": 0}
    parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in calls]
    candidate: dict[str, Any] = {"finishReason": script.finish or "STOP", "index": 0}
    if parts:
        candidate["content"] = {"parts": parts, "role": "model"}
    if request.settings.get("responseLogprobs"):
        candidate |= _logprobs(request, script)
    return candidate


def _arguments(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _logprobs(request: ScriptedRequest, script: ScriptedReply) -> dict[str, Any]:
    alternatives = int(request.settings.get("logprobs") or 0)
    tokens = script.tokens
    if tokens is None:
        tokens = [(word, -0.1, [(word, -0.1), ("other", -2.5)]) for word in re.findall(r"\s*\S+", script.text)]
    result: dict[str, Any] = {"chosenCandidates": [_token(text, logprob) for text, logprob, _ in tokens]}
    if alternatives:
        result["topCandidates"] = [
            {"candidates": [_token(*other) for other in others[:alternatives]]} for _, _, others in tokens
        ]
    return {"logprobsResult": result, "avgLogprobs": sum(each for _, each, _ in tokens) / max(1, len(tokens))}


def _token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "tokenId": len(text), "logProbability": logprob}


def _usage(request: ScriptedRequest, script: ScriptedReply) -> Mapping[str, Any]:
    read = count_tokens([text for _, text in request.messages])
    written = 0 if script.refusal else count_tokens([script.text, *(arguments for _, arguments in script.tool_calls)])
    thought = {"thoughtsTokenCount": count_tokens([script.reasoning])} if script.reasoning else {}
    total = read + written + sum(thought.values())
    return {"promptTokenCount": read, "candidatesTokenCount": written, **thought, "totalTokenCount": total}


def write_embeddings(request: ScriptedRequest, vectors: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return vectors in the form of Gemini."""
    found = [{"values": list(vector)} for vector in vectors]
    return {"embedding": found[0]} if request.tool == "one" else {"embeddings": found}


def write_fault(status: int, error: WrongRequestError) -> dict[str, Any]:
    """Return an error in the form of Gemini."""
    return {"error": {"code": status, "message": str(error), "status": STATUSES.get(status, "UNKNOWN")}}


def unsupported(what: str, model: str) -> WrongRequestError:
    """Return the error of Gemini for a part that a model does not support."""
    sentences = {
        "response_format": f"Json mode is not enabled for models/{model}",
        "tools": f"Function calling is not enabled for models/{model}",
        "logprobs": f"Logprobs is not enabled for models/{model}",
    }
    return WrongRequestError(sentences.get(what, f"{what} is not supported by models/{model}"))


def asks_for(request: ScriptedRequest, what: str, body: Mapping[str, Any]) -> bool:
    """Whether the request uses that part."""
    if what == "response_format":
        return request.form == "schema"
    return what in body or what in body.get("generationConfig", {})
