"""What `describe_eval` takes and refuses, and what `data` may be."""

import pytest

from evalmark import Case, Output, Result, Score, describe_eval
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.errors import ConfigError
from evalmark.harness.evals.failure import failure_message
from evalmark.harness.evals.rows import read_rows
from evalmark.harness.evals.thresholds import UNSET
from evalmark.inputs.datasets.options import BadRow
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.summarise import summarise


def right(output, expected):
    return output == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "'x' has no scorers; name at least one: scorers=[…]."),
        ({"scorers": []}, "has no scorers"),
        ({"scorers": None}, "has no scorers"),
        ({"scorers": [right], "scorer": right}, "'x' has both `scorer` and `scorers`; leave one out."),
        ({"scorers": [right], "repeat": 0}, "repeat has to be a whole number of at least 1; found 0."),
        ({"scorers": [right], "repeat": True}, "repeat has to be a whole number of at least 1; found True."),
        ({"scorers": [right], "timeout": 0}, "timeout is a number of seconds above 0, or None; found 0."),
        ({"scorers": [right], "timeout": "1"}, "timeout is a number of seconds above 0, or None; found '1'."),
        ({"scorers": [right], "name": " "}, "an eval needs a name; found ' '."),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_with_its_place(options, said):
    with pytest.raises(ConfigError) as refused:
        describe_eval(**{"name": "x", "data": [], "task": str, **options})
    assert said in str(refused.value)


def test_an_unknown_option_is_refused():
    with pytest.raises(
        ConfigError,
        match=r"describe_eval\('x'\) has no option 'scores'; its options are threshold, judge, embeddings, timeout, scorers, scorer",
    ):
        describe_eval("x", data=[], task=str, scores=[right])


def test_an_eval_stands_in_the_module_whose_body_describes_it():
    module = {"__name__": "some_module"}
    code = (
        "from evalmark import describe_eval\n"
        "def helped(name):\n"
        "    return describe_eval(name, data=[], task=str, scorer='equals')\n"
        "helped('one')\n"
        "describe_eval('two', data=[], task=str, scorers=['equals'], threshold=None)\n"
    )
    exec(compile(code, "some_module.py", "exec"), module)  # noqa: S102  as an import runs the body of a module
    first, second = module["__evalmark__"]
    assert (first.name, first.line, first.file) == ("one", 4, "some_module.py")
    assert (second.name, second.line, second.place) == ("two", 5, "some_module.py:5")
    assert (first.threshold, second.threshold) == (UNSET, None)


def broken():
    yield {"input": "a"}
    raise OSError("gone")


async def broken_later():
    yield {"input": "a"}
    raise SystemExit(2)


async def awaited():
    return [{"input": "a"}]


ONE = ["a"]


@pytest.mark.parametrize(
    ("data", "inputs", "said"),
    [
        pytest.param([{"input": "a"}], ONE, "", id="a list"),
        pytest.param(({"input": "a"},), ONE, "", id="a tuple"),
        pytest.param(iter([Case(id="x", input="a")]), ONE, "", id="an iterator of cases"),
        pytest.param(lambda: ["a"], ONE, "", id="a function"),
        pytest.param(awaited, ONE, "", id="an async function"),
        pytest.param(
            broken, ONE, "its data ended with an error after 1 case: OSError: gone", id="a generator that fails"
        ),
        pytest.param(
            broken_later, ONE, "its data ended with an error after 1 case: SystemExit: 2", id="an async one that exits"
        ),
        pytest.param([], [], "its data is empty; an eval needs at least one case.", id="nothing"),
        pytest.param(
            dict, [], "its data is {}, which is not a list of cases; put the cases into a list.", id="a mapping"
        ),
        pytest.param(lambda: None, [], "its data is None, which is not a list of cases", id="None"),
        pytest.param(lambda: 1 / 0, [], "ZeroDivisionError: division by zero", id="a function that fails"),
        pytest.param("nowhere.jsonl", [], "nowhere.jsonl: there is no such file in", id="a file that is not there"),
        pytest.param([7], [], "a row is a mapping of field names to values, not int.", id="a number as a row"),
    ],
)
def test_data_is_read_as_far_as_it_goes(data, inputs, said):
    rows = read_rows(data, "test_x.py:3")
    assert [row.input for row in rows if isinstance(row, Case)] == inputs
    bad = [str(row) for row in rows if isinstance(row, BadRow)]
    assert len(bad) == (1 if said else 0)
    assert all(text.startswith("test_x.py:3: ") and said in text for text in bad)


def score(name, value, passed, **more):
    return Score(name=name, raw=value, value=value, passed=passed, **more)


def test_the_worst_score_is_told_first_and_markup_of_others_is_taken_out():
    scores = (
        score("best", 0.9, True),
        score("low", 0.3, False, reason="\x1b[31mred\x1b[0m " * 3),
        score("lowest", 0.1, False),
        score("costly", 0.9, False, direction="lower"),
        Score(name="silent", status="unscored", reason="it said nothing"),
        Score(name="broken", status="error", reason="KeyError: 'x'"),
        score("noted", 0.2, None),
    )
    trial = Trial(case=Case(id="x", input="in\x07put", expected="y"))
    metrics = [Metric(name=s.name, threshold=0.5, direction=s.direction) for s in scores]
    said = failure_message(Result(trial=trial, output=Output(value="out"), scores=scores), metrics)
    told = [line.split(":")[0].strip() for line in said.splitlines() if line.startswith("  ") and line[2] != " "]
    assert told == ["input", "output", "expected", "broken", "costly", "lowest", "low", "silent", "noted", "best"]
    assert said.startswith("Error: the scorer broken failed with an error.")
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "costly: 0.900 above the threshold 0.500, failed" in said


@pytest.mark.parametrize("verdict", [True, None], ids=["passed", "cannot fail"])
def test_nothing_is_said_of_what_passed(verdict):
    result = Result(trial=Trial(case=Case(id="x")), output=Output(value=1), scores=(score("s", 0.5, verdict),))
    assert failure_message(result, []) is None


def test_an_eval_that_is_skipped_runs_no_case_and_keeps_no_run(tmp_path):
    called = []
    described = describe_eval(
        "x", data=lambda: called.append("data") or [{"input": "a"}], task=called.append, scorer=right, skip_if=True
    )
    run = described.run(store=tmp_path / "runs.db")
    assert (called, run.results) == ([], ())
    assert run.notes[-1] == "The eval was skipped: its skip_if is true. No case was run, and nothing was stored."
    assert not (tmp_path / "runs.db").exists()
    assert apply_gate(summarise(run), run.gate).outcome == "cannot tell"
