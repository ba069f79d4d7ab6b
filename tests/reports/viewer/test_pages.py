"""What the pages show, as a reader of the HTML finds it."""

import asyncio
import html
import json
import re
import threading
import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from evalmark import Case, Output, Result, Run, Score, ToolCall
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.reports.text.numbers import DASH
from evalmark.reports.viewer import background
from evalmark.reports.viewer.app import viewer_app
from evalmark.reports.viewer.background import FEW, BackgroundFigures, Task, figures_state
from evalmark.reports.viewer.urls.paths import run_path
from evalmark.store import open_store

from .conftest import METRICS, POLICY, a_run, from_browser, keep, result, shown

RUN = "20261121-101500-3f9a"
PAGE = run_path(RUN)
VOID = {"meta", "link", "input", "br", "img", "hr", "wbr"}


class Balanced(HTMLParser):
    """Elements that are closed in their order, ids that stand once, and links to parts of the page that are there."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.faults, self.ids, self.fragments, self.referred = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.faults += [name for name in found if name.startswith("on") or name == "style"]
        self.ids += [found["id"]] if "id" in found else []
        self.fragments += [found["href"][1:]] if (found.get("href") or "").startswith("#") else []
        self.referred += (found.get("aria-labelledby") or "").split()
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")


def checked(text: str) -> str:
    """The text of a page that is well made."""
    parser = Balanced()
    parser.feed(text)
    assert parser.faults == []
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert {*parser.fragments, *parser.referred} <= {*parser.ids}
    assert text.count("<script") == 1
    assert re.search(r'<script src="/static/script\.js\?[0-9a-f]{16}" defer></script>', text)
    return text


def page(app, target, status=200):
    answer = from_browser(app, target)
    assert answer.status == status, answer.text
    return checked(answer.text)


def words(text: str) -> str:
    """What a page says, without its elements."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def cases(text: str) -> list[str]:
    """The ids in the rows of the table of cases, in their order."""
    return re.findall(r'(?:<small><code>|<th scope="row"><a class="name"[^>]*><bdi>)(case-\d+)', text)


def test_the_list_shows_each_run_with_its_figures(app):
    said = words(page(app, "/"))
    assert "1 run in evalmark.db" in said
    assert f"squares 2026-11-21 10:15 UTC · squares.jsonl · app:answer {DASH} judged by openai/small 30" in said
    assert f"66.7 % 47.8 {DASH} 81.4 % · 18 of 27 · ! 3 errors {DASH} $0.0042 80 s" in said


def test_an_empty_store_says_how_to_make_a_run(store):
    assert "No runs yet" in words(page(shown(store), "/"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("text=squares", 2),
        ("text=SQUARES+app", 2),
        ("text=second", 1),
        ("text=openai/small+squares", 2),
        ("text=nowhere", 0),
        ("status=interrupted", 0),
        ("status=running", 1),
        ("text=&status=", 2),
        ("page=99", 2),
    ],
)
def test_runs_are_searched_and_filtered_by_their_address(store, own, query, found):
    keep(store, a_run("20261121-111500-2222", name="second"), [result(1)], ends=False)
    text = page(own, f"/?{query}")
    assert len(re.findall(r'<th scope="row">', text)) == found
    assert ("badge live" in text) is ("second" in text)


def test_a_run_shows_its_verdict_its_figures_and_its_cases(app):
    text = page(app, PAGE)
    said = words(text)
    assert "✗ failed" in said
    assert "30 trials" in said
    assert f"Pass rate 66.7 %, 95 % interval 47.8 {DASH} 81.4 %" in said
    assert "each case \N{GREATER-THAN OR EQUAL TO} 0.6" in said
    assert len(cases(text)) == 30
    assert "correct 4 (0.75)" in said
    assert 'aria-sort="none"' in text


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        pytest.param("verdict=error", ["case-009", "case-019", "case-029"], id="those that broke"),
        pytest.param("verdict=error&sort=-position", ["case-029", "case-019", "case-009"], id="the last first"),
        pytest.param("verdict=fail&tag=odd", ["case-003", "case-015", "case-021", "case-027"], id="failed, by tag"),
        pytest.param("text=12+times", ["case-012"], id="a text of the input"),
        pytest.param("text=It+is+441.", ["case-021"], id="a text of the answer"),
        pytest.param("text=CASE-02&verdict=fail", ["case-021", "case-024", "case-027"], id="a part of the id"),
        pytest.param("text=reason", [], id="the name of a field is not a text"),
        pytest.param("text=%25", [], id="a sign that SQL knows is a sign"),
        pytest.param("metric=similarity&low=0.63", ["case-026", "case-028"], id="a score from somewhere on"),
        pytest.param("metric=similarity&low=0.6&high=0.61", ["case-020", "case-022"], id="a range of a score"),
        pytest.param("high=0.2", [], id="a range of any score"),
        pytest.param("q=seconds>2.6", ["case-027", "case-028"], id="slow ones"),
        pytest.param("q=seconds<=0.1", ["case-000", "case-001"], id="fast ones; an error without a time is none"),
        pytest.param("q=-seconds<=2.7+tag:even", ["case-028"], id="those that were not fast"),
        pytest.param("verdict=pass&sort=-score:similarity&size=25", None, id="sorted by a score"),
        pytest.param("verdict=nonsense&sort=drop+table&low=x&page=-3&size=7", None, id="what makes no sense"),
    ],
)
def test_cases_are_filtered_and_sorted_by_their_address(app, query, ids):
    found = cases(page(app, f"{PAGE}?{query}"))
    if ids is not None:
        assert found == ids
    elif "score" in query:
        assert found == sorted((n for n in found), reverse=True)
        assert len(found) == 18
    else:
        assert len(found) == 30


@pytest.mark.parametrize("sort", ["case", "verdict", "seconds", "score:similarity", "score:correct"])
def test_rows_are_sorted_both_ways_and_what_is_unknown_comes_last(app, sort):
    upwards, downwards = (cases(page(app, f"{PAGE}?sort={way}{sort}")) for way in ("", "-"))
    assert sorted(upwards) == sorted(downwards)
    assert len(upwards) == 30
    assert upwards != downwards or sort == "score:correct"
    if sort in ("seconds", "score:similarity"):
        assert {*upwards[-3:]} == {*downwards[-3:]} == {"case-009", "case-019", "case-029"}


def test_pages_follow_each_other_and_the_last_one_is_the_last(app):
    text = page(app, f"{PAGE}?size=25")
    (following,) = re.findall(r'rel="next" href="([^"]*)"', text)
    last = page(app, html.unescape(following).partition("#")[0])
    first, second = cases(text), cases(last)
    assert (len(first), len(second)) == (25, 5)
    assert not {*first} & {*second}
    assert "Page 2 of 2" in words(last)
    assert 'rel="next"' not in last
    (before,) = re.findall(r'rel="prev" href="([^"]*)"', last)
    assert cases(page(app, html.unescape(before).partition("#")[0])) == first
    assert cases(page(app, f"{PAGE}?size=25&page=2")) == second
    assert cases(page(app, f"{PAGE}?size=25&page=9999999")) == second
    assert cases(page(app, f"{PAGE}?size=25&page=7&after=999999")) == first


def heads(text: str) -> list[str]:
    """The metrics of the table of cases, then those of the figures."""
    return re.findall(r'class="num[^"]*"><a class="sort"[^>]*>(m\d+)', text) + re.findall(
        r'<th scope="row"><bdi>(m\d+)</bdi>', text
    )


def test_of_many_metrics_fifty_stand_on_a_page_and_the_others_are_reached_by_links(store):
    names = [f"m{n:03}" for n in range(120)]
    kept = result(1)
    scores = tuple(Score(name=name, value=0.5, passed=True) for name in names)
    keep(store, a_run(metrics=tuple(Metric(name=name) for name in names)), [replace(kept, scores=scores)])
    app = shown(store)
    table = f"{PAGE}?density=compact"
    text = page(app, table)
    assert heads(text) == names[:50] * 2
    assert words(text).count(f"Metrics 1 {DASH} 50 of 120") == 2
    (_, following) = re.findall(r'rel="next" href="([^"]*)"', text)
    assert html.unescape(following) == f"{PAGE}?metrics=2&density=compact#cases"
    last = page(app, f"{table}&verdict=pass&metrics=9")
    assert heads(last) == names[100:] * 2
    assert "?verdict=pass&amp;metrics=2&amp;density=compact#group-1" in last
    for query in ("metric=m070&low=0.1", "sort=score:m070", "sort=score:m070&metrics=2", "metrics=2"):
        assert heads(page(app, f"{table}&{query}")) == names[50:100] * 2, query
    assert text.count("<option value=") > 120, "cases are filtered by any of them"


def test_the_charts_of_fifty_metrics_stand_on_a_page_and_the_others_are_reached_by_links(store):
    names = [f"m{n:03}" for n in range(120)]
    scores = tuple(Score(name=name, value=0.5, passed=True) for name in names)
    keep(store, a_run(metrics=tuple(Metric(name=name) for name in names)), [replace(result(1), scores=scores)])
    app = shown(store)
    for query, first, last in (("", 1, 50), ("page=2", 51, 100), ("page=9", 101, 120), ("page=-1", 1, 50)):
        text = page(app, f"{PAGE}/charts?against=m007&{query}")
        drawn = [name for name in names if f"<bdi>{name}</bdi></h2>" in text]
        assert drawn == names[first - 1 : last], query
        assert words(text).count(f"Metrics {first} {DASH} {last} of 120") == 2, query
    assert "/charts?against=m007&amp;quality=m000&amp;page=2#metrics" in text, "the other choices stay"


def test_few_metrics_stand_on_one_page(app):
    text = page(app, f"{PAGE}?metrics=2&density=compact")
    assert "similarity</a>" in re.sub(r"<span.*?</span>", "", text)
    assert f"Metrics 1 {DASH}" not in words(text)


def test_a_click_on_a_head_sorts_and_a_second_one_turns_it_round(app):
    text = page(app, f"{PAGE}?verdict=fail&sort=score:similarity&density=compact")
    assert 'aria-sort="ascending"' in text
    assert "?verdict=fail&amp;sort=-score%3Asimilarity&amp;density=compact#cases" in text


def test_several_targets_stand_side_by_side_in_their_order(store):
    run = a_run(target="zeta, alpha")
    keep(store, run, [result(number, target) for number in range(4) for target in ("zeta", "alpha")])
    text = page(shown(store), f"{PAGE}?sort=position")
    heads = re.findall(r'<th scope="col"><bdi>(\w+)', text)
    assert heads == ["zeta", "alpha"]
    assert cases(text) == ["case-000", "case-001", "case-002", "case-003"]
    assert f"4 cases, 1 {DASH} 4 shown" in words(text)


def test_a_tag_of_any_characters_leads_to_its_cases(store):
    tags = [" lead", "trail ", "~tilde", "a\nb", "50%", "-a"]
    results = [result(number) for number in range(len(tags))]
    tagged = [replace(one.trial.case, tags=(tag,)) for one, tag in zip(results, tags, strict=True)]
    keep(store, a_run(), [replace(r, trial=replace(r.trial, case=c)) for r, c in zip(results, tagged, strict=True)])
    app = shown(store)
    links = [html.unescape(one) for one in re.findall(r'<a href="(/runs/[^"]*[?]tag=[^"#]*)#cases"', page(app, PAGE))]
    chips = [html.unescape(one) for one in re.findall(r'href="([?]tag=[^"#]*)#cases"', page(app, PAGE))]
    for several in (links, [PAGE + one for one in chips]):
        assert sorted(name for one in several for name in cases(page(app, one))) == [c.id for c in tagged]
        again = re.findall(r'name="tag" value="([^"]*)"', "".join(page(app, one) for one in several))
        assert {"~IGxlYWQ", "50%"} < {*again}


def test_repeats_are_not_counted_as_cases(store):
    results = [result(number, repeat=repeat) for number in range(4) for repeat in range(3)]
    keep(store, a_run(repeat=3), results)
    app = shown(store)
    assert "12 trials · 4 cases" in words(page(app, PAGE)).replace("\xa0", "")
    assert f"12 repeats, 1 {DASH} 12 shown" in words(page(app, PAGE))
    assert f"3 repeats found, 1 {DASH} 3 shown" in words(page(app, f"{PAGE}?q=case-002"))


def test_a_case_shows_all_that_is_known_of_it(app):
    text = page(app, f"{PAGE}/results/2")
    said = words(text)
    for part in (
        "What is 1 times 1?",
        "Expected Copy 1",
        "disliked No idea.",
        "A table of squares.",
        "user Hello.",
        "odd",
    ):
        assert part in said, part
    assert "<mark>It sings.</mark>" in text
    assert "similarity" in said
    assert "0.505 ≥ 0.6" in said
    assert "multiply" in said
    assert "judged by openai/small · call 2" in said
    assert "system You judge. user Is it correct? reply four of five" in said
    assert "This call is no longer recorded." in said
    assert "10 tokens in, 2 tokens out" in said


@pytest.mark.parametrize(
    ("number", "sentence", "deciding"),
    [
        pytest.param(4, "Failed because of similarity : 0.250, below its threshold of 0.6.", 1, id="failed"),
        pytest.param(2, "Passed: 1 score that can fail, and none failed.", 0, id="passed"),
        pytest.param(10, "The target raised an error, so there is no output to score.", 0, id="an error"),
    ],
)
def test_a_case_says_in_one_sentence_why_it_ended_so(app, number, sentence, deciding):
    text = page(app, f"{PAGE}/results/{number}")
    assert sentence in words(text)
    assert text.count('class="score-row deciding"') == deciding == words(text).count("decided the verdict")


@pytest.mark.parametrize(
    ("expected", "value", "said"),
    [
        pytest.param("It is 1.", "It is 1. ", "The same as the output.", id="the same but for blanks around it"),
        pytest.param("It is a hill.", "It is a dune.", "<del>hill</del>", id="words"),
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 3}, "<ins>3</ins>", id="fields"),
        pytest.param("Oslo", "No idea.", "", id="less than half in common"),
        pytest.param("a " * 20_000, "a " * 20_000 + "b", "", id="too long"),
        pytest.param('{"a": 1, "b": 2}', {"b": 2, "a": 1}, "", id="the order of fields"),
        pytest.param(None, "Oslo", "", id="nothing is expected"),
    ],
)
def test_a_case_says_what_differs_from_the_expected_output(store, expected, value, said):
    made = result(1, value=value)
    case = replace(made.trial.case, expected=expected)
    keep(store, a_run(), [replace(made, trial=replace(made.trial, case=case))])
    text = page(shown(store), f"{PAGE}/results/1")
    assert said in text
    assert ("What differs from the expected output" in text) == ("<" in said)
    assert ("The same as the output." in text) == ("same" in said)


def test_repeats_on_one_target_are_named_by_their_number(store):
    keep(store, a_run(repeat=2), [result(1), result(1, repeat=1)])
    text = page(shown(store), f"{PAGE}/results/1")
    links = re.search(r'aria-label="The same case".*?</nav>', text, re.DOTALL)[0]
    assert [words(one).split()[-2:] for one in re.findall(r"<a .*?</a>", links, re.DOTALL)] == [
        ["repeat", "1"],
        ["repeat", "2"],
    ]
    assert "app:answer" not in links


def test_a_case_says_why_its_scores_failed_and_lists_them_first(store):
    scores = tuple(
        Score(name=name, value=0.2, passed=passed, reason=f"{name} because")
        for name, passed in (("calm", True), ("true", False), ("kind", None), ("short", False))
    )
    keep(store, a_run(), [replace(result(1), scores=scores)])
    text = page(shown(store), f"{PAGE}/results/1")
    assert "true : 0.200; short : 0.200. true : true because short : short because" in words(text)
    rows = re.findall(r'<tr id="(score-\d)" tabindex="-1" data-key="(\d)"', text)
    assert rows == [("score-2", "1"), ("score-4", "2"), ("score-1", "3"), ("score-3", "4")]
    labelled = re.findall(r'name="metric" value="(\w+)"', text)
    assert labelled == ["true", "short", "calm", "kind"]


@pytest.mark.parametrize(
    ("value", "is_folded"),
    [
        pytest.param("word " * 700, True, id="many characters"),
        pytest.param("- item\n" * 40, True, id="many lines"),
        pytest.param("word " * 100, False, id="a short output"),
    ],
)
def test_a_long_output_is_folded_and_all_of_it_is_there(store, value, is_folded):
    keep(store, a_run(), [replace(result(1, value=value), scores=())])
    text = page(shown(store), f"{PAGE}/results/1")
    assert text.count('<details class="fold">') == is_folded
    assert words(text).count("word") + words(text).count("item") >= value.count("word") + value.count("item")


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        pytest.param((None, "503", "503"), "2 of 3 tool calls failed", id="some"),
        pytest.param(("503",), "the only tool call failed", id="the only one"),
        pytest.param((None,), "", id="none"),
    ],
)
def test_failed_tool_calls_are_counted_where_the_verdict_is_explained_and_in_the_list(store, errors, sentence):
    calls = tuple(ToolCall(name="find", error=error) for error in errors)
    keep(store, a_run(), [result(1, tool_calls=calls)])
    text, listed = page(shown(store), f"{PAGE}/results/1"), page(shown(store), PAGE)
    failed = [n for n, error in enumerate(errors, start=1) if error]
    cause = re.search(r'<p class="cause.*?</p>', text, re.DOTALL)[0]
    assert words(cause).endswith(f"! {sentence}") is bool(sentence)
    assert re.findall(r'href="#(step-\d)"', cause) == [f"step-{n}" for n in failed[:1]]
    assert sentence in listed if sentence else "tool call" not in listed


def test_from_case_to_case_as_they_were_filtered(app):
    text = page(app, f"{PAGE}?verdict=fail&tag=odd")
    first, second = (html.unescape(link) for link in re.findall(r'<a class="name" href="([^"]*)"', text)[:2])
    shown = page(app, first)
    (following,) = re.findall(r'rel="next" href="([^"]*)"', shown)
    assert html.unescape(following) == second
    assert 'rel="prev"' not in shown
    last = page(app, f"{PAGE}/results/28?verdict=fail&tag=odd&at=3")
    assert 'rel="next"' not in last
    assert 'rel="prev"' in last


def test_repeats_of_a_case_lead_to_each_other(store):
    keep(store, a_run(repeat=2), [result(number, repeat=n) for number in range(3) for n in (0, 1)])
    app = shown(store)
    text = page(app, f"{PAGE}/results/1")
    assert "repeat 1 of 2" in words(text)
    assert f'href="{PAGE}/results/2"' in text
    assert "of 6" in words(page(app, "/"))


@pytest.mark.parametrize(
    ("part", "value", "text"),
    [
        pytest.param(
            "output", "x" * 70_000 + "\r\n\u202eend", "x" * 70_000 + "\r\n\u202eend", id="more than a page shows"
        ),
        pytest.param("output", {"a": [1.0, "é"]}, '{"a": [1.0, "é"]}', id="JSON, its numbers as they were written"),
        pytest.param("output", "half \ud800", "half ?", id="half a pair"),
        pytest.param("output", None, None, id="no output"),
        pytest.param("reason", "x", None, id="another name"),
    ],
)
def test_a_text_is_downloaded_as_it_is_stored(store, part, value, text):
    keep(store, a_run(), [replace(result(1), output=Output(value=value, error=None if value else "gone"))])
    answer = from_browser(shown(store), f"{PAGE}/results/1/{part}.txt")
    assert answer.status == (404 if text is None else 200)
    if text is not None:
        assert answer.body.decode() == text
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["content-disposition"].startswith("attachment")


def test_the_download_has_everything(app):
    answer = from_browser(app, f"{PAGE}/results/2/whole.json")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"].startswith("application/json")
    assert json.loads(answer.body)["output"]["value"] == "It is 1. It sings."


@pytest.mark.parametrize(
    "address",
    [
        "/nothing",
        "/runs/none",
        "/runs/~Li4vZXRj",
        "/runs/~%00",
        f"{PAGE}/results/999",
        f"{PAGE}/results/x",
        "/static/../site.py",
    ],
)
def test_an_address_that_leads_nowhere_says_so(app, address):
    assert "Not found" in page(app, address, 404)


def test_a_run_that_is_not_there_is_named_without_the_path_of_the_store(app):
    said = words(page(app, "/runs/none", 404))
    assert "The store has no run none: it was deleted, or the address belongs to another store." in said
    assert "evalmark.db" not in said


@pytest.mark.parametrize("address", ["/compare?run=none", "/grid?run=none"])
def test_a_run_of_a_comparison_that_is_not_there_is_named_without_the_path_of_the_store(app, address):
    said = words(page(app, address, 404))
    assert "There is no run 'none'" in said
    assert "evalmark.db" not in said


@pytest.mark.parametrize(
    ("address", "links"),
    [
        (f"{PAGE}/results/999", [f"{PAGE}#cases", "/"]),
        ("/runs/none", [PAGE, "/"]),
        ("/compare?run=none", ["/compare", "/"]),
        ("/runs/none/results/3", ["/"]),
        ("/sessions/none", ["/sessions", "/"]),
    ],
)
def test_what_is_not_found_leads_to_the_pages_around_it(app, address, links):
    text = page(app, address, 404).partition("<main")[2]
    assert re.findall(r'<a href="([^"]+)"><bdi>', text) == links


def test_a_run_that_is_deleted_while_it_is_looked_at_is_not_found(store, own):
    page(own, PAGE)
    store.forget(RUN)
    assert f"The store has no run {RUN}" in page(own, PAGE, 404)
    page(own, f"{PAGE}/results/2", 404)
    assert "No runs yet" in page(own, "/")


def test_a_run_under_way_grows_from_look_to_look(store):
    run = a_run()
    keep(store, run, [result(1)], ends=False)
    app = shown(store)
    text = page(app, f"{PAGE}?sort=score:similarity")
    assert "running" in text
    assert cases(text) == ["case-001"]
    sink = store.sink(RUN)
    asyncio.run(sink.write([result(2), result(0)]))
    assert cases(page(app, f"{PAGE}?sort=score:similarity")) == ["case-000", "case-001", "case-002"]
    store.finish(replace(run, status="complete", finished="2026-11-21T10:16:00Z"))
    text = page(app, f"{PAGE}?sort=-score:similarity")
    assert ">running<" not in text
    assert cases(text) == ["case-002", "case-001", "case-000"]


def test_a_run_without_a_case_is_a_page_too(store):
    keep(store, a_run(), [])
    assert "No case was run." in words(page(shown(store), PAGE))


def test_a_store_that_may_only_be_read_is_shown(store, tmp_path):
    keep(store, a_run(), [result(1)])
    store.close()
    file = tmp_path / "evalmark.db"
    file.chmod(0o400)
    with open_store(file, read_only=True) as kept:
        assert cases(page(shown(kept), f"{PAGE}?metric=similarity&low=0.1")) == ["case-001"]


def test_large_texts_and_many_steps_are_cut_and_the_page_says_so(store):
    calls = tuple(ToolCall(name=f"tool {n}") for n in range(20_000))
    keep(store, a_run(), [result(1, value="x" * 2_000_000 + " end", tool_calls=calls, transcript=())])
    app = shown(store)
    assert len(page(app, PAGE)) < 50_000
    text = page(app, f"{PAGE}/results/1")
    assert "The first 64,000 of 2,000,004 characters" in words(text)
    assert "The first 500 of 20,000 steps" in words(text)
    assert len(text) < 500_000
    assert len(from_browser(app, f"{PAGE}/results/1/whole.json").body) > 2_000_000


def test_odd_texts_are_shown_as_signs_and_right_to_left_ones_as_they_are(store):
    odd = "\x1b[31mred\x1b[0m \x9b2J user\u202etxt.exe \ud800 \x00 שלום"
    case = Case(id="a\u202eb\ud800", input=odd, tags=("t\ud800",))
    trial = Trial(case=case, dataset="d\x1b]0;x\x07", target="t\u2066")
    keep(store, a_run(name="n\u202e\x1b[2J"), [Result(trial=trial, output=Output(value=odd), scores=())])
    app = shown(store)
    text = page(app, f"{PAGE}/results/1")
    assert "␛[31mred␛[0m ⟨U+009B⟩2J user⟨U+202E⟩txt.exe ⟨U+D800⟩ ␀ שלום" in text
    for address in ("/", PAGE, f"{PAGE}?text=red", f"{PAGE}/results/1"):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page(app, address))


def test_the_name_of_a_run_may_be_anything(store):
    name = '../<script>alert(1)</script>?#"\u202e'
    keep(store, a_run(name), [result(1)])
    app = shown(store)
    (link,) = re.findall(r'<a class="name" href="([^"]*)"', page(app, "/"))
    assert re.fullmatch(r"/runs/~[\w-]+", link)
    assert cases(page(app, link)) == ["case-001"]


class Slow(tuple):
    """Results that come once somebody lets them."""

    let = threading.Event()

    def __iter__(self):
        assert self.let.wait(60)
        return super().__iter__()


def test_figures_that_take_long_do_not_hold_up_the_page():
    results = Slow(result(number) for number in range(30))
    run = a_run(results=results)
    figures = BackgroundFigures(patience=0)
    assert figures.of(run, 30) is None
    results.let.set()
    figures = BackgroundFigures(patience=60)
    assert figures.of(run, 30).summary.trials == 30
    assert figures.of(run, 30) is figures.of(run, 30)
    assert figures.of(run, 30).verdict.outcome == "fail"


def test_figures_of_a_large_finished_run_are_read_from_the_store_and_kept_in_it(store, monkeypatch):
    monkeypatch.setattr(background, "FEW", 10)
    keep(store, a_run(), [result(number) for number in range(30)])
    run = store.run(a_run().id)
    first = BackgroundFigures(patience=60)
    while (figures := first.of(run, 30, store)) is None:
        time.sleep(0.01)
    while store.summary(run) is None:
        time.sleep(0.01)
    Slow.let.clear()
    unread = replace(run, results=Slow())  # reading it would wait
    assert BackgroundFigures(patience=0).of(unread, 30, store) == figures
    Slow.let.set()


def test_of_each_kind_two_large_works_are_under_way_at_a_time_and_no_small_one_waits():
    figures, go, begun = BackgroundFigures(patience=60), threading.Event(), threading.Semaphore(0)

    def work(yielding) -> bool:
        begun.release()
        return go.wait(30)

    def about(kind: str, name: int = 0, trials: int = FEW + 1) -> Task:
        return Task(kind=kind, names=(str(name),), state=0, trials=trials)

    for name in range(6):
        assert figures.result(about("search", name), work) is None
    assert [begun.acquire(timeout=5) for _ in range(2)] == [True, True]
    assert not begun.acquire(timeout=0.05)
    assert figures.result(about("search", 7, trials=1), lambda yielding: "small") == "small"
    assert figures.result(about("run"), work) is None
    assert begun.acquire(timeout=5)
    go.set()
    assert all(begun.acquire(timeout=5) for _ in range(4))


def test_while_a_run_goes_on_its_earlier_figures_stand_until_there_are_new_ones():
    figures = BackgroundFigures(patience=0)
    run = a_run(results=tuple(result(number) for number in range(3)))
    end = time.monotonic() + 60
    while figures.of(run, 3) is None:
        assert time.monotonic() < end
    more = replace(run, results=Slow(result(number) for number in range(30)))
    Slow.let.clear()
    assert figures.of(more, 30).summary.trials == 3
    ended = replace(more, status="complete")
    assert figures.of(ended, 30) is None
    Slow.let.set()


def test_figures_of_a_large_run_that_goes_on_are_worked_out_anew_for_each_tenth_more():
    going = a_run()
    assert figures_state(going, 4_000) != figures_state(going, 4_001)
    assert figures_state(going, 50_000) == figures_state(going, 50_100)
    assert figures_state(going, 50_000) != figures_state(going, 60_000)
    ended = replace(going, status="complete")
    assert figures_state(ended, 50_000) != figures_state(ended, 50_001)


def test_what_calls_cost_is_never_nothing_where_it_is_unknown(store):
    free = (Spending(model="own", calls=2, unknown_cost=2),)
    run = a_run(metrics=METRICS[:1])
    store.start(run)
    store.finish(replace(run, status="complete", finished="2026-11-21T10:16:00Z", spending=free))
    assert " unknown " in words(page(shown(store), "/"))


def test_a_metric_that_is_better_when_lower_says_so(store):
    score = Score(name="edits", raw=3, value=0.3, direction="lower", passed=True)
    made = replace(result(1), scores=(score,))
    keep(store, a_run(metrics=(Metric(name="edits", direction="lower", threshold=0.4),)), [made])
    said = words(page(shown(store), PAGE))
    assert "lower is better" in said
    assert "≤ 0.4" in said


def test_files_of_datasets_are_on_the_page_of_a_run_and_open_in_the_editor(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text("{}")
    datasets = (DatasetInfo(name="cases", path="cases.jsonl"), DatasetInfo(name="gone", path="gone.jsonl"))
    keep(store, a_run(datasets=datasets), [result(0)])
    text = from_browser(viewer_app(store, POLICY, patience=60, editor="vscode://file/{path}:{line}"), PAGE).text
    assert f'<a href="vscode://file{tmp_path}/cases.jsonl:1" title="Open in the editor">cases.jsonl</a>' in text
    assert "<code>gone.jsonl</code>" in text


@pytest.mark.parametrize(
    ("results", "fields", "words_shown"),
    [
        pytest.param([], {}, "none judged", id="no result"),
        pytest.param([result(9), result(19)], {}, "none judged", id="only errors"),
        pytest.param([replace(result(1), scores=())], {"metrics": ()}, "not scored", id="no metrics"),
    ],
)
def test_the_list_says_why_a_run_has_no_pass_rate(store, results, fields, words_shown):
    keep(store, a_run(name="n" * 200, **fields), results)
    text = page(shown(store), "/")
    assert words_shown in text
    assert max(map(len, re.findall("<bdi>(n+)", text))) < 100


@pytest.mark.parametrize("targets", [("",), ("openai/a", 'the "other" one')], ids=["one target", "several"])
def test_each_bar_of_a_histogram_leads_to_as_many_cases_as_it_counts(store, targets):
    values = [0.0, 0.05, 0.1, 0.29999999, 0.3, 0.3000001, 0.6999999, 0.7, 0.8999999999, 0.95, 1.0, 1.0]
    run = Run(
        id="20261123-101500-bars", name="bars", created="2026-11-23T10:15:00+00:00", metrics=(Metric(name="a b"),)
    )
    run = replace(run, target=", ".join(targets))
    store.start(run)
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{at}", input=f"q {at}"), dataset="d", position=at, target=target),
            output=Output(value="x"),
            scores=(Score(name="a b", value=0.55 if number else value, passed=True),),
        )
        for at, value in enumerate(values)
        for number, target in enumerate(targets)
    ]
    asyncio.run(store.sink(run.id).write(results))
    store.finish(replace(run, status="complete"))
    app = viewer_app(store, POLICY)
    bars = re.findall(r'<a href="([^"]*)" aria-label="([^"]*): list the cases">', page(app, f"/runs/{run.id}/charts"))
    counts = []
    for address, label in bars:
        text = page(app, html.unescape(address).partition("#")[0])
        counts.append(int(label.rpartition(": ")[2]))
        assert len(re.findall('<tr id="row-', text)) == counts[-1], label
    assert counts == [2, 1, 3, 2, 4, *[len(values) for _ in targets[1:]]], (
        "a score just below an edge counts above it, as for a threshold"
    )


def test_code_in_notes_of_a_run_is_shown_as_code(store):
    run = keep(store, a_run(notes=("The other shards; `evalmark merge` combines <b>them</b>.",)), [result(1)])
    assert "<code>evalmark merge</code> combines &lt;b&gt;them&lt;/b&gt;." in page(shown(store), f"/runs/{run.id}")
