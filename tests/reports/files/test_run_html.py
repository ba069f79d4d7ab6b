"""HTML: one page that runs nothing but a script of ours, loads nothing and shows everything that there is room for."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from evalmark import Case, Output, Result, Run, Score, ToolCall, Turn, compare
from evalmark.core.values.case import Usage
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_html import as_html
from evalmark.reports.html.escaping import LONGEST
from tests.reports.text import agents, compared
from tests.reports.text.example import RUN, everywhere

PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)",
    "<svg/onload=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style>",
    "</title><script>alert(1)</script>",
    "</style><link rel=stylesheet href=//x>",
    "<iframe src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<base href=//x>",
    "<meta http-equiv=refresh content='0;url=//x'>",
    "<math><mi xlink:href=javascript:alert(1)>",
    "</details></main><form action=//x><input>",
    "<!--<img src=--><img src=x onerror=alert(1)>",
    "&lt;script&gt;",
    "<details open ontoggle=alert(1)>",
    "\x00<scr\x00ipt>alert(1)</script>",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
]
TEXT = {"class", "id"}
BOX = {"class", "role", "aria-label", "aria-labelledby", "tabindex"}
ALLOWED = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "content", "name"}, "title": set(), "style": set(), "body": set(),
    "a": {"class", "href", "rel"}, "main": {"id", "tabindex"}, "section": {"aria-labelledby", "class"}, "footer": {"class"}, "div": BOX | {"dir"}, "h1": set(), "h2": {"id"}, "h3": TEXT,
    "p": {"class", "role", "id"}, "b": {"class"}, "bdi": set(), "small": {"class"}, "span": {"class", "title", "id", "aria-hidden", "role", "aria-label", "dir"},
    "ul": {"class", "aria-label"}, "li": {"data-verdict", "dir", "class", "id", "tabindex"}, "ol": {"start", "class", "aria-label"}, "i": set(), "em": set(), "strong": set(), "s": set(), "code": set(), "pre": set(), "blockquote": set(), "hr": set(), "br": set(), "wbr": set(), "mark": set(), "ins": set(), "del": set(), "kbd": set(),
    "dl": TEXT, "dt": {"class"}, "dd": TEXT, "details": {"class", "open"}, "summary": {"aria-label"}, "dialog": {"class", "aria-labelledby"},
    "table": {"class", "aria-label", "aria-labelledby", "data-run", "data-rows", "data-order"}, "thead": {"class"}, "tbody": {"data-v", "data-t", "data-w"}, "tr": {"class"},
    "th": {"class", "scope", "data-by"}, "td": {"class", "colspan", "data-s", "data-name", "dir"}, "template": {"id"}, "script": set(),
    "form": {"class", "id", "role", "aria-label", "hidden"}, "fieldset": set(), "legend": set(), "datalist": {"id"},
    "label": {"class"}, "select": {"name"}, "option": {"value"}, "button": {"class", "type", "value", "aria-pressed", "aria-haspopup", "id", "hidden", "autofocus", "data-key", "aria-label"},
    "input": {"type", "name", "placeholder", "maxlength", "inputmode", "size", "list", "autocomplete", "data-key"}, "g": {"transform"},
    "svg": {"class", "viewbox", "width", "height", "aria-hidden", "preserveaspectratio"},
    "symbol": {"id", "viewbox"}, "use": {"href"},
    "rect": {"class", "x", "y", "width", "height", "rx"}, "circle": {"class", "cx", "cy", "r"}, "path": {"class", "d"},
    "figure": TEXT, "figcaption": set(), "caption": {"class"}, "text": {"class", "x", "y", "text-anchor"},
}  # fmt: skip


class Page(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, {name for name, _ in attrs}))

    def handle_data(self, data):
        self.text.append(data)


def page(run, **options):
    return "".join(as_html(run, options=ReportOptions(**options)))


def rows(text):
    """What stands in the table of cases, a text a case."""
    return [f"<tbody data-v={row.partition('</section>')[0]}" for row in text.split("<tbody data-v=")[1:]]


def one(output, *scores, **case):
    """The page of a run with a single result."""
    result = Result(trial=Trial(case=Case(id="c", **case)), output=output, scores=scores)
    return page(replace(RUN, results=(result,)))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_in_any_place_is_only_text(payload):
    run = everywhere(payload)
    for text in (page(run), page(run, comparison=compare(run, run), baseline=run)):
        for tag, attributes in Page(text).tags:
            assert tag in ALLOWED, tag
            assert attributes <= ALLOWED[tag], (tag, attributes)
        assert text.count("<script>") == text.count("</script>") == 1


def test_style_and_script_are_allowed_by_their_hashes_and_nothing_else_is():
    text = page(RUN)

    def digest(name):
        found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)[1]
        return base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()

    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest('style')}'; script-src 'sha256-{digest('script')}'; "
        "require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'"
    )
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search(
        r"\bon[a-z]+\s*=\s*[\"']|\bsrc=|\bstyle=", re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    )


def test_every_case_is_a_row_and_the_worst_are_named_above_them():
    text = page(RUN)
    assert len(rows(text)) == len(RUN.results)
    looking = re.search(r'<details class="looking".*?</details>', text, re.DOTALL)[0]
    assert "The worst 7 cases" in looking
    names = re.findall(r"<bdi>(.*?)</bdi>", looking)
    assert names[:4] == ["q9 (odd ones)", "q10 (odd ones)", "q4 (questions)", "q4 (questions, repeat 2)"]
    for target in re.findall(r'href="#(r\w+)"', looking):
        assert text.count(f'id="{target}"') == 1
    for row, result in zip(rows(text)[:16], RUN.results, strict=False):
        assert result.trial.case.input in row
        assert f'id="r{result.trial.id}"' in row


def test_a_transcript_is_told_step_by_step_and_as_text_only():
    told = "".join(Page(next(row for row in rows(page(agents.RUN)) if "find_order" in row)).text)
    parts = [
        "1 tool call · 4 messages · 1,204 tokens in",
        "You answer customers.",
        "Let me look.",
        "find_order",
        "250 ms",
        '{"order": 7}',
    ]
    places = [told.index(part) for part in (*parts, '{"status": "sent", "day": "Monday"}')]
    assert places == sorted(places)
    bare = page(agents.RUN, times=False)
    assert "250 ms" not in bare
    assert "tokens in" not in bare


def test_what_a_row_brings_along_is_all_there():
    text = one(
        Output(value="Yes.", contexts=("Found.",), usage=Usage(input_tokens=3)),
        Score(name="m", raw="B", value=0.6, passed=True, reason="Said well."),
        input="x" * 400,
        expected={"ok": True},
        history=(Turn(role="user", content="Hello."),),
        tags=("edge", "long"),
    )
    assert re.sub(r"x{100,}", "x", re.search(r"<dl id=.*</dl>", text)[0].partition(">")[2]) == (
        '<dt>Input<dd>x<dt>Before, user<dd>Hello.<dt>Expected<dd><div class="rich"><div class="json">{<b>"ok"</b>: true}</div></div>'
        '<dt>Output<dd class="answered">Yes.<dt>Context 1<dd>Found.<dt>Took<dd>3 tokens in, ? tokens out'
        '<dt>m<dd class="pass"><b>B (0.60)</b> Said well.</dl>'
    )
    assert 'data-t="edge\nlong"' in text


def test_a_long_answer_is_cut_and_the_page_says_so():
    text = one(Output(value="x" * 10_000_000))
    assert len(text) < 4 * LONGEST
    assert "64,000 of 10,000,000 characters" in text
    assert "1 text of more than 64,000 characters is cut; a .jsonl report has everything" in text


def test_more_cases_than_a_browser_can_bear_are_left_to_another_report_but_for_the_worst():
    text = page(RUN, cases=3)
    assert (
        "The first 3 of 21 are listed here, and 7 of the worst cases below them; a .jsonl report has everything" in text
    )
    assert len(rows(text)) == 3 + 7
    for target in re.findall(r'href="#(r\w+)"', text):
        assert f'id="{target}"' in text


def many(cases, answer, contexts=()):
    """A run with answers of so many characters, and contexts that its cases share."""
    results = [
        Result(
            trial=Trial(case=Case(id=f"c{n}", input=f"Question {n}?", contexts=contexts), dataset="d", position=n),
            output=Output(value=f"{n} ".ljust(answer, "&é"[n % 2])),
            scores=(Score(name="m", raw=0.5, value=0.5, passed=True),),
        )
        for n in range(cases)
    ]
    return Run(id="r", name="many", created="", metrics=(Metric(name="m", threshold=0.2),), results=results)


@pytest.mark.parametrize("budget", [350_000, 600_000, 1_000_000])
@pytest.mark.parametrize("answer", [100, 2_000, 20_000])
def test_a_page_takes_no_more_bytes_than_it_may_and_all_texts_are_cut_alike(budget, answer):
    text = page(many(200, answer), budget=budget)
    assert len(text.encode()) <= budget
    assert len(rows(text)) == 200
    shown = {
        int(n.replace(",", "")) for n in re.findall(rf"<small>([\d,]+) of {answer:,} characters</small>", text)
    } or {answer}
    assert len(shown) == 1
    if shown == {answer}:
        assert " cut" not in re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
    else:
        assert f"200 texts of more than {max(shown):,} characters are cut, so that this page stays below" in text
        assert len(text.encode()) > 0.85 * budget, "there was room for more"


def test_a_page_of_many_cases_has_room_for_each_of_them():
    assert "MB" not in page(many(40, 40_000)).partition("<script>")[0].partition("</style>")[2]
    text = page(many(400, 40_000))
    assert "400 texts of more than" in text
    assert "so that this page stays below 10 MB" in text
    assert 9_000_000 < len(text.encode()) <= 10_000_000


def test_where_there_is_no_room_for_all_rows_the_page_says_how_many_are_there():
    text = page(many(500, 100), budget=150_000)
    assert len(text.encode()) <= 150_000
    listed = len(rows(text))
    assert 50 < listed < 500
    assert f"The first {listed} of 500 are listed here; a .jsonl report has everything: evalmark report r -o" in text


def test_a_text_that_many_cases_share_stands_there_once_and_the_others_point_to_it():
    shared = "A long passage. " * 40
    text = page(many(30, 50, contexts=(shared, "A short one.")))
    assert text.count(shared) == 1
    anchor = re.search(r'<dd id="(t\d+)">A long passage', text)[1]
    assert text.count(f'<a href="#{anchor}">A long passage. ') == 29
    assert text.count("A short one.") == 30


def test_a_page_is_written_piece_by_piece():
    chunks = [*as_html(many(400, 500))]
    assert max(map(len, chunks)) < 64_000 < sum(map(len, chunks))


def test_unsupported_sentences_are_marked_where_they_stand():
    assert (
        "The summit lies in France. <mark>It is shaped like a needle.</mark><small>Marked: not supported by any context.</small>"
        in page(RUN)
    )


def test_one_sentence_inside_another_is_marked_once():
    score = Score(
        name="h",
        detail={
            "sentences": [{"sentence": s, "supported": False} for s in ("a < b.", "It holds a < b.", "never said")]
        },
    )
    text = one(Output(value="It holds a < b. So a < b."), score)
    assert "<mark>It holds a &lt; b.</mark> So <mark>a &lt; b.</mark><mark>never said</mark>" in text


def test_without_times_two_runs_of_the_same_are_the_same_page():
    later = replace(
        RUN, id="x", created="y", results=[replace(r, output=replace(r.output, seconds=9.0)) for r in RUN.results]
    )
    assert page(RUN, times=False) == page(later, times=False)


@pytest.mark.parametrize(
    ("run", "times", "takes"),
    [
        pytest.param(RUN, True, True, id="a run that is kept"),
        pytest.param(RUN, False, False, id="a page that does not say which run it is"),
        pytest.param(replace(RUN, id="one+other"), True, False, id="several runs as one"),
    ],
)
def test_labels_are_taken_where_they_can_be_read_back(run, times, takes):
    assert ('data-run="' in page(run, times=times)) is takes
    assert ('id="label"' in page(run, times=times)) is takes


def test_an_unsupported_sentence_comes_with_the_context_closest_to_it():
    assert "<small>\u201cIt is shaped like a needle.\u201d closest is context 1, cosine 0.300</small>" in page(RUN)
    odd = [
        {"sentence": "No context.", "supported": False, "context": None, "similarity": None},
        {"sentence": "Supported.", "supported": True, "context": 1, "similarity": 0.9},
        {"sentence": "<b>", "supported": False, "context": 0, "similarity": 0.25},
    ]
    text = one(Output(value="x"), Score(name="h", detail={"sentences": odd}))
    assert re.findall(r"<small>(\S+) closest is (.*?)</small>", text) == [
        ("\u201c&lt;b&gt;\u201d", "context 1, cosine 0.250")
    ]


def test_beside_a_baseline_each_row_says_what_it_was_and_which_words_are_new():
    text = page(compared.NOW, comparison=compared.WORSE, baseline=compared.THEN)
    by_name = {re.search(r"<bdi>(.*?)</bdi>", row)[1]: row for row in rows(text)}
    assert 'data-w="worse"' in by_name["q04"]
    assert '<td class="pass">passed <small>regressed</small>' in by_name["q04"]
    assert "The capital is <del>Lima</del> <ins>Paris, I think</ins>." in by_name["q04"]
    assert 'data-w="better"' in by_name["q02"]
    assert "data-w" not in by_name["q01"]
    assert "<del>" not in by_name["q01"]
    assert 'data-w="new"' in by_name["q40"]
    assert "Against <bdi>20261121-101500-then" in text
    assert '<th scope="col" data-by="outcome">' in text
    assert "data-w" not in re.sub(r"<(style|script)>.*?</\1>", "", page(compared.NOW), flags=re.DOTALL)


def test_a_case_that_is_listed_behind_the_others_is_held_against_the_baseline_too():
    text = page(compared.NOW, comparison=compared.WORSE, baseline=compared.THEN, cases=3)
    assert len(rows(text)) == 3 + 9
    assert [re.search(r'data-w="(\w+)"', row)[1] for row in rows(text)[3:]] == ["worse"] * 9


def test_an_output_with_an_error_says_once_that_it_was_not_scored():
    metrics = tuple(Metric(name=name, threshold=0.5) for name in ("first", "second", "third"))
    failed, scored = (
        Result(trial=Trial(case=Case(id=name)), output=output, scores=scores)
        for name, output, scores in (
            ("e", Output(error="TimeoutError: 30 s"), [Score(name=m.name, status="skipped") for m in metrics]),
            ("s", Output(value="x"), [Score(name="second", value=1.0, passed=True)]),
        )
    )
    error, other = rows(page(replace(RUN, metrics=metrics, results=(failed, scored))))
    cells = [text.strip() for text in re.findall(r'<td class="num none">([^<]*)', error)]
    assert cells == ["not scored", "", ""]
    assert "not scored" not in other


def test_an_error_beside_an_answer_is_told_as_what_it_was():
    case = Case(id="c", input="?")
    then, now = (
        replace(RUN, id=name, metrics=(), results=(Result(trial=Trial(case=case, target="t"), output=output),))
        for name, output in (("then", Output(value="All well.")), ("now", Output(error="TimeoutError: 30 s")))
    )
    text = page(now, comparison=compare(now, then), baseline=then)
    assert '<dt>Error<dd class="error">TimeoutError: 30 s<dt>Before<dd>All well.' in text


def test_steps_are_a_timeline_where_there_is_room_and_texts_elsewhere():
    calls = (ToolCall(name="find", arguments={"a": 1}, error="gone"),)
    result = Result(trial=Trial(case=Case(id="c")), output=Output(value="x", tool_calls=calls))
    run = replace(RUN, results=(result,))
    wide, narrow = page(run), page(run, budget=1_000)
    step = re.search(r'<ol class="timeline".*?</ol>', wide, re.DOTALL)[0]
    assert re.search(rf'<li id="s{result.trial.id}-1" class="deep-0 tool failed">\s*<details class="step" open>', step)
    assert [
        part for part in ("find", "failed", "gone", '<b>"a"</b>: 1') if part not in step.replace("&#34;", '"')
    ] == []
    assert "<dt>calls" not in wide
    assert '<dt>calls<dd class="step call">find {&#34;a&#34;: 1}<dt>failed<dd class="step error">gone' in narrow
    assert 'class="timeline"' not in narrow.partition("<table")[2]


PLAIN = (
    "The parcel comes back within three days, says the carrier, since nobody was at home on Monday, and it was sent again. "
    * 3
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(PLAIN.strip(), 1, id="a plain line is in its cell alone"),
        pytest.param(f"*{PLAIN.strip()}*", 2, id="Markdown is drawn below"),
        pytest.param(PLAIN.strip() * 2, 2, id="a long one is whole below"),
        pytest.param("Paris", 2, id="a short one is in both"),
    ],
)
def test_a_text_that_its_cell_shows_in_full_is_not_repeated(value, shown):
    row = rows(one(Output(value=value)))[0]
    start = re.sub(r"\W*$", "", value.lstrip("*")[:60])
    assert row.count(start) == shown * value.count(start) if shown == 1 else row.count(start) >= shown
    assert ("<dt>Output" in row) is (shown > 1)


def test_without_room_a_line_that_is_in_its_cell_alone_is_cut_too():
    text = page(many(60, 400), budget=130_000)
    assert re.search(r"60 texts of more than [\d,]+ characters are cut", text)
    assert len(text.encode()) <= 130_000
    assert len(rows(text)) == 60
