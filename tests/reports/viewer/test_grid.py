"""The grid of cases and targets: its columns, rows and tested differences, and which runs open as one."""

import html
import re
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.text import count
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text.trade_offs import column_difference, difference_parts
from evalmark.reports.viewer.grid import run_label, run_labels
from evalmark.stats.comparison.trade_offs import Candidate, trade_offs
from evalmark.store import open_store
from evalmark.tracing.annotations.labels import result_subject

from .conftest import a_run, from_browser, keep, result, sent, shown
from .test_pages import checked

TWO, SMALL, LARGE, PLAIN = (
    "20261121-101500-aaaa",
    "20261122-101500-bbbb",
    "20261122-101600-cccc",
    "20261123-101500-dddd",
)
WIDE = "20261124-101500-wwww"
METRIC = (Metric(name="right", threshold=0.5),)
NAMED = (DatasetInfo(name="cases.jsonl", path="cases.jsonl", rows=4),)


def answer(number, target, value, passed, **fields):
    """One result; `passed` None: nothing can pass."""
    case = Case(id=f"case-{number}", input=f"What is {number} times 7?", expected=str(number * 7), tags=("sums",))
    case = replace(case, **fields)
    scores = () if passed is None else (Score(name="right", raw=float(passed), value=float(passed), passed=passed),)
    trial = Trial(case=case, dataset="cases.jsonl", target=target, position=number)
    return Result(trial=trial, output=Output(value=value, seconds=0.5), scores=scores)


def two_targets():
    """Forty cases: the first target fails the first thirty, the other one the first three; case 39 is an error of both."""
    for number in range(40):
        for target, failed in (("weak", 30), ("strong", 3)):
            made = answer(number, target, f"{target} says that {number} times 7 is {number * 7}", number >= failed)
            error = Output(error="TimeoutError: it took too long")
            yield replace(made, output=error, scores=()) if number == 39 else made


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("grid") / "evalmark.db") as made:
        keep(
            made,
            a_run(TWO, name="sums", target="weak, strong", metrics=METRIC, created="2026-11-21T10:15:00Z"),
            [*two_targets()],
        )
        for run, prompt, day in ((SMALL, "short", 0), (LARGE, "long", 1)):
            results = [answer(n, "openai/a", f"{prompt} {n}", n != day) for n in range(4)]
            fields = {"name": f"shop: {prompt}", "suite": f"out/{prompt}.yaml", "target": "openai/a", "datasets": NAMED}
            keep(made, a_run(run, metrics=METRIC, created=f"2026-11-22T10:1{day}:00Z", **fields), results)
        outputs = [
            answer(n, t, text, None)
            for n, (a, b) in enumerate([("same", "same"), ("one", "other")])
            for t, text in (("x", a), ("y", b))
        ]
        keep(made, a_run(PLAIN, name="plain", target="x, y", metrics=(), created="2026-11-23T10:15:00Z"), outputs)
        yield made


@pytest.fixture(scope="module")
def app(store):
    return shown(store)


def page(app, query):
    found = from_browser(app, f"/grid{query}")
    assert found.status == 200
    checked(found.text)
    return found.text


def titles(text):
    return re.findall(r'<span class="title"><bdi>(.*?)</bdi>', text)


def asked(text):
    return re.findall(r'<span class="asked" dir="auto">(.*?)</span>', text)


def counts(text):
    return [int(n) for n in re.findall(r"<b>(\d+)</b></a></li>", text)]


def plain(text):
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_each_target_is_a_column_with_the_figures_of_the_trade_offs_of_the_command_line(app, store):
    text = page(app, f"?run={TWO}")
    run = store.run(TWO)
    expected = trade_offs([Candidate(name=run.id, run=run, prices=store.recordings.prices)])
    assert titles(text) == ["weak", "strong"]
    difference = expected.difference(1, 0)
    assert (difference.outcome, expected.rows[0].quality) == ("better", 9 / 39)
    head = plain(text.partition("</thead>")[0])
    value, interval = difference_parts(difference, expected)
    assert f"against weak difference in points \u2013 ▲ better {value} {interval} · n&nbsp;39" in head
    assert f"{value} points ({interval}) on 39 cases" == column_difference(difference, expected)
    assert "23.1 %" in head
    assert "n 39" in head
    assert "p adjusted over 1 pair" in plain(text)


def test_the_difference_turns_round_with_the_first_column(app):
    text = page(app, f"?run={TWO}&first=1")
    assert titles(text) == ["strong", "weak"]
    assert "against strong difference in points \u2013 ▼ worse \u221269.2 " in plain(text)


@pytest.mark.parametrize(
    ("query", "n", "first"),
    [
        pytest.param("", 40, "What is 0 times 7?", id="all, those first that most columns fail"),
        pytest.param("&show=differ", 27, "What is 3 times 7?", id="those that one passes and the other fails"),
        pytest.param("&show=fails", 31, "What is 0 times 7?", id="those with a failure or an error"),
        pytest.param("&order=file&page=2", 40, "What is 38 times 7?", id="as in the file, the second page"),
        pytest.param("&page=900", 40, "What is", id="a page that does not exist is the last one"),
    ],
)
def test_rows_are_filtered_sorted_and_paged(app, query, n, first):
    text = page(app, f"?run={TWO}{query}")
    assert counts(text) == [40, 27, 31]
    assert f"{n} cases" in plain(text)
    assert asked(text)[0].startswith(first)
    assert len(asked(text)) <= 38


@pytest.mark.parametrize(
    ("written", "n"),
    [
        pytest.param("verdict:pass", 36, id="one output passes"),
        pytest.param("-verdict:pass", 31, id="one output does not pass"),
        pytest.param("strong verdict:fail", 3, id="one output fulfils both, not one each"),
        pytest.param("metric.right>0.5 tag:sums", 36, id="a score and a tag"),
        pytest.param("case-7", 1, id="an id"),
        pytest.param("nowhere", 0, id="nothing"),
    ],
)
def test_a_query_shows_the_cases_of_which_one_output_fulfils_it(app, written, n):
    text = page(app, f"?run={TWO}&{urlencode({'q': written})}")
    assert f">{count(n, 'case')}" in text
    assert counts(text.partition('aria-label="Rows by outcome"')[2])[0] == n


def test_a_query_that_cannot_be_read_says_why_and_shows_no_case(app):
    text = page(app, f"?run={TWO}&q=metric.rihgt%3C1")
    assert "did you mean metric.right?" in plain(text)
    assert "No case matches." in text


def test_a_cell_says_how_its_verdict_differs_from_the_first_column(app):
    text = page(app, f"?run={TWO}&order=file")
    assert text.count("△ first fails") == 27, "nothing improved: both are targets of one run"
    assert "▽" not in text
    turned = page(app, f"?run={TWO}&order=file&first=1")
    assert turned.count("▽ first passes") == 27
    assert turned.count("<tr data-flip id=") == 27
    assert "data-flip" not in page(app, f"?run={TWO}&order=file").partition("What is 30 times 7?")[2]


def test_compact_cells_and_differences_show_markdown_as_plain_text(tmp_path):
    texts = {
        "old": "# Rules\n\nWithin **30** days.",
        "new": "# Rules\n\nWithin **14** days.",
        "bold": "**Rules**\n\nWithin 30 days.",
    }
    with open_store(tmp_path / "evalmark.db") as made:
        run = a_run(TWO, name="sums", target="old, new, bold", metrics=METRIC)
        keep(made, run, [answer(1, target, text, True) for target, text in texts.items()])
        app = shown(made)
        compact, differences = (page(app, f"?run={TWO}&{query}") for query in ("density=compact", "differences=1"))
    assert '<div class="out" dir="auto">Rules Within 30 days.</div>' in compact
    assert "<del>30</del>" in differences
    assert "<ins>14</ins>" in differences
    assert "same words, other Markdown" in differences


def test_differences_mark_the_words_that_the_first_column_lacks(app):
    text = page(app, f"?run={TWO}&differences=1&show=differ")
    assert "<del>weak</del>" in text
    assert "<ins>strong</ins>" in text
    assert '<span class="quiet">+1.00</span>' in text


def test_outputs_that_nothing_scores_differ_by_their_texts(app):
    text = page(app, f"?run={PLAIN}&show=differ")
    assert counts(text) == [2, 1, 0]
    assert asked(text) == ["What is 1 times 7?"]
    assert "not scored" in plain(text.partition("</thead>")[0])


def test_the_suites_of_one_set_open_as_one_grid(app):
    text = page(app, f"?run={SMALL}")
    assert titles(text) == ["long", "short"]
    assert plain(text.partition("<h1>")[2].partition("</h1>")[0]) == "shop"
    assert counts(text) == [4, 2, 2]
    alone = page(app, f"?run={SMALL}&alone=1")
    assert titles(alone) == ["openai/<wbr>a"]
    assert "All 2 suites in one grid" in alone


def test_prompts_on_models_are_titled_by_both(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        targets = ["short@openai/a", "long@openai/a", "short@openai/b"]
        keep(made, a_run(TWO, target=", ".join(targets)), [answer(1, target, "x", True) for target in targets])
        text = page(shown(made), f"?run={TWO}")
    assert titles(text) == ["short", "long", "short"]
    heads = re.findall(r'<span class="title">.*?</span><small><bdi>(.*?)</bdi></small>', text)
    assert heads == ["openai/<wbr>a", "openai/<wbr>a", "openai/<wbr>b"]


def test_many_columns_are_named_by_what_tells_them_apart(tmp_path):
    targets = [
        f"{prompt}.prompty on {model}" for model in ("brook-1", "heron-2.1", "wren") for prompt in ("terse", "kind")
    ]
    with open_store(tmp_path / "evalmark.db") as made:
        keep(made, a_run(TWO, target=", ".join(targets)), [answer(1, target, "x", True) for target in targets])
        text = page(shown(made), f"?run={TWO}")
    short = [name.replace(".prompty on", "") for name in targets]
    assert re.findall(r'<span class="title" title="(.*?)"><bdi>(.*?)</bdi>', text) == [
        *zip(targets, short, strict=True)
    ]
    (strip,) = re.findall(r'<span class="strip" aria-hidden="true">(.*?)</th>', text, re.DOTALL)
    assert [name for name in short if f"<span>{name} <b" in strip] == short


def test_a_row_is_titled_by_the_texts_of_its_input(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        asked = {"question": "Can I return shoes?", "policy": "30 days"}
        keep(made, a_run(TWO, target="a, b"), [answer(1, target, "x", True, input=asked) for target in "ab"])
        text = page(shown(made), f"?run={TWO}")
    assert '<span class="asked" dir="auto">Can I return shoes? · 30 days</span>' in text


def test_runs_are_matched_by_case_and_an_edited_case_says_so(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        keep(made, a_run(SMALL, name="a", target="t", metrics=METRIC), [answer(n, "t", "x", True) for n in (0, 1)])
        edited = [answer(0, "t", "x", True, expected="other"), answer(2, "t", "x", False)]
        keep(made, a_run(LARGE, name="b", target="t", metrics=METRIC, created="2026-11-22T10:15:00Z"), edited)
        text = page(shown(made), f"?pick={LARGE}&pick={SMALL}")
        assert titles(text) == ["a", "b"], "of runs ticked in the list the oldest comes first"
        assert counts(text) == [3, 0, 1]
        assert text.count("not in this run") == 2
        assert text.count("another version of this case") == 1


def test_repeats_of_a_case_share_a_cell(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        results = [result(number, target, repeat) for number in (1, 3) for target in ("t", "u") for repeat in range(3)]
        keep(made, a_run(TWO, target="t, u", repeat=3), results)
        text = page(shown(made), f"?run={TWO}")
        assert len(asked(text)) == 2
        assert text.count("3 of 3 repeats passed") == 2
        assert text.count("0 of 3 repeats passed") == 2


def test_columns_with_unequal_numbers_of_repeats_differ_only_where_another_share_passed(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        few = [replaced(answer(n, "t", "x", True), repeat) for n in (0, 1) for repeat in range(2)]
        many = [replaced(answer(n, "t", "x", n == 0 or repeat > 0), repeat) for n in (0, 1) for repeat in range(3)]
        keep(made, a_run(SMALL, name="a", target="t", metrics=METRIC, repeat=2), few)
        keep(made, a_run(LARGE, name="b", target="t", metrics=METRIC, repeat=3, created="2026-11-22T10:15:00Z"), many)
        text = page(shown(made), f"?run={SMALL}&run={LARGE}")
        assert counts(text) == [2, 1, 1], "all, where columns differ, where one fails"
        assert (text.count("▽ regressed"), "≠ differs" in text) == (1, False)


def replaced(one, repeat):
    return replace(one, trial=replace(one.trial, repeat=repeat))


def test_where_lower_is_better_a_column_shows_the_sign_of_the_means_above_it(tmp_path):
    metrics = (Metric(name="edits", direction="lower"),)
    with open_store(tmp_path / "evalmark.db") as made:
        for number, (name, value) in enumerate(((SMALL, 0.2), (LARGE, 0.6))):
            score = Score(name="edits", raw=value, value=value, direction="lower")
            results = [replace(answer(n, "t", name, None), scores=(score,)) for n in range(20)]
            created = f"2026-11-2{number}T10:15:00Z"
            keep(made, a_run(name, name=name, target="t", metrics=metrics, created=created), results)
        text = plain(page(shown(made), f"?run={SMALL}&run={LARGE}"))
        assert "edits ↓ 95 % interval · n 0.200" in text
        assert "0.600" in text
        assert "▼ worse +0.4" in text


@pytest.mark.parametrize("run", ["nothing", ".", "last~99"])
def test_a_run_that_does_not_exist_is_not_found(app, run):
    assert from_browser(app, f"/grid?run={run}").status == 404


def test_without_a_run_the_page_says_how_to_choose_some(app):
    assert "Choose runs in" in plain(page(app, ""))


@pytest.mark.parametrize(("run", "path"), [(TWO, "/grid?run="), (SMALL, "/grid?run="), (PLAIN, "/grid?run=")])
def test_the_list_opens_runs_of_several_columns_as_a_grid(app, run, path):
    text = from_browser(app, "/").text
    assert f'<a class="name" href="{path}{run}">' in text


def test_cells_lead_to_the_case_and_the_run_page_is_a_click_away(app):
    text = page(app, f"?run={TWO}")
    assert f'href="/runs/{TWO}"' in text
    link = re.search(rf'class="cell" href="(/runs/{TWO}/results/\d+)"', text)[1]
    assert from_browser(app, link).status == 200


def test_a_run_with_more_results_than_a_grid_reads_says_so(app, monkeypatch):
    monkeypatch.setattr("evalmark.reports.viewer.grid_page.MOST_RESULTS", 10)
    assert "a grid shows at most 10" in plain(page(app, f"?run={TWO}"))


def test_an_error_in_place_of_a_pass_differs_but_is_no_regression(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        error = Output(error="TimeoutError: it took too long")
        results = [answer(1, "old", "7", True), replace(answer(1, "new", "", True), output=error, scores=())]
        keep(made, a_run(TWO, target="old, new", metrics=METRIC), results)
        text = page(shown(made), f"?run={TWO}")
    assert "≠ differs" in text
    assert "▽" not in text
    assert "<tr data-flip id=" in text


@pytest.mark.parametrize(
    ("second", "labels"),
    [
        pytest.param("2026-11-21T10:16:02Z", ["2026-11-21 10:15", "2026-11-21 10:16"], id="another minute"),
        pytest.param("2026-11-21T10:15:02Z", ["2026-11-21 10:15:01", "2026-11-21 10:15:02"], id="the same minute"),
    ],
)
def test_runs_of_one_suite_are_told_apart_by_their_times(second, labels):
    runs = [a_run(name, created=created) for name, created in ((TWO, "2026-11-21T10:15:01Z"), (SMALL, second))]
    assert [run_label(run, runs) for run in runs] == labels


@pytest.mark.parametrize(
    ("created", "labels"),
    [
        pytest.param(
            ["2026-11-21T10:15:01Z", "2026-11-21T10:16:02Z"],
            ["nightly · 2026-11-21 10:15", "nightly · 2026-11-21 10:16"],
            id="by their times",
        ),
        pytest.param(
            ["2026-11-21T10:15:01Z", "2026-11-21T10:15:01Z"],
            [f"nightly · {TWO}", f"nightly · {SMALL}"],
            id="by their ids, where times are equal",
        ),
    ],
)
def test_runs_of_the_same_given_name_are_told_apart(tmp_path, created, labels):
    with open_store(tmp_path / "evalmark.db") as made:
        for run, time in zip((TWO, SMALL), created, strict=True):
            of = a_run(run, given_name="nightly", target="t", metrics=METRIC, created=time)
            keep(made, of, [answer(1, "t", "x", True)])
        assert [*run_labels([made.run(run) for run in (TWO, SMALL)]).values()] == labels
        assert titles(page(shown(made), f"?run={TWO}&run={SMALL}")) == labels


def test_a_target_that_all_runs_have_is_named_once(app):
    text = page(app, f"?run={SMALL}&run={LARGE}")
    assert "target <bdi>openai/<wbr>a</bdi>" in text.partition("<main")[2].partition("</ul>")[0]
    assert "openai" not in text.partition("<thead>")[2].partition("</thead>")[0]


def test_of_scores_that_are_yes_or_no_a_difference_is_its_direction(tmp_path):
    with open_store(tmp_path / "evalmark.db") as made:
        results = [answer(1, target, "x", target == "new") for target in ("old", "new")]
        results = [replace(one, scores=(replace(one.scores[0], raw=bool(one.scores[0].raw)),)) for one in results]
        keep(made, a_run(TWO, target="old, new", metrics=METRIC), results)
        text = page(shown(made), f"?run={TWO}&differences=1")
    assert [
        plain(one) for one in re.findall(r"<dd>(.*?)</dd>", text.partition("<tbody")[2].partition("</table>")[0])[::2]
    ] == ["no", "yes △ unlike the first column"]


def button(text, title, row, liked="up"):
    """The fields that a button of a column sends, with those of its form."""
    (cells,) = re.findall(rf'<tr[^>]* id="row-{row}"[^>]*>(.*?)</tr>', text, re.DOTALL)
    (group,) = re.findall(rf'aria-label="Your label of {title}">(.*?)</span>', cells, re.DOTALL)
    form, value = re.search(rf'form="([^"]+)" value="({liked} [^"]+)"', group).groups()
    (inputs,) = re.findall(rf'<form id="{form}".*?</form>', text, re.DOTALL)
    fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', inputs)}
    return {**fields, "liked": value, "by": "Ada"}


@pytest.mark.parametrize("script", [False, True], ids=["a browser without a script", "a script"])
def test_the_cells_of_a_run_share_a_form_of_labels(tmp_path, script):
    with open_store(tmp_path / "evalmark.db") as made:
        for run in (SMALL, LARGE):
            results = [answer(n, "openai/a", f"{run} {n}", n > 0) for n in range(3)]
            keep(made, a_run(run, name=run[-4:], target="openai/a", metrics=METRIC), results)
        own = shown(made)
        text = page(own, f"?run={SMALL}&run={LARGE}&order=file")
        assert text.count('method="post"') == 2
        fields = button(text, "cccc", 3)
        answered = sent(own, fields, **({"x_evalmark_part": "1"} if script else {}))
        (label,) = made.sessions.all_labels()
        assert label.about == result_subject(LARGE, [*made.run(LARGE).results][2]).about
        if script:
            assert f'form="labels-1" value="{fields["liked"]}" aria-pressed="true"' in answered.text
        else:
            assert (answered.status, answered.headers["location"]) == (303, f"{fields['back']}#row-3")
        assert page(own, f"?run={SMALL}&run={LARGE}").count('<span class="labelled pass">good</span>') == 1


def test_a_form_that_is_named_by_markup_is_answered_without_it(store, app):
    fields = {"run": TWO, "form": '"><b>', "liked": "up 1", "back": "/", "brief": "1", "by": "Ada"}
    answered = sent(app, fields, x_evalmark_part="1")
    assert 'form="row-labels"' in answered.text
    sent(app, {**fields, "withdraw": "1"})


def test_the_run_page_of_several_targets_labels_each_of_them_and_returns_to_the_row(store, app):
    text = from_browser(app, f"/runs/{TWO}").text
    fields = button(text, "strong", 1, "down")
    assert sent(app, fields).headers["location"] == f"{fields['back']}#row-1"
    assert from_browser(app, f"/runs/{TWO}").text.count('<span class="labelled fail">bad</span>') == 1
    sent(app, {**fields, "withdraw": "1"})


TEXTS = {
    "short": "It is 42.",
    "long": "The refund arrives within five days. " * 400,
    "marked": "- **a** `b` <i>\n" * 250,
    "JSON": {"items": [{"name": "a & b", "n": number} for number in range(150)]},
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("density", ["compact", "", "full"])
@pytest.mark.parametrize(("targets", "metrics"), [(1, 0), (3, 3), (12, 2)])
def test_a_page_of_a_grid_and_the_run_page_have_at_most_150_kb(tmp_path, targets, metrics, density, text):
    names = [f"provider/model-{number}" for number in range(targets)]
    rules = tuple(Metric(name=f"metric-{number}", threshold=0.5) for number in range(metrics))
    scores = tuple(Score(name=rule.name, raw=0.75, value=0.75, passed=True) for rule in rules)
    results = [replace(answer(n, name, text, None), scores=scores) for n in range(50) for name in names]
    with open_store(tmp_path / "evalmark.db") as made:
        keep(made, a_run(WIDE, target=", ".join(names), metrics=rules), results)
        own = shown(made)
        for address in (f"/grid?run={WIDE}&density={density}", f"/runs/{WIDE}?density={density}"):
            text_of_page = from_browser(own, address).text
            assert len(text_of_page.encode()) <= 150_000, address
            if not density and address.startswith("/grid"):
                assert text_of_page.count(' id="row-') >= {1: 40, 3: 20, 12: 5}[targets]


def test_the_address_keeps_the_width_of_columns(app):
    assert 'class="grid comfortable wide-columns"' in page(app, f"?run={TWO}&width=wide")
    assert "wide-columns" not in page(app, f"?run={TWO}&width=%22%3E")
    assert "width=wide" in page(app, f"?run={TWO}&width=wide&order=file").partition('class="choice"')[2]


def test_the_run_page_and_the_grid_say_which_target_is_best_and_how_it_was_tested(app, store):
    compare = f"/compare?run={TWO}&amp;target=strong&amp;against=weak"
    for address in (f"/runs/{TWO}", f"/grid?run={TWO}&first=1"):
        text = from_browser(app, address).text
        (said,) = re.findall(r'<p class="best">.*?</p>', text)
        assert plain(said).startswith("▲ strong is best. It has the highest pass rate, 92.3 %: +69.2 points (")
        assert "on 39 cases against the next, weak (23.1 %)" in plain(said)
        assert compare in said
        assert from_browser(app, compare.replace("&amp;", "&")).status == 200


def test_between_runs_of_one_target_the_best_column_has_its_title_and_the_comparison_both_runs(app):
    (said,) = re.findall(r'<p class="best">.*?</p>', page(app, f"?run={SMALL}&run={LARGE}"))
    assert plain(said).startswith("? Cannot tell which target is best. short and long have the highest pass rate, 75 %")
    assert f"/compare?run={SMALL}&amp;baseline={LARGE}&amp;target=openai%2Fa&amp;against=openai%2Fa" in said


def test_no_target_is_called_best_where_nothing_was_scored_or_the_run_goes_on(app, tmp_path):
    assert 'class="best"' not in page(app, f"?run={PLAIN}")
    assert 'class="best"' not in from_browser(app, f"/runs/{PLAIN}").text
    with open_store(tmp_path / "evalmark.db") as made:
        keep(made, a_run(TWO, target="weak, strong", metrics=METRIC), [*two_targets()], ends=False)
        own = shown(made)
        assert 'class="best"' not in page(own, f"?run={TWO}")
        assert 'class="best"' not in from_browser(own, f"/runs/{TWO}").text
