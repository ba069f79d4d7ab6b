"""JUnit XML: valid, counted right, and every ending in its place."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.score import Trial
from evalmark.reports.files.junit import as_junit
from evalmark.reports.files.options import ReportOptions
from tests.reports.text import judged, sides
from tests.reports.text.example import HOSTILE, RUN

SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "junit.xsd")
EMPTY = Run(id="r", name="n", created="2026-11-21T00:00:00+00:00")


def tree(run, **options):
    return ElementTree.fromstring("".join(as_junit(run, options=ReportOptions(**options))))  # noqa: S314  our own text


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize(
    "run",
    [
        RUN,
        EMPTY,
        replace(RUN, gate=Gate(min_pass_rate=0.1)),
        judged.RUN,
        replace(judged.RUN, gate=Gate(thresholds={"polite": 0}, max_unscored=9)),
    ],
    ids=["full", "empty", "lenient", "judged", "judged, and passed"],
)
def test_the_file_is_valid(run, times):
    SCHEMA.validate("".join(as_junit(run, options=ReportOptions(times=times))))


def test_the_schema_refuses_what_ci_servers_do():
    text = "".join(as_junit(RUN))
    assert not SCHEMA.is_valid(text.replace(' skipped="', ' skips="'))
    assert not SCHEMA.is_valid(text.replace("<failure ", "<failed ").replace("</failure>", "</failed>"))


@pytest.mark.parametrize("run", [RUN, judged.RUN, sides.RUN], ids=["full", "judged", "with tests that do not count"])
def test_the_counts_are_those_of_the_elements(run):
    root = tree(run)
    for suite in [root, *root.findall("testsuite")]:
        found = {
            name: len(list(suite.iter(tag)))
            for name, tag in (
                ("tests", "testcase"),
                ("failures", "failure"),
                ("errors", "error"),
                ("skipped", "skipped"),
            )
        }
        assert {name: int(suite.get(name)) for name in found} == found
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("scores", "error", "tag", "message"),
    [
        pytest.param(
            [Score(name="m", value=0.2, passed=False, reason="off")],
            None,
            "failure",
            "m: 0.200. off",
            id="a failed score",
        ),
        pytest.param([], "TimeoutError: 30 s", "error", "TimeoutError: 30 s", id="a failed target"),
        pytest.param(
            [Score(name="m", status="error", reason="boom")], None, "error", "m: error. boom", id="a broken scorer"
        ),
        pytest.param(
            [Score(name="m", status="unscored", reason="empty")], None, "skipped", "m: unscored. empty", id="unscored"
        ),
        pytest.param([Score(name="m", value=1.0, passed=True)], None, None, None, id="passed"),
        pytest.param([Score(name="m", value=1.0)], None, None, None, id="ungated"),
    ],
)
def test_how_a_trial_ended(scores, error, tag, message):
    result = Result(trial=Trial(case=Case(id="c")), output=Output(error=error), scores=tuple(scores))
    case = next(tree(replace(EMPTY, results=(result,))).iter("testcase"))
    endings = [child for child in case if child.tag in ("failure", "error", "skipped")]
    assert [(e.tag, e.get("message")) for e in endings] == ([(tag, message)] if tag else [])


@pytest.mark.parametrize(
    ("gate", "tag"),
    [
        (Gate(min_pass_rate=0.1, max_errors=9, max_unscored=9), None),
        (Gate(min_pass_rate=0.1), "error"),
        (Gate(min_pass_rate=0.99), "failure"),
    ],
    ids=["passed", "cannot tell", "failed"],
)
def test_the_gate_is_the_last_test_case(gate, tag):
    case = list(tree(replace(RUN, gate=gate)).iter("testcase"))[-1]
    assert (case.get("classname"), case.get("name"), [child.tag for child in case]) == (
        "evalmark",
        "gate",
        [tag] if tag else [],
    )


def test_scores_are_properties():
    case = next(tree(RUN).iter("testcase"))
    assert {p.get("name"): p.get("value") for p in case.iter("property")} == {
        "score.answer_correctness": "0.93",
        "score.answer_hallucination": "0.0",
        "score.edits": "8.0",
        "score.mentions_source": "1.0",
    }


def test_what_calls_came_to_are_properties_of_the_gate():
    case = list(tree(judged.RUN).iter("testcase"))[-1]
    found = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert found["spent.ollama/llama3"] == "5 calls · tokens unknown · price unknown for 5 calls"
    assert not list(list(tree(judged.RUN, times=False).iter("testcase"))[-1].iter("property"))


@given(st.text())
def test_any_text_makes_a_valid_file(text):
    score = Score(name=text, value=0.0, passed=False, reason=text)
    result = Result(
        trial=Trial(case=Case(id=text, input=text), dataset=text, target=text),
        output=Output(value=text),
        scores=(score,),
    )
    SCHEMA.validate("".join(as_junit(replace(EMPTY, name=text, results=(result,)))))


def test_hostile_text_stays_text():
    (case,) = (c for c in tree(RUN).iter("testcase") if "HYPERLINK" in c.get("name"))
    assert "<script>" in case.find("system-out").text
    assert len(list(case.iter("script"))) == 0
    assert "\x1b" in HOSTILE


def test_trials_left_out_of_the_headline_are_skipped_and_say_why():
    (suite, _) = tree(sides.RUN).findall("testsuite")
    said = [case.find("skipped").get("message") for case in suite.iter("testcase") if "rule-2" in case.get("name")]
    assert said[:3] == [
        "left out of the headline (not valid): pass",
        "left out of the headline (not valid): fail; compliance: no. As the rules say.",
        "left out of the headline (not valid): fail; compliance: no. As the rules say.",
    ]
