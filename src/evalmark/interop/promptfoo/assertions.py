"""Convert promptfoo's assertions to checks."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.values.plain_data import canonical
from evalmark.inputs.documents.document import load_document
from evalmark.inputs.documents.files import allowed_path
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.strict_yaml import parse_yaml
from evalmark.inputs.documents.text import read_text
from evalmark.interop.shared.assertions import JUDGED, PROMPTFOO, SET, SIMILAR
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.interop.shared.model_names import from_promptfoo, is_callable_model
from evalmark.prompts.templates.interpreter import RenderBudget, render_template
from evalmark.prompts.templates.template import BrokenTemplateError
from evalmark.scoring.binding.text import text_of

from .checks import CHECKS
from .javascript.syntax import UnsupportedJavascriptError, value_of_last_line
from .patterns import python_pattern
from .scorers import javascript_program, transform_program
from .templates import converted

Data = dict[str, Any]
CODE = ("javascript", "python", "ruby", "webhook")
_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*-?\}\}")
_RAW = ("{% raw %}", "{% endraw %}")
_BRACES = re.compile(r"\{\{|\{%|\{#")
NO_OPTIONS: Mapping[str, Any] = {}
_KEYS = (
    "type", "value", "metric", "weight", "threshold", "provider", "rubricPrompt", "description", "transform", "config",
    "contextTransform", "factuality",
)  # fmt: skip
_QUOTED = re.compile(r'"((?:\\.|""|[^"\\])*)"\s*(?=,|$)', re.DOTALL)
_DRAFT = "http://json-schema.org/draft-07/schema#"
"""promptfoo's default JSON Schema draft."""
_REFERENCES = (("similarity", "factuality"), ("equals", "structured_output"), ("contains",))
"""Scorers that compare with a reference; those that always need one come first."""
SIMILAR_COSINE = 0.75
"""promptfoo's default threshold of `similar`."""
_JUDGE_SETTINGS = {"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "seed": "seed"}
_NO_EFFECT_ON_JUDGE = ("apiKey", "apiKeyEnvar", "maxRetries", "organization")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionRequest:
    """One assertion, converted to a scorer with settings."""

    scorer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    """The name of its promptfoo metric; empty if it has none."""
    expected: Any = None
    """The reference answer with which it compares; several in a list, if it takes the closest."""
    threshold: float | None = None
    judge: str = ""
    contexts: tuple[str, ...] = ()
    """The passages that the case needs."""
    change: str = ""
    """How its meaning differs from that in promptfoo; empty if it does not."""
    transforms: tuple[str, ...] = ()
    """JavaScript that changes the output before a judge or an embedding model sees it."""
    members: "tuple[AssertionRequest, ...]" = ()
    """The assertions of a set."""
    where: str = ""
    """The location and the type of the assertion in the file."""

    @property
    def shape(self) -> list[Any]:
        """What assertions must have in common to become one metric: everything but the reference answer."""
        options = [self.name, self.threshold, self.judge, self.expected is not None, list(self.transforms)]
        return [self.scorer, dict(self.settings), *options]


class UnsupportedAssertionError(Exception):
    """An assertion cannot be converted; it has the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionScope:
    """What the assertions of a test may refer to."""

    variables: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    """The folder of the config."""
    graders: Mapping[str, str] = field(default_factory=dict)
    """The models that take the place of providers."""


def read_assertion(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert an assertion of a test.

    Raises:
        UnsupportedAssertionError: it is code that is not computed, or no scorer of evalmark is equivalent.
    """
    kind = str(assertion.get("type"))
    base = kind.removeprefix("not-")
    if base == "assert-set":
        return _set(assertion, scope)
    if base in CODE and not (base == "javascript" and is_inline(assertion.get("value"))):
        raise _code(base, assertion)
    if assertion.get("contextTransform"):
        raise UnsupportedAssertionError("its `contextTransform` is code that makes the context")
    value = fill_variables(_value_of(assertion.get("value"), scope), scope.variables)
    own = {**assertion, "value": value, "transform": [*transforms_in(scope.options), *transforms_in(assertion)]}
    if base == "javascript":
        return _javascript(own)
    if base in _WITHOUT_TEXT:
        own["transform"] = []
    if base in CHECKS and (own["transform"] or assertion.get("weight") == 0):
        found = _computed(base, own)
    else:
        found = (_measured if assertion.get("weight") == 0 else _native)(base, own, scope)
        if found.scorer in (*JUDGED, *SIMILAR):
            found = replace(found, transforms=tuple(own["transform"]))
    return replace(found, name=str(assertion.get("metric") or ""))


def ignored_keys(assertion: Mapping[str, Any]) -> list[str]:
    """Return the keys of an assertion that promptfoo does not know."""
    return [key for key, value in assertion.items() if key not in _KEYS and value is not None]


def is_inline(value: Any) -> bool:
    """Tell whether code stands in the config itself."""
    return isinstance(value, str) and not value.startswith(("file://", "package:"))


def _value_of(value: Any, scope: AssertionScope) -> Any:
    """Return a value, or the content of the file that it names."""
    if isinstance(value, list):
        return [_value_of(item, scope) for item in value]
    if not isinstance(value, str) or is_inline(value):
        return value
    name = value.removeprefix("file://")
    if (
        scope.folder is None
        or value.startswith("package:")
        or not name.lower().endswith((".json", ".yaml", ".yml", ".txt", ".md"))
    ):
        raise UnsupportedAssertionError("its value is made by code, or is in a file that is not read")
    try:
        path = allowed_path(name, scope.folder, scope.folder)
        content = read_text(path).strip() if path.suffix.lower() in (".txt", ".md") else load_document(path).data
    except DataError as fault:
        raise UnsupportedAssertionError(f"its file cannot be read: {fault}") from None
    return _raw(content)


def _raw(content: Any) -> Any:
    """Mark the texts of a file, in which promptfoo fills no variables."""
    return with_raw_marks(content)


def transforms_in(options: Mapping[str, Any]) -> list[str]:
    """Return the code that changes the output before a check.

    Raises:
        UnsupportedAssertionError: it is not computed.
    """
    for key in ("transform", "postprocess"):
        if code := options.get(key):
            try:
                transform_program(code if isinstance(code, str) else "file://")
            except UnsupportedJavascriptError as why:
                raise UnsupportedAssertionError(f"its `{key}` is code that evalmark does not compute: {why}") from None
            return [code]
    return []


def _cleaned(assertion: Mapping[str, Any]) -> Data:
    """Return the keys that a check of promptfoo's own needs."""
    keys = ("type", "value", "threshold", "config", "weight", "transform")
    kept = {key: assertion[key] for key in keys if assertion.get(key) not in (None, [], {})}
    return kept if kept.get("weight") == 0 else {key: value for key, value in kept.items() if key != "weight"}


def _request(assertion: Mapping[str, Any], change: str = "") -> AssertionRequest:
    return AssertionRequest(
        scorer=PROMPTFOO,
        settings={"assertion": _cleaned(assertion)},
        name=str(assertion.get("metric") or ""),
        change=change,
    )


def _javascript(assertion: Mapping[str, Any]) -> AssertionRequest:
    """Convert code in JavaScript that is computed here."""
    _checked_number(assertion, "threshold")
    code, change = str(assertion["value"]), ""
    line = code.strip()
    if "\n" not in code.rstrip() and re.match(r"return\b", line):
        code = line.removeprefix("return").strip()
        change = "promptfoo always fails a single line that begins with `return`; here the line is computed without it"
    try:
        if (with_value := value_of_last_line(code)) is not None:
            code = with_value
            change = "promptfoo always fails code of several lines that returns nothing; here the value of its last line counts"
        javascript_program(code)
    except UnsupportedJavascriptError as why:
        raise UnsupportedAssertionError(
            f"it is code that evalmark does not compute: {why}; with --code all, Node.js runs it"
        ) from None
    return _request({**assertion, "value": code}, change)


def _computed(base: str, assertion: Mapping[str, Any]) -> AssertionRequest:
    """Convert to a check by promptfoo's own definition, after a look at what it needs."""
    _checked_value(base, assertion)
    value, change = assertion.get("value"), _CHANGES.get(base, "")
    if base in ("is-json", "contains-json"):
        _, settings, _ = _contains_json(value, assertion)
        return replace(
            _request({**assertion, "value": settings["assertion"].get("value")}), change=str(settings.get(_CHANGE, ""))
        )
    if base.endswith(("contains-any", "contains-all")):
        value = _texts(value)
    return _request({**assertion, "value": value}, change)


def _checked_number(assertion: Mapping[str, Any], key: str) -> None:
    """Refuse a number that cannot be computed with, such as infinity."""
    number = assertion.get(key)
    if number is not None and not (is_number(number) and -_LARGEST < number < _LARGEST):
        raise UnsupportedAssertionError(f"its `{key}` is not a number")


_LARGEST = 10**15


def _checked_value(base: str, assertion: Mapping[str, Any]) -> None:
    value = assertion.get("value")
    _checked_number(assertion, "threshold")
    if base in ("latency", "cost"):
        if not is_number(assertion.get("threshold")):
            raise UnsupportedAssertionError(f"its `threshold` is not a number, which {base} needs")
    elif base in ("levenshtein", "rouge-n", "starts-with", "regex"):
        _required_text(value)
    elif base in ("bleu", "gleu", "tool-call-f1"):
        _texts(value)
    elif base == "finish-reason" and str(value).lower() not in ("stop", "tool_calls"):
        raise UnsupportedAssertionError("in evalmark, a reply that did not end by itself is an error")
    elif base == "word-count":
        _words(value, assertion)


_CHANGES = {
    "rouge-n": "words and punctuation marks are separated by simpler rules, so that scores differ a little in rare texts",
    "finish-reason": "computed from the output: a reply that is not an error ended with `stop`, or `tool_calls` if it has some",
    "is-html": "read by another HTML parser, which may differ on broken HTML",
}


def _measured(base: str, assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert a check that no deterministic definition has, with a transform or without weight."""
    if assertion["transform"]:
        raise UnsupportedAssertionError(
            "its `transform` changes the output before a judge or an embedding model sees it"
        )
    if base != "llm-rubric":
        raise UnsupportedAssertionError("its weight is 0: promptfoo measures it and never fails it")
    judge, settings, change = _grader(assertion, scope)
    return AssertionRequest(
        scorer="criteria",
        settings={"criteria": _rubric(assertion["value"]), **settings},
        judge=judge,
        change=_joined("graded from A to E, and measured only, as its weight is 0", change),
    )


def _native(base: str, assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert to a scorer of evalmark, or else to a check by promptfoo's own definition."""
    if base in _JUDGED_READERS:
        judge, settings, change = _grader(assertion, scope)
        found = _JUDGED_READERS[base](assertion, scope)
        return replace(
            found, judge=judge, settings={**found.settings, **settings}, change=_joined(found.change, change)
        )
    is_negated = str(assertion.get("type")).startswith("not-")
    reader = _READERS.get(base)
    if reader is None and base not in CHECKS:
        raise UnsupportedAssertionError(_UNSUPPORTED.get(base, f"evalmark has no metric for {base!r:.40}"))
    if reader is None or (is_negated and base not in _NEGATED):
        if base in SIMILAR_TYPES:
            raise UnsupportedAssertionError("evalmark cannot negate a similarity; rewrite its condition positively")
        return _computed(base, assertion)
    scorer, settings, expected = reader(assertion["value"], assertion)
    return AssertionRequest(
        scorer=f"not-{scorer}" if is_negated and scorer != PROMPTFOO else scorer,
        settings={key: value for key, value in settings.items() if key != _CHANGE},
        expected=expected,
        change=str(settings.get(_CHANGE, "")),
    )


_CHANGE = " change"
"""The key of a reader's settings that says how the meaning changes."""


def _joined(*changes: str) -> str:
    return "; ".join(change for change in changes if change)


def _set(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    """Convert a set of assertions that passes by its mean score.

    Raises:
        UnsupportedAssertionError: one of them cannot be in a set.
    """
    members: list[AssertionRequest] = []
    weights: list[float] = []
    _checked_number(assertion, "threshold")
    for item in map(dict_or_empty, list_or_empty(assertion.get("assert"))):
        weight = item.get("weight", 1)
        if weight == 0 and item.get("type") != "assert-set":
            continue  # it changes neither the mean nor what passes
        if not is_number(weight) or not 0 <= weight < _LARGEST:
            raise UnsupportedAssertionError("the weight of an assertion of the set is not a number from 0")
        try:
            members.append(read_assertion(item, scope))
        except UnsupportedAssertionError as why:
            raise UnsupportedAssertionError(f"{item.get('type')}: {why.why}") from None
        weights.append(weight)
    if not members:
        raise UnsupportedAssertionError("the set has no assertion that counts")
    if any(one.scorer in SIMILAR or one.contexts for one in members):
        raise UnsupportedAssertionError("a set whose mean counts cannot have checks of similarity or of a context")
    judges = {one.judge for one in members if one.scorer in JUDGED or one.judge}
    if len(judges) > 1:
        raise UnsupportedAssertionError("the assertions of the set have different graders")
    least = assertion.get("threshold")
    settings: Data = {"checks": [row_check(one, None) for one in members]}
    settings |= {"weights": weights} if any(weight != 1 for weight in weights) else {}
    settings |= {"threshold": float(least)} if is_number(least) else {}
    return AssertionRequest(
        scorer=SET,
        settings=settings,
        name=str(assertion.get("metric") or ""),
        judge=next(iter(judges), ""),
        change=_joined(*dict.fromkeys(one.change for one in members)),
        members=tuple(members),
    )


def _grader(assertion: Mapping[str, Any], scope: AssertionScope) -> tuple[str, Data, str]:
    """Return the judge model (empty if none is named), its settings, and what changes."""
    base = str(assertion.get("type")).removeprefix("not-")
    for key in ("rubricPrompt", "factuality"):
        is_read = key == "rubricPrompt" and base in _WITH_OWN_PROMPT
        if (assertion.get(key) or scope.options.get(key)) and not is_read:
            raise UnsupportedAssertionError(f"it has its own `{key}`; write it as a metric file")
    grader = assertion.get("provider") or scope.options.get("provider")
    if isinstance(grader, dict) and "text" in grader:
        grader = grader["text"]
    config = dict_or_empty(grader.get("config")) if isinstance(grader, dict) else {}
    name = grader.get("id") if isinstance(grader, dict) else grader
    if name is None:
        return "", {}, ""
    judge = scope.graders.get(str(name)) or (from_promptfoo(name) if isinstance(name, str) else None)
    if judge is None or not is_callable_model(judge):
        return (
            "",
            {},
            f"its grader {text_of(grader)!r:.60} is not a model that evalmark can call: the suite's judge takes its place",
        )
    settings = {ours: config[key] for key, ours in _JUDGE_SETTINGS.items() if is_number(config.get(key))}
    lost = [key for key in config if key not in (*_JUDGE_SETTINGS, *_NO_EFFECT_ON_JUDGE)]
    change = f"without the grader's `{'`, `'.join(map(str, lost))}`" if lost else ""
    return judge, {"settings": settings} if settings else {}, change


def _code(base: str, assertion: Mapping[str, Any]) -> UnsupportedAssertionError:
    value = assertion.get("value")
    if base == "webhook":
        return UnsupportedAssertionError("it would send the output to an address in the file")
    if base == "ruby":
        return UnsupportedAssertionError("it is code in Ruby, which evalmark does not run")
    if isinstance(value, str) and not is_inline(value):
        named = code_file(value)
        path = named[0] if named else value
        return UnsupportedAssertionError(f"it is code; look at {path}, and name it with --code {path}")
    return UnsupportedAssertionError("it is code; look at it, and allow it with --code all")


_CODE_FILE = re.compile(r"file://(?P<path>[^:]+\.(?:py|js|cjs|mjs|ts|cts|mts))(?::(?P<function>[A-Za-z_]\w*))?")


def code_file(value: Any) -> tuple[str, str] | None:
    """Return file and function of an assertion in a file of its own; None for other values."""
    match = _CODE_FILE.fullmatch(value) if isinstance(value, str) else None
    return (match["path"], match["function"] or "") if match else None


def fill_variables(value: Any, variables: Mapping[str, Any]) -> Any:
    """Fill in the variables of a text, or of the texts in a list, as promptfoo does; a missing one is empty.

    Raises:
        UnsupportedAssertionError: the template does what evalmark's templates cannot, or a variable is not plain.
    """
    if isinstance(value, list):
        return [fill_variables(item, variables) for item in value]
    if not isinstance(value, str) or without_raw_marks(value) != value:
        return without_raw_marks(value)
    parts = _VARIABLE.split(value)
    if any(_BRACES.search(part) for part in parts[::2]):
        return _rendered(value, variables)
    for at, name in enumerate(parts[1::2]):
        parts[2 * at + 1] = _variable(name, variables)
    return "".join(parts)


def _variable(name: str, variables: Mapping[str, Any]) -> str:
    """Return the text of a variable, or of a part of one."""
    if name.startswith("env.") or (name in ("output", "rubric") and name not in variables):
        raise UnsupportedAssertionError(f"it fills in {name!r:.40}, which is no variable of the test")
    content: Any = variables
    for key in name.split("."):
        content = content.get(key) if isinstance(content, Mapping) else None
    if content is None:
        return ""
    if not isinstance(content, (str, int, float)):
        raise UnsupportedAssertionError(f"it fills in the variable {name!r:.40}, which is neither a text nor a number")
    return js_text(content)


def _rendered(value: str, variables: Mapping[str, Any]) -> str:
    """Fill in a template with filters, conditions or loops, which mean the same in promptfoo's template language."""
    try:
        message = render_template(converted(value), dict(variables), RenderBudget())
    except BrokenTemplateError as fault:
        raise UnsupportedAssertionError(f"it is a template that does more than fill in variables: {fault}") from None
    if message.missing or not all(isinstance(piece, str) for piece in message.pieces):
        missing = ", ".join(message.missing) or "a picture"
        raise UnsupportedAssertionError(f"it is a template that needs {missing}, which the test does not have")
    return "".join(map(str, message.pieces))


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
"""The scorer, its settings, and the reference answer."""


def _equals(value: Any, assertion: Mapping[str, Any]) -> Found:
    if value is None:
        raise UnsupportedAssertionError("it has no `value`")
    if value == "" or (isinstance(value, (dict, list)) and _is_negated(assertion)):
        return PROMPTFOO, {"assertion": _cleaned(assertion)}, None
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
    schema = json_schema_of(value)
    if schema is None:
        return "is_json", {}, None
    change = {_CHANGE: "evalmark does not check the `format` of texts in the schema"} if _has_format(schema) else {}
    return "json_schema", {"schema": {"$schema": _DRAFT, **schema}, **change}, None


def json_schema_of(value: Any) -> Data | None:
    """Return the schema in a value, which may be a text with YAML; None if there is none.

    Raises:
        UnsupportedAssertionError: it is not a schema.
    """
    schema = _schema_in(value) if isinstance(value, str) and value.strip() else value
    if schema is None or schema in ("", {}):
        return None
    if not isinstance(schema, dict):
        raise UnsupportedAssertionError("its `value` is not a JSON Schema")
    return schema


def _schema_in(text: str) -> Any:
    try:
        return parse_yaml(text, "schema")
    except DataError as fault:
        raise UnsupportedAssertionError(f"its schema cannot be read: {fault}") from None


def _has_format(schema: Any) -> bool:
    if isinstance(schema, dict):
        return isinstance(schema.get("format"), str) or any(map(_has_format, schema.values()))
    return isinstance(schema, list) and any(map(_has_format, schema))


def _contains_json(value: Any, assertion: Mapping[str, Any]) -> Found:
    schema = json_schema_of(value)
    change = {_CHANGE: "evalmark does not check the `format` of texts in the schema"} if _has_format(schema) else {}
    own = {**assertion, "value": {"$schema": _DRAFT, **schema} if schema else None}
    return PROMPTFOO, {"assertion": _cleaned(own), **change}, None


def _starts(value: Any, assertion: Mapping[str, Any]) -> Found:
    return "regex", {"pattern": f"^{re.escape(_required_text(value))}"}, None


def _regex(value: Any, assertion: Mapping[str, Any]) -> Found:
    text = _required_text(value)
    more: Data = {}
    if text.startswith("(?i)"):
        text = text.removeprefix("(?i)")
        change = "`(?i)` is no JavaScript, so promptfoo always fails it; here the pattern ignores the case of letters"
        more = {"ignore_case": True, _CHANGE: change}
    try:
        return "regex", {"pattern": python_pattern(text), **more}, None
    except ValueError as why:
        raise UnsupportedAssertionError(f"its pattern is for JavaScript: {why}") from None


def _similar(value: Any, assertion: Mapping[str, Any]) -> Found:
    change = {}
    if provider := assertion.get("provider"):
        change = {_CHANGE: f"compared by the suite's embedding model, not by {text_of(provider)!r:.60}"}
    settings = {"positive": _threshold(assertion, SIMILAR_COSINE), **change}
    if isinstance(value, list) and value:
        return "similarity", settings, [_required_text(item) for item in value]
    return "similarity", settings, _required_text(value)


def _latency(value: Any, assertion: Mapping[str, Any]) -> Found:
    most = assertion.get("threshold")
    if not is_number(most) or not 0 < most < _LARGEST:
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


# Judged ones.


def _rubric(value: Any) -> str:
    text = value if isinstance(value, str) else text_of(value)
    if not text.strip():
        raise UnsupportedAssertionError("it has no `value`")
    return text


def _unless_negated(text: str, assertion: Mapping[str, Any]) -> str:
    return f"The opposite of this criterion has to be true of the output: {text}" if _is_negated(assertion) else text


_WITH_OWN_PROMPT = ("llm-rubric", "model-graded-closedqa")


def _with_own_prompt(rubric: str, assertion: Mapping[str, Any], scope: AssertionScope) -> tuple[str, str]:
    """Return the rubric in the user's own prompt for judges, if there is one, and what that changes."""
    found = assertion.get("rubricPrompt") or scope.options.get("rubricPrompt")
    if not found:
        return rubric, ""
    prompt = without_raw_marks(_value_of(found, scope)) if isinstance(found, str) and not is_inline(found) else found
    if isinstance(prompt, str) and prompt.lstrip().startswith("["):
        with suppress(DataError):
            prompt = parse_json(prompt, "rubricPrompt")
    if isinstance(prompt, list):
        prompt = "\n\n".join(str(dict_or_empty(message).get("content", "")) for message in prompt)
    if not isinstance(prompt, str):
        raise UnsupportedAssertionError("its own `rubricPrompt` is neither a text nor a chat")
    shown = {"output": _SHOWN, "completion": _SHOWN, "rubric": rubric, "criteria": rubric}
    filled = fill_variables(prompt, {**scope.variables, **shown})
    return str(filled), "its own prompt becomes the criterion, and evalmark asks for the reply in its own form"


_SHOWN = "(the answer that is shown below)"


def _llm_rubric(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    own, change = _with_own_prompt(_rubric(assertion["value"]), assertion, scope)
    criteria = _unless_negated(own, assertion)
    if assertion.get("threshold") is None:
        change = _joined("the judge answers yes or no, and gives no score between", change)
        return AssertionRequest(scorer="closed_qa", settings={"criteria": criteria}, change=change)
    change = _joined("the judge gives one of five grades, worth from 0 to 1, and no score of its own", change)
    return _criteria_request(criteria, _threshold(assertion, 0.0), change)


def _criteria_request(criteria: str, threshold: float, change: str) -> AssertionRequest:
    return AssertionRequest(scorer="criteria", settings={"criteria": criteria}, threshold=threshold, change=change)


def _closed(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    own, change = _with_own_prompt(_required_text(assertion["value"]), assertion, scope)
    opposite = "evalmark asks for the opposite of the criterion" if _is_negated(assertion) else ""
    settings = {"criteria": _unless_negated(own, assertion)}
    return AssertionRequest(scorer="closed_qa", settings=settings, change=_joined(opposite, change))


def _not_negated(assertion: Mapping[str, Any]) -> None:
    if _is_negated(assertion):
        raise UnsupportedAssertionError("evalmark cannot negate this assertion; rewrite its condition positively")


def _g_eval(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    value, least = assertion["value"], _threshold(assertion, 0.7)
    change = "the judge gives one of five grades, worth from 0 to 1, instead of 0 to 10 by steps that it first writes"
    if not isinstance(value, list) or len(value) == 1:
        return _criteria_request(_required_text(value[0] if isinstance(value, list) else value), least, change)
    members = tuple(_criteria_request(_required_text(item), 0.0, "") for item in value)
    checks = [row_check(one, None) for one in members]
    return AssertionRequest(scorer=SET, settings={"checks": checks, "threshold": least}, change=change, members=members)


def _factual(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    # Everything but a contradiction passes: only a contradiction scores 0.
    change = (
        "a part of the reference scores 0.4 and more than it 0.6, and both pass as in promptfoo, where they score 1"
    )
    expected = _required_text(assertion["value"])
    return AssertionRequest(scorer="factuality", expected=expected, threshold=0.4, change=change)


def _contexts(scope: AssertionScope) -> tuple[str, ...]:
    context = scope.variables.get("context")
    texts = context if isinstance(context, list) else [context]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise UnsupportedAssertionError("the test has no variable `context` with a text")
    return tuple(texts)


def _faithful(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    change = "the share of the claims of the output that the context bears out, asked in evalmark's words"
    least = _threshold(assertion, 0.0)
    return AssertionRequest(scorer="faithfulness", threshold=least, contexts=_contexts(scope), change=change)


_RAG_CRITERIA = {
    "context-recall": "Look at the passages in the input called `context`, and not at the output. Each statement of the "
    "following expected answer can be attributed to these passages; grade by the share of its statements that can. Expected "
    "answer: {value}",
    "context-relevance": "Look at the passages in the input called `context`, and not at the output. Their sentences are needed "
    "to answer the question in the input called `query`; grade by the share of the sentences that are.",
    "answer-relevance": "The output answers the very question in the input called `query`, or the input itself if there is none "
    "of that name: from the output alone one could guess that question. It neither evades it nor answers another one.",
}
"""What promptfoo measures, as criteria; `answer-relevance` is measured there with embeddings of questions that a model guesses."""


def _rag(assertion: Mapping[str, Any], scope: AssertionScope) -> AssertionRequest:
    _not_negated(assertion)
    base = str(assertion["type"])
    if base != "answer-relevance":
        _contexts(scope)
    text = _RAG_CRITERIA[base]
    criteria = text.replace("{value}", _required_text(assertion["value"])) if "{value}" in text else text
    change = "the judge grades what promptfoo measures in five grades, worth from 0 to 1"
    return _criteria_request(criteria, _threshold(assertion, 0.0), change)


def _listed(key: str, **more: Any) -> Any:
    return lambda value, assertion: ("contains", {key: _texts(value), **more}, None)


_READERS: Mapping[str, Callable[[Any, Mapping[str, Any]], Found]] = {
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
    "word-count": _words,
}
_WITHOUT_TEXT = ("latency", "cost", "finish-reason")
"""Types that do not look at what the output says."""
SIMILAR_TYPES = ("similar", "similar:cosine")
_NEGATED = tuple(kind for kind in _READERS if kind not in ("latency", *SIMILAR_TYPES))
_JUDGED_READERS: Mapping[str, Callable[[Mapping[str, Any], AssertionScope], AssertionRequest]] = {
    "llm-rubric": _llm_rubric,
    "model-graded-closedqa": _closed,
    "g-eval": _g_eval,
    "factuality": _factual,
    "model-graded-factuality": _factual,
    "context-faithfulness": _faithful,
    **dict.fromkeys(_RAG_CRITERIA, _rag),
}
_UNSUPPORTED = {
    "select-best": "it compares the outputs of several models; compare their runs with `evalmark compare`",
    "max-score": "it compares the outputs of several models; compare their runs with `evalmark compare`",
    "perplexity": "evalmark keeps no probabilities of tokens with an output",
    "perplexity-score": "evalmark keeps no probabilities of tokens with an output",
    "is-refusal": "promptfoo looks for phrases of a list of its own; write a rubric or a pattern",
    "moderation": "it sends the output to a moderation service",
    "classifier": "it sends the output to a classifier",
    "guardrails": "it reads what the provider's guardrails say, which evalmark does not know",
    **dict.fromkeys(
        ("is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call"),
        "it checks calls against the provider's list of tools, which a suite does not have",
    ),
    **dict.fromkeys(
        ("search-rubric", "agent-rubric"), "its judge uses tools, and judges of evalmark see only what they are shown"
    ),
    **dict.fromkeys(("is-sql", "contains-sql"), "evalmark has no parser of SQL; write a metric of your own"),
}
_OTHERS = (
    "agent-rubric", "answer-relevance", "bleu", "classifier", "contains-html", "contains-json", "contains-sql",
    "contains-xml", "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance", "cost",
    "finish-reason", "gleu", "guardrails", "is-html", "is-refusal", "is-sql", "is-valid-function-call",
    "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "levenshtein", "max-score", "meteor",
    "moderation", "perplexity", "perplexity-score", "pi", "rouge-n", "search-rubric", "select-best", "similar:dot",
    "similar:euclidean", "skill-used", "tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration",
)  # fmt: skip
TYPES = frozenset((*_READERS, *_JUDGED_READERS, *CODE, *_OTHERS))
"""Types that a cell of a CSV file may name; other text before a colon is part of the answer."""


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
            is_several = one.scorer in SIMILAR and isinstance(one.expected, list)
            if one.expected is not None and one.scorer in scorers and not is_several:
                return one.expected
    return None


def row_check(one: AssertionRequest, expected: Any, group: str = "") -> Data:
    """Convert a check to an entry of a row's metadata; one with another reference than the row's has it in its settings."""
    scorer, settings = one.scorer, dict(one.settings)
    if one.expected is not None and canonical(one.expected) != canonical(expected):
        if scorer == "equals":
            scorer, settings = "regex", {"pattern": re.escape(text_of(one.expected)), "full": True}
        elif scorer == "contains":
            settings["any"] = [text_of(one.expected)]
        else:
            settings["expected"] = one.expected
    options = {
        "name": one.name or None,
        "threshold": one.threshold,
        "group": group or None,
        "transform": list(one.transforms) or None,
    }
    return {scorer: settings | {key: value for key, value in options.items() if value is not None}}
