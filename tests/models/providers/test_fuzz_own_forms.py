"""The same for the forms of Anthropic and Gemini: whatever comes is a reply or a typed error."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.text import clean
from evalmark.core.values.call import Reply
from evalmark.core.values.plain_data import canonical
from evalmark.errors import ModelCallError
from evalmark.models.providers import anthropic, gemini
from evalmark.models.providers.endpoint import Endpoint
from evalmark.models.providers.response import Response

from .test_fuzz import forms, headers, one_change, places, statuses, values

MESSAGE = {
    "type": "message",
    "model": "m",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "text", "text": "North."},
        {"type": "tool_use", "id": "1", "name": "answer", "input": {"a": 1}},
    ],
    "stop_reason": "refusal",
    "stop_details": {"explanation": "No."},
    "usage": {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 4,
        "output_tokens_details": {"thinking_tokens": 1},
    },
}
CONTENT = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"text": "North."},
                    {"functionCall": {"name": "answer", "args": {"a": 1}}},
                ]
            },
            "finishReason": "STOP",
            "finishMessage": "fine",
            "logprobsResult": {
                "chosenCandidates": [{"token": "N", "logProbability": -0.1}],
                "topCandidates": [{"candidates": [{"token": "N", "logProbability": -0.1}]}],
            },
        }
    ],
    "promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "No."},
    "usageMetadata": {
        "promptTokenCount": 1,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 1,
    },
    "modelVersion": "m",
}
READERS = {
    "anthropic": (anthropic.read_reply, MESSAGE),
    "gemini": (gemini.read_reply, CONTENT),
}
changes = st.one_of(*(st.tuples(st.just(name), st.sampled_from(list(places(READERS[name][1])))) for name in READERS))


def changed(whole, path, value):
    """The full reply with something else in one place."""
    if not path:
        return value
    whole = copy.deepcopy(whole)
    part = whole
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return whole


def check(provider, body, form, status=200, headers=None):
    endpoint = Endpoint(name=f"{provider}/m", provider=provider, model="m", base_url="http://h", key_variable="KEY")
    read, _ = READERS[provider]
    try:
        found = read(Response(status, headers or {}, body, 0.1), endpoint, form)
    except ModelCallError as error:
        found = error
    if isinstance(found, ModelCallError):
        (attempt,) = found.attempts
        assert clean(str(found)) == str(found)  # letters for private use may stand
        assert "\n" not in str(found)
        assert (attempt.status, attempt.error) == (status, str(found))
        return
    assert isinstance(found, Reply)
    assert canonical(found).isascii()
    assert all(isinstance(text, str) for text in (found.text, found.reasoning, found.model))
    assert found.data is None or isinstance(found.data, dict)
    counts = (found.usage.input_tokens, found.usage.output_tokens, found.usage.cached_tokens)
    assert all(count is None or 0 <= count <= 4 * 10**9 for count in counts)


@given(changes, values, forms, statuses, headers)
@one_change(400)
def test_a_reply_with_something_else_in_one_place(change, value, form, status, headers):
    provider, path = change
    check(provider, json.dumps(changed(READERS[provider][1], path, value)).encode(), form, status, headers)


@pytest.mark.sweep
@given(changes, values, forms, statuses, headers)
@one_change(10_000)
def test_ten_thousand_replies_with_something_else_in_one_place(change, value, form, status, headers):
    provider, path = change
    check(provider, json.dumps(changed(READERS[provider][1], path, value)).encode(), form, status, headers)


@pytest.mark.parametrize("provider", READERS)
@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, -(10**400), "", "x", [], [None], {}, {"a": 1}])
def test_each_place_of_a_reply_may_hold_anything(provider, value):
    whole = READERS[provider][1]
    for path in places(whole):
        for form in ("", "tool"):
            check(provider, json.dumps(changed(whole, path, value)).encode(), form)
