"""Format plain data as JSON or YAML text, and make safe file names."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

_ESCAPED = re.compile(
    "[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)  # valid in JSON, but harmful in terminals
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
LONGEST_NAME = 80


def json_text(data: Any) -> str:
    """Format data as indented JSON."""
    return _escaped(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2)) + "\n"


def json_line(data: Any) -> str:
    """Format data as one line of JSONL."""
    return _escaped(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))) + "\n"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_QUICK: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_QUICK):  # type: ignore[misc]  # whichever is installed
    """Writes multi-line texts as blocks, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    sound = _SURROGATE.sub("\ufffd", text)
    style = (
        "|" if "\n" in sound.strip("\n") and not re.search(r"[^\n\x20-\x7e\xa0-\ud7ff]|[ ]\n|^[ \n]", sound) else None
    )
    return dumper.represent_scalar("tag:yaml.org,2002:str", sound, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(data: Any) -> str:
    """Format data as YAML; lone surrogates, which YAML cannot express, become U+FFFD."""
    text: str = yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110)
    return text


def file_name(name: str, taken: Sequence[str] | Mapping[str, Any] = ()) -> str:
    """Make a file name from any text: no folder, no leading dot, and different from the taken names in any case.

    >>> file_name("openai/gpt 4"), file_name("../../etc/passwd"), file_name("a", ["A"]), file_name("…")
    ('openai-gpt-4', 'etc-passwd', 'a-2', 'unnamed')
    """
    plain = _UNSAFE.sub("-", name).strip("-.")[:LONGEST_NAME].strip("-.") or "unnamed"
    used = {other.casefold() for other in taken}
    unique, number = plain, 2
    while unique.casefold() in used:
        unique, number = f"{plain}-{number}", number + 1
    return unique
