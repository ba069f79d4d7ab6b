"""Conditions choose the cases they say, and words that are no condition are refused."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case
from evalmark.errors import ConfigError
from evalmark.inputs.datasets.case_filter import parse_filter

CASE = Case(
    id="refund-7",
    input="How do I get\nmy money back? [urgent]",
    tags=("geo", "slow path"),
    metadata={
        "level": "easy",
        "langs": ["de", "fr"],
        "source": {"file": "a.csv", "row": 7, "checked": True, "parts": {"kind": "x"}},
        "a.b": "dotted",
        "a": {"b": "never seen", "c": {"d": 1.5}},
        "empty": None,
        "note": "",
    },
)
WORDS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\u0300"), min_size=1, max_size=8)
PATTERNS = st.text(alphabet="ab*?[]!-=.é\n", max_size=8)
CONDITIONS = st.builds(
    lambda field, sign, pattern: f"{field}{sign}{pattern}",
    st.sampled_from(["id", "tag", "dataset", "input", "metadata.k", "metadata.k.l"]),
    st.sampled_from(["=", "!="]),
    PATTERNS.filter(lambda pattern: not pattern.startswith("=")),
)
CASES = st.builds(
    Case,
    id=WORDS,
    input=st.one_of(st.none(), WORDS, st.lists(WORDS, max_size=2)),
    tags=st.lists(WORDS, max_size=2).map(tuple),
    metadata=st.dictionaries(st.sampled_from(["k", "k.l", "m"]), WORDS | st.dictionaries(st.just("l"), WORDS)),
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("id=refund-7", True, id="the id"),
        pytest.param("id=refund", False, id="a pattern fits the whole id"),
        pytest.param("id=refund-*", True, id="the start of the id"),
        pytest.param("id=refund-?", True, id="one letter left open"),
        pytest.param("id=refund-[0-6]", False, id="a digit out of some"),
        pytest.param("id=Refund-*", False, id="capital letters differ"),
        pytest.param("id!=refund-*", False, id="not this start"),
        pytest.param("id!=old-*", True, id="not another start"),
        pytest.param("fund-", True, id="a part of the id"),
        pytest.param("Fund", False, id="no part of the id"),
        pytest.param("re*7", False, id="a star in a part of the id is a star"),
        pytest.param("tag=geo", True, id="one of the tags"),
        pytest.param("tag=slow", False, id="half a tag"),
        pytest.param("tag=slow*", True, id="the start of a tag"),
        pytest.param("tag!=geo", False, id="none of the tags may be this one"),
        pytest.param("tag!=fast", True, id="none of the tags is"),
        pytest.param("dataset=spring", True, id="the dataset"),
        pytest.param("dataset!=s*", False, id="not a dataset of this start"),
        pytest.param("input=*money*", True, id="a part of the input"),
        pytest.param("input=How*back?*", True, id="a star runs over the end of a line"),
        pytest.param("input=*[[]urgent]", True, id="a bracket in brackets is a bracket"),
        pytest.param("input=money", False, id="a pattern fits the whole input"),
        pytest.param("metadata.level=easy", True, id="a text in the metadata"),
        pytest.param("metadata.level!=easy", False, id="not this text in the metadata"),
        pytest.param("metadata.langs=fr", True, id="one of a list"),
        pytest.param("metadata.langs=en", False, id="none of a list"),
        pytest.param("metadata.source.file=*.csv", True, id="below a key"),
        pytest.param("metadata.source.row=7", True, id="a number as it is written"),
        pytest.param("metadata.source.checked=true", True, id="a truth value as JSON writes it"),
        pytest.param("metadata.source.parts.kind=x", True, id="two keys down"),
        pytest.param("metadata.source=x", True, id="anything in a mapping"),
        pytest.param("metadata.source.*=7", False, id="a star is no key"),
        pytest.param("metadata.a.b=dotted", True, id="a key that has a dot itself"),
        pytest.param("metadata.a.c.d=1.5", True, id="a dot leads down all the same"),
        pytest.param("metadata.nope=*", False, id="a key that is not there"),
        pytest.param("metadata.nope!=*", True, id="what is not there fits nothing"),
        pytest.param("metadata.level.x=easy", False, id="nothing lies below a text"),
        pytest.param("metadata.empty=*", False, id="null holds no text"),
        pytest.param("metadata.note=", True, id="an empty text"),
        pytest.param(" tag =geo", True, id="spaces around the field"),
    ],
)
def test_a_condition_is_true_of_a_case_or_not(text, wanted):
    assert parse_filter([text])(CASE, "spring") is wanted


@pytest.mark.parametrize(
    ("question", "text", "wanted"),
    [
        pytest.param({"q": "hello", "n": 3}, "input=hello", True, id="one of several variables"),
        pytest.param({"q": "hello", "n": 3}, "input=q", False, id="the name of a variable is no input"),
        pytest.param([{"role": "user", "content": "hi"}], "input=hi", True, id="a message"),
        pytest.param(None, "input=*", False, id="no input"),
        pytest.param(None, "input!=*", True, id="no input fits nothing"),
        pytest.param("cafe\u0301", "input=café", True, id="an accent written in two pieces"),
        pytest.param("café", "input=cafe\u0301", True, id="an accent asked for in two pieces"),
    ],
)
def test_an_input_may_hold_several_texts(question, text, wanted):
    assert parse_filter([text])(Case(id="1", input=question), "d") is wanted


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        pytest.param("53383426a9b2", "Peru", True, id="of a made id the input is looked at too"),
        pytest.param("53383426a9b2-2", "Peru", True, id="and of its twin"),
        pytest.param("53383426a9b2", "83426", True, id="a part of a made id"),
        pytest.param("53383426a9b2", "id=*Peru*", False, id="the field id is the id alone"),
        pytest.param("geo-1", "Peru", False, id="an id that somebody gave says enough"),
        pytest.param("53383426A9B2", "Peru", False, id="capital letters are in no made id"),
    ],
)
def test_a_word_is_a_part_of_the_id_or_of_the_input_where_nobody_gave_an_id(name, text, wanted):
    assert parse_filter([text])(Case(id=name, input="Capital of Peru?"), "d") is wanted


def test_without_conditions_every_case_is_wanted():
    assert parse_filter([])(CASE, "spring")


def test_every_condition_has_to_be_true():
    assert parse_filter(["tag=geo", "tag=slow*", "dataset=spring"])(CASE, "spring")
    assert not parse_filter(["tag=geo", "tag=fast"])(CASE, "spring")


def test_a_filter_knows_its_words():
    assert parse_filter(["tag=geo", "refund"]).texts == ("tag=geo", "refund")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "the condition is empty; write FIELD=PATTERN, or a part of the id.", id="nothing"),
        pytest.param(" ", "the condition is empty;", id="a space"),
        pytest.param("=x", "there is no field ''; known are id, tag, dataset, input, metadata.KEY.", id="no field"),
        pytest.param("colour=red", "there is no field 'colour'; known are id, tag, dataset,", id="no field of a case"),
        pytest.param("mode=x", "there is no field 'mode'; known are", id="what belongs to a trial"),
        pytest.param("tags=x", "there is no field 'tags'; did you mean tag?", id="several tags"),
        pytest.param("ID=x", "there is no field 'ID'; did you mean id?", id="capital letters"),
        pytest.param("metadata=x", "name the key whose value counts, as metadata.KEY=PATTERN.", id="no key"),
        pytest.param("metadata.=x", "name the key whose value counts,", id="an empty key"),
        pytest.param("id==x", "one = is enough: id=x.", id="as in a program"),
    ],
)
def test_what_is_no_condition_is_refused(text, told):
    with pytest.raises(ConfigError) as refused:
        parse_filter([text])
    assert str(refused.value).startswith(f"--filter {text!r}: {told}")


def test_all_faults_are_named_at_once():
    with pytest.raises(ConfigError) as refused:
        parse_filter(["tag=x", "colour=red", ""])
    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == ["--filter 'colour=red'", "--filter ''"]


@given(st.lists(CONDITIONS, max_size=3), CASES)
def test_a_filter_is_the_and_of_its_conditions_in_any_order(texts, case):
    alone = [parse_filter([text])(case, "d") for text in texts]
    assert parse_filter(texts)(case, "d") is all(alone)
    assert parse_filter(texts[::-1])(case, "d") is all(alone)


@given(CONDITIONS.filter(lambda text: "!=" not in text), CASES)
def test_not_turns_a_condition_round(text, case):
    negated = text.replace("=", "!=", 1)
    assert parse_filter([text])(case, "d") is not parse_filter([negated])(case, "d")


@given(WORDS.filter(lambda word: "=" not in word and word.strip()), CASES)
def test_a_bare_word_is_a_part_of_the_id(word, case):
    assert parse_filter([word])(case, "d") is (word in case.id)


@given(PATTERNS.filter(lambda pattern: not pattern.startswith("=")), st.text(alphabet="ab[]-.", min_size=1, max_size=4))
def test_patterns_are_those_of_file_names(pattern, name):
    assert parse_filter([f"id={pattern}"])(Case(id=name), "d") is fnmatchcase(name, pattern)


@given(st.text(max_size=12), CASES)
def test_any_text_is_a_condition_or_refused_in_a_sentence(text, case):
    try:
        told: bool | str = parse_filter([text])(case, "d")
    except ConfigError as refused:
        told = str(refused)
    assert isinstance(told, bool) or (told.startswith("--filter ") and told.endswith((".", "?")))
