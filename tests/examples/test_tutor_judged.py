"""The tests of examples/tutor from end to end, with a judge that answers from a script."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalmark.testing.scripted import ScriptedRequest, ScriptedServer
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "examples" / "tutor"
KINDS = {"Correctness": {"score": 4}, "No solution given away": {"pass": True}, "Clarity": {"score": 80}}


def judge(said: ScriptedRequest) -> dict[str, Any]:
    """A 4 of 5 for everything; what the judge was asked about stands in the request."""
    metric = re.search(r"^Metric: (.+)$", said.text, re.MULTILINE)
    assert metric is not None
    return {"reason": f"about {metric[1]}", **KINDS.get(metric[1], {"score": 4})}


def run(server: ScriptedServer, *words: str) -> tuple[int, dict[str, Any], str]:
    """The exit code of a command, its report, and what it complained of."""
    keys = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
    given = ("--target", "my_bot:Tutor", "--judge", "openai/any-model", "-q", "-o", "out.json")
    command = [sys.executable, "-m", "evalmark", *words, *given]
    done = subprocess.run(command, env={**os.environ, **keys}, capture_output=True, text=True, check=False)
    out = Path("out.json")
    return done.returncode, json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}, done.stderr


def scores(report: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [score for result in report["results"] for score in result["scores"] if score["name"] == name]


@pytest.mark.parametrize("words", [["run"], []], ids=["with the verb", "without it, as the original was called"])
def test_a_test_is_run_as_it_stands(world, words):
    with ScriptedServer(judge) as server:
        code, report, said = run(server, *words, str(FOLDER / "test.json"))
    assert code == 0, said
    assert server.problems == []
    assert server.count == 30
    assert [dataset["name"] for dataset in report["run"]["datasets"]] == ["Questions of a first course"]
    found = {name: [(s["raw"], s["value"], s["passed"]) for s in scores(report, name)] for name in KINDS}
    assert found == {
        "Correctness": [(4, 0.75, None)] * 10,
        "No solution given away": [(True, 1.0, True)] * 10,
        "Clarity": [(80.0, 0.8, None)] * 10,
    }
    assert scores(report, "Clarity")[0]["reason"] == "about Clarity"


def test_the_judge_is_told_the_whole_metric_the_answer_and_the_example(world):
    with ScriptedServer(judge) as server:
        run(server, str(FOLDER / "test.json"), "--limit", "1")
        (asked,) = [request.text for request in server.requests if "Metric: Correctness" in request.text]
    metric = json.loads((FOLDER / "metrics/correctness.json").read_text(encoding="utf-8"))
    for part in (
        metric["metric_description"],
        metric["score"]["description"],
        "from 1 to 5",
        "What is a pointer?",
        "Shall I show you an example?",
        "A pointer is a variable that holds the address of another variable. With it you can",
    ):
        assert part in asked


def test_a_conversation_is_judged_turn_by_turn_with_its_history(world):
    with ScriptedServer(judge) as server:
        code, report, said = run(server, str(FOLDER / "conversation-test.json"))
        found = [request.text for request in server.requests if "Metric: Coherence" in request.text]
    asked = sorted(
        found, key=len
    )  # turns are judged side by side; each one's history is longer than that of the turn before
    assert code == 0, said
    assert [score["raw"] for score in scores(report, "Coherence")] == [4] * 5
    assert len(scores(report, "No solution given away")) == 5
    assert "We spoke about pointers." in asked[1]
    assert "Hi! What is a pointer?" in asked[4]
    assert "We spoke about recursion." in asked[4]
    alone = [r for r in report["results"] if r["mode"] == "single"]
    assert alone[1]["output"]["value"].startswith("I am not sure"), "a metric without history meets a new bot each row"


def test_scores_out_of_range_leave_the_verdict_open(world):
    with ScriptedServer(lambda said: {"reason": "?", "score": 7, "pass": True}) as server:
        code, report, _ = run(server, str(FOLDER / "test.json"), "--limit", "2")
    assert code == 3
    assert {score["status"] for score in scores(report, "Correctness")} == {"unscored"}
    assert [score["value"] for score in scores(report, "Correctness")] == [None, None]


def test_a_solution_given_away_fails_the_test(world):
    with ScriptedServer(
        lambda said: {"reason": "!", "pass": False} if "finished solution" in said.text else None
    ) as server:
        code, report, _ = run(server, str(FOLDER / "conversation-test.json"), "--limit", "1")
    assert code == 1
    assert [score["passed"] for score in scores(report, "No solution given away")] == [False]


def test_a_metric_that_needs_example_outputs_is_refused_where_there_are_none(world):
    (world / "my_bot.py").write_text((FOLDER / "my_bot.py").read_text(encoding="utf-8"), encoding="utf-8")
    copied = world / "copied"
    copied.mkdir()
    (copied / "conversation.json").write_text((FOLDER / "data/conversation.json").read_text(encoding="utf-8"))
    (copied / "correctness.json").write_text((FOLDER / "metrics/correctness.json").read_text(encoding="utf-8"))
    names = {"datasets": ["copied/conversation.json"], "metrics": ["copied/correctness.json"]}
    (world / "test.json").write_text(json.dumps(names))
    with ScriptedServer(judge) as server:
        code, _, said = run(server, "test.json")
        assert server.count == 0
    assert code == 2
    assert "copied/conversation.json: the metric 'Correctness' needs example outputs" in said


def test_asked_again_the_judge_is_not_paid_again(world):
    with ScriptedServer(judge) as server:
        run(server, str(FOLDER / "test.json"), "--limit", "2")
        first = server.count
        code, report, _ = run(server, str(FOLDER / "test.json"), "--limit", "2")
        assert server.count == first == 6
    assert code == 0
    assert [spent["replayed"] for spent in report["run"]["spending"]] == [6]
