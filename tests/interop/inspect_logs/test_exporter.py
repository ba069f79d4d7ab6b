"""Runs become logs that Inspect reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalmark import Case, Example, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.score import Trial
from evalmark.interop.inspect_logs.exporter import to_inspect
from evalmark.interop.inspect_logs.importer import import_inspect
from evalmark.interop.shared.export_run import ExportRun
from tests.interop.shared.carried import CARRIED, laid_out


def result(*scores: Score, target: str = "openai/small", dataset: str = "capitals", **output: Any) -> Result:
    case = Case(id="no", input="Capital of Norway?", expected="Oslo", examples=(Example(value="Christiania"),))
    output = {"value": "Oslo", **output}
    return Result(trial=Trial(case=case, dataset=dataset, target=target), output=Output(**output), scores=scores)


def logs(*results: Result) -> dict[str, Any]:
    run = Run(id="r", name="x", created="2026-11-20T10:00:00Z", results=list(results))
    files = to_inspect(ExportRun(run=run)).files
    return {name: json.loads(text) for name, text in files.items() if name != "evalmark.json"}


def sample_of(one: Result) -> Any:
    (log,) = logs(one).values()
    return log["samples"][0]


@pytest.mark.parametrize(
    ("score", "value"),
    [
        (Score(name="s", raw=True, value=1.0, passed=True), "C"),
        (Score(name="s", raw=False, value=0.0, passed=False), "I"),
        (Score(name="s", raw=0.9, value=0.9, passed=True), 0.9),
        (Score(name="s", raw=7), 7),
        (Score(name="s", raw="warm"), "warm"),
        (Score(name="s", status="unscored"), None),
        (Score(name="s", status="error", reason="no key"), None),
    ],
)
def test_a_score_is_a_grade_a_number_or_a_label(score: Score, value: Any) -> None:
    assert sample_of(result(score))["scores"].get("s", {}).get("value") == value


def test_a_sample_has_the_targets_the_usage_and_the_calls_of_tools() -> None:
    transcript = (Turn(role="user", content="Hm."), ToolCall(name="look", arguments={"at": "map"}, error="torn"))
    usage = Usage(input_tokens=29, output_tokens=2, cached_tokens=20)
    sample = sample_of(result(transcript=transcript, usage=usage, seconds=1.5))
    assert (sample["target"], sample["output"]["time"]) == (["Oslo", "Christiania"], 1.5)
    assert sample["model_usage"]["openai/small"] == {
        "input_tokens": 9,
        "output_tokens": 2,
        "total_tokens": 31,
        "input_tokens_cache_read": 20,
    }
    asked, call, reply = sample["messages"]
    assert (asked["role"], call["tool_calls"][0]["function"], call["tool_calls"][0]["id"]) == ("user", "look", "call-1")
    assert (reply["role"], reply["tool_call_id"], reply["error"]["message"]) == ("tool", "call-1", "torn")


def test_each_dataset_and_target_has_a_log_that_begins_with_its_time() -> None:
    names = list(logs(result(), result(target="openai/large"), result(dataset="rivers")))
    assert names == [
        "2026-11-20T10-00-00_capitals_openai-small.json",
        "2026-11-20T10-00-00_rivers_openai-small.json",
        "2026-11-20T10-00-00_capitals_openai-large.json",
    ]


def test_an_error_is_one_of_the_sample() -> None:
    sample = sample_of(result(value=None, error="TimeoutError: late"))
    assert (sample["error"]["message"], sample["output"]["choices"]) == ("TimeoutError: late", [])


def test_a_metric_that_has_the_name_of_a_scorer_of_inspect_is_none_on_the_way_back(tmp_path: Path) -> None:
    run = Run(id="r", name="x", created="2026-11-20T10:00:00Z", results=[result(Score(name="includes", value=0.5))])
    imported = import_inspect(laid_out(tmp_path, to_inspect(ExportRun(run=run)).files))
    assert [part.outcome for part in imported.parts if "includes" in part.name] == ["left out"]


def test_inspect_itself_reads_what_is_written(tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log")
    laid_out(tmp_path, to_inspect(CARRIED).files)
    read = [log.read_eval_log(info.name) for info in log.list_eval_logs(str(tmp_path))]
    found = {(one.eval.task, one.eval.model): len(one.samples) for one in read}
    assert found == {("moods", "openai/large"): 3, ("moods", "openai/small"): 2, ("odd ones", "openai/large"): 1}
