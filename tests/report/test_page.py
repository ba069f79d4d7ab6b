"""HTML: one page that runs nothing, loads nothing and shows everything."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from evalmark.report import Options, as_html
from evalmark.report.page import LONGEST
from evalmark.values import Case, DatasetInfo, Metric, Output, Result, Run, Score, Spending, ToolCall, Trial, Turn

from .example import RUN

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
    "br": set(), "dl": set(), "dt": set(), "dd": set(), "details": {"open"}, "summary": set(), "svg": {"viewbox", "width", "height"},
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


def everywhere(text):
    """A run that has a text in every place where one can be."""
    case = Case(
        id=text,
        input=text,
        expected={text: text},
        contexts=(text,),
        tags=(text,),
        metadata={text: text},
        history=(Turn(role=text, content=text),),
        place=text,
    )
    score = Score(
        name=text,
        raw=text,
        value=0.1,
        passed=False,
        reason=text,
        detail={"sentences": [{"sentence": text, "supported": False}], text: text, "weighting": text, "flipped": True},
    )
    other = Score(name=text + "2", status="unscored", reason=text, detail={"unscored": text})
    third = Score(name=text + "3", raw=text, value=0.2, detail={"order_consistent": False})
    answered = Output(
        value=text, contexts=(text,), tool_calls=(ToolCall(name=text, result=text),), metadata={text: text}
    )
    trial = Trial(case=case, dataset=text, target=text)
    results = (
        Result(trial=trial, output=answered, scores=(score, other, third)),
        Result(trial=replace(trial, target="other", position=1), output=Output(error=text)),
        Result(trial=replace(trial, target="third", mode="conversation"), output=answered, scores=(score,)),
    )
    metrics = tuple(Metric(name=text + n, unit=text, judge=text + n, base=text) for n in ("", "2", "3"))
    spending = (Spending(model=text, calls=1), Spending(model=text, unknown_cost=1))
    return Run(
        id=text, name=text, created=text, target=text, datasets=(DatasetInfo(name=text, path=text),), metrics=metrics, spending=spending,
        suite=text, embedder=text, versions={text: text}, notes=(text,), results=results,
    )  # fmt: skip


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
    assert page(RUN).count("<details") == len(RUN.results) + 7


def test_a_long_answer_is_cut_and_the_page_says_so():
    result = Result(trial=Trial(case=Case(id="c")), output=Output(value="x" * 10_000_000))
    text = page(replace(RUN, results=(result,)))
    assert len(text) < 4 * LONGEST
    assert "cut here: 64,000 of 10,000,000 characters are shown" in text


def test_more_cases_than_a_browser_can_bear_are_named_not_listed():
    text = page(RUN, cases=3)
    assert text.count("<details") == 3 + 7
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
