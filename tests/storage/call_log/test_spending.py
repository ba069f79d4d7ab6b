"""What a run has spent: right after any number of passes, whatever was asked twice, refused or cleared away."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.core.values.case import Usage
from evalmark.core.values.spending import Spending
from evalmark.errors import StoreError
from evalmark.store import open_store
from tests.storage.store import sample
from tests.storage.store.places import until

from .calls import MODEL, call, cut_off, failed, key, reply, troubled
from .conftest import RUN, break_off, keep, send

EVERYWHERE = True


def test_every_call_is_added_up_by_model(store):
    other = {"model": "test/other", "identity": "test/other"}
    keep(store, call(1), call(2), troubled(3), cut_off(4), failed(5))
    keep(store, call(6, reply=reply(6, usage=Usage(input_tokens=4), cost=None), **other))
    keep(store, failed(7, **other))
    assert store.spending(RUN) == (
        Spending(
            model=MODEL, calls=4, failed=1, attempts=2, input_tokens=40, output_tokens=1 + 2 + 3 + 4, cost=4 * 0.25
        ),
        Spending(model="test/other", calls=1, failed=1, unknown_usage=1, unknown_cost=1),
    )


@pytest.mark.parametrize(
    ("costs", "total", "unknown"),
    [
        pytest.param([None, None], None, 2, id="nothing is known"),
        pytest.param([None, 0.5], 0.5, 1, id="one is known, the second"),
        pytest.param([0.5, None], 0.5, 1, id="one is known, the first"),
        pytest.param([0.0, 0.0], 0.0, 0, id="both are free, which is not unknown"),
        pytest.param([0.5, 0.25], 0.75, 0, id="both are known"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["in one group", "one after the other"])
def test_an_unknown_price_is_counted_and_never_zero(store, costs, total, unknown, at_once):
    made = [call(number, reply=reply(number, cost=cost)) for number, cost in enumerate(costs)]
    for group in [made] if at_once else [[each] for each in made]:
        keep(store, *group)
    (spent,) = store.spending(RUN)
    assert (spent.cost, spent.unknown_cost) == (total, unknown)


def test_a_call_that_is_paid_for_twice_counts_twice(store):
    keep(store, cut_off(1))
    keep(store, call(1))
    (spent,) = store.spending(RUN)
    assert (spent.calls, spent.input_tokens, spent.cost) == (2, 20, 0.5)
    assert store.check().calls == 1


def test_clearing_recordings_and_paying_for_them_in_another_run_change_no_total(store):
    keep(store, *map(call, range(5)))
    before = store.spending(RUN)
    break_off(store)
    store.start(sample.run("another"))
    keep(store, call(1), run="another")
    store.recordings.clear()
    assert store.spending(RUN) == before
    assert store.spending("another") == (Spending(model=MODEL, calls=1, input_tokens=10, output_tokens=1, cost=0.25),)


def test_the_totals_of_a_resumed_run_are_those_of_all_its_passes(path):
    """1,790 of 2,000 is what another tool said."""
    for first in (0, 700, 1_400):
        with open_store(path) as store:
            if first:
                store.resume(RUN)
            else:
                store.start(sample.run())
            keep(store, *(call(number) for number in range(first, min(first + 700, 2_000))))
            break_off(store)
    with open_store(path, read_only=True) as store:
        (spent,) = store.spending(RUN)
        assert (spent.calls, spent.input_tokens, spent.cost) == (2_000, 20_000, 500.0)


def test_a_run_without_calls_has_spent_nothing(store):
    assert store.spending(RUN) == ()
    assert store.interrupted_calls(RUN) == 0


@pytest.mark.parametrize("ask", ["spending", "interrupted_calls"])
def test_an_unknown_run_is_said(store, ask):
    with pytest.raises(StoreError, match="no run 'other'; stored runs include"):
        getattr(store, ask)("other")


# Requests under way when a run broke off.


def test_requests_that_never_came_back_are_counted_once_for_each_pass_that_broke_off(store):
    send(store, key(1), key(2), key(3))
    keep(store, call(1))
    assert store.interrupted_calls(RUN) == 0, "they are under way"
    break_off(store)
    assert store.interrupted_calls(RUN) == 2
    store.resume(RUN)
    assert store.interrupted_calls(RUN) == 2
    keep(store, call(2))
    send(store, key(3))
    assert store.interrupted_calls(RUN) == 2, "what the pass before left behind"
    break_off(store)
    assert store.interrupted_calls(RUN) == 1
    store.resume(RUN)
    assert store.interrupted_calls(RUN) == 1
    keep(store, call(3))
    (spent,) = store.spending(RUN)
    assert (spent.calls, spent.repeated) == (3, 3), "call 2 was sent again once, call 3 twice"


def test_what_is_not_sent_again_is_not_repeated(store):
    send(store, key(1), key(2))
    break_off(store)
    store.resume(RUN)
    keep(store, call(1))
    store.finish(sample.run(status="complete"))
    (spent,) = store.spending(RUN)
    assert spent.repeated == 1
    store.resume(RUN)
    assert store.interrupted_calls(RUN) == 0, "a run that ended complete has nothing under way"


def test_a_call_that_failed_came_back(store):
    keep(store, failed(1), cut_off(2))
    break_off(store)
    assert store.interrupted_calls(RUN) == 0


def test_two_runs_that_send_the_same_request_do_not_mix(store):
    send(store, key(1))
    break_off(store)
    store.start(sample.run("another"))
    keep(store, call(1), run="another")
    assert store.interrupted_calls(RUN) == 1
    assert [spent.repeated for spent in store.spending("another")] == [0]


def test_a_forgotten_run_leaves_nothing_behind_but_its_calls(store):
    keep(store, call(1))
    send(store, key(2))
    break_off(store)
    store.forget(RUN)
    store.start(sample.run())
    assert (store.spending(RUN), store.interrupted_calls(RUN), store.check().calls) == ((), 0, 1)


def test_requests_of_a_run_that_a_living_process_writes_are_not_interrupted_and_of_a_killed_one_they_are(path):
    code = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[2]); import sample\n"
        "from evalmark.store import open_store\n"
        "store = open_store(sys.argv[1]); store.start(sample.run())\n"
        "journal = store.call_log(sample.run().id)\n"
        "async def go(): await asyncio.gather(*(journal.sending(str(n)) for n in range(7)))\n"
        "asyncio.run(go()); print('ready', flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(path), str(Path(sample.__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        with open_store(path) as store:
            assert store.interrupted_calls(RUN) == 0
            os.kill(other.pid, signal.SIGKILL)
            other.wait()
            until(lambda: store.interrupted_calls(RUN) == 7)
            store.resume(RUN)
            assert store.interrupted_calls(RUN) == 7


def test_the_header_of_a_run_keeps_what_it_spent(store):
    keep(store, call(1), failed(2))
    spent = tuple(replace(each, replayed=4) for each in store.spending(RUN))
    store.finish(replace(sample.run(status="complete"), spending=spent))
    assert store.run(RUN).spending == spent
