"""Ids are unique, and where a file has none they follow the row, not its place."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.inputs.datasets.case_builder import as_cases
from evalmark.inputs.datasets.ids import SeenIds
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import read_cases

ROWS = [{"question": f"What is {n}?", "expected": str(n)} for n in range(30)]


def ids(rows):
    return [case.id for case in as_cases(rows)]


def test_made_ids_follow_the_rows_when_these_are_shuffled():
    shuffled = sorted(ROWS, key=lambda row: row["question"][::-1])
    assert shuffled != ROWS
    assert dict(zip(map(str, shuffled), ids(shuffled), strict=True)) == dict(
        zip(map(str, ROWS), ids(ROWS), strict=True)
    )


def test_made_ids_stay_when_rows_come_and_go():
    assert set(ids(ROWS[5:20])) == set(ids(ROWS)[5:20])


def test_made_ids_do_not_depend_on_the_answer_under_test_nor_on_further_columns_nor_on_names():
    plain = ids([{"question": "q", "expected": "e"}])
    for more in ({"answer": "a"}, {"answer": "b"}, {"contexts": ["c"]}, {"colour": "red"}, {"tags": ["x"]}):
        assert ids([{"question": "q", "expected": "e"} | more]) == plain
    assert ids([{"reference": "e", "Input": "q"}]) == plain
    assert ids([{"question": "q", "expected": "f"}]) != plain
    assert ids([{"question": "p", "expected": "e"}]) != plain


def test_made_ids_are_short_and_stay_the_same_between_releases():
    assert ids([{"input": "a"}]) == ["3f1790503780"]


def test_twins_are_counted():
    first, other, second, third = ids([{"input": "a"}, {"input": "b"}, {"input": "a"}, {"input": "a"}])
    assert (second, third) == (f"{first}-2", f"{first}-3")
    assert other != first


def test_the_input_of_a_conversation_is_more_than_its_last_turn():
    hello = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    made = ids([{"input": "go on"}, {"input": "go on", "history": hello}])
    assert not made[1].startswith(made[0])


def test_values_of_any_kind_can_be_rows():
    assert len(set(ids([{"input": object}, {"input": {1, 2}}, {"input": b"x"}, {"input": float("inf")}]))) == 4


def test_whole_numbers_become_texts():
    assert ids([{"id": 1, "input": "a"}, {"id": 2.0, "input": "b"}, {"id": "03", "input": "c"}]) == ["1", "2", "03"]


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_an_empty_id_is_none(empty):
    assert ids([{"id": empty, "input": "a"}]) == ids([{"input": "a"}])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(1, 1, id="the same number"),
        pytest.param("a", "a", id="the same text"),
        pytest.param(1, "1", id="a number and its text"),
        pytest.param(1, 1.0, id="a number and its float"),
        pytest.param("caf\u00e9", "cafe\u0301", id="composed and decomposed"),
        pytest.param("a", "a ", id="a space behind"),
        pytest.param("a", "\ta", id="a tab before"),
        pytest.param("\u00e9", "\u00e9\u00a0", id="a hard space behind"),
    ],
)
def test_ids_that_nobody_can_tell_apart_are_a_fault_that_names_both_places(world, first, second):
    path = world / "x.jsonl"
    path.write_text("\n".join(json.dumps({"id": i, "input": "x"}) for i in ("other", first, "third", second)))
    *good, bad = read_cases(path)
    assert [case.place for case in good] == [f"{path}:{line}" for line in (1, 2, 3)]
    assert isinstance(bad, BadRow)
    shown = str(int(second)) if isinstance(second, float) else str(second)
    assert str(bad) == f"{path}:4: the id {shown!r} occurs a second time; the first one is at {path}:2."


@pytest.mark.parametrize(("first", "second"), [("a", "A"), ("1", "01"), ("a b", "a  b")])
def test_ids_that_differ_otherwise_are_two(first, second):
    assert ids([{"id": first, "input": "x"}, {"id": second, "input": "x"}]) == [first, second]


def test_on_a_shared_line_both_places_have_columns(world):
    path = world / "x.json"
    path.write_text('[{"id": 1, "input": "a"}, {"id": 2, "input": "a"}, {"id": 2, "input": "b"}]')
    *_, bad = read_cases(path)
    assert str(bad) == f"{path}:1:52: the id '2' occurs a second time; the first one is at {path}:1:27."


def test_a_made_id_does_not_clash_with_one_that_is_written_out():
    assert ids([{"id": "3f1790503780", "input": "x"}, {"input": "a"}]) == ["3f1790503780", "3f1790503780-2"]


def test_two_hundred_letters_are_an_id():
    assert ids([{"id": "x" * 200, "input": "a"}]) == ["x" * 200]


def test_an_edited_row_keeps_a_written_id_and_changes_its_fingerprint():
    [before] = as_cases([{"id": 1, "input": "a", "expected": "b"}])
    [after] = as_cases([{"id": 1, "input": "a", "expected": "c"}])
    assert before.id == after.id
    assert before.fingerprint != after.fingerprint


def test_the_place_is_no_part_of_the_fingerprint(world):
    (world / "a.jsonl").write_text('{"id": 1, "input": "x"}')
    (world / "b.jsonl").write_text('\n\n{"input": "x", "id": 1}')
    first, second = (next(read_cases(world / name)) for name in ("a.jsonl", "b.jsonl"))
    assert first.fingerprint == second.fingerprint


@given(st.lists(st.text(st.sampled_from(string.ascii_lowercase), min_size=1, max_size=2), max_size=300))
def test_places_are_those_a_dictionary_would_keep(names):
    places, known = SeenIds(), {}
    for line, name in enumerate(names, start=1):
        assert places.seen(name) is (name in known)
        assert places.put(name, line, line * 2) == known.get(name)
        known.setdefault(name, (line, line * 2))


def test_places_grow():
    places = SeenIds()
    assert [places.put(f"id {n}", n + 1, 0) for n in range(5_000)] == [None] * 5_000
    assert [places.put(f"id {n}", 9, 9) for n in range(5_000)] == [(n + 1, 0) for n in range(5_000)]


def test_two_cases_with_one_id_are_a_fault():
    with pytest.raises(DataError, match=r"item 2: the id '1' occurs a second time; the first one is at item 1\."):
        as_cases([{"id": 1, "input": "a"}, {"id": "1", "input": "b"}])
