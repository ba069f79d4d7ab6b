"""Writing in groups: who hands something in at the same time shares one save, one error and one awakening."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalmark.errors import StoreFullError
from evalmark.storage.call_log.group_commit import GroupCommit


class Desk:
    """A log over a list; `open` lets the first save end, and saves of what is in `refused` fail."""

    def __init__(self, refused: frozenset[str] = frozenset()) -> None:
        self.groups: list[list[str]] = []
        self.began, self.open = threading.Event(), threading.Event()
        self.refused = refused
        self.writer = ThreadPoolExecutor(1)
        self.log = GroupCommit(self.writer.submit, self.save)

    def saved(self) -> list[str]:
        return sorted(entry for group in self.groups for entry in group)

    def save(self, entries) -> None:
        self.began.set()
        assert self.open.wait(10)
        self.groups.append(list(entries))
        if self.refused & set(entries):
            raise StoreFullError("full")


@pytest.fixture
def desk():
    made = Desk()
    yield made
    made.open.set()
    made.writer.shutdown()


async def hand_in(desk: Desk, *entries: str) -> list:
    """Hand in the first entry, and while it is being saved all others; what each wait came to."""
    first = asyncio.create_task(desk.log.write(entries[0]))
    await asyncio.to_thread(desk.began.wait, 10)
    others = [asyncio.create_task(desk.log.write(entry)) for entry in entries[1:]]
    await asyncio.sleep(0)
    desk.open.set()
    return await asyncio.gather(first, *others, return_exceptions=True)


def test_what_gathers_while_a_group_is_saved_is_the_next_group(desk):
    assert asyncio.run(hand_in(desk, "a", *"bcdef")) == [None] * 6
    assert desk.groups == [["a"], list("bcdef")]


def test_an_error_is_told_to_all_of_its_group_and_to_no_other():
    desk = Desk(frozenset("c"))
    found = asyncio.run(hand_in(desk, "a", "b", "c", "d"))
    assert [type(each) for each in found] == [type(None), *[StoreFullError] * 3]
    assert len({id(each) for each in found[1:]}) == 3, "one exception raised in several tasks mixes their tracebacks"
    asyncio.run(desk.log.write("later"))
    assert desk.groups[-1] == ["later"]
    desk.writer.shutdown()


def test_one_who_is_cancelled_has_it_saved_all_the_same(desk):
    async def cancelled() -> None:
        waiting = [asyncio.create_task(desk.log.write(entry)) for entry in "abc"]
        await asyncio.to_thread(desk.began.wait, 10)
        waiting[1].cancel()
        desk.open.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in found] == [type(None), asyncio.CancelledError, type(None)]

    asyncio.run(cancelled())
    assert desk.saved() == ["a", "b", "c"]


def test_an_error_that_nobody_waits_for_any_more_is_no_noise():
    desk = Desk(frozenset("a"))

    async def left_alone() -> None:
        heard = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context))
        waiting = asyncio.create_task(desk.log.write("a"))
        await asyncio.to_thread(desk.began.wait, 10)
        waiting.cancel()
        desk.open.set()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.to_thread(desk.log.drain)
        await asyncio.sleep(0)
        assert heard == []

    asyncio.run(left_alone())
    desk.writer.shutdown()


def test_what_was_handed_in_is_saved_also_when_its_loop_has_ended(desk):
    async def go_away() -> None:
        waiting = [asyncio.create_task(desk.log.write(entry)) for entry in "ab"]
        await asyncio.to_thread(desk.began.wait, 10)
        for task in waiting:
            task.cancel()

    asyncio.run(go_away())
    desk.open.set()
    desk.log.drain()
    assert desk.saved() == ["a", "b"]


def test_two_loops_in_two_threads_share_a_log(desk):
    desk.open.set()

    async def write(letter: str) -> None:
        await asyncio.gather(*(desk.log.write(f"{letter}{number}") for number in range(50)))

    threads = [threading.Thread(target=lambda letter=letter: asyncio.run(write(letter))) for letter in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert desk.saved() == sorted(f"{letter}{number}" for letter in "xyz" for number in range(50))


def test_others_who_use_the_writer_have_their_turn_between_two_groups(desk):
    order = []

    async def both() -> None:
        first = asyncio.create_task(desk.log.write("a"))
        await asyncio.to_thread(desk.began.wait, 10)
        other = desk.writer.submit(lambda: order.append(len(desk.groups)))
        second = asyncio.create_task(desk.log.write("b"))
        await asyncio.sleep(0)
        desk.open.set()
        await asyncio.gather(first, second, asyncio.wrap_future(other))

    asyncio.run(both())
    assert order == [1]


def test_settling_waits_for_all_that_was_handed_in(desk):
    async def hand_over() -> list:
        waiting = [asyncio.create_task(desk.log.write(entry)) for entry in "abc"]
        await asyncio.to_thread(desk.began.wait, 10)
        late = asyncio.create_task(desk.log.write("late"))
        await asyncio.sleep(0)
        threading.Timer(0.02, desk.open.set).start()
        desk.log.drain()
        seen = desk.saved()
        await asyncio.gather(*waiting, late)
        return seen

    assert asyncio.run(hand_over()) == ["a", "b", "c", "late"]


# Waiting for others.


@pytest.mark.parametrize("gathered", ["", "bc"], ids=["one group is on its way", "another one has gathered"])
def test_one_who_catches_up_waits_for_what_was_handed_in_before_and_hands_nothing_in(desk, gathered):
    async def follow() -> list[str]:
        first = asyncio.create_task(desk.log.write("a"))
        await asyncio.to_thread(desk.began.wait, 10)
        others = [asyncio.create_task(desk.log.write(entry)) for entry in gathered]
        await asyncio.sleep(0)
        follower = asyncio.create_task(desk.log.wait_saved())
        await asyncio.sleep(0.01)
        assert not follower.done()
        desk.open.set()
        await follower
        seen = desk.saved()
        await asyncio.gather(first, *others)
        return seen

    assert asyncio.run(follow()) == ["a", *gathered]
    assert len(desk.groups) == 1 + bool(gathered)


def test_one_who_catches_up_with_nothing_does_not_wait(desk):
    asyncio.run(desk.log.wait_saved())
    assert desk.groups == []


def test_one_who_catches_up_with_what_is_refused_hears_of_it():
    desk = Desk(frozenset("a"))

    async def follow() -> list:
        first = asyncio.create_task(desk.log.write("a"))
        await asyncio.to_thread(desk.began.wait, 10)
        follower = asyncio.create_task(desk.log.wait_saved())
        await asyncio.sleep(0)
        desk.open.set()
        return await asyncio.gather(first, follower, return_exceptions=True)

    assert [type(each) for each in asyncio.run(follow())] == [StoreFullError] * 2
    asyncio.run(desk.log.wait_saved())
    desk.writer.shutdown()
