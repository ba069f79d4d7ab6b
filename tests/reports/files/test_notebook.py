"""Runs, comparisons and results in a notebook: HTML that touches nothing else, one line, and rows."""

import re
import sys
from dataclasses import replace

import pytest

from evalmark import compare, evaluate
from evalmark.core.errors import MissingExtraError
from evalmark.core.values.run import Run
from tests.reports.text.example import RUN, everywhere

from .test_run_html import PAYLOADS, Page

FORBIDDEN = {"script", "iframe", "link", "object", "embed", "form", "base", "meta", "img"}


@pytest.fixture(scope="module")
def runs():
    cases = [{"id": f"c{n}", "input": f"question {n}", "expected": f"a{n}"} for n in range(12)]

    def good(text):
        return f"a{text.split()[1]}"

    def bad(text):
        return "wrong" if int(text.split()[1]) % 2 else good(text)

    return [evaluate(cases, task, ["equals"], store=None, name="capitals") for task in (good, bad)]


@pytest.fixture
def values(runs):
    good, bad = runs
    return [bad, compare(bad, good), list(bad.results)[1]]


def test_a_fragment_says_what_matters(values):
    run, comparison, result = (" ".join(" ".join(Page(value._repr_html_()).text).split()) for value in values)
    assert "capitals ✗ failed" in run
    assert "6 of 12 passed" in run
    assert "c1" in run
    assert "? cannot tell" in comparison or "▼ worse" in comparison
    assert "pass rate" in comparison
    assert "wrong" in result
    assert "✗ failed" in result


def test_a_fragment_loads_and_runs_nothing(values):
    for value in values:
        page = value._repr_html_()
        assert not FORBIDDEN & {tag for tag, _ in Page(page).tags}
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", page)
        assert not [name for _, pairs in Page(page).tags for name in pairs if name.startswith("on")]


def test_every_rule_is_of_the_fragment_alone(runs):
    style = re.search(r"<style>(.*?)</style>", runs[0]._repr_html_(), re.DOTALL)[1]
    depth, heads, start = 0, [], 0
    for at, letter in enumerate(style):
        if letter == "{":
            depth += 1
            if depth == 1:
                heads.append(style[start:at].strip())
        elif letter == "}":
            depth -= 1
            start = at + 1 if depth == 0 else start
    assert depth == 0
    assert all(".evalmark" in head or head.startswith("@media") for head in heads), heads
    assert "--back" in style
    assert "data-jp-theme-light" in style


@pytest.mark.parametrize("payload", PAYLOADS)
def test_text_in_any_place_is_only_text(payload):
    hostile = everywhere(payload)
    clean, found = Page(everywhere("x")._repr_html_()), Page(hostile._repr_html_())
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in clean.tags]
    for result in hostile.results:
        assert not FORBIDDEN & {tag for tag, _ in Page(result._repr_html_()).tags}


def test_print_is_one_readable_line(values):
    run, comparison, result = (str(value) for value in values)
    assert run.startswith("capitals: failed; 6 of 12 passed, 50 % (")
    assert re.match(r"\S+ against \S+: (worse|cannot tell)\. \w", comparison)
    assert result == "c1: fail (equals 0.000)"
    assert "\n" not in str(everywhere("a\nb\u2028c")) + repr(everywhere("a\nb\u2028c"))


def test_repr_is_one_short_line(values):
    run, comparison, result = (repr(value) for value in values)
    assert re.fullmatch(r"Run\(id='\S+', name='capitals', created='\S+', status='complete'\)", run)
    assert re.fullmatch(r"Comparison\(run='\S+', baseline='\S+', outcome='[a-z ]+'\)", comparison)
    assert result == "Result(case='c1', verdict='fail', scores={'equals': 0.0})"


def test_an_empty_run_can_be_shown():
    empty = Run(id="1", name="empty", created="2026-11-21T10:15:00Z")
    assert "empty" in empty._repr_html_()
    assert empty.to_records() == []
    assert str(empty) == "empty: cannot tell; no cases; run 1"


def test_records_have_a_row_for_each_trial_metric_and_score(values):
    run, comparison, result = (value.to_records() for value in values)
    assert len(run) == 12
    assert {key: run[1][key] for key in ("case", "verdict", "output", "equals value", "equals passed")} == {
        "case": "c1", "verdict": "fail", "output": "wrong", "equals value": 0.0, "equals passed": False
    }  # fmt: skip
    assert [(row["metric"], row["n"], row["before"], row["now"], row["worse"]) for row in comparison] == [
        ("pass rate", 12, 1.0, 0.5, 6)
    ]
    assert [(row["score"], row["value"], row["status"]) for row in result] == [("equals", 0.0, "scored")]


def test_a_trial_without_a_score_has_none_for_it():
    rows = replace(RUN, results=tuple(RUN.results)).to_records()
    keys = {tuple(row) for row in rows}
    assert len(keys) == 1
    assert any(value is None for row in rows for name, value in row.items() if name.endswith(" value"))


def test_without_pandas_one_sentence_says_what_to_do(values, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for value in values:
        with pytest.raises(MissingExtraError, match=r"^pandas is not installed. Run: pip install pandas"):
            value.to_pandas()


def test_with_pandas_the_records_are_a_frame(values):
    pandas = pytest.importorskip("pandas")
    frame = values[0].to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["equals value"].mean() == 0.5
