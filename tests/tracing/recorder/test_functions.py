"""Functions of all kinds are recorded, and nobody notices."""

import asyncio
import contextvars
import gc
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from evalmark import ConfigError, record
from evalmark.core.values.case import Usage
from evalmark.recording import current


class OddError(Exception):
    """Raised by what is recorded."""


def test_what_a_function_gives_is_the_same_object(store, answers):
    given = {"found": ["Oslo"]}
    same = record("demo", store=store)(lambda question: given)
    assert same("Where?") is given
    (span,) = answers()
    assert (span.input, span.output, span.project, span.kind, span.parent) == ("Where?", given, "demo", "run", "")
    assert span.error is None
    assert 0 <= span.seconds < 5


def test_what_a_function_raises_is_the_same_object(store, answers):
    fault = OddError("no\nroute")

    @record("demo", store=store)
    def broken(question):
        raise fault

    with pytest.raises(OddError) as raised:
        broken("Where?")
    assert raised.value is fault
    (span,) = answers()
    assert (span.error, span.output, span.name) == ("OddError: no route", None, "broken")


def alone(question): ...


def with_default(question, top=3): ...


def several(question, user, *more, flag=False): ...


def any_(*args, **named): ...


@pytest.mark.parametrize(
    ("function", "args", "named", "recorded"),
    [
        pytest.param(alone, ("a",), {}, "a", id="one argument is the input"),
        pytest.param(alone, (), {"question": "a"}, "a", id="also by its name"),
        pytest.param(with_default, ("a",), {}, "a", id="one that has to be given, and only it is"),
        pytest.param(with_default, ("a", 5), {}, {"question": "a", "top": 5}, id="two are"),
        pytest.param(
            several,
            ("a", "u", "x"),
            {"flag": True},
            {"question": "a", "user": "u", "args": ["x"], "flag": True},
            id="many",
        ),
        pytest.param(any_, (1,), {"b": 2}, {"args": [1], "b": 2}, id="a function that takes anything"),
        pytest.param(any_, (), {}, {}, id="nothing"),
    ],
)
def test_the_input_is_what_the_function_was_called_with(store, answers, function, args, named, recorded):
    record("demo", store=store)(function)(*args, **named)
    assert answers()[0].input == recorded


def test_a_method_is_recorded_without_its_object(store, answers):
    class Bot:
        @record("demo", store=store)
        def answer(self, question):
            return question.upper()

    assert Bot().answer("oslo") == "OSLO"
    assert answers()[0].input == "oslo"


def test_the_kind_of_a_function_stays(store):
    def plain(): ...

    async def coroutine(): ...

    def generator():
        yield

    async def asynchronous():
        yield

    around = record("demo", store=store)
    assert inspect.iscoroutinefunction(around(coroutine))
    assert inspect.isgeneratorfunction(around(generator))
    assert inspect.isasyncgenfunction(around(asynchronous))
    assert around(plain).__name__ == "plain"


def test_a_coroutine_is_recorded_and_so_is_one_that_is_cancelled(store, answers):
    @record("demo", store=store)
    async def answer(question):
        await asyncio.sleep(60 if question == "slow" else 0)
        return "Oslo"

    async def both():
        assert await answer("fast") == "Oslo"
        slow = asyncio.create_task(answer("slow"))
        await asyncio.sleep(0.01)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow

    asyncio.run(both())
    assert [(span.output, span.error) for span in answers()] == [("Oslo", None), (None, "CancelledError")]


def test_a_stream_is_what_it_gave(store, answers):
    @record("demo", store=store)
    def stream(question):
        got = yield "Os"
        assert got == "more"
        try:
            yield "lo"
        except OddError:
            yield "!"
        return 7

    def reading():
        made = stream("Where?")
        assert next(made) == "Os"
        assert made.send("more") == "lo"
        assert made.throw(OddError()) == "!"
        with pytest.raises(StopIteration) as end:
            next(made)
        assert end.value.value == 7

    reading()
    (span,) = answers()
    assert (span.output, span.error, span.metadata) == ("Oslo!", None, {})


def test_a_stream_that_nobody_reads_to_its_end_is_kept_as_far_as_it_came(store, answers):
    closed = []

    @record("demo", store=store)
    def stream(question):
        try:
            yield "Os"
            yield "lo"
        finally:
            closed.append(question)

    next(made := stream("closed"))
    made.close()
    next(stream("collected"))
    gc.collect()
    assert closed == ["closed", "collected"]
    assert [(span.output, span.metadata) for span in answers()] == [("Os", {"closed_early": True})] * 2


def test_a_stream_that_breaks_is_kept_with_its_error(store, answers):
    @record("demo", store=store)
    def stream(question):
        yield "Os"
        raise OddError("gone")

    with pytest.raises(OddError):
        list(stream("Where?"))
    assert [(span.output, span.error) for span in answers()] == [("Os", "OddError: gone")]


def test_an_asynchronous_stream(store, answers):
    @record("demo", store=store)
    async def stream(question):
        got = yield {"piece": 1}
        assert got is None
        yield {"piece": 2}

    async def read(most):
        found = []
        made = stream("Where?")
        async for piece in made:
            found.append(piece)
            if len(found) == most:
                await made.aclose()
                break
        return found

    assert asyncio.run(read(5)) == [{"piece": 1}, {"piece": 2}]
    assert asyncio.run(read(1)) == [{"piece": 1}]
    whole, part = answers()
    assert (whole.output, part.output) == ([{"piece": 1}, {"piece": 2}], [{"piece": 1}])
    assert part.metadata == {"closed_early": True}


def test_reading_a_stream_is_no_part_of_it(store, answers):
    @record.step
    def step(number):
        return number

    @record("demo", store=store)
    def stream(question):
        with record.step("inner"):
            yield step(1)
            yield step(2)

    @record("demo", store=store)
    def other(question):
        return question

    for piece in stream("Where?"):
        other(piece)
    assert [(span.name, span.output) for span in answers()] == [("stream", [1, 2]), ("other", 1), ("other", 2)]


def test_calls_inside_a_call_are_its_steps(store, kept):
    @record.step(kind="retrieval")
    def search(query):
        return [{"page_content": "Oslo is in Norway."}, "Bergen too."]

    @record.step
    def shout(text):
        return text.upper()

    @record("demo", store=store)
    def inner(question):
        search(question)
        return shout("yes")

    @record("demo", store=store)
    def outer(question):
        with record.step("ask", kind="model", template="greeting", input={"q": question}) as call:
            call.output, call.model, call.cost = inner(question), "openai/x", 0.25
            call.usage = {"prompt_tokens": 9, "completion_tokens": 2}
        current().metadata["mood"] = "calm"
        return "done"

    outer("Where?")
    (session,) = kept()
    spans = {span.name: span for span in session.spans}
    above = {span.name: next((s.name for s in session.spans if s.id == span.parent), "") for span in session.spans}
    assert above == {"outer": "", "ask": "outer", "inner": "ask", "search": "inner", "shout": "inner"}
    assert {name: span.kind for name, span in spans.items()} == {
        "outer": "run",
        "ask": "model",
        "inner": "step",
        "search": "retrieval",
        "shout": "step",
    }
    assert spans["outer"].contexts == spans["search"].contexts == ("Oslo is in Norway.", "Bergen too.")
    assert spans["outer"].metadata == {"mood": "calm"}
    asked = spans["ask"]
    assert (asked.template, asked.model, asked.cost) == ("greeting", "openai/x", 0.25)
    assert asked.usage == Usage(input_tokens=9, output_tokens=2)


def test_steps_outside_of_answers_are_not_recorded_and_hide_none(store, answers):
    @record.step(kind="tool")
    def tool(query):
        return query

    assert tool("alone") == "alone"
    with record.step("alone") as span:
        span.output = "?"
        record("demo", store=store)(lambda question: tool(question))("Where?")
    assert [(span.input, span.parent) for span in answers()] == [("Where?", "")]


def test_tasks_and_threads_that_copy_the_context_keep_their_answers_apart(store, kept):
    @record.step
    def step(question):
        return question

    @record("demo", store=store)
    async def answer(question):
        await asyncio.sleep(0.001)
        await asyncio.gather(asyncio.to_thread(step, question), asyncio.create_task(task(question)))
        return question

    async def task(question):
        return step(question)

    async def many():
        await asyncio.gather(*(answer(f"q{number}") for number in range(20)))

    asyncio.run(many())
    sessions = kept()
    assert len(sessions) == 20
    for session in sessions:
        assert {span.input for span in session.spans} == {session.answers[0].input}
        assert len(session.spans) == 3


def test_a_pool_carries_the_session_along_where_it_copies_the_context(store, kept):
    answer = record("demo", store=store)(lambda question: question)
    with record("demo", session="u", store=store), ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: contextvars.copy_context().run(answer, "elsewhere"), range(2)))
        pool.submit(contextvars.copy_context().run, answer, "here").result()
    found = sorted((len(s.answers), s.answers[0].input) for s in kept())
    assert found == [(1, "elsewhere"), (1, "elsewhere"), (1, "here")]


def test_many_threads_lose_nothing(store, kept):
    answer = record("demo", store=store)(lambda question: question)

    def work(number):
        for turn in range(50):
            answer(f"{number}-{turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(s.answers[0].input for s in kept()) == sorted(f"{n}-{t}" for n in range(8) for t in range(50))


@dataclass
class Passage:
    text: str
    score: float


class Hostile:
    def __getattr__(self, name):
        raise RuntimeError(name)

    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Circle:
    def __iter__(self):
        raise AssertionError("nothing of the app is iterated")


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        pytest.param(Passage("a", 0.5), {"text": "a", "score": 0.5}, id="a dataclass"),
        pytest.param({1: (2, {3})}, {"1": [2, [3]]}, id="keys, tuples and sets"),
        pytest.param(float("nan"), "nan", id="no number"),
        pytest.param(b"\xff", "\ufffd", id="bytes"),
        pytest.param("\ud800 \x00", "\ud800 \x00", id="half a pair and a zero"),
        pytest.param([Circle()], [f"<{__name__}.Circle>"], id="an object that must not be iterated"),
        pytest.param(10**30, 10**30, id="a large number"),
    ],
)
def test_any_value_is_kept_as_plain_data(store, answers, given, recorded):
    record("demo", store=store)(lambda question: question)(given)
    (span,) = answers()
    assert (span.input, span.output) == (recorded, recorded)


def test_objects_that_fight_back_are_kept_as_their_type(store, answers):
    made = Hostile()
    assert record("demo", store=store)(lambda thing: thing)(made) is made
    (span,) = answers()
    assert "Hostile" in span.output or span.output.startswith("(not kept")


def test_a_circle_ends(store, answers):
    circle = {}
    circle["again"] = circle
    record("demo", store=store)(lambda question: "done")(circle)
    assert answers()[0].output == "done"


def test_what_the_app_does_to_its_data_later_does_not_change_the_record(store, answers):
    messages = [{"role": "user", "content": "Where?"}]

    @record("demo", store=store)
    def answer(messages):
        messages[0]["content"] = "changed"
        messages.append("more")
        return messages

    answer(messages)
    messages.clear()
    (span,) = answers()
    assert span.input == [{"role": "user", "content": "Where?"}]
    assert span.output == [{"role": "user", "content": "changed"}, "more"]


def test_a_value_of_very_many_items_is_cut(store, answers):
    record("demo", store=store)(len)(list(range(50_000)))
    (span,) = answers()
    assert (len(span.input), span.input[-1], span.output) == (10_000, "...", 50_000)


def test_texts_of_100_000_characters_come_back_whole(store, answers):
    text = "ä☺x1" * 25_000
    record("demo", store=store)(lambda question: question)(text)
    assert answers()[0].output == text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: record(""), "the first argument is the name of a project", id="no project"),
        pytest.param(lambda: record(len), "the first argument is the name of a project", id="put bare on a function"),
        pytest.param(lambda: record("p", sample=2), "share of sessions, from 0 to 1", id="a share above one"),
        pytest.param(lambda: record("p", redact="x"), "a function from a text to a text", id="a redactor that is none"),
        pytest.param(lambda: record("p")(3), "decorates a function", id="around no function"),
        pytest.param(
            lambda: record.step(kind="llm"), "kind is .llm.; use one of step, model, tool, retrieval", id="no such kind"
        ),
    ],
)
def test_a_wrong_call_is_said_when_the_app_starts(call, message):
    with pytest.raises(ConfigError, match=message):
        call()
