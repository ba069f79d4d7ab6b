"""The RAG example is what its README says it is."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "examples" / "rag"
KINDS = ("good", "wrong", "unsupported")


def rows(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def passage(path: Path) -> list[str]:
    """The paragraphs of a passage without its title."""
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")[1:]


PASSAGES = {path.stem: passage(path) for path in sorted((FOLDER / "passages").glob("*.md"))}
PARAGRAPHS = {paragraph for paragraphs in PASSAGES.values() for paragraph in paragraphs}
QUESTIONS = rows("questions.json")


def kind(row: dict[str, Any]) -> str:
    (found,) = (tag for tag in row["tags"] if tag in KINDS)
    return found


def test_every_context_is_a_paragraph_of_a_passage():
    assert not {context for row in QUESTIONS for context in row["contexts"]} - PARAGRAPHS


def test_every_passage_is_quoted():
    used = {context for row in QUESTIONS for context in row["contexts"]}
    assert [name for name, paragraphs in PASSAGES.items() if not used & set(paragraphs)] == []


@pytest.mark.parametrize("name", PASSAGES)
def test_a_passage_has_60_to_140_words_and_two_paragraphs(name):
    assert 60 <= sum(len(paragraph.split()) for paragraph in PASSAGES[name]) <= 140
    assert len(PASSAGES[name]) == 2


def test_there_are_enough_of_all():
    assert len(QUESTIONS) >= 48
    assert len(PASSAGES) >= 14


def test_ids_and_questions_are_used_once():
    for field in ("id", "question"):
        assert [value for value, n in Counter(row[field] for row in QUESTIONS).items() if n > 1] == []


def test_half_of_the_answers_are_good_a_quarter_wrong_a_quarter_unsupported():
    found = Counter(map(kind, QUESTIONS))
    share = {name: found[name] / len(QUESTIONS) for name in KINDS}
    assert share == pytest.approx({"good": 0.5, "wrong": 0.25, "unsupported": 0.25}, abs=0.05)


@pytest.mark.parametrize("row", QUESTIONS, ids=lambda row: row["id"])
def test_a_question_can_be_judged(row):
    for field in ("question", "reference_answer", "answer"):
        assert row[field].strip(), field
    assert 2 <= len(row["contexts"]) <= 4
    assert len(set(row["contexts"])) == len(row["contexts"])


@pytest.mark.parametrize("row", [row for row in QUESTIONS if kind(row) == "unsupported"], ids=lambda row: row["id"])
def test_the_made_up_sentences_stand_in_the_answer_and_in_no_context(row):
    assert row["unsupported_sentences"]
    for sentence in row["unsupported_sentences"]:
        assert sentence in row["answer"]
        assert not any(sentence in context for context in row["contexts"])
    assert row["answer"] not in row["unsupported_sentences"]


def test_only_unsupported_answers_list_made_up_sentences():
    assert [row["id"] for row in QUESTIONS if "unsupported_sentences" in row and kind(row) != "unsupported"] == []


@pytest.mark.parametrize("tag", ["number", "abbreviation", "url", "list", "off-topic-context"])
def test_a_form_that_trips_sentence_splitters_occurs_more_than_once(tag):
    assert sum(tag in row["tags"] for row in QUESTIONS) >= 2


def test_off_topic_contexts_come_from_other_passages():
    home = {"library-2": "library-isbn", "fridge-3": "fridge", "outdoors-2": "maps"}
    off_topic = {row["id"]: row["contexts"] for row in QUESTIONS if "off-topic-context" in row["tags"]}
    assert set(off_topic) == set(home)
    assert [i for i, contexts in off_topic.items() if set(contexts) & set(PASSAGES[home[i]])] == []


def test_the_awkward_rows_hold_every_state_once():
    awkward = rows("awkward.json")
    assert len({row["id"] for row in awkward}) == len(awkward)
    tags = Counter(tag for row in awkward for tag in row["tags"])
    assert {"no-contexts", "blank-context", "empty-answer", "punctuation-only", "no-reference"} <= set(tags)
    assert any("contexts" not in row for row in awkward)
    assert any(row.get("contexts") == [] for row in awkward)
    assert any(row["answer"] == "" for row in awkward)
    assert not {row["id"] for row in awkward} & {row["id"] for row in QUESTIONS}
