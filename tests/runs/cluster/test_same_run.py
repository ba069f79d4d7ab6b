"""The same run, whoever does the work: this process, or workers of Ray."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.cli import main
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_json import as_jsonl
from evalmark.store import open_store

APP = """
import asyncio
from evalmark import chat_model
from evalmark.tools import replayed

def answer(input):
    return input.upper()

async def slowly(input):
    await asyncio.sleep(0.001)
    return input.upper()

def fails(input):
    if input.endswith("3"):
        raise ValueError(f"no answer to {input}")
    return input.upper()

async def late(input):
    await asyncio.sleep(0 if input.endswith("1") else 5)
    return input

async def asks(input):
    async with chat_model("openai/small") as model:
        return (await model(request(input))).text

def request(text):
    from evalmark.core.values.call import Request
    from evalmark import Turn
    return Request(messages=(Turn(role="user", content=text),))

class Chat:
    def __init__(self):
        self.heard = []
    def __call__(self, text):
        self.heard.append(text)
        return " ".join(self.heard)

@replayed
def weather(city):
    with open("called.txt", "a") as called:
        called.write(city + "\\n")
    return {"city": city, "sun": len(city) % 2 == 0}

def held(input):
    import threading
    from evalmark import Output, ToolCall
    lock = threading.Lock()  # which no message can hold
    return Output(value={"text": input.upper()}, metadata={"n": {1, 2}, "kind": type(lock)}, tool_calls=(ToolCall(name="t", result=range(2)),))

class Held:
    def __init__(self, text):
        import threading
        self.text, self._lock = text, threading.Lock()
    def __str__(self):
        return self.text

def objects(input):
    return Held(input.upper())

def agent(input):
    return str(weather(input.split()[-1]))

def first(output, expected):
    return output[:1] == str(expected)[:1]

async def longer(input, output):
    return len(output) - len(input)
"""
SCALE = {
    "config": {"needs_history": False, "needs_example_output": False},
    "metric_description": "Is it clear?",
    "score": {"type": "scale", "min": 1, "max": 5, "description": "5 is clearest"},
}
CLEAR = {"name": "clear", **SCALE}
FLOW = {"name": "flow", **SCALE, "config": {"needs_history": True, "needs_example_output": False}}
ROWS = [{"id": f"c{n}", "input": f"question {n}", "expected": f"QUESTION {n}" if n % 4 else "else"} for n in range(24)]
WORKS = [
    pytest.param({"target": "app:answer"}, [], id="a function in threads"),
    pytest.param({"target": "app:slowly", "repeat": 3}, [], id="an async function, three times"),
    pytest.param(
        {"target": "app:fails", "metrics": ["equals", "app:first", "app:longer"]}, [], id="failing answers, own scorers"
    ),
    pytest.param({"target": "app:late", "timeout": 0.5}, [], id="answers that come too late"),
    pytest.param({"target": {"models": ["openai/small", "openai/large"]}}, [], id="two models"),
    pytest.param({"target": "app:answer", "metrics": ["clear.json"]}, ["--judge", "openai/judge"], id="a judge"),
    pytest.param({"target": "app:asks"}, [], id="a function that asks a model of the run"),
    pytest.param({"target": "app:Chat", "metrics": ["flow.json"]}, ["--judge", "openai/judge"], id="a conversation"),
    pytest.param({"target": "app:agent"}, [], id="recorded tools"),
    pytest.param({"target": "app:held"}, [], id="answers with types and sets in them"),
    pytest.param({"target": "app:objects"}, [], id="answers that are objects with a lock"),
    pytest.param({"target": "app:answer", "metrics": ["equals", "similarity"]}, [], id="embeddings"),
    pytest.param(
        {"target": {"models": ["openai/small"]}, "datasets": ["twice.jsonl"]}, [], id="the same request in many cases"
    ),
]


@pytest.fixture
def files(cluster, models, monkeypatch):
    """What a user has in the working directory, and a server for models."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("app.py").write_text(APP, encoding="utf-8")
    rows = [json.dumps(row) for row in ROWS]
    Path("cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    Path("twice.jsonl").write_text(
        "\n".join(json.dumps({"id": f"c{n}", "input": f"question {n % 3}", "expected": "?"}) for n in range(24)),
        encoding="utf-8",
    )
    for metric in (CLEAR, FLOW):
        Path(f"{metric['name']}.json").write_text(json.dumps(metric), encoding="utf-8")
    yield models
    sys.modules.pop("app", None)


def run(*words) -> int:
    with pytest.raises(SystemExit) as left:
        main(["run", *words])
    return left.value.code or 0


def found(store: str) -> tuple[str, dict]:
    """The results of the last run without times, and all else that it says; a busy machine is no news."""
    with open_store(store) as opened:
        run = opened.run("last")
        run = replace(run, notes=tuple(note for note in run.notes if "kept the event loop" not in note))
        results = "".join(as_jsonl(run, options=ReportOptions(times=False)))
    rest = replace(run, results=(), id="", created="", finished="")
    return results.replace(run.id, "RUN"), {name: getattr(rest, name) for name in rest.__dataclass_fields__}


@pytest.mark.parametrize("direct", [pytest.param(16, id="direct"), pytest.param(0, id="behind a relay")])
@pytest.mark.parametrize(("suite", "words"), WORKS)
def test_the_same_run_here_and_on_ray(files, suite, words, direct, capsys, monkeypatch):
    monkeypatch.setattr("evalmark.runs.cluster.ray_workers.MAX_DIRECT_WORKERS", direct)
    whole = {"datasets": ["cases.jsonl"], "metrics": ["equals"], **suite}
    Path("suite.json").write_text(json.dumps(whole), encoding="utf-8")
    before = files.count
    here = run("suite.json", "--store", "here.db", "-j", "6", *words)
    asked = files.count - before
    there = run("suite.json", "--store", "there.db", "-j", "6", "--on", "ray:auto", *words)
    assert there == here, capsys.readouterr()
    assert found("there.db") == found("here.db")
    assert files.count == before + 2 * asked
