"""Two texts side by side: which words are marked, and that no text is too long or too odd."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.text.word_changes import GONE, NEW, mark_changes, merge_changes, word_changes

TEXTS = st.lists(st.sampled_from(["a", "b", "c.", "d,", "\n"]), max_size=300).map(" ".join)


@pytest.mark.parametrize(
    ("before", "now", "left", "right"),
    [
        pytest.param("a b c", "a x c", "a [-b-] c", "a {+x+} c", id="a word in the midst"),
        pytest.param("a b", "a b", "a b", "a b", id="the same"),
        pytest.param("a b", "a b c", "a b", "a b {+c+}", id="a word more"),
        pytest.param("", "a b", "", "{+a b+}", id="an answer where none was"),
        pytest.param(None, None, "", "", id="no answer at all"),
        pytest.param({"a": 1}, {"a": 2}, '{"a": [-1}-]', '{"a": {+2}+}', id="values of any kind"),
        pytest.param("a\x1b[2J b", "a c", "a [-b-]", "a {+c+}", id="what acts on a terminal is taken out"),
    ],
)
def test_words_of_one_side_alone_are_marked(before, now, left, right):
    sides = word_changes(before, now)
    assert (mark_changes(sides.before, GONE), mark_changes(sides.now, NEW)) == (left, right)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param("word " * 20_000, "word " * 10_000 + "other " + "word " * 10_000, id="one word differs"),
        pytest.param("a " * 50_000, "b a " * 25_000, id="every other word differs"),
        pytest.param("x" * 100_000, "y" * 100_000, id="a single word"),
        pytest.param(" " * 100_000, "a" + "\n" * 99_999, id="spaces that no word follows"),
        pytest.param("a " + ".," * 50_000, "b" + " ." * 50_000, id="marks"),
    ],
)
def test_a_text_of_100_000_characters_is_cut_and_takes_no_time(before, now):
    started = time.process_time()
    sides = word_changes(before, now)
    assert time.process_time() - started < 2
    assert len(mark_changes(sides.before, GONE)) < 25_000
    assert len(mark_changes(sides.now, NEW)) < 25_000


WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=30).map(" ".join)


@given(WORDS, WORDS)
def test_short_texts_are_kept_whole(before, now):
    sides = word_changes(before, now)
    assert "".join(piece.text for piece in sides.before).split() == before.split()
    assert "".join(piece.text for piece in sides.now).split() == now.split()
    common = [[word for p in side if p.is_common for word in p.text.split()] for side in sides]
    assert common[0] == common[1]


@pytest.mark.parametrize(
    ("before", "now", "parts"),
    [
        pytest.param("same", "same", [("same", "")], id="no change"),
        pytest.param("", "all new", [("all new", "new")], id="nothing was there"),
        pytest.param("all gone", "", [("all gone", "gone")], id="nothing is left"),
        pytest.param(
            "a b c d", "a x b c d", [("a", ""), (" x", "new"), (" b c d", "")], id="only the later text has a word more"
        ),
        pytest.param("a x b c", "a b c", [("a", ""), (" x", "gone"), (" b c", "")], id="only the earlier one has"),
        pytest.param(
            "a x b c",
            "a b y c",
            [("a", ""), (" x", "gone"), (" b", ""), (" y", "new"), (" c", "")],
            id="one word is gone and another one came later",
        ),
    ],
)
def test_both_texts_as_one_tell_what_went_and_what_came(before, now, parts):
    assert merge_changes(word_changes(before, now)) == parts


@given(before=TEXTS, now=TEXTS)
def test_both_texts_can_be_had_back_from_the_one(before, now):
    sides = word_changes(before, now)
    parts = merge_changes(sides)
    assert "".join(text for text, kind in parts if kind != "new") == mark_changes(sides.before, ("", ""))
    assert "".join(text for text, kind in parts if kind != "gone") == mark_changes(sides.now, ("", ""))


def test_texts_too_long_to_be_compared_to_their_ends_are_woven_all_the_same():
    parts = merge_changes(word_changes("a b " * 3_000, "b c " * 4_000))
    assert {kind for _, kind in parts} == {"", "gone", "new"}
    assert any("more words" in text for text, _ in parts)
