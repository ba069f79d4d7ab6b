"""Convert promptfoo's assertions to checks."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.strict_yaml import parse_yaml
from evalmark.interop.shared.items import is_number
from evalmark.interop.shared.model_names import from_promptfoo
from evalmark.scoring.binding.text import text_of

from .patterns import python_pattern

Data = dict[str, Any]
CODE = ("javascript", "python", "ruby", "webhook")
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_PYTHON_FILE = re.compile(r"file://(?P<path>[^:]+\.py)(?::(?P<function>[A-Za-z_]\w*))?")
_RAW = ("{% raw %}", "{% endraw %}")
_BRACES = re.compile(r"\{\{|\{%|\{#")
NO_OPTIONS: Mapping[str, Any] = {}
_KEYS = ("type", "value", "metric", "weight", "threshold", "provider", "rubricPrompt", "description")
_QUOTED = re.compile(r'"((?:\\.|""|[^"\\])*)"\s*(?=,|$)', re.DOTALL)
_DRAFT = "http://json-schema.org/draft-07/schema#"
"""promptfoo's default JSON Schema draft."""
_REFERENCES = (("similarity", "factuality"), ("equals", "structured_output"), ("contains",))
"""Scorers that compare with a reference; those that always need one come first."""
SIMILAR = 0.75
"""promptfoo's default threshold of `similar`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionRequest:
    """One assertion, converted to a scorer with settings."""

    scorer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    """The name of its promptfoo metric; empty if it has none."""
    expected: Any = None
    """The reference answer with which it compares."""
    threshold: float | None = None
    judge: str = ""
    where: str = ""
    """The location and the type of the assertion in the file."""

    @property
    def shape(self) -> list[Any]:
        """What assertions must have in common to become one metric: everything but the reference answer."""
        return [self.scorer, dict(self.settings), self.name, self.threshold, self.judge, self.expected is not None]


class UnsupportedAssertionError(Exception):
    """An assertion cannot be converted; it has the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def read_assertion(
    assertion: Mapping[str, Any], variables: Mapping[str, Any], options: Mapping[str, Any] = NO_OPTIONS
) -> AssertionRequest:
    """Convert an assertion of a test with these variables and options.

    Raises:
        UnsupportedAssertionError: it is code, or no scorer of evalmark is equivalent.
    """
    kind = str(assertion.get("type"))
    base = kind.removeprefix("not-")
    if base in CODE:
        raise _code(base, assertion)
    _check_keys(assertion, options)
    value = assertion.get("value")
    if isinstance(value, str) and value.startswith(("file://", "package:")):
        raise UnsupportedAssertionError("it reads a file; write the content of the file in its place")
    reader = _READERS.get(base)
    if reader is None:
        raise UnsupportedAssertionError(_UNSUPPORTED.get(base, f"evalmark has no metric for {base!r:.40}"))
    scorer, settings, expected = reader(fill_variables(value, variables), assertion)
    if base != kind:
        if scorer not in ("contains", "regex", "is_json", "json_schema", "length"):
            raise UnsupportedAssertionError("evalmark cannot negate this assertion; rewrite its condition positively")
        scorer = f"not-{scorer}"
    return AssertionRequest(
        scorer=scorer,
        settings=settings,
        name=str(assertion.get("metric") or ""),
        expected=expected,
        threshold=_THRESHOLDS[base](assertion) if base in _THRESHOLDS else None,
        judge=_grader(assertion, options) if scorer in JUDGES else "",
    )


def _check_keys(assertion: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse keys that change the meaning of assertions of every type."""
    for key in ("transform", "contextTransform", "postprocess"):
        if assertion.get(key) or options.get(key):
            raise UnsupportedAssertionError(f"its `{key}` is code that changes the output before the check")
    if assertion.get("weight") == 0:
        raise UnsupportedAssertionError("its weight is 0, so promptfoo ignores it; evalmark would not")
    if unknown := [key for key, value in assertion.items() if key not in _KEYS and value is not None]:
        raise UnsupportedAssertionError(f"its `{unknown[0]}` changes how it judges, which evalmark does not support")


def _grader(assertion: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the judge model; empty if none is named."""
    for key in ("rubricPrompt", "factuality"):
        if assertion.get(key) or options.get(key):
            raise UnsupportedAssertionError(f"it has its own `{key}`; write it as a metric file")
    grader = assertion.get("provider") or options.get("provider")
    if isinstance(grader, dict) and "text" in grader:
        grader = grader["text"]
    if isinstance(grader, dict) and not grader.get("config"):
        grader = grader.get("id")
    if grader is None:
        return ""
    judge = from_promptfoo(grader) if isinstance(grader, str) else None
    if judge is None:
        raise UnsupportedAssertionError(
            f"its grader {text_of(grader)!r:.60} is not a model that evalmark supports, or has settings"
        )
    return judge


def _code(base: str, assertion: Mapping[str, Any]) -> UnsupportedAssertionError:
    value = assertion.get("value")
    if base == "python" and isinstance(value, str) and (match := _PYTHON_FILE.fullmatch(value)):
        return UnsupportedAssertionError(
            f"it is code; look at {match['path']}, and name it with --code {match['path']}"
        )
    if base == "webhook":
        return UnsupportedAssertionError("it would send the output to an address in the file")
    return UnsupportedAssertionError("it is code; rewrite it as a Python function, and name the function as a metric")


def python_file(assertion: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return file and function of a Python assertion in its own file; None for other assertions."""
    value = assertion.get("value")
    match = _PYTHON_FILE.fullmatch(value) if assertion.get("type") == "python" and isinstance(value, str) else None
    return (match["path"], match["function"] or "get_assert") if match else None


def fill_variables(value: Any, variables: Mapping[str, Any]) -> Any:
    """Fill in the variables of a text, or of the texts in a list, as promptfoo does.

    Raises:
        UnsupportedAssertionError: the template does more than fill in variables, or a variable is missing or not plain.
    """
    if isinstance(value, list):
        return [fill_variables(item, variables) for item in value]
    if not isinstance(value, str) or without_raw_marks(value) != value:
        return without_raw_marks(value)
    parts = _VARIABLE.split(value)
    if any(_BRACES.search(part) for part in parts[::2]):
        raise UnsupportedAssertionError("it is a template that does more than fill in variables")
    for at, name in enumerate(parts[1::2]):
        if not isinstance(content := variables.get(name), (str, int, float)):
            what = "is neither a text nor a number" if name in variables else "the test does not have"
            raise UnsupportedAssertionError(f"it fills in the variable {name!r:.40}, which {what}")
        parts[2 * at + 1] = js_text(content)
    return "".join(parts)


def js_text(value: Any) -> str:
    """Format a value as JavaScript does.

    >>> js_text(True), js_text(2.0), js_text("x")
    ('true', '2', 'x')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def _share(value: Any) -> float | None:
    return float(value) if is_number(value) and 0 <= value <= 1 else None


def _threshold(assertion: Mapping[str, Any], default: float) -> float:
    """Return the threshold of an assertion, from 0 to 1, or the default."""
    least = assertion.get("threshold")
    share = default if least is None else _share(least)
    if share is None:
        raise UnsupportedAssertionError("its `threshold` is not a number from 0 to 1")
    return share


def _text(value: Any) -> str:
    if value is None or value == "":
        raise UnsupportedAssertionError("it has no `value`")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UnsupportedAssertionError("its `value` is not a text")
    return js_text(value)


def _required_text(value: Any) -> str:
    """Return the value if it is a text; other values are errors."""
    if not isinstance(value, str):
        raise UnsupportedAssertionError("its `value` is not a text")
    return _text(value)


def _texts(value: Any) -> list[str]:
    items = [js_text(item) for item in value] if isinstance(value, list) else _between_commas(_required_text(value))
    if not items or not all(items):
        raise UnsupportedAssertionError("it names no text, or an empty one")
    return items


def _between_commas(text: str) -> list[str]:
    """Split texts at commas; texts with commas are quoted."""
    texts: list[str] = []
    rest = text.lstrip(", \t\r\n")
    while rest:
        quoted = _QUOTED.match(rest)
        if rest.startswith('"') and quoted is None:
            raise UnsupportedAssertionError("a quote in its `value` is not closed, or is followed by other text")
        if quoted is not None:
            texts.append(re.sub(r'\\(["\\])|""', lambda sign: sign[1] or '"', quoted[1]))
            rest = rest[quoted.end() :]
        else:
            one, _, rest = rest.partition(",")
            texts.append(one.strip())
        rest = rest.lstrip(", \t\r\n")
    return texts


Found = tuple[str, Data, Any]


def _equals(value: Any, assertion: Mapping[str, Any]) -> Found:
    if value is None or value == "":
        raise UnsupportedAssertionError("it has no `value`")
    if isinstance(value, (dict, list)):
        return "structured_output", {"allow_extras": False, "error_field": None}, value
    if assertion.get("type") == "not-equals":
        return "regex", {"pattern": re.escape(js_text(value)), "full": True}, None
    return "equals", {}, js_text(value)


def _contains(value: Any, assertion: Mapping[str, Any], **more: Any) -> Found:
    """Convert `contains`: a required text is the case's reference; a forbidden text is a setting."""
    text = _text(value)
    return ("contains", {"any": [text], **more}, None) if _is_negated(assertion) else ("contains", more, text)


def _is_negated(assertion: Mapping[str, Any]) -> bool:
    return str(assertion.get("type")).startswith("not-")


def _json(value: Any, assertion: Mapping[str, Any]) -> Found:
    schema = _schema_in(value) if isinstance(value, str) and value.strip() else value
    if schema is None or schema == "":
        return "is_json", {}, None
    if not isinstance(schema, dict):
        raise UnsupportedAssertionError("its `value` is not a JSON Schema")
    if _has_format(schema):
        raise UnsupportedAssertionError("its schema has a `format`, which evalmark does not check")
    return "json_schema", {"schema": {"$schema": _DRAFT, **schema}}, None


def _schema_in(text: str) -> Any:
    try:
        return parse_yaml(text, "schema")
    except DataError as fault:
        raise UnsupportedAssertionError(f"its schema cannot be read: {fault}") from None


def _has_format(schema: Any) -> bool:
    if isinstance(schema, dict):
        return isinstance(schema.get("format"), str) or any(map(_has_format, schema.values()))
    return isinstance(schema, list) and any(map(_has_format, schema))


def _starts(value: Any, assertion: Mapping[str, Any]) -> Found:
    return "regex", {"pattern": f"^{re.escape(_required_text(value))}"}, None


def _regex(value: Any, assertion: Mapping[str, Any]) -> Found:
    try:
        return "regex", {"pattern": python_pattern(_required_text(value))}, None
    except ValueError as why:
        raise UnsupportedAssertionError(f"its pattern is for JavaScript: {why}") from None


def _similar(value: Any, assertion: Mapping[str, Any]) -> Found:
    if assertion.get("provider"):
        raise UnsupportedAssertionError("it names an embedding model; name it with `embeddings:` in the suite")
    if isinstance(value, list):
        raise UnsupportedAssertionError("it compares with several texts, and a case has one reference answer")
    return "similarity", {"positive": _threshold(assertion, SIMILAR)}, _required_text(value)


def _latency(value: Any, assertion: Mapping[str, Any]) -> Found:
    most = assertion.get("threshold")
    if not is_number(most) or most <= 0:
        raise UnsupportedAssertionError("its `threshold` is not a number of milliseconds")
    return "time", {"seconds": most / 1000}, None


def _words(value: Any, assertion: Mapping[str, Any]) -> Found:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    limits = value if isinstance(value, dict) else {"min": value, "max": value}
    counts = {f"{key}_words": n for key, n in limits.items() if key in ("min", "max") and type(n) is int and n >= 0}
    if not counts or len(counts) < len(limits):
        raise UnsupportedAssertionError("its `value` is not a count of words")
    return "length", counts, None


def _judged(value: Any, assertion: Mapping[str, Any]) -> Found:
    if assertion.get("threshold") is not None:
        raise UnsupportedAssertionError(
            "it has a threshold for a score, but a criterion is either met or not in evalmark"
        )
    return "closed_qa", {"criteria": _required_text(value)}, None


def _closed(value: Any, assertion: Mapping[str, Any]) -> Found:
    return "closed_qa", {"criteria": _required_text(value)}, None


def _criteria(value: Any, assertion: Mapping[str, Any]) -> Found:
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(one, list):
        raise UnsupportedAssertionError("it uses the mean of several criteria; write an assertion for each")
    return "criteria", {"criteria": _required_text(one)}, None


def _factual(value: Any, assertion: Mapping[str, Any]) -> Found:
    return "factuality", {}, _required_text(value)


def _listed(key: str, **more: Any) -> Any:
    return lambda value, assertion: ("contains", {key: _texts(value), **more}, None)


_READERS = {
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
    "similar": _similar,
    "similar:cosine": _similar,
    "latency": _latency,
    "word-count": _words,
    "llm-rubric": _judged,
    "model-graded-closedqa": _closed,
    "g-eval": _criteria,
    "factuality": _factual,
    "model-graded-factuality": _factual,
}
_THRESHOLDS: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "g-eval": lambda assertion: _threshold(assertion, 0.7) or 0.7,  # promptfoo treats 0 as unset
    # Everything but a contradiction passes: only a contradiction scores 0.
    "factuality": lambda assertion: 0.4,
    "model-graded-factuality": lambda assertion: 0.4,
}
_UNSUPPORTED = dict.fromkeys(
    ("context-faithfulness", "context-relevance", "context-recall", "answer-relevance"),
    "promptfoo judges it with the variables `query` and `context`; evalmark's metric of a similar name measures something "
    "else",
)
_OTHERS = (
    "agent-rubric", "answer-relevance", "bleu", "classifier", "contains-html", "contains-json", "contains-sql",
    "contains-xml", "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance", "cost",
    "finish-reason", "gleu", "guardrails", "is-html", "is-refusal", "is-sql", "is-valid-function-call",
    "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "levenshtein", "max-score", "meteor",
    "moderation", "perplexity", "perplexity-score", "pi", "rouge-n", "search-rubric", "select-best", "similar:dot",
    "similar:euclidean", "skill-used", "tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration",
)  # fmt: skip
TYPES = frozenset((*_READERS, *CODE, *_OTHERS))
"""Types that a cell of a CSV file may name; other text before a colon is part of the answer."""
JUDGES = ("closed_qa", "criteria", "factuality")


def with_raw_marks(value: Any) -> Any:
    """Protect texts with braces from promptfoo's templating by Nunjucks raw marks."""
    if isinstance(value, str):
        return f"{_RAW[0]}{value}{_RAW[1]}" if _BRACES.search(value) and "endraw" not in value else value
    if isinstance(value, list):
        return [with_raw_marks(item) for item in value]
    return {key: with_raw_marks(item) for key, item in value.items()} if isinstance(value, dict) else value


def without_raw_marks(value: Any) -> Any:
    """Remove the marks that `with_raw_marks` adds.

    >>> without_raw_marks(with_raw_marks(["{{x}}", 1])), with_raw_marks("{{x}}")
    (['{{x}}', 1], '{% raw %}{{x}}{% endraw %}')
    """
    if isinstance(value, str):
        is_raw = value.startswith(_RAW[0]) and value.endswith(_RAW[1]) and value.count("endraw") == 1
        return value[len(_RAW[0]) : -len(_RAW[1])] if is_raw else value
    if isinstance(value, list):
        return [without_raw_marks(item) for item in value]
    return {key: without_raw_marks(item) for key, item in value.items()} if isinstance(value, dict) else value


def reference_of(requests: Sequence[AssertionRequest]) -> Any:
    """Choose the reference answer of a case: that of similarity or factuality, else that of equals or contains."""
    for scorers in _REFERENCES:
        for one in requests:
            if one.expected is not None and one.scorer in scorers:
                return one.expected
    return None


def row_checks(requests: Sequence[AssertionRequest], expected: Any) -> list[Data]:
    """Convert checks to a row's metadata; one with another reference than the row's has it in its settings."""
    rows = []
    for one in requests:
        scorer, settings = one.scorer, dict(one.settings)
        if one.expected is not None and canonical(one.expected) != canonical(expected):
            if scorer == "equals":
                scorer, settings = "regex", {"pattern": re.escape(text_of(one.expected)), "full": True}
            elif scorer == "structured_output":
                settings["expected"] = one.expected
            else:
                settings["any"] = [text_of(one.expected)]
        options = {"name": one.name or None, "threshold": one.threshold}
        rows.append({scorer: settings | {key: value for key, value in options.items() if value is not None}})
    return rows
