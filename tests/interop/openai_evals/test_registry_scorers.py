"""The registry's classes judge as they do in openai/evals, and its evals are found, whatever is broken beside them."""

import asyncio
import gzip
import json

import pytest
import yaml

from evalmark import Case, Example, Output, Turn
from evalmark.errors import ConfigError
from evalmark.inputs.datasets.reader import read_cases
from evalmark.interop.openai_evals.registry_importer import import_openai_registry
from evalmark.interop.shared.import_options import ImportOptions
from evalmark.runs.targets.model import ModelTarget
from evalmark.scorers import RegistryClassify, RegistryMatch
from evalmark.testing.chat import ScriptedModel
from tests.interop.shared.carried import laid_out


def passes(kind, output, *ideals, **settings):
    case = Case(id="1", expected=ideals[0] if ideals else None, examples=tuple(Example(value=i) for i in ideals[1:]))
    return RegistryMatch(kind=kind, **settings)(case, Output(value=output)).passed


@pytest.mark.parametrize(
    ("kind", "output", "ideals", "passed"),
    [
        pytest.param("match", "Oslo, Norway", ("Oslo",), True, id="match: begins with it"),
        pytest.param("match", "oslo", ("Oslo",), False, id="match: has case"),
        pytest.param("match", "It is Oslo", ("Oslo",), False, id="match: not in the middle"),
        pytest.param("match", "b c", ("a", "b"), True, id="match: any of them"),
        pytest.param("match", "x", ("",), True, id="match: every output begins with nothing"),
        pytest.param("includes", "x", ("",), True, id="includes: every output has nothing"),
        pytest.param("includes", "It is OSLO", ("oslo",), False, id="includes: has case"),
        pytest.param("fuzzy_match", "The answer: Oslo!", ("oslo",), True, id="fuzzy: the ideal is in the output"),
        pytest.param("fuzzy_match", "Oslo", ("In the city of Oslo.",), True, id="fuzzy: the output is in the ideal"),
        pytest.param("fuzzy_match", "the", ("a",), True, id="fuzzy: articles are nothing"),
        pytest.param("fuzzy_match", "", ("Oslo",), False, id="fuzzy: nothing is not something"),
        pytest.param("json_match", '{"a": [1.0, true]}', ('{"a": [1, true]}',), True, id="json: 1 is 1.0"),
        pytest.param("json_match", '{"a": null}', ('{"a": null}',), False, id="json: null equals nothing"),
        pytest.param("json_match", '{"a": 1, "b": 2}', ('{"a": 1}',), False, id="json: no further key"),
        pytest.param("json_match", "[1]", ("[1, 2]", "[1]"), True, id="json: any of them"),
        pytest.param("json_match", "no", ("{}",), False, id="json: not JSON"),
        pytest.param("json_validator", '{"a": 1}', (), True, id="validator: JSON"),
        pytest.param("json_validator", "{a: 1}", (), False, id="validator: not JSON"),
    ],
)
def test_a_basic_class_passes_as_in_the_registry(kind, output, ideals, passed):
    assert passes(kind, output, *ideals) is passed


def test_includes_may_ignore_case():
    assert passes("includes", "It is OSLO", "oslo", ignore_case=True) is True


def test_the_f1_of_words_is_a_number_without_a_verdict():
    score = RegistryMatch(kind="f1_score")(Case(id="1", expected="some foo world"), Output(value="The world"))
    assert (score.value, score.passed) == (pytest.approx(0.5), None)


SPEC = {
    "prompt": "Q {input} A {completion} E {ideal} by {rubric} {{x}}",
    "choice_strings": ["Yes", "No"],
    "choice_scores": {"Yes": 1.0, "No": 0.0},
}
CASE = Case(
    id="1", input="2+2?", history=(Turn(role="system", content="Add."),), expected="4", metadata={"rubric": "sum"}
)


def classified(reply, spec=SPEC, **settings):
    judge = ScriptedModel([reply])
    score = asyncio.run(RegistryClassify(spec=spec, **settings)(CASE, Output(value="four"), judge))
    return score, judge.requests[0].messages


def test_the_judge_is_asked_the_question_of_the_registry():
    _, [message] = classified("Yes", eval_type="classify")
    question, _, form = message.content.partition("\n\n")
    assert question == "Q Add.\nUser: 2+2?\n A four E 4 by sum {x}"
    assert '"Yes" or "No"' in form


@pytest.mark.parametrize(
    ("reply", "settings", "value", "passed"),
    [
        ("Yes", {"eval_type": "classify"}, 1.0, True),
        ("No.\nYes, one could say.", {"eval_type": "classify_cot"}, 0.0, False),
        ("No doubt at all.\n\nYes\nYes.", {"eval_type": "cot_classify"}, 1.0, True),
        ("Yes and no.\nNo", {"eval_type": "cot_classify_jp"}, 0.0, False),
        ("Perhaps", {"eval_type": "cot_classify"}, 0.0, False),
        ("I say Yes here", {"eval_type": "classify"}, 0.0, False),
        ("I say Yes here", {"eval_type": "classify", "match_fn": "include"}, 1.0, True),
    ],
)
def test_a_reply_is_read_by_the_type_of_the_eval(reply, settings, value, passed):
    score, _ = classified(reply, **settings)
    assert (score.value, score.passed) == (value, passed)


def test_choices_may_be_scores_or_have_none():
    score, _ = classified(
        "4", {**SPEC, "choice_strings": "12345", "choice_scores": "from_strings"}, eval_type="classify"
    )
    assert (score.raw, score.value, score.passed) == (4.0, 0.75, None)
    score, _ = classified("B", {**SPEC, "choice_strings": "AB", "choice_scores": None}, eval_type="classify")
    assert (score.raw, score.value, score.passed) == ("B", None, None)


def test_a_slot_without_a_value_is_no_verdict():
    score = asyncio.run(RegistryClassify(spec=SPEC)(Case(id="1", input="x"), Output(value="y"), ScriptedModel(["Yes"])))
    assert (score.status, score.reason) == ("unscored", "the sample has no ideal, which the question shows")


@pytest.mark.parametrize(
    "settings",
    [
        {"spec": {**SPEC, "choice_strings": "from_n"}},
        {"spec": {**SPEC, "choice_scores": {"Yes": 1}}},
        {"spec": {**SPEC, "prompt": None}},
        {"spec": SPEC, "eval_type": "vibes"},
        {"spec": SPEC, "match_fn": "vibes"},
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(settings):
    with pytest.raises(ConfigError, match="RegistryClassify"):
        RegistryClassify(**settings)


def evals(name, kind="match:Match", **args):
    return {
        name: {"id": f"{name}.dev.v0", "metrics": ["accuracy"]},
        f"{name}.dev.v0": {
            "class": f"evals.elsuite.basic.{kind}",
            "args": {"samples_jsonl": f"{name}/s.jsonl", **args},
        },
    }


ROWS = json.dumps({"input": [{"role": "system", "content": "Name the capital of Norway."}], "ideal": "Oslo"}) + "\n"
SHOTS = json.dumps({"sample": [{"role": "system", "name": "example_user", "content": "Italy?"}, {"role": "system", "name": "example_assistant", "content": "Rome"}]}) + "\n"  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    files = {
        "evals/good.yaml": yaml.safe_dump(evals("good")),
        "evals/shots.yaml": yaml.safe_dump(evals("shots", num_few_shot=1, few_shot_jsonl="shots/few.jsonl")),
        "evals/twice.yaml": "a.v0: {class: x}\na.v0: {class: y}\n",
        "evals/broken.yaml": "a: [",
        "data/good/s.jsonl": ROWS,
        "data/shots/s.jsonl": ROWS,
        "data/shots/few.jsonl": SHOTS * 3,
    }
    laid_out(tmp_path, files)
    (tmp_path / "data" / "packed").mkdir()
    (tmp_path / "data" / "packed" / "s.jsonl.gz").write_bytes(gzip.compress(ROWS.encode()))
    (tmp_path / "evals" / "packed.yaml").write_text(yaml.safe_dump(evals("packed")))
    return tmp_path


def test_a_broken_file_costs_that_file_alone(folder):
    imported = import_openai_registry(folder)
    assert sorted(imported.suites) == ["good/suite.yaml", "packed/suite.yaml", "shots/suite.yaml"]
    assert sorted(part.name.rpartition("/")[2] for part in imported.dropped) == ["broken.yaml", "twice.yaml"]
    assert "occurs a second time" in next(part.to for part in imported.dropped if "twice" in part.name)


def test_one_eval_is_imported_by_its_name(folder):
    for name in ("good", "good.dev.v0"):
        imported = import_openai_registry(folder, ImportOptions(eval_name=name))
        assert imported.suites == ("suite.yaml",)
        assert [(part.outcome, part.to) for part in imported.parts] == [("kept", "RegistryMatch")]
    with pytest.raises(ConfigError, match="did you mean good"):
        import_openai_registry(folder, ImportOptions(eval_name="goood"))


def test_examples_stand_before_the_question_and_settings_are_those_of_the_class(folder, tmp_path):
    imported = import_openai_registry(folder, ImportOptions(eval_name="shots"))
    laid_out(tmp_path / "in", imported.files)
    [case] = read_cases(tmp_path / "in" / "cases.jsonl")
    turns = ModelTarget(model=ScriptedModel([])).request(case).messages
    assert [(turn.role, turn.content) for turn in turns] == [
        ("user", "Italy?"),
        ("assistant", "Rome"),
        ("system", "Name the capital of Norway."),
    ]
    assert yaml.safe_load(imported.files["suite.yaml"])["target"] == {"settings": {"temperature": 0}}
    assert [part.outcome for part in imported.parts] == ["changed"]
