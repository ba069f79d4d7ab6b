"""The page of trends draws control limits, and the list of runs marks a run outside of them."""

import re

import pytest

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
    assert re.search(r"worse run-10 ?: pass rate 45 %, below the limit of [\d.]+ % after 10 runs", words(page))
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
    assert "worse run-10: pass rate 45\u00a0%, below the limit" in page


def test_the_id_in_a_sentence_about_limits_is_a_link_to_the_run(fallen):
    page = from_browser(fallen, "/trends").text
    assert f'<a href="{run_path("run-10")}"><code>run-10</code></a>: pass rate 45\u00a0%, below the limit' in page


def test_the_list_of_runs_marks_it_and_leads_to_the_chart(fallen):
    page = from_browser(fallen, "/").text
    (badge,) = re.findall(r'<a class="badge" href="([^"]*)"[^>]*>([^<]*)</a>', page)
    assert badge[1] == "worse than usual"
    assert "Control limits" in from_browser(fallen, badge[0].replace("&amp;", "&")).text


def test_all_suites_together_have_no_limits(fallen, store):
    keep(store, a_run("other", metrics=(Metric(name="correct"),), suite="other.yaml", name="other"), answered(3, 4))
    assert "Control limits" not in from_browser(fallen, "/trends?suite=*").text
