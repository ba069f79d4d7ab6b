"""Convert promptfoo's assertions that follow a rule, without a model, to checks."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from evalmark.interop.shared.assertions import PROMPTFOO
from evalmark.interop.shared.items import is_number
from evalmark.scoring.binding.text import text_of

from .assertion_requests import AssertionRequest, Data, UnsupportedAssertionError
from .assertion_values import (
    LARGEST_NUMBER,
    check_number,
    is_negated,
    json_schema_of,
    required_text,
    text_list,
    text_value,
    threshold_of,
)
from .patterns import python_pattern
from .variables import js_text

_DRAFT = "http://json-schema.org/draft-07/schema#"
"""promptfoo's default JSON Schema draft."""
CHANGE_KEY = " change"
"""The key of a reader's settings that says how the meaning changes."""
SIMILAR_COSINE = 0.75
"""promptfoo's default threshold of `similar`."""
SIMILAR_TYPES = ("similar", "similar:cosine")
Check = tuple[str, Data, Any]
"""The scorer, its settings, and the reference answer."""
_CHANGES = {
    "rouge-n": "words and punctuation marks are separated by simpler rules, so that scores differ a little in rare texts",
    "finish-reason": "computed from the output: a reply that is not an error ended with `stop`, or `tool_calls` if it has some",
    "is-html": "read by another HTML parser, which may differ on broken HTML",
}


def computed_request(base: str, assertion: Mapping[str, Any]) -> AssertionRequest:
    """Convert to a check by promptfoo's own definition, after a look at what it needs."""
    _checked_value(base, assertion)
    value, change = assertion.get("value"), _CHANGES.get(base, "")
    if base in ("is-json", "contains-json"):
        _, settings, _ = _contains_json(value, assertion)
        return replace(
            promptfoo_request({**assertion, "value": settings["assertion"].get("value")}),
            change=str(settings.get(CHANGE_KEY, "")),
        )
    if base.endswith(("contains-any", "contains-all")):
        value = text_list(value)
    return promptfoo_request({**assertion, "value": value}, change)


def _checked_value(base: str, assertion: Mapping[str, Any]) -> None:
    value = assertion.get("value")
    check_number(assertion, "threshold")
    if base in ("latency", "cost"):
        if not is_number(assertion.get("threshold")):
            raise UnsupportedAssertionError(f"its `threshold` is not a number, which {base} needs")
    elif base in ("levenshtein", "rouge-n", "starts-with", "regex"):
        required_text(value)
    elif base in ("bleu", "gleu", "tool-call-f1"):
        text_list(value)
    elif base == "finish-reason" and str(value).lower() not in ("stop", "tool_calls"):
        raise UnsupportedAssertionError("in evalmark, a reply that did not end by itself is an error")
    elif base == "word-count":
        _word_count(value, assertion)


def _cleaned(assertion: Mapping[str, Any]) -> Data:
    """Return the keys that a check of promptfoo's own needs."""
    keys = ("type", "value", "threshold", "config", "weight", "transform")
    kept = {key: assertion[key] for key in keys if assertion.get(key) not in (None, [], {})}
    return kept if kept.get("weight") == 0 else {key: value for key, value in kept.items() if key != "weight"}


def promptfoo_request(assertion: Mapping[str, Any], change: str = "") -> AssertionRequest:
    """Make the request of a check that follows promptfoo's own definition."""
    return AssertionRequest(
        scorer=PROMPTFOO,
        settings={"assertion": _cleaned(assertion)},
        name=str(assertion.get("metric") or ""),
        change=change,
    )


def _equals(value: Any, assertion: Mapping[str, Any]) -> Check:
    if value is None:
        raise UnsupportedAssertionError("it has no `value`")
    if value == "" or (isinstance(value, (dict, list)) and is_negated(assertion)):
        return PROMPTFOO, {"assertion": _cleaned(assertion)}, None
    if isinstance(value, (dict, list)):
        return "structured_output", {"allow_extras": False, "error_field": None}, value
    if assertion.get("type") == "not-equals":
        return "regex", {"pattern": re.escape(js_text(value)), "full": True}, None
    return "equals", {}, js_text(value)


def _contains(value: Any, assertion: Mapping[str, Any], **more: Any) -> Check:
    """Convert `contains`: a required text is the case's reference; a forbidden text is a setting."""
    text = text_value(value)
    return ("contains", {"any": [text], **more}, None) if is_negated(assertion) else ("contains", more, text)


def _json(value: Any, assertion: Mapping[str, Any]) -> Check:
    schema = json_schema_of(value)
    if schema is None:
        return "is_json", {}, None
    change = {CHANGE_KEY: "evalmark does not check the `format` of texts in the schema"} if _has_format(schema) else {}
    return "json_schema", {"schema": {"$schema": _DRAFT, **schema}, **change}, None


def _has_format(schema: Any) -> bool:
    if isinstance(schema, dict):
        return isinstance(schema.get("format"), str) or any(map(_has_format, schema.values()))
    return isinstance(schema, list) and any(map(_has_format, schema))


def _contains_json(value: Any, assertion: Mapping[str, Any]) -> Check:
    schema = json_schema_of(value)
    change = {CHANGE_KEY: "evalmark does not check the `format` of texts in the schema"} if _has_format(schema) else {}
    own = {**assertion, "value": {"$schema": _DRAFT, **schema} if schema else None}
    return PROMPTFOO, {"assertion": _cleaned(own), **change}, None


def _starts(value: Any, assertion: Mapping[str, Any]) -> Check:
    return "regex", {"pattern": f"^{re.escape(required_text(value))}"}, None


def _regex(value: Any, assertion: Mapping[str, Any]) -> Check:
    text = required_text(value)
    more: Data = {}
    if text.startswith("(?i)"):
        text = text.removeprefix("(?i)")
        change = "`(?i)` is no JavaScript, so promptfoo always fails it; here the pattern ignores the case of letters"
        more = {"ignore_case": True, CHANGE_KEY: change}
    try:
        return "regex", {"pattern": python_pattern(text), **more}, None
    except ValueError as why:
        raise UnsupportedAssertionError(f"its pattern is for JavaScript: {why}") from None


def _similar(value: Any, assertion: Mapping[str, Any]) -> Check:
    change = {}
    if provider := assertion.get("provider"):
        change = {CHANGE_KEY: f"compared by the suite's embedding model, not by {text_of(provider)!r:.60}"}
    settings = {"positive": threshold_of(assertion, SIMILAR_COSINE), **change}
    if isinstance(value, list) and value:
        return "similarity", settings, [required_text(item) for item in value]
    return "similarity", settings, required_text(value)


def _latency(value: Any, assertion: Mapping[str, Any]) -> Check:
    most = assertion.get("threshold")
    if not is_number(most) or not 0 < most < LARGEST_NUMBER:
        raise UnsupportedAssertionError("its `threshold` is not a number of milliseconds")
    return "time", {"seconds": most / 1000}, None


def _word_count(value: Any, assertion: Mapping[str, Any]) -> Check:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    limits = value if isinstance(value, dict) else {"min": value, "max": value}
    counts = {f"{key}_words": n for key, n in limits.items() if key in ("min", "max") and type(n) is int and n >= 0}
    if not counts or len(counts) < len(limits):
        raise UnsupportedAssertionError("its `value` is not a count of words")
    return "length", counts, None


def _listed(key: str, **more: Any) -> Any:
    return lambda value, assertion: ("contains", {key: text_list(value), **more}, None)


READERS: Mapping[str, Callable[[Any, Mapping[str, Any]], Check]] = {
    "equals": _equals,
    "contains": _contains,
    "icontains": partial(_contains, ignore_case=True),
    "contains-any": _listed("any"),
    "contains-all": _listed("all"),
    "icontains-any": _listed("any", ignore_case=True),
    "icontains-all": _listed("all", ignore_case=True),
    "starts-with": _starts,
    "regex": _regex,
    "is-json": _json,
    "contains-json": _contains_json,
    "similar": _similar,
    "similar:cosine": _similar,
    "latency": _latency,
    "word-count": _word_count,
}
NEGATED = tuple(kind for kind in READERS if kind not in ("latency", *SIMILAR_TYPES))
