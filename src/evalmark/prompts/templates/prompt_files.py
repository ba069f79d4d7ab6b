"""Reads prompt files: `.prompty` of both versions, GitHub Models' `.prompt.yml`, Markdown with front matter."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evalmark.core.suggestions import did_you_mean
from evalmark.inputs.documents.document import DataPath, document_of
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.findings import Findings, json_excerpt
from evalmark.inputs.documents.text import read_text
from evalmark.inputs.secrets.fields import secret_paths

from .frontmatter import is_text, split_frontmatter
from .inputs import inputs_of
from .messages import normalize_role, split_messages
from .model_settings import model_of, schema_of, settings_of
from .prompt import Message, Prompt
from .references import CONNECTION_KEYS, resolve_references, without_connections
from .samples import samples_of, scenarios_of
from .template import MAX_TEMPLATE_CHARS, BrokenTemplateError, template_of

FRONTMATTER_ENDINGS = (".prompty", ".md", ".markdown", ".txt")
YAML_ENDINGS = (".yml", ".yaml")
READ_KEYS = frozenset(
    (
        *("name", "description", "inputs", "sample", "testSamples", "testData", "scenarios", "instructions"),
        *("messages", "modelParameters", "responseFormat", "jsonSchema", "tags"),
    )
)
"""Keys that have a field of their own."""
KNOWN_KEYS = READ_KEYS.union(
    ("$schema", "kind", "displayName", "version", "metadata", "authors", "base", "model", "outputs"),
    (*CONNECTION_KEYS, "template", "tools", "source", "url", "imported", "evaluators"),
)
MODEL_KEYS = ("id", "name", "parameters", "options")
"""Keys of `model` that have a field of their own."""
_BLOCK = re.compile(r":[ \t]+\|[-+1-9]{0,2}[ \t]*(?:#.*)?$")
"""The end of a line that starts a YAML block."""
_ROLES = ("system", "user", "assistant", "developer")
NO_ENV: Mapping[str, str] = MappingProxyType({})


def read_prompt(path: str | os.PathLike[str], env: Mapping[str, str] = NO_ENV) -> Prompt:
    """Read and check the prompt in a file.

    `.prompty`, `.md` and `.txt` files have YAML front matter and messages below it; `.yml` and `.yaml` files have the form of
    GitHub Models.

    Args:
        path: The file.
        env: The variables that `${env:NAME}` may use; no others are read.

    Returns:
        The messages, inputs, samples and settings of the file.

    Raises:
        ConfigError: The file cannot be read or has faults; the message names all faults, one per line.

    Example:
        The messages for a model::

            messages = render(read_prompt("classify.prompty"), {"headline": "Late goal wins the derby"})
    """
    file = Path(path)
    _kind_of(file)
    return parse_prompt(read_text(file), file, env)


def parse_prompt(text: str, path: Path, env: Mapping[str, str] = NO_ENV) -> Prompt:
    """Return the prompt in a text; the name of `path` decides its format.

    Raises:
        ConfigError: The text has faults; the message names all of them, one per line.
    """
    is_yaml = _kind_of(path) == "yaml"
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MAX_TEMPLATE_CHARS:
        raise PlacedError(str(path), f"has {len(text):,} characters; a prompt has at most {MAX_TEMPLATE_CHARS:,}.")
    if is_yaml:
        findings = Findings(document=document_of(text, path, is_text))
        messages = _yaml_messages(text, findings)
    else:
        frontmatter, body, line = split_frontmatter(text, path)
        findings = Findings(document=frontmatter)
        messages = split_messages(body, line, findings)
    return _prompt(messages, resolve_references(without_connections(findings.document.data), env, findings), findings)


def _kind_of(path: Path) -> str:
    name = path.name.lower()
    if name.endswith(FRONTMATTER_ENDINGS):
        return "frontmatter"
    if name.endswith(YAML_ENDINGS):
        return "yaml"
    raise PlacedError(
        str(path), f"is not a prompt file; its name must end in {', '.join((*FRONTMATTER_ENDINGS, *YAML_ENDINGS))}."
    )


def _yaml_messages(text: str, findings: Findings) -> tuple[Message, ...]:
    """Return the messages of a GitHub Models file."""
    data = findings.document.data
    if not isinstance(data, Mapping) or "messages" not in data:
        raise PlacedError(findings.document.place_of(), "has no `messages`, which a prompt of GitHub Models has.")
    lines = text.split("\n")
    found = []
    for number, row in enumerate(findings.list(("messages",), data["messages"])):
        at: DataPath = ("messages", number)
        role, content = (row.get(key) if isinstance(row, Mapping) else None for key in ("role", "content"))
        if not isinstance(role, str) or role.lower() not in _ROLES:
            findings.add_fault((*at, "role"), f"is {json_excerpt(role)}; it takes one of {', '.join(_ROLES[:3])}.")
        elif not isinstance(content, str) or not content.strip():
            findings.add_fault((*at, "content"), f"is {json_excerpt(content)}; it takes a text.")
        else:
            found.append(_yaml_message(normalize_role(role), content, findings.line_of((*at, "content")), lines))
    return tuple(found)


def _yaml_message(role: str, content: str, line: int, lines: list[str]) -> Message:
    """Return a message with the place of its text, which starts below its key in a YAML block."""
    is_block = _BLOCK.search(lines[line - 1]) is not None
    return Message(role=role, text=content.rstrip("\n"), line=line + is_block, on_one_line=not is_block)


def _prompt(messages: tuple[Message, ...], data: Mapping[str, Any], findings: Findings) -> Prompt:
    readable = _readable_messages(messages, findings)
    is_complete = not findings.faults  # of a message that cannot be read, no check may depend on the variables
    _check_keys(data, findings)
    inputs = inputs_of(data.get("inputs"), readable, findings)
    settings = settings_of(data, findings)
    if not inputs and is_complete:
        findings.note(messages[-1].line, "the prompt has no {{variable}}, so every test sends the same request.")
    prompt = Prompt(
        name=findings.text(("name",), data.get("name")) or _stem(findings.document.path),
        messages=messages,
        file=str(findings.document.path),
        description=findings.text(("description",), data.get("description")) or "",
        inputs=inputs,
        samples=samples_of(data, inputs, findings) if is_complete else (),
        scenarios=scenarios_of(data.get("scenarios"), inputs, findings) if is_complete else (),
        instructions=_instructions(data.get("instructions"), findings),
        model=model_of(data.get("model"), findings),
        schema=schema_of(data, settings, findings),
        settings=settings,
        tags=_tags(data, findings),
        rest=_rest(data, findings),
        notes=(*findings.document.notes, *findings.notes),
    )
    findings.raise_faults()
    return prompt


def _readable_messages(messages: tuple[Message, ...], findings: Findings) -> list[Message]:
    """Return the messages whose template can be read; the others are faults."""
    readable = []
    if not messages and not findings.faults:
        findings.add_fault_in_line(
            findings.line_of(()), "the file has no message; write the prompt below the front matter."
        )
    for message in messages:
        try:
            template_of(message.text)
        except BrokenTemplateError as fault:
            line = message.line if message.on_one_line else message.line + fault.line - 1
            findings.add_fault_in_line(line, fault.sentence)
        else:
            readable.append(message)
    return readable


def _check_keys(data: Mapping[str, Any], findings: Findings) -> None:
    for key in [name for name in data if name not in KNOWN_KEYS]:
        similar = did_you_mean(key, KNOWN_KEYS, "`{}`")
        advice = f"; {similar}" if similar else "."
        findings.note(findings.line_of((key,)), f"`{key}` is not read; it is kept unchanged{advice}")
    if data.get("base") is not None:
        findings.add_fault(("base",), "names a base prompt, which is not read; copy its keys into this file.")
    raw = data.get("template")
    kind = _template_kind(raw)
    if kind is not None and kind != "jinja2":
        findings.add_fault(("template",), f"is {json_excerpt(kind)}; only jinja2 is supported.")


def _template_kind(raw: Any) -> Any:
    """Return the template language as both versions of Prompty name it; None if unnamed."""
    if not isinstance(raw, Mapping):
        return raw
    inner = raw.get("format", raw.get("type"))
    return inner.get("kind") if isinstance(inner, Mapping) else inner


def _instructions(raw: Any, findings: Findings) -> dict[str, str]:
    at: DataPath = ("instructions",)
    found = {key: findings.text((*at, key), value) for key, value in findings.mapping(at, raw).items()}
    return {key: text for key, text in found.items() if text}


def _tags(data: Mapping[str, Any], findings: Findings) -> tuple[str, ...]:
    metadata = data.get("metadata")
    inner = metadata.get("tags") if isinstance(metadata, Mapping) else None
    at: DataPath = ("tags",) if data.get("tags") is not None else ("metadata", "tags")
    raw = inner if data.get("tags") is None else data["tags"]
    rows = [raw] if isinstance(raw, str) else findings.list(at, raw)
    found = [findings.text((*at, number), row) for number, row in enumerate(rows)]
    return tuple(tag for tag in found if tag)


def _rest(data: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    """Return all other keys; secrets are faults, since results and exports contain them."""
    rest = {key: value for key, value in data.items() if key not in (*READ_KEYS, "model")}
    if isinstance(model := data.get("model"), Mapping):
        rest |= {"model": others} if (others := {k: v for k, v in model.items() if k not in MODEL_KEYS}) else {}
    for at in secret_paths(rest):
        findings.add_fault(at, "holds a secret; move it to an environment variable.")
    return rest


def _stem(path: Path) -> str:
    """Return the name of a file without the endings of its format.

    >>> _stem(Path("a/nice.metric.prompty")), _stem(Path("a/joke.prompt.yml"))
    ('nice', 'joke')
    """
    name = path.name.rpartition(".")[0] or path.name
    for end in (".metric", ".prompt"):
        name = name.removesuffix(end)
    return name or path.name
