"""Tests inside of each other, in threads and on loops; and what recorded sessions are like."""

import asyncio
import threading

import pytest

from evalmark.errors import ConfigError
from evalmark.store import open_store
from evalmark.unit_tests import UnitTest, UnitTestFailedError

from .recorded import bad, case, cosine, good, near, quiet, record


def test_tests_may_stand_inside_of_each_other(world):
    with quiet(2) as outer:
        for test_case in outer.test_cases():
            with quiet(1) as inner:
                next(inner.test_cases()).evaluate(bad)
            test_case.evaluate(good)
    assert [r.passed for r in outer.results] == [True, True]
    assert [r.passed for r in inner.results] == [False]
    with open_store(world / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert len(store.runs()) == 3


def test_tests_may_go_on_in_several_threads(world):
    found, faults = [], []

    def work(number):
        try:
            unit_test = UnitTest(f"thread {number}", cosine()).for_test_cases([near(n) for n in range(20)])
            with unit_test as test:
                for test_case in test.test_cases():
                    test_case.evaluate(good)
            found.append((unit_test.run.name, len(unit_test.run.results)))
        except BaseException as error:  # noqa: BLE001  it is told in the main thread
            faults.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert faults == []
    assert sorted(found) == [(f"thread {n}", 20) for n in range(4)]


def test_no_thread_is_left_behind(world):
    with quiet(3) as test:
        for test_case in test.test_cases():
            test_case.evaluate(good)
    assert [t.name for t in threading.enumerate() if t.name == "evalmark"] == []


def test_more_results_than_wait_at_a_time_are_all_there(world):
    count = 2_500
    with quiet(count, store=None) as test:
        for test_case in test.test_cases():
            test_case.evaluate(good)
    assert [r.order for r in test.results] == list(range(1, count + 1))


async def later(inputs):
    await asyncio.sleep(0)
    return "deg=0"


class Runnable:
    def invoke(self, inputs):
        return "deg=90"

    async def ainvoke(self, inputs):
        return "deg=0"


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(good, id="a plain function"),
        pytest.param(later, id="a coroutine"),
        pytest.param(Runnable(), id="a runnable, by ainvoke"),
        pytest.param(lambda inputs: later(inputs), id="a function that gives a coroutine"),
    ],
)
def test_s0_35_cases_are_evaluated_on_a_loop(world, function):
    async def check():
        unit_test = quiet(3)
        async with unit_test as test:
            async for test_case in test.test_cases():
                await test_case.evaluate_async(function)
        return unit_test.run, test.results

    run, results = asyncio.run(check())
    assert [r.passed for r in results] == [True] * 3
    assert run.status == "complete"


def test_on_a_loop_failing_cases_fail_the_process_and_errors_go_on(world):
    async def check(function, **options):
        async with UnitTest("x", cosine()).for_test_cases([near()]) as test:
            async for test_case in test.test_cases():
                await test_case.evaluate_async(function, **options)

    async def breaks(inputs):
        raise ValueError("no such city")

    with pytest.raises(UnitTestFailedError):
        asyncio.run(check(lambda inputs: "deg=90"))
    with pytest.raises(ValueError, match="no such city"):
        asyncio.run(check(breaks))
    with pytest.raises(UnitTestFailedError, match="no such city"):
        asyncio.run(check(breaks, continue_on_error=True))


def test_on_a_loop_the_loop_goes_on_meanwhile(world):
    async def check():
        turns = 0

        async def other():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        async with quiet(5) as test:
            async for test_case in test.test_cases():
                await test_case.evaluate_result_async("deg=0")
        task.cancel()
        return turns, len(test.results)

    turns, results = asyncio.run(check())
    assert turns > 5
    assert results == 5


@pytest.mark.parametrize("function", [later, good, Runnable().ainvoke])
def test_inside_of_a_running_loop_the_plain_form_works_too(world, function):
    async def check():
        with quiet(2) as test:
            for test_case in test.test_cases():
                test_case.evaluate(function)
        return [r.passed for r in test.results]

    assert asyncio.run(check()) == [True, True]


def test_two_tests_on_one_loop(world):
    async def one(name):
        unit_test = UnitTest(name, cosine()).for_test_cases([near(n) for n in range(3)])
        async with unit_test as test:
            async for test_case in test.test_cases():
                await test_case.evaluate_async(later)
        return unit_test.run.name

    async def both():
        return await asyncio.gather(one("a"), one("b"))

    assert asyncio.run(both()) == ["a", "b"]


def test_s0_3_a_case_of_a_prompt_has_to_be_a_text(world):
    record(
        world / ".evalmark" / "evalmark.db", {"input": {"q": 1}, "output": "x deg=5", "likes": [True], "template": "t"}
    )
    unit_test = UnitTest("x", cosine(), raise_on_failure=False).for_prompt_template("t")
    with pytest.raises(ConfigError, match="has to return a text"), unit_test as test:
        next(test.test_cases()).evaluate(lambda inputs: {"text": "deg=0"})
    with unit_test as test:
        next(test.test_cases()).evaluate(good)
    assert test.results[0].passed


def test_contradicting_labels_of_several_people_are_settled(world):
    record(
        world / ".evalmark" / "evalmark.db",
        {"input": {"q": 1}, "output": "x deg=5", "likes": [True, True, False]},
        {"input": {"q": 1}, "output": "x deg=5", "likes": [False]},
        {"input": {"q": 2}, "output": "y deg=5", "likes": [False]},
    )
    with UnitTest("x", cosine(), raise_on_failure=False).for_project_sessions("demo") as test:
        for test_case in test.test_cases():
            test_case.evaluate(good)
    assert [(r.passed, len(r.test_case.outputs)) for r in test.results] == [(True, 2), (False, 1)]


def test_a_recorded_value_that_is_no_mapping_goes_to_the_function_as_it_is(world):
    record(world / ".evalmark" / "evalmark.db", {"input": "deg=0", "output": "x deg=5", "likes": [True]})
    with UnitTest("x", cosine()).for_project_sessions("demo") as test:
        next(test.test_cases()).evaluate(lambda question: question)
    assert test.results[0].passed


def test_other_keys_of_a_mapping_are_named(world):
    with UnitTest("x", cosine(), raise_on_failure=False).for_test_cases([case((1, {"a": "deg=0"}))]) as test:
        next(test.test_cases()).evaluate_result({"b": "deg=0"})
    assert test.results[0].reasoning == "Missing keys: {'a'} \n Unexpected keys: {'b'}"
