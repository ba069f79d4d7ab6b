"""A comment on a pull request: the verdict first, text of models only as text, and never more than a host takes."""

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from evalmark import Run, compare
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.review_comment import MOST_CASES, MOST_CHARACTERS, as_review_comment, comment_marker
from tests.reports.text.example import RUN, everywhere

from .test_github import COMMANDS
from .test_run_html import PAYLOADS, Page
from .test_run_markdown import ALLOWED, MARKS

REFERENCES = [
    "!12",
    "/close",
    "a\n/merge\n/assign @me",
    "~label",
    "text\n\n/close",
    "-->",
    "<!-- evalmark run 9999 -->",
]


def comment(run, **options):
    return "".join(as_review_comment(run, None, ReportOptions(**options), link="https://host.example/jobs/1"))


def page(text):
    return Page(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


@pytest.mark.parametrize("payload", PAYLOADS + MARKS + COMMANDS + REFERENCES)
def test_text_in_any_place_is_only_text(payload):
    clean, found = page(comment(everywhere("x"))), page(comment(everywhere(payload)))
    assert {tag for tag, _ in found.tags} <= ALLOWED | {"h4", "a"}
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in clean.tags]


@pytest.mark.parametrize("payload", REFERENCES[:5])
def test_no_quick_action_and_no_reference_of_gitlab_is_left(payload):
    text = comment(everywhere(payload))
    assert not re.search(r"^\s*/\w", text, re.MULTILINE)
    assert not re.search(r"(?<!\\)!\d|@\w", text)


def test_a_comment_begins_with_its_marker_and_tells_the_verdict():
    lines = comment(RUN).splitlines()
    assert lines[0] == comment_marker(RUN)
    assert lines[1] == "<!-- evalmark run 2026-11-21T10:15:00+00:00 -->"
    assert lines[2] == "### ❌ mountain bot: failed"
    assert 'href="https://host.example/jobs/1"' in lines[-1]


def test_the_marker_is_that_of_the_suite_and_no_name_can_end_it():
    assert comment_marker(RUN) == comment_marker(replace(RUN, id="other", created="2027-01-01T00:00:00Z"))
    assert comment_marker(RUN) != comment_marker(replace(RUN, name="other", suite="other.yaml"))
    assert re.fullmatch(
        r"<!-- evalmark comment [0-9a-f]{16} -->", comment_marker(replace(RUN, name="--> <b>", suite=""))
    )


def test_a_comparison_stands_in_the_title():
    worse = replace(RUN, id="now", results=tuple(RUN.results))
    text = comment(worse, comparison=compare(worse, RUN))
    assert text.splitlines()[2] == "### ❌ mountain bot: cannot tell; gate failed"
    assert "#### Against" in text


@pytest.mark.parametrize("value", ["x" * 100_000, "@/!" * 30_000, "&<>" * 30_000, "\U0001f600" * 30_000])
def test_a_comment_of_thousands_of_long_failures_fits(value):
    results = [replace(RUN.results[6], output=replace(RUN.results[6].output, value=value))] * 300
    text = comment(replace(RUN, results=results, notes=(value,) * 20))
    assert len(text) <= MOST_CHARACTERS
    assert text.rstrip().endswith("</sub>")
    assert text.count("<details>") == text.count("</details>") <= MOST_CASES + 5


def test_a_run_without_results_has_a_comment_too():
    assert "### ❔ empty: cannot tell" in comment(Run(id="1", name="empty", created="2026-11-21T10:15:00Z"))
