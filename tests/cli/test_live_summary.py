"""The summary of a run from the command line, which is collected while it goes on, is the one of its stored results."""

import json

import pytest

from evalmark.cli.terminal import run_command
from evalmark.stats.summary import live_collection
from evalmark.stats.summary.summarise import summarise

BOT = """
import random, time

def answer(text):
    time.sleep(random.random() / 50)  # outputs arrive in another order than cases start
    if text in ("c", "f", "1007"):
        raise ValueError(f"no {text} today")
    return text.upper() if text < "p" else {"text": text, "parts": (1, float("nan"))}

def other(text):
    time.sleep(random.random() / 50)
    return "K" if text > "k" else text.upper()

def slow(text):
    time.sleep(1 if text == "b" else 0)
    return text.upper()

def fast(text):
    return text.upper()

def leaks(text):
    return text.upper() + " sk-proj-abcdefghijklmnopqrstuvwx"
"""
SCORERS = """
import numpy as np
from evalmark import Score

def odd(output):
    return Score(name="odd", raw=np.bool_(True), value=0.5 if str(output) < "H" else 0.125, detail={"by": (1, 2)})

def label(output):
    return Score(name="label", raw=str(output)[:1], reason="the first letter")

def breaks(output, expected):
    if str(output) == "B":
        raise RuntimeError("broken")
    return None if str(output) == "D" else str(output) == expected
"""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def summaries(monkeypatch):
    """Each pair of summaries of a run: the one that was shown, and that of the stored results; None: none was collected."""
    pairs = []

    def both(run, *, collected=None):
        live = summarise(run, collected=collected)
        pairs.append((None if collected is None else live, summarise(run)))
        return live

    monkeypatch.setattr(run_command, "summarise", both)
    return pairs


@pytest.fixture
def suite(world):
    def write(name="suite.json", rows=LETTERS, **more):
        (world / "bot.py").write_text(BOT, encoding="utf-8")
        (world / "marks.py").write_text(SCORERS, encoding="utf-8")
        cases = [{"id": row, "input": row, "expected": row.upper(), "page": n // 4} for n, row in enumerate(rows)]
        lines = [json.dumps(case) for case in cases]
        lines.insert(5, json.dumps({"input": "without an id", "expected": "é"}))
        if len(rows) > 1_000:  # behind the rows that are checked before the run
            lines.insert(1_005, '{"id": 7')
        (world / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (world / "more.jsonl").write_text("\n".join(json.dumps(case) for case in cases[:9]), encoding="utf-8")
        content = {
            "name": "letters",
            "datasets": [{"path": "more.jsonl"}, {"path": "cases.jsonl", "cluster": "page"}],
            "target": "bot:answer",
            "metrics": ["equals", "marks:odd", "marks:label", "marks:breaks"],
            "gate": {"min_score": 0.9, "max_errors": 3},
        } | more
        (world / name).write_text(json.dumps(content), encoding="utf-8")
        return name

    return write


@pytest.mark.parametrize(
    ("content", "flags"),
    [
        pytest.param({}, (), id="errors, broken scorers and data that is not plain"),
        pytest.param(
            {"rows": [str(n) for n in range(1_010)], "target": "bot:fast"}, (), id="a row that cannot be read"
        ),
        pytest.param({"metrics": ["equals"]}, (), id="plain scores of outputs that are not plain"),
        pytest.param({}, ("-j", "1"), id="one trial at a time"),
        pytest.param({"repeat": 3}, (), id="three repeats"),
        pytest.param({"target": "bot:leaks"}, (), id="outputs with a secret, which the store masks"),
        pytest.param({}, ("--limit", "3"), id="a limit"),
        pytest.param({}, ("--filter", "metadata.page=1"), id="a filter"),
        pytest.param({}, ("--shard", "2/3"), id="a shard"),
        pytest.param({}, ("--target", "bot:other", "--target", "bot:answer"), id="targets that are not sorted"),
    ],
)
def test_the_collected_summary_equals_that_of_the_stored_results(evalmark, suite, summaries, content, flags):
    shown = evalmark("run", suite(**content), "-j", "8", *flags)
    assert summaries, shown.text
    ((live, stored),) = summaries
    assert live is not None
    assert live == stored


def test_the_summary_of_a_resumed_run_is_read_from_the_store(evalmark, suite, summaries):
    evalmark("run", suite(), "--limit", "3")
    evalmark("run", "suite.json", "--retry-errors")
    assert [live is None for live, _ in summaries] == [False, True]
    assert summaries[1][1].total.trials > summaries[0][1].total.trials


def test_the_summary_is_read_from_the_store_if_many_results_wait_for_a_slow_one(
    evalmark, suite, summaries, monkeypatch
):
    monkeypatch.setattr(live_collection, "MAX_WAITING", 8)
    evalmark("run", suite(target="bot:slow"), "-j", "4")
    ((live, stored),) = summaries
    assert live is None
    assert stored.total.trials == 9 + 27
