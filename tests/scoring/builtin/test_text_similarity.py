"""Edit similarity and chrF beside a second way to compute them."""

import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalmark import Example
from evalmark.core.values.case import is_blank
from evalmark.scorers import Chrf, EditSimilarity

from .asking import ask


def distance(a: str, b: str) -> int:
    """The textbook table of Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


@given(st.text(max_size=12), st.text(min_size=1, max_size=12))
def test_edits_are_those_of_the_textbook(answer, expected):
    assume(not is_blank(expected))
    score = ask(EditSimilarity(), answer, expected=expected)
    edits = distance(answer, expected)
    assert score.detail == {"edits": edits}
    assert score.value == pytest.approx(1 - edits / max(len(answer), len(expected)))
    assert score.passed is None


def test_the_closest_liked_answer_counts():
    score = ask(EditSimilarity(), "Olso", expected="Bergen", examples=(Example(value="Oslo"),))
    assert score.value == 0.5
    assert score.reason == "the output 'Olso' is 2 edits away from 'Oslo'"


def test_case_and_blanks_need_not_count():
    assert ask(EditSimilarity(ignore_case=True, strip=True), " OSLO", expected="Oslo").value == 1.0


def test_a_threshold_makes_it_a_check():
    assert ask(EditSimilarity(), "Osla", expected="Oslo", threshold=0.7).passed is True


def test_without_an_expected_answer_both_are_unscored():
    assert ask(EditSimilarity(), "a").status == "unscored"


def test_without_sacrebleu_chrf_is_refused_before_the_run():
    code = "import sys; sys.modules['sacrebleu'] = None; from evalmark.scoring.binding.registry import resolve_scorer; resolve_scorer('chrf', {}, 's.yaml:3')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == (
        "evalmark.core.errors.MissingExtraError: s.yaml:3: sacrebleu is not installed. Run: pip install 'evalmark[text]'"
    )


@pytest.fixture(scope="module")
def chrf():
    pytest.importorskip("sacrebleu")
    return Chrf()


@given(answer=st.text(alphabet="ab c", max_size=10), expected=st.text(alphabet="ab c", min_size=6, max_size=10))
def test_chrf_is_that_of_sacrebleu(chrf, answer, expected):
    from sacrebleu.metrics import CHRF

    wanted = CHRF(char_order=6, word_order=0, beta=2).sentence_score(answer, [expected]).score
    score = ask(chrf, answer, expected=expected)
    assert score.raw == pytest.approx(wanted)
    assert score.value == pytest.approx(wanted / 100)


def test_chrf_takes_every_liked_answer_as_a_reference(chrf):
    score = ask(chrf, "the cat sat", expected="a dog", examples=(Example(value="the cat sat"),))
    assert score.value == pytest.approx(1.0)
    assert score.reason == "the output 'the cat sat' has chrF 100.0 to 'a dog' and 1 other liked answer"
    assert ask(chrf, "a").status == "unscored"
