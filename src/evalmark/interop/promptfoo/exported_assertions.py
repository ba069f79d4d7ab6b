"""Convert checks to promptfoo's assertions."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import plain
from evalmark.interop.promptfoo.rubrics import grader_of, rubric_assertion, shows_expected
from evalmark.interop.shared.export_run import ExportCheck
from evalmark.interop.shared.grader_prompts import NotExpressibleError, labels_of
from evalmark.interop.shared.items import texts_of
from evalmark.scoring.binding.text import text_of

from .variables import with_raw_marks

Data = dict[str, Any]


def assertion_of(check: ExportCheck, case: Case | None, shown: str = "{{input}}") -> Data | None:
    """Convert a check to an assertion; None if there is no equivalent, or the case lacks the reference answer.

    Without a case, the assertion is for all tests. `shown` is the template of the inputs for a judge.
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
        assertion = (
            rubric_assertion(check, shown, text_of(expected)) if is_own and check.messages else maker(check, expected)
        )
    except NotExpressibleError:
        return None
    if assertion is None:
        return None
    if check.scorer != base:
        assertion["type"] = f"not-{assertion['type']}"
    judge = grader_of(check)
    return {**assertion, **({"provider": judge} if judge and check.metric is not None else {}), "metric": check.name}


def unsupported_reason(check: ExportCheck, shown: str) -> str:
    """Return why a check is not an assertion of any test, to complete a sentence that begins with its name."""
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


def assertions_with_raw_marks(assertions: Sequence[Data]) -> list[Data]:
    """Protect assertions from promptfoo's templating, except the prompts of rubrics, which are templates."""
    return [
        {key: value if key == "rubricPrompt" else with_raw_marks(value) for key, value in one.items()}
        for one in assertions
    ]


def _contains_of(check: ExportCheck, expected: Any) -> Data | None:
    before = "i" if check.settings.get("ignore_case") else ""
    for key in ("any", "all"):
        if texts := texts_of(check.settings.get(key)):
            return {"type": f"{before}contains-{key}", "value": texts} if not _both(check) else None
    return {"type": f"{before}contains", "value": text_of(expected)}


def _both(check: ExportCheck) -> bool:
    return bool(check.settings.get("any") and check.settings.get("all"))


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
