"""YAML words stay words, data stays data, and no text can blow up."""

import subprocess
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.inputs.documents.strict_yaml import parse_yaml, yaml_items
from tests.conftest import PEAK

from .test_strict_json import outcome

LAUGHS = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)

letters = st.characters(codec="utf-8", exclude_characters="\x85")  # PyYAML writes NEL as a line break
yaml_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(letters),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(letters, max_size=5), inner, max_size=4),
    max_leaves=15,
)


@given(yaml_data, st.booleans())
def test_what_a_yaml_writer_writes_is_read_back(data, flow):
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    assert parse_yaml(text, "x.yaml") == data


@given(st.dictionaries(st.text(letters), st.none() | st.booleans() | st.integers() | st.text(letters)))
def test_in_a_field_typed_as_text_too(data):
    assert (
        parse_yaml(yaml.safe_dump({"expected": data}), "x", is_text=lambda key: key == "expected")["expected"] == data
    )


@given(yaml_data)
def test_the_items_of_a_list_are_those_of_the_whole(data):
    text = yaml.safe_dump([data, 1, data])
    assert [item.value for item in yaml_items(iter([text[:5], text[5:]]), "x.yaml")] == parse_yaml(text, "x.yaml")


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True), ("False", False), ("null", None), ("~", None), ("12", 12), ("-3", -3), ("+3", 3), ("0.50", 0.5),
        ("-.5", -0.5), ("1.5e+3", 1500.0), ("0x1F", 31), ("hello", "hello"), ("'12'", "12"), ('"no"', "no"), ("!!str 12", "12"),
        ("1.2.3", "1.2.3"), ("=", "="), ("-", [None]), ("1:2:3:four", "1:2:3:four"), ("y", "y"), ("N", "N"),
    ],
)  # fmt: skip
def test_words_that_all_readers_agree_on_are_typed_without_a_note(word, value):
    notes = []
    found = parse_yaml(f"a: {word}" if word != "-" else "a:\n  -", "x.yaml", notes=notes.append)
    assert found == {"a": value}
    assert type(found["a"]) is type(value)
    assert notes == []


@pytest.mark.parametrize(
    ("word", "older", "newer"),
    [
        ("no", "YAML 1.1 reads False", None), ("Yes", "YAML 1.1 reads True", None), ("off", "YAML 1.1 reads False", None),
        ("1:30", "YAML 1.1 reads 90", None), ("010", "YAML 1.1 reads 8", "YAML 1.2 reads 10"), ("1_000", "YAML 1.1 reads 1000", None),
        ("1e3", None, "YAML 1.2 reads 1000.0"), ("2001-12-14", "YAML 1.1 reads a date", None), ("2001-99-99", "YAML 1.1 reads a date", None),
        ("0b11", "YAML 1.1 reads 3", None), ("0o17", None, "YAML 1.2 reads 15"), ("08", None, "YAML 1.2 reads 8"),
    ],
)  # fmt: skip
def test_words_that_readers_differ_on_stay_text_and_a_note_shows_both(word, older, newer):
    notes = []
    assert parse_yaml(f"\na: {word}\nb: {word}", "x.yaml", notes=notes.append) == {"a": word, "b": word}
    assert len(notes) == 1
    assert notes[0].startswith(f"x.yaml:2: {word} is kept as the text {word!r} (")
    assert all(part in notes[0] for part in (older, newer) if part)
    assert ("YAML 1.1" in notes[0]) is bool(older)
    assert ("YAML 1.2" in notes[0]) is bool(newer)


def test_in_a_field_typed_as_text_no_letter_is_lost_and_nothing_needs_a_note():
    words = ["no", "1.10", "042", "1e3", "True", ".nan", "1.0e+400", "2001-12-14", "42", "-1.5", "true", "~", "+1"]
    notes = []
    found = parse_yaml(
        f"expected: [{', '.join(words)}]", "x", is_text=lambda key: key == "expected", notes=notes.append
    )
    assert found["expected"] == [*words[:8], 42, -1.5, True, None, "+1"]
    assert notes == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a: 1\nb: 2\na: 3", ":3:1: the key 'a' occurs a second time; the first one is in line 1.", id="a key twice"),
        pytest.param("a: {x: 1, 'x': 2}", ":1:11: the key 'x' occurs a second time", id="a key twice, once quoted"),
        pytest.param("a: &x\n  b: [1, *x]", ":2:10: *x at $.a.b[1] refers to a value that contains it: a cycle", id="a circle"),
        pytest.param("&a [*a]", ":1:5: *a at $[0] refers to", id="a list that holds itself"),
        pytest.param("&a {k: *a}", "*a at $.k refers to", id="a mapping that holds itself"),
        pytest.param(LAUGHS, "aliases written out", id="a billion laughs"),
        pytest.param("a: &a [x]\nb: [" + "*a, " * 101 + "]", "more than 100 aliases", id="101 aliases"),
        pytest.param("[" * 5000 + "]" * 5000, ":1:101: nested deeper than 100 levels", id="5,000 levels in brackets"),
        pytest.param("- " * 5000 + "x", "nested deeper than 100 levels", id="5,000 levels in dashes"),
        pytest.param("a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60, "nested deeper than 100 levels", id="levels joined by an alias"),
        pytest.param("a: !!python/object/apply:os.system [echo]", "is not supported; remove it (data is never code)", id="a Python tag"),
        pytest.param("a: !!binary aGk=", "tag 'tag:yaml.org,2002:binary' is not supported", id="a binary tag"),
        pytest.param("a: !mine x", "the tag '!mine' is not supported", id="a tag of somebody's own"),
        pytest.param("a: 1\n---\nb: 2", ":2: a second YAML document starts here", id="two documents"),
        pytest.param("a: .nan", ":1:4: .nan is not a finite", id="not a number"),
        pytest.param("a: -.inf", ":1:4: -.inf is not a finite", id="minus infinity"),
        pytest.param("a: 1.0e+400", "too large for a number", id="a number that would become infinite"),
        pytest.param("a: " + "1" * 5000, "a number of 5000 digits is too large", id="a number of 5,000 digits"),
        pytest.param("? [a]\n: b", ":1:3: a list or mapping cannot be a key", id="a list as a key"),
        pytest.param("x: &x [1]\n*x : b", "is not a text, so it cannot be a key", id="an alias of a list as a key"),
        pytest.param("a: &a [1]\nb:\n  <<: *a", ":3:7: the value of a merge key (<<) must be a mapping", id="a merge key with a list of numbers"),
        pytest.param("b:\n  <<: x", ":2:7: the value of a merge key (<<) must be a mapping", id="a merge key with a text"),
        pytest.param("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a", ":4:3: the key '<<' occurs a second time", id="two merge keys"),
        pytest.param("a: &a\n  <<: *a", ":2:7: *a at $.a.<< refers to a value that contains it", id="a mapping merged into itself"),
        pytest.param("a: *b", ":1:4: *b names nothing", id="an alias of nothing"),
        pytest.param("a: [1", "not valid YAML", id="an open bracket"),
        pytest.param("a: 1\n\tb: 2", ":2:1: not valid YAML", id="a tab that indents"),
        pytest.param("a: 1\nb: \x07", ":2: not valid YAML: the control character U+0007", id="a control character"),
        pytest.param("a: \x00", ":1: not valid YAML: the control character U+0000", id="a NUL"),
        pytest.param("a: 'x", "not valid YAML", id="an open quote"),
        pytest.param("- 1\nb: 2", ":2:1: not valid YAML", id="a list that becomes a mapping"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named_with_its_place(text, said):
    with pytest.raises(DataError) as error:
        parse_yaml(text, "x.yaml")
    assert said in str(error.value)
    assert str(error.value).startswith("x.yaml:")


def test_keys_are_texts_as_they_stand():
    assert parse_yaml("no: 1\n010: 2\ntrue: 3\n'<<': 4", "x") == {"no": 1, "010": 2, "true": 3, "<<": 4}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param("<<: *a", {"x": 1, "y": 2}, id="the fields of a mapping"),
        pytest.param("x: 5\n  <<: *a", {"x": 5, "y": 2}, id="a field before it wins"),
        pytest.param("<<: *a\n  x: 5", {"x": 5, "y": 2}, id="a field after it wins"),
        pytest.param("<<: [*c, *a]", {"x": 7, "y": 2, "z": 8}, id="the first of several mappings wins"),
        pytest.param("<<: {w: {v: 1}}", {"w": {"v": 1}}, id="a mapping that has no name"),
        pytest.param("<<: {}\n  x: 5", {"x": 5}, id="an empty mapping"),
        pytest.param("'<<': *a", {"<<": {"x": 1, "y": 2}}, id="a quoted key is a key"),
        pytest.param("k: &d {<<: *a}\n  <<: *d", {"k": {"x": 1, "y": 2}, "x": 1, "y": 2}, id="a mapping with merged fields"),
    ],
)  # fmt: skip
def test_a_merge_key_brings_the_fields_of_other_mappings(fields, expected):
    given = parse_yaml(f"a: &a {{x: 1, y: 2}}\nc: &c {{x: 7, z: 8}}\nb:\n  {fields}", "x")
    assert given == {"a": {"x": 1, "y": 2}, "c": {"x": 7, "z": 8}, "b": expected}


def test_merge_keys_do_not_multiply_a_file():
    levels = "\n".join(f"a{n}: &a{n}\n  <<: *a{n - 1}\n  k{n}: [*a{n - 1}, *a{n - 1}]" for n in range(1, 30))
    with pytest.raises(DataError, match="aliases"):
        parse_yaml(f"a0: &a0 {{k: 1}}\n{levels}", "x")


def test_aliases_within_the_budget_are_read():
    assert parse_yaml("a: &a [1, 2]\nb: *a\nc: &s text\nd: *s", "x") == {
        "a": [1, 2],
        "b": [1, 2],
        "c": "text",
        "d": "text",
    }


def test_a_word_that_stands_for_a_text_too_large_is_refused():
    text = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 90)}]"
    with pytest.raises(DataError, match="MiB of text, aliases written out"):
        parse_yaml(text, "x")


def test_budgets_start_anew_for_every_row_of_a_list():
    rows = "- x: &a [1]\n" + "- x: [*a, *a, *a]\n" * 60
    assert len(list(yaml_items(iter([rows]), "x"))) == 61


def test_an_empty_text_is_nothing():
    assert parse_yaml("# nothing\n", "x") is None
    assert list(yaml_items(iter([""]), "x")) == []


def test_bombs_need_little_memory():
    code = (
        f"import sys\n{PEAK}\n"
        "from evalmark.inputs.documents.strict_yaml import parse_yaml\n"
        "from evalmark.errors import DataError\n"
        "for text in sys.stdin.read().split('\\0'):\n"
        "    try: parse_yaml(text, 'x'); raise SystemExit('read')\n"
        "    except DataError: pass\n"
        "print(peak())\n"
    )
    bombs = "\0".join([LAUGHS, "[" * 200_000, "- " * 50_000, "{a: " * 100_000])
    found = subprocess.run([sys.executable, "-c", code], input=bombs, capture_output=True, text=True, check=True)
    assert int(found.stdout) < 200


@given(st.text(st.sampled_from("ab:- \n[]{},&*!|>'\"#%@`?~.0189eE+_<=\t\x85\ufeff")))
def test_any_text_is_read_or_refused_with_a_place(text):
    _, error = outcome(lambda: parse_yaml(text, "x.yaml"))
    assert not error or error.startswith("x.yaml")
