"""The six checks one by one, what they are told, and what they refuse."""

import inspect
import logging
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import ConfigError
from evalmark.quality import QualityRules, assess_answer
from evalmark.scoring.builtin.answer_quality import LIST_TRIGGERS

NO_LIST = "Missing structured list format for a list-style question."
UNCITED = "Missing citations."


def issues(**changed):
    """What is wrong with a good answer after these changes."""
    asked = {"question": "Is it so?", "answer": "Yes [1].", "contexts": ["One.", "Two."], **changed}
    found = assess_answer(**asked)
    assert found["is_good_enough"] is (found["issues"] == [])
    return found["issues"]


def test_the_signature_is_the_one_that_users_know():
    names = list(inspect.signature(assess_answer).parameters)
    assert names == ["question", "answer", "contexts", "run_id", "retrieval_scores", "rules", "strict_compat"]
    assert list(assess_answer("Is it so?", "Yes [1].", ["One."], "r1", [0.5])) == ["is_good_enough", "issues"]


def test_every_check_can_fail_and_they_come_in_order():
    answer = "Unable to generate [3]"
    found = issues(question="List them", answer=answer, contexts=[], retrieval_scores=[0.1, 0.2])
    assert found == [
        "No supporting context retrieved.",
        "Citation out of range: [3] (contexts: 0)",
        "Answer contains fallback phrase: 'Unable to generate'",
        "Low retrieval relevance (avg: 0.150 < 0.25)",
        NO_LIST,
    ]
    assert issues(answer=" \n") == ["Answer is empty.", UNCITED]


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        pytest.param("Yes [1] [2].", [], id="two citations that lead somewhere"),
        pytest.param("Yes[1].", [], id="no blank before a citation"),
        pytest.param("Yes [^2].", [], id="a footnote"),
        pytest.param("Yes [ 1 ].", [], id="blanks inside"),
        pytest.param("Yes [1, 2].", [], id="two in one pair of brackets"),
        pytest.param("Yes [1–2].", [], id="a range"),  # noqa: RUF001  the dash is what is tested
        pytest.param("是 [1、2]。", [], id="a comma of Chinese"),
        pytest.param("Yes [1](https://example.org).", [], id="a link whose text is the number"),
        pytest.param("Yes [٢].", [], id="a digit of Arabic"),
        pytest.param("Yes [01].", [], id="a number with a leading zero"),
        pytest.param("Yes [0].", ["Citation out of range: [0] (contexts: 2)"], id="they are numbered from 1"),
        pytest.param("Yes [3].", ["Citation out of range: [3] (contexts: 2)"], id="one too many"),
        pytest.param("Yes [1-3].", ["Citation out of range: [3] (contexts: 2)"], id="a range that ends too late"),
        pytest.param(
            "Yes [1] [7], no [9, 7].", ["Citations out of range: [7], [9] (contexts: 2)"], id="each is named once"
        ),
        pytest.param(
            "".join(f"[{n}]" for n in range(1, 10)),
            ["Citations out of range: [3], [4], [5], [6], [7] and 2 more (contexts: 2)"],
            id="five are named and the others counted",
        ),
        pytest.param(
            f"[{'9' * 5000}]", ["Citation out of range: [999999999…] (contexts: 2)"], id="a number of 5,000 digits"
        ),
        pytest.param("Yes.", [UNCITED], id="none"),
        pytest.param("Yes [-1].", [UNCITED], id="a negative number cites nothing"),
        pytest.param("Yes [1.5].", [UNCITED], id="a fraction cites nothing"),
        pytest.param("Yes [].", [UNCITED], id="empty brackets"),
        pytest.param("Yes [1", [UNCITED], id="a bracket that stays open"),
        pytest.param("Yes [a].", [UNCITED], id="a letter"),
        pytest.param("Take `rows[1]`.", [UNCITED], id="code on a line cites nothing"),
        pytest.param("```\nrows[1]\n```", [UNCITED], id="a block of code cites nothing"),
        pytest.param("```\nrows[1]", [UNCITED], id="nor does one that is not closed"),
        pytest.param("Take `rows[9]` [1].", [], id="the index in code is no citation out of range"),
        pytest.param("Don`t [1].", [], id="one backtick begins no code"),
    ],
)
def test_citations_lead_to_contexts(answer, wanted):
    assert issues(answer=answer) == wanted


@pytest.mark.parametrize(
    ("answer", "phrase"),
    [
        pytest.param("I was UNABLE TO GENERATE this [1].", "Unable to generate", id="capitals count as small letters"),
        pytest.param("We could not find relevant information [1]", "could not find relevant information", id="inside"),
        pytest.param("No sufficient context. No context retrieved. [1]", "No context retrieved", id="the first listed"),
        pytest.param("Could not find it [1].", None, id="half a phrase is none"),
    ],
)
def test_a_phrase_that_gives_up_is_named(answer, phrase):
    assert issues(answer=answer) == ([f"Answer contains fallback phrase: '{phrase}'"] if phrase else [])


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        pytest.param(None, [], id="no scores"),
        pytest.param([], [], id="an empty list"),
        pytest.param([0.25], [], id="exactly enough"),
        pytest.param([0.1, 0.4], [], id="the mean counts, not the worst"),
        pytest.param([0], ["Low retrieval relevance (avg: 0.000 < 0.25)"], id="a zero is a score"),
        pytest.param((n / 10 for n in (1, 2)), ["Low retrieval relevance (avg: 0.150 < 0.25)"], id="a generator"),
        pytest.param(np.array([0.1, 0.2]), ["Low retrieval relevance (avg: 0.150 < 0.25)"], id="an array"),
        pytest.param(np.array([0.5], dtype=np.float32), [], id="single precision"),
        pytest.param([1e308, 1e308], [], id="a sum beyond a float"),
        pytest.param([0.9, 0.9, 0.9], [], id="more scores than contexts"),
    ],
)
def test_the_mean_of_the_retrieval_scores(scores, wanted):
    assert issues(retrieval_scores=scores) == wanted


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        *(pytest.param(f"The {word} of ferries?", True, id=f"the word {word}") for word in LIST_TRIGGERS),
        pytest.param("LIST them", True, id="capitals"),
        pytest.param("The top-10 ferries?", True, id="top-10 asks for a list"),
        pytest.param("Today's ferries?", True, id="today's"),
        pytest.param("(list)", True, id="in brackets"),
        pytest.param("Does it stop?", False, id="stop is not top"),
        pytest.param("Who listens?", False, id="listens is not list"),
        pytest.param("A waterfall?", False, id="waterfall is not fall"),
        pytest.param("A desk-top?", False, id="the second half of a hyphenated word"),
        pytest.param("A table-like thing?", False, id="the first half of a hyphenated word"),
        pytest.param("", False, id="no question"),
    ],
)
def test_a_whole_word_asks_for_a_list(question, asks):
    assert issues(question=question) == ([NO_LIST] if asks else [])


@pytest.mark.parametrize(
    ("answer", "is_list"),
    [
        pytest.param("- Oslo\n- Moss", True, id="hyphens"),
        pytest.param("* Oslo\n* Moss", True, id="stars"),
        pytest.param("•Oslo", True, id="a bullet without a blank"),
        pytest.param("-Oslo", True, id="a hyphen without a blank"),
        pytest.param("*Oslo", True, id="a star without a blank"),
        pytest.param("1. Oslo", True, id="a number and a full stop"),
        pytest.param("12) Oslo", True, id="a number and a bracket"),
        pytest.param("Ferries:\r\n\r\n   - Oslo", True, id="indented, after a sentence, with line ends of Windows"),
        pytest.param("* *Oslo* and *Moss*", True, id="an item that begins with emphasis"),
        pytest.param("| from | to |\n|---|---|", True, id="a table"),
        pytest.param("a well-known port", False, id="a hyphenated word"),
        pytest.param("Oslo - the capital", False, id="a dash inside a sentence"),
        pytest.param("It is 21. Really", False, id="a number that ends a sentence"),
        pytest.param("1.5 million", False, id="a fraction at the start"),
        pytest.param("-5 degrees", False, id="a negative number at the start"),
        pytest.param("---\nOslo", False, id="a rule"),
        pytest.param("**Oslo** is it", False, id="bold"),
        pytest.param("*Oslo* is it", False, id="emphasis"),
        pytest.param("Oslo, Moss", False, id="commas"),
    ],
)
def test_a_line_that_begins_as_an_item_makes_a_list(answer, is_list):
    assert issues(question="The ferries today?", answer=f"{answer}\nas said [1]") == ([] if is_list else [NO_LIST])


def test_the_rules_can_be_others():
    rules = QualityRules(min_relevance=0.6, fallback_phrases=["no idea"], list_triggers=["Welche", "c++"])
    assert issues(rules=rules, retrieval_scores=[0.5]) == ["Low retrieval relevance (avg: 0.500 < 0.6)"]
    assert issues(rules=rules, answer="No idea [1].") == ["Answer contains fallback phrase: 'no idea'"]
    assert issues(rules=rules, answer="Unable to generate [1].") == []
    assert issues(rules=rules, question="welche?") == [NO_LIST]
    assert issues(rules=rules, question="Why C++?") == [NO_LIST]
    assert issues(rules=rules, question="List them") == []


def test_a_check_with_an_empty_list_is_off():
    rules = QualityRules(fallback_phrases=(), list_triggers=())
    assert issues(rules=rules, question="List them", answer="Unable to generate [1]") == []


@dataclass
class Chunk:
    id: str
    text: str


@pytest.mark.parametrize(
    ("contexts", "wanted"),
    [
        pytest.param(["One."], [], id="texts"),
        pytest.param([Chunk("a", "One.")], [], id="objects with a text"),
        pytest.param((Chunk("a", "One."), "Two."), [], id="both"),
        pytest.param(["One.", ""], [], id="one of two is blank"),
        pytest.param((text for text in ["One."]), [], id="a generator"),
        pytest.param([], ["No supporting context retrieved.", "Citation out of range: [1] (contexts: 0)"], id="none"),
        pytest.param(None, ["No supporting context retrieved.", "Citation out of range: [1] (contexts: 0)"], id="None"),
        pytest.param([Chunk("a", " ")], ["No supporting context retrieved."], id="an object with a blank text"),
    ],
)
def test_contexts_are_texts_or_objects_with_one(contexts, wanted):
    assert issues(contexts=contexts) == wanted


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param({"answer": None}, "answer is None; pass a text, or '' if there is none.", id="no answer"),
        pytest.param({"answer": 7}, "answer is 7; pass a text, or '' if there is none.", id="a number"),
        pytest.param({"answer": b"Yes"}, "answer is of type bytes; pass a text", id="bytes"),
        pytest.param({"question": ["Is", "it"]}, "question is of type list; pass a text", id="a list of questions"),
        pytest.param(
            {"contexts": "One."}, "contexts is a single text; pass a list of texts.", id="one text as contexts"
        ),
        pytest.param({"contexts": 3}, "contexts is 3; pass a list of texts.", id="a number as contexts"),
        pytest.param({"contexts": {"a": "One."}}, "contexts is of type dict; pass a list", id="a mapping as contexts"),
        pytest.param({"contexts": ["One.", None]}, "contexts[1] is None; pass a text, or an object", id="no context"),
        pytest.param(
            {"contexts": [SimpleNamespace(text=5)]}, "contexts[0] is of type SimpleNamespace", id="a text that is none"
        ),
        pytest.param(
            {"retrieval_scores": [0.5, float("nan")]},
            "retrieval_scores[1] is nan; it has to be a finite number.",
            id="NaN among the scores",
        ),
        pytest.param({"retrieval_scores": [float("inf")]}, "retrieval_scores[0] is inf;", id="an infinite score"),
        pytest.param({"retrieval_scores": ["0.5"]}, "retrieval_scores[0] is '0.5';", id="a text as a score"),
        pytest.param({"retrieval_scores": [True]}, "retrieval_scores[0] is True;", id="a truth value as a score"),
        pytest.param(
            {"retrieval_scores": [10**5000]},
            "retrieval_scores[0] is a whole number that no float holds;",
            id="a score of 5,001 digits",
        ),
        pytest.param({"retrieval_scores": 0.5}, "retrieval_scores is 0.5; pass a list of numbers.", id="one score"),
        pytest.param({"retrieval_scores": "0.5"}, "retrieval_scores is '0.5'; pass a list", id="a text as scores"),
        pytest.param(
            {"rules": {"min_relevance": 0.3}}, "rules is of type dict; pass a QualityRules object", id="no rules"
        ),
    ],
)
@pytest.mark.parametrize("strict_compat", [False, True])
def test_what_cannot_be_used_is_refused_in_a_sentence(changed, message, strict_compat):
    with pytest.raises(ConfigError) as refused:
        issues(**changed, strict_compat=strict_compat)
    assert str(refused.value).startswith(message)


def test_all_faults_are_named_at_once():
    with pytest.raises(ConfigError) as refused:
        issues(question=None, answer=None, contexts=[1], retrieval_scores=[None])
    assert len(str(refused.value).splitlines()) == 4


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        pytest.param("min_relevance", float("nan"), id="NaN is no limit"),
        pytest.param("min_relevance", "0.5", id="a text is no limit"),
        pytest.param("fallback_phrases", "sorry", id="one phrase is no list"),
        pytest.param("fallback_phrases", [""], id="an empty phrase would be in every answer"),
        pytest.param("list_triggers", ["top", " "], id="a blank word"),
        pytest.param("list_triggers", [5], id="a number is no word"),
        pytest.param("list_triggers", None, id="None is no list"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(setting, value):
    with pytest.raises(ConfigError, match=f"quality: `{setting}` is .*; it has to be "):
        QualityRules(**{setting: value})


def test_the_log_has_the_run_the_figures_and_the_issues_and_no_text_of_a_user(caplog):
    with caplog.at_level(logging.DEBUG, logger="evalmark.quality"):
        assess_answer("SECRET question", "SECRET answer", ["SECRET context"], "run\n7", [0.1, 0.2])
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("evalmark.quality", "INFO")
    assert record.getMessage() == (
        "assess_answer run_id='run\\n7' question=15 characters, answer=13 characters, contexts=1, relevance=0.1500, "
        "issues=['Missing citations.', 'Low retrieval relevance (avg: 0.150 < 0.25)']"
    )


TEXT = st.text() | st.text(alphabet="[]0123456789^,-– `\n*•|.)top list", max_size=60)  # noqa: RUF001


@given(
    question=TEXT,
    answer=TEXT,
    contexts=st.lists(TEXT, max_size=4),
    scores=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    strict_compat=st.booleans(),
)
def test_any_text_is_assessed(question, answer, contexts, scores, strict_compat):
    found = assess_answer(question, answer, contexts, None, scores, strict_compat=strict_compat)
    assert found["is_good_enough"] is (found["issues"] == [])
    assert all(issue and "nan" not in issue for issue in found["issues"])
    assert found == assess_answer(question, answer, contexts, None, scores, strict_compat=strict_compat)


@given(cited=st.lists(st.integers(0, 30), min_size=1, max_size=6), contexts=st.integers(1, 20))
def test_an_answer_is_good_enough_when_every_citation_leads_to_a_context(cited, contexts):
    answer = "It is so " + "".join(f"[{number}]" for number in cited)
    found = assess_answer("Is it so?", answer, ["One."] * contexts)
    assert found["is_good_enough"] is all(1 <= number <= contexts for number in cited)
