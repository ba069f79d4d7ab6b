"""DeepEval's goldens become cases, its test runs become runs with the same verdicts."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evalmark.core.errors import DataError
from evalmark.core.values.case import ToolCall, Turn
from evalmark.core.values.run import Run
from evalmark.interop.deepeval import import_deepeval

Data = dict[str, Any]


def write(path: Path, data: Any) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in data))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(data[0]))
            writer.writeheader()
            writer.writerows(data)
    else:
        path.write_text(json.dumps(data))
    return path


def metric(name: str = "Tone [GEval]", **fields: Any) -> Data:
    return {"name": name, "threshold": 0.5, "success": True, "score": 0.75, "reason": "It is kind.", **fields}


def judged(**fields: Any) -> Data:
    """A test case of a saved run."""
    return {
        "name": "test_case_0",
        "input": "Capital of Norway?",
        "actualOutput": "Oslo",
        "expectedOutput": "Oslo",
        "retrievalContext": ["Oslo is the capital."],
        "success": True,
        "metricsData": [metric()],
        **fields,
    }


def run_of(tmp_path: Path, *cases: Data, **header: Any) -> Run:
    data = {"testCases": list(cases), "conversationalTestCases": [], "hyperparameters": {"model": "small"}, **header}
    run = import_deepeval(write(tmp_path / ".latest_run_full.json", {"testRunData": data})).run
    assert run is not None
    return run


def cases_of(path: Path) -> list[Data]:
    imported = import_deepeval(path)
    assert imported.run is None
    return [json.loads(line) for line in imported.files["cases.jsonl"].splitlines()]


GOLDEN = {
    "input": "Capital of Norway?",
    "actual_output": None,
    "expected_output": "Oslo",
    "context": ["Norway", "Its capital"],
    "retrieval_context": None,
    "name": "norway",
    "comments": "easy",
    "expected_tools": [{"name": "search", "type": "FUNCTION", "inputParameters": {"q": "x"}}],
    "additional_metadata": {"level": 1},
}
CASE = {
    "id": "norway",
    "input": "Capital of Norway?",
    "expected": "Oslo",
    "contexts": ["Norway", "Its capital"],
    "metadata": {"comments": "easy", "level": 1, "expected_tools": [{"name": "search", "arguments": {"q": "x"}}]},
}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("goldens.json", {}),
        ("goldens.jsonl", {"context": "Norway|Its capital"}),
        (
            "goldens.csv",
            {
                "context": "Norway|Its capital",
                "expected_tools": json.dumps(GOLDEN["expected_tools"]),
                "additional_metadata": '{"level": 1}',
                "actual_output": "",
                "retrieval_context": "",
            },
        ),
    ],
)
def test_a_golden_without_an_output_is_a_case_in_every_file_type(tmp_path: Path, name: str, changes: Data) -> None:
    assert cases_of(write(tmp_path / name, [{**GOLDEN, **changes}])) == [CASE]


@pytest.mark.parametrize("name", ["goldens.json", "goldens.csv"])
def test_a_text_that_looks_like_json_stays_text(tmp_path: Path, name: str) -> None:
    row = {"input": "[1, 2]", "actual_output": '{"a": 1}', "expected_output": "[]", "context": None}
    (case,) = cases_of(write(tmp_path / name, [row]))
    assert (case["input"], case["answer"], case["expected"]) == ("[1, 2]", '{"a": 1}', "[]")


def test_a_folder_with_several_files_is_refused(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write(tmp_path / name, [{"input": "a"}])
    with pytest.raises(DataError, match="has 2 files of JSON, JSONL or CSV; name one of them"):
        import_deepeval(tmp_path)


def test_goldens_with_outputs_keep_them_for_a_suite_without_a_target(tmp_path: Path) -> None:
    rows = [{"input": "a", "actual_output": "b", "retrieval_context": ["c"]}]
    (case,) = cases_of(write(tmp_path / "goldens.json", rows))
    assert (case["answer"], case["retrieved_contexts"]) == ("b", ["c"])


def test_an_output_among_goldens_without_one_is_kept_in_the_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "goldens.json", [{"input": "a", "actual_output": "b"}, {"input": "c"}])
    assert [case.get("metadata") for case in cases_of(path)] == [{"recorded_output": "b"}, None]


def test_a_conversational_golden_is_a_case_with_its_turns_before_it(tmp_path: Path) -> None:
    golden = {
        "scenario": "A refund is due",
        "turns": [{"role": "user", "content": "Hi", "user_id": None}],
        "expected_outcome": "refunded",
        "user_description": "in a hurry",
    }
    (case,) = cases_of(write(tmp_path / "goldens.json", [golden]))
    assert (case["input"], case["expected"], case["history"]) == (
        "A refund is due",
        "refunded",
        [{"role": "user", "content": "Hi"}],
    )
    assert case["metadata"] == {"scenario": "A refund is due", "userDescription": "in a hurry"}


def test_a_test_case_is_a_result_with_its_verdicts(tmp_path: Path) -> None:
    tools = [{"name": "search", "inputParameters": {"q": "x"}, "output": "y"}]
    row = judged(toolsCalled=tools, inputTokenCount=5.0, outputTokenCount=2.0, completionTime=1.5)
    run = run_of(tmp_path, row)
    (result,) = run.results
    assert (run.name, run.target) == ("latest_run_full", "small")
    assert (result.output.value, result.output.contexts) == ("Oslo", ("Oslo is the capital.",))
    assert (result.output.seconds, result.output.usage and result.output.usage.input_tokens) == (1.5, 5)
    assert result.output.tool_calls == (ToolCall(name="search", arguments={"q": "x"}, result="y"),)
    (score,) = result.scores
    assert (score.name, score.value, score.passed, score.reason) == ("Tone [GEval]", 0.75, True, "It is kind.")


@pytest.mark.parametrize(
    ("verdicts", "direction", "threshold"),
    [
        ([(0.75, True), (0.25, False)], "higher", 0.5),
        ([(0.75, False), (0.25, True)], "lower", 0.5),
        ([(0.5, True)], "higher", 0.5),
    ],
)
def test_the_direction_of_a_metric_follows_from_its_verdicts(
    tmp_path: Path, verdicts: list[Any], direction: str, threshold: float
) -> None:
    rows = [
        judged(input=str(number), metricsData=[metric(score=score, success=success)])
        for number, (score, success) in enumerate(verdicts)
    ]
    (found,) = run_of(tmp_path, *rows).metrics
    assert (found.direction, found.threshold) == (direction, threshold)


def test_two_metrics_of_one_name_have_a_number(tmp_path: Path) -> None:
    row = judged(metricsData=[metric("Tone"), metric("Tone", success=False, score=0.25)])
    (result,) = run_of(tmp_path, row).results
    assert [(score.name, score.passed) for score in result.scores] == [("Tone", True), ("Tone-2", False)]


@pytest.mark.parametrize(
    ("fields", "error", "status"),
    [
        ({"actualOutput": None}, "DeepEval recorded no output.", "scored"),
        ({"metricsData": [metric(score=None, success=False, error="no key")]}, None, "error"),
        ({"metricsData": [metric(score=None, success=None)]}, None, "unscored"),
    ],
)
def test_missing_outputs_and_broken_metrics(tmp_path: Path, fields: Data, error: Any, status: str) -> None:
    (result,) = run_of(tmp_path, judged(**fields)).results
    assert (result.output.error, result.scores[0].status) == (error, status)


def test_a_conversation_is_a_result_with_its_last_reply(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Refunded."}]
    row = {
        "name": "conversational_test_case_0",
        "success": True,
        "metricsData": [metric()],
        "turns": turns,
        "scenario": "s",
    }
    (result,) = run_of(tmp_path, conversationalTestCases=[row]).results
    assert result.output.value == "Refunded."
    assert result.output.transcript == (Turn(role="user", content="Hi"), Turn(role="assistant", content="Refunded."))


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("Exact Match", "kept"),
        ("Faithfulness", "changed"),
        ("Answer Relevancy", "left out"),
        ("Tone [GEval]", "left out"),
    ],
)
def test_metrics_of_a_suite_keep_their_meaning(tmp_path: Path, name: str, outcome: str) -> None:
    data = {"testCases": [judged(metricsData=[metric(name)])]}
    imported = import_deepeval(write(tmp_path / "run.json", data))
    assert [part.outcome for part in imported.parts if part.name == f"metric {name}"] == [outcome]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "has neither goldens nor test cases"),
        (7, "holds no rows"),
        ({"testCases": [{"name": "x"}]}, "there is no `input`"),
        ({"testCases": [judged(metricsData={"a": 1})]}, "`metricsData` is not a list of objects"),
        ({"testCases": [judged(metricsData=[1])]}, "`metricsData` is not a list of objects"),
        ({"testCases": [7]}, "the row is not an object"),
        ([{"input": "a", "tags": 7, "turns": 7, "additional_metadata": 7, "expected_tools": 7}], None),
    ],
)
def test_wrong_types_end_with_one_sentence(tmp_path: Path, data: Any, message: str | None) -> None:
    path = write(tmp_path / "run.json", data)
    if message is None:
        assert cases_of(path)
        return
    with pytest.raises(DataError) as caught:
        import_deepeval(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
