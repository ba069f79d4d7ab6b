"""Assertions of promptfoo as checks of ours, and back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalmark.exchange.grading import UnfilledError, labels_of
from evalmark.exchange.imported import Fate
from evalmark.exchange.names import from_promptfoo
from evalmark.exchange.portable import Check
from evalmark.exchange.rubrics import compares, grader_of, in_words
from evalmark.scoring import text_of
from evalmark.values import Case, canonical, plain

Data = dict[str, Any]
CODE = ("javascript", "python", "ruby", "webhook")
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_PYTHON_FILE = re.compile(r"file://(?P<path>[^:]+\.py)(?::(?P<function>[A-Za-z_]\w*))?")
_RAW = ("{% raw %}", "{% endraw %}")
_BRACES = re.compile(r"\{\{|\{%|\{#")
SIMILAR = 0.75
"""The threshold of `similar` where a test names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one assertion asks for, in words of ours."""

    scorer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    """What promptfoo calls its metric; empty where it has no name."""
    expected: Any = None
    """The reference answer that it compares with."""
    threshold: float | None = None
    judge: str = ""

    @property
    def shape(self) -> list[Any]:
        """What tests have to share to be judged by one metric: all but the reference answer."""
        return [self.scorer, dict(self.settings), self.name, self.threshold, self.judge, self.expected is not None]


class RefusedError(Exception):
    """An assertion that is not taken over: what becomes of it, and why."""

    def __init__(self, fate: Fate, why: str) -> None:
        super().__init__(why)
        self.fate: Fate = fate
        self.why = why


def read_assertion(said: Mapping[str, Any], variables: Mapping[str, Any]) -> Asked:
    """What an assertion of a test with these variables asks for.

    Raises:
        RefusedError: it is code, or nothing of ours does what it asks.
    """
    kind = str(said.get("type"))
    base = kind.removeprefix("not-")
    if base in CODE:
        raise _code(base, said)
    if "transform" in said or "contextTransform" in said:
        raise RefusedError("refused", "its `transform` is code")
    value = filled(said.get("value"), variables)
    if isinstance(value, str) and value.startswith("file://"):
        raise RefusedError("left out", "it reads a file; write what stands there in its place")
    reader = _READERS.get(base)
    if reader is None:
        raise RefusedError("left out", f"no metric of ours does what {base!r:.40} does")
    scorer, settings, expected = reader(value, said)
    if base != kind:
        if scorer not in ("equals", "contains", "regex", "is_json", "json_schema"):
            raise RefusedError("left out", "a judgement is not turned round here; ask for the contrary")
        scorer = f"not-{scorer}"
    name = str(said.get("metric") or "")
    grader = said.get("provider")
    judge = from_promptfoo(grader) or "" if scorer in JUDGES and isinstance(grader, str) else ""
    least = said.get("threshold") if base in ("g-eval", "answer-relevance", "context-relevance") else None
    least = _share(least)
    return Asked(scorer=scorer, settings=settings, name=name, expected=expected, threshold=least, judge=judge)


def _code(base: str, said: Mapping[str, Any]) -> RefusedError:
    value = said.get("value")
    if base == "python" and isinstance(value, str) and (found := _PYTHON_FILE.fullmatch(value)):
        return RefusedError("refused", f"it is code; look at {found['path']}, and name it with --code {found['path']}")
    if base == "webhook":
        return RefusedError("refused", "it would send the output to an address in the file")
    return RefusedError("refused", "it is code; write it as a Python function of yours, and name that as a metric")


def python_file(said: Mapping[str, Any]) -> tuple[str, str] | None:
    """The file and the function of a Python assertion in a file of its own; None for all else."""
    value = said.get("value")
    found = _PYTHON_FILE.fullmatch(value) if said.get("type") == "python" and isinstance(value, str) else None
    return (found["path"], found["function"] or "get_assert") if found else None


def filled(value: Any, variables: Mapping[str, Any]) -> Any:
    """A value with the variables that it names; other templates stay as they are."""
    if isinstance(value, list):
        return [filled(item, variables) for item in value]
    if not isinstance(value, str) or spoken(value) != value:
        return spoken(value)
    whole = _VARIABLE.fullmatch(value.strip())
    if whole and whole[1] in variables:
        return variables[whole[1]]
    return _VARIABLE.sub(lambda m: text_of(variables[m[1]]) if m[1] in variables else m[0], value)


def _share(said: Any) -> float | None:
    is_share = isinstance(said, (int, float)) and not isinstance(said, bool) and 0 <= said <= 1
    return float(said) if is_share else None


def _text(value: Any) -> str:
    if value is None or value == "":
        raise RefusedError("left out", "it has no `value`")
    return text_of(value)


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [part.strip() for part in _text(value).split(",")]
    texts = [text_of(item) for item in items if text_of(item)]
    if not texts:
        raise RefusedError("left out", "it names no text")
    return texts


Found = tuple[str, Data, Any]


def _equals(value: Any, said: Mapping[str, Any]) -> Found:
    _text(value)
    return ("equals" if isinstance(value, str) else "structured_output"), {}, value


def _json(value: Any, said: Mapping[str, Any]) -> Found:
    return ("json_schema", {"schema": value}, None) if isinstance(value, dict) else ("is_json", {}, None)


def _similar(value: Any, said: Mapping[str, Any]) -> Found:
    least = _share(said.get("threshold"))
    return "similarity", {"positive": SIMILAR if least is None else least}, _text(value)


def _latency(value: Any, said: Mapping[str, Any]) -> Found:
    most = said.get("threshold")
    if not isinstance(most, (int, float)) or isinstance(most, bool) or most <= 0:
        raise RefusedError("left out", "its `threshold` is no number of milliseconds")
    return "time", {"seconds": most / 1000}, None


def _words(value: Any, said: Mapping[str, Any]) -> Found:
    limits = value if isinstance(value, dict) else {"min": value, "max": value}
    counts = {f"{key}_words": n for key in ("min", "max") if type(n := limits.get(key)) is int and n >= 0}
    if not counts:
        raise RefusedError("left out", "its `value` is no count of words")
    return "length", counts, None


def _judged(value: Any, said: Mapping[str, Any]) -> Found:
    if said.get("rubricPrompt"):
        raise RefusedError("left out", "it has a prompt of its own; write it as a metric file")
    return (
        "closed_qa",
        {"criteria": _text(value if not isinstance(value, list) else "\n".join(map(text_of, value)))},
        None,
    )


def _criteria(value: Any, said: Mapping[str, Any]) -> Found:
    return "criteria", _judged(value, said)[1], None


def _listed(key: str, **more: Any) -> Any:
    return lambda value, said: ("contains", {key: _texts(value), **more}, None)


_READERS = {
    "equals": _equals,
    "contains": lambda value, said: ("contains", {}, _text(value)),
    "icontains": lambda value, said: ("contains", {"ignore_case": True}, _text(value)),
    "contains-any": _listed("any"),
    "contains-all": _listed("all"),
    "icontains-any": _listed("any", ignore_case=True),
    "icontains-all": _listed("all", ignore_case=True),
    "starts-with": lambda value, said: ("regex", {"pattern": f"^{re.escape(_text(value))}"}, None),
    "regex": lambda value, said: ("regex", {"pattern": _text(value)}, None),
    "is-json": _json,
    "similar": _similar,
    "similar:cosine": _similar,
    "latency": _latency,
    "word-count": _words,
    "llm-rubric": _judged,
    "model-graded-closedqa": _judged,
    "g-eval": _criteria,
    "factuality": lambda value, said: ("factuality", {}, _text(value)),
    "model-graded-factuality": lambda value, said: ("factuality", {}, _text(value)),
    "context-faithfulness": lambda value, said: ("faithfulness", {}, None),
    "context-relevance": lambda value, said: ("context_relevance", {}, None),
    "answer-relevance": lambda value, said: ("answer_question_relevance", {}, None),
}
TYPES = frozenset((*_READERS, *CODE, "levenshtein", "rouge-n", "bleu", "meteor", "cost", "perplexity", "moderation"))
"""Types that a cell of a CSV file may name; any other text before a colon is part of an answer."""
JUDGES = ("closed_qa", "criteria", "factuality", "faithfulness")


def assertion_of(check: Check, case: Case | None, shown: str = "{{input}}") -> Data | None:
    """The assertion that judges as a check does; None where there is none, or the case lacks what it compares with.

    Without a case it is one for all tests. `shown` is how a judge is shown the inputs of a test.
    """
    base = check.scorer.removeprefix("not-")
    is_own = check.metric is not None and base not in ("factuality", "closed_qa", "criteria")
    maker = _rubric_of if is_own else _MAKERS.get(base)
    if maker is None or (check.expects and (case is None or case.expected is None)):
        return None
    if case is None and compares(check):
        return None
    expected = plain(case.expected) if case is not None else None
    try:
        found = in_words(check, shown, text_of(expected)) if is_own and check.messages else maker(check, expected)
    except UnfilledError:
        return None
    if found is None:
        return None
    if check.scorer != base:
        found["type"] = f"not-{found['type']}"
    judge = grader_of(check)
    return {**found, **({"provider": judge} if judge and check.metric is not None else {}), "metric": check.name}


def refusal(check: Check, shown: str) -> str:
    """Why a check is no assertion for any test: the rest of a sentence that names it."""
    if check.metric is not None and check.messages:
        try:
            in_words(check, shown, "")
        except UnfilledError as error:
            return str(error)
    if check.expects and assertion_of(check, Case(id="", expected=""), shown) is not None:
        return "compares with an expected answer, and no case has one"
    return "is no assertion of promptfoo"


def _rubric_of(check: Check, expected: Any) -> Data | None:
    """A metric file as a rubric: what it looks at, what its scores stand for, and a good answer where it shows one."""
    metric = check.metric
    if metric is None or metric.needs_history or metric.direction == "lower":
        return None
    options = [f"{label.word}: {label.meaning}" for label in labels_of(metric) if label.meaning]
    shown = [f"A good answer: {text_of(expected)}"] if metric.needs_example_output else []
    lines = [metric.description, metric.measure.description, *options, *shown]
    least = {} if check.threshold is None else {"threshold": check.threshold}
    return {"type": "llm-rubric", "value": "\n".join(line.strip() for line in lines if line.strip()), **least}


def literal_assertions(found: Sequence[Data]) -> list[Data]:
    """Assertions in which promptfoo finds no template to fill but the prompts of rubrics, which are meant as such."""
    return [{key: said if key == "rubricPrompt" else literal(said) for key, said in one.items()} for one in found]


def literal(value: Any) -> Any:
    """Data in which promptfoo finds no template to fill: texts with braces stand between marks of Nunjucks."""
    if isinstance(value, str):
        return f"{_RAW[0]}{value}{_RAW[1]}" if _BRACES.search(value) and "endraw" not in value else value
    if isinstance(value, list):
        return [literal(item) for item in value]
    return {key: literal(item) for key, item in value.items()} if isinstance(value, dict) else value


def spoken(value: Any) -> Any:
    """Data without the marks that `literal` sets.

    >>> spoken(literal(["{{x}}", 1])), literal("{{x}}")
    (['{{x}}', 1], '{% raw %}{{x}}{% endraw %}')
    """
    if isinstance(value, str):
        is_raw = value.startswith(_RAW[0]) and value.endswith(_RAW[1]) and value.count("endraw") == 1
        return value[len(_RAW[0]) : -len(_RAW[1])] if is_raw else value
    if isinstance(value, list):
        return [spoken(item) for item in value]
    return {key: spoken(item) for key, item in value.items()} if isinstance(value, dict) else value


def _contains_of(check: Check, expected: Any) -> Data | None:
    before = "i" if check.settings.get("ignore_case") else ""
    for key in ("any", "all"):
        if texts := _as_list(check.settings.get(key)):
            return {"type": f"{before}contains-{key}", "value": texts} if not _both(check) else None
    return {"type": f"{before}contains", "value": text_of(expected)}


def _both(check: Check) -> bool:
    return bool(check.settings.get("any") and check.settings.get("all"))


def _as_list(said: Any) -> list[str]:
    return [said] if isinstance(said, str) else [str(text) for text in said or ()]


def _regex_of(check: Check, expected: Any) -> Data | None:
    pattern = check.settings.get("pattern")
    if not pattern or check.settings.get("ignore_case"):
        return None
    return {"type": "regex", "value": f"^(?:{pattern})$" if check.settings.get("full") else pattern}


def _asked_of(kind: str) -> Any:
    def made(check: Check, expected: Any) -> Data | None:
        criteria = check.settings.get("criteria")
        least = {} if check.threshold is None or kind != "g-eval" else {"threshold": check.threshold}
        return {"type": kind, "value": criteria, **least} if criteria else None

    return made


def _similar_of(check: Check, expected: Any) -> Data:
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
    "closed_qa": _asked_of("model-graded-closedqa"),
    "criteria": _asked_of("g-eval"),
}


def as_row(asked: Sequence[Asked], expected: Any) -> list[Data]:
    """Checks as a row keeps them for itself; one that compares with another text than the row's holds it in its settings."""
    rows = []
    for one in asked:
        scorer, settings = one.scorer, dict(one.settings)
        is_other = one.expected is not None and canonical(one.expected) != canonical(expected)
        if is_other and scorer.removeprefix("not-") == "equals":
            scorer = scorer.replace("equals", "regex")
            settings = {"pattern": re.escape(text_of(one.expected)), "full": True}
        elif is_other and scorer.removeprefix("not-") == "contains":
            settings["any"] = [text_of(one.expected)]
        said = {"name": one.name or None, "threshold": one.threshold}
        rows.append({scorer: settings | {key: value for key, value in said.items() if value is not None}})
    return rows
