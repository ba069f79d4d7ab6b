"""Reference answers of a dataset from the command line: which column holds them, and what happens where none does."""

from pathlib import Path

import pytest

from evalmark import evaluate
from evalmark.testing.scripted import ScriptedServer

CASES = "Question,{}\nWhat is 2+2?,4\nCapital of Norway?,Oslo\n"
MODEL = "datasets: [qa.csv]\ntarget: {models: [openai/small]}\nmetrics: [equals]\n"
CODE = "datasets: [qa.csv]\ntarget: app:answer\nmetrics: [METRIC]\n"


@pytest.fixture
def server(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(lambda said: "4") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def written(column: str, suite: str = MODEL, cases: str = CASES) -> str:
    Path("qa.csv").write_text(cases.format(column))
    Path("suite.yaml").write_text(suite)
    Path("app.py").write_text("def answer(question):\n    return '4'\n")
    return "suite.yaml"


@pytest.mark.parametrize("verb", ["run", "plan", "validate"])
def test_answer_is_the_reference_where_a_model_is_asked(evalmark, server, verb):
    said = evalmark(verb, written("Answer"))
    assert said.code == (1 if verb == "run" else 0)
    assert "qa: column `answer` is read as the expected answer, since" in " ".join(said.out.split())
    assert "to be judged" not in said.out
    if verb == "run":
        assert "1 of 2 passed" in said.out
        assert "the output '4' is not 'Oslo'" in said.out


@pytest.mark.parametrize("verb", ["run", "plan", "validate"])
@pytest.mark.parametrize("column", ["reference_outputs", "expected_ouput", "note", "response"])
def test_nothing_is_asked_where_no_row_brings_what_a_metric_needs(evalmark, server, verb, column):
    said = evalmark(verb, written(column))
    assert said.code == 2
    assert (
        "qa.csv: the metric 'equals' cannot score any row: in every row the case has no expected answer." in said.text
    )
    assert ("rename it" in said.text) == (column not in ("note", "response"))
    assert server.requests == []


def test_a_blank_answer_is_no_reference(evalmark, server):
    said = evalmark("run", written("Answer", cases="Question,{}\nWhat is 2+2?,4\nCapital of Norway?,\n"))
    assert said.code == 3
    assert "1 unscored" in said.out
    assert evalmark("run", written("Answer", cases='Question,{}\nWhat is 2+2?,"  "\n')).code == 2


def test_answers_beside_a_reference_are_not_taken_for_one(evalmark, server):
    said = evalmark("run", written("Answer,Expected", cases="Question,{}\nWhat is 2+2?,7,4\nTwo more?,4,\n"))
    assert "1 of 1 passed" in said.out  # the second row has no expected answer, and 4 is what the app once said
    assert "qa: the answers in the rows are not scored, since openai/small produces new ones." in " ".join(
        said.out.split()
    )


@pytest.mark.parametrize(
    ("metric", "code"),
    [
        ("is_json", 0),
        ("contains: {any: ['4']}", 0),
        ("not-equals", 1),
        ("similarity", 1),
        ("edit_similarity: {threshold: 1}", 1),
        ("app:same", 1),
    ],
)
def test_who_needs_a_reference_is_known_of_every_metric(evalmark, world, metric, code):
    written("Answer", CODE.replace("METRIC", f"{{{metric}}}" if ": " in metric else metric))
    with Path("app.py").open("a") as file:
        file.write("def same(output, expected):\n    return output == expected\n")
    said = evalmark("run", "suite.yaml")
    assert said.code == code, said.text
    is_compared = metric not in ("is_json", "contains: {any: ['4']}")
    assert ("`answer` is read as the expected answer" in said.out) == is_compared


@pytest.mark.parametrize("metric", ["numeric", "structured_output", "tool_calls", "not-contains", "answer_correctness"])
def test_every_metric_that_compares_is_refused_without_anything_to_compare_with(evalmark, world, metric):
    said = evalmark("run", written("note", CODE.replace("METRIC", metric)))
    assert said.code == 2
    assert f"the metric '{metric}' cannot score any row" in said.text


@pytest.mark.parametrize("metric", ["faithfulness", "context_sufficiency", "context_relevance", "context_recall_at_k"])
def test_a_metric_of_contexts_is_refused_where_neither_rows_nor_a_model_bring_any(evalmark, server, metric):
    suite = MODEL.replace("equals", metric) + "judge: openai/judge\n"
    said = evalmark("run", written("expected", suite))
    assert said.code == 2
    assert (
        f"the metric '{metric}' cannot score any row: no row has contexts, and openai/small supplies none." in said.text
    )
    assert server.requests == []
    rows = "Question,{}\nWhat is 2+2?,4,2+2=4\nCapital of Norway?,Oslo,\n"
    assert evalmark("run", written("expected,contexts", suite, rows)).code != 2
    assert server.requests


def test_a_target_in_python_may_bring_contexts(evalmark, world):
    said = evalmark("run", written("expected", CODE.replace("METRIC", "context_sufficiency")))
    assert said.code == 3
    assert "there are no contexts" in said.out


def test_what_may_come_behind_the_rows_that_are_checked_is_waited_for(evalmark, world):
    rows = "".join(f"q{n},\n" for n in range(1_001)) + "last,4\n"
    said = evalmark("run", written("expected", CODE.replace("METRIC", "equals"), f"Question,{{}}\n{rows}"))
    assert said.code == 3
    assert "1,001 unscored" in said.out


def test_rows_of_python_follow_the_same_rule(world):
    run = evaluate([{"question": "2+2?", "answer": "4"}], lambda question: "4", ["equals"], store=None)
    assert [result.verdict for result in run.results] == ["pass"]
    [note] = run.notes
    assert note.startswith("cases: column `answer` is read as the expected answer, since ")
