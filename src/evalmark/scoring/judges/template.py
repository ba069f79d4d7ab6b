"""Prompt texts as data files, and the replacement of their named slots."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.document import Document, document_of

_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")
TEXTS = frozenset(("name", "metric_description", "description", "template", "meaning", "judge", "words"))
"""Keys of metric files whose values stay texts, even if YAML would read them as another type."""


@lru_cache(maxsize=256)
def slots_in(template: str) -> frozenset[str]:
    """Return the names of the slots in a template.

    >>> sorted(slots_in("{{ a }} and {{b}}"))
    ['a', 'b']
    """
    return frozenset(_SLOT.findall(template))


def has_stray_braces(template: str) -> bool:
    """Return whether a template has braces that open no slot, such as those of a template language."""
    rest = _SLOT.sub("", template)
    return any(mark in rest for mark in ("{{", "}}", "{%", "%}"))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill the slots of a template in one pass; slots inside values are not filled.

    >>> fill("say {{ word }}", {"word": "{{word}} {0}"})
    'say {{word}} {0}'
    """
    parts = list(_split_slots(template))
    parts[1::2] = [values[slot] for slot in parts[1::2]]
    return "".join(parts)


@lru_cache(maxsize=256)
def _split_slots(template: str) -> tuple[str, ...]:
    """Split a template into text and slot names in turn; cached, since few templates are filled often."""
    return tuple(_SLOT.split(template))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonPrompt:
    """The texts that every judge is sent, whatever the metric."""

    system: str
    forms: Mapping[str, str]
    """How to reply, by the kind of the measure; `words` for free text."""
    repair: str
    fingerprint: str


@cache
def common_prompt() -> CommonPrompt:
    texts = load_prompt("frame").data
    return CommonPrompt(
        system=texts["system"], forms=texts["forms"], repair=texts["repair"], fingerprint=fingerprint("frame", texts)
    )


@cache
def load_prompt(name: str) -> Document:
    """Return a packaged prompt file."""
    file = files("evalmark.scoring.judges").joinpath("prompts", f"{name}.yaml")
    return document_of(file.read_text(encoding="utf-8"), Path("evalmark", "judges", "prompts", file.name), is_text)


def is_text(key: str) -> bool:
    """Return whether values below this key stay text."""
    return key in TEXTS


def one_line(text: Any) -> str:
    """Return a text without line breaks."""
    return " ".join(str(text).split())
