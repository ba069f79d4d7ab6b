"""The page of a comparison: what the command line says, the cases that show it, and runs that cannot be compared."""

import asyncio
import re
from collections import Counter
from dataclasses import replace
from html import escape

import pytest

from evalmark import Case, Output, Result, Score, compare
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text import comparison
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer.app import starlette_app
from evalmark.reports.viewer.background import BackgroundFigures
from evalmark.reports.viewer.comparisons import EarlierComparison, earlier_comparison
from evalmark.reports.viewer.comparisons import prepared_comparison as compared_beside
from evalmark.reports.viewer.page_context import PageContext
from evalmark.reports.viewer.store_view import StoreView
from evalmark.stats.comparison.compare import compare_several
from evalmark.store import open_store

from .conftest import POLICY, a_run, asked, from_browser, keep, result, shown
from .test_pages import checked

OLDER, OLD = "20261120-101500-cccc", "20261121-101500-3f9a"
NEW, MODELS = "20261122-101500-aaaa", "20261123-101500-bbbb"


def later(number, **fields):
    """Cases 1 to 12 that passed fail, case 0 passes now, all others are as they were."""
    before = result(number, **fields)
    if before.output.error is not None or number > 12 or (number % 3 == 0 and number):
        return before
    value = 0.9 if number == 0 else 0.1
    score = replace(before.scores[0], raw=value, value=value, passed=value > 0.5, reason="Not at all alike.")
    made = replace(before.output, value=f"It is {number * number}. It roars.")
    return replace(before, output=made, scores=(score, *before.scores[1:]))


def two(store):
    keep(store, a_run(OLD), [result(number) for number in range(30)])
    keep(store, a_run(NEW, created="2026-11-22T10:15:00+00:00"), [later(number) for number in range(30)])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("compare") / "evalmark.db") as store:
        two(store)
        targets = ("openai/a", "openai/b")
        results = [
            replace(made(n), trial=replace(made(n).trial, target=target))
            for n in range(30)
            for target, made in zip(targets, (result, later if n < 8 else result), strict=True)
        ]
        keep(
            store, a_run(MODELS, name="models", created="2026-11-23T10:15:00+00:00", target=", ".join(targets)), results
        )
        yield store


@pytest.fixture(scope="module")
def app(kept):
    return shown(kept)


def found(app, query):
    answer = from_browser(app, f"/compare{query}")
    assert answer.status == 200
    checked(answer.text)
    return answer.text


def rows_of(text):
    body = re.search(r'<table class="changes".*?<tbody>(.*?)</tbody>', text, re.S)[1]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def cases_of(text):
    return re.findall(r'<details class="beside".*?<code>(.*?)</code>', text, re.S)


def test_the_page_says_what_the_command_line_says(app, kept):
    expected = compare(kept.run(NEW), kept.run(OLD))
    text = found(app, f"?run={NEW}&baseline={OLD}")
    assert f"</span> {comparison.outcome_text(expected)}</span>" in text
    assert comparison.verdict_sentence(expected) in text
    rows = comparison.change_rows(expected.targets[0])
    assert [(row[0], row[1], row[2], row[3], row[7]) for row in rows_of(text)] == [
        (row.metric, row.n, row.before, row.now, row.p) for row in rows
    ]
    worse, better = len(expected.targets[0].worse), len(expected.targets[0].better)
    assert (worse, better) == (8, 1)
    assert re.search(rf"regressed</span> <b>{worse}</b>", text)
    assert re.search(rf"improved</span> <b>{better}</b>", text)
    counted = re.search(r'by change"[^>]*>(.*?)</nav>', text, re.S)
    every, *kinds = [int(n) for n in re.findall(r"<b>(\d+)</b>", counted[1])]
    assert every == sum(kinds)
    remarks = [remark for _, remark in comparison.change_remarks(expected.targets[0])]
    assert remarks, "what is missing, and what the cases can detect"
    before_cases = text.partition('id="cases"')[0]
    assert all(escape(remark, quote=False) in before_cases for remark in remarks)


@pytest.mark.parametrize(
    ("query", "run", "baseline"),
    [
        pytest.param(f"?run={NEW}", NEW, OLD, id="without a baseline the previous run of the same suite"),
        pytest.param("?run=last~1&baseline=last~2", NEW, OLD, id="the words of the command line"),
        pytest.param(f"?run={NEW[:10]}&baseline={OLD[:9]}", NEW, OLD, id="the beginnings of ids"),
        pytest.param(f"?pick={OLD}&pick={NEW}", NEW, OLD, id="two runs of the list, the newer one first"),
        pytest.param(f"?pick={NEW}", NEW, OLD, id="one run of the list"),
        pytest.param(f"?run={OLD}&baseline={NEW}", OLD, NEW, id="the other way round"),
    ],
)
def test_two_runs_are_named_as_on_a_command_line(app, query, run, baseline):
    text = found(app, query)
    assert re.findall(r'<a href="/runs/([^"]*)"><code>', text) == [run, baseline]


def test_flips_come_first_and_both_cases_are_a_click_away(app, kept):
    text = found(app, f"?run={NEW}")
    assert cases_of(text)[:9] == [f"case-{n:03}" for n in (11, 10, 8, 7, 5, 4, 2, 1, 0)], "similarity fell most first"
    assert len(cases_of(text)) == 20
    assert text.count('<details class="beside" data-flip open>') == 9
    assert "passed, fails now" in text
    assert "It is 1. It <del>sings</del>." in text
    assert "It is 1. It <ins>roars</ins>." in text
    for run in (OLD, NEW):
        number = next(
            n.number
            for (n,) in kept.browse(run).results_of_cases([("squares.jsonl", "case-001", "app:answer", "single")])
        )
        assert f'href="/runs/{run}/results/{number}"' in text


@pytest.mark.parametrize(
    ("conditions", "cases"),
    [
        pytest.param("&outcome=worse", 8, id="worse"),
        pytest.param("&outcome=better", 1, id="better"),
        pytest.param("&outcome=same", 18, id="as before"),
        pytest.param("&outcome=nonsense", 30, id="nothing that there is"),
        pytest.param("&metric=similarity&outcome=worse", 8, id="worse by a metric"),
        pytest.param("&metric=correct&outcome=worse", 0, id="by a metric that says the same"),
        pytest.param("&metric=nobody", 0, id="by a metric that there is not"),
        pytest.param("&of=app:answer", 30, id="of a target"),
        pytest.param("&of=other", 0, id="of a target that there is not"),
    ],
)
def test_cases_are_filtered_by_the_address(app, conditions, cases):
    text = found(app, f"?run={NEW}{conditions}")
    assert len(cases_of(text)) == min(20, cases)
    if cases:
        assert f"{cases} case" in text


def test_pages_of_cases_follow_each_other(app):
    first, second = found(app, f"?run={NEW}"), found(app, f"?run={NEW}&page=2")
    assert Counter([*cases_of(first), *cases_of(second)]) == {f"case-{n:03}": 1 for n in range(30)}
    assert f'href="/compare?run={NEW}&amp;page=2#cases"' in first
    assert cases_of(found(app, f"?run={NEW}&page=999")) == cases_of(second)


def test_two_models_of_a_run_are_compared(app):
    text = found(app, f"?run={MODELS}&target=openai/b&against=openai/a")
    assert "<h1><bdi>openai/b against openai/a</bdi></h1>" in text
    assert "30 cases of both targets" in text
    assert "The differences may be chance" in text
    assert "fails now" not in text
    assert cases_of(text)[0] == "case-007"
    both = found(app, f"?run={MODELS}&baseline={MODELS}")
    assert f"{MODELS} is compared with itself." in both
    assert '<select name="target">' in both
    one = found(app, f"?run={MODELS}&baseline={NEW}&target=openai/b&against=app:answer")
    assert "The target was app:answer and is now openai/b." in one


def test_forms_offer_runs_nearest_first(app):
    text = found(app, f"?run={NEW}")
    near = re.search(r'<optgroup label="Earlier, with the same datasets">(.*?)</optgroup>', text, re.S)[1]
    assert re.findall(r'value="([^"]*)"', near) == [OLD]
    assert f'value="{MODELS}"' in text
    assert 'value="last-green"' in text


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        pytest.param("", 200, "Two runs", id="nobody is named"),
        pytest.param("?run=nope", 404, "nope", id="no such run"),
        pytest.param(f"?run={NEW}&baseline=nope", 404, "nope", id="no such baseline"),
        pytest.param(f"?run={OLD}", 200, "There is no earlier complete run", id="the first of its kind"),
        pytest.param(f"?run={NEW}&baseline=none", 200, "No run was named", id="none"),
        pytest.param(f"?run={OLD}&baseline=last-green", 200, "no earlier complete run", id="no green run"),
        pytest.param(f"?run={NEW}&baseline={NEW}", 200, "is compared with itself", id="the same twice"),
        pytest.param("?run=%ed%a0%80&baseline=%00", 404, "", id="half a character"),
        pytest.param(f"?run={NEW}&target=nobody&against=nobody", 200, "There is no result to compare", id="no target"),
    ],
)
def test_what_cannot_be_compared_is_said(app, query, status, said):
    answer = from_browser(app, f"/compare{query}")
    assert answer.status == status
    assert said in answer.text
    if status == 200:
        checked(answer.text)


def other_case(number, value="x", verdict=True, **fields):
    case = Case(id=f"other-{number}", input="?", **fields)
    trial = Trial(case=case, dataset="squares.jsonl", target="app:answer", position=number)
    return Result(
        trial=trial, output=Output(value=value), scores=(Score(name="similarity", raw=1.0, value=1.0, passed=verdict),)
    )


def test_runs_without_a_common_case_say_so(store):
    keep(store, a_run(OLD), [result(number) for number in range(5)])
    keep(store, a_run(NEW), [other_case(number) for number in range(5)])
    text = found(shown(store), f"?run={NEW}")
    assert "The two runs have no case in common." in text
    assert text.count("The two runs have no case in common.") == 2, "as a warning and as the reason"
    assert not cases_of(text)


def test_unfinished_runs_are_compared_as_far_as_they_have_come(store):
    keep(store, a_run(OLD), [result(number) for number in range(30)])
    keep(store, a_run(NEW, created="2026-11-22T10:15:00+00:00"), [later(number) for number in range(9)], ends=False)
    app = shown(store)
    text = found(app, f"?run={NEW}")
    assert f"The run {NEW} is running, so some of its cases may be missing." in text
    assert "9 cases in both runs" in text
    asyncio.run(store.sink(NEW).write([later(number) for number in range(9, 12)]))
    assert "12 cases in both runs" in found(app, f"?run={NEW}")
    backwards = found(app, f"?run={OLD}&baseline={NEW}")
    assert f"The baseline {NEW} is running" in backwards


def test_a_run_that_is_deleted_meanwhile_is_missing(store):
    two(store)
    app = shown(store)
    found(app, f"?run={NEW}&baseline={OLD}")
    store.forget(OLD)
    assert from_browser(app, f"/compare?run={NEW}&baseline={OLD}").status == 404
    assert "The store has no other run yet" in found(app, f"?run={NEW}")
    keep(store, a_run(MODELS, name="other", suite="other.yaml", created="2026-11-20T10:15:00+00:00"), [result(1)])
    assert "There is no earlier complete run" in found(app, f"?run={NEW}")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("long " * 2_000_000, id="ten megabytes"),
        pytest.param("\u05d0\u05d1\u05d2 \u202eabc \u05d3", id="right to left"),
        pytest.param("\ud800 half, \x1b[31mred\x07", id="half a character and escapes"),
        pytest.param("<script>alert(1)</script>", id="markup"),
        pytest.param({"a": [None, 1.5]}, id="not a text"),
        pytest.param("", id="nothing"),
    ],
)
def test_answers_of_any_kind_are_shown(store, value):
    keep(store, a_run(OLD), [other_case(1, "before")])
    keep(store, a_run(NEW), [other_case(1, value, verdict=False)])
    text = found(shown(store), f"?run={NEW}&baseline={OLD}")
    assert cases_of(text) == ["other-1"]
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert len(text) < 100_000
    if isinstance(value, str) and len(value) > 100:
        assert "This result is large" in text


def test_repeats_are_shown_by_one_that_tells(store):
    results = lambda values: [  # noqa: E731
        replace(other_case(1, f"answer {n}", verdict=passed), trial=replace(other_case(1).trial, repeat=n))
        for n, passed in enumerate(values)
    ]
    keep(store, a_run(OLD, repeat=3), results([False, True, True]))
    keep(store, a_run(NEW, repeat=3), results([True, True, False]))
    same = found(shown(store), f"?run={NEW}&baseline={OLD}")
    assert "unchanged" in same
    keep(store, a_run(MODELS, repeat=3), results([True, False, False]))
    text = found(shown(store), f"?run={MODELS}&baseline={OLD}")
    assert "passed 67 % of its repeats, now 33 %" in text.replace("66.7", "67").replace("33.3", "33")
    assert "answer <del>1</del>" not in text  # both of the second repeat: it passed, and fails now
    assert "Both outputs are identical." in text


def test_no_page_waits_for_a_comparison(store):
    two(store)
    view = StoreView(store, BackgroundFigures(patience=0))
    app = starlette_app(PageContext(view, POLICY.key, ""))
    with view.figures.give_way():  # as long as a page is at work, nothing is compared
        text = asked(app, f"/compare?run={NEW}").text
        checked(text)
        assert "The comparison is being computed." in text
        assert f'<a href="/compare?run={NEW}">Reload</a>' in text
    worked_out = StoreView(store, BackgroundFigures(patience=60))
    held = compared_beside(worked_out, store.run(NEW), store.run(OLD))
    assert held is compared_beside(worked_out, store.run(NEW), store.run(OLD))


def run_page(app, run, query="", status=200):
    answer = from_browser(app, f"/runs/{run}{query}")
    assert answer.status == status
    return checked(answer.text)


def listed(text):
    return sorted(re.findall(r'(?:<small><code>|<a class="name" href="/runs/[^"]*"><bdi>)(case-\d+)', text))


def test_a_run_says_what_became_of_it_since_the_run_before(app, kept):
    text = run_page(app, NEW)
    expected = compare(kept.run(NEW), kept.run(OLD))
    assert f'<a href="/runs/{OLD}"><bdi>' in text
    assert f"</span> {comparison.outcome_text(expected)}</span>" in text
    assert f'<a href="/compare?run={NEW}&amp;baseline={OLD}">Compare</a>' in text
    assert f'<a href="/runs/{NEW}?flipped=worse#cases">8 cases regressed</a>' in text
    assert "Against <a" not in run_page(app, OLD)
    assert 'aria-label="Compare two targets of this run"' in run_page(app, MODELS)


def test_cases_whose_verdict_is_the_same_say_by_which_metric_they_changed(store):
    for run, created, value in ((OLD, 21, 0.9), (NEW, 22, 0.7)):
        score = Score(name="close", raw=value, value=value)
        results = [replace(result(number), scores=(score,)) for number in range(9)]
        keep(store, a_run(run, created=f"2026-11-{created}T10:15:00+00:00", metrics=(Metric(name="close"),)), results)
    text = run_page(shown(store), NEW)
    assert '?flipped=worse#cases">9 cases regressed</a> by <bdi>close</bdi>' in text


def test_a_case_that_changed_on_two_targets_is_counted_once(store):
    for run, created, made in ((OLD, 21, result), (NEW, 22, later)):
        results = [made(number, target=target) for number in range(30) for target in ("a", "b")]
        keep(store, a_run(run, created=f"2026-11-{created}T10:15:00+00:00", target="a, b"), results)
    app = shown(store)
    assert '?flipped=worse#cases">8 cases regressed</a>' in run_page(app, NEW)
    assert len(listed(run_page(app, NEW, "?flipped=worse"))) == 8
    both, one = (found(app, f"?run={NEW}&baseline={OLD}&outcome=worse{of}") for of in ("", "&of=a"))
    assert f"16 cases, counted once per target, 1 {DASH} 16 shown" in both
    assert f"8 cases, 1 {DASH} 8 shown" in one


@pytest.mark.parametrize(
    ("query", "cases"),
    [
        pytest.param("?flipped=worse", [1, 2, 4, 5, 7, 8, 10, 11], id="worse"),
        pytest.param("?flipped=better", [0], id="better"),
        pytest.param("?flipped=any", [0, 1, 2, 4, 5, 7, 8, 10, 11], id="either"),
        pytest.param("?flipped=any&tag=odd", [1, 5, 7, 11], id="with another condition"),
        pytest.param("?flipped=worse&verdict=pass", [], id="that cannot be"),
        pytest.param("?flipped=nonsense", range(30), id="nothing that there is"),
    ],
)
def test_a_run_is_held_to_the_cases_that_flipped(app, kept, query, cases):
    text = run_page(app, NEW, query)
    assert listed(text) == [f"case-{number:03}" for number in cases]
    if query == "?flipped=any":
        flips = compare(kept.run(NEW), kept.run(OLD)).targets[0].flips
        assert sorted(flip.case for flip in flips) == listed(text)
        assert 'href="?flipped=any&amp;sort=case#cases"' in text


def test_the_next_case_is_the_next_that_flipped(app, kept):
    numbers = kept.browse(NEW).numbers([("squares.jsonl", f"case-{n:03}", "app:answer", "single") for n in (2, 4)])
    ((second,), (fourth,)) = numbers
    text = checked(from_browser(app, f"/runs/{NEW}/results/{second}?flipped=worse").text)
    assert f'rel="next" href="/runs/{NEW}/results/{fourth}?flipped=worse"' in text


def test_without_a_run_before_it_nothing_has_flipped(app):
    assert "There is no earlier run to compare with." in run_page(app, OLD, "?flipped=any")


def test_a_run_that_goes_on_is_compared_where_somebody_asks_for_it(store):
    keep(store, a_run(OLD), [result(number) for number in range(9)])
    keep(store, a_run(NEW), [later(number) for number in range(9)], ends=False)
    text = run_page(shown(store), NEW, "?flipped=any")
    assert "The comparison</a> shows which" in text
    assert f'href="/compare?run={NEW}&amp;baseline={OLD}"' in text


def test_a_run_of_very_many_results_is_compared_where_somebody_asks_for_it(store):
    two(store)
    view = StoreView(store, BackgroundFigures(patience=60))
    assert earlier_comparison(view, store.run(NEW), most=59) == EarlierComparison(
        near=[store.run(OLD)], earlier=store.run(OLD)
    )
    assert earlier_comparison(view, store.run(NEW), most=60).prepared.comparison.outcome == "cannot tell"


def test_what_flipped_is_shown_once_it_is_known(store):
    two(store)
    view = StoreView(store, BackgroundFigures(patience=0))
    app = starlette_app(PageContext(view, POLICY.key, ""))
    with view.figures.give_way():
        text = checked(asked(app, f"/runs/{NEW}?flipped=any").text)
    assert "The list of changed cases is being computed." in text
    assert "being computed. <a" in text


def test_two_runs_are_chosen_in_the_list(app, store):
    text = checked(from_browser(app, "/").text)
    assert re.findall(r'form="pick" name="pick" value="([^"]*)"', text) == [MODELS, NEW, OLD]
    assert '<form id="pick"' in text
    keep(store, a_run(OLD), [result(1)])
    assert "pick" not in checked(from_browser(shown(store), "/").text)  # with one run there is nothing to choose


def test_both_sides_stand_under_the_newer_threshold(tmp_path):
    def of(name, threshold, **fields):
        def judged(one):
            return replace(one, passed=one.value >= threshold) if one.name == "similarity" else one

        made = a_run(name, **fields)
        metrics = tuple(replace(m, threshold=threshold) if m.name == "similarity" else m for m in made.metrics)
        results = [
            replace(r, scores=tuple(map(judged, r.scores))) for r in (result(n) for n in range(30) if n % 10 != 9)
        ]
        return replace(made, metrics=metrics), results

    with open_store(tmp_path / "evalmark.db") as store:
        keep(store, *of(OLD, 0.99))
        keep(store, *of(NEW, 0.01, created="2026-11-22T10:15:00+00:00"))
        app = shown(store)
        text = found(app, f"?run={NEW}&baseline={OLD}")
        listed = from_browser(app, "/").text
    assert "</span> the same</span>" in text
    assert "similarity: the threshold was 0.99 and is now 0.01. Under the threshold of the newer run" in text
    assert "fails now" not in text
    assert "passes now" not in text
    assert "same" in re.search(r'<td class="trend">(.*?)</td>', listed, re.S)[1]


def test_the_cases_of_the_page_are_those_of_the_chart(tmp_path):
    """A metric without a threshold fell in 19 cases of 20, and every case still passes."""

    def of(name, values, **fields):
        metrics = (Metric(name="passes"), Metric(name="close"))
        results = [
            replace(
                result(2),
                trial=Trial(case=Case(id=f"c{n:02}", input=f"question {n}"), dataset="d", target="app", position=n),
                scores=(
                    Score(name="passes", raw=True, value=1.0, passed=True),
                    Score(name="close", raw=value, value=value, reason="so near"),
                ),
            )
            for n, value in enumerate(values)
        ]
        return a_run(name, metrics=metrics, datasets=(DatasetInfo(name="d"),), **fields), results

    with open_store(tmp_path / "evalmark.db") as store:
        keep(store, *of(OLD, [0.9] * 20))
        keep(store, *of(NEW, [0.9] + [0.9 - n / 25 for n in range(1, 20)], created="2026-11-22T10:15:00+00:00"))
        app = shown(store)
        text = found(app, f"?run={NEW}&baseline={OLD}")
        by_pass_rate = found(app, f"?run={NEW}&baseline={OLD}&metric=pass+rate")
        fewer = found(app, f"?run={NEW}&baseline={OLD}&outcome=worse")
        run = from_browser(app, f"/runs/{NEW}").text

    def counts(page):
        every = re.search(r'by change"[^>]*>(.*?)</nav>', page, re.S)[1]
        return [int(n) for n in re.findall(r"<b>(\d+)</b>", every)]

    assert counts(text) == [20, 19, 0, 1]
    assert cases_of(text)[:3] == ["c19", "c18", "c17"]
    assert "close fell from 0.900 to 0.140" in text
    assert '<option value="close" selected>' in text
    assert counts(by_pass_rate) == [20, 0, 0, 20]
    assert len(cases_of(fewer)) == 19
    assert "19 cases regressed" in re.sub(r"<[^>]+>", "", run)


def test_the_command_that_judges_again_names_the_store(tmp_path):
    def of(name, version, **fields):
        metrics = (Metric(name="similarity", version=version),)
        return a_run(name, metrics=metrics, suite="s.yaml", **fields), [result(n) for n in range(5)]

    with open_store(tmp_path / "evalmark.db") as store:
        keep(store, *of(OLD, "1"))
        keep(store, *of(NEW, "2", created="2026-11-22T10:15:00+00:00"))
        app = starlette_app(
            PageContext(StoreView(store, BackgroundFigures(patience=60), " --store a.db"), POLICY.key, "")
        )
        text = asked(app, f"/compare?run={NEW}").text
    assert f"<code>evalmark rescore {OLD} --store a.db</code>" in text


def test_scores_that_have_moved_are_said_on_the_page_of_the_run_and_of_the_comparison(tmp_path):
    note = "Warning: evalmark.lock.json: the scores of similarity have moved since its threshold was learned (...)"
    with open_store(tmp_path / "evalmark.db") as store:
        keep(store, a_run(OLD), [result(number) for number in range(5)])
        keep(store, a_run(NEW, notes=(note,)), [result(number) for number in range(5)])
        pages = shown(store)
        assert note in checked(from_browser(pages, f"/runs/{NEW}").text)
        assert f"The run: {note}" in found(pages, f"?run={NEW}&baseline={OLD}")


def test_three_chosen_runs_stand_in_one_table_of_quality_cost_and_latency(app):
    page = found(app, f"?pick={NEW}&pick={OLD}&pick={MODELS}")
    assert "Quality against cost and latency: pass rate" in page
    for name in ("models openai/a", "models openai/b", "2026-11-22 10:15", "2026-11-21 10:15"):
        assert f"<bdi>{name}</bdi>" in page, "runs are named by what tells them apart, not by id"
    assert "Cost is unknown for all, and not compared." in page
    assert "not told apart from" in page


@pytest.mark.parametrize(
    ("before", "now", "shown_as"),
    [
        pytest.param("It is 42 m high.", "It is 17 m high.", "It is <del>42</del> m high.", id="words are marked"),
        pytest.param(
            "Oslo",
            "I do not know.",
            "The outputs have less than half in common, so nothing is marked.",
            id="unrelated texts",
        ),
        pytest.param(
            {"a": 1, "b": 2},
            '{"a": 1, "b": 3}',
            "<code>b</code></th><td><del>2</del></td><td><ins>3</ins>",
            id="JSON by its keys",
        ),
        pytest.param(
            {"a": 1, "b": 2}, {"a": 1}, '<del>2</del></td><td><span class="quiet">removed', id="a key that is gone"
        ),
        pytest.param("the same", "the same", "Both outputs are identical.", id="equal texts"),
    ],
)
def test_outputs_are_compared_by_words_by_keys_or_side_by_side(store, before, now, shown_as):
    keep(store, a_run(OLD), [other_case(1, before)])
    keep(store, a_run(NEW), [other_case(1, now, verdict=False)])
    text = found(shown(store), f"?run={NEW}&baseline={OLD}")
    assert shown_as in text
    assert text.count("the same</div>") <= 1, "an output that is the same on both sides is shown once"


def test_several_baselines_are_one_family_of_tests_as_on_the_command_line(app, kept):
    expected = compare_several(kept.run(NEW), [kept.run(OLD), kept.run(MODELS)])
    text = found(app, f"?run={NEW}&baseline={OLD}&baseline={MODELS}")
    for one in expected:
        assert comparison.verdict_sentence(one)[1:] in text, "it begins with a capital"
        assert f'href="/compare?run={NEW}&amp;baseline={one.baseline}">Cases' in text
        for change in one.targets:
            for row in comparison.change_rows(change):
                assert f"{row.difference}</b>" in text
                assert f'<td class="num aside">{row.p}</td>' in text, "of several targets, a table each"
    assert f"p is adjusted for {expected[0].tests} tests" in text
    assert "The tests are those of all these comparisons together;" in text
    assert f'href="/grid?run={OLD}&amp;run={MODELS}&amp;run={NEW}"' in text


def test_baselines_with_one_target_stand_in_one_table_of_metrics(store):
    two(store)
    keep(store, a_run(OLDER, created="2026-11-20T10:15:00+00:00"), [result(number) for number in range(5)])
    text = found(shown(store), f"?run={NEW}&baseline={OLD}&baseline={OLDER}")
    for one in compare_several(store.run(NEW), [store.run(OLD), store.run(OLDER)]):
        for row in comparison.change_rows(one.targets[0]):
            assert f"{row.before} → {row.now}</span><small>{row.interval} · p {row.p}</small>" in text
    assert '<th scope="col">against <bdi>2026-11-20 10:15</bdi>' in text
    assert '<th scope="row"><bdi>2026-11-20 10:15</bdi></th>' in text, "named by its time, not by its id"


def test_runs_of_one_name_and_time_have_their_ids_beside(store):
    two(store)
    keep(store, a_run(OLDER), [result(number) for number in range(5)])  # as long ago as OLD
    text = found(shown(store), f"?run={NEW}&baseline={OLD}&baseline={OLDER}")
    for run in (OLD, OLDER):
        assert f"against <bdi>2026-11-21 10:15:00 · {run}</bdi>" in text


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        pytest.param(f"?run={NEW}&baseline={OLD}&baseline=nope", 404, "nope", id="one that does not exist"),
        pytest.param(f"?run={NEW}&baseline={OLD}&baseline=none", 200, "against 1 run", id="one that names no run"),
        pytest.param(f"?run={NEW}&baseline={OLD}&baseline={OLD}", 200, "8</b>", id="the same one twice is one"),
        pytest.param(
            f"?run={OLD}&baseline=last-green&baseline=none", 200, "There is no run to compare with", id="none at all"
        ),
    ],
)
def test_of_several_baselines_those_that_exist_are_compared(app, query, status, said):
    answer = from_browser(app, f"/compare{query}")
    assert answer.status == status
    assert said in answer.text


def test_cases_are_titled_by_what_was_asked(app):
    text = found(app, f"?run={NEW}&outcome=worse")
    assert "<b><bdi>What is 1 times 1?</bdi></b>" in text
    assert "<h3>Input</h3>" not in text, "a short input is not said again"


def test_a_page_without_its_comparison_yet_asks_for_it_again(store):
    two(store)
    view = StoreView(store, BackgroundFigures(patience=0))
    app = starlette_app(PageContext(view, POLICY.key, ""))
    with view.figures.give_way():
        assert 'data-live="comparison" data-pending="comparison"' in asked(app, f"/compare?run={NEW}").text
    assert "data-pending" not in found(shown(store), f"?run={NEW}")
    assert "data-pending" not in found(shown(store), "")


def test_of_many_metrics_fifty_are_compared_on_a_page_and_those_that_changed_come_first_in_each_case(store):
    names = [f"m{n:03}" for n in range(120)]
    for run_id, created, now in ((OLD, "2026-11-21T10:15:00+00:00", 0.5), (NEW, "2026-11-22T10:15:00+00:00", 0.25)):
        scores = tuple(Score(name=name, raw=v, value=v) for name in names for v in [now if name == "m110" else 0.5])
        results = [replace(result(number), scores=scores) for number in (1, 2, 3)]
        keep(store, a_run(run_id, created=created, metrics=tuple(Metric(name=name) for name in names)), results)
    app = shown(store)
    for query, first, last in (
        ("", 101, 120),
        ("&metrics=1", 1, 50),
        ("&metrics=2", 51, 100),
        ("&metrics=9", 101, 120),
    ):
        text = from_browser(app, f"/compare?run={NEW}&baseline={OLD}{query}").text
        assert re.findall(r'<th scope="row"><bdi>(m\d+)</bdi>', text) == names[first - 1 : last], query
        assert text.count("of 120</p>") == 2
        of_cases = re.findall(r'<ul class="score-changes".*?</ul>', text, re.DOTALL)
        assert [re.search(r"<bdi>(m\d+)", one)[1] for one in of_cases] == ["m110"] * 3
        assert all("and 70 more" in one for one in of_cases)


def test_scores_that_are_labels_are_named_as_such_in_a_comparison_not_as_yes_and_no(store):
    for run, created, label, value in ((OLD, 21, "refund", 1.0), (NEW, 22, "billing", 0.0)):
        score = Score(name="topic", raw=label, value=value)
        results = [replace(result(number), scores=(score,)) for number in range(9)]
        keep(store, a_run(run, created=f"2026-11-{created}T10:15:00+00:00", metrics=(Metric(name="topic"),)), results)
    text = found(shown(store), f"?run={NEW}&baseline={OLD}")
    assert "refund (1.00) → billing (0.00)" in re.sub(r"<[^>]*>", "", text)
    assert "yes → no" not in re.sub(r"<[^>]*>", "", text)
