"""The page of a case says how the same case went in other runs of its suite."""

import re
from dataclasses import replace

import pytest

from evalmark import Output, Score
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer.urls.paths import case_path
from evalmark.storage.queries.pages import TargetCase

from .conftest import a_run, keep, result, shown
from .test_pages import page, words


def history(text: str) -> list[str]:
    """The rows of the table of other runs, without its head."""
    found = re.search(r'<table class="past.*?</table>', text, re.DOTALL)
    return [words(row) for row in re.findall(r"<tr>(.*?)</tr>", found[0], re.DOTALL)[1:]] if found else []


def at(store, run_id: str) -> str:
    """The path of the first case of a run."""
    (several,) = store.results_of_case({run_id: case_of(result(0))}).values()
    return case_path(run_id, several[0].number)


def case_of(one):
    return TargetCase(one.trial.dataset, one.trial.case.id, one.trial.target, one.trial.mode)


def day(number: int) -> dict[str, str]:
    return {"run_id": f"run-{number}", "given_name": f"day {number}", "created": f"2026-11-{number:02}T10:15:00+00:00"}


def passing(number: int):
    made = result(number)
    return replace(made, scores=tuple(replace(score, passed=True) for score in made.scores))


def test_runs_of_the_suite_before_and_after_are_listed_with_verdict_scores_and_output(store):
    broken = replace(result(0), output=Output(error="TimeoutError: slow"), scores=())
    keep(store, a_run(**day(1)), [passing(0)])
    keep(store, a_run(**day(2)), [broken])
    keep(store, a_run(**day(3)), [result(0)])
    keep(store, a_run(**day(4)), [replace(result(0), output=Output(value="It is naught."))])
    app = shown(store)
    assert history(page(app, at(store, "run-3"))) == [
        "day 4 after this run ✗ failed ✗ failed 0.250 · ungated 4 of 1..5 (0.75) It is naught.",
        f"day 2 ! error {DASH} {DASH} TimeoutError: slow",
        "day 1 ✓ passed ✓ passed 0.250 ✓ passed 4 of 1..5 (0.75) the same output",
    ]


def scored(**passed: bool | None):
    scores = tuple(Score(name=name, value=0.5, passed=each) for name, each in passed.items())
    return replace(result(0), scores=scores)


@pytest.mark.parametrize(
    ("here", "there", "heads", "row"),
    [
        pytest.param(
            {"a": None, "b": True, "c": False}, {"a": None, "b": True, "c": True}, "c b a", "✓ passed", id="in columns"
        ),
        pytest.param(
            {"a": True, "b": True, "c": True, "d": True},
            {"a": True, "b": True, "c": True, "d": False},
            "a b c",
            "✗ failed because of d",
            id="the metric that decided has no column",
        ),
        pytest.param({}, {"a": None, "b": True}, "b a", "✓ passed", id="no score here"),
    ],
)
def test_metrics_that_decided_come_first_and_others_are_named(store, here, there, heads, row):
    keep(store, a_run(**day(1)), [scored(**there)])
    keep(store, a_run(**day(2)), [scored(**here)])
    text = page(shown(store), at(store, "run-2"))
    assert words(re.search(r'<table class="past.*?</thead>', text, re.DOTALL)[0]) == f"Run, UTC Verdict {heads} Output"
    assert history(text)[0].startswith(f"day 1 {row}")


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        pytest.param((True, False, True), "other runs: 2 of 3 passed", id="of all"),
        pytest.param((True, None), "other runs: 1 of 1 passed", id="one without a verdict does not count"),
        pytest.param((None,), "", id="none with a verdict"),
    ],
)
def test_a_case_counts_the_other_runs_that_it_passed(store, verdicts, sentence):
    for number, passed in enumerate(verdicts, start=1):
        keep(store, a_run(**day(number)), [scored(a=passed)])
    keep(store, a_run(**day(9)), [scored(a=False)])
    text = words(page(shown(store), at(store, "run-9")))
    assert sentence in text
    assert text.count("other runs:") == bool(sentence)


@pytest.mark.parametrize(
    ("fields", "one"),
    [
        pytest.param({"name": "cubes"}, result(0), id="a run of another suite"),
        pytest.param({}, result(1), id="a run without the case"),
        pytest.param({"target": "app:answer, app:other"}, result(0, "app:other"), id="another one of several targets"),
    ],
)
def test_other_cases_are_not_listed(store, fields, one):
    keep(store, a_run(**day(1), **fields), [one])
    keep(store, a_run(**day(2)), [result(0)])
    assert history(page(shown(store), at(store, "run-2"))) == []


def test_the_only_target_of_a_run_may_have_changed_and_is_named(store):
    keep(store, a_run(**day(1), target="app:before"), [result(0, "app:before")])
    keep(store, a_run(**day(2)), [result(0)])
    (row,) = history(page(shown(store), at(store, "run-2")))
    assert row.startswith("day 1 target app:before ✗ failed")


def test_an_edited_case_says_so(store):
    edited = replace(result(0), trial=replace(result(0).trial, case=replace(result(0).trial.case, expected="1")))
    keep(store, a_run(**day(1)), [edited])
    keep(store, a_run(**day(2)), [result(0)])
    (row,) = history(page(shown(store), at(store, "run-2")))
    assert "another input or expected output" in row


def test_repeats_stand_in_one_row_and_the_first_that_did_not_pass_is_shown(store):
    good, bad = passing(0), replace(result(0, repeat=1), output=Output(value="Odd."))
    keep(store, a_run(**day(1), repeat=2), [good, bad])
    keep(store, a_run(**day(2)), [result(0)])
    text = page(shown(store), at(store, "run-2"))
    (row,) = history(text)
    assert row.startswith("day 1 ✓ passed repeat 1 ✗ failed repeat 2")
    assert row.endswith("Odd.")


def test_of_many_runs_those_around_it_are_listed(store):
    for number in range(1, 20):
        keep(store, a_run(**day(number)), [result(0)])
    rows = history(page(shown(store), at(store, "run-12")))
    assert [row.split()[1] for row in rows] == ["15", "14", "13", "11", "10", "9", "8", "7", "6", "5"]


def test_a_run_that_was_deleted_meanwhile_is_left_out(store):
    keep(store, a_run(**day(1)), [result(0)])
    assert list(store.results_of_case({"run-1": case_of(result(0)), "gone": case_of(result(0))})) == ["run-1"]
