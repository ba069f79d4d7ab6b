"""Sync targets run in threads that can be left behind: a call that hangs costs its case, never the process."""

import asyncio
import contextlib
import contextvars
import itertools
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import pytest

from evalmark import Case
from evalmark.core.foreign.threads import DaemonThreads, task_error
from evalmark.runs.engine.trial import call_target
from evalmark.runs.targets.function import as_target

CASE = Case(id="1", input="x")


async def cancelled(threads: DaemonThreads, call: Callable[[], Any]) -> None:
    """Start a call and give up on it once it runs."""
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(is_wanted: Callable[[], bool]) -> Any:
        loop.call_soon_threadsafe(started.set)
        return call()

    task = asyncio.create_task(threads.run(work))
    await started.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


def test_calls_run_beside_the_loop_and_beside_each_other():
    meeting = threading.Barrier(8, timeout=30)

    async def main() -> list[Any]:
        threads = DaemonThreads()
        return await asyncio.gather(*(threads.run(lambda _: meeting.wait() >= 0) for _ in range(8)))

    assert asyncio.run(main()) == [True] * 8


def test_a_thread_is_used_again():
    async def main() -> set[Any]:
        threads = DaemonThreads()
        return {await threads.run(lambda _: threading.get_ident()) for _ in range(50)}

    assert len(asyncio.run(main())) == 1


def test_as_many_threads_as_calls_at_a_time():
    async def main() -> set[int]:
        threads = DaemonThreads()
        seen: set[int] = set()

        async def hand() -> None:
            for _ in range(50):
                seen.add(await threads.run(lambda _: threading.get_ident()))

        await asyncio.gather(*(hand() for _ in range(4)))
        return seen

    assert len(asyncio.run(main())) <= 4


def test_a_thread_without_work_ends():
    async def main() -> threading.Thread:
        thread: threading.Thread = await DaemonThreads(idle=0.01).run(lambda _: threading.current_thread())
        return thread

    thread = asyncio.run(main())
    thread.join(30)
    assert not thread.is_alive()


def test_calls_are_answered_while_threads_come_and_go():
    async def main() -> int:
        threads = DaemonThreads(idle=0.001)
        total = 0

        async def hand(number: int) -> None:
            nonlocal total
            for step in range(60):
                one = await threads.run(lambda _: 1)
                total += one
                await asyncio.sleep(0.0005 * ((number + step) % 5))

        await asyncio.gather(*(hand(number) for number in range(6)))
        return total

    assert asyncio.run(main()) == 360


def test_context_variables_are_seen_and_not_changed():
    language = contextvars.ContextVar("language", default="none")

    def work(is_wanted: Callable[[], bool]) -> str:
        found = language.get()
        language.set("changed")
        return found

    async def main() -> tuple[str, str]:
        language.set("en")
        return await DaemonThreads().run(work), language.get()

    assert asyncio.run(main()) == ("en", "en")


def test_a_call_that_is_given_up_on_is_forgotten_once_it_comes_back():
    async def main() -> None:
        gate = threading.Event()
        threads = DaemonThreads(most_hanging=2)
        for _ in range(2):
            await cancelled(threads, gate.wait)
        with pytest.raises(RuntimeError, match="not called, because 2 earlier calls still hang"):
            await threads.run(lambda _: 1)
        gate.set()
        async with asyncio.timeout(30):
            while True:
                with contextlib.suppress(RuntimeError):
                    assert await threads.run(lambda _: 1) == 1
                    return
                await asyncio.sleep(0.001)

    asyncio.run(main())


def test_a_late_answer_after_the_loop_has_gone_is_dropped_in_silence():
    gate, running = threading.Event(), threading.Event()
    seen: list[threading.Thread] = []

    def work() -> None:
        seen.append(threading.current_thread())
        running.set()
        gate.wait()

    asyncio.run(cancelled(DaemonThreads(idle=0.01), work))
    assert running.wait(30)
    gate.set()
    seen[0].join(30)
    assert not seen[0].is_alive()


def test_one_hanging_case_does_not_keep_the_others():
    gate = threading.Event()

    def sometimes(text: str) -> str:
        if text == "hang":
            gate.wait()
        return text

    async def main() -> list[Any]:
        target = as_target(sometimes)
        cases = [Case(id=str(n), input="hang" if n == 2 else f"{n}") for n in range(6)]
        return await asyncio.gather(*(call_target(target, case, 0.5) for case in cases))

    outputs = asyncio.run(main())
    gate.set()
    assert [output.value for output in outputs] == ["0", "1", None, "3", "4", "5"]
    assert outputs[2].error == "no answer within 0.5 s"


def test_a_stream_without_end_is_left_behind_and_ends():
    ended = threading.Event()

    def endless(text: str) -> Any:
        try:
            yield from itertools.repeat(text)
        finally:
            ended.set()

    output = asyncio.run(call_target(as_target(endless), CASE, 0.2))
    assert output.error == "no answer within 0.2 s"
    assert ended.wait(30)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        pytest.param(KeyboardInterrupt(), "the function raised KeyboardInterrupt", id="without a text"),
        pytest.param(GeneratorExit("bye"), "the function raised GeneratorExit: bye", id="with a text"),
    ],
)
def test_an_error_that_no_task_can_carry_is_named_by_one_that_it_can(error, text):
    found = task_error(error)
    assert isinstance(found, RuntimeError)
    assert str(found) == text
    assert found.__cause__ is error


def test_an_error_whose_text_cannot_be_made_is_carried_too():
    class Broken(BaseException):
        def __str__(self) -> str:
            raise ValueError

    assert "Broken" in str(task_error(Broken()))


HANGING = {
    "an endless loop": "while True: pass",
    "an endless sleep": "time.sleep(1e6)",
    "a lock that nobody opens": "threading.Lock().acquire() and threading.Event().wait()",
    "a stream without end": "yield from itertools.repeat('x')",
    "an endless chain of errors that are caught": """\
        while True:
            try:
                time.sleep(0.001); raise ValueError
            except BaseException:
                pass""",
}


@pytest.mark.parametrize("body", HANGING.values(), ids=HANGING.keys())
def test_the_process_ends_although_a_target_hangs(body, tmp_path):
    script = tmp_path / "main.py"
    script.write_text(
        "import asyncio, itertools, threading, time\n"
        "from evalmark.runs.engine.trial import call_target\n"
        "from evalmark.runs.targets.function import as_target\n"
        "from evalmark import Case\n"
        f"def hang(text):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
        "output = asyncio.run(call_target(as_target(hang), Case(id='1', input='x'), 0.2))\n"
        "print(output.error)\n"
    )
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "no answer within 0.2 s\n", "")


def test_the_process_keeps_its_exit_code_although_many_targets_hang(tmp_path):
    script = tmp_path / "main.py"
    script.write_text(
        "import asyncio, sys, time\n"
        "from evalmark.runs.engine.trial import call_target\n"
        "from evalmark.runs.targets.function import as_target\n"
        "from evalmark import Case\n"
        "async def main():\n"
        "    target = as_target(lambda text: time.sleep(1e6))\n"
        "    cases = [Case(id=str(n), input='x') for n in range(40)]\n"
        "    for start in (0, 20, 32):\n"
        "        found = await asyncio.gather(*(call_target(target, c, 0.2) for c in cases[start:start + 20]))\n"
        "    return {output.error for output in found}\n"
        "print(*asyncio.run(main()))\n"
        "sys.exit(3)\n"
    )
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 3
    assert ended.stdout == "RuntimeError: not called, because 40 earlier calls still hang\n"
    assert ended.stderr == ""


def test_sys_exit_in_a_target_costs_its_case(tmp_path):
    output = asyncio.run(call_target(as_target(lambda text: sys.exit("bye")), CASE))
    assert output.error == "SystemExit: bye"
