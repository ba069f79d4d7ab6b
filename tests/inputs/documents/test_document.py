"""A document can name the line of everything in it."""

import json

import pytest
from hypothesis import given

from evalmark.errors import DataError
from evalmark.inputs.documents.document import document_of, load_document
from evalmark.inputs.documents.top_keys import top_keys

from .test_strict_json import json_data

JSON = '{\n "name": "x",\n "metrics": [\n  "equals",\n  {"similarity": {"positive": 0.9}}\n ]\n}'
YAML = "name: x\nmetrics:\n  - equals\n  - similarity: {positive: 0.90}\nnote: no\n"


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        pytest.param("s.json", JSON, {(): 1, ("name",): 2, ("metrics",): 3, ("metrics", 0): 4, ("metrics", 1, "similarity", "positive"): 5}, id="JSON"),
        pytest.param("s.yaml", YAML, {(): 1, ("name",): 1, ("metrics", 0): 3, ("metrics", 1, "similarity", "positive"): 4, ("note",): 5}, id="YAML"),
    ],
)  # fmt: skip
def test_every_value_has_its_line(world, name, text, lines):
    path = world / name
    path.write_text(text)
    document = load_document(path)
    assert {where: document.place_of(where) for where in lines} == {
        where: f"{path}:{line}" for where, line in lines.items()
    }
    assert document.place_of(("metrics", 1, "similarity", "negative")).endswith(
        str(lines["metrics", 1, "similarity", "positive"])
    )
    assert document.data["metrics"][1]["similarity"]["positive"] == 0.9


def test_words_kept_as_text_are_noted(world):
    document = document_of(YAML, world / "s.yaml")
    assert document.data["note"] == "no"
    assert len(document.notes) == 1


def test_an_empty_file_is_no_document(world):
    (world / "s.yaml").write_text("\n")
    with pytest.raises(DataError, match=r"s\.yaml: is empty\."):
        load_document(world / "s.yaml")


def paths_of(value, path=()):
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from paths_of(item, (*path, key))


@given(json_data)
def test_no_value_is_without_a_line(tmp_path_factory, data):
    document = document_of(json.dumps(data, indent=1), tmp_path_factory.getbasetemp() / "x.json")
    assert set(document.lines) == set(paths_of(data))


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        pytest.param("x.json", '{"name": "x", "datasets": ["a"]', True, id="JSON: a suite, even broken behind the key"),
        pytest.param(
            "x.json", '{"name": {"datasets": 1}, "data": [{"datasets": 1}]}', False, id="JSON: only deeper down"
        ),
        pytest.param("x.json", '{"input": "a"}\n{"datasets": 1}', False, id="JSON: in a later line"),
        pytest.param("x.json", '[{"datasets": 1}]', False, id="JSON: a list"),
        pytest.param("x.json", "{", False, id="JSON: broken"),
        pytest.param("x.yaml", "name: [a, {b: c}]\nx: {datasets: 1}\n'datasets': x", True, id="YAML: a suite"),
        pytest.param("x.yaml", "{a: 1, datasets: [b]}", True, id="YAML: a suite in braces"),
        pytest.param("x.yaml", "name: datasets\nx: {datasets: 1}\ny: [datasets]", False, id="YAML: only elsewhere"),
        pytest.param("x.yaml", "[a, b]: datasets\ndatasets: 1", True, id="YAML: after an odd key"),
        pytest.param("x.yaml", "- datasets: a", False, id="YAML: a list"),
        pytest.param("x.yaml", "a: [", False, id="YAML: broken"),
        pytest.param("x.yaml", "", False, id="YAML: empty"),
    ],
)
def test_a_look_at_the_top_tells_a_suite_from_rows(world, name, text, found):
    (world / name).write_text(text)
    assert ("datasets" in top_keys(world / name)) is found
