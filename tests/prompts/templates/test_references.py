"""`${env:}` and `${file:}`: what was handed in and lies under the folder, and nothing else."""

import gzip
import os

import pytest

from evalmark.errors import ConfigError
from evalmark.prompts.templates.prompt_files import read_prompt
from evalmark.prompts.templates.rendering import render


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "prompts"
    (inner / "data").mkdir(parents=True)
    (tmp_path / "outside.json").write_text('{"x": "canary"}')
    (inner / "data" / "rows.json").write_text('[{"x": "a", "expected": 1}, {"x": "b"}]')
    (inner / "data" / "one.yaml").write_text("x: ${env:HOME}")
    (inner / "data" / "text.txt").write_text("a {{x}} text")
    return inner


def read(folder, head, env=None, body="{{x}}"):
    (folder / "p.prompty").write_text(f"---\n{head}\n---\n{body}")
    return read_prompt(folder / "p.prompty", env or {})


def refusal(folder, head, env=None):
    with pytest.raises(ConfigError) as told:
        read(folder, head, env)
    return str(told.value)


@pytest.mark.parametrize(
    ("head", "values"),
    [
        pytest.param("sample: ${file:data/one.yaml}", [{"x": "${env:HOME}"}], id="a reference, and none within it"),
        pytest.param("sample: data/one.yaml", [{"x": "${env:HOME}"}], id="the name of a file"),
        pytest.param(
            "testSamples: [data/rows.json, {x: c}]", [{"x": "a"}, {"x": "b"}, {"x": "c"}], id="a list of both"
        ),
        pytest.param("sample: {x: '${file:data/text.txt}'}", [{"x": "a {{x}} text"}], id="a text"),
        pytest.param("sample: {x: '${file:./data/../data/text.txt}'}", None, id="two dots that lead nowhere else"),
    ],
)
def test_files_bring_samples(folder, head, values):
    if values is None:
        assert "is outside the prompt's folder" in refusal(folder, head)
    else:
        assert [sample.values for sample in read(folder, head).samples] == values


def test_a_text_from_a_file_is_not_looked_at_for_templates(folder):
    found = read(folder, "inputs: {x: '${file:data/text.txt}'}")
    assert render(found, {})[0].content == "a {{x}} text"


OUTSIDE = [
    "../outside.json",
    "data/../../outside.json",
    "/etc/passwd",
    "~/outside.json",
    "file:///etc/passwd",
    "file://localhost/etc/passwd#x.json",
    "https://example.com/x.json",
    "C:/x.json",
    "\\\\server\\x.json",
    "..\\outside.json",
    "%2e%2e/outside.json",
    "data/%00.json",
    "link.json",
    "door/outside.json",
    "fifo.json",
    "data",
    "missing.json",
    "",
    ".",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out_of_the_folder_or_to_anything_but_a_file(folder, path):
    (folder / "link.json").symlink_to(folder.parent / "outside.json")
    (folder / "door").symlink_to(folder.parent)
    os.mkfifo(folder / "fifo.json")
    for head in (f"inputs: {{x: '${{file:{path}}}'}}", f"sample: '${{file:{path}}}'"):
        said = refusal(folder, head)
        assert "p.prompty:2: $." in said
        assert "canary" not in said


def test_a_link_within_the_folder_is_followed(folder):
    (folder / "link.txt").symlink_to(folder / "data" / "text.txt")
    assert read(folder, "inputs: {x: '${file:link.txt}'}").inputs[0].default == "a {{x}} text"


def test_a_large_file_is_refused(folder):
    with (folder / "large.txt").open("wb") as file:
        file.truncate((4 << 20) + 1)
    assert "larger than 4 MiB" in refusal(folder, "inputs: {x: '${file:large.txt}'}")
    (folder / "bomb.txt.gz").write_bytes(gzip.compress(b"x" * ((4 << 20) + 1)))
    assert "larger than 4 MiB" in refusal(folder, "inputs: {x: '${file:bomb.txt.gz}'}")


def test_a_file_that_is_wrong_is_named_with_the_place_of_the_reference(folder):
    (folder / "broken.json").write_text("{")
    assert "p.prompty:2: $.sample names the file" in refusal(folder, "sample: ${file:broken.json}")
    assert "it takes a mapping, or the name of a JSON or YAML file" in refusal(folder, "sample: rows.csv")


def test_a_variable_is_read_if_it_was_handed_in(folder, monkeypatch):
    monkeypatch.setenv("PRODUCT", "canary")
    head = "inputs: {x: '${env:PRODUCT}'}"
    assert read(folder, head, {"PRODUCT": "tents"}).inputs[0].default == "tents"
    said = refusal(folder, head)
    assert 'names the variable "PRODUCT", which is not set' in said
    assert "canary" not in said
    assert read(folder, "inputs: {x: '${env:PRODUCT:boats: two}'}").inputs[0].default == "boats: two"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "AZURE_OPENAI_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "client_secret"])
def test_a_secret_is_not_read_even_if_it_was_handed_in(folder, name):
    said = refusal(folder, f"inputs: {{x: '${{env:{name}}}'}}", {name: "canary"})
    assert "it would be recorded" in said
    assert "canary" not in said


def test_how_a_model_is_reached_is_neither_looked_up_nor_kept(folder):
    head = (
        "model:\n  connection: {apiKey: '${env:OPENAI_API_KEY}', endpoint: '${file:/etc/passwd}'}\n"
        "  configuration: {api_key: canary}\ntools: [{name: a, connection: {apiKey: canary}}]"
    )
    found = read(folder, head)
    assert found.rest == {"tools": [{"name": "a"}]}
    assert "canary" not in repr(found)


def test_a_model_that_a_variable_names_may_be_left_to_the_command_line(folder):
    found = read(folder, "model: {id: '${env:MODEL}'}")
    assert found.model is None
    assert "which is not set" in found.notes[0]
    assert read(folder, "model: {id: '${env:MODEL}'}", {"MODEL": "openai/a"}).model == "openai/a"


def test_messages_and_other_keys_keep_references_as_they_are(folder):
    found = read(folder, "source: ${env:HOME}", {"HOME": "canary"}, body="${env:HOME} ${file:data/text.txt} {{x}}")
    assert found.rest == {"source": "${env:HOME}"}
    assert render(found, {"x": "${env:HOME}"})[0].content == "${env:HOME} ${file:data/text.txt} ${env:HOME}"


def test_a_reference_among_other_text_is_text_and_said_to_be(folder):
    found = read(folder, "inputs: {x: 'about ${env:PRODUCT}'}", {"PRODUCT": "tents"})
    assert found.inputs[0].default == "about ${env:PRODUCT}"
    assert "a reference inside other text is not resolved" in found.notes[0]
