"""Finds the one JSON object in a judge's reply by strict rules: an ambiguous reply is a fault, never a guess."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from evalmark.core.values.call import Reply
from evalmark.core.values.plain_data import MAX_DEPTH, canonical
from evalmark.inputs.documents.json_walk import JsonStep, walk_json
from evalmark.inputs.documents.strict_json import RefusedJsonError, decode_at

FaultKind = Literal["judge_parse", "judge_range", "judge_refused", "judge_inconsistent", "judge_truncated"]
MAX_QUOTED_CHARS = 12
"""Characters of a reply's text that a fault repeats; too few for an instruction to a judge."""
MAX_REPLY_LENGTH = 200_000
"""Characters of a reply that are read; no verdict needs more."""
MAX_SCANS_PER_CHAR = 20
"""How often each character may be read in the search for objects before the search gives up."""

_REFUSAL = re.compile(
    r"(?i)^\W*(?:(?:i['\u2019]?m|i am) (?:very |so |really )?(?:sorry|afraid|unable|not able|not comfortable)"
    r"|sorry\b|apologies\b|my apologies|i apologi[sz]e|unfortunately,? i"
    r"|i (?:can['\u2019]?t|cannot|can not|could not|couldn['\u2019]t|will not|won['\u2019]?t|must decline|decline|refuse|do not feel)"
    r"|as an ai\b|as a (?:large )?language model\b|this (?:request|content) (?:violates|goes against))"
)
CODE_FENCES = ("```", "```json")
"""The start of a code block with JSON in it."""


class ReplyFault(NamedTuple):
    """Why a reply gives no verdict."""

    sentence: str
    """The fault in words that the model is also sent, so it repeats at most a few characters of the reply."""
    kind: FaultKind = "judge_parse"


def describe_reply_value(value: Any) -> str:
    """Describe a value of a reply for a fault.

    >>> describe_reply_value("7/10"), describe_reply_value(True), describe_reply_value(None), describe_reply_value(0.5)
    ("the text '7/10'", 'true', 'null', '0.5')
    >>> describe_reply_value("x" * 20), describe_reply_value([1])
    ('a text of 20 characters', 'a list')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return f"{value}" if abs(value) < 1e12 or isinstance(value, float) else "a number of many digits"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= MAX_QUOTED_CHARS else f"a text of {len(value):,} characters"
    return "a list" if isinstance(value, list) else "an object"


class JsonObjectSpan(NamedTuple):
    """An object in a text, with its position."""

    start: int
    end: int
    value: dict[str, Any]


def reply_text(reply: Reply) -> str:
    """Return a reply as text: its text, or its JSON object if it has no text."""
    return reply.text if reply.text.strip() or reply.data is None else canonical(reply.data)


def reply_object(reply: Reply, key: str, material: Sequence[str]) -> Mapping[str, Any] | ReplyFault:
    """Return the object with the verdict under `key`, or why there is none.

    It is the object that the endpoint gave, else the last thing in the text: alone, in a ```json block or after prose. An
    object that also occurs in the `material` is a copy and no verdict.
    """
    if fault := status_fault(reply):
        return fault
    found = reply.data if reply.data is not None else _object_in(reply.text.strip(), key, material)
    if isinstance(found, ReplyFault):
        return found
    if not isinstance(found, Mapping):
        return ReplyFault("it is JSON, but not an object")
    if is_copy_of_material(found, material):
        return ReplyFault("the object is a copy of one in the material, so it is not a verdict", "judge_inconsistent")
    return found


def list_under(found: Mapping[str, Any], key: str) -> list[Any] | ReplyFault:
    """Return the list under a key of a reply's object, or why there is none."""
    if key not in found:
        return ReplyFault(f"the JSON object has no `{key}`")
    rows = found[key]
    return rows if isinstance(rows, list) else ReplyFault(f"`{key}` is {describe_reply_value(rows)}, not a list")


def status_fault(reply: Reply) -> ReplyFault | None:
    """Return the fault of a reply that was cut off, refused or empty."""
    if reply.status == "truncated":
        return ReplyFault("it was cut off by the length limit; give a shorter reason", "judge_truncated")
    if reply.status in ("refused", "filtered"):
        return ReplyFault("it refuses to judge", "judge_refused")
    if reply.data is None and not reply.text.strip():
        return ReplyFault("it is empty")
    return None


def _object_in(text: str, key: str, material: Sequence[str]) -> dict[str, Any] | ReplyFault:
    if len(text) > MAX_REPLY_LENGTH:
        return ReplyFault(f"it is longer than {MAX_REPLY_LENGTH:,} characters")
    objects = objects_in(text)
    if isinstance(objects, ReplyFault):
        return objects
    if not objects:
        return _no_object(text)
    last = objects[-1]
    if wrong := _surrounding_fault(text, objects):
        return wrong
    others = [o.value for o in objects if key in o.value and key in last.value and o.value != last.value]
    if any(not is_copy_of_material(other, material) for other in others):
        return ReplyFault(f"it holds two different objects with `{key}`", "judge_inconsistent")
    return last.value


def _no_object(text: str) -> ReplyFault:
    if "{" in text:
        return ReplyFault("the JSON in it is broken")
    return refusal_fault(text) or ReplyFault("there is no JSON object in it")


def refusal_fault(text: str) -> ReplyFault | None:
    """Return the fault of a text that starts like a refusal."""
    return ReplyFault("it refuses to judge", "judge_refused") if _REFUSAL.search(text) else None


def _surrounding_fault(text: str, objects: Sequence[JsonObjectSpan]) -> ReplyFault | None:
    """Return what is wrong with the text around the last object."""
    last = objects[-1]
    before, after = text[: last.start].rstrip(), text[last.end :].strip()
    if after != ("```" if before.lower().endswith(CODE_FENCES) else ""):
        return ReplyFault("there is more text after the JSON object, or its block is not closed")
    pieces = _text_before_objects(text, objects)
    prose = "".join(pieces)
    # An object inside one that is broken, or in a list, would be a part of the verdict, not the verdict.
    if prose.count("{") != prose.count("}") or pieces[-1].rstrip().endswith("[") or pieces[-1].strip() == ",":
        return ReplyFault("the JSON object is inside something that is not a JSON object")
    return None


def _text_before_objects(text: str, objects: Sequence[JsonObjectSpan]) -> list[str]:
    """Return the text before each object, from the end of the previous one."""
    ends = [0, *(found.end for found in objects)]
    return [text[end : found.start] for end, found in zip(ends, objects, strict=False)]


def objects_in(text: str) -> list[JsonObjectSpan] | ReplyFault:
    """Return the top-level objects in a text, or a fault if one holds what JSON forbids."""
    found: list[JsonObjectSpan] = []
    left = MAX_SCANS_PER_CHAR * len(text) + 10_000
    at = text.find("{")
    while at >= 0 and left > 0:
        try:
            value, end = decode_at(text, at)
        except json.JSONDecodeError as error:
            left -= error.pos - at
            end = at + 1
        except RefusedJsonError:
            return _invalid_json_fault(text, at)
        else:
            found.append(JsonObjectSpan(at, end, value))
        at = text.find("{", end)
    return found if left > 0 else []


def _invalid_json_fault(text: str, at: int) -> ReplyFault:
    """Return what the object at `at` holds that is not valid JSON."""
    for step in walk_json(text, at):
        if len(step.path) > MAX_DEPTH:
            break
        if step.kind == "key" and step.earlier is not None:
            return ReplyFault("a name occurs twice in the JSON object")
        if _is_not_finite(step):
            return ReplyFault(f"{step.sign[:20]} cannot be a verdict", "judge_range")
    return ReplyFault("the JSON in it is nested too deep")


def _is_not_finite(step: JsonStep) -> bool:
    if step.kind == "number":
        return len(step.sign) > 400 or float(step.sign) in (float("inf"), float("-inf"))
    return step.kind == "word" and step.sign.lstrip("-") in ("NaN", "Infinity")


def is_copy_of_material(found: Mapping[str, Any], material: Sequence[str]) -> bool:
    """Return whether an object occurs in the material, directly or inside a JSON text.

    Material that is built to make the search long counts as if it held every object.
    """
    texts = [form for text in material if "{" in text for form in _unescaped(text)]
    return any(value is None or value == found for text in texts for value in _all_objects(text))


def _unescaped(text: str) -> Iterator[str]:
    """Yield a text, and its unescaped form if it is the inside of a JSON text."""
    yield text
    if '\\"' in text:
        yield (plainer := text.replace('\\"', '"'))
        yield plainer.replace("\\n", "\n")


def _all_objects(text: str) -> Iterator[dict[str, Any] | None]:
    """Yield every object in a text, nested ones too; yield None if the search gives up."""
    left = MAX_SCANS_PER_CHAR * len(text) + 10_000
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decode_at(text, at)
        except json.JSONDecodeError as error:
            end = error.pos
        except RefusedJsonError:
            end = at + 1_000
        else:
            yield value
        left -= end - at
        if left < 0:
            yield None
            return
        at = text.find("{", at + 1)
