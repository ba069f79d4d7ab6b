"""Texts of a run that a function accepts: those that a word is searched in, and no others, in a file and on a server."""

import asyncio
import re
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.storage.queries.filter import ResultFilter
from tests.storage.store import sample

EVERYWHERE = True
ROWS = [
    {"case": {"input": "Where is my refund?"}},
    {"case": {"input": {"question": ["Where?", {"deep": "My Refund, please"}]}}},
    {"case": {"input": "Hello", "expected": "a refund"}, "output": Output(value="é refund \ud800 日本")},
    {"case": {"input": "Hello", "metadata": {"turns": 42, "done": True}}},
    {"scores": (Score(name="refund", value=0.5, reason="It never says money."),)},
    {"case": {"id": "refund-7"}},
]


@pytest.fixture
def filled(store):
    run = sample.run()
    store.start(run)
    results = []
    for number, row in enumerate(ROWS):
        case = Case(**{"id": f"case-{number}", "input": "Hi", **row.get("case", {})})
        trial = replace(sample.trials([case], 1)[0], position=number)
        results.append(
            Result(trial=trial, output=row.get("output", Output(value="Yes.")), scores=row.get("scores", ()))
        )
    asyncio.run(store.sink(run.id).write(results))
    store.finish(replace(run, status="complete"))
    return store, run.id


def positions(store, run, numbers):
    return sorted(store.browse(run).result(number).trial.position for number in numbers)


@pytest.mark.parametrize("word", ["refund", "money", "42", "日本", "Where", "nothing has it", "question", "Yes."])
def test_a_pattern_finds_what_the_same_word_finds(filled, word):
    store, run = filled
    pattern = re.compile(re.escape(word), re.IGNORECASE)
    found = store.search_texts(run, lambda text: pattern.search(text) is not None)
    by_word = store.browse(run).matching_numbers(ResultFilter(text=word))
    assert positions(store, run, found) == positions(store, run, by_word)
    assert (word in ("nothing has it", "question")) == (found == [])


def test_texts_are_read_in_batches_with_a_pause_before_each(filled, monkeypatch):
    monkeypatch.setattr("evalmark.storage.queries.search._BATCH", 4)
    store, run = filled
    pauses = []
    assert len(store.search_texts(run, lambda text: True, lambda: pauses.append(1))) == len(ROWS)
    assert len(pauses) == 2
