"""The published JSON Schema of suite files, and the messages for its violations."""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.inputs.documents.document import DataPath
from evalmark.inputs.documents.findings import LONGEST, json_excerpt

from .json_schema import Mismatch, mismatches

KEY_SYNONYMS = {
    "assertions": "metrics",
    "cases": "datasets",
    "data": "datasets",
    "epochs": "repeat",
    "evaluators": "metrics",
    "limits": "gate",
    "model": "target",
    "prompt": "target",
    "provider": "target",
    "providers": "target",
    "runs": "repeat",
    "scorers": "metrics",
    "task": "target",
    "tests": "datasets",
    "thresholds": "gate",
    "trials": "repeat",
}
"""Other tools' names for keys of suites."""


def suite_schema() -> dict[str, Any]:
    """Return the JSON Schema of suite files (draft 2020-12), which editors use too."""
    schema: dict[str, Any] = json.loads(Path(__file__).with_name("suite.schema.json").read_text(encoding="utf-8"))
    return schema


@lru_cache(maxsize=1)
def text_keys() -> frozenset[str]:
    """Return the keys whose values are always texts, whatever a YAML word looks like (`name: no`)."""
    top = suite_schema()["properties"]
    inner = (top["datasets"]["items"], top["target"], top["judge"]["items"])
    return frozenset(
        key
        for properties in (top, *(schema["properties"] for schema in inner))
        for key, schema in properties.items()
        if schema["type"] == "string"
    )


class SuiteFault(NamedTuple):
    """A fault of a suite: its path, and a sentence with the next step."""

    at: DataPath
    sentence: str


def schema_faults(data: Any) -> tuple[list[SuiteFault], Any]:
    """Return the faults that the schema finds, and the data without the invalid values.

    An invalid item of a list becomes None, so that the other items keep their positions.
    """
    wrong = list(mismatches(data, suite_schema()))
    several = {one.at for one in wrong if one.rule == "maxProperties"}
    faults: list[SuiteFault] = []
    for one in wrong:
        # Further faults below a metric with several names would only confuse.
        if not any(one.at[:n] in several for n in range(len(one.at))):
            faults += _faults_of(one)
    return faults, _pruned(data, (), {one.at for one in wrong if one.rule != "additionalProperties"})


def _pruned(data: Any, at: DataPath, faulty: set[DataPath]) -> Any:
    if at and at in faulty:
        return None
    if isinstance(data, list):
        return [_pruned(item, (*at, number), faulty) for number, item in enumerate(data)]
    if isinstance(data, Mapping):
        return {key: _pruned(value, (*at, key), faulty) for key, value in data.items() if (*at, key) not in faulty}
    return data


def _faults_of(wrong: Mismatch) -> Iterator[SuiteFault]:
    at, rule, value, schema = wrong
    if rule == "additionalProperties":
        for key in value:
            if key not in schema["properties"]:
                yield SuiteFault((*at, key), _unknown(key, at, schema["properties"]))
    elif rule == "required":
        for key in schema["required"]:
            if key not in value:
                yield SuiteFault(at, f"{_named(at)} has no `{key}`; it takes {schema['properties'][key]['title']}.")
    else:
        yield SuiteFault(at, f"{_named(at)} is {json_excerpt(value)}; it takes {schema['title']}.")


def _unknown(key: str, at: DataPath, properties: Mapping[str, Any]) -> str:
    close = get_close_matches(key.lower(), properties, n=1)
    other = KEY_SYNONYMS.get(key.lower())
    if not close and other in properties:
        close = [str(other)]
    keys = ", ".join(name for name in properties if not name.startswith("$"))
    advice = f"did you mean `{close[0]}`?" if close else f"the keys are {keys}."
    return f"{_named(at)} has no key {json_excerpt(key)}; {advice}"


def _named(at: DataPath) -> str:
    return f"`{dotted_path(at)}`" if at else "the suite"


def dotted_path(at: DataPath) -> str:
    """Format a path in the usual notation.

    >>> dotted_path(("metrics", 2, "similarity", "threshold"))
    'metrics[2].similarity.threshold'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{_word(part)}" for part in at)
    return text.removeprefix(".")


def _word(key: str) -> str:
    return key if key.isprintable() and len(key) <= LONGEST else json_excerpt(key)
