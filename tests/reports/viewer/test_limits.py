"""The page of trends draws control limits, and the list of runs marks a run outside of them."""

import re
from dataclasses import replace

import pytest

from evalmark import Score
from evalmark.core.values.run import OUTSIDE_LIMITS, Metric
from evalmark.reports.viewer.urls.paths import run_path

from .conftest import a_run, from_browser, keep, shown
from .test_pages import words
from .test_run_changes import answered


@pytest.fixture
def fallen(store):
    """Ten runs with a pass rate of 90 %, and one with half of it."""
    for number in range(11):
        notes = (f"Warning: pass rate {OUTSIDE_LIMITS['worse']}: 45 %.",) if number == 10 else ()
        run = a_run(f"run-{number:02}", metrics=(Metric(name="correct"),), notes=notes)
        keep(store, run, answered(18 if number == 10 else 36, 40))
    return shown(store)


def test_the_chart_says_which_run_is_outside_of_which_limit(fallen):
    page = from_browser(fallen, "/trends?of=pass+rate").text
    assert re.search(
        r"worse 2026-11-21 10:15:00 UTC ?: pass rate 45 %, below the limit of [\d.]+ % from 10 earlier runs",
        words(page),
    )
    chart = page[page.index("Pass rate over runs") : page.index("</svg>", page.index("Pass rate over runs"))]
    assert "1 run outside of the control limits" in chart
    assert chart.count('class="cut"') >= 1
    assert chart.count('class="ring"') == 1
    assert len(re.findall("<title>[^<]*, control limits ", chart)) == 11
    assert "at most 5 %, over all runs of a series" in page


def test_a_run_outside_is_called_by_the_name_that_its_user_gave_it(store):
    for number in range(11):
        run = a_run(f"run-{number:02}", metrics=(Metric(name="correct"),), given_name=f"night {number}")
        keep(store, run, answered(18 if number == 10 else 36, 40))
    page = from_browser(shown(store), "/trends?of=pass+rate").text
    assert f'<a href="{run_path("run-10")}"><bdi>night 10</bdi></a>: pass rate 45\u00a0%, below' in page


def test_the_newest_run_outside_stands_above_the_charts(fallen):
    page = re.sub(r"<[^>]*>", "", from_browser(fallen, "/trends").text.partition('<ul class="panels"')[0])
    assert "worse 2026-11-21 10:15:00 UTC: pass rate 45\u00a0%, below the limit" in page


def test_the_time_in_a_sentence_about_limits_is_a_link_to_the_run_which_is_named_once(fallen):
    page = from_browser(fallen, "/trends").text
    (link,) = re.findall(rf'<a href="{run_path("run-10")}">(<time [^>]*>2026-11-21 10:15:00 UTC</time></a>[^<]*)', page)
    assert ": pass rate 45\u00a0%, below the limit" in link


def test_a_run_outside_of_several_limits_is_named_once(store):
    for number in range(11):
        polite = Score(name="polite", raw=0.2 if number == 10 else 0.9, value=0.2 if number == 10 else 0.9)
        results = [replace(one, scores=(*one.scores, polite)) for one in answered(18 if number == 10 else 36, 40)]
        metrics = (Metric(name="correct"), Metric(name="polite"))
        keep(store, a_run(f"run-{number:02}", metrics=metrics, given_name=f"night {number}"), results)
    (limits,) = re.findall(
        r'<section class="outside".*?</section>', from_browser(shown(store), "/trends").text, re.DOTALL
    )
    assert limits.count("night 10") == 1
    assert re.search(r"worse night 10 ?: pass rate 45 %, below .*; polite 0.200, below", words(limits))


def test_the_list_of_runs_marks_it_and_leads_to_the_chart(fallen):
    page = from_browser(fallen, "/").text
    (badge,) = re.findall(r'<a class="badge" href="([^"]*)"[^>]*>([^<]*)</a>', page)
    assert badge[1] == "worse than usual"
    assert "Control limits" in from_browser(fallen, badge[0].replace("&amp;", "&")).text


def test_all_suites_together_have_no_limits(fallen, store):
    keep(store, a_run("other", metrics=(Metric(name="correct"),), suite="other.yaml", name="other"), answered(3, 4))
    assert "Control limits" not in from_browser(fallen, "/trends?suite=*").text
