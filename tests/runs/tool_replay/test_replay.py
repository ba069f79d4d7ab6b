"""A tool that is recorded is not called for what it has given already, and outside of trials it is only itself."""

import asyncio
import functools
import inspect
import threading
import time
from contextvars import copy_context
from typing import get_type_hints

import pytest

from evalmark.errors import ConfigError, NotRecordedError, RunStoppedError, ToolError
from evalmark.testing.memory import MemoryToolLog
from evalmark.tools import replayed

from .trials import Agent


class Shop:
    """Tools that count how often they were called."""

    def __init__(self) -> None:
        self.made: list[object] = []

    def tool(self, **options):
        @replayed(**{"version": "1", **options})
        def search(query, limit=2, *more, exact=False, **rest):
            self.made.append(query)
            return [query, limit]

        return search

    def coroutine(self, **options):
        @replayed(**{"version": "1", **options})
        async def search(query, limit=2):
            self.made.append(query)
            await asyncio.sleep(0)
            return [query, limit]

        return search


@pytest.fixture
def shop():
    return Shop()


@pytest.fixture
def agent():
    return Agent()


def test_outside_of_trials_a_tool_is_only_called(shop):
    search = shop.tool()
    assert (search("tea"), search("tea")) == (["tea", 2], ["tea", 2])
    assert asyncio.run(shop.coroutine()("tea")) == ["tea", 2]
    assert shop.made == ["tea"] * 3


@pytest.mark.parametrize(
    ("mode", "made", "kept"),
    [
        pytest.param("auto", ["tea"], ["tea", 2], id="what is recorded is used"),
        pytest.param("record", ["tea", "tea"], ["tea", 2], id="what is recorded is replaced, once in a run"),
        pytest.param("strict", ["tea"], ["tea", 2], id="strict replay uses what is recorded"),
        pytest.param("off", ["tea", "tea", "tea"], ["tea", 2], id="without replay a tool is called each time"),
    ],
)
@pytest.mark.parametrize("kind", ["tool", "coroutine"])
def test_what_a_second_run_calls(shop, agent, mode, made, kept, kind):
    search = getattr(shop, kind)()

    def call():
        with agent.trial():
            found = search("tea")
            return asyncio.run(found) if kind == "coroutine" else found

    call()
    agent.run(mode)
    assert (call(), call()) == (kept, kept)
    assert shop.made == made
    assert len(agent.keys) == 1


def test_a_recording_that_is_made_anew_takes_the_place_of_the_older_one(agent):
    answers = iter(["old", "new", "newest"])
    search = replayed(name="search")(lambda query: next(answers))
    assert agent.calls(search, "tea") == "old"
    assert [agent.run("record").calls(search, "tea"), agent.calls(search, "tea")] == ["new", "new"]
    assert agent.run("auto").calls(search, "tea") == "new"


def test_strict_replay_calls_nothing_and_says_what_to_run(shop, agent):
    agent.run("strict")
    with pytest.raises(NotRecordedError) as error:
        agent.calls(shop.tool(), "tea", token="t0p")  # noqa: S106  what must not be shown
    said = str(error.value)
    assert said.startswith("search: not recorded for the arguments {")
    assert '"query":"tea"' in said
    assert "'Which tea?'" in said or '"Which tea?"' in said
    assert "Run once with --replay auto, and commit what `evalmark cache export` writes." in said
    assert "t0p" not in said
    assert shop.made == []
    assert agent.tools.fault is error.value


def test_long_arguments_are_shortened_in_an_error(shop, agent):
    agent.run("strict")
    with pytest.raises(NotRecordedError) as error:
        agent.calls(shop.tool(), "tea" * 10_000)
    assert len(str(error.value)) < 600


SAME = [
    pytest.param((("tea",), {}), (("tea", 2), {}), id="a default that is written out"),
    pytest.param((("tea",), {}), ((), {"query": "tea"}), id="a name"),
    pytest.param((("tea", 2), {"exact": True}), ((), {"exact": True, "limit": 2, "query": "tea"}), id="another order"),
    pytest.param((("tea",), {"b": 1, "a": 2}), (("tea",), {"a": 2, "b": 1}), id="further names in another order"),
    pytest.param(((("t", "e"),), {}), ((["t", "e"],), {}), id="a tuple and a list"),
]
OTHER = [
    pytest.param((("tea",), {}), (("mint",), {}), id="another value"),
    pytest.param((("1",), {}), ((1,), {}), id="a text and a number"),
    pytest.param((("tea",), {}), (("tea", 3), {}), id="another than the default"),
    pytest.param(((None,), {}), (("None",), {}), id="nothing and a text"),
    pytest.param((("tea", 2, "x"), {}), (("tea", 2), {"x": "x"}), id="more by place and more by name"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_calls_that_mean_the_same_share_a_recording(shop, agent, one, other):
    search = shop.tool()
    assert agent.calls(search, *one[0], **one[1]) == agent.calls(search, *other[0], **other[1])
    assert len(agent.keys) == len(shop.made) == 1


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_calls_that_mean_something_else_do_not(shop, agent, one, other):
    search = shop.tool()
    agent.calls(search, *one[0], **one[1])
    agent.calls(search, *other[0], **other[1])
    assert len(agent.keys) == len(shop.made) == 2


def test_another_version_name_or_input_is_another_recording(shop, agent):
    agent.calls(shop.tool(), "tea")
    agent.calls(shop.tool(version="2"), "tea")
    agent.calls(shop.tool(name="look"), "tea")
    with agent.trial("Which coffee?"):
        shop.tool()("tea")
    assert len(agent.keys) == len(shop.made) == 4


def test_what_a_tool_raises_is_not_recorded_and_comes_out_as_it_is(agent):
    made = []

    @replayed
    def search(query):
        made.append(query)
        if len(made) < 3:
            raise ConnectionError("no route")
        return "found"

    for _ in range(2):
        with pytest.raises(ConnectionError, match="no route"):
            agent.calls(search, "tea")
    assert agent.tools.fault is None
    assert [agent.calls(search, "tea"), agent.calls(search, "tea")] == ["found", "found"]
    assert len(made) == 3
    assert agent.replay.notes() == ("1 tool call replayed, 1 recorded, 2 failed and not recorded.",)


def test_arguments_that_do_not_fit_are_the_callers_mistake_in_every_run(shop, agent):
    for mode in ("auto", "strict", "off"):
        agent.run(mode)
        with pytest.raises(TypeError, match="search"):
            agent.calls(shop.tool())
    assert agent.tools.fault is None


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param(("a", ("b",)), ["a", ["b"]], id="tuples become lists"),
        pytest.param({"a": (1, 2.0)}, {"a": [1, 2.0]}, id="in dicts too"),
        pytest.param(None, None, id="nothing"),
        pytest.param(True, True, id="a truth value stays one"),
        pytest.param("\ud83d\ude00", "😀", id="two halves of a character"),
    ],
)
def test_the_run_that_records_sees_what_later_ones_see(agent, tmp_path, given, found):
    from evalmark.store import open_store

    tool = replayed(name="tool")(lambda: given)
    with open_store(tmp_path / "evalmark.db") as store:
        agent.call_log = store.tool_log()
        for mode in ("auto", "strict"):
            got = agent.run(mode).calls(tool)
            assert (got, type(got)) == (found, type(found))


def test_whoever_changes_a_result_changes_no_recording(shop, agent):
    search = shop.tool()
    agent.calls(search, "tea").append("more")
    assert agent.calls(search, "tea") == ["tea", 2]


def test_a_tool_that_changes_its_arguments_is_found_by_those_it_was_given(agent):
    @replayed
    def drain(items):
        return [items.pop() for _ in list(items)]

    assert agent.calls(drain, [1, 2]) == [2, 1]
    assert agent.run("strict").calls(drain, [1, 2]) == [2, 1]


class Client:
    def __init__(self, made):
        self.made = made

    @replayed(version="1")
    def search(self, query):
        self.made.append(query)
        return query.upper()

    @replayed(name="fetch", key=lambda arguments: [arguments["self"].made, arguments["url"]])
    async def fetch(self, url):
        return url

    @staticmethod
    @replayed
    def count(query):
        return len(query)

    @classmethod
    @replayed
    def kind(cls, query):
        return cls.__name__


def test_methods_are_found_whatever_object_they_belong_to(agent):
    made = []
    assert [agent.calls(Client(made).search, "tea") for _ in range(2)] == ["TEA", "TEA"]
    assert made == ["tea"]
    assert [agent.calls(Client.count, "tea"), agent.calls(Client([]).count, "tea")] == [3, 3]
    assert [agent.calls(Client.kind, "tea"), agent.calls(Client([]).kind, "tea")] == ["Client", "Client"]
    assert [kept.arguments for kept in agent.call_log.recordings.values()] == [{"query": "tea"}] * 3


def test_a_key_of_ones_own_may_look_at_the_object(agent):
    async def go():
        with agent.trial():
            return [await Client(made).fetch("/") for made in ([], [1], [1])]

    assert asyncio.run(go()) == ["/", "/", "/"]
    assert len(agent.keys) == 2


def test_a_plain_function_may_call_its_first_parameter_self(agent):
    @replayed
    def search(self):
        return self

    assert [agent.calls(search, "a"), agent.calls(search, "b")] == ["a", "b"]


def test_a_key_replaces_the_arguments(agent):
    made = []

    @replayed(key=lambda arguments: arguments["url"])
    def fetch(url, session, at=0):
        made.append(at)
        return f"page {url}"

    assert [agent.calls(fetch, "/", object(), at=n) for n in range(3)] == ["page /"] * 3
    agent.calls(fetch, "/other", object())
    assert made == [0, 0]
    assert next(iter(agent.call_log.recordings.values())).arguments == {
        "url": "/",
        "session": "(of the type object)",
        "at": 0,
    }


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_threads_and_tasks_that_ask_at_once_all_go_on_with_one_result(agent, kind):
    numbers = iter(range(1000))
    lock = threading.Lock()

    def number():
        with lock:
            return next(numbers)

    @replayed
    def plain_one(query):
        found = number()
        time.sleep(0.001)
        return found

    @replayed
    async def async_one(query):
        found = number()
        await asyncio.sleep(0.001)
        return found

    async def in_threads():
        return await asyncio.gather(*(asyncio.to_thread(plain_one, f"q{n % 3}") for n in range(60)))

    async def in_tasks():
        return await asyncio.gather(*(async_one(f"q{n % 3}") for n in range(60)))

    with agent.trial():
        found = asyncio.run(in_threads() if kind == "plain" else in_tasks())
    assert {n: set(found[n::3]) for n in range(3)} == {n: {found[n]} for n in range(3)}
    again = agent.run("strict")
    tool = plain_one if kind == "plain" else async_one
    with again.trial():
        last = [tool(f"q{n}") for n in range(3)] if kind == "plain" else asyncio.run(in_tasks())[:3]
    assert last == found[:3]


def test_runs_that_record_anew_agree_within_themselves_also_across_threads(agent):
    numbers = iter(range(1000))

    @replayed
    def draw(query):
        found = next(numbers)
        time.sleep(0.001)
        return found

    agent.calls(draw, "q")
    agent.run("record")
    found = []
    with agent.trial():
        contexts = [copy_context() for _ in range(8)]
    threads = [threading.Thread(target=lambda c=c: found.append(c.run(agent.calls, draw, "q"))) for c in contexts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert agent.run("strict").calls(draw, "q") == found[0] > 0


def test_a_thread_without_the_context_of_the_trial_only_calls(shop, agent):
    search = shop.tool()
    with agent.trial():
        thread = threading.Thread(target=search, args=("tea",))
        thread.start()
        thread.join()
    assert shop.made == ["tea"]
    assert agent.keys == []


def test_a_task_that_is_cancelled_while_its_result_is_kept_has_it_kept_all_the_same(shop, agent):
    begun, go_on = threading.Event(), threading.Event()

    class Slow(MemoryToolLog):
        def keep(self, recording, *, overwrite=False):
            begun.set()
            go_on.wait(5)
            return super().keep(recording, overwrite=overwrite)

    agent.call_log = Slow()

    async def go():
        with agent.trial():
            task = asyncio.create_task(shop.coroutine()("tea"))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert len(agent.keys) == 1


def test_a_damaged_recording_is_called_again_noted_and_replaced(shop, agent):
    search = shop.tool()
    agent.calls(search, "tea")
    agent.call_log.damaged.update(agent.keys)
    assert agent.run().calls(search, "tea") == ["tea", 2]
    assert agent.call_log.damaged == set()
    said, damage = agent.replay.notes()
    assert said == "1 tool call recorded."
    assert damage.endswith("It counts as not recorded, so the tool was called again.")
    assert agent.run("strict").calls(search, "tea") == ["tea", 2]


def test_a_damaged_recording_is_an_error_in_strict_replay(shop, agent):
    search = shop.tool()
    agent.calls(search, "tea")
    agent.call_log.damaged.update(agent.keys)
    with pytest.raises(
        NotRecordedError, match=r"search: the recorded tool call .* is damaged .* Run once with --replay"
    ):
        agent.run("strict").calls(search, "tea")
    assert shop.made == ["tea"]


def test_a_journal_that_is_full_ends_the_run_and_the_agent_cannot_talk_it_away(shop, agent):
    agent.call_log = MemoryToolLog(full_after=0)
    with agent.trial():
        with pytest.raises(
            RunStoppedError, match="No further tool is called, since the call log cannot be used: the disk"
        ):
            shop.tool()("tea")
        assert isinstance(agent.tools.fault, RunStoppedError)


def test_two_functions_under_one_name_are_told_apart(agent):
    class Other:
        @replayed(name="search")
        def look(self, query):
            return "other"

    agent.calls(Client([]).search, "tea")
    with agent.trial(), pytest.raises(ToolError, match=r"search: two tools .* give one of them another with @replayed"):
        replayed(name="search", version="1")(Other.look.__wrapped__)(None, "tea")


def test_counts_say_how_often_tools_were_replayed_and_recorded(shop, agent):
    search = shop.tool()
    for query in ("a", "b", "a", "a"):
        agent.calls(search, query)
    assert agent.replay.notes() == ("2 tool calls replayed, 2 recorded.",)
    agent.run("strict")
    agent.calls(search, "a")
    assert agent.replay.notes() == ("1 tool call replayed.",)
    assert agent.run().replay.notes() == ()


def generator(query):
    yield query


async def async_generator(query):
    yield query


async def async_key(arguments):
    return 1


@pytest.mark.parametrize(
    ("act", "says"),
    [
        pytest.param(lambda: replayed(generator), "is a generator", id="a generator"),
        pytest.param(lambda: replayed(async_generator), "is a generator", id="an async generator"),
        pytest.param(lambda: replayed(version="1")(Client), "use it on a function", id="a class"),
        pytest.param(lambda: replayed("search"), "decorates a str", id="a name instead of a function"),
        pytest.param(lambda: replayed(staticmethod(len)), "put it below", id="above @staticmethod"),
        pytest.param(lambda: replayed(name="x")(3), "use it on a function", id="a number"),
        pytest.param(lambda: replayed(functools.partial(len)), "has no name", id="a partial without a name"),
        pytest.param(lambda: replayed(version=2), "version=2 is not a text", id="a version that is a number"),
        pytest.param(lambda: replayed(key="url"), "key='url' is not a plain function", id="a key that is a text"),
        pytest.param(lambda: replayed(sanitize=async_key), "without `async`", id="sanitize that is async"),
        pytest.param(lambda: replayed(name=1, version=2), "name=1.*\n.*version=2", id="two faults at once"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_with_a_sentence(act, says):
    with pytest.raises(ConfigError, match=says):
        act()


def test_signature_hints_and_names_survive():
    def search(query: str, *, limit: "int" = 2) -> "list[str]":
        """Find pages."""
        return []

    async def fetch(url: str) -> str:
        return url

    for function in (search, fetch):
        tool = replayed(version="1")(function)
        assert inspect.signature(tool) == inspect.signature(function)
        assert get_type_hints(tool) == get_type_hints(function)
        assert (tool.__name__, tool.__doc__, tool.__module__) == (function.__name__, function.__doc__, __name__)
        assert inspect.iscoroutinefunction(tool) == inspect.iscoroutinefunction(function)


def test_objects_and_partials_that_can_be_called_are_tools_too(agent):
    class Search:
        async def __call__(self, query):
            return query

    async def go():
        with agent.trial():
            return await replayed(name="search")(Search())("tea")

    assert asyncio.run(go()) == "tea"
    assert agent.calls(replayed(name="power")(functools.partial(pow, 2)), 3) == 8
    assert len(agent.keys) == 2
