"""Anything that can be called becomes a target that is called with what it asks for."""

import asyncio
import functools
import math
import sys
import textwrap
import threading
from collections import UserDict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from evalmark import Case, Example, Output, ToolCall, Turn
from evalmark.errors import ConfigError
from evalmark.runs.targets.function import FunctionTarget, as_target
from evalmark.runs.targets.given_target import GivenTarget

CASE = Case(
    id="1",
    input="ping",
    contexts=("a", "b"),
    history=(Turn(role="user", content="hi"),),
    metadata={"lang": "en"},
    place="cases.jsonl:7",
)


def answer(thing: Any, case: Case = CASE) -> Output:
    return asyncio.run(as_target(thing)(case))


def shout(text: str) -> str:
    return text.upper()


async def whisper(text: str) -> str:
    await asyncio.sleep(0)
    return text.lower()


def stream(text: str) -> Iterator[str]:
    yield from text


async def async_stream(text: str) -> AsyncIterator[str]:
    for letter in text:
        yield letter


@functools.wraps(whisper)
def wrapped_async(*args: Any) -> Any:
    return whisper(*args)


class Bot:
    """Three ways to be asked."""

    def __call__(self, text: str) -> str:
        return f"called {text}"

    def answer(self, question: str) -> str:
        return f"answered {question}"

    async def answer_later(self, question: str) -> str:
        return f"later {question}"

    @staticmethod
    def static(text: str) -> str:
        return f"static {text}"


class Silent:
    """Nothing to be asked."""


class OddlyAsked:
    def __call__(self, text: str, mood: str) -> str:
        return text


class AsyncBot:
    async def __call__(self, text: str) -> str:
        return f"async {text}"


class Chain:
    """A runnable as LangChain makes them: old-style call, `invoke`, `ainvoke`."""

    def __call__(self, inputs: Any) -> Any:
        raise AssertionError("the old way is not used")

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        return f"invoked {input}, config {config}"

    async def ainvoke(self, input: Any, config: Any = None) -> Any:  # noqa: A002
        return f"ainvoked {input}"


class OnlyAsyncChain:
    async def ainvoke(self, input: Any) -> Any:  # noqa: A002
        return f"ainvoked {input}"


@dataclass(frozen=True)
class Prefixed:
    prefix: str

    def __call__(self, text: str) -> str:
        return self.prefix + text


@pytest.mark.parametrize(
    ("thing", "value"),
    [
        pytest.param(shout, "PING", id="a function"),
        pytest.param(lambda text: text + "!", "ping!", id="a lambda"),
        pytest.param(whisper, "ping", id="an async function"),
        pytest.param(stream, "ping", id="a generator function, joined"),
        pytest.param(async_stream, "ping", id="an async generator function, joined"),
        pytest.param(lambda text: stream(text), "ping", id="a function that gives a generator"),
        pytest.param(lambda text: whisper(text), "ping", id="a function that gives a coroutine"),
        pytest.param(lambda text: async_stream(text), "ping", id="a function that gives an async generator"),
        pytest.param(wrapped_async, "ping", id="a sync wrapper around an async function"),
        pytest.param(Bot(), "called ping", id="an object that can be called"),
        pytest.param(AsyncBot(), "async ping", id="an object with an async call"),
        pytest.param(Bot().answer, "answered ping", id="a bound method"),
        pytest.param(Bot().answer_later, "later ping", id="a bound async method"),
        pytest.param(Bot.static, "static ping", id="a static method"),
        pytest.param(Prefixed("> "), "> ping", id="a frozen dataclass"),
        pytest.param(functools.partial(Prefixed, "> ")(), "> ping", id="what a partial made"),
        pytest.param(functools.partial(lambda mark, text: text + mark, "?"), "ping?", id="a partial"),
        pytest.param(functools.partial(whisper), "ping", id="a partial of an async function"),
        pytest.param(functools.partial(AsyncBot()), "async ping", id="a partial of an async object"),
        pytest.param(Chain(), "invoked ping, config None", id="a runnable"),
        pytest.param(Chain().ainvoke, "ainvoked ping", id="a runnable's async method"),
        pytest.param(OnlyAsyncChain(), "ainvoked ping", id="a runnable that is only async"),
        pytest.param(MagicMock(return_value="mocked"), "mocked", id="a mock, which says yes to any attribute"),
        pytest.param(str.upper, "PING", id="a method of a built-in type"),
        pytest.param(len, 4, id="a built-in function"),
        pytest.param("textwrap:dedent", "ping", id="the name of a function"),
    ],
)
def test_whatever_can_be_called_gives_its_value(thing, value):
    output = answer(thing)
    assert output == Output(value=value, seconds=output.seconds)
    assert output.seconds is not None
    assert output.seconds > 0


@pytest.mark.parametrize(
    ("function", "got"),
    [
        pytest.param(lambda: "nothing", "nothing", id="no parameter"),
        pytest.param(lambda anything: anything, "ping", id="the first one has a name of its own"),
        pytest.param(lambda *args: args, ("ping",), id="star"),
        pytest.param(lambda input: input, "ping", id="input"),  # noqa: A006
        pytest.param(lambda question: question, "ping", id="question"),
        pytest.param(lambda query: query, "ping", id="query"),
        pytest.param(lambda input, /: input, "ping", id="positional only, with an offered name"),  # noqa: A006
        pytest.param(lambda text, /, *, case: (text, case.id), ("ping", "1"), id="positional and by keyword"),
        pytest.param(lambda case: case, CASE, id="the whole case"),
        pytest.param(lambda text, contexts: contexts, ("a", "b"), id="contexts"),
        pytest.param(lambda contexts, question: (question, contexts), ("ping", ("a", "b")), id="in any order"),
        pytest.param(lambda text, history: history[0].content, "hi", id="history"),
        pytest.param(lambda text, metadata: metadata["lang"], "en", id="metadata"),
        pytest.param(lambda text, depth=3: depth, 3, id="a default that nobody fills"),
        pytest.param(lambda text, contexts=(): contexts, ("a", "b"), id="a default that is filled"),
        pytest.param(lambda text, **more: more, {}, id="any keywords get nothing"),
    ],
)
def test_parameters_are_filled_by_their_names(function, got):
    assert answer(function).value == got


@pytest.mark.parametrize(
    ("thing", "told"),
    [
        pytest.param(lambda text, model: "", "cannot fill parameter 'model'. Give it a default, or one", id="unknown"),
        pytest.param(lambda text, *, a, b: "", "cannot fill parameter 'a', 'b'", id="two unknown ones"),
        pytest.param(
            Silent,
            "is a class whose instances cannot be called. Give it a method `__call__` or",
            id="a class of objects that cannot be asked",
        ),
        pytest.param(Prefixed, "is a class whose parameter 'prefix' has no default", id="a class that needs something"),
        pytest.param(OddlyAsked, "cannot fill parameter 'mood'", id="a class whose objects ask for something unknown"),
        pytest.param(Bot.answer, "is an unbound method", id="a method of a class"),
        pytest.param(3, "is a value of type int, which cannot be called", id="a number"),
        pytest.param(None, "is a value of type NoneType", id="nothing"),
        pytest.param(math, "is a value of type module", id="a module"),
        pytest.param("answer", "target 'answer' is not of the form 'package.module:attribute'", id="a bare name"),
        pytest.param("no_such_module_here:f", "there is no module 'no_such_module_here'", id="a missing module"),
        pytest.param("textwrap:nothing", "target 'textwrap:nothing': module 'textwrap' has no attr", id="no attribute"),
        pytest.param(
            "textwrap:shortn", "has no attribute 'shortn'; did you mean 'shorten'?", id="a slip in an attribute"
        ),
        pytest.param("textwrap:TextWrapper.fil", "did you mean 'fill'?", id="a slip in the attribute of an attribute"),
        pytest.param("textwrap:TextWrapper", "target 'textwrap:TextWrapper' is a class", id="the name of a class"),
        pytest.param("textwrap:__doc__", "is a value of type str", id="the name of a text"),
    ],
)
def test_what_cannot_be_a_target_is_refused_before_the_run(thing, told):
    with pytest.raises(ConfigError, match=r"^target '") as refused:
        as_target(thing)
    assert told in str(refused.value)


def test_a_module_is_found_in_the_folders_and_its_breakage_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "good_bot_7f.py").write_text("def answer(q):\n    return q * 2\n")
    (tmp_path / "bad_bot_7f.py").write_text("1 / 0\n")
    (tmp_path / "odd_bot_7f.py").write_text("None.answer\n")
    target = as_target("good_bot_7f:answer", folders=[tmp_path])
    assert target.name == "good_bot_7f:answer"
    assert asyncio.run(target(CASE)).value == "pingping"
    with pytest.raises(ConfigError, match="importing it raised ZeroDivisionError"):
        as_target("bad_bot_7f:answer", folders=[tmp_path])
    with pytest.raises(ConfigError, match="importing it raised AttributeError: 'NoneType' object has no attribute"):
        as_target("odd_bot_7f:answer", folders=[tmp_path])
    with pytest.raises(ConfigError) as refused:
        as_target("no_bot_7f:answer", folders=[tmp_path, tmp_path])
    assert f"'no_bot_7f', neither in {tmp_path} nor among what is installed; PYTHONPATH" in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"answer": "a", "contexts": ["c"]}, id="a mapping is a value, whatever its keys"),
        pytest.param(("a", ["c"]), id="a pair"),
        pytest.param(0.5, id="a number"),
        pytest.param(None, id="nothing"),
        pytest.param("", id="an empty text"),
        pytest.param([1, 2], id="a list"),
    ],
)
def test_a_plain_value_stays_as_it_is(value):
    assert answer(lambda: value).value == value


def test_an_output_is_taken_as_it_is_and_timed_if_it_is_not():
    full = Output(value="a", contexts=("c",), tool_calls=(ToolCall(name="t"),), metadata={"k": 1}, seconds=9.0)
    assert answer(lambda: full) == full
    timed = answer(lambda: Output(value="a", contexts=("c",)))
    assert timed.contexts == ("c",)
    assert timed.seconds is not None
    assert answer(lambda: Output(error="no luck")).error == "no luck"


def test_a_chat_message_gives_its_text_its_tools_and_its_usage():
    message = SimpleNamespace(
        content="hello",
        tool_calls=[{"name": "search", "args": {"q": "x"}, "id": "1"}, "junk"],
        response_metadata={"model": "m"},
        usage_metadata=None,
    )
    output = answer(lambda: message)
    assert output == Output(
        value="hello",
        seconds=output.seconds,
        transcript=(Turn(role="assistant", content="hello"), ToolCall(name="search", arguments={"q": "x"}, id="1")),
        metadata={"response_metadata": {"model": "m"}},
    )


def test_a_stream_of_message_chunks_is_joined_and_one_of_other_things_listed():
    def chunks(text: str) -> Iterator[Any]:
        for letter in text:
            yield SimpleNamespace(content=letter, response_metadata={})

    def numbers(text: str) -> Iterator[int]:
        yield from (1, 2)

    assert answer(chunks).value == "ping"
    assert answer(numbers).value == [1, 2]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(ValueError("no"), ValueError, id="an exception"),
        pytest.param(SystemExit(3), SystemExit, id="sys.exit, which the engine makes an error of"),
        pytest.param(KeyboardInterrupt(), RuntimeError, id="a KeyboardInterrupt that no keyboard made"),
        pytest.param(asyncio.CancelledError(), RuntimeError, id="a cancellation that nobody asked for"),
        pytest.param(StopIteration(), RuntimeError, id="a StopIteration, which no future can carry"),
        pytest.param(GeneratorExit(), RuntimeError, id="a GeneratorExit"),
    ],
)
def test_what_a_target_raises_goes_to_the_caller(error, raised):
    def broken(text: str) -> str:
        raise error

    with pytest.raises(raised) as caught:
        answer(broken)
    assert type(error).__name__ in f"{type(caught.value).__name__}: {caught.value}"


def test_a_stream_that_breaks_halfway_raises():
    def broken(text: str) -> Iterator[str]:
        yield "half"
        raise ValueError("the rest is lost")

    with pytest.raises(ValueError, match="the rest is lost"):
        answer(broken)


def spoil(case: Case, input: Any, metadata: Any) -> str:  # noqa: A002
    input["messages"].append("spoiled")
    metadata["lang"] = "spoiled"
    case.input["messages"].clear()
    case.metadata["new"] = "spoiled"
    case.expected["a"] = "spoiled"
    case.examples[0].value.append("spoiled")
    return "done"


async def spoil_async(case: Case, input: Any, metadata: Any) -> str:  # noqa: A002
    return spoil(case, input, metadata)


@pytest.mark.parametrize("target", [pytest.param(spoil, id="sync"), pytest.param(spoil_async, id="async")])
def test_a_target_that_changes_its_case_changes_a_copy(target):
    case = Case(
        id="1",
        input={"messages": ["hi"]},
        expected={"a": 1},
        examples=(Example(value=["x"]),),
        metadata={"lang": "en"},
    )
    before = case.fingerprint
    assert answer(target, case).value == "done"
    assert case.fingerprint == before


def test_a_case_of_texts_is_handed_over_without_a_copy():
    case = Case(id="1", input="ping", expected="pong", contexts=("a",))
    assert answer(lambda case: case, case).value is case


def test_an_input_that_cannot_be_copied_is_handed_over_as_it_is():
    lock = threading.Lock()
    assert answer(lambda text: text["lock"], Case(id="1", input={"lock": lock})).value is lock


def test_other_mappings_are_copied_too():
    held = UserDict(a=[1])
    answer(lambda x: x["a"].append(2), Case(id="1", input=held))
    assert held["a"] == [1]


@dataclass(frozen=True)
class Named:
    name: str = "my bot"
    fingerprint: str = "v7"

    def __call__(self, text: str) -> str:
        return text


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        pytest.param("textwrap:dedent", "textwrap:dedent", id="a text is its own name"),
        pytest.param(textwrap.dedent, "textwrap:dedent", id="a function"),
        pytest.param(functools.partial(textwrap.shorten, width=3), "textwrap:shorten", id="a partial"),
        pytest.param(Bot().answer, f"{__name__}:Bot.answer", id="a method"),
        pytest.param(Bot(), f"{__name__}:Bot", id="an object"),
        pytest.param(Named(), "my bot", id="an object with a name"),
        pytest.param(str.upper, "builtins:str.upper", id="a built-in"),
    ],
)
def test_a_target_has_a_name_to_be_shown_by(thing, name):
    assert as_target(thing).name == name


def fingerprint(thing: Any) -> str:
    target = as_target(thing)
    assert isinstance(target, FunctionTarget)
    return target.fingerprint


def twin(source: str, folder: Path) -> Callable[..., Any]:
    """A function `f` out of a module file with this source."""
    path = folder / f"twin_{abs(hash(source))}.py"
    path.write_text(source)
    scope: dict[str, Any] = {"__name__": "twin"}
    exec(compile(source, str(path), "exec"), scope)  # noqa: S102
    found: Callable[..., Any] = scope["f"]
    return found


def test_a_fingerprint_changes_with_the_source(tmp_path):
    first = fingerprint(twin("def f(x):\n    return x\n", tmp_path))
    assert first == fingerprint(twin("def f(x):\n    return x\n", tmp_path))
    assert first != fingerprint(twin("def f(x):\n    return x + x\n", tmp_path))


def answering_with(model: Any) -> Callable[[str], str]:
    def inner(text: str) -> str:
        return f"{model}: {text}"

    return inner


class Unwritten:
    """Has state, and no text of its own."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, text: str) -> str:
        return text

    def answer(self, text: str) -> str:
        return text


class Unspeakable(Unwritten):
    def __repr__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda x: functools.partial(textwrap.shorten, width=x), id="the arguments of a partial"),
        pytest.param(Prefixed, id="the fields of a dataclass"),
        pytest.param(Unwritten, id="the attributes of an object"),
        pytest.param(lambda x: Unwritten(x).answer, id="the object of a method"),
        pytest.param(answering_with, id="what a closure holds"),
        pytest.param(lambda x: lambda text, model=x: text, id="a default"),
    ],
)
def test_a_fingerprint_changes_with_the_settings(made):
    assert fingerprint(made(1)) == fingerprint(made(1)) != fingerprint(made(2))
    assert fingerprint(made(object())) == fingerprint(made(object())), "an address in memory is no setting"


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(len, id="a built-in function"),
        pytest.param(str.upper, id="a method of a built-in type"),
        pytest.param(Unspeakable(1), id="an object that cannot be written"),
        pytest.param(MagicMock(), id="a mock"),
    ],
)
def test_a_thing_without_a_source_has_a_fingerprint_too(thing):
    assert len(fingerprint(thing)) == 32


def test_a_thing_may_bring_its_own_fingerprint():
    assert fingerprint(Named()) == "v7"


def test_a_target_stays_itself():
    target = as_target(shout)
    given = GivenTarget()
    assert as_target(target) is target
    assert as_target(given) is given


def test_given_answers_are_passed_on():
    output = Output(value="pong", contexts=("c",))
    assert asyncio.run(GivenTarget()(Case(id="1", given=output))) is output


@pytest.mark.parametrize(
    ("case", "told"),
    [
        pytest.param(
            Case(id="1", place="cases.jsonl:7"), "cases.jsonl:7: the row has no `answer` to score", id="with a place"
        ),
        pytest.param(Case(id="no 1"), "case 'no 1': the row has no `answer` to score", id="without one"),
    ],
)
def test_a_row_without_an_answer_says_where_and_what_to_do(case, told):
    output = asyncio.run(GivenTarget()(case))
    assert output.value is None
    assert output.error is not None
    assert output.error.startswith(told)
    assert "Add one, or name a target." in output.error
