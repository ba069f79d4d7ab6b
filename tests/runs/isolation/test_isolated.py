"""Targets in worker processes, with the real command and with scripts as users write them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evalmark.runs.engine.work import Work
from evalmark.runs.isolation.engine import open_engine
from evalmark.runs.targets.function import as_target
from evalmark.store import open_store
from evalmark.testing.memory import MemorySink
from evalmark.testing.scripted import ScriptedServer

pytestmark = pytest.mark.slow

TARGETS = """
import asyncio, ctypes, os, signal, sys, threading, time

def bad(text): return text == "c"
def fine(text): return text.upper()
async def fine_async(text):
    await asyncio.sleep(0)
    return text.upper()
def fine_stream(text):
    yield from text.upper()
class Fine:
    def __call__(self, text): return text.upper()
fine_object = Fine()

def leaves(text):
    if bad(text): os._exit(0)
    return text.upper()
async def leaves_async(text):
    if bad(text): os._exit(7)
    return text.upper()
def leaves_stream(text):
    yield text.upper()
    if bad(text): os._exit(0)
class Leaves:
    def __init__(self): self.heard = []
    def __call__(self, text):
        if bad(text): os._exit(0)
        self.heard.append(text)
        return text.upper()
def crashes(text):
    if bad(text): ctypes.string_at(0)
    return text.upper()
def aborts(text):
    if bad(text): os.abort()
    return text.upper()
def is_killed(text):
    if bad(text): os.kill(os.getpid(), signal.SIGKILL)
    return text.upper()
def wants_memory(text):
    if bad(text): raise MemoryError
    return text.upper()
def exits(text):
    if bad(text): sys.exit(0)
    return text.upper()
async def stops_the_loop(text):
    if bad(text): asyncio.get_running_loop().stop()
    return text.upper()
async def cancels(text):
    if bad(text):
        for task in asyncio.all_tasks(): task.cancel()
        await asyncio.sleep(1)
    return text.upper()
def closes_files(text):
    if bad(text): os.closerange(0, 256)
    return text.upper()
def hangs(text):
    if bad(text): time.sleep(3600)
    return text.upper()
def hangs_hard(text):
    if bad(text):
        while True:
            try: time.sleep(3600)
            except BaseException: pass
    return text.upper()
def no_data(text):
    return (character for character in text) if False else (threading.Lock() if bad(text) else text.upper())
def forks(text):
    if bad(text):
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        os._exit(9)
    return text.upper()

def pid(text):
    with open("asked.txt", "a") as asked: asked.write(f"{os.getpid()}\\n")
    time.sleep(0.05)
    return text.upper()
def pid_and_hangs(text):
    pid(text)
    time.sleep(3600)
def prints(text):
    print(f"printed {text}")
    return text.upper()
def shallow(text):
    sys.setrecursionlimit(60)
    return text.upper()
def sleeps(text):
    time.sleep(0.1)
    return text.upper()
"""
LETTERS = "abcdef"


@pytest.fixture
def suite(world):
    (world / "targets.py").write_text(TARGETS, encoding="utf-8")
    rows = [json.dumps({"id": n, "input": n, "expected": n.upper()}) for n in LETTERS]
    (world / "cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    found = {"datasets": ["cases.jsonl"], "target": "targets:fine", "metrics": ["equals"]}
    (world / "suite.json").write_text(json.dumps(found), encoding="utf-8")
    return "suite.json"


def evalmark(*words, **more):
    command = [sys.executable, "-m", "evalmark", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **more)


def outcome(world):
    """Of each case, its verdict and its error."""
    found = json.loads((world / "out.json").read_text(encoding="utf-8"))
    return {r["case"]["id"]: (r["verdict"], r["output"]["error"] or "") for r in found["results"]}, found


@pytest.mark.parametrize("target", ["fine", "fine_async", "fine_stream", "fine_object", "Fine"])
def test_what_works_in_one_process_works_in_workers(suite, world, target):
    done = evalmark("run", suite, "--target", f"targets:{target}", "--isolate", "-j", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 passed" in done.stdout


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("leaves", "its worker process exited with status 0"),
        ("leaves_async", "its worker process exited with status 7"),
        ("leaves_stream", "its worker process exited with status 0"),
        ("Leaves", "its worker process exited with status 0"),
        ("crashes", "its worker process was ended by SIGSEGV"),
        ("aborts", "its worker process was ended by SIGABRT"),
        ("is_killed", "its worker process was ended by SIGKILL"),
        ("wants_memory", "MemoryError"),
        ("exits", "SystemExit: 0"),
        ("stops_the_loop", "the target stopped the event loop of its worker process, or cancelled its tasks"),
        ("cancels", "the target stopped the event loop of its worker process, or cancelled its tasks"),
        ("closes_files", "its worker process lost the files that it needs"),
        ("hangs", "no answer within 3 s"),
        ("hangs_hard", "no answer within 3 s"),
        ("no_data", "cannot be pickled"),
        ("forks", "its worker process exited with status 9"),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_crash_is_the_error_of_its_case_and_the_others_finish(suite, world, target, says, jobs):
    words = ["--isolate", "-j", jobs, "--timeout", "3", "-o", "out.json"]
    done = evalmark("run", suite, "--target", f"targets:{target}", *words)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    cases, found = outcome(world)
    assert found["run"]["status"] == "complete"
    verdict, error = cases.pop("c")
    assert verdict == "error"
    assert says in error
    assert set(cases.values()) == {("pass", "")}
    assert len(cases) == 5


def test_a_case_that_crashed_is_asked_again_where_errors_are_to_be_retried(suite, world):
    assert evalmark("run", suite, "--target", "targets:leaves", "--isolate").returncode == 3
    same = evalmark("run", suite, "--target", "targets:leaves", "--isolate", "--retry-errors", "-o", "out.json")
    assert same.returncode == 3
    assert outcome(world)[0]["c"][0] == "error"


def test_a_worker_that_loads_slowly_takes_no_time_from_its_case(suite, world):
    (world / "slow_to_load.py").write_text(
        "import time\ntime.sleep(1.5)\ndef answer(text): return text.upper()\n", encoding="utf-8"
    )
    done = evalmark("run", suite, "--target", "slow_to_load:answer", "--isolate", "-j", "2", "--timeout", "1")
    assert done.returncode == 0, done.stdout


def test_seconds_are_those_of_the_target(suite, world):
    evalmark("run", suite, "--target", "targets:sleeps", "--isolate", "-j", "3", "-o", "out.json")
    _, found = outcome(world)
    assert all(0.1 <= result["output"]["seconds"] < 1 for result in found["results"])


def test_a_setting_of_the_project_or_the_environment_isolates_too(suite, world):
    env = {**os.environ, "EVALMARK_ISOLATE": "1"}
    assert evalmark("run", suite, "--target", "targets:leaves", "-o", "out.json", env=env).returncode == 3
    assert outcome(world)[0]["c"][0] == "error"
    (world / "pyproject.toml").write_text("[tool.evalmark]\nisolate = true\n", encoding="utf-8")
    assert evalmark("run", suite, "--target", "targets:leaves", "-o", "out.json").returncode == 3
    assert outcome(world)[1]["run"]["status"] == "complete"
    off = evalmark("run", suite, "--target", "targets:leaves", "--no-isolate", "-o", "out.json")
    assert "did not finish" in off.stderr


def test_workers_of_this_machine_and_a_cluster_are_not_mixed(suite):
    done = evalmark("run", suite, "--isolate", "--on", "ray")
    assert (done.returncode, done.stderr) == (
        2,
        "--isolate starts workers on this machine, and --on ray elsewhere; use one of them.\n",
    )


def test_what_targets_print_is_there_and_before_the_table(suite):
    done = evalmark("run", suite, "--target", "targets:prints", "--isolate", "-j", "2")
    assert sorted(line for line in done.stdout.splitlines() if line.startswith("printed")) == [
        f"printed {n}" for n in LETTERS
    ]


def test_a_recursion_limit_hurts_nobody_but_its_worker(suite):
    done = evalmark("run", suite, "--target", "targets:shallow", "--isolate", "-j", "1")
    assert done.returncode in (0, 3)
    assert "Traceback" not in done.stdout + done.stderr


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def workers_of(world):
    return {int(line) for line in (world / "asked.txt").read_text(encoding="utf-8").split()}


def test_there_are_as_many_workers_as_jobs_and_none_is_left(suite, world):
    done = evalmark("run", suite, "--target", "targets:pid", "--isolate", "-j", "2")
    assert done.returncode == 0
    assert 1 <= len(workers_of(world)) <= 2
    assert all(map(has_ended, workers_of(world)))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_workers_end_with_a_run_that_is_killed_or_interrupted(suite, world, name):
    command = [
        sys.executable,
        "-m",
        "evalmark",
        "run",
        suite,
        "--target",
        "targets:pid_and_hangs",
        "--isolate",
        "-j",
        "2",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        give_up = time.monotonic() + 60
        while not (world / "asked.txt").exists() or len(workers_of(world)) < 2:
            assert time.monotonic() < give_up
            time.sleep(0.05)
        running.send_signal(getattr(signal, name))
        if name == "SIGINT":
            time.sleep(1)
            running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == (130 if name == "SIGINT" else -signal.SIGKILL)
    give_up = time.monotonic() + 30
    while not all(map(has_ended, workers_of(world))):
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_a_run_that_broke_off_goes_on_in_workers(suite, world):
    assert evalmark("run", suite, "--target", "targets:leaves", "-j", "1").returncode == 3
    done = evalmark("run", suite, "--target", "targets:leaves", "--isolate", "--resume", "-o", "out.json")
    assert done.returncode == 3
    cases, _ = outcome(world)
    assert [verdict for verdict, _ in cases.values()].count("pass") == 5


MODEL = """
import os
from evalmark import chat_model
from evalmark.tools import replayed
from evalmark.core.values.call import Request
from evalmark import Turn

@replayed
def look_up(word):
    with open("called.txt", "a") as called: called.write(word)
    return word.upper()

async def answer(text):
    found = look_up(text)
    async with chat_model("openai/any") as model:
        reply = await model(Request(messages=(Turn(role="user", content=found),)))
    if text == "c" and os.environ.get("CRASH"): os._exit(0)
    return reply.text

def blocking(text):
    import asyncio
    return asyncio.run(answer(text))

async def careless(text):
    try:
        return await answer(text)
    except Exception as error:
        return f"never mind: {error}"
"""


@pytest.fixture
def model(suite, world, monkeypatch):
    (world / "asks.py").write_text(MODEL, encoding="utf-8")
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(lambda said: said.text) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


@pytest.mark.parametrize("target", ["answer", "blocking"])
def test_models_and_tools_of_a_target_are_recorded_replayed_and_counted(model, world, target):
    words = ["run", "suite.json", "--target", f"asks:{target}", "--isolate", "-j", "2", "-o", "out.json"]
    first = evalmark(*words)
    assert first.returncode == 0, first.stdout + first.stderr
    _, found = outcome(world)
    assert [(spent["model"], spent["calls"]) for spent in found["run"]["spending"]] == [("openai/any", 6)]
    assert all(len(result["output"]["metadata"]["calls"]) == 2 for result in found["results"])
    again = evalmark(*words, "--replay", "strict")
    assert again.returncode == 0, again.stdout + again.stderr
    assert model.count == 6
    assert sorted((world / "called.txt").read_text(encoding="utf-8")) == sorted(LETTERS)
    same = evalmark(*words[:4], "--no-isolate", "--replay", "strict")  # what workers record, one process finds
    assert same.returncode == 0, same.stdout + same.stderr


@pytest.mark.parametrize("target", ["answer", "careless"])
def test_a_budget_holds_for_all_workers(model, world, target):
    done = evalmark("run", "suite.json", "--target", f"asks:{target}", "--isolate", "-j", "2", "--max-calls", "3")
    assert done.returncode == 3
    assert "--max-calls" in done.stdout + done.stderr
    assert model.count == 3
    done = evalmark("run", "suite.json", "--target", f"asks:{target}", "--isolate", "--resume", "-o", "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert model.count == 6


def test_a_call_of_a_case_that_crashed_is_kept(model, world, monkeypatch):
    monkeypatch.setenv("CRASH", "1")
    words = ["run", "suite.json", "--target", "asks:answer", "--isolate", "-o", "out.json"]
    assert evalmark(*words).returncode == 3
    assert outcome(world)[0]["c"] == ("error", "WorkerDiedError: its worker process exited with status 0")
    monkeypatch.delenv("CRASH")
    assert evalmark("run", "suite.json", "--target", "asks:answer", "--isolate", "--retry-errors").returncode == 0
    assert model.count == 6


def test_a_file_beside_the_suite_takes_no_librarys_place_in_a_worker(suite, world):
    for name in ("jinja2", "numpy", "random", "evalmark_beside"):
        (world / f"{name}.py").write_text(f'open("loaded-{name}.txt", "w").close()\nvalue = 1\n', encoding="utf-8")
    (world / "beside.py").write_text(
        "import evalmark_beside, random\ndef answer(text): return random.choice([text.upper()])\n", encoding="utf-8"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [Path(sys.executable).parent / "evalmark", "run", suite, "--target", "beside:answer", "--isolate"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in world.glob("loaded-*")] == ["loaded-evalmark_beside.txt"]


def test_what_a_target_raises_is_shown_with_its_line(suite, world):
    (world / "raises.py").write_text("def answer(text):\n    return missing\n", encoding="utf-8")
    one = evalmark("run", suite, "--target", "raises:answer", "-o", "out.json")
    here = outcome(world)[1]["results"][0]["output"]
    two = evalmark("run", suite, "--target", "raises:answer", "--isolate", "-o", "out.json")
    there = outcome(world)[1]["results"][0]["output"]
    assert (one.returncode, two.returncode) == (3, 3)
    for output in (here, there):
        del output["seconds"]
        output.pop("waited", None)
    assert here == there


def script(world, text):
    (world / "script.py").write_text(text, encoding="utf-8")
    return subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=120, check=False)


GUARDED = """
import os
from evalmark import evaluate

def task(text):
    if text == "b": os._exit(0)
    return text.upper()

if __name__ == "__main__":
    run = evaluate(["a", "b", "c"], task, [lambda output: True], isolate=True, store=None, jobs=2)
    print([(r.trial.case.input, r.output.value, r.output.error) for r in run.results])
"""


def test_a_task_of_a_script(world):
    done = script(world, GUARDED)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "[('a', 'A', None), ('b', None, 'WorkerDiedError: its worker process exited with status 0'), ('c', 'C', None)]\n"
    )


def test_a_script_without_a_guard_is_told_so(world):
    done = script(world, GUARDED.replace('if __name__ == "__main__":', "if True:"))
    assert done.returncode == 1
    assert "ConfigError: --isolate: a worker process cannot load the target: it exited with status 1" in done.stderr
    assert 'put calls of evaluate() under `if __name__ == "__main__":`' in done.stderr


def test_what_cannot_be_sent_is_one_sentence(world):
    done = script(world, GUARDED.replace("task, [", "lambda text: text, ["))
    assert done.returncode == 1
    said = done.stderr.strip().splitlines()[-1]
    assert "ConfigError: --isolate: the target '__main__:<lambda>' cannot be sent to a worker process" in said
    assert said.endswith("Define it at the top of a module, or name it as 'module:attribute'.")


def test_a_function_that_no_worker_can_find_is_one_sentence(world):
    lines = "from evalmark import evaluate\ndef task(text): return text\nevaluate(['a'], task, [lambda output: True], isolate=True, store=None)"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    said = done.stderr.strip().splitlines()[-1]
    assert "ConfigError: --isolate: a worker process cannot load the target: " in said
    assert "attribute 'task'" in said
    assert said.endswith("define it at the top of a module, or name it as 'module:attribute'.")


def test_a_worker_that_ends_between_cases_is_noted():
    async def noted():
        async with open_engine([as_target("textwrap:dedent")], "auto") as engine:
            (worker,) = engine.workers._idle
            os.kill(worker._process.pid, signal.SIGTERM)  # which it leaves to the run
            os.kill(worker._process.pid, signal.SIGKILL)
            while worker.is_usable:  # noqa: ASYNC110  nothing here waits for it
                await asyncio.sleep(0.01)
            return (await engine(Work(trials=[], targets={}, scorers=(), sink=MemorySink()))).notes

    (note,) = asyncio.run(noted())
    assert note.startswith("Worker processes ended between cases, 1 time: was ended by SIGKILL")


CONVERSATION = """
import asyncio, os
from evalmark.runs.engine.work import Conversation, Limits, Work
from evalmark.runs.isolation.engine import open_engine
from evalmark.runs.targets.function import as_target
from evalmark.testing.memory import MemorySink
from evalmark import Case
from evalmark.core.values.score import Trial

class Tutor:
    def __init__(self): self.heard = []
    def __call__(self, text):
        if text == "c": os._exit(0)
        self.heard.append(text)
        return " ".join(self.heard)

async def main():
    target, sink = as_target(Tutor), MemorySink()
    trials = [Trial(case=Case(id=text, input=text), position=n, dataset=d) for d in "12" for n, text in enumerate("abcde")]
    talks = [Conversation(target="", turns=trials[:5]), Conversation(target="", turns=trials[5:])]
    async with open_engine([target], "auto") as engine:
        await engine(Work(trials=talks, targets={"": target}, scorers=(), sink=sink), Limits(jobs=2))
    for result in sorted(sink.results, key=lambda r: (r.trial.dataset, r.trial.position)):
        print(result.output.value or result.output.error)

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_a_conversation_goes_on_in_a_new_worker_that_heard_the_turns_before(world):
    done = script(world, CONVERSATION)
    assert done.stdout.splitlines() == [
        "a", "a b", "WorkerDiedError: its worker process exited with status 0", "a b d", "a b d e",
    ] * 2, done.stderr  # fmt: skip


def test_what_an_evaluation_kept_is_in_the_store(world):
    done = script(world, GUARDED.replace("store=None", 'store="kept.db"'))
    assert done.returncode == 0, done.stderr
    with open_store(world / "kept.db", read_only=True) as store:
        assert [result.verdict for result in store.run("last").results] == ["pass", "error", "pass"]
