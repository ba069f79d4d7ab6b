"""Convert the prompts of a promptfoo config to prompt files."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.json_walk import json_path
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.strict_yaml import parse_yaml
from evalmark.inputs.documents.text import read_text
from evalmark.interop.shared.import_builder import ImportBuilder, PromptText
from evalmark.interop.shared.model_names import CODE
from evalmark.interop.shared.tables import read_rows

from .sources import CODE_ENDINGS, UnreadableSourceError, is_pattern, matching_files
from .templates import converted, is_template, named_environment, without_safe
from .variables import change_in_prompt

Data = dict[str, Any]
_TEXTS = (".txt", ".json", ".md", ".yaml", ".yml", ".prompt", ".j2", ".csv", ".jsonl", ".xlsx", ".xls")
_FILE_IN_LABEL = re.compile(r"([^\n:]+\.(?:txt|json|jsonl|md|yaml|yml|j2|prompt))(?:: |$)")
"""The file of a prompt, in the label that promptfoo's results give it: the path, and often the text."""
_DATA = re.compile(r'\{(?![{%#]).*\}$|\[\s*(["{\[\]0-9-]|true|false|null).*\]$|\[\s*\]$', re.DOTALL)
"""Texts that promptfoo reads as JSON."""
_DUMPED = re.compile(
    r'(?<!["\w])\{\{-?\s*([A-Za-z_][\w.]*)\s*\|\s*(?:dump|tojson)\s*(?:\(\))?\s*(?:\|\s*safe\s*)?-?\}\}(?!")'
)
"""A variable that a template writes as a JSON text, with its quotes."""
_ADDRESS = re.compile(r"(?:data:image/[\w.+-]+;base64,)?\{\{\s*([A-Za-z_]\w*)\s*\}\}")
"""The address of a picture that is a variable; a picture in a file is a data URL with its beginning."""
_KEPT = "a prompt file"
_AFTERWARDS = "it is a chat that is valid only after its variables are filled in"
_CODE = "a prompt that is made by code is code"


class UnsupportedPromptError(Exception):
    """A prompt that cannot be imported; the text is the reason."""


def add_prompts(document: Document, value: Any, at: tuple[str, ...], builder: ImportBuilder) -> None:
    """Add the prompts of a config to the import."""
    rows = [value] if isinstance(value, str) else value
    if isinstance(rows, dict):
        rows = [{"raw": f"file://{file}", "label": label} for file, label in rows.items()]
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        _one_prompt(document, row, (*at, number), builder)
    if value is None:  # promptfoo's default
        messages = [{"role": "user", "content": "{{prompt}}"}]
        builder.prompts.append(PromptText(name="prompt-1", messages=messages, fills_gaps=True))


def note_changes(builder: ImportBuilder, tests: Sequence[Mapping[str, Any]]) -> None:
    """Record which prompts become another text than in promptfoo for some of the tests."""
    for prompt in builder.prompts:
        template = "\n".join(message["content"] for message in prompt.messages)
        if prompt.place and (change := change_in_prompt(template, tests)):
            builder.parts.pop((prompt.place, "kept", _KEPT), None)
            builder.part(prompt.place, "changed", change)


def _one_prompt(document: Document, row: Any, at: tuple[str | int, ...], builder: ImportBuilder) -> None:
    where = f"{document.place_of(at)} {json_path(at)}"
    prompt = row if isinstance(row, dict) else {"raw": row}
    text, label = prompt.get("raw") or prompt.get("id"), prompt.get("label")
    if not isinstance(text, str) or not text.strip():
        raise PlacedError(document.place_of(at), f"`{json_path(at)}` is not a prompt.")
    for more in [key for key in prompt if key not in ("raw", "id", "label", "display")]:
        builder.part(f"{where} {more}", "left out", "evalmark does not support it for one prompt")
    try:
        texts = [(name, _prompt(part)) for name, part in _texts(text, document.path.parent)]
    except (UnsupportedPromptError, UnreadableSourceError, DataError) as why:
        builder.part(where, "left out", str(why))
        builder.lacks_prompt = True
        return
    for name, (messages, inputs) in texts:
        names = [other.name for other in builder.prompts]
        types = {key: {"type": one["type"]} for key, one in inputs.items()}
        constants = {key: one["default"] for key, one in inputs.items() if "default" in one}
        text_name = prompt_name(str(label) if label and len(texts) == 1 else name, names)
        builder.prompts.append(
            PromptText(
                name=text_name, messages=messages, place=where, inputs=types, constants=constants, fills_gaps=True
            )
        )
        builder.part(where, "kept", _KEPT)


def prompt_name(label: str, taken: Collection[str]) -> str:
    """Return the name of a prompt: its label, with its number if that is taken or empty."""
    return label if label and label not in taken else f"{label or 'prompt'}-{len(taken) + 1}"


def name_in_label(label: str) -> str:
    """Return the name that a config gives to the prompt of a file, read from its label in results; else an empty one."""
    file = _FILE_IN_LABEL.match(label)
    return Path(file[1]).stem if file else ""


def _texts(text: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the prompts of a text, or of the files that it names, with their names if they have any."""
    name = text.removeprefix("file://")
    ending = Path(name.partition(":")[0]).suffix.lower()
    is_line = "\n" not in text and not is_template(text)
    if is_line and (ending in CODE_ENDINGS or (text.startswith(CODE) and not text.startswith("file://"))):
        raise UnsupportedPromptError(_CODE)
    if name == text and not (is_line and (name.lower().endswith(_TEXTS) or (is_pattern(name) and "/" in name))):
        yield "", text
        return
    for path in matching_files(name, folder):
        yield from _in_file(path)


def _in_file(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the prompts in a file, as promptfoo divides it."""
    ending = path.suffix.lower()
    if ending in CODE_ENDINGS:
        raise UnsupportedPromptError(_CODE)
    if ending in (".xlsx", ".xls"):
        raise UnsupportedPromptError("prompts in a table of Excel are not read; save it as CSV")
    if ending in (".yaml", ".yml"):
        yield path.stem, json.dumps(load_document(path).data, ensure_ascii=False)
        return
    if ending == ".csv":
        for row in read_rows(path, (), lambda note: None):
            yield row.text("label"), row.text("prompt") or next(iter(map(str, row.cells.values())), "")
        return
    read = read_text(path)
    parts = re.split(r"\n---\r?\n", f"\n{read}\n") if ending == ".txt" else [read]
    for part in read.splitlines() if ending == ".jsonl" else parts:
        if part.strip():
            yield path.stem, part.strip() if ending != ".md" else part


def _prompt(text: str) -> tuple[list[dict[str, str]], Data]:
    """Return the messages of a prompt (a chat in JSON or YAML, or one user message) and what is known of its inputs.

    Raises:
        UnsupportedPromptError: it cannot be a prompt file.
    """
    if names := named_environment(text):
        raise UnsupportedPromptError(f"it reads the environment variable {names[0]}; write its value")
    data = _chat(text)
    if data is None:
        return [{"role": "user", "content": _template(text)}], {}
    if not data or not all(isinstance(m, dict) and m.keys() <= {"role", "content"} and "role" in m for m in data):
        raise UnsupportedPromptError("it is a list of messages, and not every message has a role and a content")
    inputs: Data = {}
    return [{"role": str(m["role"]), "content": _content(m.get("content"), inputs)} for m in data], inputs


def _chat(text: str) -> list[Any] | None:
    """Return the messages of a chat; None if the text is no chat."""
    is_yaml = text.strip().startswith("- role:")
    is_data = is_yaml or bool(_DATA.match(text.strip()))
    data: Any = None
    for form in (text, _DUMPED.sub(r'"{{ \1 }}"', text)):
        try:
            data = parse_yaml(form, "prompt") if is_yaml else parse_json(form, "prompt")
            break
        except DataError:
            continue
    else:
        if is_data:
            raise UnsupportedPromptError(_AFTERWARDS)
    if isinstance(data, dict) and data.keys() == {"messages"}:
        data = data["messages"]
    if isinstance(data, dict):
        raise UnsupportedPromptError("it is a JSON object and no list of messages")
    return data if isinstance(data, list) else None


def _template(text: str) -> str:
    return converted(without_safe(text))


def _content(content: Any, inputs: Data) -> str:
    """Return the content of a message as a template; a picture stands there as a variable."""
    if isinstance(content, str):
        return _template(content)
    if not isinstance(content, list):
        raise UnsupportedPromptError("one of its messages has no text")
    return "\n".join(_part(part, inputs) for part in content)


def _part(part: Any, inputs: Data) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("text", "input_text") and isinstance(part.get("text"), str):
        return _template(part["text"])
    address = part.get("image_url") or part.get("source") if isinstance(part, dict) else None
    url = address.get("url") if isinstance(address, dict) else address
    if kind not in ("image_url", "input_image", "image") or not isinstance(url, str):
        raise UnsupportedPromptError(
            "one of its messages has a part that is neither a text nor the address of a picture"
        )
    if variable := _ADDRESS.fullmatch(url.strip()):
        inputs[variable[1]] = {"type": "image"}
        return f"{{{{ {variable[1]} }}}}"
    if is_template(url):
        raise UnsupportedPromptError("it builds the address of a picture from variables")
    name = f"picture_{fingerprint(url)[:6]}"
    inputs[name] = {"type": "image", "default": url}
    return f"{{{{ {name} }}}}"
