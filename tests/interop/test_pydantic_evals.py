"""Datasets of pydantic-evals become suites that decide as their evaluators do, reports become runs."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalmark import evaluate
from evalmark.core.errors import DataError
from evalmark.interop.pydantic_evals import import_pydantic_evals
from evalmark.interop.shared.import_result import ImportedPart, ImportResult

Data = dict[str, Any]


def imported(tmp_path: Path, data: Any) -> ImportResult:
    path = tmp_path / "dataset.yaml"
    path.write_text(yaml.safe_dump(data))
    return import_pydantic_evals(path)


def dataset(*evaluators: Any, cases: list[Data] | None = None) -> Data:
    case = {"name": "norway", "inputs": "Capital of Norway?", "expected_output": "Oslo"}
    return {"name": "capitals", "cases": cases or [case], "evaluators": list(evaluators)}


def suite_of(result: ImportResult) -> Data:
    suite = yaml.safe_load(result.files["suite.yaml"])
    assert isinstance(suite, dict)
    return suite


def rows_of(result: ImportResult) -> list[Data]:
    return [json.loads(line) for line in result.files["cases.jsonl"].splitlines()]


def part_of(result: ImportResult, begin: str) -> ImportedPart:
    (part,) = [part for part in result.parts if part.name.startswith(begin)]
    return part


@pytest.mark.parametrize(
    ("evaluator", "output", "passes"),
    [
        ("EqualsExpected", "Oslo", True),
        ("EqualsExpected", " Oslo", False),
        ({"Equals": "O.lo"}, "O.lo", True),
        ({"Equals": "O.lo"}, "Oslo", False),
        ({"Equals": "Oslo"}, "Oslo\n", False),
        ({"Equals": {"value": {"a": 1}}}, {"a": 1}, True),
        ({"Equals": {"value": {"a": 1}}}, {"a": 1, "b": 2}, False),
        ({"Equals": 3}, 3, True),
        ({"Equals": 3}, 4, False),
        ({"Contains": "slo"}, "Oslo", True),
        ({"Contains": "SLO"}, "Oslo", False),
        ({"Contains": {"value": "SLO", "case_sensitive": False}}, "Oslo", True),
        ({"Contains": {"value": {"a": 1}}}, {"a": 1, "b": 2}, True),
        ({"Contains": {"value": {"a": 1}}}, {"a": 2}, False),
        ({"Contains": {"value": 7, "as_strings": True}}, "in 1987", True),
        ({"IsInstance": "dict"}, {"a": 1}, True),
        ({"IsInstance": "list"}, {"a": 1}, False),
        ({"MaxDuration": 60}, "Oslo", True),
        ({"name": "Contains", "arguments": ["slo"]}, "Oslo", True),
    ],
)
def test_an_evaluator_decides_as_before(tmp_path: Path, evaluator: Any, output: Any, passes: bool) -> None:
    found = imported(tmp_path, dataset(evaluator))
    run = evaluate(rows_of(found), lambda question: output, suite_of(found)["metrics"], store=None)
    ((score,),) = [result.scores for result in run.results]
    assert score.passed is passes


@pytest.mark.parametrize(
    ("evaluator", "outcome", "reason"),
    [
        ("EqualsExpected", "kept", "equals"),
        ({"Equals": "Oslo"}, "kept", "regex"),
        ({"Equals": {"value": {"a": 1}}}, "changed", "structured_output: an output that is JSON text"),
        ({"Contains": {"value": [1]}}, "left out", "whether a list"),
        ({"IsInstance": "str"}, "left out", "no Python class"),
        ({"IsInstance": "int"}, "changed", "json_schema"),
        ({"MaxDuration": "PT5S"}, "left out", "no number of seconds"),
        ({"LLMJudge": "Polite"}, "changed", "a metric file"),
        ({"LLMJudge": {"rubric": ""}}, "left out", "no `rubric`"),
        ({"GEval": {"criteria": "c", "evaluation_steps": ["s"], "score_range": [1, 5]}}, "changed", "a metric file"),
        ({"GEval": {"criteria": "c", "score_range": [5, 1]}}, "left out", "no `criteria`"),
        ({"HasMatchingSpan": {"query": {}}}, "left out", "does not match spans"),
        ({"Mine": 2}, "left out", "its code is not in the file"),
    ],
)
def test_what_becomes_of_an_evaluator_is_reported(tmp_path: Path, evaluator: Any, outcome: str, reason: str) -> None:
    part = part_of(imported(tmp_path, dataset(evaluator)), "evaluator ")
    assert part.outcome == outcome
    assert reason in part.to


def test_a_judge_keeps_its_rubric_material_and_model(tmp_path: Path) -> None:
    judge = {"LLMJudge": {"rubric": "Polite", "include_input": True, "model": "openai:some-model"}}
    found = imported(tmp_path, dataset(judge))
    assert suite_of(found)["metrics"] == [{"metrics/LLMJudge.yaml": {"judge": "openai/some-model"}}]
    file = yaml.safe_load(found.files["metrics/LLMJudge.yaml"])
    assert (file["metric_description"], file["score"]["type"]) == ("Polite", "boolean")
    assert [("{{input}}" in text, "{{expected}}" in text) for text in file["template"]][1:] == [
        (True, False),
        (False, False),
    ]


def test_a_judge_with_a_score_and_an_assertion_becomes_two_metrics(tmp_path: Path) -> None:
    found = imported(tmp_path, dataset({"LLMJudge": {"rubric": "Polite", "score": {}, "model": "cohere:x"}}))
    assert [next(iter(entry.items())) for entry in suite_of(found)["metrics"]] == [
        ("metrics/LLMJudge_score.yaml", {"judge": "pydantic-ai/cohere:x"}),
        ("metrics/LLMJudge_pass.yaml", {"judge": "pydantic-ai/cohere:x"}),
    ]


def test_evaluators_of_a_case_stand_with_the_case(tmp_path: Path) -> None:
    cases = [
        {"name": "a", "inputs": "x", "evaluators": [{"Contains": {"value": "s", "evaluation_name": "has_s"}}]},
        {"name": "b", "inputs": "y", "evaluators": [{"LLMJudge": "Kind"}]},
    ]
    found = imported(tmp_path, dataset(cases=cases))
    assert [row.get("metadata", {}).get("assert") for row in rows_of(found)] == [
        [{"contains": {"all": ["s"], "name": "has_s"}}],
        [{"closed_qa": {"criteria": "Kind", "name": "LLMJudge"}}],
    ]
    assert [next(iter(entry)) for entry in suite_of(found)["metrics"]] == [
        "evalmark.scorers:Assertions",
        "evalmark.scorers:JudgedAssertions",
    ]


def test_equals_expected_skips_cases_without_an_expected_output(tmp_path: Path) -> None:
    cases = [{"inputs": "x", "expected_output": "y"}, {"inputs": "z", "metadata": "note"}]
    found = imported(tmp_path, dataset("EqualsExpected", cases=cases))
    run = evaluate(rows_of(found), lambda question: "y", suite_of(found)["metrics"], store=None)
    assert [[score.status for score in result.scores] for result in run.results] == [["scored"], ["skipped"]]
    assert [row["id"] for row in rows_of(found)] == ["Case 1", "Case 2"]
    assert rows_of(found)[1]["metadata"] == {"metadata": "note"}


def test_a_report_becomes_a_run(tmp_path: Path) -> None:
    def value(item: Any, reason: str | None = None) -> Data:
        return {"name": "n", "value": item, "reason": reason, "source": {"name": "Mine", "arguments": None}}

    case = {
        "name": "norway [1/2]",
        "source_case_name": "norway",
        "inputs": "Capital of Norway?",
        "expected_output": "Oslo",
        "output": "Oslo",
        "scores": {"length": value(4)},
        "labels": {"tone": value("warm")},
        "assertions": {"exact": value(True, "equal")},
        "evaluator_failures": [{"name": "Mine", "error_message": "boom\nmore"}],
        "task_duration": 0.5,
        "metrics": {"tokens": 7},
    }
    failure = {"name": "italy", "inputs": "Capital of Italy?", "error_message": "ValueError: no"}
    report = {"name": "task", "cases": [case, {**case, "name": "norway [2/2]"}], "failures": [failure]}
    run = imported(tmp_path, report).run
    assert run is not None
    first, second, third = run.results
    assert [(r.trial.case.id, r.trial.repeat) for r in (first, second, third)] == [
        ("norway", 0),
        ("norway", 1),
        ("italy", 0),
    ]
    assert [(s.name, s.status, s.raw, s.passed, s.reason) for s in first.scores] == [
        ("exact", "scored", True, True, "equal"),
        ("length", "scored", 4, None, ""),
        ("tone", "scored", "warm", None, ""),
        ("Mine", "error", None, None, "boom more"),
    ]
    assert (first.output.seconds, first.output.metadata, third.output.error) == (
        0.5,
        {"metrics": {"tokens": 7}},
        "ValueError: no",
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "is no dataset of pydantic-evals"),
        ({"cases": 7}, "is no dataset of pydantic-evals"),
        ({"cases": [{"name": "x"}]}, "is no dataset of pydantic-evals"),
        ({"cases": []}, "has no cases"),
        (dataset() | {"evaluators": 7}, "`evaluators` is not a list"),
        (dataset(7), "the evaluator 7 is neither"),
        (dataset({"a": 1, "b": 2}), "has several names"),
        (dataset({}), "is neither a name"),
    ],
)
def test_other_files_end_with_one_sentence(tmp_path: Path, data: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        imported(tmp_path, data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
