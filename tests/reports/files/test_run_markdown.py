"""Markdown: hostile text stays text, and the table stays a table."""

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from evalmark.reports.files.run_markdown import as_markdown
from tests.reports.text.example import RUN, everywhere

from .test_run_html import PAYLOADS, Page

MARKS = [
    "![i](http://x/i.png)",
    "[a](javascript:alert(1))",
    "`code` *b* __c__ ~~d~~",
    "| a | b |\n|--|--|",
    "# head",
    "- item",
    "1. item",
    "@someone",
    "http://x",
    "$x$",
    "a\n\n> b",
    "&copy; &#60;",
]
ALLOWED = {
    "h2",
    "h3",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "strong",
    "details",
    "summary",
    "pre",
    "ul",
    "li",
    "sub",
    "blockquote",
    "br",
}


def page(run):
    return Page(
        MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render("".join(as_markdown(run)))
    )


@pytest.mark.parametrize("payload", PAYLOADS + MARKS)
def test_text_in_any_place_is_only_text(payload):
    run = everywhere(payload)
    clean = page(everywhere("x"))
    found = page(run)
    assert {tag for tag, _ in found.tags} <= ALLOWED
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in clean.tags]


def test_the_summary_is_readable():
    text = "".join(page(RUN).text)
    assert "mountain bot: failed" in text
    assert "answer_hallucination ↓" in text
    assert "unsupported: It is shaped like a needle." in text


def test_a_summary_of_thousands_of_failures_fits_a_step_summary():
    results = [replace(RUN.results[6], output=replace(RUN.results[6].output, value="x" * 100_000))] * 3_000
    assert len("".join(as_markdown(replace(RUN, results=results))).encode()) < 1_000_000


def test_nobody_named_in_an_answer_is_told():
    text = "".join(as_markdown(everywhere("@someone")))
    assert "@someone" not in text
    assert "@<!-- -->someone" in text
