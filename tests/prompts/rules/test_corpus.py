"""The reader of rules on the corpus: never a wrong check, and as many right ones as the documentation says."""

import re
from collections import Counter
from pathlib import Path

import pytest

from evalmark.prompts.rules.rule_parser import check_of

from .corpus import alone, corpus, line

ROWS = corpus()
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "prompt_metrics.md"
CHECKED = [row.rule for row in ROWS if row.half == "development" and row.fate == "right" and row.is_whole]


def test_the_corpus_is_large_and_has_two_halves_with_rules_of_both_kinds():
    kinds = Counter((row.half, bool(row.checks)) for row in ROWS)
    assert len(ROWS) == len({row.rule for row in ROWS}) >= 150
    assert len(kinds) == 4
    assert min(kinds.values()) >= 40


@pytest.mark.parametrize("half", ["development", "held out"])
def test_no_rule_has_a_check_that_a_reader_would_not_accept(half):
    assert [row.rule for row in ROWS if row.half == half and row.fate == "wrong"] == []


@pytest.mark.parametrize("half", ["development", "held out"])
def test_the_page_says_how_many_are_recognised(half):
    rows = [row for row in ROWS if row.half == half]
    assert line(half, rows) in PAGE.read_text(encoding="utf-8")


NARROWED = [
    " unless the input is long",
    " if the input is short",
    " for each section",
    " per paragraph",
    " in each bullet",
    " in the title",
    ", excluding the title",
    ", not counting code",
    " in the first line",
    " where possible",
    ", ideally",
    " or a table",
    " in most cases",
    ", such as this",
    ". The title does not count",
    ". Longer outputs are allowed for code",
]


@pytest.mark.parametrize("words", NARROWED)
def test_words_that_narrow_a_rule_leave_it_to_a_reader(words):
    kept = [rule for rule in CHECKED if check_of(re.sub(r"[.!]$", "", rule) + words + ".") is not None]
    assert kept == []


@pytest.mark.parametrize("words", [" and must be polite", ", and it should be easy to read"])
def test_words_that_ask_for_more_leave_a_check_that_can_only_refute(words):
    found = {rule: check_of(re.sub(r"[.!]$", "", rule) + words + ".") for rule in CHECKED}
    kept = {rule: check for rule, check in found.items() if check is not None}
    assert len(kept) > 20
    assert [rule for rule, check in kept.items() if check.is_whole or alone(check) != alone(check_of(rule))] == []


@pytest.mark.parametrize("subject", ["The title", "Each item", "The summary field", "The first sentence", "The input"])
def test_a_rule_about_something_else_is_left_to_a_reader(subject):
    rules = [rule for rule in CHECKED if rule.startswith("The output ")]
    assert len(rules) > 20
    assert [rule for rule in rules if check_of(rule.replace("The output", subject, 1)) is not None] == []
