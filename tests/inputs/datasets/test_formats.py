"""The same rows in every format are the same cases, and each format's own faults have their place."""

import csv
import gzip
import json
import sys

import pytest
import yaml

from evalmark import Case, Example
from evalmark.errors import DataError
from evalmark.inputs.datasets.options import BadRow, ReadOptions
from evalmark.inputs.datasets.reader import check_cases, read_cases
from evalmark.inputs.documents.files import dataset_name

ROWS = [
    {"id": "1", "input": "Hauptstadt von Österreich?", "expected": "Wien", "tags": ["geo", "de"], "level": "easy"},
    {"id": "2", "input": 'a "quoted", b\nsecond line', "expected": "true", "tags": ["geo"], "level": "hard"},
]


def as_csv(rows, path, delimiter=","):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows([row | {"tags": json.dumps(row["tags"])} for row in rows])


def as_parquet(rows, path):
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(arrow.Table.from_pylist(rows), path)


def as_arrow_stream(rows, path):
    table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
    with pytest.importorskip("pyarrow.ipc").new_stream(path, table.schema) as file:
        file.write_table(table, max_chunksize=1)


def as_arrow_file(rows, path):
    table = pytest.importorskip("pyarrow").Table.from_pylist(rows)
    pytest.importorskip("pyarrow.feather").write_feather(table, path)


WRITERS = {
    "x.json": lambda rows, path: path.write_text(json.dumps(rows, indent=2)),
    "x.min.json": lambda rows, path: path.write_text(json.dumps(rows)),
    "x.jsonl": lambda rows, path: path.write_text("\n".join(map(json.dumps, rows))),
    "x.ndjson": lambda rows, path: path.write_text("\r\n".join(map(json.dumps, rows)) + "\r\n\r\n"),
    "x.csv": as_csv,
    "x.tsv": lambda rows, path: as_csv(rows, path, "\t"),
    "x.yaml": lambda rows, path: path.write_text(yaml.safe_dump(rows, allow_unicode=True), encoding="utf-8"),
    "x.yml": lambda rows, path: path.write_text(yaml.safe_dump({"data": rows})),
    "x.parquet": as_parquet,
    "x.arrow": as_arrow_stream,
    "x.feather": as_arrow_file,
    "x.JSONL": lambda rows, path: path.write_text("\n".join(map(json.dumps, rows))),
}


def read(path, notes=None, **options):
    return list(read_cases(path, options=ReadOptions(**options), notes=None if notes is None else notes.append))


def put(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_rows_are_the_same_cases(world, name, packed):
    path = world / name
    WRITERS[name](ROWS, path)
    if packed and name not in ("x.parquet", "x.arrow", "x.feather"):
        packed_path = world / f"{name}.gz"
        packed_path.write_bytes(gzip.compress(path.read_bytes()))
        path = packed_path
    notes = []
    cases = read(path, notes)
    assert [(c.id, c.input, c.expected, c.tags, dict(c.metadata)) for c in cases] == [
        (r["id"], r["input"], r["expected"], tuple(r["tags"]), {"level": r["level"]}) for r in ROWS
    ]
    assert all(case.place.startswith(f"{path}:") for case in cases)
    assert notes == []


def test_a_json_file_of_json_lines_is_read_with_a_note(world):
    notes = []
    cases = read(put(world, "x.json", '{"id": 1, "input": "a"}\n{"id": 2, "input": "b"}\n'), notes)
    assert [case.id for case in cases] == ["1", "2"]
    assert notes == [f"{world / 'x.json'} holds one JSON object a line; it is read as JSON lines."]


def test_a_jsonl_file_of_one_list_is_read_with_a_note(world):
    notes = []
    cases = read(put(world, "x.jsonl", '[{"id": 1, "input": "a"},\n{"id": 2, "input": "b"}]\n'), notes)
    assert [case.place[-2:] for case in cases] == [":1", ":2"]
    assert "one JSON list, not an object a line" in notes[0]


def test_the_format_can_be_said(world):
    path = put(world, "questions.txt", '{"input": "a"}\n')
    assert read(path, format="jsonl")[0].input == "a"
    with pytest.raises(DataError, match=r"the ending '\.txt' is not a known format; the known ones are \.json "):
        read(path)
    with pytest.raises(DataError, match="there is no format 'xml'; it is one of json, jsonl"):
        read(path, format="xml")


def test_the_rag_list(world):
    row = {"question": "q", "reference_answer": "r", "answer": "a", "contexts": ["c1", "c2"]}
    [case] = read(put(world, "x.json", json.dumps([row])))
    assert (case.input, case.expected, case.given.value, case.contexts) == ("q", "r", "a", ("c1", "c2"))


TIAMAT = {"name": "small", "config": {"example_outputs": True}, "data": [{"input": "i", "output": "o", "code": "c"}]}


@pytest.mark.parametrize("order", [("name", "config", "data"), ("data", "name", "config")])
@pytest.mark.parametrize("indent", [None, 2])
def test_in_an_object_with_config_output_is_the_expected_answer(world, order, indent):
    text = json.dumps({key: TIAMAT[key] for key in order}, indent=indent)
    for name, content in (("x.json", text), ("x.yaml", yaml.safe_dump(json.loads(text), sort_keys=False))):
        [case] = read(put(world, name, content))
        assert (case.input, case.expected, case.given, case.metadata) == ("i", "o", None, {"code": "c"})


def test_rows_with_an_answer_beside_the_expected_one_bring_both(world):
    row = {"input": "i", "output": "o", "code": "c", "actual_output": "a"}
    data = TIAMAT | {"data": [row], "test_ran_at": "2025-07-31T10:00:00"}
    [case] = read(put(world, "x.json", json.dumps(data, indent=1)))
    assert (case.expected, case.given.value, case.metadata) == ("o", "a", {"code": "c"})


def test_an_empty_expected_answer_is_one(world):
    [case] = read(put(world, "x.json", json.dumps(TIAMAT | {"data": [{"input": "i", "output": ""}]}, indent=1)))
    assert case.expected == ""


def test_anywhere_else_output_is_an_answer_to_be_judged(world):
    [case] = read(put(world, "x.json", '{"data": [{"input": "i", "output": "o"}]}'))
    assert (case.expected, case.given.value) == (None, "o")


def test_example_outputs_as_a_text_is_taken_with_a_note(world):
    notes = []
    read(put(world, "x.json", json.dumps(TIAMAT | {"config": {"example_outputs": "true"}})), notes)
    assert "config.example_outputs is the text 'true'; it is read as true." in notes[0]


def test_another_key_of_config_is_told_of(world):
    notes = []
    path = put(world, "x.json", json.dumps(TIAMAT | {"config": {"shuffle": 1, "example_outputs": True}}))
    [case] = read(path, notes)
    assert case.expected == "o"
    assert notes == [f"{path}: config.shuffle is not read; the one key that `config` knows is example_outputs."]


@pytest.mark.parametrize("key", ["example_output", "exampleOutputs", "Example_Outputs", "examples_outputs"])
@pytest.mark.parametrize("name", ["x.json", "x.yaml"])
def test_a_misspelled_promise_is_refused(world, name, key):
    with pytest.raises(DataError, match=rf"{name}:1: `config` has a key '{key}'; did you mean `example_outputs`\?$"):
        read(put(world, name, json.dumps(TIAMAT | {"config": {key: True}})))


@pytest.mark.parametrize(
    ("promise", "row", "said"),
    [
        pytest.param(True, {"input": "i"}, "is true, but the row has no `output`", id="missing"),
        pytest.param("false", {"input": "i", "output": "o"}, "is false, but the row has an `output`", id="too much"),
    ],
)
def test_a_row_that_breaks_the_promise_of_config_is_a_fault_of_its_own(world, promise, row, said):
    good = {"input": "g", "output": "o"} if promise is True else {"input": "g"}
    data = {"config": {"example_outputs": promise}, "data": [row, good]}
    bad, case = read(put(world, "x.json", json.dumps(data, indent=1)))
    assert isinstance(bad, BadRow)
    assert said in bad.message
    assert case.input == "g"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('{"config": {"example_outputs": 7}, "data": []}', "config.example_outputs is 7; write true or false", id="a number"),
        pytest.param('{"config": [], "data": []}', "`config` is not a mapping", id="config is a list"),
        pytest.param('{"a": 1,\n "b": 2}', "an object with a, b; a list of cases was expected, or an object with `data`", id="no list"),
        pytest.param('{"name": "n", "rows": [{"input": "a"}]}', "an object with name, rows; a list of cases was expected, or an object with `data`; if the rows are those of `rows`, call it `data`.", id="the list has another name"),
        pytest.param('{"a": NaN,\n "data": []}', ":1:7: NaN at $", id="NaN beside the rows"),
        pytest.param('{"data": [],\n "data": []}', ":2:2: the key 'data' occurs a second time", id="two lists"),
        pytest.param('"text"', "a list of cases was expected", id="a text"),
        pytest.param("", "is empty; a list of cases was expected", id="nothing"),
        pytest.param('[{"input": "a"]', ":1:15: not valid JSON", id="broken in the first row"),
    ],
)  # fmt: skip
def test_a_json_file_without_rows_is_refused(world, text, said):
    with pytest.raises(DataError) as error:
        read(put(world, "x.json", text))
    assert said in str(error.value)


def test_test_cases_with_labelled_outputs(world):
    line = {
        "id": "7",
        "inputs": {"q": "hi"},
        "outputs": [{"label": 1, "value": "good"}, {"label": 0, "value": {"a": 1}}],
        "for_template_name": "t",
    }
    [case] = read(put(world, "x.jsonl", json.dumps(line)))
    assert case.input == {"q": "hi"}
    assert case.examples == (Example(value="good", liked=True), Example(value={"a": 1}, liked=False))
    assert case.metadata == {"for_template_name": "t"}


@pytest.mark.parametrize("label", [2, -1, "1", None, 0.5])
def test_a_label_is_0_or_1(world, label):
    [bad] = read(put(world, "x.jsonl", json.dumps({"inputs": {}, "outputs": [{"label": label, "value": "x"}]})))
    assert "`outputs`: a label is 0 or 1" in bad.message


def test_bad_lines_do_not_stop_the_good_ones(world):
    text = '{"input": "a"}\n{oops\n\n{"input": NaN}\n[1]\n"b"\n{"input": "c", "input": "d"}\n{"x": 1}\n{"input": "e"}'
    found = read(put(world, "x.jsonl", text))
    assert [row.input if isinstance(row, Case) else row.place for row in found] == [
        "a", *(f"{world / 'x.jsonl'}:{place}" for place in ("2:2", "4:11", "5")), "b",
        *(f"{world / 'x.jsonl'}:{place}" for place in ("7:16", "8")), "e",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.csv"])
def test_what_makes_the_rest_unreadable_comes_last_once_rows_have_come(world, name):
    text = {
        "x.json": '[{"input": "a"},\n{"input" 1}, {"input": "b"}]',
        "x.yaml": "- input: a\n- {",
        "x.csv": 'input\na\n"b',
    }[name]
    first, last = read(put(world, name, text))
    assert first.input == "a"
    assert last.last
    assert last.place.startswith(f"{world / name}:")
    assert last.message.endswith("The rest of the file cannot be read.")


def test_a_bad_byte_after_good_rows_comes_last(world):
    content = b"\n".join(b'{"id": %d, "input": "x"}' % n for n in range(60_000)) + b'\n{"input": "caf\xe9"}'
    *good, last = read(put(world, "x.jsonl", content))
    assert last.last
    assert last.place.endswith(":60001")
    assert "byte 0xE9 at column 15" in last.message
    assert good


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("x.yaml", "just text", "a list of cases was expected: `- input: …`", id="YAML: a text"),
        pytest.param("x.yaml", "a: 1", "an object with a; a list of cases was expected", id="YAML: no list"),
        pytest.param("x.yaml", "- input: a\n  input: b", ":2:3: the key 'input' occurs a second time; the first one is in line 1", id="YAML: a key twice"),
        pytest.param("x.yaml", "&a [*a]", "the list itself has an anchor", id="YAML: a list that may hold itself"),
        pytest.param("x.csv", "", "is empty; a header", id="CSV: nothing"),
        pytest.param("x.csv", "id,input,id\n", ":1: the column 'id' occurs twice in the header", id="CSV: a column twice"),
        pytest.param("x.csv", "id, input,id \n", ":1: the column 'id' occurs twice in the header", id="CSV: a column twice, with a space"),
        pytest.param("x.parquet", "PAR1 no", "cannot be read as Parquet", id="Parquet: damaged"),
        pytest.param("x.parquet.gz", "", "unpack the .gz first", id="Parquet: packed again"),
        pytest.param("x.arrow", "no", "cannot be read as Arrow", id="Arrow: damaged"),
        pytest.param("x.feather", "ARROW1 no", "cannot be read as Arrow", id="Arrow: a damaged file"),
        pytest.param("x.arrow.gz", "", "unpack the .gz first", id="Arrow: packed again"),
        pytest.param("x.csv", b"PK\x03\x04", "an Excel workbook, perhaps", id="an Excel workbook"),
        pytest.param("x.jsonl", "é".encode("utf-16"), "looks like utf-16", id="UTF-16"),
    ],
)  # fmt: skip
def test_a_file_of_no_use_is_refused_before_any_row(world, name, text, said):
    pytest.importorskip("pyarrow")
    with pytest.raises(DataError) as error:
        read(put(world, name, text))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["x.jsonl", "x.yaml"])
def test_an_empty_file_of_lines_holds_no_cases(world, name):
    assert read(put(world, name, "")) == []


def test_a_list_and_a_header_alone_hold_no_cases(world):
    assert read(put(world, "x.json", " [ ] ")) == []
    assert read(put(world, "x.csv", "id,input\n")) == []
    assert check_cases(put(world, "x.csv", "id,input\n")) == []


def test_yaml_words_in_answers_stay_words(world):
    text = "- {id: 007, input: no, expected: 1:30, liked: [yes, 1.10, 1e3], when: 2001-12-14, level: 010, done: true, n: 1.50}"
    notes = []
    [case] = read(put(world, "x.yaml", text), notes)
    assert (case.id, case.input, case.expected) == ("007", "no", "1:30")
    assert case.liked == ("1:30", "yes", "1.10", "1e3")
    assert case.metadata == {"when": "2001-12-14", "level": "010", "done": True, "n": 1.5}
    assert len(notes) == 2


def test_the_column_that_a_user_names_is_typed_as_text_in_yaml(world):
    [case] = read(put(world, "x.yaml", "- {frage: 1.10, soll: no}"), input="frage", expected="soll")
    assert (case.input, case.expected) == ("1.10", "no")


def test_parquet_values_become_plain_data(world):
    arrow = pytest.importorskip("pyarrow")
    from datetime import date
    from decimal import Decimal

    rows = [
        {"question": "q", "nan": float("nan"), "day": date(2024, 1, 2), "price": Decimal("1.10"), "raw": b"abc", "n": {"x": [1, None]}},
        {"question": "r", "nan": 1.5, "day": None, "price": None, "raw": None, "n": None},
    ]  # fmt: skip
    path = world / "x.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(arrow.Table.from_pylist(rows), path)
    first, second = read(path)
    assert first.metadata == {"nan": None, "day": "2024-01-02", "price": "1.10", "raw": "abc", "n": {"x": [1, None]}}
    assert (second.metadata["nan"], second.place) == (1.5, f"{path}:row 2")


def test_an_infinite_number_in_parquet_is_a_fault_of_its_row(world):
    arrow = pytest.importorskip("pyarrow")
    path = world / "x.parquet"
    table = arrow.Table.from_pylist([{"input": "a", "x": float("inf")}, {"input": "b", "x": 1.0}])
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    bad, good = read(path)
    assert str(bad) == f"{path}:row 1: an infinite number cannot be stored."
    assert good.input == "b"


def test_a_case_of_10_mb_with_100_000_tool_calls_is_read(world):
    calls = [{"name": "f", "arguments": {"n": n}} for n in range(100_000)]
    row = {"id": 1, "input": "x" * 10_000_000, "answer": "a", "tool_calls": calls}
    [case] = read(put(world, "x.jsonl", json.dumps(row)))
    assert len(case.input) == 10_000_000
    assert case.given.tool_calls[-1].arguments == {"n": 99_999}


def test_a_line_beyond_the_limit_is_a_fault_and_the_next_is_read(world):
    path = world / "x.jsonl"
    with path.open("w") as file:
        for _ in range(34):
            file.write("x" * (1 << 20))
        file.write('\n{"input": "a"}\n')
    bad, good = read(path)
    assert str(bad) == f"{path}:1: the line is longer than 32 MiB; split it."
    assert (good.input, good.place) == ("a", f"{path}:2")


def test_the_name_of_a_dataset_is_the_file_without_its_endings(world):
    assert [dataset_name(world / name) for name in ("a.json", "b.jsonl.gz", "c.v1.csv")] == ["a", "b", "c.v1"]


@pytest.mark.parametrize("name", ["nope.jsonl", "folder.jsonl"])
def test_a_file_that_cannot_be_read_is_refused_when_asked_for_not_when_iterated(world, name):
    (world / "folder.jsonl").mkdir()
    with pytest.raises(DataError):
        read_cases(world / name)


def test_without_pyarrow_the_extra_is_named(world, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError.__mro__[1], match=r"pip install 'evalmark\[parquet\]'"):
        read(put(world, "x.parquet", b"PAR1"))
