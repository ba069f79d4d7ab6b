"""Convert HTTP services and scripts that a promptfoo config tests to targets of a suite."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from evalmark.core.errors import DataError
from evalmark.inputs.documents.document import Document
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.secrets.fields import secret_paths
from evalmark.interop.shared.import_builder import ImportBuilder, PromptText, TargetDraft
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.interop.shared.items import dict_or_empty
from evalmark.interop.shared.model_names import CODE

from .scripts import script_target
from .settings import IDLE, ProviderRow, UnsupportedProviderError
from .templates import converted, is_template, variables_of

Data = dict[str, Any]
_PROMPT = re.compile(r"\{\{-?\s*prompt\s*(?:\|\s*(?:dump|tojson|safe)\s*)?-?\}\}")
_ENVIRONMENT = re.compile(r"\{\{\s*env\.([A-Za-z_]\w*)\s*\}\}")
_MEMBER = re.compile(r"\??\.(?P<name>[A-Za-z_$][\w$]*)|(?:\?\.)?\[(?:(?P<index>\d+)|(?P<quoted>'[^']*'|\"[^\"]*\"))\]")
_ARROW = re.compile(r"^\(?\s*(?P<name>json|data|response)\s*(?:,[^)]*)?\)?\s*=>\s*(?P<body>[^{].*)$", re.DOTALL)
_HTTP_KEYS = ("url", "method", "headers", "body", "queryParams", "transformResponse", "responseParser")
_HTTP_IDLE = (*IDLE, "maxRetries", "validateStatus", "maxConcurrency", "stateful")
_SECRET = re.compile(r"authorization|cookie|token|secret|api-?key|x-.*key", re.IGNORECASE)


def service_targets(
    provider: ProviderRow,
    prompts: Sequence[PromptText],
    document: Document,
    builder: ImportBuilder,
    options: ImportOptions,
) -> Iterator[TargetDraft]:
    """Yield the targets of a provider that is no model, one for each prompt, which is part of what it is sent.

    Raises:
        UnsupportedProviderError: evalmark has no equivalent, or the provider is code that the user did not name.
    """
    several = len(prompts) > 1
    for prompt in prompts:
        label = provider.label or provider.name
        name = f"{prompt.name}@{label}" if several else label
        if provider.name in ("http", "https") or provider.name.startswith(("http://", "https://")):
            spec, used = _http(provider, prompt, builder)
        elif is_code(provider.name):
            spec, used = script_target(provider, input_template(prompt), document, builder, options)
        else:
            raise UnsupportedProviderError("evalmark does not support this provider; replace it with --map-provider")
        yield TargetDraft(spec=spec, name=name, variables=tuple(dict.fromkeys((*_variables(prompt), *used))))


def is_code(name: str) -> bool:
    """Whether a provider is a script or a program."""
    return name.startswith(CODE) or name.lower().rpartition(":")[0].endswith(CODE) or name.lower().endswith(CODE)


def input_template(prompt: PromptText) -> Any:
    """Return a prompt as templates over the input: the text of a single user message, else messages."""
    messages = [{"role": m["role"], "content": converted(m["content"], "input.")} for m in prompt.messages]
    return messages[0]["content"] if len(messages) == 1 and messages[0]["role"] == "user" else messages


def _variables(prompt: PromptText) -> list[str]:
    return [name for message in prompt.messages for name in variables_of(message["content"])]


# HTTP services.


def _http(provider: ProviderRow, prompt: PromptText, builder: ImportBuilder) -> tuple[Data, list[str]]:
    """Return the target of an HTTP service, and the variables that it uses beside the prompt."""
    config = provider.config
    url = _address(provider)
    body = _body(config)
    method = str(config.get("method") or ("GET" if body is None else "POST")).upper()
    if queries := dict_or_empty(config.get("queryParams")):
        url += ("&" if "?" in url else "?") + urlencode(queries, safe="{} |")
    _refuse_secrets(url, body)
    http: Data = {"url": _filled(url, prompt), "method": method, "headers": _headers(config, provider, builder)}
    if method != "GET":
        http["body"] = _filled(body, prompt)
    differences = ["another status than 2xx"]
    if transform := config.get("transformResponse") or config.get("responseParser"):
        path, *others = [json_path_of(part) for part in _alternatives(str(transform))]
        if path is None:
            raise UnsupportedProviderError(f"its `transformResponse` is code: {str(transform).strip()!r:.60}")
        http |= {"output": path} if path != "$" else {}
        differences += [f"no {path}"] if others else []
    builder.part(
        provider.where, "changed", f"an HTTP service; a response with {' or '.join(differences)} is an error here"
    )
    written = json.dumps([url, body, http["headers"]], ensure_ascii=False)
    used = [name for name in variables_of(written) if name not in ("prompt", "env")]
    if hidden := [name for name in used if name.startswith("__")]:
        raise UnsupportedProviderError(
            f"it uses the variable {hidden[0]}, and names may not begin with two underscores"
        )
    return {"http": {key: value for key, value in http.items() if value not in ({}, None)}}, used


def _address(provider: ProviderRow) -> str:
    """Return the address of a service whose options are all known."""
    config = provider.config
    url = str(config.get("url") or (provider.name if "://" in provider.name else ""))
    if not url:
        raise UnsupportedProviderError("it has no `url`")
    if unknown := [key for key in config if key not in (*_HTTP_KEYS, *_HTTP_IDLE) and config[key] is not None]:
        raise UnsupportedProviderError(f"evalmark does not support its option `{unknown[0]}`")
    if _ENVIRONMENT.search(url):
        raise UnsupportedProviderError("its address is read from an environment variable; write it into the file")
    return url


def _refuse_secrets(url: str, body: Any) -> None:
    """Refuse a request with a password or a key in its address or its body, where it would be written into the suite."""
    parts = urlsplit(url)
    sent = {"address": dict(parse_qsl(parts.query)), "body": body}
    names = [str(path[-1]) for path in secret_paths(sent) if not is_template(_part_at(sent, path))]
    if "@" in parts.netloc or names:
        where = f"under {names[0]!r:.40}" if names else "in its address"
        raise UnsupportedProviderError(
            f"it contains a secret {where}; send it in a header, and name it there as ${{NAME}}"
        )


def _part_at(data: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        data = data[key]
    return data


def _body(config: Data) -> Any:
    body = config.get("body")
    if isinstance(body, str):
        try:
            return parse_json(body, "body")
        except DataError:
            return body
    return body


def _headers(config: Data, provider: ProviderRow, builder: ImportBuilder) -> Data:
    """Return the headers; a value from the environment is named, and a secret that is written out is left out."""
    headers: Data = {}
    for name, value in dict_or_empty(config.get("headers")).items():
        text = _ENVIRONMENT.sub(lambda match: f"${{{match[1]}}}", str(value))
        rest = re.sub(r"\$\{\w+\}|\b(Bearer|Basic|Token)\b|\s", "", text)
        if is_template(text):
            raise UnsupportedProviderError(
                f"its header {name!r:.40} has a template, and headers are the same for all cases"
            )
        if _SECRET.search(str(name)) and rest:
            builder.part(
                f"{provider.where} headers.{name}", "left out", "it contains a secret; write ${NAME} in the suite"
            )
        elif str(name).lower() not in ("content-length", "host", "accept-encoding"):
            headers[str(name)] = text
    return headers


def _filled(value: Any, prompt: PromptText) -> Any:
    """Put the prompt into a value of a request, and make templates over the input of all others."""
    if isinstance(value, dict):
        return {key: _filled(item, prompt) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, prompt) for item in value]
    if not isinstance(value, str):
        return value
    if _ENVIRONMENT.search(value):
        raise UnsupportedProviderError("its body reads an environment variable; write the value into the file")
    text = input_template(prompt)
    if _PROMPT.fullmatch(value.strip()):
        return text
    parts = [converted(part, "input.") for part in _PROMPT.split(value)]
    if len(parts) > 1 and not isinstance(text, str):
        raise UnsupportedProviderError("it puts a chat into a text")
    return str(text).join(parts)


def _alternatives(code: str) -> list[str]:
    """Divide JavaScript such as `json.a || json.b` into its alternatives; others are one."""
    arrow = _ARROW.match(code.strip())
    head, body = (code.strip()[: arrow.start("body")], arrow["body"]) if arrow else ("", code)
    parts = re.split(r"\|\||\?\?", body) if re.fullmatch(r"[\w$.?\[\]|'\" ;]+", body.strip()) else [body]
    return [f"{head}{part.strip()}" for part in parts]


def json_path_of(code: str) -> str | None:
    """Return the JSONPath of a JavaScript expression that only names a part of the response; None for other code.

    >>> json_path_of("json.choices[0].message?.content"), json_path_of("(json) => json['a b']"), json_path_of("f(json)")
    ('$.choices[0].message.content', "$['a b']", None)
    """
    text = code.strip().rstrip(";").strip()
    arrow = _ARROW.match(text)
    name = arrow["name"] if arrow else "json"
    text = arrow["body"].strip().rstrip(";") if arrow else text
    if not text.startswith(name):
        return None
    rest, path = text[len(name) :], "$"
    while rest:
        member = _MEMBER.match(rest)
        if member is None:
            return None
        path += f".{member['name']}" if member["name"] else f"[{member['index'] or member['quoted']}]"
        rest = rest[member.end() :]
    return path
