"""Prompts and models under test from the command line, against a server that speaks the real protocol."""

from collections import Counter
from pathlib import Path

import pytest

from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedServer, Status

PROMPT = """---
name: Reply
inputs:
  question: {type: string}
  tone: {type: string, default: kind}
---
system:
You answer customers. Be {{tone}}.
user:
{{question}}
"""
CASES = """
- {id: order, input: {question: Where is my order?}}
- {id: refund, input: {question: A refund, tone: short}}
- {id: plain, input: Hello}
"""
SUITE = """
datasets: cases.yaml
target: {prompt: reply.prompty, models: [openai/a, openai/b]}
metrics: [{contains: {any: [from a, from c]}}]
"""


@pytest.fixture
def server(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, text in (("reply.prompty", PROMPT), ("cases.yaml", CASES), ("suite.yaml", SUITE)):
        Path(name).write_text(text, encoding="utf-8")
    with ScriptedServer(lambda said: f"from {said.model}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        yield server


def last():
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        run = store.run("last")
        return run, [(r.trial.target, r.trial.case.id, r.trial.repeat, r.verdict) for r in run.results]


def test_every_case_is_asked_of_every_model_once_for_each_repeat(evalmark, server):
    assert evalmark("run", "suite.yaml", "--repeat", "2").code == 1
    run, found = last()
    assert (run.target, len(found), len(set(found))) == ("openai/a, openai/b", 12, 12)
    assert Counter((target, verdict) for target, _, _, verdict in found) == {
        ("openai/a", "pass"): 6,
        ("openai/b", "fail"): 6,
    }
    assert Counter(said.model for said in server.requests) == {"a": 6, "b": 6}
    assert server.problems == []


def test_the_words_of_a_prompt_reach_the_model_with_the_values_of_the_case(evalmark, server):
    evalmark("run", "suite.yaml", "--model", "openai/c")
    bodies = [[text for _, text in said.messages] for said in server.requests]
    assert sorted(bodies) == sorted(
        [
            ["You answer customers. Be kind.", "Where is my order?"],
            ["You answer customers. Be short.", "A refund"],
            ["You answer customers. Be kind.", "Hello"],
        ]
    )
    assert {target for target, *_ in last()[1]} == {"openai/c"}


def test_a_second_run_asks_nothing_and_a_plan_says_so(evalmark, server):
    evalmark("run", "suite.yaml")
    sent = server.count
    text = evalmark("plan", "suite.yaml").out
    assert "total         6       6        0" in text
    evalmark("run", "suite.yaml")
    assert server.count == sent == 6


def test_a_model_that_fails_leaves_the_others_alone(evalmark, server):
    server.answer = lambda said: Status(400) if said.model == "a" else "from c"
    assert evalmark("run", "suite.yaml").code == 3
    assert Counter((target, verdict) for target, _, _, verdict in last()[1]) == {
        ("openai/a", "error"): 3,
        ("openai/b", "pass"): 3,
    }
    text = evalmark("show", "last", "--failed").out
    assert "order (openai/a)" in text


def test_what_a_prompt_misses_is_said_before_any_call(evalmark, server):
    Path("cases.yaml").write_text("- {id: a, input: {tone: kind}}\n- {id: b, input: {question: x, mood: y}}\n")
    found = evalmark("run", "suite.yaml")
    assert (found.code, server.count) == (2, 0)
    said = found.err
    assert "cases.yaml:1: " in said
    assert "'question'" in said
    assert "cases.yaml:2: " in said
    assert "mood" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(("--model", "nobody"), "nobody", id="a model that is none"),
        pytest.param(("--model", "openai/a", "--target", "bot:answer"), "this target is code", id="code as the target"),
    ],
)
def test_a_wrong_model_is_one_sentence(evalmark, server, words, said):
    found = evalmark("run", "suite.yaml", *words)
    assert (found.code, server.count) == (2, 0)
    assert said in found.err
