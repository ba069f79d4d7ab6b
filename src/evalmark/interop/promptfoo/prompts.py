"""Convert the prompts of a promptfoo config to prompt files."""

import json
import re
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import allowed_path
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.strict_yaml import parse_yaml
from evalmark.inputs.documents.text import read_text
from evalmark.interop.shared.import_builder import ImportBuilder, PromptText
from evalmark.interop.shared.import_result import PartOutcome
from evalmark.interop.shared.model_names import CODE

_TABLES = (".csv", ".jsonl", ".xlsx", ".xls")
_TEXTS = (".txt", ".json", ".md", ".yaml", ".yml", ".prompt", ".j2", *_TABLES)
_DATA = re.compile(r'\{(?![{%#]).*\}$|\[\s*(["{\[\]0-9-]|true|false|null).*\]$|\[\s*\]$', re.DOTALL)
"""Texts that promptfoo reads as JSON."""


def add_prompts(document: Document, value: Any, at: tuple[str, ...], builder: ImportBuilder) -> None:
    """Add the prompts of a config to the import."""
    rows = [value] if isinstance(value, str) else value
    if isinstance(rows, dict):
        rows = [{"raw": f"file://{file}", "label": label} for file, label in rows.items()]
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        _one_prompt(document, row, (*at, number), builder)
    if value is None:  # promptfoo's default
        builder.prompts.append(PromptText(name="prompt-1", messages=[{"role": "user", "content": "{{prompt}}"}]))


def _one_prompt(document: Document, row: Any, at: tuple[str | int, ...], builder: ImportBuilder) -> None:
    where = f"{document.place_of(at)} {json_path(at)}"
    prompt = row if isinstance(row, dict) else {"raw": row}
    text, label = prompt.get("raw") or prompt.get("id"), prompt.get("label")
    if not isinstance(text, str) or not text.strip():
        raise PlacedError(document.place_of(at), f"`{json_path(at)}` is not a prompt.")
    if (text.startswith(CODE) and not text.startswith("file://")) or text.lower().partition(":")[0].endswith(CODE):
        _drop_prompt(where, "left out", "a prompt that is made by code is code", builder)
        return
    for more in [key for key in prompt if key not in ("raw", "id", "label", "display")]:
        builder.part(f"{where} {more}", "left out", "evalmark does not support it for one prompt")
    for part in _texts(text, document, where, builder):
        messages = _messages(part)
        if isinstance(messages, str):
            _drop_prompt(where, "left out", messages, builder)
            continue
        name = str(label) if label else f"prompt-{len(builder.prompts) + 1}"
        builder.prompts.append(PromptText(name=name, messages=messages, place=where))
        builder.part(where, "kept", "a prompt file")


def _drop_prompt(where: str, outcome: PartOutcome, why: str, builder: ImportBuilder) -> None:
    """Record a prompt that cannot be imported."""
    builder.part(where, outcome, why)
    builder.lacks_prompt = True


def _texts(text: str, document: Document, where: str, builder: ImportBuilder) -> list[str]:
    """Return the prompts of a text, or of the file that it names."""
    name = text.removeprefix("file://")
    is_name = "\n" not in text and name.lower().endswith(_TEXTS)
    if name == text and not is_name:
        return [text]
    if name.lower().partition(":")[0].endswith((".py", ".js", ".cjs", ".mjs", ".ts")):
        _drop_prompt(where, "left out", "a prompt that is made by code is code", builder)
        return []
    if name.lower().endswith(_TABLES):
        _drop_prompt(where, "left out", "tables of prompts are not supported; write each prompt in the config", builder)
        return []
    folder = document.path.parent
    try:
        file = allowed_path(name, folder, folder)
        if file.suffix in (".yaml", ".yml"):
            return [json.dumps(load_document(file).data)]
        read = read_text(file)
    except DataError as error:
        _drop_prompt(where, "left out", f"its file cannot be read: {error}", builder)
        return []
    parts = [part.strip() for part in f"\n{read}\n".split("\n---\n")] if file.suffix == ".txt" else [read]
    return [part for part in parts if part]


def _messages(text: str) -> list[dict[str, str]] | str:
    """Return the messages of a prompt (a chat in JSON or YAML, or one user message), or the reason why there are none."""
    is_yaml = text.strip().startswith("- role:")
    is_data = is_yaml or bool(_DATA.match(text.strip()))
    try:
        data = parse_yaml(text, "prompt") if is_yaml else parse_json(text, "prompt")
    except DataError:
        if is_data:
            return "it is a chat that is valid only after its variables are filled in"
        return [{"role": "user", "content": text}]
    if not isinstance(data, (list, dict)):
        return [{"role": "user", "content": text}]
    rows = data if isinstance(data, list) else []
    if not rows or not all(isinstance(m, dict) and m.keys() <= {"role", "content"} and "role" in m for m in rows):
        return "it is a list of messages, and not every message has a role and a content"
    if not all(isinstance(m["role"], str) and isinstance(m.get("content"), str) for m in rows):
        return "one of its messages contains more than text, such as a picture"
    return [{"role": m["role"], "content": m["content"]} for m in rows]
