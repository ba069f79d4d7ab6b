"""The pages of pictures: of a run, and of figures from run to run."""

import asyncio
import re
from dataclasses import replace

import pytest

from evalmark import Case, Gate, Output, Result, Score, Turn
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.label import Label
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer.app import starlette_app
from evalmark.reports.viewer.auth.guard import GuardedApp
from evalmark.reports.viewer.background import BackgroundFigures
from evalmark.reports.viewer.listed_metrics import ListedMetrics
from evalmark.reports.viewer.page_context import PageContext
from evalmark.reports.viewer.store_view import StoreView
from evalmark.reports.viewer.trend_page import page_values
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.tracing.annotations.labels import result_subject

from .conftest import POLICY, a_run, from_browser, keep, result, shown
from .test_pages import page, words

RUN = "20261121-101500-3f9a"
PICTURES = f"{run_path(RUN)}/charts"


def pictures(text: str) -> list[str]:
    """What each picture of a page is called."""
    return re.findall(r'<svg class="picture[^>]*><title>(.*?)</title>', text)


def label(store, run, results, liked):
    """Have somebody say of each result whether it is good."""
    subjects = [result_subject(run.id, one) for one in results]
    store.sessions.add_labels(
        [
            Label(
                about=subject.about,
                content=subject.content,
                by="ann",
                created=f"2026-11-22T00:00:00.{n:06d}Z",
                liked=liked(one),
            )
            for n, (subject, one) in enumerate(zip(subjects, results, strict=True))
        ]
    )


def test_a_run_without_labels_shows_how_its_scores_spread(app):
    text = page(app, PICTURES)
    assert pictures(text) == ["How the scores of similarity spread", "How the scores of correct spread"]
    said = words(text)
    assert "No output of this run is labelled." in said
    assert f"27 scores from 0 to 1. Most of them, 12, lie in 0.5 {DASH} 0.6." in said
    assert said.index("No output of this run") > said.index("27 scores from"), "the charts come first"
    assert re.search(rf"Mean 0\.\d+ \(0\.\d+ {DASH} 0\.\d+\); 18 of 27 passed", said)
    assert f"score outputs 0 {DASH} 0.1 0 0.1 {DASH} 0.2 0 0.2 {DASH} 0.3 9" in said


def test_labels_part_the_scores_and_give_a_curve_with_the_threshold_as_a_ring(store):
    results = [result(number) for number in range(30)]
    run = keep(store, a_run(), results)
    label(store, run, results[:20], lambda one: one.trial.position % 4 > 0)
    text = page(shown(store), PICTURES)
    assert pictures(text) == [
        "Chance-corrected agreement with people",
        "How the scores of similarity spread",
        "Scores of similarity, good against bad",
        "ROC of similarity",
        "How the scores of correct spread",
        "Scores of correct, good against bad",
        "ROC of correct",
    ]
    said = words(text)
    assert "18 outputs labelled; also: 2 labelled that ended in an error." in said
    # Of 0..19 every third fails, every tenth is an error, every fourth is disliked.
    known = [n for n in range(20) if n % 10 != 9]
    bad = [n for n in known if n % 4 == 0]
    wrong = sum(n % 3 > 0 for n in bad)
    missed = sum(n % 3 == 0 for n in known if n % 4)
    assert f"threshold 0.6: false passes {wrong} of {len(bad)} bad outputs" in said
    assert f"false fails {missed} of {len(known) - len(bad)} good outputs" in said
    assert text.count('class="ring"') == 1, "a metric that passes and fails nothing has no ring"


def test_a_metric_of_the_run_may_say_what_is_good(store):
    keep(store, a_run(), [result(number) for number in range(30)])
    text = page(shown(store), f"{PICTURES}?against=similarity")
    assert "27 outputs passed or failed by similarity" in words(text)
    assert "ROC of correct" in pictures(text)
    assert "ROC of similarity" not in pictures(text)
    assert "ROC of correct" not in pictures(page(shown(store), f"{PICTURES}?against=nothing"))


def test_labels_that_come_later_are_seen(store):
    results = [result(number) for number in range(30)]
    run, app = keep(store, a_run(), results), shown(store)
    assert "ROC of similarity" not in pictures(page(app, PICTURES))
    label(store, run, results, lambda one: one.trial.position % 2 > 0)
    assert "ROC of similarity" in pictures(page(app, PICTURES))


def several(store, prices):
    """A run of targets, each with a call of its own at a price for every answer."""
    results = [
        replace(one, output=replace(one.output, metadata={"calls": [f"{target}-{one.trial.position}"]}))
        for target in prices
        for one in (result(number, target) for number in range(9))
    ]
    keep(store, a_run(target=", ".join(prices)), results)
    asked = Request(messages=(Turn(role="user", content="x"),))
    calls = [
        Call(key=f"{target}-{n}", model=target, identity=target, request=asked, reply=Reply(text="y", cost=price))
        for target, price in prices.items()
        if price != "none"
        for n in range(9)
    ]

    async def go():
        await asyncio.gather(*(store.call_log().keep(call) for call in calls))

    asyncio.run(go())


def test_targets_are_drawn_by_what_their_own_calls_cost(store):
    several(store, {"large": 0.02, "small": 0.001, "free": None, "gone": "none"})
    text = page(shown(store), PICTURES)
    assert "Cost against pass rate" in pictures(text)
    said = words(text)
    assert "large large 9 9 $0.02 $0.18" in said
    assert "small small 9 9 $0.001 $0.009" in said.replace("$0.0010", "$0.001").replace("$0.0090", "$0.009")
    assert "free: price unknown for 9 outputs, left out of the mean." in said
    assert "gone: price unknown for 9 outputs, left out of the mean." in said
    assert "● small" in said
    assert "□ large" in said, "as good as the small one, and dearer"
    assert "Cost against similarity" in pictures(page(shown(store), f"{PICTURES}?quality=similarity"))


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        pytest.param(
            {"one": None, "two": None}, "What calls of one, two cost is unknown, so there is no chart.", id="no price"
        ),
        pytest.param({"command/one@1f": None}, "", id="a command, which is no model"),
        pytest.param({}, "", id="a function, which calls no model"),
    ],
)
def test_where_no_cost_is_known_one_sentence_says_how_to_set_prices_of_models(store, prices, said):
    if prices:
        several(store, prices)
    else:
        keep(store, a_run(), [result(number) for number in range(9)])
    text = page(shown(store), PICTURES)
    assert not [name for name in pictures(text) if name.startswith("Cost")]
    assert ("Cost against quality" in text) is bool(said)
    assert said in words(text)
    assert 'class="pair costs"' not in text


@pytest.mark.parametrize(
    ("results", "ends", "expected"),
    [
        pytest.param([], True, "no chart", id="a run without a case"),
        pytest.param([result(9)], True, "No output was scored", id="a run of nothing but errors"),
        pytest.param([result(0), result(1)], False, "running", id="a run that goes on"),
    ],
)
def test_runs_with_little_to_draw_say_so(store, results, ends, expected):
    keep(store, a_run(), results, ends=ends)
    assert expected in words(page(shown(store), PICTURES))


def test_the_page_of_a_run_that_is_not_there_says_so(app):
    assert from_browser(app, "/runs/nowhere/charts").status == 404


def test_repeats_show_what_flips(store):
    results = [
        replace(one, scores=(replace(one.scores[0], passed=(number + repeat) % 3 > 0),))
        for number in range(8)
        for repeat in range(3)
        for one in [result(number, repeat=repeat)]
    ]
    keep(store, a_run(repeat=3), results)
    text = page(shown(store), PICTURES)
    assert "Verdicts that changed on repetition" in pictures(text)
    assert "outputs 8 of 8 100.0 %" in words(text)


def test_figures_that_take_long_are_not_waited_for(store):
    keep(store, a_run(), [result(number) for number in range(30)])

    class Never(BackgroundFigures):
        def result(self, about, work):
            return None

    app = GuardedApp(app=starlette_app(PageContext(StoreView(store, Never(0)), POLICY.key, "")), policy=POLICY)
    assert "The metrics of 30 trials are being computed. Reload" in words(page(app, PICTURES))


def test_labels_that_take_long_to_look_up_keep_no_picture_back(store):
    keep(store, a_run(), [result(number) for number in range(30)])

    class Half(BackgroundFigures):
        def result(self, about, work):
            return None if about.kind == "charts" else super().result(about, work)

    app = GuardedApp(app=starlette_app(PageContext(StoreView(store, Half(60)), POLICY.key, "")), policy=POLICY)
    text = page(app, PICTURES)
    assert "The charts of 30 trials are being computed. Reload" in words(text)
    assert "How the scores of similarity spread" in pictures(text)


# From run to run.


def runs(store, rates, suite="suite.yaml", first=0, **fields):
    """Runs of ten cases, of which so many pass; a gate asks for eight."""
    for number, passed in enumerate(rates, start=first):
        results = [
            Result(
                trial=Trial(case=Case(id=str(n)), dataset="d", target="app:answer", position=n),
                output=Output(value="x"),
                scores=(
                    Score(name="similarity", value=n / 10, passed=n < passed),
                    Score(name="edits", raw=10 * passed, direction="lower"),
                ),
            )
            for n in range(10)
        ]
        metrics = (Metric(name="similarity", threshold=0.6), Metric(name="edits", unit="edits", direction="lower"))
        values = {
            "name": suite,
            "suite": suite,
            "created": f"2026-11-{number + 1:02d}T10:00:00+00:00",
            "revision": f"{number:010d}",
            "datasets": (DatasetInfo(name="d"),),
            "metrics": metrics,
            "gate": Gate(min_pass_rate=0.8),
        }
        keep(store, a_run(f"run-{suite}-{number:03}", **{**values, **fields}), results)


def rows(text: str) -> list[str]:
    """The rows of the table of runs, as text."""
    table = text[text.index('<table class="runs"') :]
    return [words(row) for row in re.findall(r"<tr><th scope=\"row\">.*?</tr>", table, re.DOTALL)]


def test_the_course_of_a_suite_shows_each_run_with_its_interval_and_its_gate(store):
    runs(store, [7, 8, 9])
    text = page(shown(store), "/trends?of=pass+rate")
    assert pictures(text) == ["Pass rate over runs"]
    chart = text[text.index("Pass rate over runs") : text.index("</svg>", text.index("Pass rate over runs"))]
    assert [chart.count(f'class="{kind} line-0"') for kind in ("stop", "open")] == [2, 0]
    assert chart.count('class="cross"') == 1
    assert [row.split(" UTC ")[1] for row in rows(text)] == [
        f"10 trials 0000000002 ✓ passed 90.0 % 59.6 {DASH} 98.2 %",
        f"10 trials 0000000001 ✓ passed 80.0 % 49.0 {DASH} 94.3 %",
        f"10 trials 0000000000 ✗ failed 70.0 % 39.7 {DASH} 89.2 %",
    ]
    assert "suite.yaml: " not in text
    assert "3 runs, from 70 % to 90 %, 1 failed gate." in words(text)


def test_a_metric_has_a_course_of_its_own(store):
    runs(store, [7, 8, 9])
    text = page(shown(store), "/trends?of=edits")
    assert [re.search(r"(?:passed|failed) (\d+)", row)[1] for row in rows(text)] == ["90", "80", "70"]
    assert pictures(text) == ["Edits over runs"]
    assert 'class="panel-card"' in page(shown(store), "/trends?of=nothing"), "an unknown metric shows all measures"


def test_one_suite_is_chosen_and_all_of_them_have_a_line_each(store):
    runs(store, [7, 8, 9])
    runs(store, [5, 6], suite="other", first=3)
    app = shown(store)
    assert len(rows(page(app, "/trends"))) == 2, "the suite of the newest run"
    assert len(rows(page(app, "/trends?suite=suite.yaml"))) == 3
    text = page(app, "/trends?suite=*")
    assert len(rows(text)) == 5
    assert len(re.findall(r'class="line line-\d"', text)) == 4, "two lines, and a piece of each beside its name"
    assert len(rows(page(app, "/trends?suite=%00nothing"))) == 2


def test_each_dataset_has_a_line(store):
    results = [
        Result(
            trial=Trial(case=Case(id=str(n)), dataset=name, position=n),
            output=Output(value="x"),
            scores=(Score(name="m", value=1.0, passed=name == "d" or n > 3),),
        )
        for name in "de"
        for n in range(8)
    ]
    keep(store, a_run(datasets=(DatasetInfo(name="d"), DatasetInfo(name="e"))), results)
    text = page(shown(store), "/trends")
    assert "Run started, UTC Verdict all d e" in words(text)
    assert "✗ failed 75.0 %" in rows(text)[0]
    assert "100.0 %" in rows(text)[0]
    assert "50.0 %" in rows(text)[0]


def test_only_the_newest_runs_are_drawn_and_the_rest_is_counted(store):
    runs(store, [9] * 28)
    runs(store, [9] * 25, first=100, created="2026-12-01T00:00:00+00:00")
    text = page(shown(store), "/trends")
    assert len(rows(text)) == 50
    assert "The newest 50 runs; 3 older ones are on the page of runs." in words(text)


def test_runs_whose_figures_are_being_worked_out_have_their_pass_rate_already(store):
    runs(store, [7, 9])

    class Never(BackgroundFigures):
        def result(self, about, work):
            return None

    view = StoreView(store, Never(0))
    found = page_values(view, ListedMetrics(view), "", "")
    assert found["waiting"] == 2
    assert [point.value for point in found["trends"][0].points] == [0.7, 0.9]
    assert {point.outcome for point in found["trends"][0].points} == {""}


def test_an_empty_store_and_a_run_that_goes_on_have_a_course_too(store):
    app = shown(store)
    assert "No runs yet" in words(page(app, "/trends"))
    keep(store, a_run(), [result(1)], ends=False)
    text = page(app, "/trends")
    assert "running" in words(text)
    assert 'class="open line-0"' in text
