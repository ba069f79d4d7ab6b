"""Test files of prompts into cases: whatever a field is called, nothing moves from one to another."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case
from evalmark.errors import ConfigError
from evalmark.inputs.datasets.options import BadRow
from evalmark.prompts.specs.prompt_tests import file_of_tests, read_baseline, read_tests, sample_tests
from evalmark.prompts.specs.spec import PromptRule, PromptSpec, read_spec
from evalmark.prompts.templates.prompt_files import parse_prompt

ONE = "---\nname: one\n---\nsystem:\nTag it.\nuser:\n{{ text }}\n"
THREE = """---
name: three
inputs:
  question: {type: string}
  labels: {type: array}
  locale: {type: string, default: en}
scenarios:
  - {name: French, parameters: {locale: fr}}
sample: {question: Why?, labels: [a], groundtruth: a}
---
user:
{{ question }} {{ labels }} {{ locale }}
"""
NONE = "user:\nSay hello.\n"


def spec_of(text, tmp_path, **fields):
    """A prompt with two rules and an inverse one."""
    prompt = parse_prompt(text, tmp_path / "p.prompty")
    rules = {"rules": ("short", "kind"), "inverse_rules": ("long",), **fields}
    return PromptSpec(prompt=prompt, folder=tmp_path, **rules)


def read(tmp_path, spec, name, text, notes=None):
    """The rows of a file with this text."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return list(read_tests(file, spec, (lambda note: None) if notes is None else notes.append))


def one(tmp_path, row, prompt=ONE, **fields):
    """What a single row becomes."""
    (found,) = read(tmp_path, spec_of(prompt, tmp_path, **fields), "tests.json", json.dumps([row]))
    return found


def test_a_row_of_promptpex_becomes_a_case_with_all_that_it_said(tmp_path):
    row = {
        "ruleid": "3",
        "testid": "1",
        "expectedoutput": "Expected error.",
        "reasoning": "Breaks it.",
        "testinput": "x",
    }
    row |= {"scenario": "", "generation": 0, "testuid": "test-12345678", "groundtruth": "NN", "groundtruthScore": 90}
    case = one(tmp_path, row)
    assert (case.id, case.input, case.expected, case.tags) == ("test-12345678", {"text": "x"}, "NN", ("negative",))
    assert case.metadata == {
        "rule": "long",
        "ruleid": 3,
        "inverse": True,
        "scenario": "",
        "baseline": False,
        "valid": None,
        "expectedoutput": "Expected error.",
        "reasoning": "Breaks it.",
        "testid": "1",
        "generation": 0,
        "groundtruthScore": 90,
    }
    assert case.place == f"{tmp_path}/tests.json:1"


@pytest.mark.parametrize(
    ("row", "prompt", "wanted"),
    [
        pytest.param({"testinput": "x"}, ONE, {"text": "x"}, id="a text is the only input"),
        pytest.param("x", ONE, {"text": "x"}, id="so is a row that is a text"),
        pytest.param({"text": "x"}, ONE, {"text": "x"}, id="an input in a column of its own"),
        pytest.param({"testinput": '{"text": "x"}'}, ONE, {"text": "x"}, id="JSON text is an object"),
        pytest.param({"testinput": {"text": "x"}}, ONE, {"text": "x"}, id="an object"),
        pytest.param({"input": "x"}, ONE, {"text": "x"}, id="under the name that datasets use"),
        pytest.param({"vars": {"text": "x"}}, ONE, {"text": "x"}, id="under the name that promptfoo uses"),
        pytest.param({"testinput": '{"word": "x"}'}, ONE, {"text": '{"word": "x"}'}, id="other JSON is a text"),
        pytest.param({"testinput": "{{ text }}"}, ONE, {"text": "{{ text }}"}, id="braces are a text"),
        pytest.param({"testinput": 7}, ONE, {"text": 7}, id="a number"),
        pytest.param(
            {"testinput": '{"question": "q", "labels": ["a"]}'},
            THREE,
            {"question": "q", "labels": ["a"]},
            id="several inputs",
        ),
        pytest.param(
            {"question": "q", "labels": '["a"]'}, THREE, {"question": "q", "labels": ["a"]}, id="a list in a cell"
        ),
        pytest.param(
            {"question": "q", "labels": ["a"], "locale": "de"},
            THREE,
            {"question": "q", "labels": ["a"], "locale": "de"},
            id="over a default",
        ),
        pytest.param(
            {"question": "q", "labels": ["a"], "locale": "de", "scenario": "French"},
            THREE,
            {"question": "q", "labels": ["a"], "locale": "fr"},
            id="what a scenario sets stands fast",
        ),
        pytest.param(
            {"question": "", "labels": ["a"]}, THREE, {"question": "", "labels": ["a"]}, id="one of them empty"
        ),
        pytest.param({"ruleid": 1}, NONE, {}, id="a prompt that takes nothing"),
    ],
)
def test_values_find_their_inputs(tmp_path, row, prompt, wanted):
    case = one(tmp_path, row, prompt)
    assert isinstance(case, Case), str(case)
    assert case.input == wanted


@pytest.mark.parametrize(
    ("row", "prompt", "said"),
    [
        pytest.param({"ruleid": 1}, ONE, "the test has no input; set `text`.", id="no input"),
        pytest.param({"testinput": ""}, ONE, "the test has no input; set `text`.", id="an empty input"),
        pytest.param({"testinput": " \n"}, ONE, "the test has no input; set `text`.", id="a blank input"),
        pytest.param({"text": None}, ONE, "the test has no input; set `text`.", id="null"),
        pytest.param({}, THREE, "the test has no input; set `question`, `labels`.", id="none of several"),
        pytest.param(
            {"testinput": "x"},
            THREE,
            "the test is the text 'x', and the prompt takes `question`, `labels`; write a JSON object.",
            id="a text for several",
        ),
        pytest.param(
            {"testinput": '{"question": "q", "colour": 1}'},
            THREE,
            "'colour' is not an input of the prompt; it has `question`, `labels`, `locale`.",
            id="an input that is none",
        ),
        pytest.param(
            {"testinput": '{"question": "q"}'},
            THREE,
            "p.prompty:12: {{labels}} has no value; give one for 'labels', or declare a default in the file.",
            id="an input without a value",
        ),
        pytest.param(
            {"question": "q", "labels": "a, b"},
            THREE,
            "`labels` is 'a, b', which is not JSON",
            id="a list that is no JSON",
        ),
        pytest.param(
            {"question": "q", "labels": "7"}, THREE, "the value of 'labels' is 7; it takes a list.", id="another type"
        ),
        pytest.param({"testinput": "x"}, NONE, "the prompt has no input for the test's value.", id="no place"),
        pytest.param(
            {"text": "x", "baseline": "maybe"}, ONE, "`baseline` is 'maybe'; it takes true or false.", id="maybe"
        ),
        pytest.param(
            {"text": "x", "groundtruth": "a", "expected": "b"},
            ONE,
            "`groundtruth` and `expected` both hold the expected answer; leave one out.",
            id="two answers",
        ),
        pytest.param({"text": "x", "tags": 3}, ONE, "`tags` is 3; it takes a list of texts.", id="tags that are none"),
        pytest.param(["x"], ONE, "a test is a mapping of field names to values", id="a list"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named_with_its_place(tmp_path, row, prompt, said):
    bad = one(tmp_path, row, prompt)
    assert isinstance(bad, BadRow), bad
    assert said in str(bad)
    assert str(bad).startswith(f"{tmp_path}/tests.json:1: ")


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ({"ruleid": "1"}, PromptRule(1, "short")),
        ({"ruleid": 3}, PromptRule(3, "long", True)),
        ({"rule": "kind"}, PromptRule(2, "kind")),
        ({"ruleid": 1, "rule": "kind"}, PromptRule(1, "kind")),
        ({"ruleid": 1, "rule": "an older one", "inverse": True}, PromptRule(1, "an older one", True)),
        ({"rule": "long"}, PromptRule(3, "long", True)),
    ],
    ids=str,
)
def test_a_test_is_about_the_rule_that_it_names(tmp_path, row, rule):
    metadata = one(tmp_path, {"text": "x", **row}).metadata
    assert (metadata["ruleid"], metadata["rule"], metadata["inverse"]) == rule


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, None),
        ({"groundtruth": "NN"}, "NN"),
        ({"expected": "NN"}, "NN"),
        ({"expected_output": "NN"}, "NN"),
        ({"expectedOutput": "NN"}, "NN"),
        ({"expectedoutput": "NN"}, None),
        ({"groundtruth": ""}, None),
        ({"groundtruth": "NN", "groundtruthScore": -1}, None),
        ({"groundtruth": "NN", "groundtruthScore": "-1"}, None),
        ({"groundtruth": "NN", "groundtruthScore": 0}, "NN"),
        ({"groundtruth": {"a": 1}}, {"a": 1}),
    ],
    ids=str,
)
def test_only_a_ground_truth_is_expected(tmp_path, row, expected):
    assert one(tmp_path, {"text": "x", **row}).expected == expected


@pytest.mark.parametrize(
    ("said", "wanted"), [(True, True), ("ok", True), ("err", False), ("0", False), ("", None), ("unknown", None)]
)
def test_what_is_known_of_validity(tmp_path, said, wanted):
    assert one(tmp_path, {"text": "x", "valid": said}).metadata["valid"] is wanted


def test_a_number_without_a_rule_is_kept_and_told_once(tmp_path):
    notes = []
    rows = [{"text": t, "ruleid": n} for t, n in (("a", 4), ("b", 9), ("c", "x"))]
    cases = read(tmp_path, spec_of(ONE, tmp_path), "tests.json", json.dumps(rows), notes)
    assert [case.metadata["ruleid"] for case in cases] == [4, 9, "x"]
    assert all(case.metadata["rule"] is None and case.tags == () for case in cases)
    assert notes == [f"{tmp_path}/tests.json:1: 4 is none of the 3 rules of the prompt; the test runs without a rule."]


def test_tests_of_one_input_under_two_rules_are_two(tmp_path):
    rows = [{"text": "x", "ruleid": 1}, {"text": "x", "ruleid": 2}, {"text": "x", "ruleid": 2}, {"text": "x"}]
    ids = [case.id for case in read(tmp_path, spec_of(ONE, tmp_path), "tests.json", json.dumps(rows))]
    assert len(set(ids)) == 4
    assert ids[2] == f"{ids[1]}-2"
    turned = [case.id for case in read(tmp_path, spec_of(ONE, tmp_path), "tests.json", json.dumps(rows[1:]))]
    assert turned == ids[1:]


def test_an_id_that_stands_twice_is_named(tmp_path):
    rows = [{"text": "x", "testuid": "a"}, {"text": "y", "testuid": "a"}]
    first, second = read(tmp_path, spec_of(ONE, tmp_path), "tests.jsonl", "\n".join(map(json.dumps, rows)))
    assert (first.id, second.message) == (
        "a",
        f"the id 'a' occurs a second time; the first one is at {tmp_path}/tests.jsonl:1.",
    )


CSV = '''ruleid, testid, testinput, expectedoutput, reasoning
1, 1, "a, b", "NN", "Because, it is."

2, 1, c, NN
3, 1, d, NN, why,
1, 2, e, NN, why, more
1, 3, , NN, why
1, 4, "f ""g""", NN, why
'''


def test_rows_of_csv_are_kept_or_named_by_their_line_and_never_shifted(tmp_path):
    rows = read(tmp_path, spec_of(ONE, tmp_path), "tests.csv", CSV)
    assert [row.input["text"] if isinstance(row, Case) else row.place.rpartition(":")[2] for row in rows] == [
        *("a, b", "4", "d", "6", "7", 'f "g"')
    ]
    assert [str(row).split(": ", 1)[1] for row in rows if isinstance(row, BadRow)] == [
        "4 cells under a header of 5: no cell for 'reasoning'.",
        "6 cells under a header of 5: quote the text around 'more' if it holds the delimiter.",
        "the test has no input; set `text`.",
    ]
    assert [row.metadata["reasoning"] for row in rows if isinstance(row, Case)] == ["Because, it is.", "why", "why"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests.json", '[{"text": "x", "ruleid": 1}]'),
        ("tests.jsonl", '{"text": "x", "ruleid": 1}\n'),
        ("tests.csv", "text,ruleid\nx,1\n"),
        ("tests.tsv", "text\truleid\nx\t1\n"),
        ("tests.yaml", "- text: x\n  ruleid: 1\n"),
    ],
)
def test_every_format_gives_the_same_case(tmp_path, name, text):
    (case,) = read(tmp_path, spec_of(ONE, tmp_path), name, text)
    assert (case.input, case.metadata["ruleid"], case.tags) == ({"text": "x"}, 1, ("positive",))


def test_a_file_that_breaks_off_says_so_last(tmp_path):
    found = read(tmp_path, spec_of(ONE, tmp_path), "tests.json", '[{"text": "x"}, {"text": ')
    assert isinstance(found[0], Case)
    assert found[-1].last
    with pytest.raises(ConfigError):
        read(tmp_path, spec_of(ONE, tmp_path), "tests.json", "")


def test_columns_that_differ_from_the_whole_are_told(tmp_path):
    notes = []
    row = {"text": "old", "testinput": "expanded"}
    (case,) = read(tmp_path, spec_of(ONE, tmp_path), "tests.json", json.dumps([row]), notes)
    assert case.input == {"text": "expanded"}
    assert notes[0].endswith("`testinput` and the columns of the inputs differ; `testinput` is used.")


def test_baseline_tests_are_told_apart(tmp_path):
    file = tmp_path / "baseline_tests.txt"
    file.write_text("first\nline\n===\n\nsecond\n===\n\n===\nthird")
    cases = list(read_baseline(file, spec_of(ONE, tmp_path)))
    assert [(case.input["text"], case.place.rpartition(":")[2]) for case in cases] == [
        *(("first\nline", "1"), ("second", "5"), ("third", "9"))
    ]
    assert {(case.tags, case.metadata["baseline"], case.metadata["rule"]) for case in cases} == {
        (("baseline",), True, None)
    }


def test_the_prompts_own_samples_are_tests(tmp_path):
    (case,) = sample_tests(spec_of(THREE, tmp_path))
    assert (case.input, case.expected, case.place) == (
        {"question": "Why?", "labels": ["a"]},
        "a",
        f"{tmp_path}/p.prompty:9",
    )


def test_the_file_of_tests_a_prompt_are_found_unless_there_are_two(tmp_path):
    spec = spec_of(ONE, tmp_path)
    assert file_of_tests(spec) is None
    (tmp_path / "tests.csv").write_text("text\nx\n")
    assert file_of_tests(spec) == tmp_path / "tests.csv"
    (tmp_path / "tests.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"tests\.json and tests\.csv both hold tests; remove one"):
        file_of_tests(spec)


@pytest.mark.parametrize(
    ("name", "sample", "tests", "positive", "baseline"),
    [
        ("elements", "openai-examples/elements", 48, 24, 47),
        ("extract-names", "prompt-guide/extract-names", 36, 18, 37),
        ("speech-tag", "speech-tag/speech-tag", 42, 21, 42),
        ("text-to-p", "text-to-p/text-to-p", 39, 21, 39),
    ],
)
def test_the_published_tests_are_read(shared, name, sample, tests, positive, baseline):
    pex = shared / "data" / "promptpex"
    spec = read_spec(pex / "samples" / f"{sample}.prompty", pex / "v7" / name)
    cases = list(read_tests(pex / "v7" / name / "tests.csv", spec))
    assert not [row for row in cases if isinstance(row, BadRow)]
    assert (len(cases), sum("positive" in case.tags for case in cases)) == (tests, positive)
    assert all(case.metadata["rule"] and case.metadata["reasoning"] for case in cases)
    assert len(list(read_baseline(pex / "v7" / name / "baseline_tests.txt", spec))) == baseline


@pytest.mark.parametrize("file", ["example_output_tests.json", "example_output_tests_expanded.json"])
def test_published_tests_with_several_inputs_are_objects(shared, file):
    pex = shared / "data" / "promptpex"
    spec = read_spec(pex / "samples" / "demo" / "rate-customer-experience.prompty")
    cases = list(read_tests(pex / file, spec))
    assert len(cases) >= 10
    assert all(set(case.input) == {"user_question", "chatbot_answer", "user_feedback"} for case in cases)


@given(
    st.dictionaries(
        st.sampled_from(["text", "testinput", "ruleid", "rule", "inverse", "baseline", "valid", "groundtruth", "x"]),
        st.none() | st.booleans() | st.integers(-3, 5) | st.text(max_size=5) | st.just('{"text": "y"}'),
    )
)
def test_any_row_is_a_case_or_says_why_not(tmp_path_factory, row):
    folder = tmp_path_factory.getbasetemp()
    found = one(folder, row)
    if isinstance(found, Case):
        assert set(found.input) == {"text"}
        kept = {key: value for key, value in found.metadata.items() if key == "x"}
        assert kept == ({"x": row["x"]} if row.get("x") is not None else {})
    else:
        assert found.message.endswith(".")
