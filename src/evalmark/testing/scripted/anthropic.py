"""Anthropic's Messages API, for the scripted server."""

import json
import re
from collections.abc import Mapping
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

VERSIONS = frozenset({"2023-01-01", "2023-06-01"})
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
KNOWN = frozenset(
    (
        *("cache_control", "container", "context_management", "inference_geo", "max_tokens", "mcp_servers"),
        *("messages", "metadata", "model", "output_config", "output_format", "service_tier", "speed"),
        *("stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools"),
        *("top_k", "top_p"),
    )
)
NOT_SETTINGS = frozenset({"model", "messages", "system", "tools", "tool_choice", "output_config"})
WITHOUT_SAMPLING = re.compile(r"claude-(opus-4-[7-9](-|$)|opus-[5-9]|haiku-5-5)")
"""Models that reject `temperature`, `top_p` and `top_k`."""
REFUSED_WORDS = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength"),
    "array": ("maxItems", "uniqueItems", "contains"),
    "object": ("minProperties", "maxProperties", "patternProperties"),
}
MOST_OPTIONAL = 24
MOST_UNIONS = 16
KINDS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def read_chat(received: RawRequest) -> ScriptedRequest:
    """Read and check a chat request.

    Raises:
        WrongRequestError: Anthropic would reject the request.
    """
    check_key(received, received.headers.get("x-api-key"), required=True)
    if received.headers.get("anthropic-version") not in VERSIONS:
        raise WrongRequestError("anthropic-version: header is required and has to be a known version")
    body = received.body
    if "output_format" in body:
        raise WrongRequestError("output_format: This field is deprecated. Use 'output_config.format' instead.")
    check_known(body, KNOWN, "{name}: Extra inputs are not permitted")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise WrongRequestError("model: Field required")
    if "max_tokens" not in body:
        raise WrongRequestError("max_tokens: Field required")
    _check_settings(body, model)
    system = _system(body.get("system"))
    messages = _messages(body.get("messages"))
    schema, form, tool = _requested_object(body)
    if form == "schema" and messages[-1][0] == "assistant":
        raise WrongRequestError("messages: prefilling the answer cannot be combined with output_config.format")
    return ScriptedRequest(
        provider="anthropic",
        model=model,
        messages=(*(("system", text) for text in system), *messages),
        schema=schema,
        form=form,
        tool=tool,
        settings={name: value for name, value in body.items() if name not in NOT_SETTINGS},
        **request_details(received),
    )


def _check_settings(body: Mapping[str, Any], model: str) -> None:
    check_number("max_tokens", body.get("max_tokens"), (1, None), whole=True)
    check_number("temperature", body.get("temperature"), (0, 1), whole=False)
    check_number("top_p", body.get("top_p"), (0, 1), whole=False)
    check_number("top_k", body.get("top_k"), (0, None), whole=True)
    for name in ("temperature", "top_p", "top_k"):
        if name in body and WITHOUT_SAMPLING.match(model):
            raise WrongRequestError(f"`{name}` is deprecated for this model.")
    stops = body.get("stop_sequences", [])
    if not isinstance(stops, list) or not all(isinstance(stop, str) and stop.strip() for stop in stops):
        raise WrongRequestError("stop_sequences: each stop sequence must contain non-whitespace")
    if body.get("stream"):
        raise WrongRequestError("stream: this server does not stream")
    _check_thinking(body)


def _check_thinking(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking", {"type": "disabled"})
    if not isinstance(thinking, dict) or thinking.get("type") not in ("enabled", "disabled", "adaptive"):
        raise WrongRequestError("thinking: Input tag found using 'type' does not match any of the expected tags")
    if thinking["type"] != "enabled":
        return
    check_number("thinking.enabled.budget_tokens", thinking.get("budget_tokens", 0), (1_024, None), whole=True)
    if thinking["budget_tokens"] >= body["max_tokens"]:
        raise WrongRequestError("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature", 1) != 1:
        raise WrongRequestError("`temperature` may only be set to 1 when thinking is enabled.")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise WrongRequestError("Thinking may not be enabled when tool_choice forces tool use.")


def _system(given: Any) -> list[str]:
    if given is None:
        return []
    return [_text(given, "system")]


def _messages(given: Any) -> list[tuple[str, str]]:
    if not isinstance(given, list) or not given:
        raise WrongRequestError("messages: at least one message is required")
    found = []
    for number, message in enumerate(given):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            raise WrongRequestError(
                f'messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter, '
                f'not "system" as an input message role.'
            )
        found.append((str(role), _text(message.get("content"), f"messages.{number}")))
    if found[0][0] != "user":
        raise WrongRequestError('messages: first message must use the "user" role')
    if found[-1][0] == "assistant" and found[-1][1] != found[-1][1].rstrip():
        raise WrongRequestError("messages: final assistant content cannot end with trailing whitespace")
    return found


def _text(content: Any, location: str) -> str:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list) or not all(isinstance(block, dict) and "type" in block for block in blocks):
        raise WrongRequestError(f"{location}.content: Input should be a valid string or list of blocks")
    if not blocks or any(block["type"] == "text" and not block.get("text") for block in blocks):
        raise WrongRequestError(f"{location}: text content blocks must be non-empty")
    return "".join(str(block.get("text", "")) for block in blocks)


def _requested_object(body: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """The schema of the requested object, its form, and the forced tool."""
    schema = _output_schema(body.get("output_config"))
    tools = {tool["name"]: tool for tool in map(_tool, body.get("tools") or [])}
    choice = body.get("tool_choice")
    if choice is not None and not tools:
        raise WrongRequestError("tool_choice: may only be specified while providing tools")
    choice = {"type": "auto"} if choice is None else choice
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("auto", "any", "tool", "none"):
        raise WrongRequestError("tool_choice: Input tag found using 'type' does not match any of the expected tags")
    if kind in ("any", "tool"):
        name = str(choice["name"]) if kind == "tool" else next(iter(tools))
        if name not in tools:
            raise WrongRequestError(f"Tool '{name}' not found in provided tools")
        return tools[name]["input_schema"], "tool", name
    return schema, "" if schema is None else "schema", ""


def _tool(tool: Any) -> dict[str, Any]:
    if not isinstance(tool, dict) or not NAME.fullmatch(str(tool.get("name", ""))):
        raise WrongRequestError("tools: each needs a name of letters, digits, _ and -")
    schema = tool.get("input_schema")
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise WrongRequestError("tools.0.custom.input_schema.type: Field required")
    if tool.get("strict"):
        _check_schema(schema, "tools.0.custom")
    return tool


def _output_schema(config: Any) -> Any:
    if config is None or "format" not in config:
        return None
    output_format = config["format"]
    if (
        not isinstance(output_format, dict)
        or output_format.get("type") != "json_schema"
        or not isinstance(output_format.get("schema"), dict)
    ):
        raise WrongRequestError("output_config.format: a `type` of json_schema and a `schema` are required")
    if unknown := sorted(set(output_format) - {"type", "schema"}):
        raise WrongRequestError(f"output_config.format.{unknown[0]}: Extra inputs are not permitted")
    _check_schema(output_format["schema"], "output_config.format.schema")
    return output_format["schema"]


def _check_schema(schema: Mapping[str, Any], where: str) -> None:
    """Reject a schema that cannot be compiled into a grammar."""
    optional = unions = 0
    for location, _, part in sub_schemas(schema):
        if fault := _schema_fault(part):
            raise WrongRequestError(f"{where}: {location}: {fault}")
        properties = part.get("properties", {})
        optional += len(set(properties) - set(part.get("required", ())))
        unions += sum("anyOf" in each or isinstance(each.get("type"), list) for each in properties.values())
    if optional > MOST_OPTIONAL or unions > MOST_UNIONS:
        raise WrongRequestError(f"{where}: Schema is too complex: {optional} optional, {unions} of several types.")


def _schema_fault(part: Mapping[str, Any]) -> str:
    kinds = part.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "object" in kinds and part.get("additionalProperties") is not False:
        return "For 'object' type, 'additionalProperties' must be explicitly set to false"
    for kind in kinds:
        refused = [word for word in REFUSED_WORDS.get(kind, ()) if word in part]
        if refused:
            return f"For '{kind}' type, properties {', '.join(refused)} are not supported"
    if part.get("minItems", 0) > 1:
        return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    refused = [word for word in ("oneOf", "not", "if", "then", "else") if word in part]
    return f"'{refused[0]}' is not supported" if refused else ""


def write_chat(request: ScriptedRequest, script: ScriptedReply) -> dict[str, Any]:
    """Return a reply in the form of Anthropic."""
    content: list[dict[str, Any]] = []
    if script.reasoning:
        content.append({"type": "thinking", "thinking": script.reasoning, "signature": "c2NyaXB0ZWQ="})
    if script.text or script.refusal:
        content.append({"type": "text", "text": script.text or script.refusal})
    for number, (name, arguments) in enumerate(script.tool_calls):
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": _input(arguments)})
    complete = "refusal" if script.refusal else "tool_use" if script.tool_calls else "end_turn"
    reply = {
        "id": f"msg_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": script.model or request.model,
        "content": content,
        "stop_reason": script.finish or complete,
        "stop_sequence": None,
    }
    return with_usage(reply, "usage", script, _usage(request, script))


def _input(arguments: str) -> Any:
    """The arguments as an object; invalid JSON stays a text, which no real server sends."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _usage(request: ScriptedRequest, script: ScriptedReply) -> Mapping[str, Any]:
    return {
        "input_tokens": count_tokens([text for _, text in request.messages]),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": count_tokens(
            [script.text, script.refusal, *(arguments for _, arguments in script.tool_calls)]
        ),
        "service_tier": "standard",
    }


def write_fault(status: int, error: WrongRequestError) -> dict[str, Any]:
    """Return an error in the form of Anthropic."""
    kind = KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": str(error)}, "request_id": "req_scripted"}


def unsupported(what: str, model: str) -> WrongRequestError:
    """Return the error of Anthropic for a part that a model does not support."""
    sentences = {
        "response_format": f"output_config.format: '{model}' does not support output format.",
        "tools": f"'{model}' does not support tool use.",
        "temperature": "`temperature` is deprecated for this model.",
    }
    return WrongRequestError(sentences.get(what, f"{what}: Extra inputs are not permitted"))


def asks_for(request: ScriptedRequest, what: str, body: Mapping[str, Any]) -> bool:
    """Whether the request uses that part."""
    return what in body if what != "response_format" else request.form == "schema"
