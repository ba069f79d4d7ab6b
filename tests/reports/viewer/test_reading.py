"""The cases of a run to read: what a row shows, in which order, how much of it, and how it unfolds."""

import html
import re
from dataclasses import replace

import pytest

from evalmark import Gate, Output
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Score
from evalmark.reports.html import markdown
from evalmark.reports.viewer.urls.paths import run_path

from .conftest import a_run, from_browser, keep, result, shown
from .test_pages import DASH, PAGE, RUN, cases, page, words

LONG = "# Steps\n\n" + "".join(f"{n}. Step **{n}** of many, with some words.\n" for n in range(1, 60)) + "The end."


def kept(store, number, value, expected="", scores=(), **fields):
    """A result with these texts."""
    one = result(number, **fields)
    case = replace(one.trial.case, expected=expected or None)
    return replace(
        one, trial=replace(one.trial, case=case), output=Output(value=value, seconds=0.5), scores=scores or one.scores
    )


def row(text):
    """The only row of a page."""
    (found,) = re.findall(r'<tr id="row-.*?</tr>', text, re.DOTALL)
    return found


def test_a_row_has_input_output_expected_output_and_scores_side_by_side(store):
    scores = (
        Score(name="correct", raw=4, value=0.75),
        Score(name="similarity", raw=0.25, value=0.25, passed=False, reason="Far away."),
    )
    keep(store, a_run(), [kept(store, 1, "It is **1**.", "1", scores)])
    found = row(page(shown(store), PAGE))
    assert (
        '<bdi>What is 1 times 1?</bdi></a><div class="about"><small><code>case-001</code> <a class="tag" href="?tag=odd#cases">'
        in found
    )
    assert '<td class="output"><div class="rich" dir="auto"><p>It is <strong>1</strong>.</p></div></td>' in found
    assert '<td class="expected"><div class="text" dir="auto">1</div></td>' in found
    assert words(found).index("similarity 0.250 &lt; 0.6".replace("&lt;", "<")) < words(found).index("correct 4 (0.75)")
    assert "Far away." not in found


def test_an_output_that_is_the_expected_one_is_not_shown_twice(store):
    keep(store, a_run(), [kept(store, 1, "Oslo", "Oslo")])
    assert '<span class="same">the same</span>' in page(shown(store), PAGE)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        pytest.param("", ["Input", "Output", "Expected", "Verdict"], id="all of them"),
        pytest.param("?columns=input&columns=output", ["Input", "Output", "Verdict"], id="only some"),
        pytest.param("?columns=nonsense", ["Input", "Verdict"], id="none"),
        pytest.param(
            "?density=compact&columns=expected&columns=scores",
            ["Input", "Verdict", "Expected", "similarity", "correct"],
            id="some in one line",
        ),
    ],
)
def test_the_address_chooses_the_columns(app, query, columns):
    table = page(app, PAGE + query).partition('<table class="cases')[2].partition("</thead>")[0]
    assert [
        words(re.sub(r"<small>.*?</small>|<span class=\"arrow.*?</span>", "", head))
        for head in re.findall(r"<th .*?</th>", table)
    ] == columns


def test_links_keep_density_columns_and_order(app):
    text = page(app, f"{PAGE}?density=full&columns=output&as=text&sort=case&size=25")
    wanted = "sort=case&amp;size=25&amp;{}density=full&amp;columns=input&amp;columns=output&amp;as=text"
    assert wanted.format("page=2&amp;after=").partition("after")[0] in text
    assert f'href="{PAGE}/results/1?{wanted.format("")}"' in text
    for name, value in (("density", "full"), ("columns", "output"), ("as", "text"), ("sort", "case")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in text, "the form of the filters keeps them"


@pytest.mark.parametrize(
    ("gate", "scores", "order"),
    [
        pytest.param(None, {}, ["case-001", "case-003", "case-000", "case-002"], id="those that failed"),
        pytest.param(
            Gate(min_pass_rate=0.9), {}, ["case-001", "case-003", "case-000", "case-002"], id="where trials decided"
        ),
        pytest.param(
            Gate(min_pass_rate=0.1, thresholds={"correct": 0.9}),
            {},
            ["case-003", "case-000", "case-002", "case-001"],
            id="by the mean that missed",
        ),
        pytest.param(
            Gate(min_pass_rate=0.1, thresholds={"cost": 0.1}),
            {},
            ["case-001", "case-002", "case-000", "case-003"],
            id="highest first where lower is better",
        ),
    ],
)
def test_the_worst_case_by_what_decided_comes_first(store, gate, scores, order):
    passed = [True, False, True, False]
    correct, cost = [0.4, 0.8, 0.5, 0.1], [0.5, 0.9, 0.8, 0.2]
    metrics = (Metric(name="similarity", threshold=0.6), Metric(name="correct"), Metric(name="cost", direction="lower"))
    results = [
        kept(
            store,
            n,
            "x",
            "y",
            (
                Score(name="similarity", value=0.9 if passed[n] else 0.1, passed=passed[n]),
                Score(name="correct", value=correct[n]),
                Score(name="cost", value=cost[n], direction="lower"),
            ),
        )
        for n in range(4)
    ]
    keep(store, a_run(metrics=metrics, gate=gate), results)
    assert cases(page(shown(store), PAGE)) == order
    assert cases(page(shown(store), f"{PAGE}?sort=position")) == sorted(order)


def test_the_metric_that_decided_is_marked_and_the_requirement_is_drawn(store):
    keep(store, a_run(gate=Gate(min_pass_rate=0.1, thresholds={"correct": 0.9})), [result(n) for n in range(1, 9)])
    text = page(shown(store), PAGE)
    assert text.count('<tr class="decided">') == 1
    decided = text.partition('<tr class="decided">')[2].partition("</tr>")[0]
    assert "mean misses the gate" in words(decided)
    assert '<path class="limit" d="M133.6 0V16"/>' in decided
    assert "gate \N{GREATER-THAN OR EQUAL TO} 0.9" in words(decided)


def test_trials_that_failed_mark_the_metric_that_most_of_them_failed(app):
    text = page(app, PAGE)
    assert "Most failures: similarity 9" in words(text)
    assert "most failures" in words(text.partition('<tr class="decided">')[2].partition("</tr>")[0])


@pytest.mark.parametrize(
    ("gate", "kind", "mark"),
    [
        pytest.param(Gate(min_pass_rate=0.9), "gate-fail", "M540.00 -4V12", id="failed"),
        pytest.param(Gate(min_pass_rate=0.5), "gate-pass", "M300.00 -4V12", id="passed"),
        pytest.param(None, "gate-fail", None, id="every trial has to pass"),
    ],
)
def test_the_bar_has_the_colour_of_the_verdict_and_a_mark_at_the_required_share(store, gate, kind, mark):
    keep(store, a_run(gate=gate), [result(number) for number in range(1, 9)])
    bar = re.search(r'<svg class="stack.*?</svg>', page(shown(store), PAGE))[0]
    assert f'class="stack {kind}"' in bar
    assert re.findall(r'class="limit" d="([^"]*)"', bar) == ([mark] if mark else [])


def test_long_texts_are_cut_and_a_row_unfolds_to_all_of_it(store):
    keep(store, a_run(), [kept(store, 1, LONG, "x" * 3_000)])
    app = shown(store)
    excerpt, whole = row(page(app, PAGE)), from_browser(app, f"{PAGE}/rows/1").text
    assert "The end." not in excerpt
    link = f'<a href="{PAGE}/results/1?sort=verdict" data-unfold>'
    assert re.findall(r'<small class="rest">(.*?)</small>', excerpt) == [
        f"{link}\N{HORIZONTAL ELLIPSIS} 2,189 more characters</a>",
        "\N{HORIZONTAL ELLIPSIS} 2,440 more characters",  # one link of a row unfolds it, beside "Show whole case"
    ]
    assert "The end." in whole
    assert "x" * 3_000 in whole
    assert "As near as it gets." in whole, "reasons unfold too"
    assert "data-unfolded" in row(whole)
    assert from_browser(app, f"{PAGE}/rows/99").status == 404
    assert from_browser(app, f"{PAGE}/rows/x").status == 404


def test_full_text_shows_all_that_fits_and_as_text_shows_it_as_written(store):
    keep(store, a_run(), [kept(store, 1, LONG)])
    app = shown(store)
    assert "The end." in page(app, f"{PAGE}?density=full")
    assert "Step <strong>59</strong>" in page(app, f"{PAGE}?density=full")
    assert "Step **59**" in page(app, f"{PAGE}?density=full&as=text")


@pytest.mark.parametrize(
    "query",
    [
        *("density=compact", "density=comfortable", "density=full&size=50"),
        pytest.param(f"q=some+words+-tag:{'x' * 25}&sort=-score:similarity", id="filtered and sorted"),
        pytest.param(f"q=some+words+-tag:{'x' * 80}&sort=-score:similarity", id="by a long filter"),
    ],
)
def test_a_page_of_fifty_rows_with_long_texts_stays_below_150_kb(store, query):
    output = "\n\n".join(["Some **words** of an answer, and `code`, with [a link](https://example.org)."] * 200)
    keep(store, a_run(), [kept(store, number, output, output[1:]) for number in range(50)])
    text = page(shown(store), f"{PAGE}?{query}")
    assert text.count('<tr id="row-') == 50
    assert len(text.encode()) <= 150_000


def test_full_texts_have_fewer_rows_on_a_page_and_are_shown_whole(store):
    outputs = [f"{number} " + "A sentence of an answer that goes on. " * 60 + "The end." for number in range(50)]
    keep(store, a_run(), [kept(store, number, output, output[1:]) for number, output in enumerate(outputs)])
    app = shown(store)
    text = page(app, f"{PAGE}?density=full&sort=position")
    assert text.count('<tr id="row-') == 10
    assert text.count("The end.") == 20
    assert "more characters" not in text
    assert len(text.encode()) <= 150_000
    last = page(app, f"{PAGE}?density=full&sort=position&page=5")
    assert "49 A sentence" in last
    assert "?sort=position&amp;density=compact#cases" in html.unescape(last).replace("&", "&amp;")


@pytest.mark.parametrize(
    ("characters", "repeated"),
    [pytest.param(10, True, id="short filters"), pytest.param(80, False, id="long filters")],
)
def test_only_the_title_of_a_row_repeats_long_filters(store, characters, repeated):
    keep(store, a_run(), [kept(store, 1, "word " * 400)])
    found = row(page(shown(store), f"{PAGE}?q=-tag:{'x' * characters}"))
    title, more = (
        re.search(r'<a class="name" href="([^"]*)"', found)[1],
        re.findall(r'href="([^"]*)" data-unfold', found),
    )
    assert "x" * characters in title
    assert {*more} == {title if repeated else title.partition("?")[0]}


def test_a_run_without_ids_of_its_own_is_titled_by_its_inputs(store):
    one = result(1)
    case = replace(
        one.trial.case, id="53383426a9b2", input={"question": "Where is Oslo?", "country": "Norway"}, tags=()
    )
    keep(store, a_run(), [replace(one, trial=replace(one.trial, case=case))])
    found = row(page(shown(store), PAGE))
    assert "<bdi>Where is Oslo? · Norway</bdi>" in found
    assert "53383426a9b2" not in found


def test_a_case_that_is_too_large_for_a_page_says_so(store):
    keep(store, a_run(), [kept(store, 1, "y" * 70_000)])
    assert "large: see the case" in words(row(page(shown(store), PAGE)))


def test_an_unfolded_row_is_a_page_of_its_own(app):
    text = from_browser(app, f"{run_path(RUN)}/rows/3").text
    assert "<title>What is 2 times 2? · evalmark</title>" in text


def test_each_tag_has_its_pass_rate_and_leads_to_its_cases(store):
    verdicts = {"refund": (True, False, True), "a b&c": (False, False), "": (True,)}
    tagged = [(tag, passed) for tag, group in verdicts.items() for passed in group]
    results = []
    for number, (tag, passed) in enumerate(tagged):
        score = Score(name="correct", raw=passed, value=float(passed), passed=passed)
        one = kept(store, number, "It is 1.", scores=(score,))
        case = replace(one.trial.case, tags=(tag,) if tag else ())
        results.append(replace(one, trial=replace(one.trial, case=case)))
    keep(store, a_run(), results)
    app = shown(store)
    table = page(app, PAGE).partition('aria-label="Table of tags"')[2].partition("</table>")[0]
    rows = [words(part) for part in table.split("<tr>")[2:]]
    assert [text.rpartition(" % ")[2] for text in rows] == ["0 of 2", "2 of 3"]
    assert rows[0].startswith("a b&c 0 % ")
    links = re.findall(r'href="([^"#]*)#cases"', table)
    assert [len(cases(page(app, html.unescape(link)))) for link in links] == [2, 3]


def test_one_line_rows_leave_scales_to_the_head_and_many_metrics_take_the_room_of_texts(store):
    metrics = (
        Metric(name="similarity", threshold=0.7),
        Metric(name="helpful", unit="1..5"),
        Metric(name="clear", unit="1..5", threshold=0.5),
        Metric(name="tone"),
    )
    scores = (
        Score(name="similarity", value=0.8, passed=True),
        *(Score(name=name, raw=4, value=0.75) for name in ("helpful", "clear")),
        Score(name="tone", raw="kind of good", value=1.0),
    )
    keep(store, replace(a_run(), metrics=metrics), [replace(kept(store, 1, "yes"), scores=scores)])
    table = page(shown(store), f"{PAGE}?density=compact").partition('class="cases compact crowded"')[2]
    heads = re.findall(r"<small>(.*?)</small>", table.partition("</thead>")[0])
    assert heads == ["≥ 0.7", "1..5", "1..5, ≥ 0.5"]
    assert table.count("4 (0.75)") == 2
    assert "of 1..5" not in table
    assert "kind of good (1.00)" in table


def test_a_line_of_a_long_text_has_no_markdown_and_reads_its_beginning_alone(store, monkeypatch):
    read = []
    monkeypatch.setattr(markdown, "_tokens", lambda text, parse=markdown._tokens: read.append(len(text)) or parse(text))
    output = "A **bold** word. " * 1_000
    keep(store, a_run(), [kept(store, number, f"{number} {output}", "`x` " * 3_000) for number in range(5)])
    text = page(shown(store), f"{PAGE}?density=compact&sort=position")
    assert "4 A bold word. A bold word." in words(text)
    assert "x x x x" in words(text)
    assert "**" not in words(text)
    assert max(read, default=0) < 1_000


@pytest.mark.parametrize(
    ("sort", "classes"),
    [
        pytest.param(
            "", {"similarity": "num gated", "correct": "num wide-only"}, id="one that can fail is shown longer"
        ),
        pytest.param("&sort=score:correct", {"similarity": "num gated", "correct": "num"}, id="the sorted one always"),
    ],
)
def test_one_line_a_case_drops_columns_of_scores_on_narrow_screens(store, sort, classes):
    scores = (Score(name="similarity", value=0.2, passed=False), Score(name="correct", value=0.75))
    keep(store, a_run(), [kept(store, 1, "x", "y", scores)])
    text = page(shown(store), f"{PAGE}?density=compact{sort}")
    assert {
        name: kind for kind, name in re.findall(r'class="(num[^"]*)"><a class="sort"[^>]*>(similarity|correct)<', text)
    } == classes
    assert "<small>similarity</small>" in row(text), "a phone has no column for it, so its name is below the title"


def test_notes_on_metrics_are_folded_and_a_caution_is_named_beside_its_interval(store):
    values = [*(1.0 for _ in range(20)), 900.0]
    scored = [(Score(name="words", raw=value, value=value),) for value in values]
    metrics = (Metric(name="words", unit="words"),)
    keep(store, a_run(metrics=metrics), [kept(store, n, "x", "y", one) for n, one in enumerate(scored)])
    text = page(shown(store), PAGE)
    assert "see the notes" in words(text.partition("<tbody>")[2].partition("</tbody>")[0])
    notes = text.partition('<details class="notes">')[2].partition("</details>")[0]
    assert "the interval may be too short" in notes


def of_json(store, number, output, asked=None):
    """A result with this output and perhaps an input of its own."""
    one = kept(store, number, output, "y")
    trial = one.trial if asked is None else replace(one.trial, case=replace(one.trial.case, input=asked))
    return replace(one, trial=trial)


@pytest.mark.parametrize(
    ("output", "asked", "offered"),
    [
        pytest.param({"city": "Oslo", "n": 2}, None, ["output.city", "output.n"], id="an object"),
        pytest.param('{"city": "Oslo"}', None, ["output.city"], id="the text of an object"),
        pytest.param("Oslo", {"q": "Where?", "lang": "no"}, ["input.q", "input.lang"], id="an input"),
        pytest.param("Oslo", {"q": "Where?"}, [], id="not the only field of an input, which is the title"),
        pytest.param("{" * 19_000, None, [], id="not what cannot be read"),
        pytest.param("[1, 2]", None, [], id="not a list"),
        pytest.param({'"><script>': 1}, None, ['output."><script>'], id="any name, as text"),
    ],
)
def test_fields_of_json_are_offered_as_columns(store, output, asked, offered):
    keep(store, a_run(), [of_json(store, 1, output, asked)])
    text = page(shown(store), PAGE)
    found = re.findall(r'name="columns" value="((?:in|out)put\.[^"]*)">', text)
    assert [html.unescape(name) for name in found] == offered


@pytest.mark.parametrize("density", ["comfortable", "compact", "full"])
@pytest.mark.parametrize(
    ("output", "cell"),
    [
        pytest.param({"city": "Oslo"}, "Oslo", id="a text"),
        pytest.param({"city": 0}, "0", id="a number"),
        pytest.param({"city": 2 / 3}, "0.666667", id="a number of many digits"),
        pytest.param({"city": {"name": "Oslo"}}, "{&#34;name&#34;: &#34;Oslo&#34;}", id="an object in it"),
        pytest.param({"city": "<img src=x>"}, "&lt;img src=x&gt;", id="markup, as text"),
        pytest.param({"town": "Oslo"}, DASH, id="an output without it"),
        pytest.param("Oslo", DASH, id="no object"),
    ],
)
def test_a_chosen_field_of_json_is_a_column(store, density, output, cell):
    keep(store, a_run(), [of_json(store, 1, output)])
    text = page(shown(store), f"{PAGE}?columns=input&columns=output&columns=output.city&density={density}")
    assert '<th scope="col" class="field' in text
    assert re.findall(r'<td class="field[^>]*>([^<]*)<', text) == [cell]
    assert 'name="columns" value="output.city" checked' in text, "also where no output of the page has it"
    assert "columns=output.city" in html.unescape(row(text)), "the links keep it"


def test_a_page_with_as_many_fields_of_json_as_there_may_be_stays_below_150_kb(store):
    output = {f"a long name of a field, number {n}": "word " * 200 for n in range(9)}
    keep(store, a_run(), [of_json(store, n, output) for n in range(60)])
    columns = "".join(f"&columns=output.a+long+name+of+a+field,+number+{n}" for n in range(9))
    for density in ("comfortable", "compact"):
        text = page(shown(store), f"{PAGE}?density={density}&columns=output&columns=expected&columns=scores{columns}")
        assert len(text.encode()) <= 150_000
        assert text.count('<td class="field') == 25 * 4
