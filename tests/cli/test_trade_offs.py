"""`evalmark compare` with several baselines, or of a run with several targets: quality against cost and latency."""

import json
import re
from pathlib import Path

import pytest

from evalmark.testing.scripted import ScriptedServer

BOTS = """
import time

def _bot(wrong, pause):
    def answer(question):
        time.sleep(pause)
        return "no" if int(question) < wrong else "yes"
    return answer

good, bad, middle = _bot(2, 0.0), _bot(30, 0.01), _bot(4, 0.06)
"""
SUITE = "name: s\ndatasets: cases.jsonl\ntarget: bots:good\nmetrics: equals\n"
MODELS = """
name: models
datasets: cases.jsonl
target: {prompt: ask.prompty, models: [large, small]}
metrics: equals
"""
PRICES = """
[tool.evalmark.models]
large = {provider = "openai", model = "big", input = 100.0, output = 400.0}
small = {provider = "openai", model = "tiny", input = 1.0, output = 4.0}
"""
PROMPT = "---\nname: Ask\ninputs:\n  question: {type: string}\n---\nuser:\n{{question}}\n"


@pytest.fixture
def three(world, evalmark):
    rows = [{"id": f"c{n}", "input": f"{n}", "expected": "yes"} for n in range(100)]
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("bots.py").write_text(BOTS, encoding="utf-8")
    Path("s.yaml").write_text(SUITE, encoding="utf-8")
    for bot in ("middle", "bad", "good"):
        evalmark("run", "s.yaml", "--target", f"bots:{bot}", "-q", "-j", "50")


def table(text):
    """The rows of the table, by the name of the target."""
    lines = text.split("quality against cost and latency: pass rate")[1].splitlines()
    return {line.split()[0]: re.sub(r"\s+", " ", line) for line in lines if line.strip().startswith("last")}


def test_several_baselines_end_with_one_table_of_quality_cost_and_latency(evalmark, three):
    done = evalmark("compare", "last", "last~1", "last~2", "-o", "all.md", "-o", "all.json")
    rows = table(done.out)
    assert "98.0 % 93.0" in rows["last"]
    assert rows["last"].endswith("on the frontier")
    assert rows["last~1"].endswith("dominated by last")
    assert rows["last~2"].endswith("not told apart from last")
    text = re.sub(r"\s+", " ", done.out)
    assert "adjusted over 3 comparisons of pairs" in text
    assert "Cost is unknown for all, and not compared." in text
    found = json.loads(Path("all.json").read_text("utf-8"))
    assert found["format"] == "evalmark-comparisons"
    assert [one["outcome"] for one in found["comparisons"]] == ["better", "cannot tell"]
    assert [(row["standing"], row["others"], row["cost"]) for row in found["trade_offs"]] == [
        ("frontier", [], None),
        ("dominated", ["last"], None),
        ("not told apart", ["last"], None),
    ]
    assert found["unknown"] == ["cost"]
    markdown = Path("all.md").read_text("utf-8")
    assert re.search(r"^\| s · 20\d\d-\S+ \S+.* \| 70.0 % \|", markdown, re.MULTILINE), "runs have names and times"
    assert "dominated by s · 20" in markdown
    assert markdown.count("against") >= 2  # both comparisons are there


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_the_table_fits_the_terminal(evalmark, three, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    lines = evalmark("compare", "last", "last~1", "last~2").out.splitlines()
    assert max(map(len, lines)) <= int(width)


def test_targets_of_one_run_are_compared_without_a_baseline(evalmark, three, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("pyproject.toml").write_text(PRICES, encoding="utf-8")
    Path("ask.prompty").write_text(PROMPT, encoding="utf-8")
    Path("models.yaml").write_text(MODELS.replace("cases.jsonl", "asked.jsonl"), encoding="utf-8")
    rows = [{"id": f"c{n}", "input": {"question": f"{n}"}, "expected": "yes"} for n in range(60)]
    Path("asked.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with ScriptedServer(lambda said: "yes" if said.model == "big" else "no") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        assert evalmark("run", "models.yaml", "-q").code == 1
    done = evalmark("compare", "last", "-o", "models.json")
    assert done.code == 0
    large, small = json.loads(Path("models.json").read_text("utf-8"))["trade_offs"]
    assert [one["name"] for one in (large, small)] == ["large", "small"]
    assert large["cost"] > small["cost"] > 0
    assert (large["standing"], small["standing"]) == ("frontier", "frontier")
    assert f"${large['cost']:.2g}" in done.out


def test_a_run_of_one_target_needs_a_baseline(evalmark, three):
    done = evalmark("compare", "last")
    assert done.code == 2
    assert "BASELINE is missing" in done.err
    assert "has a single target; name an earlier run, such as last~1." in done.err


def test_formats_that_several_comparisons_have_not_are_refused(evalmark, three):
    done = evalmark("compare", "last", "last~1", "last~2", "--pairs")
    assert (done.code, "--to and --pairs are for one BASELINE" in done.err) == (2, True)
    assert evalmark("compare", "last", "last~1", "last~2", "-o", "x.csv").code == 2


def test_with_several_baselines_the_metrics_that_decide_are_shown_and_the_others_counted(evalmark, three):
    scorers = "".join(f"def same{n}(output): return 0.{n}\n\n\n" for n in (1, 2, 3))
    Path("scores.py").write_text(f"{scorers}def longer(output): return len(output) / 4\n", encoding="utf-8")
    metrics = ["equals", *(f"scores:{name}" for name in ("same1", "same2", "longer", "same3"))]
    Path("many.yaml").write_text(SUITE.replace("metrics: equals", f"metrics: {json.dumps(metrics)}"), encoding="utf-8")
    for bot in ("bad", "middle", "good"):
        evalmark("run", "many.yaml", "--target", f"bots:{bot}", "-q", "-j", "50")
    text = evalmark("compare", "last", "last~1", "last~2").out
    first, second = text.split("100 cases in both runs")[1:]
    assert "and 3 more metrics: 3 the same; show them with --all-metrics" in second
    assert ("same1" in first + second, "longer" in second) == (False, True)
    every = evalmark("compare", "last", "last~1", "last~2", "--all-metrics").out
    assert every.count("same1") == 2
    assert "--all-metrics" not in every
    assert evalmark("compare", "last", "last~1").out.count("same1") == 1
