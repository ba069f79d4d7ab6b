"""Convert checks to testing criteria of OpenAI's evals API, and back."""

import re
from collections.abc import Mapping
from typing import Any

from evalmark.interop.shared.export_run import ExportCheck
from evalmark.interop.shared.grader_prompts import NotExpressibleError, labels_of, messages_of
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.items import is_number, list_or_empty, texts_of
from evalmark.interop.shared.model_names import openai_model_name
from evalmark.scoring.judges.metric import MetricFile

OUTPUT = "{{sample.output_text}}"
EXPECTED = "{{item.expected}}"
_ITEM = re.compile(r"\{\{\s*item\.([A-Za-z_]\w*)\s*\}\}")
_SAMPLE = re.compile(r"\{\{\s*sample\.(output_text|output_json)\s*\}\}")
_ANY = re.compile(r"\{\{.*?\}\}|\{%|%\}", re.DOTALL)

Data = dict[str, Any]


class NoCriterionError(Exception):
    """A check or criterion has no equivalent; the text completes a sentence that begins with its name."""


def criteria_of(check: ExportCheck, variables: Mapping[str, str]) -> list[Data]:
    """Convert a check to criteria; `variables` fill the slots of a judge's question.

    Raises:
        NoCriterionError: there is no equivalent.
    """
    if check.metric is not None:
        return [_judged(check, check.metric, variables)]
    if check.scorer in _MAKERS:
        return _MAKERS[check.scorer](check)
    raise NoCriterionError("has no equivalent among the API's graders")


def _equals(check: ExportCheck) -> list[Data]:
    if check.settings.get("ignore_case") or check.settings.get("strip"):
        raise NoCriterionError("ignores case or blanks, but the API compares every letter")
    return [_string(check.name, "ne" if check.scorer.startswith("not-") else "eq", EXPECTED)]


def _contains(check: ExportCheck) -> list[Data]:
    operation = "ilike" if check.settings.get("ignore_case") else "like"
    draft, every = (texts_of(check.settings.get(key)) for key in ("any", "all"))
    if len(draft) > 1:
        raise NoCriterionError("passes with one of several texts, which the API does not support")
    texts = [*draft, *every] or [EXPECTED]
    if any(text != EXPECTED and _ANY.search(text) for text in texts):
        raise NoCriterionError("searches a text with braces, which the API would read as a variable")
    names = [check.name, *(f"{check.name} {number}" for number in range(2, len(texts) + 1))]
    return [_string(name, operation, text) for name, text in zip(names, texts, strict=True)]


def _string(name: str, operation: str, reference: str) -> Data:
    return {"type": "string_check", "name": name, "input": OUTPUT, "reference": reference, "operation": operation}


def _similar(check: ExportCheck) -> list[Data]:
    metric, least = ("fuzzy_match", check.threshold) if check.scorer == "edit_similarity" else ("cosine", None)
    if least is None and metric == "cosine":
        least = check.settings.get("positive", 0.9) if check.threshold is None else check.threshold
    if least is None:
        raise NoCriterionError("has no threshold, which the API requires")
    return [
        {
            "type": "text_similarity",
            "name": check.name,
            "input": OUTPUT,
            "reference": EXPECTED,
            "evaluation_metric": metric,
            "pass_threshold": float(least),
        }
    ]


_MAKERS = {
    "equals": _equals,
    "not-equals": _equals,
    "contains": _contains,
    "similarity": _similar,
    "edit_similarity": _similar,
}


def _judged(check: ExportCheck, metric: MetricFile, variables: Mapping[str, str]) -> Data:
    judge = check.judge or metric.judge or ""
    if not judge:
        raise NoCriterionError("has no named judge, but the API requires a model")
    labels = labels_of(metric, check.threshold)
    if not labels and check.direction == "lower":
        raise NoCriterionError("has better scores the lower they are, but the API passes scores above a threshold")
    head = {"name": check.name, "model": openai_model_name(judge)}
    try:
        messages = [_message(role, text) for role, text in messages_of(check, variables)]
    except NotExpressibleError as error:
        raise NoCriterionError(str(error)) from None
    if labels:
        words = [label.word for label in labels]
        passing = [label.word for label in labels if label.passes]
        return {"type": "label_model", **head, "input": messages, "labels": words, "passing_labels": passing}
    low, high = (metric.measure.low, metric.measure.high) if metric.measure.kind == "scale" else (0, 100)
    criterion: Data = {"type": "score_model", **head, "input": messages, "range": [low, high]}
    if check.threshold is not None:
        criterion["pass_threshold"] = low + check.threshold * (high - low)
    return criterion


def _message(role: str, content: str) -> Data:
    return {"type": "message", "role": role, "content": content}


# From criteria to checks.


def reference_of(criteria: Any) -> str | None:
    """Return the item key of the reference answer, according to the string and similarity graders."""
    for criterion in criteria if isinstance(criteria, list) else ():
        if isinstance(criterion, dict) and criterion.get("type") in ("string_check", "text_similarity"):
            found = _ITEM.fullmatch(str(criterion.get("reference", "")).strip())
            if found:
                return found[1]
    return None


def read_criterion(
    criterion: Mapping[str, Any], place: str, builder: ImportBuilder, expected: str | None = None
) -> None:
    """Add the metric of a criterion to the import, or record why there is none.

    `expected` is the item key of the reference answer, if a criterion names it.
    """
    kind = str(criterion.get("type"))
    name = str(criterion.get("name") or kind)
    what = f"{place} {name!r} ({kind})"
    if kind == "python":
        builder.part(
            what, "left out", "it is code; review it, save it in a Python file, and name its function as a metric"
        )
        return
    reader = _READERS.get(kind)
    try:
        draft = reader(criterion, name, expected) if reader else None
    except NoCriterionError as error:
        builder.part(what, "left out", f"it {error}")
        return
    if draft is None:
        builder.part(what, "left out", "evalmark has no equivalent metric")
        return
    builder.metrics.append(draft)
    builder.part(
        what, "kept", f"metric {draft.scorer or 'file'} {draft.name!r}".replace("metric file", "a metric file")
    )


def _read_string(criterion: Mapping[str, Any], name: str, expected: str | None) -> MetricDraft:
    if not _SAMPLE.fullmatch(str(criterion.get("input", "")).strip()):
        raise NoCriterionError("reads something else than the whole output")
    operation, reference = str(criterion.get("operation")), str(criterion.get("reference", ""))
    if (match := _ITEM.fullmatch(reference.strip())) is not None:
        _check_reference(match[1], expected)
        scorers: dict[str, tuple[str, Data]] = {
            "eq": ("equals", {}),
            "ne": ("not-equals", {}),
            "like": ("contains", {}),
            "ilike": ("contains", {"ignore_case": True}),
        }
    elif _ANY.search(reference):
        raise NoCriterionError("compares with a text made from variables")
    else:
        whole = {"pattern": re.escape(reference), "full": True}
        scorers = {
            "eq": ("regex", whole),
            "ne": ("not-regex", whole),
            "like": ("contains", {"all": [reference]}),
            "ilike": ("contains", {"all": [reference], "ignore_case": True}),
        }
    if operation not in scorers:
        raise NoCriterionError(f"asks for the operation {operation!r:.40}")
    scorer, settings = scorers[operation]
    return MetricDraft(name=name, scorer=scorer, settings=settings)


def _check_reference(key: str, expected: str | None) -> None:
    if key != expected:
        raise NoCriterionError(f"compares with `{key}` of the items, and a case has one expected answer, `{expected}`")


def _read_similar(criterion: Mapping[str, Any], name: str, expected: str | None) -> MetricDraft:
    if not _SAMPLE.fullmatch(str(criterion.get("input", "")).strip()):
        raise NoCriterionError("reads something else than the whole output")
    match = _ITEM.fullmatch(str(criterion.get("reference", "")).strip())
    if match is None:
        raise NoCriterionError("compares with its own text, but an evalmark metric compares with the expected answer")
    _check_reference(match[1], expected)
    metric, least = criterion.get("evaluation_metric"), criterion.get("pass_threshold")
    if not (isinstance(least, (int, float)) and 0 <= least <= 1):
        raise NoCriterionError(f"passes from {least!r:.40}, which is not a number from 0 to 1")
    if metric == "cosine":
        return MetricDraft(name=name, scorer="similarity", settings={"positive": least})
    if metric == "fuzzy_match":
        return MetricDraft(name=name, scorer="edit_similarity", threshold=least)
    raise NoCriterionError(f"measures by {metric!r:.40}, which no evalmark metric computes in the same way")


def _read_labels(criterion: Mapping[str, Any], name: str, expected: str | None) -> MetricDraft:
    labels, passing = criterion.get("labels"), criterion.get("passing_labels")
    if not (isinstance(labels, list) and len(labels) > 1 and isinstance(passing, list)):
        raise NoCriterionError("names fewer than two labels")
    choices = {str(label): 1.0 if label in passing else 0.0 for label in labels}
    score = {"type": "choice", "description": "the label that fits", "choices": choices}
    return _file(criterion, name, (score, 1.0), expected)


def _read_scores(criterion: Mapping[str, Any], name: str, expected: str | None) -> MetricDraft:
    low, high = _range(criterion.get("range"))
    least = criterion.get("pass_threshold")
    share = (least - low) / (high - low) if is_number(least) else None
    if share is not None and not 0 <= share <= 1:
        raise NoCriterionError(f"passes from {least}, outside of its range")
    if low == int(low) and high == int(high) and high - low > 1:
        score = {"type": "scale", "description": "the score", "min": int(low), "max": int(high)}
    else:
        score = {"type": "percentage", "description": f"the share of the way from {low:g} to {high:g}"}
    return _file(criterion, name, (score, share), expected)


def _range(value: Any) -> tuple[float, float]:
    if value is None:
        return 0, 1
    numbers = [n for n in list_or_empty(value) if is_number(n)]
    if len(numbers) != 2 or numbers[0] >= numbers[1]:
        raise NoCriterionError(f"has the range {value!r:.40}, which is not two numbers in order")
    return numbers[0], numbers[1]


def _file(
    criterion: Mapping[str, Any], name: str, measure: tuple[Data, float | None], expected: str | None
) -> MetricDraft:
    score, threshold = measure
    texts = [text for message in list_or_empty(criterion.get("input")) if (text := _text(message)).strip()]
    if not texts:
        raise NoCriterionError("asks its model nothing")
    sections = [slots_of_ours(text, expected) for text in texts]
    if not any("{{output}}" in text for text in sections):
        raise NoCriterionError("does not show its model the output")
    expects = any("{{expected}}" in text for text in sections)
    file = {
        "name": name,
        "config": {"needs_history": False, "needs_example_output": expects},
        "metric_description": name,
        "score": score,
        "threshold": threshold,
        "template": sections,
    }
    model = str(criterion.get("model") or "")
    return MetricDraft(
        name=name,
        judge=model if "/" in model or not model else f"openai/{model}",
        file={key: value for key, value in file.items() if value is not None},
    )


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, dict):
        content = content.get("text")
    if isinstance(content, list):
        return "\n".join(_text({"content": part}) for part in content)
    return content if isinstance(content, str) else ""


def slots_of_ours(text: str, expected: str | None) -> str:
    """Replace the variables of a grader's text by evalmark's slots; other braces are removed.

    The first variable of the input becomes the whole input, and further ones refer to it.
    """
    text = _SAMPLE.sub("\0output\1", text)
    text = _ITEM.sub(lambda found: "\0expected\1" if _is_reference(found[1], expected) else "\0input\1", text)
    head, slot, rest = text.partition("\0input\1")
    text = head + slot + rest.replace("\0input\1", "(in the input above)")
    text = text.replace("{{", "{").replace("}}", "}").replace("{%", "{ %").replace("%}", "% }")
    return text.replace("\0", "{{").replace("\1", "}}")


def _is_reference(key: str, expected: str | None) -> bool:
    """Return whether a key holds the reference answer; if no criterion names the key, its name decides."""
    return (
        key == expected
        if expected is not None
        else key
        in ("expected", "ideal", "reference", "ground_truth", "groundtruth", "expected_output", "correct_label")
    )


_READERS = {
    "string_check": _read_string,
    "text_similarity": _read_similar,
    "label_model": _read_labels,
    "score_model": _read_scores,
}
