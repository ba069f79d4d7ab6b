"""Export a run as prompt files of GitHub Models, one for each model, with results as of `gh models eval --json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.score import Result
from evalmark.inputs.documents.serialization import file_name, json_text, yaml_text
from evalmark.interop.shared.export_run import ExportCheck, ExportResult, ExportRun
from evalmark.interop.shared.grader_prompts import NotExpressibleError, labels_of, messages_of
from evalmark.interop.shared.import_builder import PromptText, prompt_data
from evalmark.interop.shared.items import case_data_of, dict_or_empty, inputs_of, list_or_empty, texts_of
from evalmark.interop.shared.model_names import is_model
from evalmark.interop.shared.results import REST, native_score, native_trial, remainder_of, verdicts_of
from evalmark.scoring.binding.text import text_of

Data = dict[str, Any]
_PARAMETERS = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP"}


def to_github_models(export: ExportRun) -> ExportResult:
    """Make the files of an export."""
    remarks = list(export.remarks)
    files: dict[str, str] = {}
    names: list[str] = []
    evaluators = _evaluators(export, export.shown_inputs, remarks)
    for target, results in export.by_target.items():
        names.append(
            name := file_name(f"{export.run.name}.{target}" if len(export.by_target) > 1 else export.run.name, names)
        )
        files[f"{name}.prompt.yml"] = yaml_text(_prompt(export, target, results, evaluators))
        files[f"{name}.results.json"] = json_text(_results(export, target, results))
    return ExportResult(files=files | export.side, remarks=tuple(remarks))


def _prompt(export: ExportRun, target: str, results: Sequence[Result], evaluators: list[Data]) -> Data:
    prompt = export.prompt
    messages = [{"role": m.role, "content": m.text} for m in prompt.messages] if prompt else []
    more: Data = {"description": prompt.description if prompt and prompt.description else f"Cases of {export.run.name}"}
    if is_model(target):
        more["model"] = target
    settings = prompt.settings if prompt else {}
    parameters = {_PARAMETERS[key]: value for key, value in settings.items() if key in _PARAMETERS}
    more |= {"modelParameters": parameters} if parameters else {}
    if prompt is not None and prompt.schema is not None:
        schema = json_text({"name": "answer", "strict": True, "schema": dict(prompt.schema)})
        more |= {"responseFormat": "json_schema", "jsonSchema": schema}
    text = PromptText(
        name=export.run.name, messages=messages or [{"role": "user", "content": export.shown_inputs}], more=more
    )
    rows = {r.trial.case.fingerprint: row_of(r, export) for r in results}
    return prompt_data(text) | {"testData": list(rows.values())} | ({"evaluators": evaluators} if evaluators else {})


def row_of(result: Result, export: ExportRun) -> Data:
    """Convert a case to a row of `testData`: the prompt's variables and the expected answer."""
    case = result.trial.case
    row = {"id": case.id, **inputs_of(case, export.prompt)}
    return row if case.expected is None else row | {"expected": text_of(case.expected)}


def _evaluators(export: ExportRun, shown: str, remarks: list[str]) -> list[Data]:
    evaluators: list[Data] = []
    for check in export.checks:
        evaluator, why = _evaluator(check, shown)
        if evaluator is None:
            remarks.append(f"{check.name}: it {why}; only the results have its scores.")
        else:
            evaluators.append({"name": check.name, **evaluator})
            remarks += [f"{check.name}: it {why}."] if why else []
    return evaluators


def _evaluator(check: ExportCheck, shown: str) -> tuple[Data | None, str]:
    """Return the evaluator for a check, and how it differs."""
    if check.metric is not None:
        return _judge_evaluator(check, shown)
    if check.scorer == "equals" and not check.settings:
        return {"string": {"equals": "{{expected}}"}}, ""
    if check.scorer == "contains":
        draft = [*texts_of(check.settings.get("any")), *texts_of(check.settings.get("all"))]
        if len(draft) > 1:
            return None, "searches several texts, but an evaluator searches one"
        why = "" if check.settings.get("ignore_case") else "ignores case in GitHub Models"
        return {"string": {"contains": draft[0] if draft else "{{expected}}"}}, why
    return None, "has no equivalent evaluator in GitHub Models"


def _judge_evaluator(check: ExportCheck, shown: str) -> tuple[Data | None, str]:
    metric = check.metric
    judge = check.judge or (metric.judge if metric else None)
    if metric is None or not judge:
        return None, "has no named judge, but an evaluator requires a model"
    variables = {"input": shown, "output": "{{completion}}", "expected": "{{expected}}"}
    labels = labels_of(metric, check.threshold)
    if labels:
        choices = [{"choice": label.word, "score": float(label.passes)} for label in labels]
        # The first choice that occurs anywhere in the reply counts, so longer words come before their parts.
        choices.sort(key=lambda choice: -len(str(choice["choice"])))
        why = (
            "" if metric.measure.kind == "boolean" else "scores 1 for what passes in GitHub Models, and 0 for the rest"
        )
    else:
        low, high = metric.measure.low, metric.measure.high
        if metric.measure.kind != "scale" or high - low > 10:
            return None, "gives a number, but an evaluator chooses between a few words"
        choices = [_step(number, low, high, check) for number in range(high, low - 1, -1)]
        why = "passes in GitHub Models if the score is above 0, which holds from the threshold upwards"
    try:
        messages = messages_of(check, variables)
    except NotExpressibleError as error:
        return None, str(error)
    # GitHub Models fills no variables in a system prompt, so one with variables moves to the user prompt.
    system = [text for role, text in messages if role == "system" and "{{" not in text]
    prompts = [text for role, text in messages if not (role == "system" and "{{" not in text)]
    evaluator: Data = {"modelId": judge, "prompt": "\n\n".join(prompts), "choices": choices}
    return {"llm": evaluator | ({"systemPrompt": "\n\n".join(system)} if system else {})}, why


def _step(number: int, low: int, high: int, check: ExportCheck) -> Data:
    """Return one number of a scale with its value, or 0 if it does not pass."""
    worth = (number - low) / (high - low)
    least = 0.0 if check.threshold is None else check.threshold
    passes = worth <= least + 1e-9 if check.direction == "lower" else worth >= least - 1e-9
    return {"choice": str(number), "score": worth if passes else 0.0}


def _results(export: ExportRun, target: str, results: Sequence[Result]) -> Data:
    rows = [_row(export, result, number) for number, result in enumerate(results)]
    passed = sum(result.verdict in ("pass", "ungated") for result in results)
    return {
        "name": export.run.name,
        "description": f"Results of {target}",
        "model": target,
        "testResults": rows,
        "summary": {
            "totalTests": len(rows),
            "passedTests": passed,
            "failedTests": len(rows) - passed,
            "passRate": 100 * passed / len(rows) if rows else 100.0,
        },
    }


def _row(export: ExportRun, result: Result, number: int) -> Data:
    row: Data = {
        "testCase": row_of(result, export),
        "modelResponse": "" if result.output.error is not None else text_of(result.output.value),
        "evaluationResults": [
            {"evaluatorName": score.name, "score": number, "passed": score.passed, "details": score.reason}
            for score, number in verdicts_of(result)
        ],
    }
    native = native_of(row, export.run.name, result.trial.target or export.run.target or "given", number)
    return row | {REST: remainder_of(result, native)}


def native_of(row: Mapping[str, Any], dataset: str, target: str, number: int) -> Data:
    """Convert a test result to the form of `result_data`."""
    reply = row.get("modelResponse")
    scores = [score for score in list_or_empty(row.get("evaluationResults")) if isinstance(score, dict)]
    return {
        "trial": native_trial(dataset, target, number),
        "case": case_data_of(dict_or_empty(row.get("testCase"))),
        "output": {"value": reply} if isinstance(reply, str) else {},
        "scores": [
            native_score(
                str(score.get("evaluatorName") or "score"),
                score.get("score"),
                score.get("passed"),
                score.get("details"),
            )
            for score in scores
        ],
    }
