"""Reads the model, its settings and the response schema from a prompt file of any format."""

from collections.abc import Mapping
from typing import Any

from evalmark.core.values.call import RESERVED_SETTINGS
from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.findings import Findings, json_excerpt
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.secrets.fields import secret_paths

SETTING_NAMES = {
    "maxTokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "stopSequences": "stop",
    "stop_sequences": "stop",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
}
"""What the formats call a setting, and what a request calls it."""
_FORMATS = ("text", "json_object", "json_schema")


def model_of(raw: Any, findings: Findings) -> str | None:
    """Return the model that the file names, unchanged."""
    if raw is None or isinstance(raw, str):
        return raw or None
    row = findings.mapping(("model",), raw)
    key = next((key for key in ("id", "name") if row.get(key) is not None), None)
    return None if key is None else findings.text(("model", key), row[key])


def settings_of(data: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    """Return the request settings under their request names."""
    model = data.get("model")
    places: list[DataPath] = [("modelParameters",)]
    if isinstance(model, Mapping):
        places += [("model", "parameters"), ("model", "options")]
    settings: dict[str, Any] = {}
    for at in places:
        raw = model.get(at[1]) if len(at) == 2 and isinstance(model, Mapping) else data.get(str(at[0]))
        for name, value in findings.mapping(at, raw).items():
            _add(settings, name, value, at, findings)
        for where in secret_paths(raw, at):
            findings.add_fault(where, "would be recorded with every request; move it to an environment variable.")
    return settings


def _add(settings: dict[str, Any], name: str, value: Any, at: DataPath, findings: Findings) -> None:
    known = SETTING_NAMES.get(name, name)
    if known in RESERVED_SETTINGS:
        findings.add_fault((*at, name), "would replace a part of the request; remove it.")
    elif known in settings:
        findings.add_fault((*at, name), f"sets `{known}` a second time; remove one.")
    elif value is not None:
        settings[known] = value


def schema_of(data: Mapping[str, Any], settings: dict[str, Any], findings: Findings) -> Mapping[str, Any] | None:
    """Return the response schema, and remove it from the settings if it is there."""
    if (raw := data.get("responseFormat")) is not None:
        return _github_schema(raw, data.get("jsonSchema"), settings, findings)
    response_format = settings.get("response_format")
    if not isinstance(response_format, Mapping) or response_format.get("type") != "json_schema":
        return None
    inner = response_format.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, Mapping) else None
    if isinstance(schema, Mapping):
        del settings["response_format"]
        return schema
    return None


def _github_schema(raw: Any, schema: Any, settings: dict[str, Any], findings: Findings) -> Mapping[str, Any] | None:
    if raw not in _FORMATS:
        findings.add_fault(("responseFormat",), f"is {json_excerpt(raw)}; it takes one of {', '.join(_FORMATS)}.")
    if raw == "json_object":
        settings.setdefault("response_format", {"type": "json_object"})
    if raw != "json_schema":
        return None
    at: DataPath = ("jsonSchema",)
    if isinstance(schema, str):
        try:
            schema = parse_json(schema, "jsonSchema")
        except PlacedError as error:
            findings.add_fault(at, f"cannot be read: {error.message}")
            return None
    inner = schema.get("schema") if isinstance(schema, Mapping) else None
    if isinstance(inner, Mapping):
        return inner
    findings.add_fault(
        at, f"is {json_excerpt(schema)}; it takes a mapping, or its JSON text, with `name` and `schema`."
    )
    return None
