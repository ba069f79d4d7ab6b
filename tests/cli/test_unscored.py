"""A suite without metrics: outputs to look at, side by side, that nothing calls good."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from evalmark.testing.scripted import ScriptedReply, ScriptedServer
from tests.importing import own_imports

CASES = """\
- {id: a, input: What is the capital of Norway?, expected: Oslo}
- {id: b, input: What is the capital of Peru?, expected: Lima}
"""
TARGET = (
    "def answer(question):\n    return 'It is Oslo.'\n\n\ndef broken(question):\n    raise ValueError('no route')\n"
)


@pytest.fixture
def suite(world):
    """Write a suite of a Python target without metrics, with further lines."""

    def write(*lines: str, target: str = "bot:answer") -> None:
        (world / "evalmark.yaml").write_text(
            "\n".join(["name: capitals", "datasets: cases.yaml", f"target: {target}", *lines])
        )
        (world / "cases.yaml").write_text(CASES)
        (world / "bot.py").write_text(TARGET)

    return write


@pytest.fixture
def models(world, monkeypatch):
    """Two models behind a server, asked by a suite without metrics; gives the server."""
    with ScriptedServer(lambda said: ScriptedReply(text=f"{said.model} answers")) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        (world / "evalmark.yaml").write_text(
            "name: capitals\ndatasets: cases.yaml\ntarget: {models: [openai/one, openai/two]}\n"
        )
        (world / "cases.yaml").write_text(CASES)
        yield server


def test_a_run_without_metrics_shows_the_outputs_and_is_neither_passed_nor_failed(evalmark, suite):
    suite()
    said = evalmark("run")
    assert said.code == 0
    assert "· not scored" in said.out
    assert "The run has no metrics, so no output was scored and nothing was gated." in said.out
    assert said.out.count("It is Oslo.") == 2
    assert "passed" not in said.out
    assert "worst" not in said.out
    assert "2 outputs" not in said.out  # they follow


ENDINGS = [
    pytest.param([], "bot:answer", 0, "not scored", id="no gate: nothing was asked for"),
    pytest.param(["metrics:"], "bot:answer", 0, "not scored", id="metrics that are all commented out"),
    pytest.param(["gate: {min_pass_rate: 0.9}"], "bot:answer", 3, "cannot tell", id="a gate that nothing can hold"),
    pytest.param(["gate: {min_score: 0.9}"], "bot:answer", 3, "cannot tell", id="a gate on means"),
    pytest.param([], "bot:broken", 3, "cannot tell", id="errors are errors"),
    pytest.param(["gate: {max_errors: 2}"], "bot:broken", 3, "cannot tell", id="no output at all"),
    pytest.param(
        ["gate: {thresholds: {equals: 1}}"], "bot:answer", 2, "the run has no metrics", id="a threshold of no metric"
    ),
]


@pytest.mark.parametrize(("lines", "target", "code", "word"), ENDINGS)
def test_the_exit_code_of_a_run_without_metrics(evalmark, suite, lines, target, code, word):
    suite(*lines, target=target)
    said = evalmark("run")
    assert (said.code, word in said.text) == (code, True), said.text


def test_the_outputs_are_scored_afterwards_without_a_call_of_the_target(evalmark, world, suite):
    suite()
    evalmark("run")
    (world / "bot.py").write_text("raise RuntimeError('called')\n")
    with own_imports(world):
        scored = evalmark("rescore", "--metric", "contains")
    assert (scored.code, "1 of 2 passed" in scored.out) == (1, True), scored.text
    refused = evalmark("rescore", "last~1")
    assert (refused.code, refused.err) == (
        2,
        "evalmark.yaml: the suite has no metrics; add some under `metrics`, or name one with --metric.\n",
    )


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_two_models_stand_side_by_side_for_each_case(evalmark, models, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    said = evalmark("run")
    assert said.code == 0
    assert all(len(line) <= int(width) for line in said.out.splitlines())
    lines = said.out.splitlines()
    if width == "60":
        where = lines.index("    a")
        assert [line.split() for line in lines[where + 2 : where + 4]] == [
            ["openai/one", "one", "answers"],
            ["openai/two", "two", "answers"],
        ]
    else:
        assert any(line.split()[-2:] == ["openai/one", "openai/two"] and "case" in line for line in lines)
        assert sum("one answers" in line and "two answers" in line for line in lines) == 2
    assert evalmark("show", "last").out == said.out


def test_more_cases_than_fit_are_counted_and_repeats_are_said(evalmark, world, suite):
    suite("repeat: 2")
    (world / "cases.yaml").write_text("".join(f"- {{id: c{number}, input: q}}\n" for number in range(23)))
    said = evalmark("run")
    assert said.out.count("It is Oslo.") == 20
    assert "3 more cases; all of them: evalmark view" in said.out
    assert "The first of 2 repeats is shown." in said.out


def test_an_error_stands_where_the_output_would(evalmark, suite):
    suite("gate: {max_errors: 2}", target="bot:broken")
    assert "no route" in evalmark("run").out


def test_no_report_calls_the_outputs_passed(evalmark, world, models):
    names = ("r.json", "r.md", "r.html", "r.junit.xml")
    said = evalmark("run", "-q", *(word for name in names for word in ("-o", name)))
    assert said.code == 0
    assert json.loads((world / "r.json").read_text())["gate"] == {
        "outcome": None,
        "reasons": ["The run has no metrics, so no output was scored and nothing was gated."],
        "exit_code": 0,
    }
    markdown = (world / "r.md").read_text()
    assert markdown.startswith("## ⚪ capitals: not scored")
    assert "| a | What is the capital of Norway? | one answers | two answers |" in markdown
    page = (world / "r.html").read_text()
    assert "not scored" in page
    assert "The worst" not in page
    junit = ElementTree.parse(world / "r.junit.xml").getroot()  # noqa: S314  our own file
    cases = list(junit.iter("testcase"))
    assert (junit.get("tests"), junit.get("skipped"), len(cases)) == ("5", "5", 5)
    assert all(case.find("skipped") is not None for case in cases)
    assert evalmark("report", "last", "--to", "github").out.startswith("## ⚪ capitals: not scored")


def test_a_gate_without_metrics_and_a_shard_show_the_outputs_as_well(evalmark, suite):
    suite("gate: {min_pass_rate: 0.9}")
    assert "worst cases" not in evalmark("run").out
    suite()
    for shard in ("1/2", "2/2"):
        said = evalmark("run", "--shard", shard)
        assert (said.code, "worst cases" in said.out, "It is Oslo." in said.out) == (0, False, True), said.text
    merged = evalmark("merge", "last", "last~1")
    assert (merged.code, "· not scored" in merged.out) == (0, True), merged.text


def test_outputs_are_shown_beside_errors_and_the_list_hides_no_error(evalmark, world, suite):
    suite(target="bot:sometimes")
    with (world / "bot.py").open("a") as file:
        file.write(
            "\n\ndef sometimes(question):\n    return answer(question) if 'Peru' in question else broken(question)\n"
        )
    said = evalmark("run", "-o", "r.md")
    assert (said.code, "It is Oslo." in said.out, "--metric NAME" in said.out) == (3, True, True)
    for report in (
        (world / "r.md").read_text(),
        evalmark("report", "last", "--to", "github").out,
        evalmark("report", "last", "--to", "github-comment").out,
    ):
        assert "| b | What is the capital of Peru? | It is Oslo. |" in report
        assert "(ungated)" not in report
    assert [run["verdict"] for run in json.loads(evalmark("list", "--json").out)] == ["cannot tell"]


def test_validate_says_that_nothing_will_be_scored(evalmark, suite):
    suite()
    said = evalmark("validate")
    assert (said.code, "note: The suite has no metrics, so its outputs are not scored." in said.out) == (0, True)


@pytest.mark.parametrize(("to", "code"), [("github-models", 2), ("openai-evals", 2), ("promptfoo", 0), ("jsonl", 0)])
def test_a_format_that_would_call_the_outputs_passed_is_refused(evalmark, world, suite, to, code):
    suite()
    evalmark("run")
    said = evalmark("export", "last", "--to", to, "-o", "out")
    assert (said.code, f"{to} calls every output passed or failed" in said.err) == (code, code == 2), said.text
    assert (world / "out").exists() == (code == 0)


def test_runs_without_metrics_are_not_compared_unless_their_outputs_are_equal(evalmark, world, suite):
    suite()
    evalmark("run")
    assert "All outputs and all scores are identical." in evalmark("run", "--baseline", "last").out
    (world / "cases.yaml").write_text(CASES.replace("Peru", "Chile"))
    evalmark("run")
    said = evalmark("compare", "last", "last~1")
    assert (said.code, "? cannot tell" in said.out) == (3, True), said.text


def test_a_run_without_metrics_is_no_run_that_passed(evalmark, suite):
    suite()
    evalmark("run")
    suite("metrics: [contains]")
    found = evalmark("run", "--baseline", "last-green")
    assert "There is no earlier complete run of 'capitals' whose gate passed" in found.err
    assert "last-green" not in evalmark("delete", "last~1").out


def test_a_trend_of_runs_without_metrics_says_what_to_do(evalmark, suite):
    suite()
    evalmark("run")
    for words in ([], ["--metric", "all"], ["--to", "json"]):
        found = evalmark("trend", *words)
        assert (found.code, "Score them first: evalmark rescore" in found.err) == (2, True), found.text


def test_validate_notes_a_judge_that_the_suite_does_not_name(evalmark, world, monkeypatch):
    monkeypatch.delenv("EVALMARK_JUDGE", raising=False)
    (world / "cases.jsonl").write_text('{"input": "a", "output": "b"}\n')
    suite = 'name: s\ndatasets: [cases.jsonl]\nmetrics:\n  - criteria: {criteria: "is polite"}\n'
    (world / "judged.yaml").write_text(suite)
    said = evalmark("validate", "judged.yaml")
    assert (said.code, "note: criteria needs a judge, which the suite does not name" in said.out) == (0, True)
    (world / "judged.yaml").write_text(suite + "judge: openai/judge\n")
    assert "judge, which" not in evalmark("validate", "judged.yaml").out
