"""What a dataset says of itself is known before its rows are read."""

import gzip
import json

import pytest
import yaml

from evalmark.inputs.datasets.header import DatasetHeader, read_header
from evalmark.inputs.datasets.options import ReadOptions

ROWS = [{"input": "What is a pointer?", "output": "A pointer is..."}, {"input": "Give me the answer", "output": "No"}]
DATASET = {"name": "Example Dataset", "config": {"example_outputs": True}, "data": ROWS}
SAID = DatasetHeader(name="Example Dataset", example_outputs=True)
NOTHING = DatasetHeader()


def put(world, name, content):
    path = world / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "header"),
    [
        pytest.param("x.json", json.dumps(DATASET, indent=4), SAID, id="as it is documented"),
        pytest.param("x.json", json.dumps(DATASET), SAID, id="on one line"),
        pytest.param("x.json.gz", gzip.compress(json.dumps(DATASET).encode()), SAID, id="packed"),
        pytest.param("x.yaml", yaml.safe_dump(DATASET), SAID, id="YAML"),
        pytest.param("x.json", json.dumps(dict(reversed(DATASET.items()))), SAID, id="behind the rows"),
        pytest.param(
            "x.json",
            json.dumps(DATASET | {"config": {"example_outputs": "True"}}),
            SAID,
            id="true as a text, as real files have it",
        ),
        pytest.param(
            "x.json",
            json.dumps(DATASET | {"config": {"example_outputs": "false"}}),
            DatasetHeader(name="Example Dataset", example_outputs=False),
            id="false as a text, which is no truth value in Python",
        ),
        pytest.param("x.json", '{"name": "a", "data": []}', DatasetHeader(name="a"), id="a name alone"),
        pytest.param("x.json", '{"config": {}, "data": []}', NOTHING, id="an empty config"),
        pytest.param("x.json", '{"example_outputs": true, "data": []}', NOTHING, id="a promise outside of config"),
        pytest.param("x.json", '{"name": 3, "data": []}', NOTHING, id="a number as a name"),
        pytest.param("x.json", '{"name": " ", "data": []}', NOTHING, id="a blank name"),
        pytest.param("x.json", '{"name": "a\\nb", "data": []}', NOTHING, id="a name of two lines"),
        pytest.param("x.json", json.dumps({"name": "n" * 201, "data": []}), NOTHING, id="an endless name"),
        pytest.param("x.yaml", "name: no\ndata: []\n", DatasetHeader(name="no"), id="a word in YAML"),
        pytest.param("x.json", "[]", NOTHING, id="a list"),
        pytest.param("x.json", '{"name": "a", "input": "b"}\n{"name": "c", "input": "d"}\n', NOTHING, id="JSON lines"),
        pytest.param("x.jsonl", '{"name": "a", "input": "b"}\n', NOTHING, id="JSON lines by name"),
        pytest.param("x.yaml", "- {name: a, input: b}\n", NOTHING, id="a YAML list"),
        pytest.param("x.csv", "name,input\na,b\n", NOTHING, id="a table"),
        pytest.param("x.json", '{"name": "a", "config": {"example_outputs": 7}, "data": []}', NOTHING, id="faulty"),
        pytest.param("x.json", '{"name": "a", "config": [], "data": []}', NOTHING, id="a config that is a list"),
        pytest.param("x.json", '{"name": "a", ', NOTHING, id="cut off"),
        pytest.param("x.json", "", NOTHING, id="nothing"),
        pytest.param("x.yaml", "", NOTHING, id="nothing in YAML"),
        pytest.param("x.yaml", "a: [", NOTHING, id="broken YAML"),
        pytest.param("x.json", b"\xff\xfe", NOTHING, id="not UTF-8"),
        pytest.param("x.txt", "name: a", NOTHING, id="no format"),
    ],
)
def test_a_header_says_what_the_file_says(world, name, content, header):
    assert read_header(put(world, name, content)) == header


def test_a_file_that_is_not_there_says_nothing(world):
    assert read_header(world / "nope.json") == NOTHING
    assert read_header(world) == NOTHING


def test_a_format_that_was_named_counts(world):
    path = put(world, "dataset", json.dumps(DATASET))
    assert read_header(path, ReadOptions(format="json")) == SAID


def test_rows_behind_the_header_are_not_read(world):
    path = put(world, "x.json", json.dumps(DATASET, indent=1)[:-20] + "\n… and here the file is broken")
    assert read_header(path) == SAID
