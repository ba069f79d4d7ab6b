"""The first rows of a dataset are parsed once, and every reader sees all rows and all remarks."""

from itertools import islice

import pytest

from evalmark import Case
from evalmark.core.errors import DataError
from evalmark.runs.planning.first_rows import FirstRows


class Dataset:
    """Rows `0` to `count - 1`, with a remark before every fourth one and one at the end."""

    def __init__(self, count):
        self.count, self.parsed = count, []

    def read(self, note):
        for number in range(self.count):
            self.parsed.append(number)
            if number % 4 == 0:
                note(f"before {number}")
            yield Case(id=str(number))
        note("the end")


def read(rows, most=None):
    """The ids and the remarks that one reader sees."""
    notes = []
    return [row.id for row in islice(rows(notes.append), most)], notes


def expected(count, most=None):
    return read(Dataset(count).read, most)


@pytest.mark.parametrize(
    ("count", "stops", "parsed"),
    [
        pytest.param(9, [5, 5, None], 9, id="two checks of five rows, then the run"),
        pytest.param(9, [2, 5, 3, None], 9, id="a check that reads more than the one before"),
        pytest.param(9, [None], 9, id="the run alone"),
        pytest.param(3, [5, None, None], 3, id="a short dataset is parsed once by all"),
        pytest.param(5, [5, None], 5, id="as many rows as are kept"),
        pytest.param(0, [5, None, None], 0, id="an empty dataset"),
        pytest.param(9, [5, None, None], 18, id="a second run parses again"),
        pytest.param(9, [7, None], 16, id="a reader that stops beyond the kept rows"),
        pytest.param(9, [0, None], 9, id="a reader that takes nothing"),
    ],
)
def test_every_reader_sees_all_rows_and_remarks(count, stops, parsed):
    dataset = Dataset(count)
    rows = FirstRows(dataset.read, 5)
    for stop in stops:
        assert read(rows, stop) == expected(count, stop)
    assert len(dataset.parsed) == parsed


def test_readers_may_take_turns():
    dataset = Dataset(12)
    rows = FirstRows(dataset.read, 5)
    first_notes, second_notes = [], []
    first, second = rows(first_notes.append), rows(second_notes.append)
    taken = [[next(reader).id for reader in (first, second)] for _ in range(12)]
    assert taken == [[str(n)] * 2 for n in range(12)]
    assert list(first) == list(second) == []
    assert first_notes == expected(12)[1]
    assert dict.fromkeys(second_notes) == dict.fromkeys(first_notes)


def test_a_fault_is_raised_for_every_reader():
    def broken(note):
        yield Case(id="0")
        raise DataError("line 2 is broken")

    rows = FirstRows(broken, 5)
    for _ in range(3):
        with pytest.raises(DataError, match="line 2"):
            list(rows(print))
