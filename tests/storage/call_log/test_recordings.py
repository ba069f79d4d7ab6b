"""Recordings for people: by model, call by call, and which of them are forgotten."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from evalmark import Turn
from evalmark.core.values.call import Request
from evalmark.core.values.case import Usage
from evalmark.storage.call_log.recordings import ModelCallSummary

from .calls import MODEL, call, cut_off, failed, key, reply, tool_call
from .conftest import find, keep

EVERYWHERE = True

OTHER = {"model": "other/model", "identity": "other"}


@pytest.fixture
def recorded(store):
    """Five calls of two models, two of which cannot be replayed."""
    keep(store, call(1), call(2), failed(3), cut_off(4))
    keep(store, call(5, reply=reply(5, usage=Usage(), cost=None), **OTHER))
    return store


def test_calls_are_counted_by_model(recorded):
    assert recorded.recordings.by_model() == [
        ModelCallSummary(
            model="other/model",
            calls=1,
            replayable=1,
            input_tokens=0,
            output_tokens=0,
            unknown_usage=1,
            cost=None,
            unknown_cost=1,
            newest="2026-11-21T14:32:05Z",
        ),
        ModelCallSummary(
            model=MODEL,
            calls=4,
            replayable=2,
            input_tokens=30,
            output_tokens=1 + 2 + 4,
            unknown_usage=0,
            cost=0.75,
            unknown_cost=0,
            newest="2026-11-21T14:32:04Z",
        ),
    ]


def test_counts_that_cannot_be_are_unknown_and_the_sums_stay_readable(store):
    absurd = Usage(input_tokens=2**62, output_tokens=2**62)
    keep(store, *(call(number, reply=reply(number, usage=absurd)) for number in (1, 2, 3)), call(4))
    (found,) = store.recordings.by_model()
    assert (found.calls, found.unknown_usage, found.input_tokens, found.output_tokens) == (4, 3, 10, 4)


def test_prices_are_told_by_key_and_what_is_not_known_is_never_0(recorded):
    recorded.tool_log().keep(tool_call(1))
    gone = "0" * 24 + "-0-0"
    keys = [key(1), key(3), key(5, "other"), tool_call(1).key, gone, "no key \ud800"]
    assert recorded.recordings.prices(keys) == {
        key(1): (MODEL, 0.25),
        key(3): (MODEL, None),
        key(5, "other"): ("other/model", None),
        gone: ("", None),
        "no key \ud800": ("", None),
    }
    assert recorded.recordings.prices([]) == {}
    assert len(recorded.recordings.prices([f"{n}" for n in range(1_201)])) == 1_201


def test_the_newest_calls_come_first(recorded):
    assert [recording.key for recording in recorded.recordings.newest()] == [
        key(5, "other"),
        *(key(number) for number in (4, 3, 2, 1)),
    ]
    assert [recording.key for recording in recorded.recordings.newest(limit=2)] == [key(5, "other"), key(4)]


def test_a_list_shows_what_was_asked_and_what_came_of_it(recorded):
    shown = {recording.key: recording for recording in recorded.recordings.newest()}
    assert shown[key(1)].words == "What is 1 squared?"
    assert (shown[key(1)].input_tokens, shown[key(1)].output_tokens, shown[key(1)].cost) == (10, 1, 0.25)
    assert [shown[key(number)].replayable for number in (1, 3, 4)] == [True, False, False]
    assert (shown[key(3)].error, shown[key(3)].cost) == ("answered 500", None)


def asked(number, question, answer, metric="Is it right?"):
    """A call of a judge, whose prompt begins and ends alike for all."""
    mark = f"{number:016x}"
    fenced = f'<data-{mark} name="input">\n{question}\n</data-{mark}>\n\n<data-{mark} name="output">\n{answer}\n</data-{mark}>'
    text = f"You judge by these words.\n{metric}\n\n{fenced}\n\nReply with JSON."
    return replace(call(number), request=Request(messages=(Turn(role="user", content=text),)))


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        pytest.param([asked(n, f"What is {n} + {n}?", f"It is {2 * n}.") for n in (1, 2, 3)], [f"What is {n} + {n}? It is {2 * n}." for n in (3, 2, 1)], id="a judge's calls"),
        pytest.param([asked(n, "What is 2 + 2?", f"It is {n}.") for n in (3, 4)], ["It is 4.", "It is 3."], id="answers to one question"),
        pytest.param([asked(n, f"What is {n // 2}?", "It is.", f"Metric {n % 2}") for n in range(2, 8)], [f"What is {n}?" for n in (3, 3, 2, 2, 1, 1)], id="calls of two metrics"),
        pytest.param([asked(1, "Why?", "So.")], ["You judge by these words. Is it right?"], id="one call"),
    ],
)  # fmt: skip
def test_a_list_shows_the_words_that_tell_calls_apart(store, calls, words):
    keep(store, *calls)
    assert [
        recording.words[: len(told)] for recording, told in zip(store.recordings.newest(), words, strict=True)
    ] == words


@pytest.mark.parametrize(
    ("match", "found"),
    [
        pytest.param("other/", [5], id="part of a model's name"),
        pytest.param("2 squared", [2], id="words that were asked"),
        pytest.param(key(3)[:10], [3], id="the start of a key"),
        pytest.param("content", [], id="a word of the JSON that nobody asked"),
        pytest.param("%", [], id="a wildcard is no wildcard"),
        pytest.param("\ud800", [], id="half a character"),
        pytest.param("Answer.", [5, 4, 3, 2, 1], id="words of the system message"),
    ],
)
def test_calls_are_found_by_model_key_and_words(recorded, match, found):
    assert [recording.key for recording in recorded.recordings.newest(match)] == [
        key(number, "other") if number == 5 else key(number) for number in found
    ]


@pytest.mark.parametrize(
    "text", [pytest.param("größer 日本 😀", id="beyond ASCII"), pytest.param('say "so"\n', id="quotes and line ends")]
)
def test_words_of_any_alphabet_are_found(store, text):
    made = call(1)
    asked = Request(messages=(Turn(role="user", content=f"It is {text} than that"),))
    keep(store, type(made)(**{**{f: getattr(made, f) for f in made.__slots__}, "request": asked}))
    assert len(store.recordings.newest(text)) == 1
    assert store.recordings.newest("smaller") == []


def test_a_call_is_given_whole_also_one_that_cannot_be_replayed(recorded):
    assert recorded.recordings.call(key(1)) == call(1)
    assert recorded.recordings.call(key(3)) == failed(3)
    assert recorded.recordings.call(key(4)) == cut_off(4)
    assert recorded.recordings.call("no such key") is None


@pytest.mark.parametrize(
    ("conditions", "left"),
    [
        pytest.param({}, [], id="all"),
        pytest.param({"model": MODEL}, [5], id="of one model"),
        pytest.param({"model": "test"}, [1, 2, 3, 4, 5], id="half a name is no model"),
        pytest.param({"failed_only": True}, [1, 2, 5], id="what cannot be replayed"),
        pytest.param({"older_than": datetime(2026, 11, 21, 14, 32, 3, tzinfo=UTC)}, [3, 4, 5], id="what is older"),
        pytest.param(
            {"older_than": datetime(2026, 11, 21, 16, 32, 3, tzinfo=timezone(timedelta(hours=2)))},
            [3, 4, 5],
            id="what is older, by another clock",
        ),
        pytest.param(
            {"model": MODEL, "failed_only": True, "older_than": datetime(2026, 11, 21, 14, 32, 4, tzinfo=UTC)},
            [1, 2, 4, 5],
            id="only where all conditions hold",
        ),
    ],
)
def test_what_is_cleared_is_what_all_conditions_hold_for(recorded, conditions, left):
    assert recorded.recordings.clear(**conditions) == 5 - len(left)
    assert sorted(recording.key for recording in recorded.recordings.newest()) == sorted(
        key(number, "other") if number == 5 else key(number) for number in left
    )


def test_a_call_without_a_date_is_never_too_old(store):
    keep(store, call(1, created=""))
    assert store.recordings.clear(older_than=datetime(2100, 1, 1, tzinfo=UTC)) == 0
    assert find(store, key(1)) is not None
