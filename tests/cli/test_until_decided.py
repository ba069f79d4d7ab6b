"""`evalmark run --until-decided` as a user types it: what it says, its reports, and a baseline."""

import json
import re

import pytest

BOT = """
import time

def answer(text):
    time.sleep(0.001)
    return text

def worse(text):
    time.sleep(0.001)
    return text if int(text) % 2 else ""
"""


@pytest.fixture
def suite(world):
    (world / "bot.py").write_text(BOT, encoding="utf-8")
    rows = [{"id": str(n), "input": str(n), "expected": str(n)} for n in range(400)]
    (world / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    said = {
        "name": "numbers",
        "datasets": ["cases.jsonl"],
        "target": "bot:answer",
        "metrics": ["equals"],
        "gate": {"min_pass_rate": 0.3},
        "until_decided": True,
    }
    (world / "suite.json").write_text(json.dumps(said), encoding="utf-8")
    return "suite.json"


def test_the_word_the_seed_and_what_was_saved_are_said_by_run_show_and_reports(evalmark, suite, world):
    done = evalmark("run", suite, "--seed", "7", "-j", "1", "-o", "r.md", "-o", "r.json", "-o", "r.html")
    assert done.code == 0
    decided = re.compile(r"Decided after (\d+) of 400 cases: the pass rate of all of them is from 0\.3")
    saved = re.compile(r"Saved: \d+ of 400 cases did not run\.")
    kept = re.search(r"evalmark show (\S+)", done.out)[1]
    shown = evalmark("show", kept).out
    for text in (done.out, shown, *((world / name).read_text("utf-8") for name in ("r.md", "r.json", "r.html"))):
        words = " ".join(text.split())
        assert decided.search(words)
        assert saved.search(words)
        assert "in random order (seed 7)" in words
    head = json.loads((world / "r.json").read_text("utf-8"))["run"]["until_decided"]
    assert (head["seed"], head["cases"], head["outcome"]) == (7, 400, "pass")


def test_a_baseline_that_is_clearly_better_ends_the_run_with_code_1(evalmark, world, suite):
    said = json.loads((world / suite).read_text("utf-8"))
    (world / "whole.json").write_text(json.dumps(said | {"until_decided": False}), encoding="utf-8")
    first = evalmark("run", "whole.json", "-q")  # of all cases, else chance says which ones both runs have
    assert first.code == 0
    done = evalmark("run", suite, "--target", "bot:worse", "--baseline", "last", "-j", "1", "--seed", "7")
    assert "the difference from the baseline is from -" in " ".join(done.out.split())
    assert done.code == 1


def test_a_metric_that_judges_conversations_is_refused(evalmark, world, suite):
    scorer = "class Talk:\n    needs_history = True\n    name = 'talk'\n    def __call__(self, case):\n        return True\n\ntalk = Talk()\n"
    (world / "talk.py").write_text(scorer, encoding="utf-8")
    said = json.loads((world / suite).read_text("utf-8")) | {"metrics": ["talk:talk"]}
    (world / suite).write_text(json.dumps(said), encoding="utf-8")
    done = evalmark("run", suite)
    assert (done.code, "runs cases in random order" in " ".join(done.err.split())) == (2, True)


@pytest.mark.parametrize(
    ("rate", "code", "said"),
    [
        pytest.param("0.3", 0, "Decided after", id="its own gate"),
        pytest.param("0.35", 3, "incomplete", id="another, which the cases that were not asked may decide"),
        pytest.param("1", 1, "less than 1", id="another, which no case could save"),
    ],
)
def test_a_report_with_another_gate_does_not_take_the_word_of_the_run_for_it(evalmark, suite, rate, code, said):
    evalmark("run", suite, "--seed", "7", "-j", "1", "-q", "--target", "bot:worse")
    done = evalmark("report", "last", "--min-pass-rate", rate, "-o", "r.md")
    assert (done.code, said in " ".join((done.out + done.err).split())) == (code, True), done
