"""Folders of results as PromptPex writes them: cases, trials, scores, and what is odd about them."""

import json

import pytest

from evalmark.core.values.run import Metric
from evalmark.errors import DataError
from evalmark.interop.promptpex.importer import import_promptpex, read_promptpex

HEADER = "id,promptid,ruleid,rule,model,input,output,compliance,complianceText,baseline\n"
TESTS = """ruleid, testid, testinput, expectedoutput, reasoning
1, 1, "one", "A", "because"
1, 2, "two", "B", "of this"

3, 1, "one", "Expected error.", "breaks it"
"""


def folder(tmp_path, results: str = "", name="classify", **files: str):
    """A folder with some files; names are told by `__` where a dot belongs."""
    place = tmp_path / name
    place.mkdir(exist_ok=True)
    given = {"rules__txt": "Be short.\nBe kind.\n", "inverse_rules__txt": "Be long.\n", **files}
    if results:
        given["test_results__csv"] = HEADER + results
    for file, text in given.items():
        (place / file.replace("__", ".")).write_text(text, encoding="utf-8")
    return place


ROWS = """aa,p,1,Be short.,large,one,A,ok,Fine. OK,
bb,p,1,Be short.,large,two,,err,No. ERR,
aa,p,3,Be long.,large,one,C,,Well.,
cc,p,,,large,base,D,ok,OK,1
aa,p,1,Be short.,small,one,E,OK,OK,
"""


def test_every_row_is_a_trial_of_its_case(tmp_path):
    run = read_promptpex(folder(tmp_path, ROWS))
    assert [
        (r.trial.dataset, r.trial.position, r.trial.case.id, r.trial.target, r.output.value) for r in run.results
    ] == [
        ("classify", 0, "aa-1", "large", "A"),
        ("classify", 0, "aa-1", "small", "E"),
        ("classify", 1, "bb-1", "large", ""),
        ("classify", 2, "aa-3", "large", "C"),
        ("classify baseline", 0, "cc", "large", "D"),
    ]
    assert [(d.name, d.rows) for d in run.datasets] == [("classify", 3), ("classify baseline", 1)]
    assert (run.name, run.target, run.repeat, run.status) == ("classify", "large, small", 1, "complete")
    assert run.metrics == (Metric(name="compliance"),)


def test_verdicts_are_scores_and_an_unclear_one_is_unscored(tmp_path):
    run = read_promptpex(folder(tmp_path, ROWS))
    assert [(s.status, s.passed, s.value, s.reason) for r in run.results for s in r.scores] == [
        ("scored", True, 1.0, "Fine. OK"),
        ("scored", True, 1.0, "OK"),
        ("scored", False, 0.0, "No. ERR"),
        ("unscored", None, None, "Well."),
        ("scored", True, 1.0, "OK"),
    ]


def test_a_case_has_what_the_tables_say_of_its_test_and_its_rule(tmp_path):
    place = folder(
        tmp_path,
        ROWS,
        tests__csv=TESTS,
        test_evals__csv="id,ruleid,model,validity,validityText,coverage,coverageText,coverageEvalText\n"
        "aa,1,judge,ok,Valid. OK,err,an answer,No. ERR\nbb,1,judge,,Hm.,,,\n",
        rule_evals__csv="id,promptid,ruleid,rule,groundedText,grounded\nx,p,1,Be short.,It is not. ERR,err\n",
    )
    cases = {r.trial.case.id: r.trial.case for r in read_promptpex(place).results}
    assert dict(cases["aa-1"].metadata) == {
        "promptid": "p",
        "rule": "Be short.",
        "ruleid": 1,
        "inverse": False,
        "scenario": "",
        "baseline": False,
        "testid": "1",
        "expectedoutput": "A",
        "reasoning": "because",
        "valid": True,
        "valid_reason": "Valid. OK",
        "agreement": False,
        "agreement_reason": "No. ERR",
        "agreement_output": "an answer",
        "judge": "judge",
        "grounded": False,
        "grounded_reason": "It is not. ERR",
    }
    assert [cases[name].metadata["valid"] for name in ("bb-1", "aa-3", "cc")] == [None, None, None]
    assert [cases[name].tags for name in ("aa-1", "aa-3", "cc")] == [("positive",), ("negative",), ("baseline",)]
    assert [cases[name].place.rpartition("/")[2] for name in ("bb-1", "aa-3", "cc")] == [
        "tests.csv:3",
        "tests.csv:5",
        "test_results.csv:5",
    ]
    assert all(case.expected is None for case in cases.values())


@pytest.mark.parametrize(
    ("row", "tags"),
    [
        pytest.param("aa,p,1,Be long.,m,one,A,ok,OK,", ("negative",), id="the text of the rule before its number"),
        pytest.param("aa,p,3,Be odd.,m,one,A,ok,OK,", ("negative",), id="its number where no rule has the text"),
        pytest.param("aa,p,2,,m,one,A,ok,OK,", ("positive",), id="its number where there is no text"),
        pytest.param("aa,p,x,Be odd.,m,one,A,ok,OK,", (), id="neither"),
        pytest.param("aa,p,3,Be long.,m,one,A,ok,OK,true", ("baseline",), id="a baseline test"),
    ],
)
def test_whether_a_test_is_of_an_inverse_rule_is_told_by(tmp_path, row, tags):
    (found,) = read_promptpex(folder(tmp_path, row)).results
    assert found.trial.case.tags == tags


def test_a_test_that_was_run_several_times_has_repeats(tmp_path):
    run = read_promptpex(folder(tmp_path, "aa,p,1,Be short.,m,one,A,ok,OK,\n" * 3))
    assert [r.trial.repeat for r in run.results] == [0, 1, 2]
    assert run.repeat == 3
    assert run.datasets[0].rows == 1
    assert any(note.startswith("2 rows repeat a test that the same model has answered before") for note in run.notes)


@pytest.mark.parametrize(
    ("rows", "kept", "note"),
    [
        pytest.param("aa,p,1,r,m,one,A,ok,OK,\naa,p,1,r,m,two,A,ok,OK,\n", 1, ":3: the id 'aa' has another input in ", id="an id for two inputs"),
        pytest.param("aa,p,1,r,m,one,A,ok,OK,maybe\n", 0, ":2: `baseline` is 'maybe', which is neither yes nor no; left out.", id="a baseline that is neither"),
        pytest.param("aa,p,1,r,m,one\n", 0, ":2: the row has no `output` and is left out.", id="a short row"),
        pytest.param("aa,p,1,r,m,one,A,ok\n", 1, "8 cells under a header of 10; `complianceText` and", id="a short row that has what is needed"),
        pytest.param("aa,p,1,r,m,one, two,A,ok,OK,\n", 0, ":2: 11 cells under a header of 10", id="a comma that is not quoted, and an empty cell"),
        pytest.param("aa,p,1,r,m,one,A,ok,OK,\naa,p,1,r,n,one,A,ok,OK,\nbb,p,1,r,m,two,A,ok,OK,\n", 3, "n has no result for 1 of 2 tests.", id="a model that lacks one"),
    ],
)  # fmt: skip
def test_what_is_odd_is_told(tmp_path, rows, kept, note):
    run = read_promptpex(folder(tmp_path, rows))
    assert len(run.results) == kept
    assert any(note in said for said in run.notes), run.notes


def test_tests_without_a_result_are_counted(tmp_path):
    run = read_promptpex(folder(tmp_path, "aa,p,1,Be short.,m,one,A,ok,OK,\n", tests__csv=TESTS))
    assert "2 rows of the tests have no result and are left out." in run.notes


def test_results_that_nobody_judged_have_no_score(tmp_path):
    run = read_promptpex(folder(tmp_path, "aa,p,1,Be short.,m,one,A,,,\nbb,p,1,Be short.,m,two,B,,,\n"))
    assert run.metrics == ()
    assert [r.verdict for r in run.results] == ["ungated", "ungated"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(lambda path: path / "gone", "there is no such folder; name one in which PromptPex", id="nothing there"),
        pytest.param(lambda path: folder(path, ROWS).parent, "name one of the folders in it: classify.", id="a folder of folders"),
        pytest.param(lambda path: folder(path), "there is no test_results.csv or test_results.json here", id="no results"),
        pytest.param(lambda path: folder(path, test_results__csv="id,model\n"), "there is no column 'input' among id, model.", id="another table"),
    ],
)  # fmt: skip
def test_a_folder_without_results_is_refused(tmp_path, make, said):
    with pytest.raises(DataError) as found:
        read_promptpex(make(tmp_path))
    assert said in str(found.value)


# What later versions write: JSON, with scenarios, inputs of their own, metrics and errors.

RESULT = {"id": "aa", "promptid": "p", "ruleid": 2, "rule": "Be kind.", "inverse": True, "scenario": "rush",
          "model": "m", "input": '{"a": 1, "b": "x"}', "output": "A"}  # fmt: skip
TEST = {"ruleid": "2", "testid": "1", "testinput": RESULT["input"], "a": 1, "b": "x", "groundtruth": "truth"}


def results(*changes: dict) -> str:
    return json.dumps([{**RESULT, **change} for change in changes])


def test_json_is_read_as_csv_is(tmp_path):
    place = folder(tmp_path, ROWS, test_results__json=results({}), tests__json=json.dumps([TEST]))
    found = import_promptpex(place)
    (result,) = found.run.results
    case = result.trial.case
    assert (case.id, case.input, case.expected, case.tags) == ("aa-2", {"a": 1, "b": "x"}, "truth", ("negative",))
    assert (case.metadata["ruleid"], case.metadata["inverse"], case.metadata["scenario"]) == (2, True, "rush")
    assert result.scores == ()
    fates = {part.name: (part.outcome, part.to) for part in found.parts}
    assert fates["test_results.csv"] == ("left out", "test_results.json is read")


@pytest.mark.parametrize(
    ("told", "status", "value", "passed"),
    [
        pytest.param({"content": "c", "score": 85}, "scored", 0.85, None, id="a score"),
        pytest.param({"content": "c", "score": 0}, "scored", 0.0, None, id="nought"),
        pytest.param({"content": "c", "score": 120}, "unscored", None, None, id="a score out of range"),
        pytest.param({"content": "c", "outcome": "ok"}, "scored", 1.0, True, id="ok"),
        pytest.param({"content": "c", "outcome": "err"}, "scored", 0.0, False, id="err"),
        pytest.param({"content": "c", "outcome": "unknown"}, "unscored", None, None, id="neither"),
        pytest.param({"content": "c", "score": None}, "unscored", None, None, id="a score of nothing is none"),
        pytest.param({"content": "c", "score": True}, "unscored", None, None, id="a truth value is no score"),
    ],
)
def test_a_metric_is_a_score(tmp_path, told, status, value, passed):
    place = folder(tmp_path, test_results__json=results({"metrics": {"accuracy": {**told, "perplexity": 1.2}}}))
    run = read_promptpex(place)
    (score,) = run.results[0].scores
    assert (score.name, score.status, score.value, score.passed) == ("accuracy", status, value, passed)
    assert "c" in score.reason
    assert score.detail == {"perplexity": 1.2}
    assert [metric.name for metric in run.metrics] == ["accuracy"]


def test_several_judges_of_a_metric_are_told_apart_and_their_mean_is_left_out(tmp_path):
    several = {
        f"clear with {judge}": {"content": "c", "score": n} for judge, n in (("x", 40), ("y", 60), ("average", 50))
    }
    run = read_promptpex(folder(tmp_path, test_results__json=results({"metrics": several})))
    assert [(m.name, m.base, m.judge) for m in run.metrics] == [
        ("clear with x", "clear", "x"),
        ("clear with y", "clear", "y"),
    ]


def test_one_judge_of_a_metric_is_named(tmp_path):
    one = {"clear with x": {"content": "c", "score": 40}}
    (metric,) = read_promptpex(folder(tmp_path, test_results__json=results({"metrics": one}))).metrics
    assert (metric.name, metric.base, metric.judge, metric.unit) == ("clear with x", "", "x", "%")


def test_an_error_is_the_output_of_its_trial(tmp_path):
    run = read_promptpex(
        folder(tmp_path, test_results__json=results({"error": "429\nwait", "output": ""}, {"id": "bb"}))
    )
    assert [(r.output.error, r.verdict) for r in run.results] == [("429", "error"), (None, "ungated")]


def test_the_account_says_what_became_of_each_part(tmp_path):
    found = import_promptpex(folder(tmp_path, ROWS, overview__csv="model\n", tests__csv=TESTS))
    fates = {part.name: (part.outcome, part.to) for part in found.parts}
    assert fates["test_results.csv"] == ("kept", "5 rows")
    assert fates["overview.csv"][0] == "left out"
    assert fates["compliance, complianceText"][0] == "kept"
    assert fates["tests: testid, expectedoutput, reasoning"] == ("kept", "in the metadata of each case")
    assert not any("metrics" in name or "validity" in name for name in fates)
    assert found.remarks == tuple(found.run.notes[1:])
