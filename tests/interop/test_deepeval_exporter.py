"""Runs become goldens and test runs of DeepEval."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalmark import Case, Output, Result, Run, Score, ToolCall
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.interop.deepeval_exporter import to_deepeval
from evalmark.interop.shared.export_run import ExportRun
from tests.interop.shared.carried import CARRIED, laid_out


def exported(*scores: Score, **output: Any) -> tuple[Any, Any]:
    case = Case(id="no", input={"q": "Capital?"}, expected="Oslo", contexts=("c",), metadata={"level": 1})
    result = Result(trial=Trial(case=case, target="small"), output=Output(**{"value": "Oslo", **output}), scores=scores)
    metrics = (Metric(name="tone", threshold=0.5, judge="openai/judge"),)
    files = to_deepeval(ExportRun(run=Run(id="r", name="x", created="", metrics=metrics, results=[result]))).files
    return json.loads(files["goldens.json"]), json.loads(files["run.small.json"])


def test_a_case_is_a_golden() -> None:
    ((golden,), _) = exported()
    kept = {name: value for name, value in golden.items() if value is not None}
    assert kept == {
        "input": '{"q": "Capital?"}',
        "expected_output": "Oslo",
        "context": ["c"],
        "name": "no",
        "additional_metadata": {"level": 1},
    }


@pytest.mark.parametrize(
    ("score", "number", "success", "error"),
    [
        (Score(name="tone", raw=4, value=0.75, passed=True, reason="warm"), 0.75, True, None),
        (Score(name="tone", raw=7), 7, None, None),
        (Score(name="tone", raw="C", passed=False), 0.0, False, None),
        (Score(name="tone", status="unscored"), None, None, None),
        (Score(name="tone", status="error", reason="no key"), None, None, "no key"),
    ],
)
def test_a_score_is_a_metric_of_the_test_case(score: Score, number: Any, success: Any, error: Any) -> None:
    (_, run) = exported(score)
    (metric,) = run["testCases"][0]["metricsData"]
    assert (metric["score"], metric["success"], metric["error"]) == (number, success, error)
    assert (metric["threshold"], metric["evaluationModel"]) == (0.5, "openai/judge")


def test_an_output_keeps_its_contexts_and_calls() -> None:
    (_, run) = exported(contexts=("found",), tool_calls=(ToolCall(name="search", arguments={"q": "x"}, result="y"),))
    (row,) = run["testCases"]
    assert row["retrievalContext"] == ["found"]
    assert row["toolsCalled"] == [{"name": "search", "inputParameters": {"q": "x"}, "output": "y"}]
    assert run["hyperparameters"] == {"model": "small"}


def test_deepeval_itself_reads_what_is_written(tmp_path: Path) -> None:
    dataset = pytest.importorskip("deepeval.dataset")
    test_run = pytest.importorskip("deepeval.test_run.test_run")
    laid_out(tmp_path, to_deepeval(CARRIED).files)
    goldens = dataset.EvaluationDataset()
    goldens.add_goldens_from_json_file(str(tmp_path / "goldens.json"))
    assert [golden.name for golden in goldens.goldens] == ["c1", "c2", "odd"]
    found = test_run.TestRun(**json.loads((tmp_path / "run.openai-large.json").read_text()))
    assert [case.name for case in found.test_cases] == ["c1", "c1", "c2", "odd"]
