"""`evalmark compare`, and `run` with a baseline: what they say, and with which exit code."""

import asyncio
import json
import re
import sqlite3
import subprocess
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.store import open_store

BOT = """
import json, pathlib
def answer(text):
    bad = int(pathlib.Path("bad").read_text()) if pathlib.Path("bad").exists() else 0
    return "no" if int(text.split()[-1]) < bad else text
"""
SUITE = """
name: bot
datasets: [cases.jsonl]
target: bot:answer
metrics: [equals]
gate: {min_pass_rate: 0.5}
"""


@pytest.fixture
def suite(world):
    """A suite of 30 cases, of which so many fail as the file `bad` says."""
    (world / "bot.py").write_text(BOT)
    rows = [{"id": f"q{n}", "input": f"say {n}", "expected": f"say {n}"} for n in range(30)]
    (world / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (world / "s.yaml").write_text(SUITE)
    return world


def bad(folder, cases):
    (folder / "bad").write_text(str(cases))


def test_several_baselines_are_one_family_and_the_least_favourable_verdict_counts(suite, evalmark):
    for number in (0, 12, 12):
        bad(suite, number)
        assert evalmark("run", "s.yaml", "-q").code == 0
    ended = evalmark("compare", "last", "last~1", "last~2")
    assert ended.code == 1
    assert "\n\n  against\n    last~1  the same\n" in ended.out
    assert "last~2  worse" in ended.out
    assert "p is adjusted for" not in ended.out  # against the equal run nothing differs, so there is one test
    refused = evalmark("compare", "last", "last~1", "last~2", "--pairs")
    assert (refused.code, "are for one BASELINE" in refused.err) == (2, True)


def test_an_impossible_difference_is_refused_before_the_plan_is_printed(suite, evalmark):
    ended = evalmark("plan", "s.yaml", "--detect", "5")
    assert (ended.code, ended.out) == (2, "")
    assert "--detect is 5; it must be above 0 and below 1." in ended.err


@pytest.mark.parametrize(
    ("before", "now", "code", "said"),
    [
        pytest.param(0, 12, 1, "Worse: pass rate fell from 100 % to 60 % (12 cases regressed).", id="worse"),
        pytest.param(12, 0, 0, "Better: pass rate rose from 60 % to 100 % (12 cases improved).", id="better"),
        pytest.param(0, 1, 3, "The changes may be chance", id="one case that differs can be luck"),
        pytest.param(
            0, 0, 0, "All outputs and all scores are identical", id="identical outputs are the same, however few"
        ),
    ],
)
def test_two_runs_get_a_verdict(suite, evalmark, before, now, code, said):
    for number in (before, now):
        bad(suite, number)
        assert evalmark("run", "s.yaml", "-q").code == 0
    found = evalmark("compare", "last", "last~1")
    assert (found.code, said in found.out) == (code, True), found.text
    assert evalmark("compare", "last", "last~1", "--allow-undecided").code == (0 if code == 3 else code)


def test_a_margin_decides_what_counts_as_the_same(suite, evalmark):
    for number in (0, 1):
        bad(suite, number)
        evalmark("run", "s.yaml", "-q")
    found = evalmark("compare", "last", "last~1", "--margin", "0.2", "--level", "0.9")
    assert found.code == 0
    assert "The same: No difference is larger than the margin of 20 points." in found.out
    assert "90 % intervals" in found.out


def test_texts_stand_side_by_side_and_reports_are_written(suite, evalmark):
    evalmark("run", "s.yaml", "-q")
    bad(suite, 10)
    evalmark("run", "s.yaml", "-q")
    found = evalmark("compare", "last", "last~1", "--pairs", "-n", 1, "-o", "c.json", "-o", "c.md", "-o", "c.html")
    assert "[-say 0-]" in found.out
    assert "{+no+}" in found.out
    assert "[-say 1-]" not in found.out
    assert "flips   10 regressed, 0 improved, 20 unchanged" in found.out
    assert "1 with their texts below, and 9 more; show all with -n 10" in found.out
    document = json.loads((suite / "c.json").read_text(encoding="utf-8"))
    assert (document["outcome"], len(document["targets"][0]["flips"]), len(document["pairs"])) == ("worse", 10, 1)
    assert (suite / "c.md").read_text(encoding="utf-8").startswith("## ▼ bot: worse")
    page = (suite / "c.html").read_text(encoding="utf-8")
    assert page.count('<details class="beside"') == 10, "a page has room for more cases than -n names"
    assert "<del>say 0</del>" in page or "less than half in common" in page
    assert "<script" not in page


def test_several_baselines_are_written_as_one_page(suite, evalmark):
    for _ in range(3):
        evalmark("run", "s.yaml", "-q")
    evalmark("compare", "last", "last~1", "last~2", "-o", "c.html")
    page = (suite / "c.html").read_text(encoding="utf-8")
    assert "<h1><bdi>bot against 2 runs</bdi></h1>" in page
    assert "last~1" not in page
    names = re.findall(r'<a href="#against-\d"><bdi>(bot · \d{4}-.*?)</bdi></a>', page)
    rows = re.findall(r'<th scope="row"><bdi>(bot · \d{4}-.*?)</bdi>', page)
    assert (len(set(names)), rows[1:]) == (2, names), "runs within a minute of each other have their ids, too"
    assert page.count("Quality against cost and latency") == 1
    assert page.count('class="changes"') == 2


def test_github_gets_a_summary_and_annotations(suite, evalmark, monkeypatch):
    evalmark("run", "s.yaml", "-q")
    bad(suite, 10)
    evalmark("run", "s.yaml", "-q")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite / "summary.md"))
    found = evalmark("compare", "last", "last~1", "--to", "github")
    assert "## ▼ bot: worse" in (suite / "summary.md").read_text(encoding="utf-8")
    assert "::error title=bot%3A worse::pass rate fell" in found.out
    assert "::error file=cases.jsonl,line=1,title=q0%3A passed%2C fails now::before: say 0%0Anow: no" in found.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["last", "nope"], "there is no run 'nope'", id="no such baseline"),
        pytest.param(["nope", "last"], "there is no run 'nope'", id="no such run"),
        pytest.param(
            ["last", "last-green"], "There is no earlier complete run of 'bot' whose gate passed", id="none green"
        ),
        pytest.param(["last", "none"], "'none' is not a run to compare with", id="none"),
        pytest.param(["last", "missing.db@last"], "this store file does not exist", id="no such store"),
        pytest.param(["last", "last", "--margin", "1"], "the margin from 0 to below 1", id="no margin"),
        pytest.param(["last", "last", "--level", "nan"], "the level has to lie between 0 and 1", id="no level"),
        pytest.param(
            ["last", "last", "-o", "c.csv"], "no report of a comparison has this file extension", id="no report"
        ),
        pytest.param(["last", "last", "-o", "cases.json", "--to", "gitlab"], "--to takes github", id="no place"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(suite, evalmark, words, said):
    evalmark("run", "s.yaml", "-q")
    found = evalmark("compare", *words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err


def test_a_run_beside_itself_and_one_of_another_store(suite, evalmark):
    evalmark("run", "s.yaml", "-q")
    evalmark("run", "s.yaml", "-q", "--store", "main.db")
    assert "is compared with itself." in evalmark("compare", "last", "last").out
    found = evalmark("compare", "last", "main.db")
    assert (found.code, "30 cases in both runs" in found.out) == (0, True)


def kept(path, name, results, status="complete"):
    """A store with one more run."""
    with open_store(path) as store:
        run = Run(
            id=f"20261121-00000{name[-1]}-aaaa",
            name=name[:-1],
            created=f"2026-11-21T00:00:0{name[-1]}Z",
            status="running",
            datasets=(DatasetInfo(name="d"),),
            metrics=(Metric(name="m"),),
        )
        store.start(run)
        asyncio.run(store.sink(run.id).write(results))
        store.finish(replace(run, status=status))


def results(values, text="x", start=0):
    return [
        Result(
            trial=Trial(case=Case(id=f"c{n}", input=n), dataset="d", position=n),
            output=Output(value=text),
            scores=(
                Score(name="m", status="unscored") if v is None else Score(name="m", raw=v, value=float(v), passed=v),
            ),
        )
        for n, v in enumerate(values, start)
    ]


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param([], [], "Nothing could be compared.", id="no case"),
        pytest.param(results([True]), results([False]), "1 case cannot detect any change", id="one case"),
        pytest.param(results([True, True]), results([False, False]), "The changes may be chance", id="two cases"),
        pytest.param(results([None] * 5), results([True] * 5), "No case was judged in both runs", id="all unscored"),
        pytest.param(results([True] * 5), results([True] * 5, start=9), "have no case in common", id="no common case"),
    ],
)
def test_few_or_no_cases_cannot_tell(world, evalmark, now, before, said):
    kept("a.db", "then1", before)
    kept("a.db", "now2", now)
    found = evalmark("compare", "last", "last~1", "--pairs", "--store", "a.db")
    assert found.code == 3
    assert said in " ".join(found.out.split())


def test_texts_of_100_000_characters_are_cut(world, evalmark):
    kept("a.db", "then1", results([True], "word " * 20_000))
    kept("a.db", "now2", results([False], "other " * 17_000))
    found = evalmark("compare", "last", "last~1", "--pairs", "--store", "a.db")
    assert "more words" in found.out
    assert len(found.out) < 20_000


def test_a_store_from_a_newer_version_is_left_alone(world, evalmark):
    kept("a.db", "then1", results([True]))
    with sqlite3.connect("a.db") as db:
        db.execute("pragma user_version = 9999")
    db.close()
    found = evalmark("compare", "last", "last", "--store", "a.db")
    assert (found.code, "newer" in found.err) == (2, True), found.err


# Two targets of one run.

LARGE, SMALL = "openai/large", "openai/small"


def answers(passing, target, repeats=1):
    """Thirty cases, of which those below `passing` pass."""
    return [
        Result(
            trial=Trial(case=Case(id=f"q{n}", input=f"say {n}"), dataset="d", target=target, position=n, repeat=repeat),
            output=Output(value=f"say {n}" if (ok := n < passing) else "no"),
            scores=(Score(name="equals", raw=ok, value=float(ok), passed=ok),),
        )
        for n in range(30)
        for repeat in range(repeats)
    ]


@pytest.fixture
def two_models(world):
    """A run of two models, of which one answers every case and the other one 21 of 30."""
    with open_store("a.db") as store:
        run = Run(
            id="20261122-041027-36v6",
            name="squares",
            created="2026-11-22T04:10:00Z",
            status="running",
            target=f"{LARGE}, {SMALL}",
            datasets=(DatasetInfo(name="d"),),
            metrics=(Metric(name="equals"),),
        )
        store.start(run)
        asyncio.run(store.sink(run.id).write([*answers(30, LARGE), *answers(21, SMALL)]))
        store.finish(replace(run, status="complete"))
    return world


def test_two_targets_of_one_run_stand_beside_each_other(two_models, evalmark):
    found = evalmark("compare", "last", "--target", SMALL, "--against", LARGE, "-n", 2, "--store", "a.db")
    assert found.code == 1
    assert [line.strip() for line in found.out.splitlines() if line.strip()] == [
        f"openai/small against openai/large{' ' * 58}▼ worse",
        "two targets of run 20261122-041027-36v6 of 2026-11-22 04:10",
        "Worse: pass rate is 70 % against 100 %.",
        "30 cases of both targets",
        "metric      n  openai/large  openai/small  difference        interval      p  verdict",
        "pass rate  30         100 %          70 %       \u221230.0  \u221247.9 to \u221212.5  0.002  ▼ worse",
        "Differences of shares are in points. 95 % intervals, paired by case. equals: the same as the pass",
        "rate.",
        "flips   9 regressed with openai/small, 0 improved, 21 unchanged",
        "▽  q21  passes only with openai/large",
        "▽  q22  passes only with openai/large",
        "and 7 more; show all with -n 9",
        "Show the outputs of changed cases side by side with --pairs.",
    ]
    other = evalmark("compare", "last", "--target", LARGE, "--against", SMALL, "--store", "a.db")
    assert (other.code, "Better: pass rate is 100 % against 70 %." in other.out) == (0, True)


def test_texts_and_reports_of_two_targets_name_them(two_models, evalmark, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    words = ["--target", SMALL, "--against", LARGE, "--store", "a.db", "--pairs", "-n", 1]
    found = evalmark("compare", "last", *words, "-o", "c.md", "-o", "c.json", "--to", "github")
    assert "Words on one side only are marked [- -] of openai/large and {+ +} of openai/small." in found.out
    assert "c.md: openai/small against openai/large" in found.out
    assert "title=q21%3A passes only with openai/large::openai/large: say 21%0Aopenai/small: no" in found.out
    page = (two_models / "c.md").read_text(encoding="utf-8")
    assert "| metric | n | openai/large | openai/small | difference |" in page
    assert "| | openai/large | openai/small |" in page
    assert page.endswith("<sub>two targets of run 20261122-041027-36v6 of 2026-11-22 04:10</sub>\n")
    assert "before" not in page
    (target,) = json.loads((two_models / "c.json").read_text(encoding="utf-8"))["targets"]
    assert (target["target"], target["against"]) == (SMALL, LARGE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ["last", "last~1", "--target", SMALL, "--against", LARGE],
            "--target and --against name two targets of one run, and two runs are named; leave out BASELINE.",
            id="two runs",
        ),
        pytest.param(
            ["last", "last~1", "--target", SMALL],
            "--target and --against name two targets of one run, and two runs are named; leave out BASELINE.",
            id="two runs and one target",
        ),
        pytest.param(
            ["last", "--target", SMALL, "--against", "nobody"],
            "20261122-041027-36v6 has no target 'nobody'; it has 'openai/large', 'openai/small'.",
            id="an unknown target",
        ),
        pytest.param(
            ["last", "--target", "a", "--against", "b"],
            "20261122-041027-36v6 has no target 'a' and no target 'b'; it has 'openai/large', 'openai/small'.",
            id="two unknown targets",
        ),
        pytest.param(
            ["last", "--target", SMALL, "--against", SMALL],
            "--target and --against are both 'openai/small'; name two targets of 20261122-041027-36v6.",
            id="the same twice",
        ),
        pytest.param(
            ["last", "--target", SMALL],
            "--target names one target of the run; name the other one with --against.",
            id="one target",
        ),
        pytest.param(
            ["last", "--against", SMALL],
            "--against names one target of the run; name the other one with --target.",
            id="the other target",
        ),
    ],
)
def test_targets_that_cannot_be_compared_are_one_sentence(two_models, evalmark, words, said):
    found = evalmark("compare", *words, "--store", "a.db")
    assert (found.code, found.out, " ".join(found.err.split())) == (2, "", f"compare: {said}")


# `run` with a baseline.


def test_a_run_that_is_worse_than_its_baseline_is_told_by_the_exit_code(suite, evalmark):
    assert evalmark("run", "s.yaml", "-q").code == 0
    bad(suite, 12)
    found = evalmark("run", "s.yaml", "--baseline", "last", "-o", "r.json", "-o", "r.md", "-o", "r.html")
    assert found.code == 1
    assert "Gate passed" in found.out
    assert "Worse: pass rate fell from 100 % to 60 % (12 cases regressed)." in found.out
    assert json.loads((suite / "r.json").read_text(encoding="utf-8"))["comparison"]["outcome"] == "worse"
    assert "**Worse:** pass rate fell" in (suite / "r.md").read_text(encoding="utf-8")
    assert "pass rate fell from 100 % to 60 %" in (suite / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("gate", "words", "code"),
    [
        pytest.param(1.0, [], 1, id="the gate fails, whatever the comparison says"),
        pytest.param(0.5, [], 3, id="the gate holds, and it cannot be told"),
        pytest.param(0.5, ["--allow-undecided"], 0, id="which is allowed"),
        pytest.param(0.5, ["--baseline", "none"], 0, id="nothing to compare with, against the suite"),
    ],
)
def test_gate_and_comparison_decide_together(suite, evalmark, gate, words, code):
    (suite / "s.yaml").write_text(SUITE.replace("0.5", str(gate)) + "baseline: last\n")
    evalmark("run", "s.yaml", "-q", "--baseline", "none")
    bad(suite, 1)
    assert evalmark("run", "s.yaml", "-q", *words).code == code


def test_the_last_green_run_is_the_newest_whose_gate_passed(suite, evalmark):
    (suite / "s.yaml").write_text(SUITE + "baseline: last-green\n")
    first = evalmark("run", "s.yaml", "-q")
    assert first.code == 0
    assert "There is no earlier complete run of 'bot' whose gate passed" in first.err
    bad(suite, 20)
    red = evalmark("run", "s.yaml")
    assert (red.code, "Gate failed" in red.out, "Worse: pass rate fell" in red.out) == (1, True, True)
    bad(suite, 0)
    again = evalmark("run", "s.yaml")  # held against the first, not against the red one
    assert (again.code, "All outputs and all scores are identical" in again.out) == (0, True)


def test_an_unknown_baseline_is_said_before_anything_runs(suite, evalmark):
    evalmark("run", "s.yaml", "-q")
    found = evalmark("run", "s.yaml", "--baseline", "nope")
    assert (found.code, "there is no run 'nope'" in found.err) == (2, True)
    assert len(open_store(".evalmark/evalmark.db", read_only=True).runs()) == 1


def test_several_suites_have_no_single_baseline(suite, evalmark):
    (suite / "t.yaml").write_text(SUITE)
    found = evalmark("run", "s.yaml", "t.yaml", "--baseline", "last")
    assert (found.code, "--baseline last is one run" in found.err) == (2, True)


def git(folder, *words):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_where_git_is_the_green_run_has_to_lead_to_what_is_checked_out(suite, evalmark):
    git(suite, "init", "-q", "-b", "main")
    git(suite, "add", "bot.py", "s.yaml", "cases.jsonl")
    git(suite, "commit", "-q", "-m", "one")
    evalmark("run", "s.yaml", "-q")
    git(suite, "checkout", "-q", "-b", "other")
    git(suite, "commit", "-q", "--allow-empty", "-m", "two")
    (suite / "bot.py").write_text(BOT + "\n")
    evalmark("run", "s.yaml", "-q")
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        other, first = store.runs()
    assert (first.revision, other.revision) == (git(suite, "rev-parse", "main"), git(suite, "rev-parse", "other") + "+")
    assert f"commit {other.revision[:10]}+" in evalmark("show", "last").out
    assert f"against {other.id}" in evalmark("run", "s.yaml", "--baseline", "last-green", "--allow-undecided").out
    git(suite, "checkout", "-q", "-f", "main")
    assert f"against {first.id}" in evalmark("run", "s.yaml", "--baseline", "last-green", "--allow-undecided").out


def test_a_run_of_some_cases_is_no_last_green_one(suite, evalmark):
    (suite / "s.yaml").write_text(SUITE + "baseline: last-green\n")
    evalmark("run", "s.yaml", "-q")
    evalmark("run", "s.yaml", "-q", "--limit", 3)
    found = evalmark("run", "s.yaml")
    assert (found.code, "30 cases in both runs" in found.out) == (0, True)
