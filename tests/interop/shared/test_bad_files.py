"""A file that is not what it should be is one sentence with its place, in every format; and nothing in it is obeyed."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalmark.errors import ConfigError, DataError, EvalmarkError

from .carried import CARRIED, FORMATS, laid_out

HEAD = (
    '{"format": "evalmark-run", "version": 3, "kind": "run", "run": {"name": "x", "status": "complete", "repeat": 1}}\n'
)
RESULT = {
    "kind": "result",
    "dataset": "d",
    "target": "t",
    "position": 0,
    "repeat": 0,
    "mode": "single",
    "verdict": "pass",
    "case": {"id": "1"},
    "output": {},
    "scores": [],
}


def result(**changed) -> str:
    return HEAD + json.dumps(RESULT | changed) + "\n"


SCENARIOS = {
    "prompts": ["a"],
    "scenarios": [
        {"config": [{"vars": {"a": n}} for n in range(400)], "tests": [{"vars": {"b": n}} for n in range(400)]}
    ],
}
CASES = [
    ("promptfoo", "c.json", json.dumps(SCENARIOS), "c.json:1: the tests expand to more than 100,000"),
    ("jsonl", "a.jsonl", "", "a.jsonl: is empty"),
    ("jsonl", "a.jsonl", "{", "a.jsonl:1:2: not valid JSON"),
    ("jsonl", "a.jsonl", "[]\n", "a.jsonl:1: is not a header"),
    ("jsonl", "a.jsonl", HEAD.replace("3", "99"), "a.jsonl:1: `$.version` is 99"),
    ("jsonl", "a.jsonl", HEAD.replace('"complete"', '"done"'), "a.jsonl:1: `run.status`: 'done'"),
    ("jsonl", "a.jsonl", HEAD.replace('"name": "x"', '"nmae": "x"'), "a.jsonl:1: `run.nmae` is not known"),
    ("jsonl", "a.jsonl", HEAD + '{"kind": "other"}\n', "a.jsonl:2: `$.kind` is 'other'"),
    ("jsonl", "a.jsonl", HEAD + "[]\n", "a.jsonl:2: `$.kind` is None"),
    ("jsonl", "a.jsonl", result(case=[]), "a.jsonl:2: a result has a `case`"),
    ("jsonl", "a.jsonl", result(case={}), "a.jsonl:2: `case.id` is missing"),
    ("jsonl", "a.jsonl", result(case={"id": 7}), "a.jsonl:2: `case.id`: int in the place of a text"),
    ("jsonl", "a.jsonl", result(case={"id": "1", "tags": "x"}), "a.jsonl:2: `case.tags`"),
    ("jsonl", "a.jsonl", result(scores=[{"name": "a"}, {"name": "b", "value": "1"}]), "a.jsonl:2: `scores[1].value`: str in"),
    ("jsonl", "a.jsonl", result(scores=[1]), "a.jsonl:2: `scores[0]`: int in the place of an object"),
    ("jsonl", "a.jsonl", result(scores=[{}]), "a.jsonl:2: `scores[0]` lacks a field"),
    ("jsonl", "a.jsonl", result(position=-1), "a.jsonl:2: `trial.position` is -1"),
    ("jsonl", "a.jsonl", result(mode="both"), "a.jsonl:2: `trial.mode`: 'both'"),
    ("jsonl", "a.jsonl", HEAD + '{"kind": "result", "kind": "result"}\n', "a.jsonl:2:20: the key $.kind occurs a second time"),
    ("jsonl", "a.jsonl", HEAD + '{"kind": NaN}\n', "a.jsonl:2:10: NaN"),
    ("openai-evals", "a.json", "{}", "a.json: has no eval"),
    ("openai-evals", "a.json", "[1]", "a.json:1: is not an object"),
    ("openai-evals", "a.json", '{\n"testing_criteria": 1}', "a.json:2: `$.testing_criteria` is not a list"),
    ("openai-evals", "a.json", '{"testing_criteria": [\n1]}', "a.json:2: `$.testing_criteria[0]` is not an object"),
    ("openai-evals", "a.json", '{"data_source":\n[]}', "a.json:1: `$.data_source` is not an object"),
    ("openai-evals", "a.json", '{"data_source": {"source": {"content": [\n{"item": 1}]}}}', "`$.data_source.source.content[0].item` is not an object"),
    ("openai-evals", "a.jsonl", '{"item": {}}\n{"item": 1}\n', "a.jsonl:2: `$.item` is not an object"),
    ("openai-evals", "a.json", '{"datasource_item": {}, "evalmark": 1}', "a.json:1: `evalmark` is not an object"),
    ("openai-evals", "a.json", '{"datasource_item": {}, "evalmark": {"case": {"idd": 1}}}', "a.json:1: `case.idd` is not known"),
    ("openai-evals", "a.json", '{"datasource_item": {}, "evalmark": {"scores": {}}}', "a.json:1: `evalmark.scores` is not a list"),
    ("openai-evals", "missing.json", None, "missing.json: there is no such file"),
    ("openai-registry", "a.yaml", "- 1\n", "a.yaml:1: is not a mapping"),
    ("openai-registry", "a.yaml", "x: 1\n", "a.yaml:1: `x` is not a mapping"),
    ("openai-registry", "a.yaml", "x: {class: a\n", "not valid YAML"),
    ("openai-registry", "a.jsonl", '{"ideal": "x"}\n', "a.jsonl:1: `$.input` is missing"),
    ("openai-registry", "a.jsonl", "1\n", "a.jsonl:1: is not an object"),
    ("openai-registry", "a.jsonl", '{"spec": {}}\n{"x": 1}\n', "a.jsonl:2: is neither a spec"),
    ("openai-registry", "a.txt", "x", "is neither YAML nor JSONL"),
    ("github-models", "a.yml", "name: x\n", "a.yml:1: has neither `messages`"),
    ("github-models", "a.yml", "name: x\nmessages: [{role: nobody, content: x}]\n", "a.yml:2: $.messages[0].role is"),
    ("github-models", "a.yml", "messages: [{role: user, content: '{{input}}'}]\ntestData: 1\n", "a.yml:2: $.testData holds 1"),
    ("github-models", "a.yml", "messages: [{role: user, content: '{{input}}'}]\ntestData:\n- 1\n", "a.yml:3: $.testData[0] holds 1"),
    ("github-models", "a.yml", "messages: [{role: user, content: '{{input}}'}]\nevaluators: [x]\n", "a.yml:2: `$.evaluators[0]` is not a mapping"),
    ("github-models", "a.json", '{"testResults": [\n{}]}', "a.json:2: `$.testResults[0].testCase` is not a mapping"),
    ("github-models", "a.yml", "messages: [{role: user, content: '{{ x.__class__ }}'}]\n", "a.yml:1"),
    ("promptfoo", "a.yaml", "prompts: [1]\n", "a.yaml:1: `$.prompts[0]` is not a prompt"),
    ("promptfoo", "a.yaml", "prompts: [a]\ntests: 1\n", "a.yaml:2: `$.tests` is neither a list of tests nor"),
    ("promptfoo", "a.yaml", "prompts: [a]\ntests:\n- 1\n", "a.yaml:3: `$.tests[0]` is not a mapping"),
    ("promptfoo", "a.yaml", "prompts: [a]\ntests:\n- vars: [1]\n", "a.yaml:3: `$.tests[0].vars` is not a mapping"),
    ("promptfoo", "a.yaml", "prompts: [a]\ntests:\n- assert: x\n", "a.yaml:3: `$.tests[0].assert` is not a list"),
    ("promptfoo", "a.yaml", "prompts: [a]\ndefaultTest: {assert: 1}\ntests: [{vars: {}}]\n", "`$.defaultTest.assert` is not a list"),
    ("promptfoo", "a.yaml", "prompts: [a]\nscenarios: 1\n", "a.yaml:2: `$.scenarios` is not a list"),
    ("promptfoo", "a.yaml", f"prompts: [a]\ntests:\n- vars: {{a: {[*map(str, range(400))]}, b: {[*map(str, range(400))]}}}\n", "expands to 160,000 tests"),
    ("promptfoo", "a.json", '{"results": {"results": [\n1]}}', "a.json:2: `$.results.results[0]` is not an object"),
    ("promptfoo", "a.yaml", "a: &a [*a]\nprompts: x\n", "a.yaml:1"),
    ("promptfoo", "a.yaml", "!!python/object/apply:os.system ['boom']\n", "a.yaml:1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "name", "text", "wanted"), CASES, ids=[f"{case[0]}: {case[3][:60]}" for case in CASES]
)
def test_a_bad_file_is_one_sentence_with_its_place(format, name, text, wanted, tmp_path):  # noqa: A002
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        FORMATS[format][1](path)
    said = str(error.value).replace(f"{tmp_path}/", "")
    assert wanted in said
    assert said.count("\n") == 0
    assert "Traceback" not in said


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "jsonl"])
def test_what_stands_beside_an_export_is_read_strictly(name, tmp_path):
    folder = laid_out(tmp_path, FORMATS[name][0](CARRIED).files)
    (folder / "evalmark.json").write_text('{"format": "other"}')
    with pytest.raises(DataError, match="is not the side file of an export, version 1"):
        FORMATS[name][1](folder)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_a_file_with_something_changed_is_read_or_refused_in_a_sentence(name, data, tmp_path_factory):
    """No fault in a file becomes a traceback, whatever value of it is of another kind."""
    write, read = FORMATS[name]
    files = dict(write(CARRIED).files)
    chosen = data.draw(st.sampled_from(sorted(files)))
    whole = files[chosen]
    lines = whole.splitlines() if chosen.endswith(".jsonl") else [whole]
    at = data.draw(st.integers(0, len(lines) - 1))
    if chosen.endswith((".json", ".jsonl")):
        tree = json.loads(lines[at])
        change(tree, data)
        lines[at] = json.dumps(tree)
    else:
        cut = data.draw(st.integers(0, len(whole)))
        lines[at] = whole[:cut] + data.draw(st.sampled_from(["", "[", "\n- x: 1", ": :"])) + whole[cut + 1 :]
    files[chosen] = "\n".join(lines) + "\n"
    folder = laid_out(tmp_path_factory.mktemp("changed"), files)
    try:
        imported = read(folder)
    except EvalmarkError as error:
        said = str(error)
    else:
        said = "read" if imported.run is not None or imported.files or imported.parts else ""
    assert said


def change(tree, data) -> None:
    """Put another value in the place of one of the tree's."""
    places = []

    def walk(node) -> None:
        for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            places.append((node, key))
            walk(item)

    walk(tree)
    if places:
        node, key = data.draw(st.sampled_from(places))
        node[key] = data.draw(
            st.sampled_from([None, 1, -1, True, "x", [], {}, [1], {"x": 1}, 1e300, [[]], [None], [{}]])
        )


@pytest.mark.parametrize("name", FORMATS)
def test_a_link_out_of_the_folder_is_not_followed(name, tmp_path):
    write, read = FORMATS[name]
    folder = laid_out(tmp_path / "in", write(CARRIED).files)
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        moved = tmp_path / file.name
        file.rename(moved)
        file.symlink_to(moved)
        with pytest.raises(DataError, match="is a link that leads out of the folder"):
            read(folder)
        file.unlink()
        moved.rename(file)
    assert read(folder).run is not None


@pytest.mark.parametrize("name", FORMATS)
def test_a_path_that_cannot_be_looked_at_is_one_sentence(name, tmp_path):
    with pytest.raises(DataError, match=r"cannot be read: File name too long\.$"):
        FORMATS[name][1](tmp_path / ("a" * 300))
