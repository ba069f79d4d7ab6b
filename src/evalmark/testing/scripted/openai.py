"""OpenAI's chat completions and embeddings, and Azure's form of them, for the scripted server."""

import base64
import re
import struct
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
)
from .responses import ScriptedReply, with_usage
from .strict_schema import check_strict_schema

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
REASONING_MODEL = re.compile(r"(o\d|gpt-5)")
UNKNOWN = "Unrecognized request argument supplied: {name}"
NUMBERS: dict[str, tuple[float | None, float | None]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "max_tokens": (1, None),
    "max_completion_tokens": (1, None),
    "seed": (None, None),
    "n": (1, 128),
    "top_logprobs": (0, 20),
}
WHOLE = frozenset({"max_tokens", "max_completion_tokens", "seed", "n", "top_logprobs"})
KNOWN = frozenset(
    (
        *("model", "messages", "response_format", "tools", "tool_choice", "parallel_tool_calls", "stop", "stream"),
        *("stream_options", "logprobs", "logit_bias", "user", "store", "metadata", "reasoning_effort", "verbosity"),
        *("service_tier", "modalities", "prediction", "audio", "safety_identifier", "prompt_cache_key"),
        *("web_search_options", "functions", "function_call"),
    )
) | set(NUMBERS)
NOT_SETTINGS = frozenset({"model", "messages", "response_format", "tools", "tool_choice", "input"})
UNSUPPORTED = {
    "response_format": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    "tools": "Unsupported parameter: 'tools' is not supported with this model.",
    "logprobs": "You are not allowed to request logprobs from this model",
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "temperature": "Unsupported value: 'temperature' does not support this value. Only the default (1) value is supported.",
}


def read_chat(received: RawRequest) -> ScriptedRequest:
    """Read and check a chat request.

    Raises:
        WrongRequestError: OpenAI would reject the request.
    """
    provider = _check_access(received)
    body = received.body
    model = _model(received)
    check_known(body, KNOWN, UNKNOWN)
    messages = _messages(body.get("messages"))
    _check_settings(body, model)
    schema, form, tool = _requested_object(body, messages)
    return ScriptedRequest(
        provider=provider,
        model=model,
        messages=messages,
        schema=schema,
        form=form,
        tool=tool,
        settings={name: value for name, value in body.items() if name not in NOT_SETTINGS},
        **request_details(received),
    )


def read_embeddings(received: RawRequest) -> ScriptedRequest:
    """Read and check a request for embeddings.

    Raises:
        WrongRequestError: OpenAI would reject the request.
    """
    provider = _check_access(received)
    body = received.body
    model = _model(received)
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise WrongRequestError("'$.input' is invalid. Give a text or a list of texts, none empty.", parameter="input")
    if len(texts) > 2_048:
        raise WrongRequestError("'$.input' is too long: 2048 texts at most.", parameter="input")
    check_known(body, ("model", "input", "encoding_format", "dimensions", "user"), UNKNOWN)
    if body.get("encoding_format", "float") not in ("float", "base64"):
        raise WrongRequestError(
            "Invalid value for 'encoding_format': 'float' or 'base64'.", parameter="encoding_format"
        )
    return ScriptedRequest(
        provider=provider,
        kind="embeddings",
        model=model,
        messages=tuple(("input", text) for text in texts),
        settings={name: value for name, value in body.items() if name not in NOT_SETTINGS},
        **request_details(received),
    )


def _check_access(received: RawRequest) -> Any:
    """Return whether it is OpenAI or Azure; check the key."""
    bearer = received.headers.get("authorization", "").removeprefix("Bearer ") or None
    if not received.path.startswith("/openai/"):
        check_key(received, bearer, required=False)
        return "openai"
    check_key(received, received.headers.get("api-key") or bearer, required=True)
    if "deployment" in received.names and not received.query.get("api-version"):
        raise WrongRequestError("Missing required query parameter: api-version", status=404, code="404")
    return "azure"


def _model(received: RawRequest) -> str:
    model = received.names.get("deployment") or received.body.get("model")
    if not isinstance(model, str) or not model:
        raise WrongRequestError("you must provide a model parameter", parameter="model")
    return model


def _messages(given: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, list) or not given:
        raise WrongRequestError(
            "Invalid 'messages': empty array. Expected an array with minimum length 1.", parameter="messages"
        )
    return tuple(_message(message, f"messages[{number}]") for number, message in enumerate(given))


def _message(message: Any, location: str) -> tuple[str, str]:
    role = message.get("role") if isinstance(message, dict) else None
    if role not in ROLES:
        wanted = ", ".join(repr(role) for role in sorted(ROLES))
        raise WrongRequestError(
            f"Invalid value: {role!r}. Supported values are: {wanted}.", parameter=f"{location}.role"
        )
    if role == "tool" and not message.get("tool_call_id"):
        raise WrongRequestError(f"Missing parameter '{location}.tool_call_id'.", parameter=f"{location}.tool_call_id")
    content = message.get("content")
    if content is None and role == "assistant" and message.get("tool_calls"):
        return role, ""
    if isinstance(content, str):
        return role, content
    if not isinstance(content, list) or not all(isinstance(part, dict) and "type" in part for part in content):
        raise WrongRequestError(
            f"Invalid type for '{location}.content': expected a string or an array of objects.", parameter=location
        )
    return role, "".join(str(part.get("text", "")) for part in content)


def _check_settings(body: Mapping[str, Any], model: str) -> None:
    for name, limits in NUMBERS.items():
        check_number(name, body.get(name), limits, whole=name in WHOLE)
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise WrongRequestError("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if "max_tokens" in body and REASONING_MODEL.match(model):
        raise WrongRequestError(UNSUPPORTED["max_tokens"], parameter="max_tokens", code="unsupported_parameter")
    if "top_logprobs" in body and body.get("logprobs") is not True:
        raise WrongRequestError(
            "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", parameter="top_logprobs"
        )
    if body.get("stream"):
        raise WrongRequestError("This server does not stream.", parameter="stream")
    stop = body.get("stop")
    if not (
        stop is None
        or isinstance(stop, str)
        or (isinstance(stop, list) and len(stop) <= 4 and all(isinstance(s, str) for s in stop))
    ):
        raise WrongRequestError("Invalid 'stop': a string or up to 4 strings.", parameter="stop")


def _requested_object(body: Mapping[str, Any], messages: Sequence[tuple[str, str]]) -> tuple[Any, Any, str]:
    """The schema of the requested object, its form, and the forced tool."""
    schema = _response_format(body.get("response_format"), messages)
    tools = {tool["function"]["name"]: tool["function"] for tool in map(_tool, body.get("tools") or [])}
    if "tools" in body and not tools:
        raise WrongRequestError("Invalid 'tools': empty array.", parameter="tools")
    choice = body.get("tool_choice")
    if choice is not None and not tools:
        raise WrongRequestError("'tool_choice' is only allowed when 'tools' are specified.", parameter="tool_choice")
    if isinstance(choice, dict):
        name = str((choice.get("function") or {}).get("name"))
        if choice.get("type") != "function" or name not in tools:
            raise WrongRequestError(f"Tool choice {name!r} not found in 'tools' parameter.", parameter="tool_choice")
        return tools[name].get("parameters", {}), "tool", name
    if choice not in (None, "auto", "none", "required"):
        raise WrongRequestError("Invalid value for 'tool_choice'.", parameter="tool_choice")
    if choice == "required":
        name = next(iter(tools))
        return tools[name].get("parameters", {}), "tool", name
    return schema, "" if schema is None else "schema", ""


def _tool(tool: Any) -> dict[str, Any]:
    function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
    if not isinstance(function, dict) or not NAME.fullmatch(str(function.get("name", ""))):
        raise WrongRequestError(
            "Invalid 'tools': each is a function with a name of letters, digits, _ and -.", parameter="tools"
        )
    if function.get("strict"):
        check_strict_schema(function.get("parameters"), f"function '{function['name']}'")
    return dict(tool)


def _response_format(given: Any, messages: Sequence[tuple[str, str]]) -> Any:
    if given is None or given == {"type": "text"}:
        return None
    if given == {"type": "json_object"}:
        if not any("json" in text.lower() for _, text in messages):
            raise WrongRequestError(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
                parameter="messages",
            )
        return {"type": "object"}
    wanted = given.get("json_schema") if isinstance(given, dict) and given.get("type") == "json_schema" else None
    if not isinstance(wanted, dict) or not NAME.fullmatch(str(wanted.get("name", ""))):
        raise WrongRequestError(
            "Missing required parameter: 'response_format.json_schema.name'.", parameter="response_format"
        )
    if not isinstance(wanted.get("schema"), dict):
        raise WrongRequestError(
            "Missing required parameter: 'response_format.json_schema.schema'.", parameter="response_format"
        )
    if wanted.get("strict"):
        check_strict_schema(wanted["schema"], f"response_format '{wanted['name']}'")
    return wanted["schema"]


def write_chat(request: ScriptedRequest, script: ScriptedReply) -> dict[str, Any]:
    """Return a reply in the form of OpenAI."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": script.text,
        "refusal": script.refusal or None,
    }
    if script.reasoning:
        message["reasoning_content"] = script.reasoning
    if script.tool_calls or script.refusal:
        message["content"] = None
    if script.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(script.tool_calls)
        ]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": _logprobs(request, script),
        "finish_reason": script.finish or ("tool_calls" if script.tool_calls and not request.tool else "stop"),
    }
    reply = {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 1_700_000_000 + request.number,
        "model": script.model or request.model,
        "choices": [choice],
        "system_fingerprint": "fp_scripted",
    }
    return with_usage(reply, "usage", script, _usage(request, script))


def _usage(request: ScriptedRequest, script: ScriptedReply) -> Mapping[str, Any]:
    read = count_tokens([text for _, text in request.messages])
    written = count_tokens([script.text, script.refusal, *(arguments for _, arguments in script.tool_calls)])
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _logprobs(request: ScriptedRequest, script: ScriptedReply) -> dict[str, Any] | None:
    if not request.settings.get("logprobs"):
        return None
    wanted = int(request.settings.get("top_logprobs") or 0)
    tokens = script.tokens
    if tokens is None:
        tokens = [(word, -0.1, [(word, -0.1), ("other", -2.5)]) for word in re.findall(r"\s*\S+", script.text)]
    return {
        "content": [
            {**_token(text, logprob), "top_logprobs": [_token(*other) for other in others[:wanted]]}
            for text, logprob, others in tokens
        ],
        "refusal": None,
    }


def _token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode("utf-8", "replace"))}


def write_embeddings(request: ScriptedRequest, vectors: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return vectors in the form of OpenAI: as numbers, or as little-endian floats in base64."""
    packed = request.settings.get("encoding_format") == "base64"
    tokens = count_tokens([text for _, text in request.messages])
    return {
        "object": "list",
        "model": request.model,
        "data": [
            {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else list(vector)}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def write_fault(status: int, error: WrongRequestError) -> dict[str, Any]:
    """Return an error in the form of OpenAI."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": str(error), "type": kind, "param": error.parameter, "code": error.code}}


def unsupported(what: str, model: str) -> WrongRequestError:
    """Return the error of OpenAI for a part that a model does not support."""
    return WrongRequestError(
        UNSUPPORTED[what].replace("this model", f"the model {model!r}"), parameter=what, code="unsupported_parameter"
    )


def asks_for(request: ScriptedRequest, what: str, body: Mapping[str, Any]) -> bool:
    """Whether the request uses that part."""
    return what in body if what != "response_format" else request.form == "schema"
