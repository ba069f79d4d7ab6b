"""Async tests of the plugins that run them, and what stands in a running loop."""

import pytest

ASYNC = """
import asyncio

import pytest

from evalmark import expect

{mark}


async def answer(text):
    await asyncio.sleep(0)
    return text.upper()


async def on_my_loop(text):
    return id(asyncio.get_running_loop())


def right(output, expected):
    return output == expected


async def test_awaiting():
    await expect("a").to_eval_async("A", answer, right)
    result = await expect("loop").to_eval_async(None, on_my_loop, lambda output: True)
    assert result.output.value == id(asyncio.get_running_loop())


async def test_waiting():
    expect("b").to_eval("B", answer, right)


async def test_failing():
    await expect("c").to_eval_async("c", answer, right)


@pytest.mark.evalmark(suite="marked", repeat=2, threshold=0.5)
async def test_marked(evalmark_case):
    evalmark_case.log(await answer("d"))
    evalmark_case.score("good", 0.75)
    await expect("e").to_eval_async("E", answer, lambda output: 0.6)


def test_sync():
    expect("f").to_eval("F", answer, right)


def test_by_hand():
    asyncio.run(expect("g").to_eval_async("G", answer, right))
"""


@pytest.mark.parametrize(
    ("module", "mark", "ini"),
    [
        pytest.param("pytest_asyncio", "pytestmark = []", "asyncio_mode = auto", id="pytest-asyncio, auto"),
        pytest.param("anyio", "pytestmark = pytest.mark.anyio", "", id="anyio"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [pytest.param((), id="in one process"), pytest.param(("-n", "2"), marks=pytest.mark.sweep, id="in two workers")],
)
def test_async_tests_expect_and_log(suite, module, mark, ini, words):
    pytest.importorskip(module)
    suite.write("pytest.ini", f"[pytest]\n{ini}\n")
    suite.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n")
    suite.write("test_async.py", ASYNC.replace("{mark}", mark))
    ended = suite.run(*words)
    assert ended.counts == {"passed": 6, "failed": 1}
    assert ended.words["test_async.py::test_failing"] == "failed"
    assert "Failed: right" in ended.why["test_failing"]
    found = sorted((r.trial.case.id, r.trial.repeat, str(r.trial.case.input), r.verdict) for r in ended.run().results)
    assert found == [
        ("test_awaiting", 0, "a", "pass"),
        ("test_awaiting (2)", 0, "loop", "pass"),
        ("test_by_hand", 0, "g", "pass"),
        ("test_failing", 0, "c", "fail"),
        ("test_marked", 0, "None", "pass"),
        ("test_marked", 0, "e", "pass"),
        ("test_marked", 1, "None", "pass"),
        ("test_marked", 1, "e", "pass"),
        ("test_sync", 0, "f", "pass"),
        ("test_waiting", 0, "b", "pass"),
    ]
