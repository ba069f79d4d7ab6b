"""Filters of a run's cases: the query box, the active filters, and the files of what they select."""

import csv
import io
import json
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from urllib.parse import quote

import pytest

from evalmark import Score, evaluate
from evalmark.core.values.run import Metric
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import open_store

from .conftest import a_run, from_browser, keep, result, sent, shown
from .test_labels import FIRST
from .test_pages import cases, page, words

RUN = "20261121-101500-3f9a"
PAGE = run_path(RUN)
RESULTS = [result(number) for number in range(30)]


def similarity(one):
    return next((score.value for score in one.scores if score.name == "similarity"), None)


@pytest.mark.parametrize(
    ("query", "selects"),
    [
        pytest.param("verdict:fail", lambda one: one.verdict == "fail", id="a verdict"),
        pytest.param("verdict:fail,error", lambda one: one.verdict in ("fail", "error"), id="one of two verdicts"),
        pytest.param("-verdict:pass", lambda one: one.verdict != "pass", id="not a verdict"),
        pytest.param("tag:even -tag:odd", lambda one: "even" in one.trial.case.tags, id="a tag and not another"),
        pytest.param(
            "metric.similarity<0.6", lambda one: similarity(one) is not None and similarity(one) < 0.6, id="below"
        ),
        pytest.param(
            "metric.similarity>=0.5 metric.similarity<=0.55 metric.correct=0.75",
            lambda one: similarity(one) is not None and 0.5 <= similarity(one) <= 0.55,
            id="two bounds of one metric and one of another",
        ),
        pytest.param("-metric.correct=0.75", lambda one: one.verdict == "error", id="an error has no score"),
        pytest.param("sings unheard-of", lambda one: False, id="every word has to occur"),
        pytest.param(
            '"7 times 7" sings',
            lambda one: "7 times 7" in one.trial.case.input and one.output.error is None,
            id="a phrase",
        ),
    ],
)
def test_a_query_lists_the_cases_that_it_selects(app, query, selects):
    text = page(app, f"{PAGE}?size=50&sort=position&q={quote(query)}")
    assert cases(text) == [one.trial.case.id for one in RESULTS if selects(one)]


@pytest.mark.parametrize(
    ("query", "selects"),
    [
        pytest.param("metric.edits>=12", [2, 3], id="a metric in its own unit"),
        pytest.param("metric.edits<12", [0, 1], id="below"),
        pytest.param("-metric.edits<12", [2, 3, 4], id="not below: also a score that is unscored"),
        pytest.param("metric.reach<1", [0, 1], id="numbers of which some lie outside 0 to 1"),
        pytest.param("metric.reach>1", [2, 3], id="above 1"),
    ],
)
def test_numbers_without_a_value_from_0_to_1_are_found_as_they_are_shown(tmp_path, query, selects):
    def scored(number, edits, reach):
        scores = [
            Score(name="edits", raw=edits),
            Score(name="reach", raw=reach, value=reach if 0 <= reach <= 1 else None),
        ]
        if number == 4:
            scores = [Score(name="edits", status="unscored"), Score(name="reach", raw="far")]
        return replace(result(number), scores=tuple(scores))

    numbers = [(2, -1.5), (11, 0.5), (12, 1.5), (30, 4.0), (0, 1.0)]
    with open_store(tmp_path / "evalmark.db") as made:
        results = [scored(n, *one) for n, one in enumerate(numbers)]
        keep(made, a_run(RUN, metrics=(Metric(name="edits", unit="edits"), Metric(name="reach"))), results)
        text = page(shown(made), f"{PAGE}?size=50&sort=position&q={quote(query)}")
        assert cases(text) == [results[n].trial.case.id for n in selects]


def test_a_query_adds_to_the_other_filters(app):
    text = page(app, f"{PAGE}?verdict=fail&tag=odd&q={quote('metric.similarity<0.3 case-0')}")
    assert cases(text) == [f"case-{number:03}" for number in (3, 15, 21, 27)]
    assert re.findall(r"<bdi>([^<]*)</bdi> <span aria-hidden=\"true\">\N{MULTIPLICATION SIGN}", text) == [
        "failed",
        "tagged odd",
        "similarity below 0.3",
        "has “case-0”",
    ]


def test_an_active_filter_is_a_link_to_the_same_without_it(app):
    text = page(app, f"{PAGE}?verdict=fail&q={quote('tag:odd case-0')}&sort=-case&page=1")
    links = re.findall(r'<li><a href="([^"]*)#cases"><bdi>', text)
    assert links == [
        f"{PAGE}?q=tag%3Aodd+case-0&amp;sort=-case",
        f"{PAGE}?q=case-0&amp;verdict=fail&amp;sort=-case",
        f"{PAGE}?q=tag%3Aodd&amp;verdict=fail&amp;sort=-case",
    ]
    assert f'href="{PAGE}?sort=-case#cases">Clear all' in text


def test_a_query_that_cannot_be_read_lists_nothing_and_loses_nothing(app):
    text = page(app, f"{PAGE}?verdict=fail&q={quote('metric.similarty<0.7')}")
    assert "This run has no metric similarty; did you mean metric.similarity?" in words(text)
    assert cases(text) == []
    assert 'value="metric.similarty&lt;0.7"' in text
    assert "No case matches" not in words(text)


def test_the_form_keeps_what_it_does_not_ask_for(app):
    text = page(app, f"{PAGE}?text=What&sort=-case")
    form = text[text.index('<form class="filters"') : text.index("</form>")]
    assert '<input type="hidden" name="text" value="What">' in form
    assert '<input type="hidden" name="sort" value="-case">' in form
    assert re.search(r'<button class="submit">Filter</button>', form)


def test_labels_in_a_query_select_as_the_form_does(own):
    assert sent(own, {**FIRST, "liked": "down", "by": "ann"}).status == 303
    for query in (f"q={quote('label:bad')}", "label=down"):
        assert len(cases(page(own, f"{PAGE}?{query}"))) == 1
    counts = {
        "label:none": 29,
        "-label:bad": 29,
        "-label:none": 1,
        "label:bad OR case-003": 2,
        "label:bad -label:bad": 0,
    }
    for query, count in counts.items():
        assert len(cases(page(own, f"{PAGE}?q={quote(query)}"))) == count, query


def test_changes_since_the_previous_run_are_a_condition_like_others(store):
    before = [
        replace(one, scores=(replace(one.scores[0], passed=True), *one.scores[1:])) if one.scores else one
        for one in RESULTS
    ]
    keep(store, a_run("20261120-101500-aaaa", created="2026-11-20T10:15:00+00:00"), before)
    keep(store, a_run(), RESULTS)
    app = shown(store)
    worse = {one.trial.case.id for one in RESULTS if one.verdict == "fail"}
    for query, count in {
        "flipped:worse": len(worse),
        "flipped:any": len(worse),
        "flipped:better": 0,
        "-flipped:worse": len(RESULTS) - len(worse),
        "flipped:worse case-003 OR case-001": 1,
    }.items():
        assert len(cases(page(app, f"{PAGE}?q={quote(query)}"))) == count, query
    assert "worse since the previous run" in page(app, f"{PAGE}?flipped=worse")


def test_a_change_is_never_guessed_without_a_previous_run(app):
    text = page(app, f"{PAGE}?q={quote('-flipped:worse')}")
    assert cases(text) == []
    assert "There is no earlier run to compare with." in text


@pytest.mark.parametrize("name", ["cases.csv", "cases.jsonl", "dataset.jsonl"])
def test_a_file_has_exactly_what_is_filtered(app, name):
    answer = from_browser(app, f"{PAGE}/export/{name}?q={quote('verdict:fail tag:odd')}&page=2")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{RUN}-{name}"'
    if name.endswith(".csv"):
        ids = [row["case"] for row in csv.DictReader(io.StringIO(answer.text)) if row["case"]]
    else:
        rows = [json.loads(line) for line in answer.text.splitlines()]
        ids = [row["case"]["id"] if "case" in row else row["id"] for row in rows]
    assert ids == [one.trial.case.id for one in RESULTS if one.verdict == "fail" and "odd" in one.trial.case.tags]


def test_a_file_of_everything_is_read_page_by_page(store, monkeypatch):
    monkeypatch.setattr("evalmark.reports.viewer.export_page._ROWS", 7)
    keep(store, a_run(), RESULTS)
    answer = from_browser(shown(store), f"{PAGE}/export/dataset.jsonl")
    assert len(answer.text.splitlines()) == 30


def test_a_dataset_of_what_failed_is_run_by_the_command_line(app, tmp_path):
    answer = from_browser(app, f"{PAGE}/export/dataset.jsonl?q={quote('verdict:fail')}")
    (tmp_path / "failures.jsonl").write_bytes(answer.body)
    (tmp_path / "bot.py").write_text("def answer(question):\n    n = int(question.split()[2])\n    return str(n * n)\n")
    suite = {
        "target": "bot:answer",
        "datasets": ["failures.jsonl"],
        "metrics": ["equals"],
        "gate": {"min_pass_rate": 1},
    }
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    command = [sys.executable, "-m", "evalmark", "run", "suite.json", "-o", "report.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    ran = json.loads((tmp_path / "report.json").read_text())["results"]
    assert [one["case"]["id"] for one in ran] == [one.trial.case.id for one in RESULTS if one.verdict == "fail"]


@pytest.mark.parametrize(
    ("target", "status", "sentence"),
    [
        pytest.param(f"{PAGE}/export/cases.xml", 404, "There is no such export", id="another format"),
        pytest.param(f"{PAGE}/export/cases.csv?q=verdict:", 400, "verdict: needs a value", id="a query with a problem"),
        pytest.param("/runs/none/export/cases.csv", 404, "none", id="no such run"),
    ],
)
def test_what_cannot_be_exported_is_a_page_that_says_why(app, target, status, sentence):
    assert sentence in words(page(app, target, status))


@pytest.mark.parametrize(
    ("query", "count"),
    [("flipped:worse", 9), ("-flipped:worse", 21), ("flipped:worse OR verdict:error", 12), ("flipped:better", 0)],
)
def test_changes_since_the_previous_run_are_a_condition_in_a_grid_too(store, query, count):
    keep(
        store,
        a_run("20261120-101500-aaaa", created="2026-11-20T10:15:00+00:00"),
        [
            replace(one, scores=(replace(one.scores[0], passed=True), *one.scores[1:])) if one.scores else one
            for one in RESULTS
        ],
    )
    keep(store, a_run(), RESULTS)
    text = words(page(shown(store), f"/grid?run={RUN}&alone=1&q={quote(query)}"))
    assert f"Case{count} cases" in text.replace("Case ", "Case")


def test_a_grid_guesses_no_change_without_a_previous_run(app):
    text = words(page(app, f"/grid?run={RUN}&alone=1&q={quote('-flipped:worse')}"))
    assert "The changes since the previous run are not known: the page of the run says why." in text


@pytest.mark.parametrize("address", [f"{PAGE}?", f"/grid?run={RUN}&alone=1&"])
def test_a_query_that_is_too_long_is_not_cut_into_another_one(app, address):
    text = page(app, f"{address}q={'x' * 495}%20verdict:failed")
    assert "A query has at most 500 characters" in text


def test_links_repeat_numbers_in_full(app):
    text = page(app, f"{PAGE}?low=0.5000001&high=1234567.5")
    assert "low=0.5000001&amp;high=1234567.5" in text
    assert "from 0.5000001 to 1234567.5" in words(text)


def test_the_several_scores_of_a_metric_are_filtered_and_sorted_by_their_names(tmp_path):
    def tone(output):
        return {"polite": output == "q1", "brief": 0.1 * int(output[1])}

    path = tmp_path / "several.db"
    evaluate([{"id": f"c{n}", "input": f"q{n}"} for n in range(4)], lambda text: text, [tone], store=str(path))
    with open_store(path) as kept:
        (run,) = (one.id for one in kept.runs())
        polite = from_browser(shown(kept), f"/runs/{run}?q=metric.tone.polite%3E0.5").text
        lowest = from_browser(shown(kept), f"/runs/{run}?sort=-score:tone.brief").text
    assert "no metric" not in polite
    assert [f">q{n}" in polite for n in range(4)] == [False, True, False, False]
    assert lowest.index(">q3") < lowest.index(">q2") < lowest.index(">q1") < lowest.index(">q0")


@pytest.mark.parametrize(
    ("query", "selects"),
    [
        pytest.param("/is (1|2)[02468] times/", lambda n: n in range(10, 30, 2), id="a pattern"),
        pytest.param("-/IT SINGS\\.$/", lambda n: n % 10 == 9, id="excluded, in any case"),
        pytest.param("/^case-00[12]$/ OR verdict:error", lambda n: n in (1, 2, 9, 19, 29), id="one of two conditions"),
        pytest.param("/is 3 / /nowhere/", lambda n: False, id="two patterns"),
    ],
)
def test_a_pattern_selects_in_the_list_in_a_grid_and_in_files(app, query, selects):
    numbers = [number for number in range(30) if selects(number)]
    ids = [f"case-{number:03}" for number in numbers]
    assert cases(page(app, f"{PAGE}?size=50&sort=position&q={quote(query)}")) == ids
    grid = words(page(app, f"/grid?run={RUN}&alone=1&q={quote(query)}"))
    assert (f"{len(ids)} cases" if ids else "No case matches") in grid
    lines = from_browser(app, f"{PAGE}/export/dataset.jsonl?q={quote(query)}").text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ids


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$"])
def test_a_pattern_that_takes_too_long_is_stopped_and_the_page_says_so(store, monkeypatch, pattern):
    monkeypatch.setattr("evalmark.reports.viewer.pattern_filter._PATTERN_SECONDS", 0.05)
    text = "a" * 5_000 + "!"
    slow = replace(RESULTS[0], trial=replace(RESULTS[0].trial, case=replace(RESULTS[0].trial.case, input=text)))
    keep(store, a_run(), [slow, *RESULTS[1:]])
    app = shown(store)
    for address in (f"{PAGE}?", f"/grid?run={RUN}&alone=1&"):
        answer = page(app, f"{address}q={quote(f'/{pattern}/')}")
        assert f"The pattern /{pattern}/ takes longer than 0.05 s on one text" in words(answer)
        assert cases(answer) == []
    assert "takes longer" in page(app, f"{PAGE}/export/cases.csv?q={quote(f'/{pattern}/')}", 400)


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        pytest.param("/(a/", "The pattern /(a/ is no regular expression: missing )", id="broken"),
        pytest.param("/refund|mo", "The pattern at “/refund|mo” has no end; add a closing slash", id="half typed"),
        pytest.param("/" + "(" * 480 + "/", "is no regular expression", id="too deep"),
    ],
)
@pytest.mark.parametrize("address", [f"{PAGE}?", f"/grid?run={RUN}&alone=1&"])
def test_a_pattern_that_cannot_be_read_says_why_and_stays_in_the_box(app, address, pattern, sentence):
    text = page(app, f"{address}q={quote(pattern)}")
    assert sentence in words(text)
    assert f'value="{pattern}"' in text
    assert cases(text) == []


def test_a_pattern_is_not_searched_in_a_run_that_is_too_large(app, monkeypatch):
    monkeypatch.setattr("evalmark.reports.viewer.pattern_filter.MOST_SEARCHED", 29)
    text = words(page(app, f"{PAGE}?q=/a/"))
    assert "A pattern is searched in runs with up to 29 results, and this one has 30; search for words instead." in text


def test_while_a_pattern_is_searched_pages_say_so_and_files_wait(store, monkeypatch):
    goes_on = threading.Event()
    monkeypatch.setattr("evalmark.reports.viewer.background.FEW", 10)
    read = store.search_texts
    monkeypatch.setattr(type(store), "search_texts", lambda self, *given: goes_on.wait(60) and read(*given))
    keep(store, a_run(), RESULTS)
    app = shown(store)
    query = quote("/is 12 /")
    assert "The texts of 30 trials are being searched." in words(page(app, f"{PAGE}?q={query}"))
    assert "still being searched" in words(page(app, f"{PAGE}/export/cases.csv?q={query}", 503))
    page(app, f"/grid?run={RUN}&alone=1&q={query}")
    assert len(cases(page(app, PAGE))) == 30, "other pages do not wait"
    goes_on.set()
    end = time.monotonic() + 30
    while (found := cases(page(app, f"{PAGE}?q={query}"))) == [] and time.monotonic() < end:
        time.sleep(0.02)
    assert found == ["case-012"]
