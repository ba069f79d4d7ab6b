"""Export a run as DeepEval's goldens, and as a test run for each target."""

from collections.abc import Sequence
from typing import Any

from evalmark.core.values.case import Case, ToolCall
from evalmark.core.values.plain_data import plain
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Score
from evalmark.inputs.documents.serialization import file_name, json_text
from evalmark.interop.shared.export_run import ExportResult, ExportRun
from evalmark.interop.shared.items import is_number
from evalmark.interop.shared.results import REST, native_trial, remainder_of
from evalmark.scoring.binding.text import text_of

from .deepeval import GOLDENS, test_case_row

Data = dict[str, Any]


def to_deepeval(export: ExportRun) -> ExportResult:
    """Write the cases as `goldens.json`, which `EvaluationDataset` reads, and the results of each target as `run.TARGET.json`.

    What DeepEval has no place for stands under `evalmark` in the metadata of each test case.
    """
    cases = {result.trial.case.fingerprint: result.trial.case for result in export.run.results}
    files = {**export.side, GOLDENS: json_text([_golden(case) for case in cases.values()])}
    metrics = {metric.name: metric for metric in export.run.metrics}
    for target, results in export.by_target.items():
        name = file_name(f"run.{target}", [other.removesuffix(".json") for other in files])
        files[f"{name}.json"] = json_text(_test_run(export, target, results, metrics))
    return ExportResult(files=files, remarks=export.remarks)


def _golden(case: Case) -> Data:
    metadata = plain(case.metadata)
    return {
        "input": text_of(case.input),
        "actual_output": None if case.given is None else text_of(case.given.value),
        "expected_output": None if case.expected is None else text_of(case.expected),
        "retrieval_context": None,
        "context": None if case.contexts is None else list(case.contexts),
        "name": case.id,
        "comments": None,
        "source_file": None,
        "additional_metadata": metadata or None,
    }


def _test_run(export: ExportRun, target: str, results: Sequence[Result], metrics: dict[str, Metric]) -> Data:
    rows = [_test_case(result, number, target, metrics) for number, result in enumerate(results)]
    passed = sum(row["success"] is True for row in rows)
    return {
        "testCases": rows,
        "conversationalTestCases": [],
        "metricsScores": [_scores_of(name, rows) for name in metrics],
        "identifier": export.run.name,
        "hyperparameters": {"model": target},
        "prompts": [],
        "testPassed": passed,
        "testFailed": len(rows) - passed,
        "runDuration": 0.0,
    }


def _scores_of(name: str, rows: Sequence[Data]) -> Data:
    found = [item for row in rows for item in row["metricsData"] if item["name"] == name]
    return {
        "metric": name,
        "scores": [item["score"] for item in found if item["score"] is not None],
        "passes": sum(item["success"] is True for item in found),
        "fails": sum(item["success"] is False for item in found),
        "errors": sum(item["error"] is not None for item in found),
    }


def _test_case(result: Result, number: int, target: str, metrics: dict[str, Metric]) -> Data:
    case, output = result.trial.case, result.output
    metadata = {name: value for name, value in dict(plain(case.metadata)).items() if name != REST}
    row: Data = {
        "name": case.id,
        "input": text_of(case.input),
        "actualOutput": None if output.error is not None else text_of(output.value),
        "expectedOutput": None if case.expected is None else text_of(case.expected),
        "context": None if case.contexts is None else list(case.contexts),
        "retrievalContext": None if output.contexts is None else list(output.contexts),
        "toolsCalled": [_tool(call) for call in output.tool_calls] or None,
        "completionTime": output.seconds,
        "success": result.verdict == "pass",
        "metricsData": [_metric_data(score, metrics.get(score.name)) for score in result.scores],
        "runDuration": 0.0,
        "order": number,
    }
    row = {name: value for name, value in row.items() if value is not None}
    return {
        **row,
        "metadata": {**metadata, REST: remainder_of(result, native_of({**row, "metadata": metadata}, target))},
    }


def native_of(row: Data, target: str) -> Data:
    """Return what an importer finds in a test case without the remainder, in the form of `result_data`."""
    read = test_case_row(row, "", target)
    return {
        "trial": native_trial("", target, 0),
        "case": read.case,
        "output": read.output or {},
        "scores": list(read.scores),
    }


def _tool(call: ToolCall) -> Data:
    fields = {"name": call.name, "inputParameters": plain(call.arguments), "output": plain(call.result)}
    return {name: value for name, value in fields.items() if value is not None}


def _metric_data(score: Score, metric: Metric | None) -> Data:
    number = score.raw if score.value is None and is_number(score.raw) else score.value
    if number is None and score.passed is not None:
        number = float(score.passed)
    return {
        "name": score.name,
        "threshold": None if metric is None else metric.threshold,
        "success": score.passed,
        "score": number,
        "reason": score.reason or None,
        "evaluationModel": metric.judge if metric is not None and metric.judge else None,
        "error": score.reason or "the metric failed" if score.status == "error" else None,
    }
