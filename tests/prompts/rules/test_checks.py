"""Checks held against outputs: what holds, what does not, and what nobody can tell."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.prompts.rules.language import language_of
from evalmark.prompts.rules.limits import amounts
from evalmark.prompts.rules.markup import parse_markup
from evalmark.prompts.rules.rule_parser import check_of

LABELS = "The output must be one of these labels: spam, ham."
SPELLED = "The output must be one of these labels (case-sensitive): spam, ham."
LOOSE = "The output must be one of these labels (case-insensitive): spam, ham."
TAGS = "There must be at least two <p> tags."
INSIDE = "Inside each <p> tag, there must be exactly 1 <b> tag."
CLOSED = "All HTML tags are correctly opened and closed."
ENGLISH = "The output must be in English."
LONG = (
    "The report of the year was read in the hall and all of the people who were there said that it was of use to them."
)
FRENCH = "Le rapport de cette année est dans la salle et les gens qui sont venus nous ont dit que ce rapport est pour eux une aide."


@pytest.mark.parametrize(
    ("rule", "output", "holds"),
    [
        ("The output must be at most 3 words.", "one two three", True),
        ("The output must be at most 3 words.", " one\n two  three four ", False),
        ("The output must be at most 3 words.", "", True),
        ("The output must be exactly one sentence.", "It costs 3.5 euros.", True),
        ("The output must be exactly one sentence.", "It rains. It pours.", False),
        ("The output must be at most 2 lines.", "a\n\nb\n", None),
        ("The output must be at most 2 lines.", "a\nb\nc", False),
        ("The output must be a single paragraph.", "a b", True),
        ("The output must be a single paragraph.", "a\nb", None),
        ("The output must be a single paragraph.", "# A title\n\nand a text", None),
        ("The output must be a single paragraph.", "It rains.\n \nIt pours.", False),
        ("The output must be at most 3 characters.", " abc ", True),
        ("The output must be at most 3 characters.", "abcd", False),
        (LABELS, "spam", True),
        (LABELS, " ham\n", True),
        (LABELS, "Spam", None),
        (LABELS, "spam.", None),
        (LABELS, '"spam"', None),
        (LABELS, "It is spam.", False),
        (SPELLED, "spam", True),
        (SPELLED, "Spam", False),
        (SPELLED, "eggs", False),
        (LOOSE, "Spam", True),
        (LOOSE, "Spam.", None),
        (LOOSE, "eggs", False),
        ("The output must be at most 2 words.", "a well-known fact", False),
        ("The output must be at most 2 words.", "well-known fact", None),
        ("The output must be at most 2 words.", "- two words", None),
        ("The output must be at least 2 words.", "これはとても長い日本語の文章です。", None),
        ("The output must be exactly one sentence.", "Oslo", None),
        ("The output must be exactly one sentence.", "1. Do this.", True),
        ("The output must be exactly one sentence.", "The U.S. is large.", True),
        ("The output must be at most 1 character.", "👨‍👩‍👧", None),
        ("The output must be at most 1 character.", "ab", False),
        ("The output must be a single paragraph.", "Dear Sam,\n\nIt rains.", None),
        ("The output must be a single paragraph.", "It rains.\n\nIt pours.", False),
        ("The output must be at most 2 words.", "one,two,three", None),
        ("The output must be exactly 2 bullet points.", "- a\n- b", True),
        ("The output must be exactly 2 bullet points.", "* a\n  * b", None),
        ("The output must be exactly 2 bullet points.", "* a\n* b\n* c", False),
        ("The output must be exactly 2 bullet points.", "1. a\n2. b", None),
        ("The output must be a number from 1 to 10.", "7", True),
        ("The output must be a number from 1 to 10.", "11", False),
        ("The output must be a number from 1 to 10.", "seven", None),
        ("The output must be a number from 1 to 10.", "7.", None),
        ("The output must be a number from 1 to 10.", "I would say seven of ten.", False),
        ("The output must be an integer.", "7.5", False),
        ("The output must be an integer.", "7.0", None),
        ("The output must be lowercase.", "small, 3 times", True),
        ("The output must be lowercase.", "Small", False),
        ("The output must be in upper case.", "BIG!", True),
        ("The output must be in upper case.", "BiG", False),
        ("The output must be one sentence of at most 3 words.", "It rains today.", True),
        ("The output must be one sentence of at most 3 words.", "It rains. Today.", False),
        ("The output must be one sentence of at most 3 words.", "It rains here today.", False),
        (LABELS, "", False),
        ("The output must be JSON.", '{"a": [1]}', True),
        ("The output must be JSON.", "```json\n{}\n```", None),
        ("The output must be a JSON array.", "```json\n{}\n```", False),
        ("The output must be JSON.", "{'a': 1}", False),
        ("The output must be JSON.", "NaN", False),
        ("The output must be a JSON object.", "[]", False),
        ("Each element in the output array must be a unique string.", '["a", "b"]', True),
        ("Each element in the output array must be a unique string.", '["a", "a"]', False),
        ("Each element in the output array must be a string.", '["a", "a"]', True),
        ("Each element in the output array must be a string.", '[["a"]]', False),
        ("Each element in the output array must be a string.", '["a", null]', False),
        (TAGS, "<p>a</p><P>b</P>", True),
        (TAGS, "<p>a</p>", False),
        (TAGS, "<!-- <p></p> <p></p> -->", False),
        (INSIDE, "<p><b>a</b></p><p>c <i><b>d</b></i></p>", True),
        (INSIDE, "<p><b>a</b><b>b</b></p>", False),
        (INSIDE, "<p>a</p><b>b</b>", False),
        (INSIDE, "a", None),
        (CLOSED, "<p>a<br>b<img src='x'/></p>", True),
        (CLOSED, "<p>a", False),
        (CLOSED, "a</p>", False),
        (CLOSED, "<b><i>a</b></i>", False),
        (CLOSED, "a < b and c > d", None),
        ('The output must not contain the word "sorry".', "I am Sorry.", False),
        ('The output must not contain the word "sorry".', "a sorrysome tale", None),
        ('The output must not contain the word "US".', "The US is large", False),
        ('The output must not contain the word "US".', "He told us", None),
        ('The output must contain the phrase "kind regards".', "With kind regards", True),
        ('The output must contain the phrase "kind regards".', "Kind regards", None),
        ('The output must contain the phrase "kind regards".', "Yours", False),
        ('The output must contain the word "yes".', "yesterday", None),
        ('The output must contain "km".', "12km", True),
        ('The output must start with "Dear".', "Dearest all", None),
        ('The output must start with "Dear".', "\nDear all", True),
        ('The output must start with "Dear".', "My Dear", False),
        ('The output must start with "Dear".', "**dear all", None),
        ('The output must end with "Yours".', "Bye. Yours", True),
        ("The output must follow the order: Name, Age.", "Name: a\nAge: 3", True),
        ("The output must follow the order: Name, Age.", "Age: 3\nName: a", False),
        ("The output must follow the order: Name, Age.", "Name: a", None),
        ("The output must follow the order: Name, Age.", "The Age of the one whose Name I seek, and his Age", None),
        ("The output must follow the order: Name, Age.", "Name: by Age\nAge: 3", True),
        (ENGLISH, LONG, True),
        (ENGLISH, FRENCH, False),
        ("The output must be in French.", FRENCH, True),
        ("The output must be in French.", LONG, False),
        (ENGLISH, "Oslo", None),
        (ENGLISH, "Oslo Bergen Trondheim Stavanger Kristiansand", None),
        (ENGLISH, "これはとても長い日本語の文章です。", False),
        ("The output must be in Japanese.", "PostgreSQL database connection をつかう", None),
        ("The output must be in Japanese.", "これはとても長い日本語の文章です。", None),
        ("The output must be in Japanese.", LONG, False),
        ("The output must be in Russian.", LONG, False),
    ],
)
def test_an_output_holds_against_a_check_or_does_not(rule, output, holds):
    finding = check_of(rule)(output)
    assert finding.holds is holds
    assert finding.reason


@given(st.lists(st.text(alphabet="abcé", min_size=1), max_size=30), st.sampled_from([" ", "\n", "  ", "\t"]))
def test_words_are_what_blanks_part(words, blank):
    text = blank.join(words)
    assert amounts(text, "word") == (len(words), len(words))
    assert check_of("The output must be at most 12 words.")(text).holds is (len(words) <= 12)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_all_json_is_json(data):
    assert check_of("The output must be JSON.")(json.dumps(data)).holds


NEST = st.recursive(
    st.just(""),
    lambda inner: st.builds("<{0}>{1}</{0}>{2}".format, st.sampled_from(["p", "b", "em"]), inner, inner),
    max_leaves=20,
)


@given(NEST)
def test_nested_elements_are_counted_as_they_stand(text):
    found = parse_markup(text)
    assert found.fault == ""
    assert len(found.tags) == text.count("</")
    assert sum(found.inside("p", "b")) == sum(
        found.tags[start + 1 : end].count("b")
        for start, (tag, end) in enumerate(zip(found.tags, found.ends, strict=True))
        if tag == "p"
    )


@given(st.text(alphabet=st.sampled_from("<>/pb! -=\"'a")))
def test_any_text_is_read_as_markup(text):
    assert isinstance(parse_markup(text).fault, str)


@pytest.mark.parametrize(
    "text",
    ["<p>" * 50_000, "<p>" * 25_000 + "</b>" * 25_000, "</p>" * 50_000, "<" * 200_000, "<p " * 70_000, "<!--" * 50_000],
    ids=["open", "closed by others", "closed", "brackets", "half a tag", "comments"],
)
def test_hostile_markup_is_read_in_one_pass(text):
    start = time.perf_counter()
    for rule in (TAGS, INSIDE, CLOSED):
        check_of(rule)(text)
    assert time.perf_counter() - start < 5


def test_the_language_of_a_long_text_is_told_in_time():
    before = time.process_time()
    assert language_of("the cat and the dog " * 100_000) == "English"
    assert time.process_time() - before < 5
