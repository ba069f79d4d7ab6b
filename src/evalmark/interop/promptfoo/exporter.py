"""Export a run as a promptfoo config and a result file, version 3."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from evalmark.core.values.case import Case
from evalmark.core.values.plain_data import plain
from evalmark.core.values.score import Result, Score
from evalmark.inputs.documents.serialization import json_text, yaml_text
from evalmark.interop.promptfoo.rubrics import differences
from evalmark.interop.shared.export_run import ExportResult, ExportRun
from evalmark.interop.shared.items import (
    dict_or_empty,
    generated_row_id,
    input_from,
    inputs_of,
    is_number,
    list_or_empty,
)
from evalmark.interop.shared.model_names import from_promptfoo, to_promptfoo
from evalmark.interop.shared.results import REST, native_score, native_trial, remainder_of, verdicts_of
from evalmark.scoring.binding.text import text_of

from .assertion_requests import AssertionRequest, AssertionScope, UnsupportedAssertionError, reference_of
from .assertions import read_assertion
from .exported_assertions import assertion_of, assertions_with_raw_marks, unsupported_reason
from .variables import with_raw_marks

Data = dict[str, Any]
CONFIG, RESULTS = "promptfooconfig.yaml", "results.json"
_PARAMETERS = ("temperature", "max_tokens", "top_p", "seed")
PLAIN_PROMPT = "{{input}}"
_LITERAL = {"vars": with_raw_marks, "assert": assertions_with_raw_marks}
"""Parts of a test that promptfoo reads as templates."""


def to_promptfoo_files(export: ExportRun) -> ExportResult:
    """Make the files of an export."""
    remarks = list(export.remarks)
    groups = export.by_target
    cases = {r.trial.case.fingerprint: r for results in groups.values() for r in results}
    tests = {key: number for number, key in enumerate(cases)}
    shown = export.shown_inputs if cases else PLAIN_PROMPT
    config = _config(export, list(cases.values()), shown, remarks)
    prompt = {"raw": _prompt(export), "label": _prompt(export)[:100]}
    rows = [_row(export, prompt, r, tests[r.trial.case.fingerprint], shown) for rs in groups.values() for r in rs]
    return ExportResult(
        files={CONFIG: yaml_text(config), RESULTS: json_text(_results_file(export, config, rows))} | export.side,
        remarks=tuple(remarks),
    )


def _config(export: ExportRun, results: Sequence[Result], shown: str, remarks: list[str]) -> Data:
    targets = list(export.by_target)
    providers = [_provider(export, target, remarks) for target in targets]
    is_asked = any(to_promptfoo(target) is not None for target in targets)
    common = {check.name: made for check in export.checks if (made := assertion_of(check, None, shown)) is not None}
    everywhere = set(common)
    tests = []
    for result in results:
        test = _test(export, result.trial.case, everywhere, shown)
        if not is_asked and result.output.error is None:
            test["providerOutput"] = text_of(result.output.value)
        tests.append({key: _LITERAL[key](value) if key in _LITERAL else value for key, value in test.items()})
    for check in export.checks:
        if all(assertion_of(check, r.trial.case, shown) is None for r in results):
            remarks.append(f"{check.name}: it {unsupported_reason(check, shown)}; only the results have its scores.")
        else:
            remarks += [f"{check.name}: it {difference}." for difference in differences(check)]
    head: Data = {"description": export.run.name, "prompts": [_prompt(export)], "providers": providers}
    head |= {"defaultTest": {"assert": assertions_with_raw_marks(list(common.values()))}} if common else {}
    return head | {"tests": tests}


def _prompt(export: ExportRun) -> str:
    """Return the prompt under test: a chat as JSON, or a single user message."""
    if export.prompt is None:
        return PLAIN_PROMPT
    messages = [{"role": m.role, "content": m.text} for m in export.prompt.messages]
    return (
        messages[0]["content"] if len(messages) == 1 and messages[0]["role"] == "user" else json_text(messages).strip()
    )


def _provider(export: ExportRun, target: str, remarks: list[str]) -> Any:
    name = to_promptfoo(target)
    if name is None:
        remarks.append(
            f"{target}: it is not a provider of promptfoo, so the config has `echo`; replace it with your own."
        )
        return {"id": "echo", "label": target}
    settings = export.prompt.settings if export.prompt else {}
    config = {key: settings[key] for key in _PARAMETERS if settings.get(key) is not None}
    if name.startswith("openai:") and not {"temperature", "max_tokens"} <= config.keys():
        config["omitDefaults"] = True  # else promptfoo sends a temperature of 0 and a limit of 1,024 tokens
    return {"id": name, "config": config} if config else name


def _test(export: ExportRun, case: Case, common: set[str], shown: str) -> Data:
    assertions = (assertion_of(check, case, shown) for check in export.checks if check.name not in common)
    asserts = [assertion for assertion in assertions if assertion is not None]
    metadata = {**plain(case.metadata), "id": case.id}
    test: Data = {"vars": inputs_of(case, export.prompt), "metadata": metadata}
    return test | ({"assert": asserts} if asserts else {})


def _row(export: ExportRun, prompt: Data, result: Result, number: int, shown: str) -> Data:
    """Convert a result to promptfoo's form, with the remainder in its metadata."""
    output, case = result.output, result.trial.case
    target = result.trial.target or export.run.target or "given"
    components = [_component(score, number) for score, number in verdicts_of(result)]
    verdict = result.verdict
    success = verdict in ("pass", "ungated")
    values = [component["score"] for component in components]
    mean = sum(values) / len(values) if values else float(success)
    reason = "; ".join(component["reason"] for component in components if not component["pass"]) or verdict
    row: Data = {
        "promptIdx": 0,
        "testIdx": number,
        "testCase": _test(export, case, set(), shown),
        "promptId": generated_row_id(prompt["raw"]),
        "provider": {"id": to_promptfoo(target) or "echo", "label": target},
        "prompt": prompt,
        "vars": inputs_of(case, export.prompt),
        "response": {} if output.error is not None else {"output": plain(output.value)},
        "error": output.error,
        "failureReason": 2 if verdict == "error" else 0 if success else 1,
        "success": success,
        "score": mean,
        "latencyMs": 0 if output.seconds is None else round(1000 * output.seconds, 3),
        "namedScores": {component["assertion"]["metric"]: component["score"] for component in components},
        "gradingResult": {"pass": success, "score": mean, "reason": reason, "componentResults": components},
        "metadata": {},
    }
    native = native_of(row, export.run.name)
    row["metadata"] = {REST: remainder_of(result, native)}
    return row


def _results_file(export: ExportRun, config: Data, rows: Sequence[Data]) -> Data:
    """Make the whole result file."""
    stats = {
        "successes": sum(row["success"] for row in rows),
        "failures": sum(row["failureReason"] == 1 for row in rows),
        "errors": sum(row["failureReason"] == 2 for row in rows),
        "tokenUsage": {},
    }
    prompts = [
        {"raw": _prompt(export), "label": _prompt(export)[:100], "provider": to_promptfoo(target) or "echo"}
        for target in export.by_target
    ]
    results = {"version": 3, "timestamp": export.run.created, "prompts": prompts, "results": list(rows), "stats": stats}
    return {"evalId": export.run.id or None, "results": results, "config": config, "shareableUrl": None}


def _component(score: Score, number: float) -> Data:
    assertion = {"type": "equals" if score.name == "equals" else "llm-rubric", "metric": score.name}
    return {"pass": score.passed, "score": number, "reason": score.reason, "assertion": assertion}


def native_of(row: Mapping[str, Any], dataset: str, *, prompt: str = "", names: frozenset[str] = frozenset()) -> Data:
    """Convert a promptfoo result to the form of `result_data`.

    Args:
        row: the result.
        dataset: the name of the dataset.
        prompt: the name of its prompt, which becomes part of the target; empty if there is only one.
        names: the descriptions that name one test.
    """
    provider = row.get("provider")
    label = (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider
    name = str(label or "")
    target = from_promptfoo(name) or name
    position = row.get("testIdx")
    return {
        "trial": native_trial(
            dataset,
            f"{prompt}@{target}" if prompt else target,
            position if type(position) is int and position >= 0 else 0,
        ),
        "case": _case(row, names),
        "output": _output_data(row),
        "scores": _scores(row),
    }


def variables_of_result(row: Mapping[str, Any]) -> Data:
    """Return the variables of the test of a result."""
    tested = dict_or_empty(dict_or_empty(row.get("testCase")).get("vars"))
    return row["vars"] if isinstance(row.get("vars"), dict) else tested


def _case(row: Mapping[str, Any], names: frozenset[str]) -> Data:
    test = dict_or_empty(row.get("testCase"))
    variables = variables_of_result(row)
    metadata = dict(dict_or_empty(test.get("metadata")))
    name = metadata.pop("id", None)
    metadata.pop(REST, None)
    if not (isinstance(name, str) and name):
        description = str(test.get("description"))
        name = description if description in names else generated_row_id(variables)
    fields: Data = {
        "id": name,
        "input": input_from(variables),
    }
    if isinstance(text := test.get("description"), str) and text:
        metadata["description"] = text
    fields["expected"] = reference_of(_requests_of(test, variables))
    return {key: value for key, value in fields.items() if value is not None} | (
        {"metadata": metadata} if metadata else {}
    )


def _requests_of(test: Data, variables: Data) -> list[AssertionRequest]:
    """Return the assertions of a test that can be converted."""
    options = dict_or_empty(test.get("options"))
    requests = []
    for assertion in list_or_empty(test.get("assert")):
        with suppress(UnsupportedAssertionError):
            if isinstance(assertion, dict):
                requests.append(read_assertion(assertion, AssertionScope(variables=variables, options=options)))
    return requests


def _output_data(row: Mapping[str, Any]) -> Data:
    response = row.get("response")
    output: Data = {}
    if row.get("failureReason") == 2 and isinstance(row.get("error"), str):
        output["error"] = row["error"]
    elif isinstance(response, dict) and response.get("output") is not None:
        output["value"] = response["output"]
    seconds = row.get("latencyMs")
    if is_number(seconds) and seconds > 0:
        output["seconds"] = seconds / 1000
    return output


def graded_parts(row: Mapping[str, Any]) -> list[Data]:
    """Return the grading of each assertion of a result, or else of the whole result."""
    grading = dict_or_empty(row.get("gradingResult"))
    parts = [part for part in list_or_empty(grading.get("componentResults")) if isinstance(part, dict)]
    if not parts and row.get("failureReason") == 2:
        return []  # there is no output to grade
    if not parts and not grading and "success" in row:
        grading = {"pass": row["success"], "score": row.get("score"), "reason": row.get("error") or ""}
    return [part for part in parts or [grading] if "pass" in part]


def is_broken(part: Data) -> bool:
    """Return whether the grader failed, so that there is no verdict."""
    return bool(dict_or_empty(part.get("metadata")).get("graderError"))


def _scores(row: Mapping[str, Any]) -> list[Data]:
    scores: list[Data] = []
    for part in graded_parts(row):
        scores.append(_score(part, [score["name"] for score in scores]))
    return scores


def _score(part: Data, taken: Sequence[str]) -> Data:
    assertion = dict_or_empty(part.get("assertion"))
    name = base = str(assertion.get("metric") or assertion.get("type") or "promptfoo")
    number = 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    value, passed = (None, None) if is_broken(part) else (part.get("score"), part["pass"])
    return native_score(name, value, passed, part.get("reason"))
