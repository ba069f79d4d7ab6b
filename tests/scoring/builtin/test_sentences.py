"""Sentences survive numbers, abbreviations, addresses and lists."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import ConfigError
from evalmark.scoring.builtin.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        pytest.param("Version 3.5 is out. Get it!", ["Version 3.5 is out.", "Get it!"], id="a decimal number"),
        pytest.param("It costs $4.50. Really?", ["It costs $4.50.", "Really?"], id="an amount of money"),
        pytest.param("Use tools, e.g. hammers. Rest.", ["Use tools, e.g. hammers.", "Rest."], id="e.g."),
        pytest.param("See Dr. Smith. He knows.", ["See Dr. Smith.", "He knows."], id="Dr. Smith"),
        pytest.param("The U.S. economy grew. It did.", ["The U.S. economy grew.", "It did."], id="U.S."),
        pytest.param(
            "See https://example.org/a.b?c=1.2 for more. Ok.",
            ["See https://example.org/a.b?c=1.2 for more.", "Ok."],
            id="an address",
        ),
        pytest.param("- one\n- two. with text\n- three", ["- one", "- two. with text", "- three"], id="a bullet list"),
        pytest.param("1. Mix it.\n2. Bake it.", ["1. Mix it.", "2. Bake it."], id="a numbered list"),
        pytest.param("今日は雨です。明日は晴れます。", ["今日は雨です。", "明日は晴れます。"], id="Japanese"),
        pytest.param("你好。你叫什么？我很好！", ["你好。", "你叫什么？", "我很好！"], id="Chinese"),  # noqa: RUF001
        pytest.param('He said "Stop. Now." and left.', ['He said "Stop. Now." and left.'], id="a quotation"),
        pytest.param("Title\n\nText.", ["Title", "Text."], id="a paragraph break"),
        pytest.param("no full stop", ["no full stop"], id="no full stop"),
        pytest.param("Good 👍", ["Good 👍"], id="an emoji"),
        pytest.param("👍", ["👍"], id="nothing but an emoji says something"),
        pytest.param("...!?", [], id="nothing but punctuation"),
        pytest.param(" \n\t", [], id="nothing but blanks"),
        pytest.param("", [], id="nothing"),
        pytest.param("Half \ud800 a pair. Next.", ["Half � a pair.", "Next."], id="half a surrogate pair"),
    ],
)
def test_the_default_splitter_finds_sentences(text, sentences):
    assert list(split_sentences(text)) == sentences


@given(st.text())
def test_no_text_breaks_the_default_splitter_and_nothing_is_lost(text):
    found = split_sentences(text)
    assert all(sentence == sentence.strip() and sentence for sentence in found)
    letters = "".join(re.findall(r"[a-zA-Z0-9]", text))
    assert "".join(re.findall(r"[a-zA-Z0-9]", "".join(found))) == letters


@given(st.text())
def test_simple_is_the_regular_expression(text):
    assert list(split_sentences(text, "simple")) == [s.strip() for s in re.split("[.!?]", text) if s.strip()]


def test_a_function_splits_too():
    assert split_sentences("a; b ;;", lambda text: text.split(";")) == ("a", "b")


def test_a_language_can_be_named():
    assert split_sentences("Das gilt z. B. hier. Und dort.", "sentencex:de") == ("Das gilt z. B. hier.", "Und dort.")


@pytest.mark.parametrize("splitter", ["nltk", "", "sentencex:", "sentencex:1", "Simple"])
def test_an_unknown_splitter_is_refused(splitter):
    with pytest.raises(ConfigError, match=r"splitter .* is unknown; use 'sentencex'"):
        split_sentences("a", splitter)


def test_a_long_text_is_taken_apart_as_a_short_one_is():
    once = 'It costs 3.5 euros. Ask Dr. Smith! Is it "so"? Yes.\n\nA line\nand another one.\n'
    assert split_sentences(once * 2_000) == split_sentences(once) * 2_000
    assert split_sentences("one word and another " * 2_000) == (("one word and another " * 2_000).strip(),)


@pytest.mark.parametrize("unit", ["```", "<!--", "a"])
def test_a_text_without_sentences_is_taken_apart_in_time(unit):
    before = time.process_time()
    assert len(split_sentences(unit * (400_000 // len(unit)))) == (100_000 if unit == "<!--" else 1)
    assert time.process_time() - before < 30  # two or three on a machine of its own; before it was divided, minutes
