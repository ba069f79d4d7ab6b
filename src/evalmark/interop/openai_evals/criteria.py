"""Convert checks to testing criteria of OpenAI's evals API, and back."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.text import count
from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.serialization import json_text
from evalmark.interop.shared.export_run import ExportCheck
from evalmark.interop.shared.grader_prompts import NotExpressibleError, labels_of, messages_of
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.import_options import DEFAULT_OPTIONS, ImportOptions
from evalmark.interop.shared.items import case_data_of, dict_or_empty, generated_row_id, is_number, texts_of
from evalmark.interop.shared.model_names import openai_model_name
from evalmark.scoring.judges.metric import MetricFile

from .formula import FormulaError
from .foundry import grader_of_foundry
from .grader_json import GraderError, check_grader, graders_in, needs_model, python_graders
from .graders import grader_module

OUTPUT = "{{sample.output_text}}"
EXPECTED = "{{item.expected}}"
_ITEM = re.compile(r"\{\{\s*item\.([A-Za-z_]\w*)\s*\}\}")
_OUTPUT = re.compile(r"\{\{\s*sample\.output_text\s*\}\}")
_ANY = re.compile(r"\{\{.*?\}\}|\{%|%\}", re.DOTALL)
GRADER = "evalmark.scorers:OpenAIGrader"
MODEL_GRADER = "evalmark.scorers:OpenAIModelGrader"
EMBEDDINGS = "openai/text-embedding-3-large"
"""The embedding model of OpenAI's `cosine` metric."""

Data = dict[str, Any]


class NoCriterionError(Exception):
    """A check or criterion has no equivalent; the text completes a sentence that begins with its name."""


def criteria_of(check: ExportCheck, variables: Mapping[str, str]) -> list[Data]:
    """Convert a check to criteria; `variables` fill the slots of a judge's question.

    Raises:
        NoCriterionError: there is no equivalent.
    """
    if check.scorer in (GRADER, MODEL_GRADER):
        return [_own_grader(check)]
    if check.metric is not None:
        return [_judged(check, check.metric, variables)]
    if check.scorer in _MAKERS:
        return _MAKERS[check.scorer](check)
    raise NoCriterionError("has no equivalent among the API's graders")


def _own_grader(check: ExportCheck) -> Data:
    """Return the grader of a metric that was imported, with the keys that exported items have."""
    grader = json.dumps({**dict_or_empty(check.settings.get("grader")), "name": check.name})
    if expected := check.settings.get("expected"):
        grader = re.sub(rf"\{{\{{\s*item\.{re.escape(expected)}\s*\}}\}}", EXPECTED, grader)
    if graded := check.settings.get("graded"):
        grader = re.sub(rf"\{{\{{\s*item\.{re.escape(graded)}\s*\}}\}}", OUTPUT, grader)
    found: Data = json.loads(grader)
    return found


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


class EvalKeys(NamedTuple):
    """Which keys of an eval's items are fields of a case."""

    expected: str = ""
    """The key of the reference answer; empty if there is none."""
    graded: str = ""
    """The key of the output, if the items have the outputs; empty if a sample has them."""
    only_texts: bool = True
    """Whether every reference answer is a text."""

    def case(self, item: Mapping[str, Any]) -> Data:
        """Return the fields of the case of an item."""
        rest = {key: value for key, value in item.items() if key != self.graded}
        case = case_data_of(rest, self.expected or None)
        return case if "id" in rest else {**case, "id": generated_row_id(item if not self.graded else rest)}

    @property
    def settings(self) -> Data:
        """The settings of a grader that name the keys."""
        return {key: value for key, value in (("expected", self.expected), ("graded", self.graded)) if value}


def keys_of(criteria: Any, items: Iterable[Any]) -> EvalKeys:
    """Return the keys of an eval's items, by its criteria and the items themselves."""
    rows = [item for item in items if isinstance(item, dict)]
    expected = reference_of(criteria) or ""
    if not expected and rows:
        case = case_data_of(rows[0])
        expected = next((key for key, value in rows[0].items() if "expected" in case and value is case["expected"]), "")
    graded = _graded_key(criteria)
    values = [row[expected] for row in rows if expected in row]
    return EvalKeys(expected, "" if graded == expected else graded, all(isinstance(value, str) for value in values))


def reference_of(criteria: Any) -> str | None:
    """Return the item key of the reference answer, according to the string and similarity graders."""
    for criterion in criteria if isinstance(criteria, list) else ():
        if not isinstance(criterion, dict):
            continue
        reference = criterion.get("reference")
        if criterion.get("type") == "azure_ai_evaluator":
            reference = dict_or_empty(criterion.get("data_mapping")).get("ground_truth")
        elif criterion.get("type") not in ("string_check", "text_similarity"):
            continue
        if found := _ITEM.fullmatch(str(reference or "").strip()):
            return found[1]
    return None


def _graded_key(criteria: Any) -> str:
    """Return the item key of the output, if graders read it there and none reads a sample."""
    if "sample." in json_text(criteria):
        return ""
    texts = [
        dict_or_empty(one.get("data_mapping")).get("response") or one.get("input")
        for one in (criteria if isinstance(criteria, list) else ())
        if isinstance(one, dict)
    ]
    found = {match[1] for text in texts if isinstance(text, str) and (match := _ITEM.fullmatch(text.strip()))}
    return found.pop() if len(found) == 1 else ""


def read_criterion(
    criterion: Mapping[str, Any],
    place: str,
    builder: ImportBuilder,
    keys: EvalKeys,
    options: ImportOptions = DEFAULT_OPTIONS,
) -> None:
    """Add the metric of a criterion to the import, or record why there is none.

    Args:
        criterion: the grader.
        place: where it is, with its path in the file.
        builder: the import.
        keys: the keys of the eval's items.
        options: `code` names the Python graders that may run.
    """
    kind = str(criterion.get("type"))
    name = str(criterion.get("name") or kind)
    what = f"{place} {name!r} ({kind})"
    try:
        draft, how = _draft(criterion, name, keys, builder)
    except (GraderError, FormulaError, NoCriterionError) as error:
        builder.part(what, "left out", f"it {error}")
        return
    if code := python_graders(dict_or_empty(draft.settings.get("grader"))):
        if not (options.allows() or name in options.code or options.allows(Path(place.partition(":")[0]))):
            flag = f"--code {shlex.quote(name)}, or --code all"
            builder.part(what, "left out", f"it is Python code; read it, and let it run with {flag}")
            return
        draft = _with_code(draft, keys, builder)
        how = f"{draft.scorer.partition(':')[0]}.py has the code of {count(len(code), 'grader')}"
    builder.metrics.append(draft)
    changed = how.startswith("changed: ")
    builder.part(what, "changed" if changed else "kept", how.removeprefix("changed: "))


def _draft(criterion: Mapping[str, Any], name: str, keys: EvalKeys, builder: ImportBuilder) -> tuple[MetricDraft, str]:
    """Return the metric of a grader, and what it is, with `changed: ` if it differs.

    Raises:
        GraderError, FormulaError, NoCriterionError: there is none.
    """
    if criterion.get("type") == "azure_ai_evaluator":
        grader, how = grader_of_foundry(criterion)
        return _grader_draft(grader, name, keys), f"changed: {how}"
    if (plain := _built_in(criterion, name, keys)) is not None:
        return plain, f"metric {plain.scorer} {name!r}"
    if criterion.get("type") == "text_similarity" and criterion.get("evaluation_metric") == "cosine":
        return _cosine(criterion, name, keys, builder)
    check_grader(criterion)
    draft = _grader_draft(criterion, name, keys)
    how = f"metric {draft.scorer.partition(':')[2]} {name!r}, with the grader unchanged"
    if needs_model(criterion):
        how = f"changed: {how}; the judge is also told to reply with a reason before the verdict"
    return draft, how


def _grader_draft(grader: Mapping[str, Any], name: str, keys: EvalKeys) -> MetricDraft:
    asks = needs_model(grader)
    models = [str(one.get("model")) for one in (grader, *graders_in(grader).values()) if one.get("model")]
    judge = models[0] if models else ""
    return MetricDraft(
        name=name,
        scorer=MODEL_GRADER if asks else GRADER,
        settings={"grader": dict(grader), **keys.settings, "name": name},
        judge=judge if "/" in judge or not judge else f"openai/{judge}",
    )


def _with_code(draft: MetricDraft, keys: EvalKeys, builder: ImportBuilder) -> MetricDraft:
    """Return the metric with the code of its graders in a Python file beside the suite."""
    grader = draft.settings["grader"]
    text = grader_module(grader, {**keys.settings, "name": draft.name})
    module = f"grader_{fingerprint(text)[:10]}"
    builder.files[f"{module}.py"] = text
    return replace(draft, scorer=f"{module}:scorer", settings={})


def _built_in(criterion: Mapping[str, Any], name: str, keys: EvalKeys) -> MetricDraft | None:
    """Return a built-in check that means the same as a string check; None if there is none."""
    operation, reference = str(criterion.get("operation")), criterion.get("reference")
    graded = _OUTPUT.fullmatch(str(criterion.get("input", "")).strip()) or (
        keys.graded and _ITEM.fullmatch(str(criterion.get("input", "")).strip())
    )
    if criterion.get("type") != "string_check" or not graded or not isinstance(reference, str):
        return None
    if (match := _ITEM.fullmatch(reference.strip())) is not None:
        if match[1] != keys.expected or not keys.only_texts:
            return None
        scorers: dict[Any, tuple[str, Data]] = {
            "eq": ("equals", {}),
            "ne": ("not-equals", {}),
            "like": ("contains", {}),
            "ilike": ("contains", {"ignore_case": True}),
        }
    elif not reference or _ANY.search(reference):
        return None
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


def _cosine(criterion: Mapping[str, Any], name: str, keys: EvalKeys, builder: ImportBuilder) -> tuple[MetricDraft, str]:
    """Return the metric of a grader that compares embeddings."""
    least = criterion.get("pass_threshold")
    reference = _ITEM.fullmatch(str(criterion.get("reference", "")).strip())
    if not _OUTPUT.fullmatch(str(criterion.get("input", "")).strip()) or not reference or reference[1] != keys.expected:
        raise NoCriterionError("compares embeddings of something else than the output and the expected answer")
    if not (is_number(least) and 0 <= least <= 1):
        raise NoCriterionError(f"passes from {least!r:.40}, which is not a number from 0 to 1")
    draft = MetricDraft(name=name, scorer="similarity", settings={"positive": least})
    if builder.side is not None:
        return draft, f"metric similarity {name!r}"
    builder.options["embeddings"] = EMBEDDINGS
    return draft, f"metric similarity {name!r}, by {EMBEDDINGS}"
