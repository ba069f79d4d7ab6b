"""Which files are tests of a prompt, and which are ordinary cases that fill it."""

import json

import pytest

from evalmark.prompts.specs.detection import holds_tests
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.prompts.templates.prompt_files import parse_prompt

ONE = "---\nname: one\n---\nsystem:\nTag it.\nuser:\n{{ headline }}\n"
ASKED = "---\nname: asked\n---\nuser:\n{{ question }}\n"
TWO = "---\nname: two\n---\nuser:\n{{ question }} {{ product }}\n"


@pytest.mark.parametrize(
    ("prompt", "rows", "holds"),
    [
        pytest.param(ONE, [{"testinput": "Rain"}], True, id="a field that only tests have"),
        pytest.param(ONE, [{"input": "Rain", "Rule ID": 3}], True, id="the same, written in another way"),
        pytest.param(ONE, [{"input": "Rain"}, {"input": "Sun", "valid": False}], True, id="in a later row only"),
        pytest.param(ONE, [{"headline": "Rain", "expected": "World"}], True, id="the input of the prompt as a column"),
        pytest.param(TWO, [{"question": "Why?", "product": "tent"}], True, id="all inputs as columns"),
        pytest.param(ASKED, [{"question": "Why?", "expected": "So."}], False, id="a case as every dataset has it"),
        pytest.param(ONE, [{"input": "Rain", "headline": "x"}], False, id="an input stands for the whole"),
        pytest.param(TWO, [{"question": "Why?", "expected": "So."}], False, id="one of two inputs"),
        pytest.param(ONE, [{"input": {"headline": "Rain"}}], False, id="a mapping of inputs"),
        pytest.param(ONE, ["Rain"], False, id="texts alone"),
        pytest.param(ONE, [], False, id="no rows"),
    ],
)
def test_tests_are_told_by_their_fields(tmp_path, prompt, rows, holds):
    spec = PromptSpec(prompt=parse_prompt(prompt, tmp_path / "p.prompty"), folder=tmp_path / "p")
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert holds_tests(tmp_path / "rows.json", spec) is holds


@pytest.mark.parametrize(
    ("name", "text", "holds"),
    [
        pytest.param("p/tests.json", '[{"question": "Rain"}]', True, id="the prompt's own file"),
        pytest.param("p/baseline_tests.txt", "Rain\n===\nSun\n", True, id="its baseline"),
        pytest.param("tests.json", '[{"question": "Rain"}]', False, id="a file of that name elsewhere"),
        pytest.param("rows.csv", "ruleid, testid, headline\n1, 1, Rain\n", True, id="a table with spaces after commas"),
        pytest.param("rows.txt", "testinput", False, id="no format"),
        pytest.param("rows.json", "[{", False, id="broken"),
        pytest.param("rows.json", None, False, id="not there"),
    ],
)
def test_a_file_of_the_prompt_holds_tests_and_one_that_cannot_be_read_none(tmp_path, name, text, holds):
    spec = PromptSpec(prompt=parse_prompt(ASKED, tmp_path / "p.prompty"), folder=tmp_path / "p")
    (tmp_path / "p").mkdir()
    if text is not None:
        (tmp_path / name).write_text(text)
    assert holds_tests(tmp_path / name, spec) is holds
