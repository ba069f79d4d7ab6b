"""Classes as targets: what one object remembers never reaches another row."""

import asyncio
import threading

import pytest

from evalmark import Case
from evalmark.core.values.score import Trial
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import Conversation, Work
from evalmark.runs.targets.function import as_target
from evalmark.testing.memory import MemorySink


class Tutor:
    """Remembers what it was asked."""

    def __init__(self, greeting="Hello"):
        self.heard = [greeting]

    def __call__(self, question):
        self.heard.append(question)
        return " ".join(self.heard)


class AsyncTutor(Tutor):
    async def __call__(self, question):
        return super().__call__(question)


class Runnable(Tutor):
    def __call__(self, question):
        raise AssertionError("runnables are invoked")

    def invoke(self, question):
        return Tutor.__call__(self, question)


class Broken(Tutor):
    def __init__(self):
        raise OSError("no such model")


def asked(target, conversation):
    trials = [Trial(case=Case(id=text, input=text), position=n) for n, text in enumerate(["a", "b"])]
    if conversation:
        trials = [Conversation(target="", turns=trials)]
    sink = MemorySink()
    asyncio.run(run_trials(Work(trials=trials, targets={"": target}, scorers=(), sink=sink)))
    return [r.output.value or r.output.error for r in sorted(sink.results, key=lambda r: r.trial.position)]


@pytest.mark.parametrize("thing", [Tutor, AsyncTutor, Runnable, "tests.runs.targets.test_class_target:Tutor"])
def test_each_row_meets_a_new_object_and_each_conversation_one_of_its_own(thing):
    target = as_target(thing)
    assert asked(target, conversation=False) == ["Hello a", "Hello b"]
    assert asked(target, conversation=True) == ["Hello a", "Hello a b"]
    assert asked(target, conversation=True) == ["Hello a", "Hello a b"]


@pytest.mark.parametrize("conversation", [True, False])
def test_an_object_that_cannot_be_made_is_the_error_of_its_row(conversation):
    assert asked(as_target(Broken), conversation) == ["OSError: no such model"] * 2


def test_the_objects_of_all_rows_share_their_threads():
    target = as_target(Tutor)
    before = threading.active_count()
    for number in range(20):
        asyncio.run(target(Case(id=f"{number}", input="a")))
    assert threading.active_count() - before <= 1


@pytest.mark.parametrize("conversation", [True, False])
def test_objects_are_made_where_they_are_asked_and_not_on_the_event_loop(conversation):
    class Slow:
        def __init__(self):
            self.made_in = threading.current_thread()

        def __call__(self, question):
            return self.made_in is not threading.main_thread()

    class Async:
        def __init__(self):
            self.loop = asyncio.get_running_loop()

        async def __call__(self, question):
            return self.loop is asyncio.get_running_loop()

    assert asked(as_target(Slow), conversation) == [True, True]
    assert asked(as_target(Async), conversation) == [True, True]


def test_another_class_is_another_target():
    assert as_target(Tutor).fingerprint == as_target(Tutor).fingerprint != as_target(AsyncTutor).fingerprint
    assert as_target(Tutor).name == f"{__name__}:Tutor"
