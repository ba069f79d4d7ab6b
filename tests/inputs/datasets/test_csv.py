"""Tables: quotes, delimiters, ragged rows, and the columns that promptfoo writes."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.inputs.datasets.options import BadRow, ReadOptions
from evalmark.inputs.datasets.reader import check_cases, read_cases

from .test_formats import put, read

cells = st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    st.lists(st.tuples(cells, cells), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_what_a_csv_writer_writes_is_read_back(tmp_path_factory, rows, end, delimiter):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=end, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([("id", "input", "expected"), *((n, *row) for n, row in enumerate(rows))])
    found = list(read_cases(path, options=ReadOptions(delimiter=delimiter)))
    assert [(row.input, row.expected) for row in found if not isinstance(row, BadRow)] == [
        (first, second or None) for first, second in rows if first
    ]


def test_numbers_and_words_stay_texts_and_empty_cells_are_no_value(world):
    [case] = read(put(world, "x.csv", "id,input,expected,tags,score\n007,1.10,true,,\n"))
    assert (case.id, case.input, case.expected, case.given, case.metadata) == (
        "007",
        "1.10",
        "true",
        None,
        {"score": None},
    )


def test_lists_in_cells_are_json_or_one_text(world):
    text = (
        'input,contexts,tags,liked\na,"[""c1"", ""c2""]","x, y","[""p""]"\nb,one text,,q\nc,[1] a note,"[""t,u""]",\n'
    )
    first, second, third = read(put(world, "x.csv", text))
    assert (first.contexts, first.tags, first.liked) == (("c1", "c2"), ("x", "y"), ("p",))
    assert (second.contexts, second.tags, second.liked) == (("one text",), (), ("q",))
    assert (third.contexts, third.tags) == (("[1] a note",), ("t,u",))


def test_other_cells_with_json_are_read_for_fields_that_need_it(world):
    row = {
        "input": "q",
        "metadata": '{"a": 1}',
        "history": '[{"role": "user", "content": "hi"}]',
        "answer": "x",
        "tool_calls": '[{"name": "f"}]',
    }
    path = world / "x.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    [case] = read(path)
    assert (case.metadata, case.history[0].content, case.given.tool_calls[0].name) == ({"a": 1}, "hi", "f")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("['a', 'b']", "this is a list as Python prints it; write it as JSON"),
        ('["a", "b"', "the list cannot be read: not valid JSON"),
        ('["a", NaN]', "NaN at $[1] is not valid JSON"),
    ],
)
def test_a_broken_list_in_a_cell_is_a_fault(world, cell, said):
    quoted = cell.replace('"', '""')
    [bad] = read(put(world, "x.csv", f'input,contexts\na,"{quoted}"\n'))
    assert bad.place.endswith(":2")
    assert said in bad.message


@pytest.mark.parametrize(
    ("rows", "place", "said"),
    [
        pytest.param('1,"abc\n2,d\n', "x.csv:3", "the quote that opens in this line is never closed", id="never closed"),
        pytest.param('1,"a""b\n2,"d"\n', "x.csv:3", "closes in line 4 in the middle of a cell", id="closed by the next quote"),
        pytest.param('1,"a\nb","c\nd\n', "x.csv:4", "the quote that opens in this line is never closed", id="the second quote of a row"),
        pytest.param('1,"a"b"\n', "x.csv:3", "closes in line 3 in the middle of a cell", id="a quote inside a quoted text"),
    ],
)  # fmt: skip
def test_a_quote_at_fault_is_named_with_the_line_it_opens_in(world, rows, place, said):
    first, last = read(put(world, "x.csv", "id,input\n0,fine\n" + rows))
    assert first.input == "fine"
    assert last.place == f"{world}/{place}"
    assert said in last.message


def test_a_quote_that_swallows_a_large_file_is_named_too(world):
    path = world / "x.csv"
    path.write_text('id,input\n1,"abc\n' + ("2," + "def" * 300 + "\n") * 40_000)
    with pytest.raises(
        DataError, match=r"x\.csv:2: the quote that opens in this line is never closed \(field larger than"
    ):
        read(path)


def test_ragged_rows_are_faults_of_their_own(world):
    found = read(put(world, "x.csv", 'id,input,expected\n1,a\n2,b,c,d\n3,"x\ny",z\n4,e,f\n'))
    assert [str(row) for row in found[:2]] == [
        f"{world}/x.csv:2: 2 cells under a header of 3: no cell for 'expected'.",
        f"{world}/x.csv:3: 4 cells under a header of 3: quote the text around 'd' if it holds the delimiter.",
    ]
    assert [(case.id, case.place[-2:]) for case in found[2:]] == [("3", ":4"), ("4", ":6")]


def test_empty_rows_are_left_out(world):
    assert [case.id for case in read(put(world, "x.csv", "id,input\n\n1,a\n,\n,,,\n\n2,b\n\n"))] == ["1", "2"]


def test_the_delimiter_is_the_one_of_the_header(world):
    for header, row in (
        ("id;input;note, in words", "1;a, b;c"),
        ("id|input|expected", "1|a, b|c"),
        ("id\tquestion", "1\ta, b"),
    ):
        notes = []
        [case] = read(put(world, "x.csv", f"{header}\n{row}\n"), notes)
        assert case.id == "1"
        assert "as the delimiter, as in the header" in notes[0]


def test_one_column_needs_no_delimiter(world):
    assert [case.input for case in read(put(world, "x.csv", "input\na; b\nc\n"))] == ["a; b", "c"]


def test_spaces_after_the_delimiters_are_left_out_when_the_header_has_them(world):
    [case] = read(put(world, "x.csv", 'id, input, expected\n1, "a, b", c\n'))
    assert (case.input, case.expected) == ("a, b", "c")


def test_a_column_without_a_name_is_kept_and_noted(world):
    notes = []
    [case] = read(put(world, "x.csv", ",input\n0,a\n"), notes)
    assert case.metadata == {"column 1": "0"}
    assert "column 1 has no name" in notes[0]


def test_nul_and_line_ends_inside_cells_are_kept(world):
    [case] = read(put(world, "x.csv", 'id,input\n1,"a\0b\r\nc\rd"\n'))
    assert case.input == "a\0b\r\nc\rd"


def test_a_cell_of_a_million_letters_is_read(world):
    [case] = read(put(world, "x.csv", f'id,input\n1,"{"x" * 1_000_000}"\n'))
    assert len(case.input) == 1_000_000


def test_a_line_without_end_is_refused(world):
    path = world / "x.csv"
    with path.open("w") as file:
        file.write("id,input\n")
        for _ in range(40):
            file.write("x" * (1 << 20))
    with pytest.raises(DataError, match=r"x\.csv:2: the line is longer than 32 MiB"):
        read(path)


def test_the_mark_that_excel_writes_is_no_part_of_the_header(world):
    [case] = read(put(world, "x.csv", "\ufeffid,input\n1,a\n"))
    assert case.id == "1"


def test_the_variables_of_promptfoo_are_the_input(world):
    notes = []
    text = 'name,question,__expected,__metadata:lang,__metadata:topics[],__description\nBob,Who?,equals: me,de,"a, b",d\nAnn,Why?,Plain: text,,,\n'
    first, second = read(put(world, "x.csv", text), notes)
    assert first.input == {"name": "Bob", "question": "Who?"}
    assert first.metadata == {"lang": "de", "topics": ["a", "b"], "__description": "d"}
    assert (first.expected, second.expected) == ("me", "Plain: text")
    assert any("the columns name, question are the variables of each input" in note for note in notes)
    assert any("__description is kept in the metadata" in note for note in notes)


def test_one_variable_is_the_input_itself_and_an_input_column_comes_first(world):
    [one] = read(put(world, "x.csv", "topic,__expected\nx,y\n"))
    assert (one.input, one.expected) == ("x", "y")
    [two] = read(put(world, "x.csv", "id,input,colour,__expected,__providerOutput\n1,x,red,y,z\n"))
    assert (two.id, two.input, two.expected, two.given.value, two.metadata) == ("1", "x", "y", "z", {"colour": "red"})


@pytest.mark.parametrize(
    ("cell", "scorer"), [("similar(0.8): hi", "similarity with the threshold 0.8"), ("contains: hi", "contains")]
)
def test_assertions_with_a_text_give_the_text_and_say_which_scorer_to_name(world, cell, scorer):
    notes = []
    [case] = read(put(world, "x.csv", f"topic,__expected\nx,{cell}\n"), notes)
    assert case.expected == "hi"
    assert f"name the scorer {scorer} in the suite" in notes[0]


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        (
            "__expected",
            "javascript: output.length < 3",
            "the assertion 'javascript', which is not supported for single rows",
        ),
        ("__expected", "not-contains: x", "the assertion 'not-contains'"),
        ("__expected2", "equals: x", "`__expected2` is a second assertion"),
        ("__threshold", "0.5", "`__threshold` is set for this row; set thresholds in the suite"),
    ],
)
def test_what_a_row_cannot_ask_for_is_explained(world, column, cell, said):
    bad, good = read(put(world, "x.csv", f'topic,{column}\nx,"{cell}"\ny,\n'))
    assert bad.place.endswith(":2")
    assert said in bad.message
    assert good.input == "y"


def test_check_names_every_fault_and_counts_the_rest(world):
    text = "id,input\n" + "".join(f"{n % 60},a\n" for n in range(120))
    faults = check_cases(put(world, "x.csv", text))
    assert len(faults) == 51
    assert faults[0] == f"{world}/x.csv:62: the id '0' occurs a second time; the first one is at {world}/x.csv:2."
    assert faults[-1] == f"… and 10 more faults in {world}/x.csv."
    assert check_cases(world / "x.csv", limit=61) == faults[:1]
    assert check_cases(world / "none.csv")[0].startswith(f"{world}/none.csv: there is no such file")


def test_real_tables_of_tests_are_read(shared):
    tables = sorted((shared / "data" / "promptpex" / "v7").glob("*/tests.csv"))
    assert tables
    for path in tables:
        found = list(read_cases(path, options=ReadOptions(input="testinput")))
        assert found
        bad = [row for row in found if isinstance(row, BadRow)]
        assert all("6 cells under a header of 5" in row.message for row in bad)
        assert len(bad) <= 1 < len(found)  # one of the tables has a row with a comma too many


def test_real_lists_of_results_are_read(shared):
    path = shared / "data" / "promptpex" / "example_output_results.json"
    found = list(read_cases(path, options=ReadOptions(input="input", expected="groundtruth")))
    rows = json.loads(path.read_text())
    assert len(found) == len(rows)


def test_a_line_end_across_two_pieces_of_the_file_is_one(world):
    megabyte = 1 << 20
    for cut in (megabyte - 1, megabyte - 2, megabyte):
        first = "id,input\r\n1," + "x" * (cut - 12)
        cases = read(put(world, "x.csv", f"{first}\r\n2,b\r\n3,c\r\n"))
        assert [(case.id, case.place[-2:]) for case in cases] == [("1", ":2"), ("2", ":3"), ("3", ":4")]
        assert len(cases[0].input) == cut - 12


def test_an_empty_cell_of_the_answer_column_is_an_empty_answer(world):
    path = world / "x.csv"
    path.write_text("question,answer,reference\nWhy?,,Because.\nWho?,She.,\n", encoding="utf-8")
    silent, spoken = read_cases(path)
    assert silent.given is not None
    assert (silent.given.value, spoken.given.value) == ("", "She.")
    assert (silent.expected, spoken.expected) == ("Because.", None)
