"""A threshold, a scorer or a judge that changed is no change of the target; the printed command brings comparability back."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.stats.calibration.lock_file import LockFile, lock_entries
from evalmark.testing.scripted import ScriptedServer
from tests.stats.calibration.test_threshold_calibration import learned, spread

pytestmark = pytest.mark.slow

SCORER = '''
LIMIT = 20


def close(output):
    """The share of the limit that an output has."""
    return min(1.0, len(output) / LIMIT)
'''
SUITE = """
name: bot
datasets: [rows.jsonl]
metrics:
  - scoring:close: {{threshold: {}}}
"""
POLITE = {
    "name": "polite",
    "config": {"needs_history": False, "needs_example_output": False},
    "metric_description": "Is it polite?",
    "score": {"type": "percentage", "description": "100 is most polite"},
    "threshold": 0.5,
}


@pytest.fixture
def folder(world):
    rows = [{"id": f"q{n:02}", "input": f"question {n}", "answer": "x" * (n + 1)} for n in range(20)]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("scoring.py").write_text(SCORER)
    return world


def finished(process, *words):
    started = process(*words)
    out, err = started.communicate(timeout=120)
    return started.returncode, " ".join((out + err).split())


@pytest.mark.parametrize(
    ("then", "now", "counts"), [(0.8, 0.05, (20, 5)), (0.05, 0.8, (5, 20))], ids=["loosened", "tightened"]
)
def test_another_threshold_of_a_suite_is_no_change(evalmark, folder, then, now, counts):
    Path("s.yaml").write_text(SUITE.format(then))
    evalmark("run", "s.yaml", "-q")
    Path("s.yaml").write_text(SUITE.format(now) + "gate: {min_pass_rate: 0}\n")
    beside = evalmark("run", "s.yaml", "--baseline", "last", "-o", "run.html", "-o", "run.json")
    found = evalmark("compare", "last", "last~1", "-o", "compared.json", "-o", "compared.md")
    assert (beside.code, found.code) == (0, 0), found.text
    said = f"Under the threshold of the newer run, {counts[0]} of 20 scores of the baseline pass; under the baseline's own threshold, {counts[1]}."
    for text in (beside.out, found.out, Path("compared.md").read_text(), Path("run.html").read_text()):
        assert said in " ".join(text.split()).replace("&#39;", "'")
    (rule,) = json.loads(Path("compared.json").read_text())["rules"]
    assert (rule["metric"], rule["baseline"]) == ("close", {"n": 20, "then": counts[1], "today": counts[0]})
    assert json.loads(Path("run.json").read_text())["comparison"]["outcome"] == "same"


@pytest.mark.parametrize(("then", "now"), [(0.8, 0.05), (0.05, 0.8)], ids=["loosened", "tightened"])
def test_another_threshold_of_a_lock_file_is_no_change(evalmark, folder, then, now):
    Path("s.yaml").write_text("name: bot\ndatasets: [rows.jsonl]\nmetrics: [scoring:close]\n")
    (entry,) = lock_entries(learned(*spread(70, 40)), "2026-11-22T12:00:00Z", "0.1.0")
    for threshold in (then, now):
        lock = LockFile(metrics={"close": replace(entry, metric="close", threshold=threshold)})
        Path("evalmark.lock.json").write_text(lock.text)
        evalmark("run", "s.yaml", "-q", "--lock", "evalmark.lock.json")
    found = evalmark("compare", "last", "last~1")
    assert found.code == 0, found.text
    assert f"close: the threshold was {then:g} and is now {now:g}. Under the threshold of the newer run," in " ".join(
        found.out.split()
    )


def test_a_scorer_whose_code_changed_is_compared_once_the_baseline_is_judged_again(process, folder):
    Path("s.yaml").write_text(SUITE.format(0.5))
    assert finished(process, "run", "s.yaml", "-q")[0] == 1
    Path("scoring.py").write_text(SCORER.replace("LIMIT = 20", "LIMIT = 5  # as many as a word has"))
    finished(process, "run", "s.yaml", "-q")
    code, text = finished(process, "compare", "last", "last~1")
    assert code == 3
    assert "close: the scorer's code or settings have changed, so its scores are not compared." in text
    assert "No metric is judged by the same rule in both runs, so nothing can be compared." in text
    command = text.partition("compare with the result: evalmark ")[2].partition(" Cannot tell")[0]
    finished(process, *shlex.split(command), "-q")
    code, text = finished(process, "compare", "last~1", "last")
    assert (code, "All outputs and all scores are identical." in text) == (0, True)


def test_a_comment_in_a_scorer_changes_nothing(process, folder):
    Path("s.yaml").write_text(SUITE.format(0.5))
    finished(process, "run", "s.yaml", "-q")
    Path("scoring.py").write_text(SCORER.replace("The share", "So much").replace("return", "# shorter\n    return"))
    finished(process, "run", "s.yaml", "-q")
    code, text = finished(process, "compare", "last", "last~1")
    assert code == 0
    assert "other differences" not in text


def judge(said):
    return json.dumps({"reason": "so", "score": 90 if "lenient" in said.model else 60})


@pytest.fixture
def judged(folder, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        Path("polite.json").write_text(json.dumps(POLITE))
        Path("s.yaml").write_text("datasets: [rows.jsonl]\nmetrics: [polite.json]\n")
        yield server


def test_another_judge_is_no_change_and_judges_the_baseline_on_request(evalmark, judged):
    evalmark("run", "s.yaml", "-q", "--judge", "openai/strict")
    evalmark("run", "s.yaml", "-q", "--judge", "openai/lenient")
    found = evalmark("compare", "last", "last~1")
    assert found.code == 3
    text = " ".join(found.out.split())
    assert "polite: the judge was openai/strict and is now openai/lenient, so its scores are not compared." in text
    command = text.partition("compare with the result: evalmark ")[2].partition(" Cannot tell")[0]
    assert command.endswith("--judge openai/lenient")
    assert evalmark(*shlex.split(command), "-q").code == 0
    assert evalmark("compare", "last~1", "last").code == 0


def test_the_threshold_of_a_metric_file_is_judged_by_the_newer_run(evalmark, judged):
    evalmark("run", "s.yaml", "-q", "--judge", "openai/strict")
    Path("polite.json").write_text(json.dumps(POLITE | {"threshold": 0.7}))
    assert evalmark("run", "s.yaml", "-q", "--judge", "openai/strict").code == 1
    found = evalmark("compare", "last", "last~1")
    assert found.code == 0, found.text
    assert (
        "Under the threshold of the newer run, 0 of 20 scores of the baseline pass; under the baseline's own threshold, 20."
        in " ".join(found.out.split())
    )
