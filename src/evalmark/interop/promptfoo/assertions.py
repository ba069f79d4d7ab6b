"""Convert promptfoo's assertions to checks, and back."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import canonical, plain
from evalmark.inputs.documents.strict_yaml import parse_yaml
from evalmark.interop.promptfoo.rubrics import grader_of, rubric_assertion, shows_expected
from evalmark.interop.shared.export_run import ExportCheck
from evalmark.interop.shared.grader_prompts import NotExpressibleError, labels_of
from evalmark.interop.shared.import_result import PartOutcome
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
    """Its place and type."""

    @property
    def shape(self) -> list[Any]:
        """What assertions must have in common to become one metric: everything but the reference answer."""
        return [self.scorer, dict(self.settings), self.name, self.threshold, self.judge, self.expected is not None]


class UnsupportedAssertionError(Exception):
    """An assertion cannot be converted; it has the outcome and the reason."""

    def __init__(self, outcome: PartOutcome, why: str) -> None:
        super().__init__(why)
        self.outcome: PartOutcome = outcome
        self.why = why


def read_assertion(
    said: Mapping[str, Any], variables: Mapping[str, Any], options: Mapping[str, Any] = NO_OPTIONS
) -> AssertionRequest:
    """Convert an assertion of a test with these variables and options.

    Raises:
        RefusedError: it is code, or nothing of ours does what it asks.
    """
    kind = str(said.get("type"))
    base = kind.removeprefix("not-")
    if base in CODE:
        raise _code(base, said)
    _check_keys(said, options)
    value = said.get("value")
    if isinstance(value, str) and value.startswith(("file://", "package:")):
        raise UnsupportedAssertionError("left out", "it reads a file; write what stands there in its place")
    reader = _READERS.get(base)
    if reader is None:
        raise UnsupportedAssertionError("left out", _NOT_HERE.get(base, f"no metric here does what {base!r:.40} does"))
    scorer, settings, expected = reader(fill_variables(value, variables), said)
    if base != kind:
        if scorer not in ("contains", "regex", "is_json", "json_schema", "length"):
            raise UnsupportedAssertionError(
                "left out", "this assertion cannot be negated here; rewrite its condition positively"
            )
        scorer = f"not-{scorer}"
    return AssertionRequest(
        scorer=scorer,
        settings=settings,
        name=str(said.get("metric") or ""),
        expected=expected,
        threshold=_THRESHOLDS[base](said) if base in _THRESHOLDS else None,
        judge=_grader(said, options) if scorer in JUDGES else "",
    )


def _check_keys(said: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse keys that change the meaning of assertions of every type."""
    for key in ("transform", "contextTransform", "postprocess"):
        if said.get(key) or options.get(key):
            raise UnsupportedAssertionError(
                "refused", f"its `{key}` is code, and it looks at what that makes of the output"
            )
    if said.get("weight") == 0:
        raise UnsupportedAssertionError("left out", "its weight is 0, so it fails no test there; here it would")
    if unknown := [key for key, found in said.items() if key not in _KEYS and found is not None]:
        raise UnsupportedAssertionError(
            "left out", f"its `{unknown[0]}` changes how it judges, and nothing here does that"
        )


def _grader(said: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The model that judges; empty where none is named."""
    for key in ("rubricPrompt", "factuality"):
        if said.get(key) or options.get(key):
            raise UnsupportedAssertionError("left out", f"it has a `{key}` of its own; write it as a metric file")
    grader = said.get("provider") or options.get("provider")
    if isinstance(grader, dict) and "text" in grader:
        grader = grader["text"]
    if isinstance(grader, dict) and not grader.get("config"):
        grader = grader.get("id")
    if grader is None:
        return ""
    judge = from_promptfoo(grader) if isinstance(grader, str) else None
    if judge is None:
        raise UnsupportedAssertionError(
            "left out", f"its grader {text_of(grader)!r:.60} is not a model that is asked here, or has settings"
        )
    return judge


def _code(base: str, said: Mapping[str, Any]) -> UnsupportedAssertionError:
    value = said.get("value")
    if base == "python" and isinstance(value, str) and (found := _PYTHON_FILE.fullmatch(value)):
        return UnsupportedAssertionError(
            "refused", f"it is code; look at {found['path']}, and name it with --code {found['path']}"
        )
    if base == "webhook":
        return UnsupportedAssertionError("refused", "it would send the output to an address in the file")
    return UnsupportedAssertionError(
        "refused", "it is code; write it as a Python function of yours, and name that as a metric"
    )


def python_file(said: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return file and function of a Python assertion in its own file; None for other assertions."""
    value = said.get("value")
    found = _PYTHON_FILE.fullmatch(value) if said.get("type") == "python" and isinstance(value, str) else None
    return (found["path"], found["function"] or "get_assert") if found else None


def fill_variables(value: Any, variables: Mapping[str, Any]) -> Any:
    """A value with the variables that it names, as promptfoo fills them in: in texts, and in the texts of a list.

    Raises:
        RefusedError: a template does more than fill in variables, or one is missing or no plain value.
    """
    if isinstance(value, list):
        return [fill_variables(item, variables) for item in value]
    if not isinstance(value, str) or without_raw_marks(value) != value:
        return without_raw_marks(value)
    parts = _VARIABLE.split(value)
    if any(_BRACES.search(part) for part in parts[::2]):
        raise UnsupportedAssertionError("left out", "it is a template that does more than fill in variables")
    for at, name in enumerate(parts[1::2]):
        if not isinstance(found := variables.get(name), (str, int, float)):
            what = "is neither a text nor a number" if name in variables else "the test does not have"
            raise UnsupportedAssertionError("left out", f"it fills in the variable {name!r:.40}, which {what}")
        parts[2 * at + 1] = js_text(found)
    return "".join(parts)


def js_text(value: Any) -> str:
    """A value as JavaScript writes it.

    >>> js_text(True), js_text(2.0), js_text("x")
    ('true', '2', 'x')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def _share(said: Any) -> float | None:
    is_share = isinstance(said, (int, float)) and not isinstance(said, bool) and 0 <= said <= 1
    return float(said) if is_share else None


def _least(said: Mapping[str, Any], usual: float) -> float:
    """The threshold of an assertion, which is a number from 0 to 1, or the usual one."""
    least = said.get("threshold")
    found = usual if least is None else _share(least)
    if found is None:
        raise UnsupportedAssertionError("left out", "its `threshold` is not a number from 0 to 1")
    return found


def _text(value: Any) -> str:
    if value is None or value == "":
        raise UnsupportedAssertionError("left out", "it has no `value`")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise UnsupportedAssertionError("left out", "its `value` is not a text")
    return js_text(value)


def _required_text(value: Any) -> str:
    """Only a text, as the assertion takes nothing else."""
    if not isinstance(value, str):
        raise UnsupportedAssertionError("left out", "its `value` is not a text")
    return _text(value)


def _texts(value: Any) -> list[str]:
    items = [js_text(item) for item in value] if isinstance(value, list) else _between_commas(_required_text(value))
    if not items or not all(items):
        raise UnsupportedAssertionError("left out", "it names no text, or an empty one")
    return items


def _between_commas(text: str) -> list[str]:
    """Split texts at commas; texts with commas are quoted."""
    found: list[str] = []
    rest = text.lstrip(", \t\r\n")
    while rest:
        quoted = _QUOTED.match(rest)
        if rest.startswith('"') and quoted is None:
            raise UnsupportedAssertionError(
                "left out", "a quote in its `value` is not closed, or something stands behind it"
            )
        if quoted is not None:
            found.append(re.sub(r'\\(["\\])|""', lambda sign: sign[1] or '"', quoted[1]))
            rest = rest[quoted.end() :]
        else:
            one, _, rest = rest.partition(",")
            found.append(one.strip())
        rest = rest.lstrip(", \t\r\n")
    return found


Found = tuple[str, Data, Any]


def _equals(value: Any, said: Mapping[str, Any]) -> Found:
    if value is None or value == "":
        raise UnsupportedAssertionError("left out", "it has no `value`")
    if isinstance(value, (dict, list)):
        return "structured_output", {"allow_extras": False, "error_field": None}, value
    if said.get("type") == "not-equals":
        return "regex", {"pattern": re.escape(js_text(value)), "full": True}, None
    return "equals", {}, js_text(value)


def _contains(value: Any, said: Mapping[str, Any], **more: Any) -> Found:
    """Convert `contains`: a required text is the case's reference; a forbidden text is a setting."""
    text = _text(value)
    return ("contains", {"any": [text], **more}, None) if _is_turned(said) else ("contains", more, text)


def _is_turned(said: Mapping[str, Any]) -> bool:
    return str(said.get("type")).startswith("not-")


def _json(value: Any, said: Mapping[str, Any]) -> Found:
    schema = _schema_in(value) if isinstance(value, str) and value.strip() else value
    if schema is None or schema == "":
        return "is_json", {}, None
    if not isinstance(schema, dict):
        raise UnsupportedAssertionError("left out", "its `value` is no JSON Schema")
    if _has_format(schema):
        raise UnsupportedAssertionError("left out", "its schema asks for a `format`, which is not enforced here")
    return "json_schema", {"schema": {"$schema": _DRAFT, **schema}}, None


def _schema_in(text: str) -> Any:
    try:
        return parse_yaml(text, "schema")
    except DataError as fault:
        raise UnsupportedAssertionError("left out", f"its schema cannot be read: {fault}") from None


def _has_format(schema: Any) -> bool:
    if isinstance(schema, dict):
        return isinstance(schema.get("format"), str) or any(map(_has_format, schema.values()))
    return isinstance(schema, list) and any(map(_has_format, schema))


def _starts(value: Any, said: Mapping[str, Any]) -> Found:
    return "regex", {"pattern": f"^{re.escape(_required_text(value))}"}, None


def _regex(value: Any, said: Mapping[str, Any]) -> Found:
    try:
        return "regex", {"pattern": python_pattern(_required_text(value))}, None
    except ValueError as why:
        raise UnsupportedAssertionError("left out", f"its pattern is for JavaScript: {why}") from None


def _similar(value: Any, said: Mapping[str, Any]) -> Found:
    if said.get("provider"):
        raise UnsupportedAssertionError(
            "left out", "it names an embedding model; name it with `embeddings:` in the suite"
        )
    if isinstance(value, list):
        raise UnsupportedAssertionError("left out", "it compares with several texts, and a case has one reference here")
    return "similarity", {"positive": _least(said, SIMILAR)}, _required_text(value)


def _latency(value: Any, said: Mapping[str, Any]) -> Found:
    most = said.get("threshold")
    if not isinstance(most, (int, float)) or isinstance(most, bool) or most <= 0:
        raise UnsupportedAssertionError("left out", "its `threshold` is not a number of milliseconds")
    return "time", {"seconds": most / 1000}, None


def _words(value: Any, said: Mapping[str, Any]) -> Found:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    limits = value if isinstance(value, dict) else {"min": value, "max": value}
    counts = {f"{key}_words": n for key, n in limits.items() if key in ("min", "max") and type(n) is int and n >= 0}
    if not counts or len(counts) < len(limits):
        raise UnsupportedAssertionError("left out", "its `value` is not a count of words")
    return "length", counts, None


def _judged(value: Any, said: Mapping[str, Any]) -> Found:
    if said.get("threshold") is not None:
        raise UnsupportedAssertionError(
            "left out", "it has a threshold for a score, and a criterion here is either met or not"
        )
    return "closed_qa", {"criteria": _required_text(value)}, None


def _closed(value: Any, said: Mapping[str, Any]) -> Found:
    return "closed_qa", {"criteria": _required_text(value)}, None


def _criteria(value: Any, said: Mapping[str, Any]) -> Found:
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(one, list):
        raise UnsupportedAssertionError(
            "left out", "it takes the mean of several criteria; write an assertion for each"
        )
    return "criteria", {"criteria": _required_text(one)}, None


def _factual(value: Any, said: Mapping[str, Any]) -> Found:
    return "factuality", {}, _required_text(value)


def _listed(key: str, **more: Any) -> Any:
    return lambda value, said: ("contains", {key: _texts(value), **more}, None)


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
    "g-eval": lambda said: _least(said, 0.7) or 0.7,  # 0 counts as none there
    # All but a contradiction passes: of the five cases only that one is worth 0.
    "factuality": lambda said: 0.4,
    "model-graded-factuality": lambda said: 0.4,
}
_NOT_HERE = dict.fromkeys(
    ("context-faithfulness", "context-relevance", "context-recall", "answer-relevance"),
    "promptfoo has a model judge it by the variables `query` and `context`, and the metric with a similar name here measures "
    "something else",
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


def assertion_of(check: ExportCheck, case: Case | None, shown: str = "{{input}}") -> Data | None:
    """The assertion that judges as a check does; None where there is none, or the case lacks what it compares with.

    Without a case it is one for all tests. `shown` is how a judge is shown the inputs of a test.
    """
    base = check.scorer.removeprefix("not-")
    is_own = check.metric is not None and base not in ("factuality", "closed_qa", "criteria")
    maker = _rubric_of if is_own else _MAKERS.get(base)
    if maker is None or (check.expects and (case is None or case.expected is None)):
        return None
    if case is None and shows_expected(check):
        return None
    expected = plain(case.expected) if case is not None else None
    try:
        found = (
            rubric_assertion(check, shown, text_of(expected)) if is_own and check.messages else maker(check, expected)
        )
    except NotExpressibleError:
        return None
    if found is None:
        return None
    if check.scorer != base:
        found["type"] = f"not-{found['type']}"
    judge = grader_of(check)
    return {**found, **({"provider": judge} if judge and check.metric is not None else {}), "metric": check.name}


def unsupported_reason(check: ExportCheck, shown: str) -> str:
    """Why a check is not an assertion for any test: the rest of a sentence that names it."""
    if check.metric is not None and check.messages:
        try:
            rubric_assertion(check, shown, "")
        except NotExpressibleError as error:
            return str(error)
    if check.expects and assertion_of(check, Case(id="", expected=""), shown) is not None:
        return "compares with an expected answer, and no case has one"
    return "is not an assertion of promptfoo"


def _rubric_of(check: ExportCheck, expected: Any) -> Data | None:
    """Convert a metric file to a rubric: its description, the meaning of its scores, and the expected answer if needed."""
    metric = check.metric
    if metric is None or metric.needs_history or metric.direction == "lower":
        return None
    options = [f"{label.word}: {label.meaning}" for label in labels_of(metric) if label.meaning]
    shown = [f"A good answer: {text_of(expected)}"] if metric.needs_example_output else []
    lines = [metric.description, metric.measure.description, *options, *shown]
    least = {} if check.threshold is None else {"threshold": check.threshold}
    return {"type": "llm-rubric", "value": "\n".join(line.strip() for line in lines if line.strip()), **least}


def assertions_with_raw_marks(found: Sequence[Data]) -> list[Data]:
    """Protect assertions from promptfoo's templating, except the prompts of rubrics, which are templates."""
    return [
        {key: said if key == "rubricPrompt" else with_raw_marks(said) for key, said in one.items()} for one in found
    ]


def with_raw_marks(value: Any) -> Any:
    """Protect texts with braces from promptfoo's templating by Nunjucks raw marks."""
    if isinstance(value, str):
        return f"{_RAW[0]}{value}{_RAW[1]}" if _BRACES.search(value) and "endraw" not in value else value
    if isinstance(value, list):
        return [with_raw_marks(item) for item in value]
    return {key: with_raw_marks(item) for key, item in value.items()} if isinstance(value, dict) else value


def without_raw_marks(value: Any) -> Any:
    """Data without the marks that `literal` sets.

    >>> without_raw_marks(with_raw_marks(["{{x}}", 1])), with_raw_marks("{{x}}")
    (['{{x}}', 1], '{% raw %}{{x}}{% endraw %}')
    """
    if isinstance(value, str):
        is_raw = value.startswith(_RAW[0]) and value.endswith(_RAW[1]) and value.count("endraw") == 1
        return value[len(_RAW[0]) : -len(_RAW[1])] if is_raw else value
    if isinstance(value, list):
        return [without_raw_marks(item) for item in value]
    return {key: without_raw_marks(item) for key, item in value.items()} if isinstance(value, dict) else value


def _contains_of(check: ExportCheck, expected: Any) -> Data | None:
    before = "i" if check.settings.get("ignore_case") else ""
    for key in ("any", "all"):
        if texts := _as_list(check.settings.get(key)):
            return {"type": f"{before}contains-{key}", "value": texts} if not _both(check) else None
    return {"type": f"{before}contains", "value": text_of(expected)}


def _both(check: ExportCheck) -> bool:
    return bool(check.settings.get("any") and check.settings.get("all"))


def _as_list(said: Any) -> list[str]:
    return [said] if isinstance(said, str) else [str(text) for text in said or ()]


def _regex_of(check: ExportCheck, expected: Any) -> Data | None:
    pattern = check.settings.get("pattern")
    if not pattern or check.settings.get("ignore_case"):
        return None
    return {"type": "regex", "value": f"^(?:{pattern})$" if check.settings.get("full") else pattern}


def _criteria_maker(kind: str) -> Any:
    def made(check: ExportCheck, expected: Any) -> Data | None:
        criteria = check.settings.get("criteria")
        least = {} if check.threshold is None or kind != "g-eval" else {"threshold": check.threshold}
        return {"type": kind, "value": criteria, **least} if criteria else None

    return made


def _similar_of(check: ExportCheck, expected: Any) -> Data:
    least = check.settings.get("positive", 0.9) if check.threshold is None else check.threshold
    return {"type": "similar", "value": text_of(expected), "threshold": least}


def _plain(kind: str) -> Any:
    return lambda check, expected: {"type": kind, "value": expected} if not check.settings else None


_MAKERS: Mapping[str, Any] = {
    "equals": _plain("equals"),
    "contains": _contains_of,
    "regex": _regex_of,
    "is_json": lambda check, expected: {"type": "is-json"},
    "json_schema": lambda check, expected: {"type": "is-json", "value": plain(check.settings.get("schema"))},
    "similarity": _similar_of,
    "time": lambda check, expected: {"type": "latency", "threshold": 1000 * check.settings.get("seconds", 0)},
    "factuality": lambda check, expected: {"type": "factuality", "value": text_of(expected)},
    "closed_qa": _criteria_maker("model-graded-closedqa"),
    "criteria": _criteria_maker("g-eval"),
}


def reference_of(asked: Sequence[AssertionRequest]) -> Any:
    """Choose the reference answer of a case: that of similarity or factuality, else that of equals or contains."""
    for scorers in _REFERENCES:
        for one in asked:
            if one.expected is not None and one.scorer in scorers:
                return one.expected
    return None


def row_checks(asked: Sequence[AssertionRequest], expected: Any) -> list[Data]:
    """Convert checks to a row's metadata; one with another reference than the row's has it in its settings."""
    rows = []
    for one in asked:
        scorer, settings = one.scorer, dict(one.settings)
        if one.expected is not None and canonical(one.expected) != canonical(expected):
            if scorer == "equals":
                scorer, settings = "regex", {"pattern": re.escape(text_of(one.expected)), "full": True}
            elif scorer == "structured_output":
                settings["expected"] = one.expected
            else:
                settings["any"] = [text_of(one.expected)]
        said = {"name": one.name or None, "threshold": one.threshold}
        rows.append({scorer: settings | {key: value for key, value in said.items() if value is not None}})
    return rows
