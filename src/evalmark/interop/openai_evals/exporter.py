"""Export a run as request bodies of OpenAI's evals API: an eval, and a run for each target.

A client posts `eval.json` and `run.*.json`. `again.*.json` is a run in which the service calls the model again, if the
target was a prompt. `results.*.jsonl` has the results as the API lists them, one output item a line.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalmark.core.values.case import Case
from evalmark.core.values.score import Result, Verdict
from evalmark.inputs.documents.serialization import file_name, json_line, json_text
from evalmark.interop.shared.export_run import ExportResult, ExportRun
from evalmark.interop.shared.items import case_data_of, dict_or_empty, inputs_of, item_of, list_or_empty
from evalmark.interop.shared.model_names import is_model, openai_model_name
from evalmark.interop.shared.results import REST, native_score, native_trial, remainder_of, verdicts_of
from evalmark.prompts.templates.prompt import Prompt
from evalmark.scoring.binding.text import text_of

from .criteria import EXPECTED, OUTPUT, NoCriterionError, criteria_of, reference_of

Data = dict[str, Any]
_SETTINGS = {"max_tokens": "max_completion_tokens"} | {
    name: name for name in ("temperature", "top_p", "seed", "reasoning_effort")
}
_MORE = re.compile(r"\{%|\{#|\{\{(?!item\.\w+\}\})")
STATUS: Mapping[Verdict, str] = {
    "pass": "pass",
    "fail": "fail",
    "error": "error",
    "unscored": "error",
    "ungated": "pass",
}


def to_openai_evals(export: ExportRun) -> ExportResult:
    """Make the files of an export."""
    remarks = list(export.remarks)
    groups = export.by_target
    cases = [result.trial.case for results in groups.values() for result in results]
    body = eval_body(export, cases, remarks)
    expected = reference_of(body["testing_criteria"])
    files = {"eval.json": json_text(body)}
    names: list[str] = []
    for target, results in groups.items():
        names.append(name := file_name(target, names))
        files[f"run.{name}.json"] = json_text(run_body(export, target, results))
        if export.prompt is not None and is_model(target):
            if (again := _model_run_body(export.prompt, target, results)) is not None:
                files[f"again.{name}.json"] = json_text(again)
            else:
                remarks.append(f"{target}: no run that asks the model again: the API fills in variables, and no more.")
        lines = (json_line(_output_item(export, r, n, expected)) for n, r in enumerate(results))
        files[f"results.{name}.jsonl"] = "".join(lines)
    return ExportResult(files=files | export.side, remarks=tuple(remarks))


def eval_body(export: ExportRun, cases: Sequence[Case], remarks: list[str]) -> Data:
    """Make the body of `POST /evals`."""
    items = [item_of(case, export.prompt) for case in cases]
    criteria: list[Data] = []
    for check in export.checks:
        if check.expects and not all("expected" in item for item in items):
            remarks.append(f"{check.name}: it needs an expected answer, and not every case has one.")
            continue
        try:
            criteria += criteria_of(check, _variables(export, cases))
        except NoCriterionError as error:
            remarks.append(f"{check.name}: it {error}; only the results have its scores.")
    return {
        "name": export.run.name,
        "metadata": {"evalmark_run": export.run.id} if export.run.id else {},
        "data_source_config": {"type": "custom", "item_schema": schema_of(items), "include_sample_schema": True},
        "testing_criteria": criteria,
    }


def schema_of(items: Iterable[Mapping[str, Any]]) -> Data:
    """Make a JSON Schema that matches all items: each key with its types, required if all items have it."""
    types: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    total = 0
    for item in items:
        total += 1
        for key, value in item.items():
            types.setdefault(key, set()).add(_type(value))
            counts[key] = counts.get(key, 0) + 1
    properties = {key: {"type": min(kinds) if len(kinds) == 1 else sorted(kinds)} for key, kinds in types.items()}
    return {"type": "object", "properties": properties, "required": [k for k in types if counts[k] == total]}


def _type(value: Any) -> str:
    kinds = ((bool, "boolean"), (str, "string"), ((int, float), "number"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _variables(export: ExportRun, cases: Sequence[Case]) -> dict[str, str]:
    """Return the variables for judges' questions; only those that every item has."""
    names = list(dict.fromkeys(name for case in cases for name in inputs_of(case, export.prompt)))
    one = len(names) == 1
    shown = [f"{{{{item.{name}}}}}" if one else f"{name}: {{{{item.{name}}}}}" for name in names]
    variables = {"input": "\n".join(shown), "output": OUTPUT}
    has = {
        "expected": all(case.expected is not None for case in cases),
        "contexts": all(case.contexts is not None for case in cases),
        "history": all(case.history for case in cases),
    }
    places = {"expected": EXPECTED, "contexts": "{{item.contexts}}", "history": "{{item.history}}"}
    return variables | {slot: text for slot, text in places.items() if has[slot]}


def run_body(export: ExportRun, target: str, results: Sequence[Result]) -> Data:
    """Make the body of `POST /evals/{id}/runs` for existing outputs; results with errors are left out."""
    content = [
        {"item": item_of(r.trial.case, export.prompt), "sample": {"output_text": text_of(r.output.value)}}
        for r in results
        if r.output.error is None
    ]
    source = {"type": "file_content", "content": content}
    return {"name": target, "metadata": {"target": target[:512]}, "data_source": {"type": "jsonl", "source": source}}


def _model_run_body(prompt: Prompt, target: str, results: Sequence[Result]) -> Data | None:
    """Make the body of a run that calls the model again with the prompt's messages.

    None if a template uses more than variables.
    """
    cases = {r.trial.case.fingerprint: r.trial.case for r in results}
    content = [{"item": item_of(case, prompt)} for case in cases.values()]
    template = [{"type": "message", "role": m.role, "content": _with_items(m.text, prompt)} for m in prompt.messages]
    if any(_MORE.search(message["content"]) for message in template):
        return None
    source: Data = {
        "type": "completions",
        "model": openai_model_name(target),
        "source": {"type": "file_content", "content": content},
        "input_messages": {"type": "template", "template": template},
    }
    settings = {
        _SETTINGS[key]: value for key, value in prompt.settings.items() if key in _SETTINGS and value is not None
    }
    if prompt.schema is not None:
        json_schema = {"name": "answer", "schema": dict(prompt.schema)}
        settings["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    return {"name": target, "data_source": source | ({"sampling_params": settings} if settings else {})}


def _with_items(text: str, prompt: Prompt) -> str:
    """Replace the prompt's variables by those of the items."""
    for variable in prompt.inputs:
        for written in (f"{{{{{variable.name}}}}}", f"{{{{ {variable.name} }}}}"):
            text = text.replace(written, f"{{{{item.{variable.name}}}}}")
    return text


def _output_item(export: ExportRun, result: Result, number: int, expected: str | None) -> Data:
    """Convert a result to an output item of the API, with the remainder."""
    trial, item = result.trial, item_of(result.trial.case, export.prompt)
    messages = (
        [] if result.output.error is not None else [{"role": "assistant", "content": text_of(result.output.value)}]
    )
    row: Data = {
        "object": "eval.run.output_item",
        "id": f"outputitem_{number}",
        "datasource_item_id": number,
        "datasource_item": item,
        "status": STATUS[result.verdict],
        "results": [
            {"name": score.name, "score": number, "passed": score.passed, "reason": score.reason}
            for score, number in verdicts_of(result)
        ],
        "sample": {
            "model": openai_model_name(trial.target),
            "input": [],
            "output": messages,
            "error": None if result.output.error is None else {"code": "error", "message": result.output.error},
        },
    }
    native = native_of(row, export.run.name, number, expected)
    return row | {REST: remainder_of(result, native)}


def native_of(item: Mapping[str, Any], dataset: str, number: int, expected: str | None) -> Data:
    """Convert an output item to the form of `result_data`; `number` is its position."""
    sample = dict_or_empty(item.get("sample"))
    scores = [score for score in list_or_empty(item.get("results")) if isinstance(score, dict)]
    return {
        "trial": native_trial(dataset, str(sample.get("model") or ""), number),
        "case": case_data_of(dict_or_empty(item.get("datasource_item")), expected),
        "output": _output_data(sample),
        "scores": [_native_score(score) for score in scores],
    }


def _output_data(sample: Mapping[str, Any]) -> Data:
    if isinstance(error := sample.get("error"), dict) and error.get("message"):
        return {"error": str(error["message"])}
    texts = [message.get("content") for message in list_or_empty(sample.get("output")) if isinstance(message, dict)]
    texts = [text for text in texts if isinstance(text, str)] or [sample.get("output_text")]
    return {"value": texts[-1]} if isinstance(texts[-1], str) else {}


def _native_score(row: Mapping[str, Any]) -> Data:
    name = str(row.get("name") or row.get("type") or "score")
    return native_score(name, row.get("score"), row.get("passed"), row.get("reason"))
