"""The golden vectors of vitest-evals: their calls, and their JavaScript in the words of Python."""

import json
import re

from evalmark.scoring.matching.equality import ABSENT

HOUR = 3_600_000
NOW = 1_795_242_736_410
"""When the vectors were written down, in milliseconds."""


def _custom_location(expected, actual):
    if expected.get("location") and actual.get("location"):
        return expected["location"].lower() == actual["location"].lower()
    return expected == actual


FUNCTIONS = {
    "value >= 18 && value <= 100": lambda value: 18 <= value <= 100,
    'value.includes("@")': lambda value: "@" in value,
    '["admin", "user", "guest"].includes(value)': lambda value: value in ("admin", "user", "guest"),
    'key === "timestamp"': lambda expected, actual, key: (
        NOW - HOUR <= actual <= NOW if key == "timestamp" else expected == actual
    ),
    'key === "age"': lambda expected, actual, key: 18 <= actual <= 100 if key == "age" else expected == actual,
    "expected.location && actual.location": _custom_location,
}
"""By a part of the JavaScript that no other has."""

SETTINGS = {
    "requireAll": "require_all",
    "allowExtras": "allow_extras",
    "params": "arguments",
    "fuzzyOptions": "fuzzy",
    "caseInsensitive": "ignore_case",
    "coerceTypes": "coerce",
}


def read_vectors(shared, name):
    """Each call of a file as its name, its settings, what it is about and what it expects."""
    found = json.loads((shared / "data" / "vitest-evals" / f"{name}_vectors.json").read_text())["vectors"]
    return [
        (vector["name"], settings_of(call["config"]), in_python(call["opts"]), call["expect"])
        for vector in found
        for call in vector["calls"]
    ]


def settings_of(config):
    """The settings of a call by our names; what only prints to a console is left out."""
    settings = {SETTINGS.get(key, key): in_python(value) for key, value in config.items() if key != "debug"}
    if "fuzzy" in settings:
        settings["fuzzy"] = settings_of(settings["fuzzy"])
    return settings


def in_python(value):
    """A value of the vectors, with functions, patterns and `undefined` as Python has them."""
    if isinstance(value, list):
        return [in_python(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$undefined" in value:
        return ABSENT
    if "$regex" in value:
        assert value["flags"] == ""
        return re.compile(value["$regex"])
    if "$fn" in value:
        (function,) = [ours for part, ours in FUNCTIONS.items() if part in value["$fn"]]
        return function
    return {key: in_python(item) for key, item in value.items()}


def scored(expect):
    """The score a call expects, or None where it says nothing of it."""
    return next((item["value"] for item in expect if item["path"] == "score"), None)


def rationales(expect):
    """The texts that a call expects in the rationale."""
    return [item["value"] for item in expect if item["path"] == "metadata.rationale"]
