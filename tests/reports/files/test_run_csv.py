"""CSV: no cell is a formula, numbers are numbers, and nothing is lost for good."""

import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.score import Trial
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_csv import as_csv, guard_formula, unguard_formula
from tests.reports.text import judged
from tests.reports.text.example import RUN

STARTS = ["=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
PLACES = {
    "at the start": "",
    "after a newline": "a\n",
    "after a comma": "a,",
    "after a semicolon": "a;",
    "after a tab": "a\t",
    "quoted": '"',
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("start", STARTS)
def test_no_cell_can_begin_a_formula(start, place):
    text = PLACES[place] + start + "cmd|' /C calc'!A0"
    safe = guard_formula(text)
    assert unguard_formula(safe) == text
    for cell in (
        piece for line in safe.splitlines() for piece in line.replace(",", "\t").replace(";", "\t").split("\t")
    ):
        assert not cell.startswith(tuple(STARTS))


@pytest.mark.parametrize("number", ["-5", "+5", "-1.5e-3", "-.5"])
def test_a_number_written_as_text_stays_a_number(number):
    assert guard_formula(number) == number


@pytest.mark.parametrize("text", ["plain", "it's", "a - b", "1 + 1 = 2", "x@y.org", ""])
def test_ordinary_text_is_left_alone(text):
    assert guard_formula(text) == text


@given(st.text(st.sampled_from([*"=+-@\t\r\n',;a1 \uff1d"])) | st.text())
def test_the_guard_can_be_taken_off_again(text):
    assert unguard_formula(guard_formula(text)) == text


def rows(run, **options):
    return list(csv.reader(io.StringIO("".join(as_csv(run, options=ReportOptions(**options))), newline="")))


def result(value, *scores):
    return Result(
        trial=Trial(case=Case(id=str(value), input=value)), output=Output(value=value, seconds=0.5), scores=scores
    )


def test_one_row_a_trial_and_five_columns_a_metric():
    header, *body = rows(RUN)
    assert len(body) == len(RUN.results)
    assert all(len(row) == len(header) == 10 + 5 * 4 + 3 for row in body)
    assert header[10:15] == [f"answer_correctness {part}" for part in ("value", "raw", "passed", "status", "reason")]


def test_numbers_are_bare_and_truth_values_are_words():
    run = Run(id="r", name="", created="", results=(result(-2.5, Score(name="m", raw=-3, value=0.25, passed=False)),))
    lines = "".join(as_csv(run)).splitlines()
    assert lines[1] == ",-2.5,0,,fail,0.5,,-2.5,,-2.5,0.25,-3,false,scored,,single,,"


def test_raw_keeps_every_character():
    text = "=1\x00\x1b[31m\n'\ud800"
    run = Run(id="r", name="", created="", results=(result(text),))
    assert rows(run, raw=True)[1][9] == text
    assert rows(run)[1][9] == "'=1\n''\ufffd"


def test_without_times_there_is_no_column_for_them():
    assert "seconds" in rows(RUN)[0]
    assert not {"seconds", "waited"} & set(rows(RUN, times=False)[0])


def test_where_an_error_was_raised_and_how_long_an_answer_waited_stand_last():
    late = Output(value="a", seconds=0.5, waited=2.0)
    broken = Output(error="NameError: x", metadata={"raised_at": "bot.py:3"})
    trial = Trial(case=Case(id="1"))
    header, *body = rows(
        Run(id="r", name="", created="", results=[Result(trial=trial, output=o) for o in (late, broken)])
    )
    assert header[-2:] == ["waited", "raised_at"]
    assert [row[-2:] for row in body] == [["2.0", ""], ["", "bot.py:3"]]


def test_a_metric_that_only_some_trials_have_leaves_cells_empty():
    results = (result("a", Score(name="m", value=1.0)), result("b", Score(name="=n", value=0.5)))
    header, first, second = rows(replace(RUN, metrics=(), results=results))
    assert header[10::5] == ["m value", "'=n value", "mode"]
    assert first[10:] == ["1.0", "", "", "scored", "", *[""] * 5, "single", "", ""]
    assert second[10:] == [*[""] * 5, "0.5", "", "", "scored", "", "single", "", ""]


def test_the_mode_and_the_judges_stand_behind_all_other_columns():
    header, *body = rows(judged.RUN)
    names = [metric.name for metric in judged.METRICS]
    last = ["waited", "raised_at"]
    assert header[10 + 5 * len(names) :] == ["mode", *(f"{name} judge" for name in names if name != "edits"), *last]
    assert body[0][-9:-2] == ["single", judged.SMALL, judged.LARGE, *[judged.SMALL] * 3, judged.LARGE]
    assert body[-1][-9:-2] == ["conversation", judged.SMALL, *[""] * 5]
