"""What pages keep for a page that asks again: the newest, few enough, and the same for every thread."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.viewer.cache import RecentCache


@given(st.integers(1, 4), st.lists(st.integers(0, 6)))
def test_of_all_that_was_asked_for_the_last_ones_are_kept(most, keys):
    kept, last = RecentCache[int, int](most), []
    for at, key in enumerate(keys):
        found = kept.find(key, lambda at=at: at)
        assert (found == at) is (key not in last), "made anew only where it was not among the last ones"
        last = [*(other for other in last if other != key), key][-most:]
        assert [*kept] == last


def test_nothing_is_a_value_as_well():
    kept = RecentCache[str, None](1)
    made = [kept.find("a", lambda: None), kept.find("a", lambda: 1 / 0)]
    assert made == [None, None]


def test_what_is_kept_anew_takes_the_place_of_what_was_there():
    kept = RecentCache[str, int](2)
    kept.keep("a", 1)
    kept.keep("b", 2)
    kept.keep("a", 3)
    kept.keep("c", 4)
    assert {key: kept.get(key) for key in "abc"} == {"a": 3, "b": None, "c": 4}


def test_two_who_make_the_same_at_once_get_the_same():
    kept, both = RecentCache[str, object](1), Barrier(2)

    def make() -> object:
        both.wait(30)  # neither is done before the other has begun
        return object()

    with ThreadPoolExecutor(2) as pool:
        one, other = [pool.submit(kept.find, "a", make) for _ in range(2)]
        assert one.result(30) is other.result(30) is kept.get("a")


def test_nobody_waits_for_what_is_being_made_of_something_else():
    kept, begun, leaving = RecentCache[str, int](2), Event(), Event()

    def slow() -> int:
        begun.set()
        leaving.wait(30)
        return 1

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(kept.find, "slow", slow)
        assert begun.wait(30)
        assert kept.find("quick", lambda: 2) == 2
        leaving.set()
        assert found.result(30) == 1


def test_what_fails_is_made_again_by_the_next_who_asks():
    kept = RecentCache[str, float](1)
    try:
        kept.find("a", lambda: 1 / 0)
    except ZeroDivisionError:
        assert [*kept] == []
    assert kept.find("a", lambda: 2.0) == 2.0


def test_many_threads_find_what_belongs_to_their_key():
    kept = RecentCache[int, int](3)

    def ask(number: int) -> bool:
        return all(kept.find(key % 7, lambda key=key: key % 7) == key % 7 for key in range(number, number + 400))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert len([*kept]) == 3
