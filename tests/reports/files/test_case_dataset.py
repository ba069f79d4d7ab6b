"""A dataset made of the cases of a run: reading it gives the same cases."""

import json
from dataclasses import replace

import pytest

from evalmark import Case, Example, Output, Result, ToolCall, Turn
from evalmark.core.values.score import Trial
from evalmark.inputs.datasets.reader import read_cases
from evalmark.reports.files.case_dataset import dataset_lines


def results(*cases, dataset="d.jsonl"):
    trials = [Trial(case=case, dataset=dataset, target="t", position=n) for n, case in enumerate(cases)]
    return [Result(trial=trial, output=Output(value="x")) for trial in trials]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(id="a", input="What is 2 + 2?"), id="a text"),
        pytest.param(Case(id="007", input="1", expected="2"), id="texts that look like numbers"),
        pytest.param(Case(id="a", input={"question": "Why?", "n": 3}, expected=["x", None, 1.5]), id="data"),
        pytest.param(
            Case(id="a", input={"id": "not the id", "expected": "nor this"}), id="an input with names of fields"
        ),
        pytest.param(Case(id="a", input="x", contexts=()), id="contexts that are known to be none"),
        pytest.param(
            Case(id="a", input="x", contexts=("one", "two"), tags=("b", "c d"), metadata={"k": [1]}), id="more"
        ),
        pytest.param(
            Case(
                id="a", input="And then?", history=(Turn(role="user", content="Hi"), Turn(role="assistant", content=""))
            ),
            id="a conversation",
        ),
        pytest.param(
            Case(id="a", input="x", examples=(Example(value=["l"]), Example(value="no", liked=False))), id="examples"
        ),
        pytest.param(
            Case(
                id="a",
                input="x",
                given=Output(
                    value="y", contexts=("p",), tool_calls=(ToolCall(name="f", arguments={"a": 1}, result=2),)
                ),
            ),
            id="an output that came with the case",
        ),
        pytest.param(Case(id="a", input="line\nbreak \u2028 \x85 é", expected=""), id="any characters"),
    ],
)
def test_a_case_comes_back_as_it_was(case, tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(dataset_lines(results(case))), encoding="utf-8")
    (read,) = read_cases(file)
    assert replace(read, place="") == case


def test_a_case_of_several_trials_is_one_row_and_equal_ids_of_datasets_stay_apart():
    one = results(Case(id="a", input="x"), Case(id="a", input="x"))
    other = results(Case(id="a", input="z"), dataset="e.jsonl")
    rows = [json.loads(line) for line in dataset_lines([*one, *other])]
    assert [(row["id"], row["input"]) for row in rows] == [("a", "x"), ("e.jsonl/a", "z")]
