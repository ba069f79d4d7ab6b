"""Several processes, and several runs of one process, on the journal of one store."""

import asyncio

from evalmark.store import open_store
from tests.storage.store import sample
from tests.storage.store.places import in_a_file
from tests.storage.store.test_sharing import begin, end

from .calls import call, key
from .conftest import find

EVERYWHERE = True
RUNS = 3


@in_a_file
def test_processes_that_ask_at_once_lose_no_call_and_pay_for_their_own(path):
    starts = [number * sample.COUNT // 2 for number in range(RUNS)]  # neighbours share half of their calls
    said = end([begin("ask", str(path), f"run-{n}", str(start)) for n, start in enumerate(starts)])
    asked = [int(text.removeprefix("asked ")) for text in said]
    with open_store(path) as store:
        assert store.check().sound
        assert all(find(store, key(n)) == call(n).replayed for n in range(starts[-1] + sample.COUNT))
        # One that came late may have found all of its calls, and spent nothing.
        assert [sum(spent.calls for spent in store.spending(f"run-{n}")) for n in range(RUNS)] == asked
        assert [store.interrupted_calls(f"run-{n}") for n in range(RUNS)] == [0] * RUNS
        assert sum(asked) >= store.check().calls


def test_two_runs_of_one_process_share_a_transaction_and_no_total(store):
    async def both() -> None:
        one, two = store.call_log(sample.run().id), store.call_log("two")
        await asyncio.gather(
            *(one.keep(call(number)) for number in range(50)), *(two.keep(call(number)) for number in range(50, 80))
        )

    store.start(sample.run("two"))
    asyncio.run(both())
    assert [store.spending(name)[0].calls for name in (sample.run().id, "two")] == [50, 30]


def test_two_stores_of_one_process_take_turns(store, path):
    with open_store(path) as second:
        second.start(sample.run("two"))

        async def both() -> None:
            journals = store.call_log(sample.run().id), second.call_log("two")
            await asyncio.gather(*(journals[number % 2].keep(call(number)) for number in range(60)))
            assert all([await journals[0].find(key(number)) == call(number).replayed for number in range(60)])

        asyncio.run(both())
