"""Converts input values to plain data of the type that their input declares."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.case import Turn
from evalmark.core.values.plain_data import MAX_DEPTH
from evalmark.inputs.documents.findings import json_excerpt
from evalmark.inputs.documents.text import MAX_ROW

from .filters import kind_of
from .interpreter import Image, Thread
from .prompt import Input, InputType
from .template import MAX_NUMBER_BITS

MAX_ITEMS = 1_000_000
"""Texts, numbers, lists and mappings in all values of one prompt."""
TYPES: Mapping[str, InputType] = {
    **dict.fromkeys(("string", "str", "text"), "string"),
    **dict.fromkeys(("integer", "int"), "integer"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list"), "array"),
    **dict.fromkeys(("object", "dict"), "object"),
    **dict.fromkeys(("thread", "chat_history"), "thread"),
    "image": "image",
    "audio": "audio",
    "file": "file",
}
"""The names of types in the formats, and their names here."""
NOUNS: Mapping[InputType, str] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "thread": "a list of turns, each with `role` (user or assistant) and `content`, a text",
    "image": "an address that begins with https:// or data:image/",
}
_IMAGE = re.compile(r"https://[^\s\"'<>]+|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
_CLASSES: Mapping[InputType, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class InputValueError(Exception):
    """A value cannot be used; the text completes a sentence that names the value."""


def convert_value(value: Any, variable: Input) -> Any:
    """Return a plain value in the type of its input.

    Texts of numbers and truth values are parsed, since CSV has only texts, and a number is accepted as a text. Nothing else
    is converted.

    Raises:
        InputValueError: The value has another type, or is not one of the choices.
    """
    found = value if variable.type is None else _as_type(value, variable.type)
    if variable.choices and not any(_same_value(found, choice) for choice in variable.choices):
        raise InputValueError(
            f"is {json_excerpt(value)}; it takes one of {', '.join(map(json_excerpt, variable.choices))}"
        )
    return found


def _same_value(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _as_type(value: Any, input_type: InputType) -> Any:
    if input_type in ("audio", "file"):
        raise InputValueError(f"is of the type {input_type}, which is not supported; pass its text as a string")
    if input_type == "thread":
        return _thread(value)
    if input_type == "image":
        return _image(value)
    if input_type == "string" and type(value) in (int, float):
        return json.dumps(value)
    found = (
        _read(value, input_type) if isinstance(value, str) and input_type in ("integer", "number", "boolean") else value
    )
    if isinstance(found, _CLASSES[input_type]) and isinstance(found, bool) == (input_type == "boolean"):
        return found
    if input_type == "integer" and isinstance(found, float) and found.is_integer():
        return int(found)
    raise InputValueError(f"is {json_excerpt(value)}; it takes {NOUNS[input_type]}")


def _read(text: str, input_type: InputType) -> Any:
    """Return the number or truth value that a text holds, else the text."""
    words = {"true": True, "false": False}
    if input_type == "boolean":
        return words.get(text.strip().lower(), text)
    if len(text) > 100 or not re.fullmatch(r"\s*[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?\s*", text, re.ASCII):
        return text
    return float(text) if set(text) & set(".eE") else int(text)


def _thread(value: Any) -> Thread:
    if not isinstance(value, list) or not all(map(_is_turn, value)):
        raise InputValueError(f"is {json_excerpt(value)}; it takes {NOUNS['thread']}")
    return Thread(tuple(Turn(role=turn["role"], content=turn["content"]) for turn in value))


def _is_turn(turn: Any) -> bool:
    return (
        isinstance(turn, dict)
        and turn.keys() == {"role", "content"}
        # A value with the role `system` could replace the author's instructions.
        and turn["role"] in ("user", "assistant")
        and isinstance(turn["content"], str)
    )


def _image(value: Any) -> Image:
    if isinstance(value, str) and _IMAGE.fullmatch(value):
        return Image(value)
    raise InputValueError(f"is {json_excerpt(value)}; it takes {NOUNS['image']}")


class PlainCopier:
    """Copies values and counts their total size."""

    def __init__(self) -> None:
        self._items = MAX_ITEMS
        self._letters = MAX_ROW

    def copy(self, value: Any, depth: int = 0) -> Any:
        """Return a copy of the value as plain data; objects are rejected, since a template could use their attributes.

        Raises:
            InputValueError: It is an object, or too large, or nested too deeply.
        """
        self._items -= 1
        if self._items < 0:
            raise InputValueError(f"brings the values to more than {MAX_ITEMS:,} items")
        if depth > MAX_DEPTH:
            raise InputValueError(f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, Turn):
            value = {"role": value.role, "content": value.content}
        if isinstance(value, Mapping):
            return {self._key(key): self.copy(item, depth + 1) for key, item in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview)):
            return [self.copy(item, depth + 1) for item in value]
        return self._leaf(value)

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise InputValueError(f"has the key {json_excerpt(key)}, which is {kind_of(key)}; keys are texts")
        return str(self._leaf(key))

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, str):
            self._letters -= len(value)
            if self._letters < 0:
                raise InputValueError(f"brings the values to more than {MAX_ROW >> 20} MiB of text")
            return str.__str__(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and value.bit_length() <= MAX_NUMBER_BITS:
            return int(value)
        if isinstance(value, float) and math.isfinite(value):
            return float(value)
        if isinstance(value, (int, float)):
            raise InputValueError("is a number that cannot be written out")
        raise InputValueError(f"is of the type {type(value).__name__}; prompts take texts, numbers, lists and mappings")
