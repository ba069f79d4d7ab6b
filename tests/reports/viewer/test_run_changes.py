"""The list of runs says what became of each since the run before it, and never more than was found out."""

import html
import re
import threading
import time
from dataclasses import replace

from evalmark import Case, Output, Result, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer import run_changes
from evalmark.reports.viewer.app import viewer_app
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.stats.comparison.compare import compare

from .conftest import METRICS, POLICY, a_run, from_browser, keep, shown
from .test_pages import page, words


def answered(passed: int, of: int, **metadata) -> list[Result]:
    """So many cases of which the first so many pass."""
    return [
        Result(
            trial=Trial(case=Case(id=f"c{n}", input=str(n), metadata=metadata), dataset="squares.jsonl", position=n),
            output=Output(value=f"answer {n < passed}"),
            scores=(Score(name="correct", value=float(n < passed), passed=n < passed),),
        )
        for n in range(of)
    ]


def runs(store, *passed: int, of: int = 40, **fields) -> None:
    for number, n in enumerate(passed):
        run = a_run(f"run-{number}", metrics=(Metric(name="correct"),), **fields)
        keep(store, run, answered(n, of))


def trends(app) -> list[str]:
    """The cells of the list, the newest run first."""
    cells = re.findall(r'<td class="trend">(.*?)</td>', from_browser(app, "/").text, re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in cells]


def test_each_run_is_held_against_the_one_before_it(store):
    runs(store, 10, 35, 35, 12, 14)
    assert trends(shown(store)) == [
        "? cannot tell +5.0 points, 40 cases",
        "▼ worse \u221257.5 points, 40 cases",
        "= the same no difference, 40 cases",
        "▲ better +62.5 points, 40 cases",
        DASH,
    ]


def test_a_verdict_that_is_not_of_the_pass_rate_names_its_metric(store):
    metrics = (Metric(name="correct"), Metric(name="polite"))
    for number, rude in enumerate((0, 25)):
        polite = [
            replace(one, scores=(*one.scores, Score(name="polite", value=float(case >= rude))))
            for case, one in enumerate(answered(20 + number, 40))
        ]
        keep(store, a_run(f"run-{number}", metrics=metrics), polite)
    assert trends(shown(store))[0] == "▼ worse by polite ; pass rate +2.5 points, 40 cases"


def test_a_trend_leads_to_the_comparison(store):
    runs(store, 10, 35)
    text = from_browser(shown(store), "/").text
    assert (
        '<a class="pass" href="/compare?run=run-1&amp;baseline=run-0"><span aria-hidden="true">▲</span> better</a>'
        in text
    )
    assert from_browser(shown(store), "/compare?run=run-1&baseline=run-0").status == 200


def test_what_is_too_much_to_compare_is_told_as_not_tested(store):
    runs(store, 500, 600, of=1_100)
    assert trends(shown(store)) == ["+9.1 points on 1,100 trials, not tested", DASH]


def test_large_runs_that_share_nothing_say_so(store):
    runs(store, 5, of=1_100)
    others = [
        replace(r, trial=replace(r.trial, case=replace(r.trial.case, id=f"other {n}")))
        for n, r in enumerate(answered(5, 1_100))
    ]
    keep(store, a_run("run-1", metrics=(Metric(name="correct"),)), others)
    assert trends(shown(store))[0] == "no common case"


def test_large_runs_that_are_judged_by_other_rules_are_not_counted_against_each_other(store):
    runs(store, 5, of=1_100)
    keep(store, a_run("run-1", metrics=(Metric(name="correct", threshold=0.1),)), answered(1_000, 1_100))
    assert trends(shown(store))[0] == "different scoring rules"


def test_a_run_under_way_has_no_trend_and_is_none_to_be_held_against(store):
    runs(store, 10)
    keep(store, a_run("going", metrics=(Metric(name="correct"),)), answered(20, 20), ends=False)
    runs_app = shown(store)
    assert trends(runs_app) == [DASH, DASH]
    store.finish(a_run("going", metrics=(Metric(name="correct"),), status="complete", finished="2026-11-21T11:00:00Z"))
    assert trends(runs_app)[0] != DASH


def test_of_a_run_with_several_targets_only_the_verdict_is_told(store):
    for name in ("run-0", "run-1"):
        both = [replace(r, trial=replace(r.trial, target=t)) for r in answered(10, 20) for t in ("old", "new")]
        keep(store, a_run(name, target="old, new", metrics=(Metric(name="correct"),)), both)
    assert trends(shown(store))[0] == "= the same"


def test_once_the_run_before_is_deleted_the_next_one_is_the_run_before(store):
    runs(store, 10, 35, 35)
    app = shown(store)
    assert trends(app)[0] == "= the same no difference, 40 cases"
    store.forget("run-1")
    assert trends(app)[0] == "▲ better +62.5 points, 40 cases"


def test_a_damaged_result_hides_no_list(store):
    runs(store, 10, 12)
    store._access.write(lambda db: db.execute("update result set checksum = 0 where position = 3"), "the damage")
    assert trends(shown(store)) == [DASH, DASH]


def test_while_trends_are_worked_out_the_page_says_so_and_asks_again(store, monkeypatch):
    runs(store, 10, 35)
    is_seen = threading.Event()
    monkeypatch.setattr(run_changes, "compare", lambda *sides: is_seen.wait(30) and compare(*sides))
    app = viewer_app(store, POLICY, patience=0)
    text = from_browser(app, "/").text
    assert "are being computed" in text
    assert '<td class="trend"><span class="quiet none">' in text, "narrow screens leave it out"
    assert re.search(r'<div data-live="runs"[^>]* data-pending="changes">', text)
    is_seen.set()
    end = time.monotonic() + 30
    while "data-pending" in text:
        assert time.monotonic() < end
        time.sleep(0.02)
        text = from_browser(app, "/").text
    assert "better" in text
    assert "being computed" not in text


def test_other_suites_are_not_what_a_run_is_held_against(store):
    keep(store, a_run("one", name="other", metrics=METRICS), answered(3, 5))
    keep(store, a_run("two", metrics=METRICS), answered(4, 5))
    assert trends(shown(store)) == [DASH, DASH]


def test_a_run_to_compare_with_is_called_by_the_name_that_its_user_gave_it(store):
    for number in range(2):
        keep(store, a_run(f"run-{number}", given_name=f"night {number}"), answered(30, 40))
    text = words(page(shown(store), run_path("run-1")))
    assert "Against night 0 of " in text
    assert re.search(r"night 0 · .* · run-0", text)
