"""Foreign text as a page shows it: what is marked in it, and that no text takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.html.escaping import segments

PARTS = st.text("ab. ", max_size=40)


@pytest.mark.parametrize(
    ("text", "sentences", "marked"),
    [
        pytest.param("a b a", ["a"], "[a] b [a]", id="each time that it stands there"),
        pytest.param("a b c", ["a", "a b"], "[a b] c", id="the longer one where two begin together"),
        pytest.param("a b c", ["b c", "a b"], "[a b] c", id="the first of two that overlap"),
        pytest.param("a", [" ", ""], "a", id="nothing to mark"),
        pytest.param("", ["a"], "[a]", id="nothing to mark it in"),
    ],
)
def test_sentences_are_marked_where_they_stand_and_follow_where_they_do_not(text, sentences, marked):
    assert "".join(f"[{part.text}]" if part.is_marked else part.text for part in segments(text, sentences)) == marked


@given(PARTS, st.lists(PARTS, max_size=5))
def test_no_part_of_the_text_is_lost_and_no_sentence(text, sentences):
    found = segments(text, sentences)
    assert "".join(part.text for part in found).startswith(text)
    assert all(any(one in part.text for part in found) or one in text for one in sentences if one.strip())


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        pytest.param(("a" * 31_999 + "b") * 2, ["a" * n + "b" for n in range(31_000, 31_200)], id="much alike"),
        pytest.param("a" * 64_000, ["a" * n + "b" for n in range(31_000, 31_200)], id="much alike and not there"),
        pytest.param("ab" * 32_000, ["ba" * n for n in range(1, 200)], id="overlapping"),
    ],
)
def test_long_sentences_take_no_time(text, sentences):
    began = time.process_time()
    assert segments(text, sentences)
    assert time.process_time() - began < 2
