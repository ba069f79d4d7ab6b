"""Samples of lm-eval become runs with the same outputs and scores."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalmark.core.errors import DataError
from evalmark.core.values.case import Turn
from evalmark.core.values.score import Result
from evalmark.interop.lm_eval import import_lm_eval

DATE = "2026-11-20T10-00-00.123456"
Data = dict[str, Any]


def generated(**fields: Any) -> Data:
    """A sample of a task that lets the model write."""
    return {
        "doc_id": 0,
        "doc": {"q": "Capital of Norway?", "a": "Oslo"},
        "target": "Oslo",
        "arguments": {"gen_args_0": {"arg_0": "Q: Capital of Norway? A:", "arg_1": {"until": ["\n"]}}},
        "resps": [["Oslo"]],
        "filtered_resps": ["Oslo"],
        "filter": "none",
        "metrics": ["exact_match"],
        "exact_match": 1.0,
        **fields,
    }


def chosen(**fields: Any) -> Data:
    """A sample of a multiple-choice task."""
    texts = {f"gen_args_{n}": {"arg_0": "2+2?", "arg_1": f" {text}"} for n, text in enumerate(("3", "4", "5"))}
    return {
        "doc_id": 0,
        "doc": {"gold": 1},
        "target": "1",
        "arguments": texts,
        "resps": [[["-0.9", "False"]], [["-0.2", "True"]], [["-inf", "False"]]],
        "filter": "none",
        "metrics": ["acc"],
        "acc": 1.0,
        **fields,
    }


def results(**fields: Any) -> Data:
    return {
        "results": {"qa": {"exact_match,none": 1.0}},
        "configs": {
            "qa": {"metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}]}
        },
        "higher_is_better": {"qa": {"exact_match": True}},
        "config": {"model": "hf", "model_args": "pretrained=lab/small,dtype=float32"},
        "model_name": "lab/small",
        "date": 1795000000.5,
        "total_evaluation_time_seconds": "90.25",
        "lm_eval_version": "0.4.13",
        **fields,
    }


def write(folder: Path, rows: list[Data], task: str = "qa", head: Data | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{DATE}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    if head is not None:
        (folder / f"results_{DATE}.json").write_text(json.dumps(head))
    return path


def only(path: Path) -> Result:
    run = import_lm_eval(path).run
    assert run is not None
    (result,) = run.results
    return result


def test_a_written_answer_is_the_output_for_the_whole_prompt(tmp_path: Path) -> None:
    result = only(write(tmp_path, [generated()], head=results()))
    case = result.trial.case
    assert (case.input, case.expected, case.metadata["doc"]["a"]) == ("Q: Capital of Norway? A:", "Oslo", "Oslo")
    assert (result.output.value, result.trial.target, result.trial.dataset) == ("Oslo", "lab/small", "qa")
    assert [(score.name, score.value, score.passed) for score in result.scores] == [("exact_match", 1.0, None)]


def test_the_output_of_a_choice_is_the_most_likely_continuation(tmp_path: Path) -> None:
    result = only(write(tmp_path, [chosen()]))
    assert result.trial.case.input == {"prompt": "2+2?", "choices": ["3", "4", "5"]}
    assert (result.trial.case.expected, result.output.value) == ("4", "4")
    assert result.output.metadata["loglikelihoods"] == [-0.9, -0.2, None]


@pytest.mark.parametrize(("target", "expected"), [("1", "4"), (1, "4"), ("4", "4"), ("5", "5"), ("7", "7"), ("x", "x")])
def test_the_target_of_a_choice_is_its_number_or_its_text(tmp_path: Path, target: Any, expected: Any) -> None:
    assert only(write(tmp_path, [chosen(target=target)])).trial.case.expected == expected


def test_the_lines_of_several_filters_are_scores_of_one_output(tmp_path: Path) -> None:
    rows = [generated(filter="strict", exact_match=0.0), generated(filter="loose")]
    scores = only(write(tmp_path, rows)).scores
    assert [(score.name, score.value) for score in scores] == [("exact_match,strict", 0.0), ("exact_match,loose", 1.0)]


def test_a_chat_prompt_is_split_into_history_and_input(tmp_path: Path) -> None:
    chat = json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}])
    case = only(write(tmp_path, [generated(arguments=[[chat, {"until": []}]])])).trial.case
    assert (case.input, case.history) == ("Capital?", (Turn(role="system", content="Be brief."),))


def test_a_metric_that_is_better_when_lower_stays_so(tmp_path: Path) -> None:
    row = generated(metrics=["ter"], ter=0.25)
    run = import_lm_eval(write(tmp_path, [row], head=results(higher_is_better={"qa": {"ter": False}}))).run
    assert run is not None
    assert [(metric.name, metric.direction) for metric in run.metrics] == [("ter", "lower")]


def test_a_metric_of_all_outputs_is_named_and_not_a_score(tmp_path: Path) -> None:
    imported = import_lm_eval(write(tmp_path, [generated(metrics=["bleu"], bleu=["Oslo", "Oslo"])]))
    assert imported.run is not None
    assert imported.run.metrics == ()
    assert "`bleu` is calculated from all outputs at once" in " ".join(imported.remarks)


def test_several_models_of_a_folder_are_targets(tmp_path: Path) -> None:
    write(tmp_path / "small", [generated()])
    write(tmp_path / "large", [generated()])
    run = import_lm_eval(tmp_path).run
    assert run is not None
    assert sorted(result.trial.target for result in run.results) == ["large", "small"]
    assert run.created == "2026-11-20T10:00:00Z"


@pytest.mark.parametrize(
    ("metric", "outcome"),
    [({"metric": "exact_match"}, "kept"), ({"metric": "exact_match", "regexes_to_ignore": ["x"]}, "left out")],
)
def test_metrics_of_a_suite(tmp_path: Path, metric: Data, outcome: str) -> None:
    imported = import_lm_eval(write(tmp_path, [generated()], head=results(configs={"qa": {"metric_list": [metric]}})))
    assert [part.outcome for part in imported.parts if part.name == "qa: metric exact_match"] == [outcome]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"doc_id": None}], "`doc_id` is None"),
        ([generated(arguments=7)], "`arguments` has no request"),
        ([generated(doc={"a": [[[]]] * 2}, target={"x": 1}, filter=7)], None),
        ([7], "is not an object"),
        ([], "has no samples"),
    ],
)
def test_wrong_types_end_with_one_sentence(tmp_path: Path, rows: list[Any], message: str | None) -> None:
    path = write(tmp_path, rows)
    if message is None:
        assert import_lm_eval(path).run is not None
        return
    with pytest.raises(DataError) as caught:
        import_lm_eval(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_evaluations_of_a_task_are_not_mixed(tmp_path: Path) -> None:
    first = write(tmp_path, [generated()])
    (tmp_path / first.name.replace("20T", "21T")).write_text(first.read_text())
    with pytest.raises(DataError, match="are both of the task qa with"):
        import_lm_eval(tmp_path)
