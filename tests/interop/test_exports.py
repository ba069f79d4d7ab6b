"""Exports of ragas, LangSmith, Braintrust, Langfuse and Phoenix become datasets and runs with the scores in them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalmark.core.errors import DataError
from evalmark.core.values.score import Result
from evalmark.interop import exports
from evalmark.interop.shared.import_result import ImportResult

Data = dict[str, Any]
IMPORTERS: dict[str, Callable[[Path], ImportResult]] = {
    tool: getattr(exports, f"import_{tool}") for tool in exports.FORMATS
}
NORWAY = {"question": "Capital of Norway?"}


def imported(tmp_path: Path, tool: str, data: Any, name: str = "export.json") -> ImportResult:
    path = tmp_path / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return IMPORTERS[tool](path)


def results(tmp_path: Path, tool: str, data: Any, name: str = "export.json") -> list[Result]:
    run = imported(tmp_path, tool, data, name).run
    assert run is not None
    return list(run.results)


def cases(result: ImportResult) -> list[Data]:
    assert result.run is None
    return [json.loads(line) for line in result.files["cases.jsonl"].splitlines()]


EXPERIMENTS = [
    pytest.param(
        "ragas",
        [
            {
                "user_input": "Capital of Norway?",
                "response": "Oslo",
                "reference": "Oslo",
                "retrieved_contexts": ["c"],
                "factual_correctness(mode=f1)": 0.5,
            }
        ],
        ("factual_correctness(mode=f1)", 0.5, None),
        id="ragas: records",
    ),
    pytest.param(
        "ragas",
        {
            "question": {"0": "Capital of Norway?"},
            "answer": {"0": "Oslo"},
            "ground_truth": {"0": "Oslo"},
            "contexts": {"0": ["c"]},
            "answer_relevancy": {"0": 0.5},
        },
        ("answer_relevancy", 0.5, None),
        id="ragas: columns of pandas",
    ),
    pytest.param(
        "ragas",
        "user_input,retrieved_contexts,response,reference,faithfulness\nCapital of Norway?,['c'],Oslo,Oslo,0.5\n",
        ("faithfulness", 0.5, None),
        id="ragas: CSV with lists as Python prints them",
    ),
    pytest.param(
        "langsmith",
        "inputs.question,outputs.answer,reference.answer,feedback.correct,example_id,id\n"
        "Capital of Norway?,Oslo,Oslo,True,e1,r1\n",
        ("correct", 1.0, True),
        id="langsmith: CSV of to_pandas",
    ),
    pytest.param(
        "langsmith",
        [
            {
                "id": "r1",
                "reference_example_id": "e1",
                "inputs": NORWAY,
                "outputs": {"answer": "Oslo"},
                "reference_outputs": {"answer": "Oslo"},
                "feedback_stats": {"correct": {"n": 1, "avg": 0.5}},
            }
        ],
        ("correct", 0.5, None),
        id="langsmith: runs",
    ),
    pytest.param(
        "langsmith",
        [
            {
                "id": "e1",
                "inputs": NORWAY,
                "outputs": {"answer": "Oslo"},
                "runs": [
                    {
                        "id": "r1",
                        "outputs": {"answer": "Oslo"},
                        "feedback": [{"key": "correct", "score": True, "comment": "y"}],
                    }
                ],
            }
        ],
        ("correct", 1.0, True),
        id="langsmith: examples with their runs",
    ),
    pytest.param(
        "braintrust",
        {
            "events": [
                {
                    "id": "s1",
                    "is_root": True,
                    "origin": {"id": "e1"},
                    "input": NORWAY,
                    "output": "Oslo",
                    "expected": "Oslo",
                    "scores": {"Factuality": 0.5},
                    "metrics": {"start": 1.0, "end": 2.5, "prompt_tokens": 5, "completion_tokens": 2},
                },
                {"id": "s2", "is_root": False, "span_parents": ["s1"], "input": 1, "output": 2},
            ]
        },
        ("Factuality", 0.5, None),
        id="braintrust: events of an experiment without their spans",
    ),
    pytest.param(
        "langfuse",
        {
            "data": [
                {
                    "id": "t1",
                    "datasetItemId": "e1",
                    "input": NORWAY,
                    "output": {"answer": "Oslo"},
                    "expectedOutput": "Oslo",
                    "scores": [{"name": "correct", "value": 1, "dataType": "BOOLEAN"}],
                }
            ]
        },
        ("correct", 1.0, True),
        id="langfuse: traces with scores",
    ),
    pytest.param(
        "langfuse",
        {
            "item_results": 0,
            "results": [
                {
                    "item": {"id": "e1", "input": NORWAY, "expected_output": "Oslo"},
                    "output": "Oslo",
                    "evaluations": [{"name": "correct", "value": 0.5, "comment": "why"}],
                }
            ],
        },
        ("correct", 0.5, None),
        id="langfuse: results of an experiment",
    ),
    pytest.param(
        "phoenix",
        [
            {
                "example_id": "e1",
                "repetition_number": 1,
                "input": NORWAY,
                "reference_output": {"answer": "Oslo"},
                "output": "Oslo",
                "latency_ms": 1500,
                "annotations": [{"name": "correct", "annotator_kind": "LLM", "score": 0.5, "label": "fair"}],
            }
        ],
        ("correct", 0.5, None),
        id="phoenix: JSON of an experiment",
    ),
    pytest.param(
        "phoenix",
        "example_id,repetition_number,input,reference_output,output,annotation_correct_score,annotation_correct_label\n"
        'e1,1,"{""question"": ""Capital of Norway?""}",Oslo,Oslo,0.5,fair\n',
        ("correct", 0.5, None),
        id="phoenix: CSV of an experiment",
    ),
]


@pytest.mark.parametrize(("tool", "data", "expected"), EXPERIMENTS)
def test_an_experiment_becomes_a_run_with_its_scores(tmp_path: Path, tool: str, data: Any, expected: Any) -> None:
    (result,) = results(tmp_path, tool, data, "export.csv" if isinstance(data, str) else "export.json")
    case = result.trial.case
    assert case.input in (NORWAY, "Capital of Norway?")
    assert (case.expected, result.output.value) == ("Oslo", "Oslo")
    (score,) = result.scores
    assert (score.name, score.value, score.passed) == expected
    if tool == "ragas":
        assert result.output.contexts == ("c",)
    else:
        assert case.id == "e1"


DATASETS = [
    ("ragas", [{"user_input": "a", "reference": "b", "reference_contexts": ["c"], "synthesizer_name": "s"}]),
    ("langsmith", [{"id": "e1", "inputs": "a", "outputs": {"answer": "b"}, "metadata": {"k": 1}}]),
    ("braintrust", [{"id": "e1", "input": "a", "expected": "b", "metadata": {"k": 1}, "dataset_id": "d"}]),
    (
        "langfuse",
        {"data": [{"id": "e1", "input": "a", "expectedOutput": "b", "metadata": {"k": 1}, "status": "ACTIVE"}]},
    ),
    (
        "phoenix",
        {"data": {"dataset_id": "d", "examples": [{"id": "e1", "input": "a", "output": "b", "metadata": {"k": 1}}]}},
    ),
]


@pytest.mark.parametrize(("tool", "data"), DATASETS)
def test_a_dataset_becomes_cases_whose_output_is_the_expected_one(tmp_path: Path, tool: str, data: Any) -> None:
    (case,) = cases(imported(tmp_path, tool, data))
    assert (case["input"], case["expected"]) == ("a", "b")
    if tool == "ragas":
        assert (case["contexts"], case["metadata"]) == (["c"], {"synthesizer_name": "s"})
    else:
        assert (case["id"], case["metadata"]) == ("e1", {"k": 1})


def test_archived_items_of_langfuse_are_left_out_and_named(tmp_path: Path) -> None:
    items = [{"id": key, "input": key, "status": status} for key, status in (("a", "ACTIVE"), ("b", "ARCHIVED"))]
    found = imported(tmp_path, "langfuse", {"data": items})
    assert [case["id"] for case in cases(found)] == ["a"]
    assert any("the item is archived" in remark for remark in found.remarks)


def test_lists_of_langfuse_in_a_folder_are_joined(tmp_path: Path) -> None:
    lists = {
        "items": {"data": [{"id": key, "input": f"{key}?", "expectedOutput": key.upper()} for key in ("a", "b")]},
        "runs": {
            "name": "first",
            "datasetRunItems": [{"datasetItemId": "a", "traceId": "t1", "datasetRunName": "first"}],
        },
        "traces": {"data": [{"id": "t1", "input": {"args": []}, "output": "A", "latency": 2}]},
        "scores": {"data": [{"id": "s", "traceId": "t1", "name": "correct", "value": 0.5, "comment": "half"}]},
    }
    for name, data in lists.items():
        (tmp_path / f"{name}.json").write_text(json.dumps([data] if name == "runs" else data))
    found = exports.import_langfuse(tmp_path)
    assert found.run is not None
    (result,) = found.run.results
    assert (result.trial.case.id, result.trial.case.input, result.trial.case.expected) == ("a", "a?", "A")
    assert (result.output.value, result.output.seconds) == ("A", 2)
    assert [(score.name, score.value, score.reason) for score in result.scores] == [("correct", 0.5, "half")]
    assert [json.loads(line)["id"] for line in found.files["cases.jsonl"].splitlines()] == ["a", "b"]


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("ragas", 'user_input,response,reference\n[a],"{""a"": 1}",[b]\n'),
        ("langsmith", 'inputs.q,outputs.a,reference.a,example_id\n[a],"{""a"": 1}",[b],e1\n'),
    ],
)
def test_a_text_in_a_table_that_looks_like_json_stays_text(tmp_path: Path, tool: str, text: str) -> None:
    (result,) = results(tmp_path, tool, text, "export.csv")
    assert result.trial.case.input in ("[a]", {"q": "[a]"})
    assert (result.output.value, result.trial.case.expected) == ('{"a": 1}', "[b]")


def test_several_experiments_in_a_folder_are_targets(tmp_path: Path) -> None:
    row = {"example_id": "e1", "input": "a", "reference_output": "b", "output": "b", "annotations": []}
    for name in ("first", "second"):
        (tmp_path / f"{name}.json").write_text(json.dumps([row]))
    run = exports.import_phoenix(tmp_path).run
    assert run is not None
    assert [result.trial.target for result in run.results] == ["first", "second"]


def test_repetitions_of_phoenix_are_repeats_and_errors_stay_errors(tmp_path: Path) -> None:
    row = {"example_id": "e1", "input": "a", "reference_output": "b", "annotations": []}
    rows = [{**row, "repetition_number": 1, "output": "b"}, {**row, "repetition_number": 2, "error": "boom\nmore"}]
    found = results(tmp_path, "phoenix", rows)
    assert [(result.trial.repeat, result.output.value, result.output.error) for result in found] == [
        (0, "b", None),
        (1, None, "boom more"),
    ]


def test_a_conversation_of_ragas_is_a_transcript(tmp_path: Path) -> None:
    messages = [{"content": "Hi", "type": "human"}, {"content": "Hello", "type": "ai"}]
    (result,) = results(
        tmp_path, "ragas", [{"user_input": messages, "reference": "greets", "agent_goal_accuracy": 1.0}]
    )
    assert (result.trial.case.input, result.output.value, len(result.output.transcript)) == ("Hi", "Hello", 2)


def test_nan_of_pandas_is_an_unscored_value(tmp_path: Path) -> None:
    text = '[{"user_input": "a", "response": "b", "f": NaN}, {"user_input": "c", "response": "d", "f": 0.5}]'
    first, second = results(tmp_path, "ragas", text)
    assert [score.status for score in (*first.scores, *second.scores)] == ["unscored", "scored"]


@pytest.mark.parametrize(
    ("tool", "name", "outcome"),
    [
        ("ragas", "faithfulness", "changed"),
        ("ragas", "semantic_similarity", "changed"),
        ("ragas", "exact_match", "kept"),
        ("ragas", "answer_relevancy", "left out"),
        ("ragas", "context_recall", "left out"),
    ],
)
def test_metrics_of_a_suite_keep_their_meaning(tmp_path: Path, tool: str, name: str, outcome: str) -> None:
    found = imported(tmp_path, tool, [{"user_input": "a", "response": "b", "reference": "b", name: 1.0}])
    assert [part.outcome for part in found.parts if part.name == f"metric {name}"] == [outcome]


@pytest.mark.parametrize("tool", IMPORTERS)
@pytest.mark.parametrize(
    "data",
    [
        7,
        [],
        {},
        [7],
        [[]],
        [{"x": 1}],
        '{"data": ' + "[" * 5000,
        '[{"input": 1e999}]',
        "",
        "[{}]",
        '{"a": [1], "b": [1, 2]}',
    ],
)
def test_other_files_end_with_one_sentence(tmp_path: Path, tool: str, data: Any) -> None:
    with pytest.raises(DataError) as caught:
        imported(tmp_path, tool, data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("tool", IMPORTERS)
def test_wrong_types_in_every_field_end_with_one_sentence_or_a_run(tmp_path: Path, tool: str) -> None:
    names = exports.FORMATS[tool]
    fields = {*names.id, *names.input, *names.expected, *names.output, *names.contexts, *names.retrieved, *names.scores}
    fields |= {
        *names.seconds,
        *names.milliseconds,
        *names.tokens[0],
        "metadata",
        "metrics",
        "tags",
        "error",
        "runs",
        "item",
    }
    messages = []
    base = {names.input[0]: "a", names.output[0]: "b", names.expected[0]: "c"}
    for key in sorted(name for name in fields if not name.endswith((".", "_"))):
        for value in (7, -1, True, [], {}, "x", [7], {"a": {"b": []}}, [{"name": 7}], [None], {"name": None}):
            try:
                imported(tmp_path, tool, [{**base, key: value}])
            except DataError as error:
                messages.append(str(error))
    assert [message for message in messages if "\n" in message] == []


def test_a_number_that_the_store_cannot_hold_is_refused(tmp_path: Path) -> None:
    row = {"example_id": "e1", "input": "a", "reference_output": "b", "output": "b", "repetition_number": 10**30}
    with pytest.raises(DataError, match=r"`trial\.repeat` is 9+.*whole number from 0 to"):
        imported(tmp_path, "phoenix", [row])


@pytest.mark.parametrize(
    ("document", "tool"),
    [
        ({"version": 2, "eval": {"task": "t"}, "samples": [{"input": "q"}]}, "inspect"),
        ({"evalId": "e", "results": {"results": [{"vars": {}}]}, "config": {}}, "promptfoo"),
        ({"resourceSpans": [{"scopeSpans": []}]}, "otlp"),
    ],
)
def test_a_file_of_another_tool_is_named_instead_of_read_by_chance(tmp_path, document, tool):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=f"another tool; import it with: evalmark import {tool}"):
        exports.import_langfuse(path)
