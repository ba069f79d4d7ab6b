"""Export a run as an openai/evals registry: evals in YAML, samples in JSONL, and a log for each target."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import plain
from evalmark.core.values.score import Result, Score
from evalmark.inputs.documents.serialization import file_name, json_line, yaml_text
from evalmark.interop.shared.export_run import ExportCheck, ExportResult, ExportRun
from evalmark.interop.shared.grader_prompts import NotExpressibleError, labels_of, messages_of
from evalmark.interop.shared.items import dict_or_empty, generated_row_id, is_number
from evalmark.interop.shared.results import REST, native_trial, remainder_of, verdicts_of
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.templates.rendering import render
from evalmark.runs.targets.prompt import input_values
from evalmark.scoring.binding.text import text_of

Data = dict[str, Any]
BASIC = "evals.elsuite.basic."
CLASSIFY = "evals.elsuite.modelgraded.classify:ModelBasedClassify"
MATCH = "evalmark.scorers:RegistryMatch"
CLASSIFIER = "evalmark.scorers:RegistryClassify"
CLASS_OF_KIND = {
    "match": f"{BASIC}match:Match",
    "includes": f"{BASIC}includes:Includes",
    "fuzzy_match": f"{BASIC}fuzzy_match:FuzzyMatch",
    "json_match": f"{BASIC}json_match:JsonMatch",
    "json_validator": f"{BASIC}json_validator:JsonValidator",
}
"""The class of each kind of `RegistryMatch`."""
_ROLES = ("system", "user", "assistant")


def to_openai_registry(export: ExportRun) -> ExportResult:
    """Make the files of an export; use the folder with `--registry_path`, or copy it over a registry."""
    remarks = list(export.remarks)
    name = file_name(export.run.name).replace(".", "-")
    cases = {r.trial.case.fingerprint: r.trial.case for results in export.by_target.values() for r in results}
    order = {key: number for number, key in enumerate(cases)}
    files = {f"data/{name}/samples.jsonl": "".join(json_line(sample_of(case, export)) for case in cases.values())}
    evals, graded = _evals(export, name, list(cases.values()), remarks)
    files |= {f"evals/{name}.yaml": yaml_text(evals)} if evals else {}
    files |= {f"modelgraded/{name}.yaml": yaml_text(graded)} if graded else {}
    logs: list[str] = []
    for target, results in export.by_target.items():
        logs.append(log := file_name(target, logs))
        files[f"logs/{log}.jsonl"] = "".join(json_line(row) for row in _log(export, name, target, results, order))
    return ExportResult(files=files | export.side, remarks=tuple(remarks))


def sample_of(case: Case, export: ExportRun) -> Data:
    """Convert a case to a sample: the messages, and the ideal answers if any."""
    ideal = [text_of(value) for value in case.liked]
    answers = {} if not ideal else {"ideal": ideal[0] if len(ideal) == 1 else ideal}
    return {"input": _messages(case, export.prompt), **answers, "id": case.id}


def _messages(case: Case, prompt: Prompt | None) -> Any:
    """Return the messages of a case: those of the rendered prompt, else the input as the user's message."""
    turns = [(turn.role if turn.role in _ROLES else "user", text_of(turn.content)) for turn in case.history]
    if prompt is not None:
        try:
            rendered = [
                (turn.role, text_of(turn.content)) for turn in render(prompt, input_values(prompt, plain(case.input)))
            ]
            return [{"role": role, "content": text} for role, text in (*rendered, *turns)]
        except ConfigError:
            pass
    messages = [*turns, ("user", text_of(case.input))]
    return [{"role": role, "content": text} for role, text in messages]


def _evals(export: ExportRun, name: str, cases: Sequence[Case], remarks: list[str]) -> tuple[Data, Data]:
    evals: Data = {}
    graded: Data = {}
    has_ideal = all(case.liked for case in cases)
    for check in export.checks:
        key = file_name(f"{name}-{check.name}", [other.split(".")[0] for other in evals]).replace(".", "-")
        lacks = not has_ideal and (check.metric is None or check.expects)
        eval_class, why = _class(check, key, {} if lacks else graded, has_ideal)
        if eval_class is not None and lacks:
            eval_class, why = None, "needs a sample with an ideal answer each, and some have none"
        if eval_class is None:
            remarks.append(f"{check.name}: it {why}; only the logs have its scores.")
            continue
        remarks += [f"{check.name}: it {why}."] if why else []
        evals[key] = {
            "id": f"{key}.test.v0",
            "description": f"{check.name} of {export.run.name}",
            "metrics": ["accuracy"],
        }
        evals[f"{key}.test.v0"] = {
            "class": eval_class[0],
            "args": {"samples_jsonl": f"{name}/samples.jsonl", **eval_class[1]},
        }
    return evals, graded


def _class(check: ExportCheck, key: str, graded: Data, has_ideal: bool) -> tuple[tuple[str, Data] | None, str]:
    if check.metric is not None:
        return _model_graded(check, key, graded, has_ideal)
    if check.scorer == MATCH and (kind := check.settings.get("kind")) in CLASS_OF_KIND:
        more = {"ignore_case": True} if check.settings.get("ignore_case") else {}
        return (CLASS_OF_KIND[kind], more), ""
    if check.scorer == CLASSIFIER:
        graded[key] = {**dict_or_empty(check.settings.get("spec")), "input_outputs": {"input": "completion"}}
        options = {"eval_type": check.settings.get("eval_type"), "modelgraded_spec_args": check.settings.get("args")}
        return (CLASSIFY, {"modelgraded_spec": key, **{name: v for name, v in options.items() if v}}), ""
    if check.scorer == "equals" and not check.settings:
        return (f"{BASIC}match:Match", {}), "passes there what only begins with the ideal answer"
    if check.scorer == "contains" and not check.listed:
        more = {"ignore_case": True} if check.settings.get("ignore_case") else {}
        return (f"{BASIC}includes:Includes", more), ""
    return None, "is not a class of the registry"


def _model_graded(check: ExportCheck, key: str, graded: Data, has_ideal: bool) -> tuple[tuple[str, Data] | None, str]:
    metric = check.metric
    labels = labels_of(metric, check.threshold) if metric is not None else []
    if metric is None or not labels:
        return None, "gives a number, and a model-graded eval chooses between words"
    variables = {"input": "\1input\2", "output": "\1completion\2"} | ({"expected": "\1ideal\2"} if has_ideal else {})
    try:
        question = "\n\n".join(text for _, text in messages_of(check, variables))
    except NotExpressibleError as error:
        return None, str(error)
    braced = question.replace("{", "{{").replace("}", "}}").replace("\1", "{").replace("\2", "}")
    graded[key] = {
        "prompt": braced,
        "choice_strings": [label.word for label in labels],
        "choice_scores": {label.word: float(label.passes) for label in labels},
        "input_outputs": {"input": "completion"},
        "eval_type": "cot_classify",
    }
    return (CLASSIFY, {"modelgraded_spec": key}), ""


def _log(export: ExportRun, name: str, target: str, results: Sequence[Result], order: Mapping[str, int]) -> list[Data]:
    """Make the rows of a log: the spec, each output and score, and the pass rates."""
    run_id = export.run.id or generated_row_id([target, export.run.name])
    spec = {
        "completion_fns": [target],
        "eval_name": f"{name}.test.v0",
        "base_eval": name,
        "split": "test",
        "run_config": {},
        "created_by": "",
        "run_id": run_id,
        "created_at": export.run.created,
    }
    rows: list[Data] = [{"spec": spec}]
    for number, result in enumerate(results):
        sample = f"{name}.test.{order[result.trial.case.fingerprint]}"
        for kind, data in _events(export, result, number, target):
            head = {"run_id": run_id, "event_id": len(rows) - 1, "sample_id": sample, "type": kind}
            rows.append({**head, "data": data, "created_by": "", "created_at": export.run.created})
    return [*rows, {"final_report": _shares(results), "run_id": run_id}]


def _events(export: ExportRun, result: Result, number: int, target: str) -> list[tuple[str, Data]]:
    case, output = result.trial.case, result.output
    sampled = [] if output.error is not None else [text_of(output.value)]
    sampling: Data = {"prompt": _messages(case, export.prompt), "sampled": sampled}
    matches = [_match(score, case, sampled) for score, _ in verdicts_of(result)]
    error = [] if output.error is None else [("error", {"type": "error", "message": output.error})]
    native = native_of(sample_of(case, export), sampling, [data for _, data in matches], error[0][1] if error else None)
    native["trial"] = native_trial(export.run.name, target, number)
    return [("sampling", sampling | {REST: remainder_of(result, native)}), *error, *matches]


def _match(score: Score, case: Case, sampled: list[str]) -> tuple[str, Data]:
    fields = {"name": score.name, "correct": score.passed, "score": score.value, "reason": score.reason}
    return "match", {**fields, "expected": plain(case.expected), "sampled": sampled[0] if sampled else None}


def _shares(results: Sequence[Result]) -> dict[str, float]:
    verdicts: dict[str, list[bool]] = {}
    for score in (score for result in results for score in result.scores):
        if score.passed is not None:
            verdicts.setdefault(score.name, []).append(score.passed)
    return {f"{name}/accuracy": sum(passed) / len(passed) for name, passed in verdicts.items()}


def native_of(sample: Data | None, sampling: Data, matches: Sequence[Data], error: Data | None) -> Data:
    """Convert a sample and its events to the form of `result_data`."""
    row = sample or {"input": sampling.get("prompt")}
    sampled = sampling.get("sampled")
    value = sampled[0] if isinstance(sampled, list) and sampled else sampled
    output: Data = {"value": value} if isinstance(value, str) else {}
    if error is not None:
        output = {"error": str(error.get("message") or error.get("type") or "error")}
    return {"case": case_data(row), "output": output, "scores": [_native_score(match) for match in matches]}


def case_data(sample: Mapping[str, Any]) -> Data:
    """Return the fields of the case in a sample; a final user message is the input, other messages are the history."""
    content, ideal = sample.get("input"), sample.get("ideal")
    name = sample.get("id")
    fields: Data = {
        "id": name if isinstance(name, str) and name else generated_row_id([content, ideal]),
        "input": content,
    }
    if isinstance(content, list) and content and all(map(is_message, content)) and content[-1]["role"] == "user":
        fields["input"] = content[-1]["content"]
        fields |= {"history": content[:-1]} if content[:-1] else {}
    elif isinstance(content, list) and content and all(map(is_message, content)) and content[-1]["role"] == "system":
        fields = {"id": fields["id"], "history": content}
    answers = ideal if isinstance(ideal, list) else [ideal]
    if answers and answers[0] is not None:
        fields["expected"] = answers[0]
        fields |= {"examples": [{"value": value, "liked": True} for value in answers[1:]]} if answers[1:] else {}
    rest = {key: value for key, value in sample.items() if key not in ("input", "ideal", "id")}
    return fields | ({"metadata": rest} if rest else {})


def is_message(value: Any) -> bool:
    """Return whether a value is a message with a role and a content, and nothing else."""
    return isinstance(value, dict) and value.keys() == {"role", "content"} and isinstance(value["role"], str)


def _native_score(row: Data) -> Data:
    passed, value = row.get("correct"), row.get("score")
    score: Data = {"name": str(row.get("name") or "match")}
    if isinstance(passed, bool):
        score |= {"passed": passed, "raw": passed, "value": float(passed)}
    if is_number(value) and 0 <= value <= 1:
        score |= {"raw": value, "value": value}
    reason = row.get("reason")
    return score | ({"reason": reason} if isinstance(reason, str) and reason else {})
