"""Which cases a test is about: recorded ones, a list, a file; and what is said where there are none."""

import json

import pytest

from evalmark.errors import ConfigError, DataError, EvalmarkError
from evalmark.store import open_store
from evalmark.unit_tests import LabeledOutput, TestCase, UnitTest

from .recorded import case, cosine, near, record

UP, DOWN = [True], [False]


def cases_of(unit_test):
    return [(given.inputs, [(o.label, o.value) for o in given.outputs]) for given in unit_test.get_all_test_cases()]


def recorded(world):
    return world / ".evalmark" / "evalmark.db"


@pytest.fixture
def project(world):
    record(
        recorded(world),
        {"input": {"q": 1}, "output": "liked", "likes": UP},
        {"input": {"q": 1}, "output": "disliked", "likes": DOWN},
        {"input": {"q": 2}, "output": "not labelled"},
        {"input": {"q": 3}, "output": {"a": 1, "b": 2}, "likes": [True, True, False]},
        {"input": {"q": 4}, "output": "contested", "likes": [True, False]},
        {"input": {"q": 5}, "error": "ValueError: no", "likes": UP},
        {"input": {"topic": "sea"}, "output": "a poem", "parent": f"{0:016x}", "template": "poem", "likes": UP},
    )
    return world


DEMO = [({"q": 1}, [(1, "liked"), (0, "disliked")]), ({"q": 3}, [(1, {"a": 1, "b": 2})])]


def test_s0_2_project_sessions_are_the_labelled_answers_by_input(project):
    assert cases_of(UnitTest("x").for_project_sessions("demo")) == DEMO


@pytest.mark.parametrize("variable", ["EVALMARK_TRACKING_PROJECT", "PROMPTWATCH_TRACKING_PROJECT"])
def test_s0_35_the_environment_names_the_project(project, monkeypatch, variable):
    monkeypatch.setenv(variable, "demo")
    assert cases_of(UnitTest("x").for_project_sessions()) == DEMO


def test_s0_2_without_a_project_it_is_said_what_to_name(world, monkeypatch):
    monkeypatch.delenv("PROMPTWATCH_TRACKING_PROJECT", raising=False)
    with pytest.raises(ConfigError, match="tracking_project parameter is required"):
        UnitTest("x").for_project_sessions()


def test_s0_2_a_prompt_template_has_its_labelled_outputs(project):
    found = UnitTest("x").for_prompt_template("poem").get_all_test_cases()
    assert [(c.inputs, c.for_template_name) for c in found] == [({"topic": "sea"}, "poem")]


@pytest.mark.parametrize("name", [None, 7, "", object()])
def test_s0_2_the_name_of_a_template_is_a_text(name):
    with pytest.raises(ConfigError, match="is a text"):
        UnitTest("x").for_prompt_template(name)


def test_s0_2_without_a_scope_nothing_is_tested(world):
    with pytest.raises(ConfigError, match="invalid use"), UnitTest("x"):
        pass
    with pytest.raises(ConfigError, match="invalid use"):
        UnitTest("x").get_all_test_cases()


def test_s0_2_every_selector_gives_the_test_itself(world):
    unit_test = UnitTest("x")
    chosen = (
        unit_test.for_project_sessions("demo"),
        unit_test.for_prompt_template("poem"),
        unit_test.for_test_cases([near()]),
        unit_test.for_test_cases_in_file("cases.jsonl"),
    )
    assert all(one is unit_test for one in chosen)


@pytest.mark.parametrize(
    ("answers", "project", "said"),
    [
        pytest.param([], "demo", "no store", id="nothing was ever recorded"),
        pytest.param(
            [{"input": 1, "output": "x", "likes": UP}], "other", "Existing projects: demo", id="another project"
        ),
        pytest.param(
            [{"input": 1, "output": "x"}], "demo", "1 answer .* 1 without a label.* evalmark note", id="no labels"
        ),
        pytest.param(
            [{"input": 1, "output": "x", "likes": [True, False]}], "demo", "as many as dislike", id="contested"
        ),
        pytest.param([{"input": 1, "error": "E: no", "likes": UP}], "demo", "ended in an error", id="an error alone"),
    ],
)
def test_nothing_to_test_is_an_error_that_says_what_to_do(world, answers, project, said):
    if answers:
        record(recorded(world), *answers)
    with pytest.raises(ConfigError, match=said), UnitTest("x").for_project_sessions(project):
        pass
    assert recorded(world).exists() is bool(answers)


def test_labels_for_answers_that_are_gone_are_nothing(world):
    ids = record(recorded(world), {"input": {"q": 1}, "output": "a deg=0", "likes": UP})
    with open_store(recorded(world)) as store:
        (label,) = store.sessions.labels([f"span:{ids[0]}"])
        store.sessions.add_labels(
            [type(label)(about="span:" + "f" * 16, liked=True, by="x", created="2026", content="c")]
        )
    assert len(UnitTest("x").for_project_sessions("demo").get_all_test_cases()) == 1


def test_what_is_left_out_of_a_project_is_a_note_of_its_run(project):
    unit_test = UnitTest("x", cosine(), raise_on_failure=False).for_project_sessions("demo")
    with unit_test as test:
        for test_case in test.test_cases():
            test_case.evaluate_result("deg=0")
    assert any("1 liked by as many as dislike it, 1 ended in an error" in note for note in unit_test.run.notes)


def test_for_test_cases_takes_mappings_and_any_iterable(world):
    given = {"inputs": {"q": 1}, "outputs": [{"label": 1, "value": "x"}]}
    assert cases_of(UnitTest("x").for_test_cases(iter([given]))) == [({"q": 1}, [(1, "x")])]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param([], "there is no test case", id="an empty list"),
        pytest.param("cases.json", "a list of TestCase", id="a path"),
        pytest.param(near(), "a list of TestCase", id="one case"),
        pytest.param([7], "test case 1: 7 is not a TestCase", id="a number"),
        pytest.param([near(), {"inputs": {}}], "test case 2", id="a mapping without outputs"),
        pytest.param([near(id="a"), near(1, id="a")], "2 test cases have the id 'a'", id="an id twice"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(world, given, said):
    with pytest.raises(ConfigError, match=said):
        UnitTest("x").for_test_cases(given).get_all_test_cases()


@pytest.mark.parametrize("label", [2, -1, "1", None, 0.5, "up"])
def test_s0_10_a_label_is_0_or_1(label):
    with pytest.raises(ConfigError, match="Label must be either 0 or 1"):
        LabeledOutput(label=label, value="x")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"inputs": None, "outputs": []}, "`inputs` is None", id="S0.11: no inputs"),
        pytest.param({"inputs": {}, "outputs": "x"}, "`outputs` is 'x'", id="S0.11: a text for outputs"),
        pytest.param({"inputs": {}, "outputs": None}, "`outputs` is None", id="S0.11: no outputs"),
        pytest.param(
            {"inputs": {}, "outputs": ["x"]}, "'x' is not a LabeledOutput", id="S0.11: an output without a label"
        ),
    ],
)
def test_s0_11_a_test_case_has_inputs_and_labelled_outputs(fields, said):
    with pytest.raises(ConfigError, match=said):
        TestCase(**fields)


ROW = {"inputs": {"q": "é"}, "outputs": [{"label": 1, "value": "deg=0"}, {"label": 0, "value": {"a": 1}}]}
SECOND = {"id": "two", "inputs": {"q": 2}, "outputs": [], "for_tracking_project": "demo", "unknown": 1}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("c.jsonl", f"{json.dumps(ROW)}\n{json.dumps(SECOND)}\n", id="S0.2: JSON Lines"),
        pytest.param(
            "c.jsonl", f"\ufeff{json.dumps(ROW)}\n\n  \n{json.dumps(SECOND)}", id="S0.2: blank lines, a byte order mark"
        ),
        pytest.param("c.json", f"{json.dumps(ROW)}\n{json.dumps(SECOND)}\n", id="S0.2: JSON Lines in a .json file"),
        pytest.param("c.json", json.dumps([ROW, SECOND], indent=2), id="S0.2: a pretty-printed list"),
        pytest.param("c.json", json.dumps([ROW, SECOND]), id="S0.2: a list on one line"),
        pytest.param("c.json", json.dumps({"test_cases": [ROW, SECOND]}, indent=1), id="S0.2: an object with a list"),
        pytest.param("c.json", json.dumps({"test_cases": [ROW, SECOND]}), id="S0.2: the same on one line"),
    ],
)
def test_s0_2_a_file_is_json_lines_or_json(world, name, text):
    (world / name).write_text(text, encoding="utf-8")
    found = UnitTest("x").for_test_cases_in_file(name).get_all_test_cases()
    assert [c.inputs for c in found] == [{"q": "é"}, {"q": 2}]
    assert [o.label for o in found[0].outputs] == [1, 0]
    assert (found[1].id, found[1].for_tracking_project) == ("two", "demo")


def test_s0_2_a_pretty_printed_object_is_one_case(world):
    (world / "c.json").write_text(json.dumps(ROW, indent=2), encoding="utf-8")
    assert len(UnitTest("x").for_test_cases_in_file(world / "c.json").get_all_test_cases()) == 1


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("c.jsonl", "", "c.jsonl: is empty", id="an empty file"),
        pytest.param("c.jsonl", f"{json.dumps(ROW)}\n{{broken\n", "c.jsonl:2", id="a broken line"),
        pytest.param("c.jsonl", "{broken\n[]\n", "c.jsonl:1.*\n.*c.jsonl:2", id="every broken line is named"),
        pytest.param(
            "c.json", json.dumps([ROW, {"inputs": {}}], indent=1), "c.json:1[0-9].*`outputs`", id="a field is missing"
        ),
        pytest.param(
            "c.jsonl", '{"input": {}, "outputs": []}', "`inputs` is not among input, outputs", id="a field is misspelt"
        ),
        pytest.param(
            "c.jsonl",
            '{"inputs": {}, "outputs": [{"label": 3, "value": 1}]}',
            "c.jsonl:1: .*either 0 or 1",
            id="a label",
        ),
        pytest.param("c.jsonl", '{"inputs": {"a": NaN}, "outputs": []}', "c.jsonl:1.*NaN", id="a number that is none"),
        pytest.param("c.json", "[]", "there is no test case", id="an empty list"),
        pytest.param("c.json", '{"rows": []}', "`inputs` is not among rows", id="an object of another kind"),
        pytest.param("c.json", "[1, 2]", "found 1", id="numbers"),
        pytest.param("c.jsonl", '{"inptu": 1, "liked": ["x"]}', "c.jsonl:1", id="an exported row that is none"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(world, name, text, said):
    (world / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"(?s){said}"), UnitTest("x").for_test_cases_in_file(name):
        pass


def test_a_file_of_exported_answers_is_a_file_of_test_cases(world):
    row = {"id": "d06", "input": "Oslo?", "liked": ["yes"], "disliked": ["no"], "metadata": {"project": "demo"}}
    (world / "c.jsonl").write_text(f"{json.dumps(row)}\n{json.dumps(ROW)}", encoding="utf-8")
    first, second = UnitTest("x").for_test_cases_in_file("c.jsonl").get_all_test_cases()
    assert (first.id, first.inputs, [(o.label, o.value) for o in first.outputs]) == (
        "d06",
        "Oslo?",
        [(1, "yes"), (0, "no")],
    )
    assert second.inputs == {"q": "é"}


def test_many_broken_lines_are_counted(world):
    (world / "c.jsonl").write_text("{\n" * 30, encoding="utf-8")
    with pytest.raises(DataError, match=r"… and 10 more faults in c\.jsonl"):
        UnitTest("x").for_test_cases_in_file("c.jsonl").get_all_test_cases()


def test_a_file_that_is_not_there_is_named(world):
    with pytest.raises(EvalmarkError, match=r"gone\.jsonl"):
        UnitTest("x").for_test_cases_in_file("gone.jsonl").get_all_test_cases()


def test_the_same_inputs_have_one_id_wherever_they_come_from(world):
    record(recorded(world), {"input": {"question": "why?"}, "output": "liked deg=5", "likes": UP})
    ids = [given.id for given in UnitTest("x").for_project_sessions("demo").get_all_test_cases()]
    unit_test = UnitTest("x", cosine()).for_test_cases([case((1, "liked deg=5")), case((1, "liked deg=6"))])
    with unit_test as test:
        for test_case in test.test_cases():
            test_case.evaluate_result("deg=0")
    assert [result.trial.case.id for result in unit_test.run.results] == [ids[0], f"{ids[0]}-2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param({"test_name": ""}, "the name of the test", id="no name"),
        pytest.param({"test_name": None}, "the name of the test", id="None as a name"),
        pytest.param(
            {"test_name": "x", "evaluation": "cosine"}, "the evaluator is 'cosine'", id="a name of an evaluator"
        ),
        pytest.param(
            {"test_name": "x", "evaluation": cosine(), "evaluator": cosine()}, "two names", id="S0.1: two evaluators"
        ),
    ],
)
def test_a_unit_test_says_what_it_cannot_use(arguments, said):
    with pytest.raises(ConfigError, match=said):
        UnitTest(**arguments)


@pytest.mark.parametrize("keyword", ["evaluation", "evaluator"])
def test_s0_1_both_names_of_the_evaluator_are_taken(keyword):
    strategy = cosine()
    assert UnitTest("x", api_key="k", **{keyword: strategy}).evaluation is strategy
    assert UnitTest("x", strategy).evaluation is strategy
