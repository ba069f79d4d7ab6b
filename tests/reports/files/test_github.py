"""For GitHub: a summary that nobody's text can break and that fits, and commands that only we give."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.score import Trial
from evalmark.reports.files.github import LIMIT, LISTED, annotations, as_github
from evalmark.reports.files.options import ReportOptions
from evalmark.stats.summary.summarise import summarise
from tests.reports.text import judged
from tests.reports.text.example import RUN, everywhere

from .test_run_html import PAYLOADS, Page
from .test_run_markdown import ALLOWED, MARKS

COMMANDS = [
    "::set-output name=x::y",
    "::error::x",
    "a\n::add-mask::a",
    "a\r\n  ::stop-commands::t",
    "a\u2028::error::x",
    "##[error]x",
    "x ##[add-mask]a",
    "%0A::error::x",
    ":::error::",
    "#12",
    "GH-12",
    "org/team#3",
    "@org/team",
    "www.example.com",
    "mailto:a@b.c",
]


def summary(run, **options):
    return "".join(as_github(run, **options))


def read(line):
    """A command as the runner reads it: its name, its properties and its text."""
    said = line.lstrip()
    assert said.startswith("::")
    head, _, text = said[2:].partition("::")
    name, _, rest = head.partition(" ")
    pairs = (part.split("=", 1) for part in rest.strip().split(",") if part)
    return name, {key: undone(value, (":", "%3A"), (",", "%2C")) for key, value in pairs}, undone(text)


def undone(text, *more):
    for plain, written in (("\r", "%0D"), ("\n", "%0A"), *more, ("%", "%25")):
        text = text.replace(written, plain)
    return text


def page(run):
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return Page(parser.render(summary(run)))


@pytest.mark.parametrize("payload", PAYLOADS + MARKS + COMMANDS)
def test_text_in_any_place_is_only_text(payload):
    clean, found = page(everywhere("x")), page(everywhere(payload))
    assert {tag for tag, _ in found.tags} <= ALLOWED
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in clean.tags]


@pytest.mark.parametrize("payload", COMMANDS)
def test_a_summary_that_is_printed_commands_nothing(payload):
    text = summary(everywhere(payload))
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in text


@pytest.mark.parametrize("name", ["@someone", "@org/team", "#12", "org/repo#12", "GH-12", "www.example.com"])
def test_nobody_is_told_and_nothing_is_linked(name):
    assert name not in summary(everywhere(name))
    assert name in "".join(page(everywhere(name)).text)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_annotations_of_any_text_are_one_command_each_with_nothing_added(text):
    for line in annotations(everywhere(text)):
        name, properties, _ = read(line)
        assert len(line.splitlines()) == 1
        assert name in ("error", "warning")
        assert set(properties) <= {"file", "line", "title"}


def of(*scores, gate=None, **fields):
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{i}", input="asked", **fields), dataset="d", position=i),
            output=Output(value="said"),
            scores=(Score(name="m", raw=value, value=value, passed=value > 0.5, reason="why: a, b\n100 %"),),
        )
        for i, value in enumerate(scores)
    ]
    return Run(id="r", name="bot", created="2026-11-21T10:15:00Z", results=results, gate=gate)


@pytest.mark.parametrize(
    ("place", "where"),
    [
        pytest.param("cases.jsonl:7", {"file": "cases.jsonl", "line": "7"}, id="file and line"),
        pytest.param("a, b/c%d.csv:12", {"file": "a, b/c%d.csv", "line": "12"}, id="a name with signs that mean something"),
        pytest.param("C:\\x\\cases.csv:3", {"file": "C:\\x\\cases.csv", "line": "3"}, id="a drive"),
        pytest.param("", {}, id="no place"),
        pytest.param("cases.parquet row 3", {}, id="a place without a line"),
        pytest.param("x:1,title=y::z:9", {"file": "x:1,title=y::z", "line": "9"}, id="a name that tries"),
    ],
)  # fmt: skip
def test_an_annotation_points_where_the_case_stands(place, where):
    _, line = annotations(of(0.2, place=place))
    said = "m: 0.200. why: a, b\n100 %\noutput: said"
    assert read(line) == ("error", where | {"title": "c0: fail"}, said)


def test_the_gate_comes_first_then_the_worst_and_no_more_than_github_shows():
    lines = [read(line) for line in annotations(of(*(n / 100 for n in range(40))))]
    assert len(lines) == 10
    assert lines[0] == ("error", {"title": "bot: failed"}, "40 of 40 judged trials failed.")
    assert [properties["title"] for _, properties, _ in lines[1:4]] == ["c0: fail", "c1: fail", "c2: fail"]


def test_what_a_gate_lets_pass_is_a_warning():
    levels = [read(line)[0] for line in annotations(of(0.2, 0.9, gate=Gate(min_pass_rate=0.5)))]
    assert levels == ["warning"]
    assert annotations(of(0.9, 0.9)) == []


def test_a_long_reason_is_cut():
    run = of(0.1)
    score = replace(run.results[0].scores[0], reason="x" * 10_000)
    run = replace(run, results=[replace(run.results[0], scores=(score,))])
    assert len(annotations(run)[1]) < 1_200


def test_the_verdict_its_reasons_and_the_figures_come_before_any_case():
    text = summary(RUN)
    places = [
        text.index(said)
        for said in (
            "## ❌ mountain bot: failed",
            "- 14 of 18 judged",
            "77.8 % (",
            "| metric |",
            "### Did not pass",
        )
    ]
    assert places == sorted(places)
    assert "### Model calls" in summary(judged.RUN)
    assert summary(judged.RUN).index("### Model calls") < summary(judged.RUN).index("### Did not pass")


def test_how_many_cases_are_listed_is_said():
    text = summary(of(*[0.1] * 60))
    assert text.count("<details>") == LISTED
    assert f"### Did not pass: the worst {LISTED} of 60" in text
    assert "### Did not pass\n" in summary(of(0.1, 0.9))
    assert "### Did not pass" not in summary(of(0.9))


def test_a_case_shows_the_scores_that_decided_first_and_says_how_many_more_there_are():
    scores = [Score(name=f"s{n}", raw=1.0, value=1.0, passed=True) for n in range(50)]
    scores.append(Score(name="bad", raw=0.0, value=0.0, passed=False))
    trial = Trial(case=Case(id="c"), dataset="d")
    text = summary(replace(of(), results=[Result(trial=trial, output=Output(value=""), scores=tuple(scores))]))
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert lines[1].startswith("- bad: 0.000")
    assert lines[-1] == "- and 21 more scores"


def huge():
    return replace(
        RUN, results=[replace(RUN.results[6], output=replace(RUN.results[6].output, value="ä" * 100_000))] * 99
    )


@pytest.mark.parametrize("budget", [LIMIT, 20_000, 3_000, 400, 0])
def test_a_summary_has_no_more_bytes_than_there_is_room_and_ends_with_a_whole_part(budget):
    text = summary(huge(), budget=budget)
    assert len(text.encode()) <= budget
    assert text.count("<details>") == text.count("</details>")
    assert budget == LIMIT or not text or "The rest is left out" in text


def test_many_metrics_with_long_reasons_fit_the_limit():
    long = Score(name="n" * 500, raw=0.1, value=0.1, passed=False, reason="ß" * 5_000)
    result = replace(RUN.results[0], scores=tuple(replace(long, name=f"{long.name}{n}") for n in range(40)))
    text = summary(replace(RUN, results=[result] * 60, metrics=()))
    assert 500_000 < len(text.encode()) <= LIMIT


def test_a_run_without_cases_says_so():
    run = of()
    assert "- No cases ran." in summary(run)
    assert [read(line) for line in annotations(run)] == [("error", {"title": "bot: cannot tell"}, "No cases ran.")]


def test_the_figures_are_not_found_twice():
    found = summarise(RUN)
    assert "14 of 18" in summary(replace(RUN, results=()), summary=found)
    assert annotations(replace(RUN, results=()), found) == annotations(RUN)


def test_without_times_two_runs_of_the_same_give_the_same_summary():
    later = replace(judged.RUN, id="x", created="y", spending=())
    first, again = (summary(run, options=ReportOptions(times=False)) for run in (judged.RUN, later))
    assert first == again
    assert "Model calls" not in first
