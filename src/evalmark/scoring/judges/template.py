"""Prompts as data files, and the one pass in which their named slots are filled."""

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
"""Keys of metric files whose values are texts, whatever a YAML word may look like."""


@lru_cache(maxsize=256)
def slots_in(template: str) -> frozenset[str]:
    """The names of the slots in a template.

    >>> sorted(slots_in("{{ a }} and {{b}}"))
    ['a', 'b']
    """
    return frozenset(_SLOT.findall(template))


def has_stray_braces(template: str) -> bool:
    """Whether braces stand in a template that open no slot, such as those of a template language."""
    rest = _SLOT.sub("", template)
    return any(mark in rest for mark in ("{{", "}}", "{%", "%}"))


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its slots filled, once: what a value holds is text, and stays as it is.

    >>> fill("say {{ word }}", {"word": "{{word}} {0}"})
    'say {{word}} {0}'
    """
    parts = list(_split_slots(template))
    parts[1::2] = [values[slot] for slot in parts[1::2]]
    return "".join(parts)


@lru_cache(maxsize=256)
def _split_slots(template: str) -> tuple[str, ...]:
    """Text and names of slots in turn: the same few templates are filled thousands of times."""
    return tuple(_SLOT.split(template))


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonPrompt:
    """What every judge is told, whatever the metric."""

    system: str
    forms: Mapping[str, str]
    """How to reply, by the kind of the measure; `words` where free text is asked for."""
    repair: str
    fingerprint: str


@cache
def common_prompt() -> CommonPrompt:
    """The frame that is shipped with evalmark."""
    said = load_prompt("frame").data
    return CommonPrompt(
        system=said["system"], forms=said["forms"], repair=said["repair"], fingerprint=fingerprint("frame", said)
    )


@cache
def load_prompt(name: str) -> Document:
    """A prompt file of this package."""
    file = files("evalmark.scoring.judges").joinpath("prompts", f"{name}.yaml")
    return document_of(file.read_text(encoding="utf-8"), Path("evalmark", "judges", "prompts", file.name), is_text)


def is_text(key: str) -> bool:
    """Whether words below this key stay text."""
    return key in TEXTS


def one_line(text: Any) -> str:
    """A text without line breaks, for a place in the middle of a sentence."""
    return " ".join(str(text).split())
