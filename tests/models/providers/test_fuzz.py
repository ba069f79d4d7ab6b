"""Bodies that nobody thought of: each is a reply or a typed error, and nothing else comes out."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalmark.core.text import clean
from evalmark.core.values.call import Reply
from evalmark.core.values.plain_data import canonical
from evalmark.errors import ModelCallError
from evalmark.models.providers.endpoint import Endpoint
from evalmark.models.providers.openai import read_reply
from evalmark.models.providers.response import Response

from .wild import completion

ENDPOINT = Endpoint(
    name="openai/m", provider="openai", model="m", base_url="http://h/v1", key_variable="OPENAI_API_KEY"
)
FULL = completion(reasoning_content="Hm.", refusal=None) | {"system_fingerprint": "fp"}
FULL["choices"][0]["logprobs"] = {
    "content": [{"token": "N", "logprob": -0.1, "top_logprobs": [{"token": "N", "logprob": -0.1}]}]
}
FULL["choices"][0]["message"]["tool_calls"] = [{"id": "1", "function": {"name": "answer", "arguments": '{"a": 1}'}}]
FULL["usage"] |= {"prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 1}}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["message", "content", "error", "a", "code"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
forms = st.sampled_from(["", "schema", "tool", "text"])
statuses = st.sampled_from([200, 200, 200, 200, 201, 301, 400, 401, 404, 418, 429, 500, 599])
header_texts = st.text(st.characters(codec=None, exclude_characters="\r\n"), max_size=20)
headers = st.dictionaries(
    st.sampled_from(["retry-after", "date", "x-request-id", "x-ratelimit-reset-tokens"]), header_texts
)


def places(value, path=()):
    """Every place in a value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


PLACES = list(places(FULL))


def changed(path, value):
    """The full completion with something else in one place."""
    if not path:
        return value
    whole = copy.deepcopy(FULL)
    part = whole
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return whole


def check(body, form, status=200, headers=None):
    """A reply or a typed error, and either can be written down."""
    try:
        found = read_reply(Response(status, headers or {}, body, 0.1), ENDPOINT, form)
    except ModelCallError as error:
        found = error
    if isinstance(found, Reply):
        assert canonical(found).isascii()
        assert isinstance(found.text, str)
        assert all(
            count is None or 0 <= count <= 10**9 for count in (found.usage.input_tokens, found.usage.output_tokens)
        )
        assert found.data is None or isinstance(found.data, dict)
    else:
        (attempt,) = found.attempts
        assert found.fault in ("transient", "rejected", "closed")
        assert clean(str(found)) == str(found)  # letters for private use may stand
        assert "\n" not in str(found)
        assert len(str(found)) < 600
        assert len(attempt.body) <= 4_096
        assert (attempt.status, attempt.error) == (status, str(found))


def one_change(examples):
    return settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(st.sampled_from(PLACES), values, forms, statuses, headers)
@one_change(300)
def test_a_completion_with_something_else_in_one_place(path, value, form, status, headers):
    check(json.dumps(changed(path, value)).encode(), form, status, headers)


@pytest.mark.sweep
@given(st.sampled_from(PLACES), values, forms, statuses, headers)
@one_change(10_000)
def test_ten_thousand_completions_with_something_else_in_one_place(path, value, form, status, headers):
    check(json.dumps(changed(path, value)).encode(), form, status, headers)


WHOLE = json.dumps(FULL).encode()
spans = st.tuples(st.integers(0, len(WHOLE)), st.integers(0, 20))


@given(spans, st.binary(max_size=8), forms, statuses)
@one_change(300)
def test_a_completion_with_other_bytes_in_one_place(span, other, form, status):
    start, length = span
    check(WHOLE[:start] + other + WHOLE[start + length :], form, status)


@pytest.mark.sweep
@given(spans, st.binary(max_size=8), forms, statuses)
@one_change(10_000)
def test_ten_thousand_completions_with_other_bytes_in_one_place(span, other, form, status):
    start, length = span
    check(WHOLE[:start] + other + WHOLE[start + length :], form, status)


@given(st.binary(max_size=200), forms, statuses, headers)
@one_change(200)
def test_any_bytes(body, form, status, headers):
    check(body, form, status, headers)


@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, -(10**400), "", "x", [], [None], {}, {"a": 1}])
def test_each_place_of_a_completion_may_hold_anything(value):
    for path in PLACES:
        for form in ("", "tool"):
            check(json.dumps(changed(path, value)).encode(), form)
