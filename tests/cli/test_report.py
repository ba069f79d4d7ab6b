"""`evalmark report` as a CI calls it: several stores as one run, a job summary, annotations, and the gate's exit code."""

import json

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.score import Trial
from evalmark.reports.files.github import LIMIT
from evalmark.store import open_store

BOT = """
def answer(text):
    return text.upper()

def picky(text):
    if text == "c":
        raise ValueError("no c today")
    return text.upper()

def hostile(text):
    return "x\\n::error::pwned\\n  ::add-mask::a\\n##[add-path]/tmp\\n</pre></details><script>alert(1)</script> @org/team | a |"
"""


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """The tests may themselves run in a job of GitHub Actions."""
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ran(world, evalmark):
    """Runs a suite of some letters, of which the first are expected to be something else, and gives its run's id."""

    def run(rows="abcd", wrong=0, store=".evalmark/evalmark.db", target="bot:answer", name="letters", **more):
        (world / "bot.py").write_text(BOT, encoding="utf-8")
        cases = [
            {"id": row, "input": row, "expected": "?" if number < wrong else row.upper()}
            for number, row in enumerate(rows)
        ]
        (world / f"{name}.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
        suite = {"name": name, "datasets": [f"{name}.jsonl"], "target": target, "metrics": ["equals"], **more}
        (world / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
        if not rows:  # as of a run that broke off before its first case: an empty dataset is refused
            with open_store(store) as kept:
                run = Run(id="20261121-101500-none", name=name, created="2026-11-21T10:15:00Z")
                kept.start(run)
                kept.finish(run)
            return run.id
        evalmark("run", "suite.json", "--store", store, "-q")
        with open_store(store, read_only=True) as kept:
            return kept.run("last").id

    return run


@pytest.mark.parametrize(
    ("shape", "words", "code", "says"),
    [
        pytest.param({"wrong": 2}, (), 0, "", id="without a gate of its own a report is no verdict"),
        pytest.param({"wrong": 2}, ("--min-pass-rate", "0.5"), 0, "Gate passed: 2 of 4", id="the rate is reached"),
        pytest.param({"wrong": 2}, ("--min-pass-rate", "0.6"), 1, "Gate failed: 2 of 4", id="the rate is missed"),
        pytest.param({"wrong": 2}, ("--min-score", "0.6", "--min-pass-rate", "0"), 1, "less than 0.6", id="a mean is missed"),
        pytest.param({"wrong": 2}, ("--min-score", "0.5", "--min-pass-rate", "0"), 0, "at least 0.5", id="every mean is reached"),
        pytest.param({"wrong": 1}, ("--max-errors", "0"), 1, "1 of 4", id="a failing case fails a gate without a rate"),
        pytest.param({"target": "bot:picky"}, ("--min-pass-rate", "0.5"), 3, "1 error", id="an error"),
        pytest.param({"target": "bot:picky"}, ("--max-errors", "1"), 0, "Gate passed", id="an error that is allowed"),
        pytest.param({"wrong": 2, "gate": {"min_pass_rate": 1}}, ("--min-pass-rate", "0.5"), 0, "Gate passed", id="the flags stand in for the suite's gate"),
        pytest.param({"wrong": 2, "gate": {"min_pass_rate": 1}}, (), 0, "", id="the suite's gate is shown and decides nothing"),
        pytest.param({"rows": ""}, (), 3, "No cases ran", id="no cases"),
        pytest.param({"rows": ""}, ("--min-pass-rate", "0"), 3, "No cases ran", id="no cases, though any rate would do"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("to", [("-o", "out.md"), ("--to", "github")], ids=["a file", "GitHub"])
def test_the_exit_code_is_that_of_the_gate_that_was_asked_for(evalmark, ran, shape, words, code, says, to):
    ran(**shape)
    said = evalmark("report", *words, *to)
    assert said.code == code, said.text
    assert says in said.text


def test_the_summary_is_added_to_the_file_and_the_output_holds_annotations_alone(evalmark, ran, world, monkeypatch):
    ran(wrong=1)
    (world / "summary.md").write_text("said before", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(world / "summary.md"))
    said = evalmark("report", "--to", "github")
    assert said.out.splitlines() == [
        "::error title=letters%3A failed::1 of 4 judged trials failed.",
        "::error file=letters.jsonl,line=1,title=a%3A fail::equals: no. the output 'A' is not '?'%0Aoutput: A",
    ]
    text = (world / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("said before\n## ❌ letters: failed\n\n- 1 of 4 judged trials failed.\n")
    assert "<details><summary>a (fail)</summary>" in text


def test_without_such_a_file_the_summary_is_printed(evalmark, ran):
    ran()
    said = evalmark("report", "--to", "github", "--min-pass-rate", "1")
    assert said.out.startswith("## ✅ letters: passed\n")
    assert said.out.endswith("Gate passed: 4 of 4 judged trials passed (100 %), at least 100 %.\n")
    assert "::error" not in said.out


@pytest.mark.parametrize(
    ("taken", "says"),
    [
        pytest.param(LIMIT - 900, "The rest is left out", id="room for a beginning"),
        pytest.param(LIMIT - 10, "full, so the job summary is left out", id="no room"),
        pytest.param(LIMIT + 10, "full, so the job summary is left out", id="too much was there already"),
    ],
)
def test_a_summary_never_makes_the_file_larger_than_github_takes(evalmark, ran, world, monkeypatch, taken, says):
    ran(wrong=4)
    (world / "summary.md").write_text("x" * taken, encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(world / "summary.md"))
    said = evalmark("report", "--to", "github")
    text = (world / "summary.md").read_text(encoding="utf-8")
    assert len(text) <= max(LIMIT, taken)
    assert says in text + said.err
    assert "::error" in said.out


def test_a_summary_that_cannot_be_written_is_an_error_in_words(evalmark, ran, world, monkeypatch):
    ran()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(world / "nowhere" / "summary.md"))
    said = evalmark("report", "--to", "github")
    assert said.code == 2
    assert "summary.md: the job summary cannot be written there: No such file" in said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param((), "name at least one file with -o", id="nothing to write"),
        pytest.param(("--min-pass-rate", "0.5"), "name at least one file with -o", id="a gate alone"),
        pytest.param(("--to", "pdf"), "--to takes github, github-comment, gitlab-comment, json, jsonl, csv, md, html, junit, not 'pdf'", id="another word"),
        pytest.param(("--to", "html", "-o", "x.json"), "x.json: its extension does not match the format html", id="two words for one file"),
        pytest.param(("-o", "x.html", "--baseline", "zz"), "there is no run 'zz'", id="no such baseline"),
        pytest.param(("-o", "x.html", "--baseline", "gone.db@last"), "gone.db: this store file does not exist", id="no such file of a baseline"),
        pytest.param(("-o", "out.pdf"), "no report has this file extension", id="an unknown ending"),
        pytest.param(("--to", "github", "--min-score", "1.5"), "--min-score", id="a mean beyond 1"),
        pytest.param(("--to", "github", "--min-score", "nan"), "--min-score", id="a mean that is no number"),
        pytest.param(("--to", "github", "--max-errors", "-1"), "--max-errors", id="fewer than no errors"),
        pytest.param(("gone/evals.db", "--to", "github"), "gone/evals.db: this store file does not exist", id="a store that is not there"),
        pytest.param(("gone.db@last", "--to", "github"), "gone.db: this store file does not exist", id="a run of a store that is not there"),
        pytest.param((".evalmark/evalmark.db@zz", "--to", "github"), "there is no run 'zz'", id="a run that is not in the file"),
        pytest.param(("nope", "--to", "github"), "there is no run 'nope'", id="neither a file nor a run"),
        pytest.param(("bot.py", "--to", "github"), "bot.py", id="a file that is no store"),
        pytest.param(("last", "-o", "letters.jsonl"), "the run reads this file", id="a file that the run reads"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_and_nothing_is_written(evalmark, ran, world, words, says):
    ran()
    before = {path.name: path.read_bytes() for path in world.iterdir() if path.is_file()}
    said = evalmark("report", *words)
    assert said.code == 2, said.text
    assert says in said.text
    assert "Traceback" not in said.text
    assert {path.name: path.read_bytes() for path in world.iterdir() if path.is_file()} == before


def told(world, name="all.json"):
    """The document of a merged run: its cases, and its notes."""
    document = json.loads((world / name).read_text(encoding="utf-8"))
    return [result["case"]["id"] for result in document["results"]], document["run"]["notes"]


def test_the_stores_of_two_shards_are_one_run(evalmark, ran, world):
    first, second = ran("ab", store="one.db"), ran("cd", wrong=1, store="two.db")
    said = evalmark("report", "one.db", "two.db", "-o", "all.json", "--min-pass-rate", "0.75")
    assert said.code == 0, said.text
    assert f"all.json: 4 results of {first}+{second}\n" in said.out
    cases, notes = told(world)
    assert (cases, notes) == (["a", "b", "c", "d"], [f"Merged from 2 runs: {first}, {second}."])
    assert evalmark("report", "one.db", "two.db", "-o", "all.json", "--min-pass-rate", "0.8").code == 1


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "md", "html", "junit.xml"])
def test_every_kind_of_file_takes_a_merged_run(evalmark, ran, world, ending):
    ran("ab", store="one.db")
    ran("cd", store="two.db", name="others")
    said = evalmark("report", "one.db", "two.db", "-o", f"all.{ending}")
    assert said.code == 0, said.text
    text = (world / f"all.{ending}").read_text(encoding="utf-8")
    assert "letters" in text
    assert "others" in text


def test_runs_of_several_stores_can_be_named_in_every_way(evalmark, ran, world):
    old = ran("a", store="one.db")
    ran("b", store="one.db")
    ran("c")
    said = evalmark("report", "last", f"one.db@{old}", "one.db@last", "one.db", "-o", "all.json")
    assert said.code == 0, said.text
    cases, notes = told(world)
    assert sorted(cases) == ["a", "b", "c"]
    assert notes[-1] == "1 trial occurs in several runs; the first occurrence counts."


def test_a_shard_that_broke_off_leaves_the_whole_undecided(evalmark, ran, world):
    ran("ab", store="one.db")
    broken = ran("cdef", store="two.db", name="others")
    with open_store("two.db") as store:
        store.amend(store.resume(broken))
    said = evalmark("report", "one.db", "two.db", "--to", "github", "--min-pass-rate", "0.5")
    assert said.code == 3, said.text
    assert f"({broken}" not in said.out
    assert "The run is incomplete" in said.out


@pytest.mark.parametrize(
    ("there", "words", "code", "says"),
    [
        pytest.param("1", ("--min-pass-rate", "0.5"), 3, "Missing: shards 2 to 3 of 3 are missing.", id="one is left, and all of it passed"),
        pytest.param("1", ("--max-errors", "0"), 3, "Missing: shards 2 to 3 of 3 are missing.", id="one is left, held to a gate without a rate"),
        pytest.param("2", ("--min-pass-rate", "0.5"), 3, "Missing: shards 1, 3 of 3 are missing.", id="the one in the middle is left"),
        pytest.param("13", ("--min-pass-rate", "0.5"), 3, "Missing: shard 2 of 3 is missing.", id="two are left"),
        pytest.param("123", ("--min-pass-rate", "0.5"), 0, "Gate passed: 6 of 6", id="all are there"),
    ],
)  # fmt: skip
def test_the_fewer_shards_are_left_the_less_a_gate_can_tell(evalmark, ran, there, words, code, says):
    ran("abcdef")
    for number in there:
        evalmark("run", "suite.json", "--shard", f"{number}/3", "--store", f"{number}.db", "-q")
    said = evalmark("report", *(f"{number}.db" for number in there), "--to", "github", *words)
    assert said.code == code, said.text
    assert says in said.out.splitlines()[-1]
    assert said.out.startswith("## ✅") == (code == 0)


def test_the_only_shard_is_the_whole(evalmark, ran):
    ran()
    evalmark("run", "suite.json", "--shard", "1/1", "--store", "1.db", "-q")
    assert evalmark("report", "1.db", "-o", "all.json", "--min-pass-rate", "1").code == 0


def test_a_store_without_runs_is_refused(evalmark, ran, world):
    ran("ab", store="one.db")
    open_store("empty.db").close()
    said = evalmark("report", "one.db", "empty.db", "--to", "github")
    assert said.code == 2
    assert "empty.db" in said.err


def test_nothing_that_a_target_answers_reaches_the_runner_as_a_command(evalmark, ran, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    ran("ab", target="bot:hostile")
    printed = [
        evalmark(*words) for words in (("run", "suite.json"), ("show", "--failed"), ("report", "--to", "github"))
    ]
    lines = [line.lstrip() for said in printed for line in said.text.splitlines()]
    assert not [line for line in lines if "##[" in line]
    commands = [line for line in lines if line.startswith("::")]
    assert [line.split(" ")[0] for line in commands] == ["::error"] * 3
    assert all("title=letters" in line or "file=letters.jsonl" in line for line in commands)
    assert any(": :error::pwned" in line for line in lines), "the text itself is still there"


def test_a_terminal_shows_such_texts_as_they_are(evalmark, ran):
    ran("a", target="bot:hostile")
    assert "##[add-path]/tmp" in evalmark("show", "--failed").out


@pytest.mark.parametrize(
    ("to", "begins"),
    [
        pytest.param("html", "<!doctype html>", id="HTML"),
        pytest.param("jsonl", '{"format":"evalmark-run"', id="JSONL"),
        pytest.param("csv", "dataset,case,repeat", id="CSV"),
        pytest.param("junit", "<?xml", id="JUnit"),
        pytest.param("md", "## ", id="Markdown"),
    ],
)
def test_without_a_file_a_report_goes_to_the_standard_output_and_nothing_else_does(evalmark, ran, world, to, begins):
    ran(wrong=1)
    said = evalmark("report", "--to", to, "--min-pass-rate", "0.9")
    assert said.out.startswith(begins)
    assert said.code == 1
    assert "Gate failed: " in said.err
    assert "Gate failed: " not in said.out or to in ("html", "md")
    evalmark("report", "--to", to, "-o", "report", "--min-pass-rate", "0.9")
    assert (world / "report").read_text(encoding="utf-8") == said.out


def test_a_page_beside_an_earlier_run_says_what_became_of_each_case(evalmark, ran, world):
    earlier = ran()
    ran(target="bot:hostile")
    assert evalmark("report", "--to", "html", "-o", "page.html", "--baseline", "last-green").code == 0
    page = (world / "page.html").read_text(encoding="utf-8")
    assert f"Against <bdi>{earlier}" in page
    assert page.count('data-w="worse"') == 4
    ran(target="bot:hostile", store="other.db")
    evalmark("report", earlier, "-o", "page.html", "-o", "page.json", "--baseline", "other.db@last")
    assert (world / "page.html").read_text(encoding="utf-8").count('data-w="better"') == 4
    assert json.loads((world / "page.json").read_text(encoding="utf-8"))["comparison"]["baseline"]["id"] != earlier


@pytest.mark.parametrize(
    ("baseline", "says"),
    [
        pytest.param("last", "is the run itself, so there is nothing to compare", id="the run itself"),
        pytest.param("last-green", "There is no earlier complete run of 'letters'", id="none was green"),
        pytest.param("none", "", id="none is wanted"),
    ],
)
def test_where_there_is_no_baseline_the_page_stands_without_one(evalmark, ran, world, baseline, says):
    ran(wrong=1)
    said = evalmark("report", "-o", "page.html", "--baseline", baseline)
    assert said.code == 0
    assert says in said.err
    assert 'id="against"' not in (world / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        pytest.param((), "20261121-101500-3f9a has no case.", id="no case"),
        pytest.param((True,), "No case of 20261121-101500-3f9a failed.", id="a case that passed"),
    ],
)
def test_where_no_failed_case_can_be_shown_it_says_why(evalmark, world, passed, said):
    run = Run(
        id="20261121-101500-3f9a",
        name="n",
        created="2026-11-21T10:15:00+00:00",
        results=[
            Result(
                trial=Trial(case=Case(id="a")),
                output=Output(value="b"),
                scores=(Score(name="m", value=1.0, passed=one),),
            )
            for one in passed
        ],
    )
    with open_store(".evalmark/evalmark.db") as store:
        store.add([run])
    assert evalmark("show", "last", "--failed").out.strip() == said
