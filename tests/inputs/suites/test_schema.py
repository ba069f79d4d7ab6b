"""The published schema: valid, complete, and of one mind with the reader."""

import json
import random
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from evalmark.errors import ConfigError
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.inputs.documents.findings import json_excerpt
from evalmark.inputs.suites.reader import read_suite
from evalmark.inputs.suites.schema import KEY_SYNONYMS, dotted_path, suite_schema

from .test_reader import FULL

WORDS = ["datasets", "metrics", "gate", "target", "name", "path", "repeat", "thresholds", "threshold", "flags", "model"]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["equals", "cases.jsonl", "a.b:c", "../x", "", "x.json", "\ud800", "a\nb", "\x00", "n" * 300]),
    st.text(max_size=20),
)
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=8))
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
MODELS = st.dictionaries(st.sampled_from(["model", "system", "settings", "prompt", "x"]), TREES, max_size=3)
SUITES = st.dictionaries(
    st.sampled_from([*WORDS[:7], "baseline", "judge", "timeout"]),
    TREES | MODELS | st.lists(MODELS, max_size=3),
    max_size=6,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cases.jsonl").write_text("{}\n")
    return tmp_path


def only_config_errors(path: Path) -> None:
    """Reads the suite; any other error than one with a place is a fault of ours."""
    try:
        read_suite(path, cwd=path.parent)
    except ConfigError as refused:
        for line in str(refused).split("\n"):
            assert line.startswith(str(path))
            assert line.isprintable()


def schemas(schema: dict) -> Iterator[dict]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from schemas(inner)


def test_it_is_a_valid_schema():
    Draft202012Validator.check_schema(suite_schema())


def test_every_part_of_it_says_what_it_takes_and_what_it_means():
    for schema in schemas(suite_schema()):
        assert schema["title"]
        assert schema["title"][-1] not in ".!?"
        assert schema["description"].endswith(".")


def test_a_full_suite_fits_it():
    assert not list(Draft202012Validator(suite_schema()).iter_errors(yaml.safe_load(FULL)))


def test_a_dataset_can_say_all_that_a_reader_can_be_told():
    item = suite_schema()["properties"]["datasets"]["items"]["properties"]
    assert set(item) - {"path", "name", "cluster"} == {f.name for f in fields(ReadOptions)}


def test_words_of_other_tools_lead_to_keys_that_exist():
    assert set(KEY_SYNONYMS.values()) <= set(suite_schema()["properties"])
    assert not set(KEY_SYNONYMS) & set(suite_schema()["properties"])


@pytest.mark.parametrize(
    ("at", "said"),
    [
        pytest.param((), "", id="the top"),
        pytest.param(("gate", "max_errors"), "gate.max_errors", id="keys"),
        pytest.param(("metrics", 0, "a b"), "metrics[0].a b", id="a position and a blank"),
        pytest.param(("x\ny",), '"x\\ny"', id="a line break"),
    ],
)
def test_a_path_is_written_on_one_line(at, said):
    assert dotted_path(at) == said


def test_a_long_value_is_cut_and_a_lone_surrogate_can_be_printed():
    assert json_excerpt("x" * 100) == f'"{"x" * 59}…'
    json_excerpt("\ud800 é").encode()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(data={"target": {"prompt": "\xad"}})
@given(data=SUITES | TREES)
def test_any_json_is_read_or_refused_with_a_place(folder, data):
    path = folder / "suite.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    only_config_errors(path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=SUITES)
def test_any_yaml_is_read_or_refused_with_a_place(folder, data):
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=False), encoding="utf-8")
    only_config_errors(path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_a_suite_with_broken_letters_is_read_or_refused_with_a_place(folder, seed):
    chance = random.Random(seed)  # noqa: S311
    text = list(FULL)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(text))
        text[at : at + chance.randint(0, 3)] = chance.choice("{}[]:-,#&*!|>'\"%@`\n\t 0aé\x07")
    path = folder / "suite.yaml"
    path.write_text("".join(text), encoding="utf-8")
    only_config_errors(path)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"datasets": "cases.jsonl", "metrics": "equals"}, id="the least"),
        pytest.param({"datasets": ["cases.jsonl"], "metrics": [{"a": None}], "gate": {"flags": True}}, id="flags"),
        pytest.param({"datasets": {"path": "cases.jsonl"}, "metrics": {"a": {"threshold": 1}}}, id="mappings alone"),
        pytest.param({"datasets": {"file": "cases.jsonl"}, "metrics": "a"}, id="a dataset alone, without a path"),
        pytest.param({"datasets": "cases.jsonl", "metrics": {"a": None, "b": None}}, id="two metrics in a mapping"),
        pytest.param({"datasets": "cases.jsonl", "metrics": "a", "target": {"model": "b/c"}}, id="a model"),
        pytest.param({"datasets": "cases.jsonl", "metrics": "a", "target": {"prompt": 3}}, id="a prompt"),
        pytest.param({"datasets": "cases.jsonl", "metrics": "a", "judge": {"settings": {}}}, id="a judge, no model"),
        pytest.param({"datasets": "cases.jsonl", "metrics": "a", "judge": ["b/c", {"model": "b/d"}]}, id="judges"),
        pytest.param({"datasets": "cases.jsonl", "metrics": {"a": {"judge": {"modle": "b"}}}}, id="a metric's judge"),
        pytest.param({"datasets": [], "metrics": ["a"]}, id="no dataset"),
        pytest.param({"datasets": ["cases.jsonl"], "metrics": ["a"], "repeat": 0}, id="no repeat"),
        pytest.param({"datasets": ["cases.jsonl"], "metrics": ["a"], "x": 1}, id="an unknown key"),
        pytest.param({"datasets": ["cases.jsonl"], "metrics": [{"a": {"threshold": 2}}]}, id="too high a threshold"),
    ],
)
def test_an_editor_and_the_reader_refuse_the_same(folder, data):
    path = folder / "suite.json"
    path.write_text(json.dumps(data))
    fits = not list(Draft202012Validator(suite_schema()).iter_errors(data))
    try:
        read_suite(path)
    except ConfigError:
        assert not fits
    else:
        assert fits
