"""Foreign text is made harmless, and nothing else of it is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.text import clean, cut, display_text, escape_workflow_commands, one_line

ESC, CSI, OSC, ST, BEL = "\x1b", "\x9b", "\x9d", "\x1b\\", "\x07"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param(f"{ESC}[31mred{ESC}[0m", "red", id="a colour"),
        pytest.param(f"{ESC}[38;2;255;0;0mred", "red", id="a colour of 24 bits"),
        pytest.param(f"{ESC}[38:5:1mred", "red", id="a colour with colons"),
        pytest.param(f"a{ESC}[2Jb", "ab", id="clear the screen"),
        pytest.param(f"a{ESC}[1;1Hb", "ab", id="move the cursor"),
        pytest.param(f"a{ESC}[10Ab", "ab", id="write over the lines above"),
        pytest.param(f"a{ESC}[?1049hb", "ab", id="another screen"),
        pytest.param(f"a{ESC}[?25lb", "ab", id="hide the cursor"),
        pytest.param(f"a{ESC}[6nb", "ab", id="make the terminal answer"),
        pytest.param(f"a{ESC}[5ib", "ab", id="print"),
        pytest.param(f"a{ESC}[!pb", "ab", id="soft reset"),
        pytest.param(f"a{ESC}cb", "ab", id="full reset"),
        pytest.param(f"a{ESC}(0b", "ab", id="line-drawing letters"),
        pytest.param(f"a{ESC}7b{ESC}8c", "abc", id="save and restore the cursor"),
        pytest.param(f"a{ESC}#8b", "ab", id="fill the screen with E"),
        pytest.param(f"a{ESC}]0;title{BEL}b", "ab", id="the window's title, ended by BEL"),
        pytest.param(f"a{ESC}]2;title{ST}b", "ab", id="the window's title, ended by ST"),
        pytest.param(f"a{ESC}]8;;http://x{ST}link{ESC}]8;;{ST}b", "alinkb", id="a link"),
        pytest.param(f"a{ESC}]52;c;ZXZpbA=={BEL}b", "ab", id="the clipboard"),
        pytest.param(f"a{ESC}]1337;File=x:AAAA{BEL}b", "ab", id="an inline image"),
        pytest.param(f"a{ESC}]9;hello{BEL}b", "ab", id="a desktop notice"),
        pytest.param(f"a{ESC}Pq#0;2;0;0;0{ST}b", "ab", id="a sixel picture"),
        pytest.param(f"a{ESC}_Gf=100;AAAA{ST}b", "ab", id="a kitty picture"),
        pytest.param(f"a{ESC}^private{ST}b{ESC}Xstring{ST}c", "abc", id="a private message and a string"),
        pytest.param(f"a{CSI}31mb", "ab", id="a colour in one character"),
        pytest.param(f"a{OSC}0;title\x9cb", "ab", id="a title in one character"),
        pytest.param(f"a{ESC}]0;never ended", "a0;never ended", id="a title without an end"),
        pytest.param(f"a{ESC}", "a", id="an escape at the end"),
        pytest.param(f"{ESC}{ESC}[31m[32mx", "[32mx", id="one sequence inside another"),
        pytest.param(f"a{ESC}[31", "a31", id="half a colour"),
        pytest.param("a\x00b\x08c\x7fd\x85e", "abcd\ne", id="control characters"),
        pytest.param("kept\rover", "kept\nover", id="a carriage return does not hide the line"),
        pytest.param("a\r\nb\tc\n", "a\nb\tc\n", id="line ends and tabs stay"),
        pytest.param("a\u202eb\u2066c", "abc", id="marks that reorder the line"),
        pytest.param("a\ud800b\udfffc", "a\ufffdb\ufffdc", id="half surrogate pairs"),
        pytest.param("a\ufffeb\uffffc", "abc", id="what XML forbids"),
        pytest.param("naïve 日本語 🏔️ \u200dx", "naïve 日本語 🏔️ \u200dx", id="every language stays"),
    ],
)
def test_what_is_left_of_a_text(text, left):
    assert clean(text) == left


@given(st.text(st.sampled_from([*"\x1b\x9b\x9d\x90\x07\x9c\\[]P;0m?a\r\n\t\x00\ud800\u202e"]), max_size=60) | st.text())
def test_nothing_that_acts_is_ever_left(text):
    left = clean(text)
    assert not [c for c in left if (ord(c) < 32 or 127 <= ord(c) < 160) and c not in "\n\t"]
    assert clean(left) == left
    left.encode("utf-8")


@pytest.mark.parametrize("start", ["\x1b]", "\x9d", "\x1b[", "\x1bP"])
def test_a_megabyte_of_starts_is_no_trouble(start):
    assert len(clean(start * 300_000)) <= 300_000 * len(start)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(None, "", id="nothing"),
        pytest.param("text", "text", id="text"),
        pytest.param({"a": [1, "é\x1b[31m"]}, '{"a": [1, "é\\u001b[31m"]}', id="data"),
        pytest.param(True, "true", id="a truth value"),
        pytest.param(float("nan"), '"nan"', id="no number"),
    ],
)
def test_any_value_is_text(value, text):
    assert display_text(value) == text


def test_one_line_is_one_line_of_its_width():
    assert one_line("a\n b\t\tc", 80) == "a b c"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"
    assert one_line("x" * 10, 10) == "x" * 10
    assert cut("ab  cd", 4) == "ab…"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("::error::x", ": :error::x", id="a command"),
        pytest.param(
            "a\n \t::set-output name=a::b", "a\n \t: :set-output name=a::b", id="behind blanks of a later line"
        ),
        pytest.param("\u3000::error::x", "\u3000: :error::x", id="behind a blank of another script"),
        pytest.param("see ##[error]x", "see # #[error]x", id="the older form, anywhere"),
        pytest.param("###[error]x", "## #[error]x", id="the older form behind one more sign"),
        pytest.param("a::b and std::string", "a::b and std::string", id="no command"),
        pytest.param("## [a heading]", "## [a heading]", id="a heading"),
    ],
)
def test_what_a_runner_would_obey_gets_a_space(text, left):
    assert escape_workflow_commands(text) == left
    assert escape_workflow_commands(left) == left


@given(st.text(st.sampled_from(":# \n[]ab\t"), max_size=30))
def test_nothing_is_left_that_a_runner_would_obey(text):
    left = escape_workflow_commands(text)
    assert "##[" not in left
    assert not [line for line in left.split("\n") if line.lstrip().startswith("::")]
    assert left.replace(" ", "") == text.replace(" ", "")
