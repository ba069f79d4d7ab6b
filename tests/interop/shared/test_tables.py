"""Published tables row by row: what does not fit its header is told with its line."""

import csv
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.interop.shared.tables import read_rows

CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\r"), max_size=12)


def read(folder, text: str, needed=("a",), name="t.csv"):
    """The rows as `(line, cells)`, and what was told, without the folder."""
    path, notes = folder / name, []
    path.write_bytes(text.encode())
    rows = read_rows(path, needed, notes.append)
    return [(int(row.place.rpartition(":")[2]), dict(row.cells)) for row in rows], [
        note.replace(f"{folder}/", "") for note in notes
    ]


@pytest.mark.parametrize(
    ("text", "rows", "notes"),
    [
        pytest.param("a,b\n1,2\n", [(2, {"a": "1", "b": "2"})], [], id="as it should be"),
        pytest.param("\n\na,b\n1,2\n", [(4, {"a": "1", "b": "2"})], ["t.csv: 2 blank lines left out."], id="blank lines before"),
        pytest.param('a, b\n1, "x, y"\n', [(2, {"a": "1", "b": "x, y"})], [], id="a space after each comma"),
        pytest.param("a,b\n 1, 2\n", [(2, {"a": " 1", "b": " 2"})], [], id="blanks of cells stay where the header has none"),
        pytest.param("a,b\n\n1,2\n  \n", [(3, {"a": "1", "b": "2"})], ["t.csv: 2 blank lines left out."], id="blank lines"),
        pytest.param(
            "a,b\n1\n", [(2, {"a": "1"})], ["t.csv:2: 1 cell under a header of 2; `b` and the following columns are unknown."], id="short"
        ),
        pytest.param(
            "a,b\n1,2,\n", [(2, {"a": "1", "b": "2"})], ["t.csv:2: 3 cells under a header of 2; the additional cells are empty."], id="a comma too much"
        ),
        pytest.param(
            "a,b\n1,one, two\n3,4\n",
            [(3, {"a": "3", "b": "4"})],
            ["t.csv:2: 3 cells under a header of 2; the row is left out because ' two' belongs to no column. Quote texts that hold commas."],
            id="a comma that is not quoted",
        ),
        pytest.param(
            'a,b\n1,"x" y\n3,4\n',
            [(3, {"a": "3", "b": "4"})],
            ["t.csv:2: the row is left out, because its quotes are not closed or not doubled (',' expected after '\"')."],
            id="text behind a closing quote",
        ),
        pytest.param(
            'a,b\n1,2\n3,"x\n5,6\n',
            [(2, {"a": "1", "b": "2"})],
            ["t.csv:3: the row is left out, because its quotes are not closed or not doubled (unexpected end of data)."],
            id="a quote that is never closed",
        ),
        pytest.param('a,b\n1,"x\n\ny"\n3,4\n', [(2, {"a": "1", "b": "x\n\ny"}), (5, {"a": "3", "b": "4"})], [], id="line ends in a cell"),
        pytest.param("a,b\r\n1,2\r\n", [(2, {"a": "1", "b": "2"})], [], id="line ends of Windows"),
        pytest.param("a,b\n1,x\u2028y\x0bz\n", [(2, {"a": "1", "b": "x\u2028y\x0bz"})], [], id="what only looks like a line end"),
        pytest.param("b,a\n1\n", [], ["t.csv:2: 1 cell under a header of 2; `a` and the following columns are unknown.", "t.csv:2: the row has no `a` and is left out."], id="too short for what is needed"),
    ],
)  # fmt: skip
def test_a_table_is_read_as_it_is(tmp_path, text, rows, notes):
    assert read(tmp_path, text) == (rows, notes)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        pytest.param("t.csv", "", "t.csv: is empty", id="an empty file"),
        pytest.param("t.csv", "b,c\n1,2\n", "t.csv:1: there is no column 'a' among b, c.", id="no column that is needed"),
        pytest.param("t.csv", "a,a\n1,2\n", "t.csv:1: the column 'a' occurs twice", id="a column twice"),
        pytest.param("t.json", "{}", "t.json: is not a list", id="an object for a list"),
        pytest.param("t.json", '[{"a": 1},\n 2]', "t.json:2: item 2 of the list is not an object", id="a number for an object"),
        pytest.param("t.json", '[{"a": 1', "t.json:1", id="JSON that ends too early"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_with_its_place(tmp_path, name, text, said):
    with pytest.raises(DataError) as found:
        read(tmp_path, text, name=name)
    assert said in str(found.value)


def test_a_list_of_objects_has_the_line_of_each(tmp_path):
    rows, notes = read(tmp_path, '[\n{"a": 1},\n{"b": 2}, {"a": null}\n]', name="t.json")
    assert rows == [(2, {"a": 1})]
    assert notes == ["t.json:3: the row has no `a` and is left out."] * 2


@given(rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=8), unit=st.sampled_from(["\n", "\r\n"]))
def test_what_was_written_is_read_again(rows, unit):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=unit, quoting=csv.QUOTE_ALL).writerows([["a", "b", "c"], *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.getvalue().encode())
        found = read_rows(path, ["a"], lambda _: None)
    assert [list(row.cells.values()) for row in found] == [row for row in rows if any(cell.strip() for cell in row)]


@given(text=st.text(st.sampled_from('a,b"\n \r1'), max_size=40))
def test_no_text_is_read_without_a_word_on_what_was_left_out(text):
    with tempfile.TemporaryDirectory() as folder:
        path, notes = Path(folder) / "t.csv", []
        path.write_bytes(f"a,b\n{text}".encode())
        rows = read_rows(path, ["a"], notes.append)
    told = len(rows) + len(notes)
    assert told or not text.strip(' \n\r,"')
    assert json.dumps([dict(row.cells) for row in rows])
