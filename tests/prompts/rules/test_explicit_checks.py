"""Checks that people state: what each one looks at, and what is none."""

import pytest

from evalmark.errors import ConfigError
from evalmark.prompts.rules.explicit_checks import explicit_check

SCHEMA = {"type": "object", "required": ["city"]}


@pytest.mark.parametrize(
    ("said", "says", "kept", "broken"),
    [
        ({"words": {"max": 3}}, "at most 3 words", "a b c", "a b c d"),
        ({"words": 2}, "exactly 2 words", "a b", "a"),
        ({"sentences": {"min": 2}}, "at least 2 sentences", "It rains. It pours.", "It rains."),
        ({"lines": {"min": 1, "max": 2}}, "1 to 2 lines", "a\nb", "a\nb\nc"),
        ({"characters": {"max": 3}}, "at most 3 characters", "abc", "abcd"),
        ({"paragraphs": 1}, "exactly 1 paragraph", "a b", "It rains.\n\nIt pours."),
        ({"bullets": 2}, "exactly 2 bullet points", "- a\n- b", "- a"),
        ({"labels": ["spam", "ham"]}, "exactly one of spam, ham", "spam", "Spam"),
        ({"labels": {"one_of": ["spam", "ham"], "case": "ignore"}}, "exactly one of spam, ham", "Spam", "eggs"),
        ({"json": "any"}, "JSON", "[1]", "{"),
        ({"json": "object"}, "a JSON object", "{}", "[]"),
        ({"json": "array"}, "a JSON array", "[]", "{}"),
        ({"json": "strings"}, "a JSON array of texts", '["a"]', "[1]"),
        ({"json": "unique strings"}, "a JSON array of unique texts", '["a"]', '["a", "a"]'),
        ({"json": "schema"}, "JSON that fits the prompt's schema", '{"city": "Oslo"}', "{}"),
        ({"number": {"min": 1, "max": 10, "integer": True}}, "a whole number from 1 to 10", "7", "11"),
        ({"number": {}}, "a number", "-2.5", "I would not say a number"),
        ({"case": "lower"}, "in small letters", "abc", "Abc"),
        ({"case": "upper"}, "in capital letters", "ABC", "Abc"),
        ({"contains": "yes"}, "'yes'", "oh yes", "no"),
        ({"excludes": ["very", "really"]}, "not 'very' or 'really'", "so", "really so"),
        ({"starts_with": "Dear"}, "starts with 'Dear'", "Dear all", "Hello"),
        ({"ends_with": "Yours"}, "ends with 'Yours'", "I am Yours", "Bye"),
        ({"order": ["Name", "Age"]}, "in order: Name, Age", "Name: a\nAge: b", "Age: b\nName: a"),
        ({"matches": "[A-Z]+-[0-9]+"}, "matches '[A-Z]+-[0-9]+'", "AB-12", "see AB-12"),
        ({"tags": {"p": {"min": 1}}}, "at least 1 <p>", "<p>a</p>", "a"),
        ({"tags_in": {"p": {"b": 1}}}, "exactly 1 <b> in each <p>", "<p><b>a</b></p>", "<p>a</p>"),
        ({"closed_tags": True}, "all tags are closed", "<p>a</p>", "<p>a"),
        ({"html": True}, "some HTML tag", "<p>a</p>", "a"),
        ({"paragraphs": 1, "words": {"max": 3}}, "exactly 1 paragraph, at most 3 words", "a b", "a b c d"),
    ],
)
def test_a_stated_check_looks_at_what_it_names(said, says, kept, broken):
    check = explicit_check(said, SCHEMA)
    assert (check.description, check.is_whole) == (says, True)
    assert (check(kept).holds, check(broken).holds) == (True, False)
    part = explicit_check({**said, "partial": True}, SCHEMA)
    assert (part.description, part.is_whole) == (says, False)


def test_a_language_is_stated_by_its_name():
    assert explicit_check({"language": "French"}).description == "in French"


def test_none_leaves_the_rule_to_the_judge():
    assert explicit_check("none") is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, "a check is none, or names what is checked"),
        ("words", "a check is none, or names what is checked"),
        ({}, "a check is none, or names what is checked"),
        ({"partial": True}, "a check is none, or names what is checked"),
        (["words"], "a check is none, or names what is checked"),
        ({"word": 3}, "there is no check 'word'; did you mean words?"),
        ({"xyzzy": 3}, "there is no check 'xyzzy'; it is one of words, "),
        ({"words": "3"}, "words: is '3'; give a number, or min and max"),
        ({"words": True}, "words: is true; give a number"),
        ({"words": -1}, "words: is -1; give a number"),
        ({"words": {}}, "give a number, or min and max"),
        ({"words": {"most": 3}}, "give a number, or min and max"),
        ({"words": {"max": 1.5}}, "min and max are whole numbers"),
        ({"words": {"min": 5, "max": 3}}, "words: min 5 is above max 3"),
        ({"labels": ["spam"]}, 'labels: is ["spam"], not a list of texts, 2 at least'),
        ({"labels": [1, 2]}, "put numbers, true and false between quotes"),
        ({"labels": {"one_of": ["a", "b"], "case": "any"}}, "labels: case: is 'any', not one of exact, ignore"),
        ({"labels": {"of": ["a", "b"]}}, "labels: is"),
        ({"json": "list"}, "json: is 'list', not one of any, object"),
        ({"json": "schema"}, "json: schema needs a prompt file that has a schema"),
        ({"number": 3}, "number: is 3; it takes min, max, integer"),
        ({"number": {"min": "1"}}, "number: min and max are numbers"),
        ({"number": {"min": 3, "max": 1}}, "number: min 3 is above max 1"),
        ({"number": {"integer": 1}}, "number: integer: is 1, not true or false"),
        ({"case": "title"}, "case: is 'title', not one of lower, upper"),
        ({"language": "Klingon"}, "language: is 'Klingon', not one of English"),
        ({"contains": []}, "contains: is [], not a list of texts"),
        ({"starts_with": ["a"]}, 'starts_with: is ["a"], not a text'),
        ({"matches": "("}, "cannot be read"),
        ({"tags": ["p"]}, 'tags: is ["p"]; give tags, each with a number'),
        ({"tags_in": {"p": 1}}, "tags_in: p: is 1; give tags"),
        ({"closed_tags": False}, "closed_tags: is false; it can only be true"),
        ({"words": 3, "partial": "yes"}, "partial: is 'yes', not true or false"),
    ],
)
def test_what_is_no_check_is_refused_with_the_reason(said, told):
    with pytest.raises(ConfigError) as refused:
        explicit_check(said)
    assert told in str(refused.value)
