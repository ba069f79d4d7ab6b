"""Tests, variables and prompts that a promptfoo config keeps in other files."""

import json

import pytest
import yaml

from evalmark.cli.commands.file_checks import validate
from evalmark.core.settings import Settings
from evalmark.errors import DataError
from evalmark.interop.promptfoo.importer import import_promptfoo
from tests.interop.shared.carried import laid_out

HAS = [{"type": "contains", "value": "x"}]


def cases_of(folder, config, **files):
    """The cases of a config, and the parts that were left out."""
    whole = {"prompts": ["Say {{city}}."], "providers": ["openai:a"], **config}
    laid_out(folder, {"promptfooconfig.yaml": yaml.safe_dump(whole), **files})
    result = import_promptfoo(folder / "promptfooconfig.yaml")
    rows = [json.loads(line) for line in result.files.get("cases.jsonl", "").splitlines()]
    return rows, [part.to for part in result.dropped], result


def cities(rows):
    return [row["input"]["city"] for row in rows]


@pytest.mark.parametrize(
    ("tests", "files", "wanted"),
    [
        ("file://t.jsonl", {"t.jsonl": '{"vars": {"city": "Oslo"}}\n\n{"vars": {"city": "Rome"}}\n'}, ["Oslo", "Rome"]),
        ("t.yaml", {"t.yaml": "- vars: {city: Oslo}\n"}, ["Oslo"]),
        ("t.yaml", {"t.yaml": "vars: {city: Oslo}\n"}, ["Oslo"]),
        (["t/*.yaml"], {"t/b.yaml": "- vars: {city: Rome}\n", "t/a.yaml": "- vars: {city: Oslo}\n"}, ["Oslo", "Rome"]),
        (["{a,b}/**/t?.yml"], {"a/t1.yml": "vars: {city: Oslo}", "b/x/y/t2.yml": "vars: {city: Rome}", "b/t.yml": "1"}, ["Oslo", "Rome"]),
        (["**/t.yaml"], {"t.yaml": "vars: {city: Oslo}", "node_modules/x/t.yaml": "1", ".h/t.yaml": "1"}, ["Oslo"]),
        ("file://t.json", {"t.json": '[{"vars": {"city": "Oslo"}}]'}, ["Oslo"]),
        ([{"path": "file://t.csv"}], {"t.csv": "city\nOslo\n"}, ["Oslo"]),
        ([{"vars": "file://v/*.yaml"}], {"v/1.yaml": "city: Oslo\nland: N\n", "v/2.yaml": "city: Rome\n"}, ["Rome"]),
        ([{"vars": {"city": "file://c/*.txt"}}], {"c/a.txt": " Oslo \n", "c/b.txt": "Rome"}, ["Oslo", "Rome"]),
        ([{"vars": {"city": "file://c.yaml"}}], {"c.yaml": "a: [1, 2]\n"}, ['{"a":[1,2]}']),
        ([{"vars": {"city": "Oslo\n"}}], {}, ["Oslo"]),
        ([{"vars": {"city": "{{unknown}}"}}], {}, ["{{unknown}}"]),
        ([{"vars": {"city": "{{a}}", "a": "{{b}}", "b": "Oslo"}}], {}, ["Oslo"]),
    ],
    ids=str,
)  # fmt: skip
def test_tests_are_read_from_the_files_that_name_them(tmp_path, tests, files, wanted):
    rows, lost, _ = cases_of(tmp_path, {"tests": tests}, **files)
    assert (cities(rows), lost) == (wanted, [])


def test_a_picture_in_a_variable_is_a_data_url(tmp_path):
    (tmp_path / "p.png").write_bytes(b"\x89PNG")
    parts = [{"type": "text", "text": "Which city?"}, {"type": "image_url", "image_url": {"url": "{{city}}"}}]
    prompt = json.dumps([{"role": "user", "content": parts}])
    rows, lost, result = cases_of(tmp_path, {"tests": [{"vars": {"city": "file://p.png"}}], "prompts": [prompt]})
    assert (cities(rows), lost) == (["data:image/png;base64,iVBORw=="], [])
    written = yaml.safe_load(result.files["prompt-1.prompt.yml"])
    assert written["messages"] == [{"role": "user", "content": "Which city?\n{{ city }}"}]
    assert written["inputs"] == {"city": {"type": "image"}}


def test_the_address_of_a_picture_in_a_prompt_is_in_every_case(tmp_path):
    part = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    prompt = json.dumps([{"role": "user", "content": [{"type": "text", "text": "{{city}}?"}, part]}])
    rows, lost, result = cases_of(tmp_path, {"tests": [{"vars": {"city": "Oslo"}}], "prompts": [prompt]})
    written = yaml.safe_load(result.files["prompt-1.prompt.yml"])
    [(name, kind)] = written["inputs"].items()
    assert (kind, rows[0]["input"], lost) == (
        {"type": "image"},
        {name: "https://example.com/a.png", "city": "Oslo"},
        [],
    )
    assert validate(laid_out(tmp_path / "in", result.files) / "suite.yaml", Settings()) == []


def test_a_provider_that_cannot_be_imported_costs_no_prompt_with_a_picture(tmp_path):
    part = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    prompt = json.dumps([{"role": "user", "content": [{"type": "text", "text": "{{city}}?"}, part]}])
    config = {"tests": [{"vars": {"city": "Oslo"}}], "prompts": [prompt], "providers": ["unheard-of:x"]}
    _, [lost], _ = cases_of(tmp_path, config)
    assert "does not support this provider" in lost


def test_merge_keys_bring_the_fields_of_other_parts_of_a_config(tmp_path):
    config = """
prompts: ["Say {{city}}."]
providers:
  - {id: openai:a, config: &cool {temperature: 0, max_tokens: 50}}
  - {id: openai:b, config: {<<: *cool, max_tokens: 70}}
tests:
  - vars: &north {city: Oslo, land: Norway}
  - vars: {<<: *north, city: Bergen}
"""
    result = import_promptfoo(laid_out(tmp_path, {"promptfooconfig.yaml": config}) / "promptfooconfig.yaml")
    suite = yaml.safe_load(result.files["suite.yaml"])
    rows = [json.loads(line) for line in result.files["cases.jsonl"].splitlines()]
    assert [target["settings"] for target in suite["target"]] == [
        {"temperature": 0, "max_tokens": 50},
        {"temperature": 0, "max_tokens": 70},
    ]
    assert [row["input"] for row in rows] == [{"city": "Oslo", "land": "Norway"}, {"city": "Bergen", "land": "Norway"}]


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        (["gone/*.yaml"], "matches no file"),
        (["gone.yaml"], "there is no such file"),
        (["file:///etc/**/*.yaml"], "leads out of the folder"),
        (["file:///**"], "leads out of the folder"),
        (["../../**"], "leads out of the folder"),
        (["*" * 30 + ".yaml"], "more than 10 wildcards"),
        (["t.xlsx"], "is a .xlsx file"),
        (["gen.py:make"], "a generator of tests is code"),
        (["huggingface://datasets/x/y"], "on another machine; save its rows as CSV"),
        (["list.yaml"], "not followed"),
    ],
)
def test_a_file_of_tests_that_cannot_be_read_costs_only_itself(tmp_path, tests, why):
    files = {"list.yaml": "- other.yaml\n", "t.xlsx": "x"}
    rows, [lost], _ = cases_of(tmp_path, {"tests": [*tests, {"vars": {"city": "Oslo"}}]}, **files)
    assert (cities(rows), why in lost) == (["Oslo"], True)


def test_defaults_and_scenarios_may_be_files_too(tmp_path):
    files = {
        "d.yaml": f"vars: {{land: Norway}}\nassert: {json.dumps(HAS)}\n",
        "s.yaml": "- config: [file://c.csv]\n  tests: [{vars: {n: '1'}}]\n",
        "c.csv": "city\nOslo\nRome\n",
    }
    rows, lost, result = cases_of(tmp_path, {"defaultTest": "file://d.yaml", "scenarios": ["file://s.yaml"]}, **files)
    assert ([row["input"] for row in rows], lost) == (
        [{"land": "Norway", "city": city, "n": "1"} for city in ("Oslo", "Rome")],
        [],
    )
    assert yaml.safe_load(result.files["suite.yaml"])["metrics"] == ["contains"]


def test_a_config_without_tests_asks_every_prompt_once_and_is_not_scored(tmp_path):
    rows, lost, result = cases_of(tmp_path, {"prompts": ["Name a city in {{land}}."]})
    assert (len(rows), lost) == (1, [])
    assert yaml.safe_load(result.files["prompt-1.prompt.yml"])["inputs"] == {"land": {"default": ""}}


def test_a_variable_that_a_test_lacks_is_an_empty_text(tmp_path):
    config = {
        "prompts": ["{{city}} {{land}}"],
        "tests": [{"vars": {"city": "Oslo", "land": "N"}}, {"vars": {"city": "Rome"}}],
    }
    _, _, result = cases_of(tmp_path, config)
    assert yaml.safe_load(result.files["prompt-1.prompt.yml"])["inputs"] == {"land": {"default": ""}}


def test_references_to_other_parts_of_the_file_are_replaced(tmp_path):
    config = {"definitions": {"one": {"vars": {"city": "Oslo"}}}, "tests": [{"$ref": "#/definitions/one"}]}
    rows, lost, _ = cases_of(tmp_path, config)
    assert (cities(rows), lost) == (["Oslo"], [])


@pytest.mark.parametrize(
    ("definitions", "why"),
    [
        ({"a": {"$ref": "#/definitions/a"}}, "leads to itself"),
        (
            {"a": [{"$ref": "#/definitions/b"}] * 400, "b": [{"$ref": "#/definitions/c"}] * 400, "c": [1] * 400},
            "more than",
        ),
    ],
    ids=["a loop", "a bomb"],
)
def test_references_end(tmp_path, definitions, why):
    with pytest.raises(DataError, match=why):
        cases_of(tmp_path, {"definitions": definitions, "tests": [{"$ref": "#/definitions/a"}]})


@pytest.mark.parametrize(
    ("prompts", "files", "contents"),
    [
        ("file://p/*.txt", {"p/b.txt": "B {{city}}", "p/a.txt": "A\n---\nC {{ city | safe }}\n"}, ["A", "C {{ city }}", "B {{city}}"]),
        (["p.csv"], {"p.csv": "prompt,label\nSay {{city}},short\n"}, ["Say {{city}}"]),
        (["p.yaml"], {"p.yaml": "- role: user\n  content: Say {{city}}\n"}, ["Say {{city}}"]),
        (['[{"role": "user", "content": {{ city | dump }}}]'], {}, ["{{ city }}"]),
        ({"p.txt": "mine"}, {"p.txt": "Say {{city}}"}, ["Say {{city}}"]),
        ([{"id": "file://p.md", "label": "mine"}], {"p.md": "Say\n---\n{{city}}"}, ["Say\n---\n{{city}}"]),
    ],
    ids=str,
)  # fmt: skip
def test_prompts_are_read_as_promptfoo_reads_them(tmp_path, prompts, files, contents):
    _, lost, result = cases_of(tmp_path, {"prompts": prompts, "tests": [{"vars": {"city": "Oslo"}}]}, **files)
    written = [yaml.safe_load(text) for name, text in result.files.items() if name.endswith(".prompt.yml")]
    assert ([prompt["messages"][0]["content"] for prompt in written], lost) == (contents, [])


def test_a_prompt_may_lie_at_the_root_of_the_project(tmp_path):
    laid_out(tmp_path, {"pyproject.toml": "", "prompts/p.md": "Say {{city}}"})
    _, lost, result = cases_of(tmp_path / "evals", {"prompts": ["prompts/p.md"], "tests": [{"vars": {"city": "Oslo"}}]})
    assert ("Say {{city}}" in result.files["p.prompt.yml"], lost) == (True, [])


def test_a_plan_for_red_teaming_is_no_eval(tmp_path):
    with pytest.raises(DataError, match="only a plan for red teaming"):
        cases_of(tmp_path, {"redteam": {"plugins": ["pii"]}})
