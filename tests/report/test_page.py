"""HTML: one page that runs nothing, loads nothing and shows everything."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from evalmark.report import Options, as_html
from evalmark.report.page import LONGEST
from evalmark.values import Case, Output, Result, Score, Trial
from tests.wording import agents
from tests.wording.example import RUN, everywhere

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
ALLOWED = {
    "html": {"lang"}, "meta": {"charset", "http-equiv", "content", "name"}, "title": set(), "style": set(), "main": set(), "header": set(),
    "h1": set(), "h2": set(), "p": {"class"}, "strong": {"class"}, "div": {"class"}, "table": {"class"}, "thead": set(), "tbody": set(),
    "tr": set(), "th": set(), "td": {"class"}, "small": set(), "span": {"class"}, "b": set(), "i": {"class"}, "em": set(), "mark": set(),
    "br": set(), "dl": set(), "dt": set(), "dd": {"class"}, "details": {"class", "open"}, "summary": set(), "svg": {"viewbox", "width", "height"},
    "rect": {"class", "x", "y", "width", "height", "rx"}, "circle": {"class", "cx", "cy", "r"}, "path": {"class", "d"},
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
    return "".join(as_html(run, options=Options(**options)))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_in_any_place_is_only_text(payload):
    for tag, attributes in Page(page(everywhere(payload))).tags:
        assert tag in ALLOWED, tag
        assert attributes <= ALLOWED[tag], (tag, attributes)


def test_the_style_is_allowed_by_its_hash_and_nothing_else_is():
    text = page(RUN)
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style
    assert "@import" not in style


def test_every_case_is_there_and_the_worst_come_first():
    text = "".join(Page(page(RUN)).text)
    assert text.index("Worst cases") < text.index("All 21 trials")
    for result in RUN.results[:16]:
        assert text.count(f"{result.trial.case.input}") >= 2
    assert _unfolding(page(RUN)) == len(RUN.results) + 7


def _unfolding(text):
    """How many cases and tables can be unfolded, transcripts within cases aside."""
    return text.count("<details") - text.count("<details class=steps")


def test_a_transcript_is_told_step_by_step_and_as_text_only():
    text = page(agents.RUN)
    steps = re.search(r"<details class=steps>(?:(?!</details>).)*find_order.*?</details>", text, re.S)[0]
    told = "".join(Page(steps).text)
    parts = [
        "1 tool call · 4 messages · 1,204 tokens in",
        "You answer customers.",
        "Let me look.",
        'find_order {"order": 7} (250 ms)',
    ]
    places = [told.index(part) for part in (*parts, '{"status": "sent", "day": "Monday"}', "It was sent on Monday.")]
    assert places == sorted(places)
    bare = page(agents.RUN, times=False)
    assert "250 ms" not in bare
    assert "tokens in" not in bare


def test_a_long_answer_is_cut_and_the_page_says_so():
    result = Result(trial=Trial(case=Case(id="c")), output=Output(value="x" * 10_000_000))
    text = page(replace(RUN, results=(result,)))
    assert len(text) < 4 * LONGEST
    assert "cut here: 64,000 of 10,000,000 characters are shown" in text


def test_more_cases_than_a_browser_can_bear_are_named_not_listed():
    text = page(RUN, cases=3)
    assert _unfolding(text) == 3 + 7
    assert "The first 3 are listed here" in text


def test_unsupported_sentences_are_marked_where_they_stand():
    text = page(RUN)
    assert (
        "The summit lies in France. <mark>It is shaped like a needle.</mark> <em>marked: no context supports this</em>"
        in text
    )


def test_one_sentence_inside_another_is_marked_once():
    score = Score(
        name="h",
        detail={
            "sentences": [{"sentence": s, "supported": False} for s in ("a < b.", "It holds a < b.", "never said")]
        },
    )
    result = Result(trial=Trial(case=Case(id="c")), output=Output(value="It holds a < b. So a < b."), scores=(score,))
    text = page(replace(RUN, results=(result,)))
    assert "<mark>It holds a &lt; b.</mark> So <mark>a &lt; b.</mark><br><mark>never said</mark>" in text


def test_without_times_two_runs_of_the_same_are_the_same_page():
    later = replace(
        RUN, id="x", created="y", results=[replace(r, output=replace(r.output, seconds=9.0)) for r in RUN.results]
    )
    assert page(RUN, times=False) == page(later, times=False)


def test_an_unsupported_sentence_comes_with_the_context_closest_to_it():
    assert "<br>\u201cIt is shaped like a needle.\u201d closest is context 1, cosine 0.300" in page(RUN)
    odd = [
        {"sentence": "No context.", "supported": False, "context": None, "similarity": None},
        {"sentence": "Supported.", "supported": True, "context": 1, "similarity": 0.9},
        {"sentence": "<b>", "supported": False, "context": 0, "similarity": 0.25},
    ]
    result = Result(
        trial=Trial(case=Case(id="c")), output=Output(value="x"), scores=(Score(name="h", detail={"sentences": odd}),)
    )
    text = page(replace(RUN, results=[result]))
    assert set(re.findall(r"<br>(.*?) closest is (.*?)</table>", text)) == {
        ("\u201c&lt;b&gt;\u201d", "context 1, cosine 0.250")
    }
