"""The page of a suite: each measure over its runs as a small chart, and a way from there to a run."""

import re
from dataclasses import replace

import pytest

from evalmark import Score
from evalmark.core.values.run import Gate, Metric
from evalmark.core.values.spending import Spending
from evalmark.reports.html.trend_panels import PanelPoint, PanelRun, TrendPanel, draw_panel, newest_point
from evalmark.reports.viewer.urls.paths import run_path

from .conftest import a_run, keep, result, shown
from .test_pages import page, words

RUNS = [f"2026111{day}-101500-3f9a" for day in range(5)]


def suite_run(number, **fields):
    created = f"2026-11-1{number}T10:15:00+00:00"
    return a_run(RUNS[number], suite="faq.yaml", created=created, gate=Gate(min_pass_rate=0.6), **fields)


@pytest.fixture
def pages(store):
    for number in range(5):
        first = 0 if number < 4 else 1
        keep(store, suite_run(number), [result(3 * case if first else case) for case in range(9)])
    return shown(store)


def cards(text):
    return dict(
        re.findall(r'<li class="panel-card">\s*<h2>(?:<a[^>]*><bdi>)?([^<]*).*?<svg(.*?)</svg>', text, re.DOTALL)
    )


def test_every_measure_of_a_suite_is_a_small_chart_and_each_column_a_link_to_its_run(pages):
    text = page(pages, "/trends?suite=faq.yaml")
    panels = cards(text)
    assert [*panels] == [
        "Pass rate",
        "similarity",
        "correct",
        "Cost of a trial",
        "Tokens of a trial",
        "Time of an output",
    ]
    for picture in panels.values():
        assert re.findall(r'<a href="([^"]*)" tabindex="-1"', picture) == [run_path(run) for run in RUNS]
    assert len(re.findall('class="failed-run"', panels["Pass rate"])) == 1
    assert re.search(r"squares, 2026-11-14T10:15:00\+00:00: 0.0 % [^<]*gate failed", panels["Pass rate"])
    assert "$0.00047" in panels["Cost of a trial"]
    assert "4 tokens" in panels["Tokens of a trial"]


def test_of_very_many_metrics_the_first_fifty_have_small_charts_and_the_others_are_chosen(store):
    names = [f"m{number}" for number in range(53)]
    scores = tuple(Score(name=name, raw=0.5, value=0.5) for name in names)
    metrics = tuple(Metric(name=name) for name in names)
    keep(store, suite_run(0, metrics=metrics), [replace(result(1), scores=scores)])
    app = shown(store)
    text = page(app, "/trends?suite=faq.yaml")
    assert [name for name in cards(text) if name in names] == names[:50]
    assert "The first 50 of 53 metrics; each is shown large under Show." in words(text)
    assert '<option value="m52">' in text
    assert "Mean of m52" in words(page(app, "/trends?suite=faq.yaml&of=m52"))


def test_the_pass_rate_of_each_tag_is_a_small_chart_with_intervals_and_a_column(store):
    for number in range(2):
        tagged = [
            replace(one, trial=replace(one.trial, case=replace(one.trial.case, tags=tags)))
            for case, tags in enumerate([("refund",), ("refund", "urgent"), (), ("urgent",), ("refund",)])
            for one in [result(case)]
        ]
        keep(store, suite_run(number), tagged)
    app = shown(store)
    assert "of=pass+rate+by+tag" in page(app, "/trends?suite=faq.yaml")
    text = page(app, "/trends?suite=faq.yaml&of=pass+rate+by+tag")
    panels = cards(text)
    assert [*panels] == ["refund", "urgent"]
    assert all(
        re.findall(r'<a href="([^"]*)" tabindex="-1"', one) == [run_path(run) for run in RUNS[:2]]
        for one in panels.values()
    )
    assert [re.findall(r'text-anchor="end">([^<]*)', one) for one in panels.values()] == [["0 %", "50 %", "100 %"]] * 2
    assert re.findall(r'<th scope="col" class="num"><bdi>(.*?)</bdi>', text) == ["refund", "urgent"]
    assert "A trial with several tags counts for each." in words(text)
    assert "control limits" not in words(text), "tags have none"


def test_a_suite_of_one_run_says_nothing_of_control_limits(store):
    keep(store, suite_run(0), [result(case) for case in range(9)])
    text = words(page(shown(store), "/trends"))
    assert "ontrol limits" not in text
    home = page(shown(store), "/")
    assert 'type="search"' not in home, "there is nothing to search"
    assert "start evalmark run again" in words(home)
    assert "2026-11-10 10:15:00 UTC \N{EN DASH}" not in text, "one day is no range"


def test_a_suite_is_found_by_its_name_too(pages):
    text = page(pages, "/trends?suite=squares")
    assert "belongs to the suite" not in words(text)
    assert 'value="squares (faq.yaml)" selected' in text


def test_of_all_suites_each_run_has_its_rate_in_the_one_column_and_its_suite_by_name_in_the_chart(store):
    keep(store, suite_run(0), [result(case) for case in range(9)])
    keep(store, replace(suite_run(1), suite="large.yaml", name="large"), [result(case) for case in (1, 2, 4)])
    text = page(shown(store), "/trends?suite=*")
    assert re.findall(r'<th scope="col" class="num"><bdi>(.*?)</bdi>', text) == ["Pass rate"]
    assert len(re.findall(r'<td class="num">\d', text)) == 2
    assert ">large</text>" in text, "not its file"


@pytest.mark.parametrize(
    ("other", "runs"),
    [
        pytest.param({"name": "orders"}, 1, id="another suite, whose file has the same path in another folder"),
        pytest.param({"suite": "evals/faq.yaml"}, 2, id="the same suite, run in the folder above"),
    ],
)
def test_the_runs_of_a_suite_are_those_that_a_comparison_takes_for_it(store, other, runs):
    keep(store, replace(suite_run(0), **other), [result(1)])
    keep(store, suite_run(1), [result(2)])
    text = page(shown(store), "/trends?suite=faq.yaml")
    assert len(re.findall(r'<td class="num">\d', text)) == runs


def test_a_suite_that_no_run_belongs_to_is_not_replaced_silently(pages):
    text = words(page(pages, "/trends?suite=other.yaml"))
    assert "belongs to the suite “ other.yaml ”" in text or "belongs to the suite “other.yaml”" in text
    assert "belongs to the suite" not in words(page(pages, "/trends?suite=faq.yaml"))
    assert "belongs to the suite" not in words(page(pages, "/trends"))


def test_a_measure_is_shown_large_by_its_name(pages):
    text = page(pages, "/trends?suite=faq.yaml")
    assert 'href="/trends?suite=squares+%28faq.yaml%29&amp;of=similarity"' in text
    large = page(pages, "/trends?suite=faq.yaml&of=similarity")
    assert cards(large) == {}
    assert "Mean of similarity" in large or "mean of" in words(large)


@pytest.mark.parametrize(
    "spending",
    [
        pytest.param(Spending(model="m", calls=9, cost=None, unknown_cost=9), id="an unknown price"),
        pytest.param(Spending(model="m", calls=1, replayed=8, cost=0.1), id="cached replies, which cost nothing"),
    ],
)
def test_a_run_whose_cost_says_nothing_about_a_trial_is_left_out_of_the_costs(store, spending):
    kept = keep(store, suite_run(0), [result(1)], ends=False)
    store.finish(replace(kept, status="complete", finished="2026-11-10T10:16:00+00:00", spending=(spending,)))
    assert "Cost of a trial" not in cards(page(shown(store), "/trends"))


def test_marks_say_how_a_gate_ended_and_what_is_outside_of_its_limits():
    runs = [
        PanelRun(href=f"/runs/{n}", description=f"run {n}", outcome=o)
        for n, o in enumerate(("pass", "fail", "cannot tell", ""))
    ]
    points = {
        0: PanelPoint(value=0.8, text="80 %", limits=(0.5, 0.9)),
        1: PanelPoint(value=0.2, text="20 %", limits=(0.5, None), change="worse"),
        2: PanelPoint(value=0.6, text="60 %"),
    }
    drawn = draw_panel(TrendPanel(title="Pass rate", unit="share", lines=[("all", points)]), runs)
    assert drawn.count('class="cut"') == 3
    assert drawn.count('class="ring"') == drawn.count('class="cross"') == drawn.count('class="stop line-0"') == 1
    assert drawn.count('class="asked line-0"') == 1, "a question mark, as in tables"
    assert "run 1: 20 %, outside of its control limits: worse, gate failed" in drawn
    assert drawn.count("<a ") == 3


def test_the_large_figure_is_that_of_the_newest_whole_run(pages, store):
    keep(
        store,
        a_run("20261119-101500-3f9a", suite="faq.yaml", created="2026-11-19T10:15:00+00:00"),
        [result(1)],
        ends=False,
    )
    text = page(pages, "/trends?suite=faq.yaml")
    assert "Large figures: those of" in words(text)
    assert f'Large figures: those of <a href="{run_path(RUNS[-1])}">' in text
    assert '<p class="newest"><b>0.0 %</b>' in text


@pytest.mark.parametrize(("whole", "value"), [((True, True), 0.2), ((True, False), 0.8), ((False, False), 0.2)])
def test_a_panel_prefers_the_value_of_a_whole_run(whole, value):
    runs = [PanelRun(href="/", description="", outcome="", is_whole=one) for one in whole]
    points = {0: PanelPoint(value=0.8, text="80 %"), 1: PanelPoint(value=0.2, text="20 %")}
    assert newest_point(TrendPanel(title="x", lines=[("all", points)]), runs).value == value


@pytest.mark.parametrize(
    "points",
    [
        pytest.param({2: 0.2}, id="only a stopped run has a value yet"),
        pytest.param({0: 0.8}, id="only an earlier run has a value"),
    ],
)
def test_the_large_figure_is_of_no_other_run_than_the_one_that_is_named(points):
    runs = [PanelRun(href="/", description="", outcome="", is_whole=one) for one in (True, True, False)]
    line = {place: PanelPoint(value=value, text="") for place, value in points.items()}
    assert newest_point(TrendPanel(title="x", lines=[("all", line)]), runs) is None


def test_a_long_number_beside_a_panel_is_not_cut():
    points = {0: PanelPoint(value=0.00085, text=""), 1: PanelPoint(value=0.00095, text="")}
    runs = [PanelRun(href="/", description="", outcome="")] * 2
    drawn = draw_panel(TrendPanel(title="x", unit="dollars", lines=[("cost", points)]), runs)
    found = re.findall(r'<text [^>]*x="([^"]*)"[^>]*text-anchor="end">([^<]*)', drawn)
    assert "$0.00095" in [text for _, text in found]
    assert all(float(x) >= 6.5 * len(text) for x, text in found)


def test_seconds_on_an_axis_have_a_unit():
    points = {0: PanelPoint(value=0.06, text="60 ms")}
    drawn = draw_panel(
        TrendPanel(title="x", unit="seconds", lines=[("median", points)]),
        [PanelRun(href="/", description="", outcome="")],
    )
    assert re.findall(r'text-anchor="end">([^<]*)', drawn) == ["50 ms", "100 ms", "150 ms"]


def test_a_suite_is_called_by_its_name_and_by_its_file_too_where_two_share_it(pages, store):
    keep(store, a_run("20261101-101500-3f9a", suite="other.yaml", created="2026-11-01T10:15:00+00:00"), [result(1)])
    text = page(pages, "/trends?suite=faq.yaml")
    assert "squares over time faq.yaml" in words(text)
    options = re.findall(r'<option value="[^"]*\.yaml\)"[^>]*>([^<]*)', text)
    assert sorted(options) == ["squares (faq.yaml)", "squares (other.yaml)"]


def test_without_points_there_is_no_chart():
    assert draw_panel(TrendPanel(title="x", lines=[]), []) == ""


def test_the_list_of_runs_draws_the_pass_rate_of_a_suite_over_its_last_runs(pages):
    text = page(pages, "/")
    (chip,) = re.findall(r'<a href="/trends\?suite=squares[^"]*">(.*?)</a></li>', text, re.DOTALL)
    assert len(re.search(r'class="rates" d="M([^"]*)"', chip)[1].split("L")) == len(RUNS)
    assert "over 5 runs from" in words(chip)
    assert 'class="rates"' not in page(pages, "/?text=squares")


def test_the_chip_of_a_suite_has_its_name_and_the_rate_of_the_newest_complete_run(store):
    keep(store, suite_run(0), [result(case) for case in range(9)])
    keep(store, replace(suite_run(1), suite="large.yaml"), [result(case) for case in (1, 2, 4)])
    stopped = keep(store, suite_run(2), [result(0)], ends=False)
    store.finish(replace(stopped, status="interrupted", finished="2026-11-21T10:16:20+00:00"))
    chips = re.findall(r'<a href="/trends\?suite=([^"]*)">(.*?)</a></li>', page(shown(store), "/"), re.DOTALL)
    shown_words = {suite: words(chip).partition("squares ")[2] for suite, chip in chips}
    assert shown_words == {
        "squares+%28faq.yaml%29": "faq.yaml 66.7 %",
        "squares+%28large.yaml%29": "large.yaml 100.0 %",
    }


def test_a_note_on_control_limits_leads_to_the_trends_of_the_suite_in_place_of_a_command(store):
    note = (
        "Warning: correct is outside of its control limits, for the worse: 45 %, below the limit of 59 % from 10 runs"
    )
    made = a_run(suite="evals/shop.yaml")
    keep(store, replace(made, notes=(f"{note}; evalmark trend {made.id} shows them.",)), [result(1)])
    text = page(shown(store), run_path(made.id))
    shown_note = text[text.index(note) :].partition("</p>")[0]
    assert "evalmark trend" not in shown_note
    assert re.search(r'href="(/trends\?suite=[^"]+shop\.yaml%29)"', shown_note)
