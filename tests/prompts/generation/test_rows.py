"""Rows and statements as files hold them: read again, they are what was written, whatever a prompt calls its inputs."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case
from evalmark.errors import ConfigError, EvalmarkError
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.inputs.documents.errors import PlacedError
from evalmark.prompts.generation.coverage import read_coverage
from evalmark.prompts.generation.drafts import parse_inputs, rule_groups
from evalmark.prompts.generation.effort import EFFORTS, effort_named
from evalmark.prompts.generation.folder_files import has_content, read_rows, read_statements, write_json
from evalmark.prompts.generation.generation_record import GenerationRecord, RuleGroundedness, read_record, write_record
from evalmark.prompts.generation.rows import GeneratedTest, draft_rows, inputs_in, unique_drafts, whole_text
from evalmark.prompts.generation.stage_calls import ReplyFault
from evalmark.prompts.generation.stages import STAGES, from_here, stage_named
from evalmark.prompts.generation.statements import parse_inverses, statement
from evalmark.prompts.generation.validity import parse_verdicts
from evalmark.prompts.generation.variables import NO_SCENARIO, check_inputs, inputs_schema, open_inputs, scenarios_of
from evalmark.prompts.specs.prompt_tests import read_tests
from evalmark.prompts.specs.spec import PromptSpec, read_spec
from evalmark.prompts.specs.statement_files import lines_of
from evalmark.prompts.templates.prompt_files import parse_prompt
from evalmark.reports.terminal.generation import coverage_text
from evalmark.stats.summary.collection import left_out

FIELDS = [
    "id",
    "ruleid",
    "rule",
    "inverse",
    "testid",
    "inputs",
    "reasoning",
    "expectedoutput",
    "scenario",
    "generation",
    "baseline",
    "valid",
    "grounded",
]


def spec_of(text: str, **more) -> PromptSpec:
    return PromptSpec(prompt=parse_prompt(text, Path("p.prompty")), **more)


PLAIN = spec_of("user:\n{{ text }}", rules=("One.", "Two."), inverse_rules=("Not one.", "Not two."))


@given(st.text(max_size=60))
def test_a_statement_stands_on_its_line_and_is_read_as_it_was_written(text):
    found = statement(text, "it")
    if isinstance(found, str):
        assert lines_of(f"First.\n{found}\nLast.\n") == ("First.", found, "Last.")


def test_what_a_terminal_would_act_on_is_not_in_a_statement():
    assert statement("\x1b]0;title\x07\x1b[31mBe\x9b1m \u202eshort.\x00", "it") == "Be short."
    assert isinstance(statement("\x1b[31m\x07", "it"), ReplyFault)


def test_what_a_terminal_would_act_on_is_escaped_in_json(tmp_path):
    rows = [{"inputs": {"text": "\x1b[1m\x9b2J\u202ea\u2028é"}}]
    write_json(tmp_path / "tests.json", rows)
    assert not set("\x1b\x9b\u202e\u2028") & set((tmp_path / "tests.json").read_text(encoding="utf-8"))
    assert read_rows(tmp_path / "tests.json") == rows


@given(st.lists(st.tuples(st.integers(-1, 5), st.sampled_from(["", "No.", "Never.", "- x", "a\nb", "1."])), max_size=6))
def test_inverses_are_each_of_its_own_rule_or_there_are_none(said):
    found = parse_inverses([{"rule": number, "inverse": text} for number, text in said], 3)
    if not isinstance(found, ReplyFault):
        assert sorted(number for number, _ in said) == [1, 2, 3]
        assert len(found) == sum(bool(text) for _, text in said)


@pytest.mark.parametrize("name", [*FIELDS, "testinput", "input", "vars", "groundtruth", "generation"])
def test_whatever_an_input_is_called_a_row_is_read_as_it_was_meant(name, tmp_path):
    spec = spec_of(f"user:\n{{{{ {name} }}}} {{{{ other }}}}", rules=("One.",))
    draft = GeneratedTest({name: "a, b", "other": "c"}, spec.rule(1), "why", "guess")
    write_json(tmp_path / "tests.json", draft_rows(spec, [draft], {"One.": False}))
    (case,) = read_tests(tmp_path / "tests.json", spec, pytest.fail)
    assert isinstance(case, Case), case
    assert case.input == {name: "a, b", "other": "c"}
    assert (case.metadata["rule"], case.metadata["ruleid"], case.metadata["inverse"]) == ("One.", 1, False)
    assert case.expected is None
    assert inputs_in(spec, read_rows(tmp_path / "tests.json")[0]) == case.input


@pytest.mark.parametrize(
    ("row", "given"),
    [
        pytest.param({"inputs": {"text": "a"}}, {"text": "a"}, id="ours"),
        pytest.param({"testinput": "a"}, "a", id="PromptPex's"),
        pytest.param({"text": "a", "note": "b"}, {"text": "a"}, id="a field of its own"),
        pytest.param({"note": "b"}, None, id="none"),
    ],
)
def test_what_a_row_puts_in_is_found_wherever_it_stands(row, given):
    assert inputs_in(PLAIN, row) == given


def test_a_test_is_the_same_where_rule_scenario_and_inputs_are():
    one, two = PLAIN.rule(1), PLAIN.rule(2)
    drafts = [
        GeneratedTest({"text": "a"}, one),
        GeneratedTest({"text": "a"}, one, "again"),
        GeneratedTest({"text": "a"}, two),
    ]
    assert unique_drafts([*drafts, GeneratedTest({"text": "a"}, one, scenario="s")]) == [
        drafts[0],
        drafts[2],
        GeneratedTest({"text": "a"}, one, scenario="s"),
    ]


SCENES = """---
inputs:
  tone: {type: string, default: kind}
  count: {type: integer}
  kind: {type: string, enum: [a, b]}
  rows: {type: array}
scenarios:
  - {name: short, parameters: {count: 1}}
  - {name: all, parameters: {count: 1, kind: a, rows: []}}
---
user:
{{ tone }} {{ count }} {{ kind }} {{ rows }}
"""


def test_what_a_scenario_sets_is_asked_of_nobody():
    spec = spec_of(SCENES, rules=("One.", "Two."), inverse_rules=("Not one.",))
    names = {s.name: [known.name for known in open_inputs(spec.prompt, s)] for s in scenarios_of(spec.prompt)}
    assert names == {"short": ["kind", "rows"], "all": ["tone"]}
    groups = rule_groups(spec, effort_named("medium", max_rules_per_call=1))
    assert [(group.scenario.name, [rule.number for rule in group.rules]) for group in groups] == [
        (name, [number]) for name in ("short", "all") for number in (1, 2, 3)
    ]


def test_inputs_are_asked_for_in_their_types():
    prompt = spec_of(SCENES).prompt
    schema = inputs_schema([known for known in prompt.inputs if known.required])
    assert [schema["properties"][name]["type"] for name in ("count", "kind", "rows")] == ["integer", "string", "string"]
    assert schema["properties"]["kind"]["enum"] == ["a", "b"]


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        pytest.param({"count": 1, "kind": "a", "rows": "[1]"}, None, id="JSON text for a list"),
        pytest.param({"count": "many", "kind": "a", "rows": "[]"}, "takes a whole number", id="a word for a number"),
        pytest.param({"count": 1, "kind": "c", "rows": "[]"}, 'takes one of "a", "b"', id="none of the choices"),
        pytest.param({"count": 1, "kind": "a", "rows": "[1"}, "which is not JSON", id="broken JSON"),
        pytest.param({"count": 1, "kind": "a"}, "lacks `rows`", id="one is missing"),
        pytest.param(
            {"count": 1, "kind": "a", "rows": "[]", "tone": "x"},
            "an unknown name; the variables are `count`, `kind`, `rows`",
            id="one that has a default",
        ),
        pytest.param(["x"], "not an object", id="a list"),
    ],
)
def test_inputs_that_the_prompt_cannot_take_are_no_test(said, wrong):
    found = parse_inputs(said, spec_of(SCENES), NO_SCENARIO)
    assert (wrong is None) == (not isinstance(found, ReplyFault))
    assert wrong is None or wrong in found.sentence


DEFAULTS = """---
inputs: {text: {type: string}, tone: {type: string, default: calm}, note: {type: string, default: ""}}
scenarios:
  - {name: loud, parameters: {tone: loud}}
---
user:
{{ text }} {{ tone }} {{ note }}
"""


@pytest.mark.parametrize(
    ("prompt", "row", "wanted"),
    [
        pytest.param(DEFAULTS, {"inputs": {"text": "Hi"}}, {"text": "Hi", "tone": "calm", "note": ""}, id="defaults"),
        pytest.param(DEFAULTS, {"testinput": "Hi"}, {"text": "Hi", "tone": "calm", "note": ""}, id="one text"),
        pytest.param(
            DEFAULTS, {"text": "Hi", "tone": "cold"}, {"text": "Hi", "tone": "cold", "note": ""}, id="its own"
        ),
        pytest.param(
            DEFAULTS,
            {"inputs": {"text": "Hi"}, "scenario": "loud"},
            {"text": "Hi", "tone": "loud", "note": ""},
            id="what a scenario sets",
        ),
        pytest.param(DEFAULTS, {"inputs": {"txt": "Hi"}}, {"txt": "Hi"}, id="a row that cannot be asked, as it is"),
        pytest.param("user:\n{{ text }}", {"inputs": {"text": "Hi"}}, {"text": "Hi"}, id="no defaults"),
    ],
)
def test_whoever_judges_an_input_sees_all_that_the_prompt_is_filled_with(prompt, row, wanted):
    assert json.loads(whole_text(spec_of(prompt), row)) == wanted


@pytest.mark.parametrize("kind", ["image", "audio", "file"])
def test_what_no_model_can_write_is_refused(kind):
    with pytest.raises(ConfigError, match=f"the input 'photo' has the type {kind}, and no model writes one"):
        check_inputs(spec_of(f"---\ninputs: {{photo: {{type: {kind}}}}}\n---\nuser:\n{{{{ photo }}}} {{{{ text }}}}"))


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(None, id="null"),
        pytest.param([1], id="no object"),
        pytest.param([{"number": True, "holds": True}], id="a truth value for a number"),
        pytest.param([{"number": 3, "holds": True}], id="a number that was not asked about"),
        pytest.param([{"number": 1, "holds": 1}], id="a number for a truth value"),
        pytest.param([{"number": 1, "holds": True}], id="one is missing"),
        pytest.param([{"number": 1, "holds": True}, {"number": 1, "holds": False}], id="one twice"),
    ],
)
def test_verdicts_that_leave_a_doubt_are_none(said):
    assert isinstance(parse_verdicts(said, 2), ReplyFault)


def test_the_side_data_are_read_as_they_were_written(tmp_path):
    side = (
        GenerationRecord(marks={"One.": RuleGroundedness(False, "No.")})
        .marked_for_redo(["rules", "tests"])
        .made("rules", "f", "openai/a")
    )
    write_record(tmp_path, side)
    assert read_record(tmp_path) == side
    assert (side.redo, side.origin("rules").times) == (("tests",), 1)
    assert read_record(tmp_path / "nowhere") == GenerationRecord()


@pytest.mark.parametrize("text", ["[]x", "[1]", "{}", '{"stages": {"a": 1}, "redo": [], "rules": []}', "nonsense"])
def test_side_data_that_are_not_ours_are_an_error_with_their_place(tmp_path, text):
    (tmp_path / "generated.json").write_text(text, encoding="utf-8")
    with pytest.raises(PlacedError, match=r"generated\.json"):
        read_record(tmp_path)


def test_a_file_that_cannot_be_written_leaves_what_was_there_and_nothing_beside_it(tmp_path):
    (tmp_path / "rules.txt").mkdir()
    with pytest.raises(EvalmarkError, match=r"rules\.txt: the file cannot be written: "):
        write_atomically(tmp_path / "rules.txt", ["Be short.\n"])
    assert [path.name for path in tmp_path.iterdir()] == ["rules.txt"]


@pytest.mark.parametrize(
    ("text", "is_there"), [("", False), (" \n", False), ("[]\n", False), ("[1]", True), ("x", True)]
)
def test_a_file_counts_where_something_stands_in_it(tmp_path, text, is_there):
    (tmp_path / "tests.json").write_text(text, encoding="utf-8")
    assert has_content(tmp_path / "tests.json") is is_there


def test_a_file_that_holds_a_refusal_is_named_with_the_stage_that_makes_it_anew(tmp_path):
    (tmp_path / "inverse_rules.txt").write_text("I'm sorry, but I can't help with that.\n", encoding="utf-8")
    with pytest.raises(PlacedError, match="--redo inverse-rules"):
        read_statements(tmp_path / "inverse_rules.txt")


def test_rows_that_are_no_list_of_objects_are_none(tmp_path):
    (tmp_path / "tests.json").write_text(json.dumps({"data": []}), encoding="utf-8")
    assert read_rows(tmp_path / "tests.json") is None


def test_each_preset_asks_for_no_less_than_the_one_before():
    low, high = EFFORTS["low"], EFFORTS["high"]
    assert low.max_rules * low.tests_per_rule >= EFFORTS["min"].max_rules * EFFORTS["min"].tests_per_rule
    assert high.max_rules > EFFORTS["medium"].max_rules > low.max_rules


def test_a_stage_is_known_by_its_name_with_either_line():
    assert stage_named("Inverse_Rules").file == "inverse_rules.txt"
    assert from_here(stage_named("validity")) == ("validity", "groundtruth", "baseline-tests")
    assert len({stage.name for stage in STAGES}) == len(STAGES)


@pytest.mark.parametrize("width", [60, 100, 140])
def test_lines_of_the_report_fit_the_terminal(tmp_path, width):
    prompt = tmp_path / "p.prompty"
    prompt.write_text("user:\n{{ text }}")
    write_atomically(tmp_path / "p" / "rules.txt", [f"{'Answer in one word, whatever is asked. ' * 5}\n"])
    write_json(tmp_path / "p" / "tests.json", [{"testinput": "Hi", "ruleid": 1}])
    (line,) = [line for line in coverage_text(read_coverage(prompt), width).splitlines() if "Answer" in line]
    assert len(line) == width
    assert line.endswith("…")


def test_what_the_report_counts_is_what_the_headline_of_a_run_counts(tmp_path):
    prompt = tmp_path / "p.prompty"
    prompt.write_text("user:\n{{ text }}")
    rows = [
        {"testinput": "a"},
        {"testinput": "b", "valid": False},
        {"testinput": "c", "grounded": False},
        {"testinput": "d", "baseline": True},
        {"testinput": "e", "tags": ["baseline"]},
    ]
    write_json(tmp_path / "p" / "tests.json", rows)
    found = read_coverage(prompt)
    cases = list(read_tests(tmp_path / "p" / "tests.json", read_spec(prompt)))
    assert (found.counted, found.baseline) == (sum(left_out(case) is None for case in cases), 2) == (1, 2)
