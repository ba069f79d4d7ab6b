"""Different requests have different keys, and the same request always the same one."""

import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Turn
from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.values.call import KEY_VERSION, Request
from evalmark.core.values.plain_data import canonical, fingerprint
from evalmark.models.middleware.keyed_request import plain_request, with_key

BASE = Request(
    messages=(Turn(role="system", content="Answer in one word."), Turn(role="user", content="The capital of Norway?")),
    schema={"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
    settings={"temperature": 0, "max_tokens": 100, "stop": ["\n"]},
)


def with_user(text) -> Request:
    return replace(BASE, messages=(BASE.messages[0], Turn(role="user", content=text)))


NEAR = [
    pytest.param(with_user("The capital of Norway? "), id="a space at the end"),
    pytest.param(with_user("The capital of Norway?\x00"), id="a zero byte at the end"),
    pytest.param(with_user("The capital of Norway\uff1f"), id="another question mark"),
    pytest.param(with_user("Th\u0435 capital of Norway?"), id="a letter of another script"),
    pytest.param(with_user(["The capital of Norway?"]), id="a list of one text"),
    pytest.param(with_user({"text": "The capital of Norway?"}), id="an object"),
    pytest.param(replace(BASE, messages=BASE.messages[::-1]), id="another order"),
    pytest.param(replace(BASE, messages=BASE.messages[1:]), id="a message less"),
    pytest.param(
        replace(BASE, messages=(Turn(role="user", content="Answer in one word."), BASE.messages[1])), id="another role"
    ),
    pytest.param(
        replace(
            BASE,
            messages=(
                Turn(role="system", content="Answer in one word.The"),
                Turn(role="user", content=" capital of Norway?"),
            ),
        ),
        id="the same text, cut elsewhere",
    ),
    pytest.param(replace(BASE, schema=None), id="no schema"),
    pytest.param(replace(BASE, schema={}), id="an empty schema"),
    pytest.param(replace(BASE, schema={**BASE.schema, "required": []}), id="a schema that requires less"),
    pytest.param(replace(BASE, settings={}), id="no settings"),
    pytest.param(replace(BASE, settings={**BASE.settings, "temperature": False}), id="false for 0"),
    pytest.param(replace(BASE, settings={**BASE.settings, "temperature": "0"}), id="a text for 0"),
    pytest.param(replace(BASE, settings={**BASE.settings, "seed": 0}), id="a seed"),
    pytest.param(replace(BASE, settings={**BASE.settings, "tools": [{"name": "look_up"}]}), id="tools"),
    pytest.param(replace(BASE, logprobs=1), id="log probabilities"),
]


@pytest.mark.parametrize("other", NEAR)
def test_a_request_that_is_nearly_the_same_has_another_key(other):
    assert other.key("m") != BASE.key("m")


def test_all_of_these_differ_from_each_other():
    requests = [BASE, *(row.values[0] for row in NEAR)]
    assert len({request.hash for request in requests}) == len(requests)


def test_the_place_in_the_trial_and_the_model_are_part_of_the_key():
    keys = {
        BASE.key(identity, repeat, use)
        for identity in ("a", "a/", "a/b", "a@http://one", "a@http://two", "")
        for repeat in (0, 1, 11)
        for use in (0, 1, 11)
    }
    assert len(keys) == 6 * 3 * 3


def test_the_order_in_which_settings_are_written_is_not():
    same = replace(BASE, settings=dict(reversed(BASE.settings.items())), schema=dict(reversed(BASE.schema.items())))
    assert same.key("m") == BASE.key("m")


def test_a_key_is_the_same_in_every_process():
    program = f"""
from evalmark.core.values.call import Request
from evalmark import Turn
from evalmark.core.values.plain_data import canonical, fingerprint
from evalmark.core.values.call import KEY_VERSION
print({BASE!r}.key("openai/gpt-4o-mini@https://api.openai.com/v1", 2, 1))
"""
    keys = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert keys == {BASE.key("openai/gpt-4o-mini@https://api.openai.com/v1", 2, 1)}


def near(number: int) -> Iterator[tuple[Request, Request]]:
    """Pairs of requests that differ in one small thing, drawn anew."""
    draw = random.Random(18)  # noqa: S311
    letters = 'ab é\u0301\u200b日\n"\\,:[]{}0\x00'
    for _ in range(number):
        text = "".join(draw.choices(letters, k=draw.randint(1, 12)))
        first = Request(messages=(Turn(role="user", content=text),), settings={"seed": draw.randint(0, 9)})
        yield first, _changed(first, text, draw, letters)


def _changed(request: Request, text: str, draw: random.Random, letters: str) -> Request:
    place, kind = draw.randint(0, len(text) - 1), draw.randint(0, 5)
    if kind == 0:
        return replace(request, settings={"seed": request.settings["seed"] + 10})
    if kind == 1:
        return replace(request, messages=(Turn(role="assistant", content=text),))
    if kind == 2:
        cut = (Turn(role="user", content=text[:place]), Turn(role="user", content=text[place:]))
        return replace(request, messages=cut)
    changed = {
        3: text[:place] + draw.choice([c for c in letters if c != text[place]]) + text[place + 1 :],
        4: text[:place] + text[place + 1 :],
        5: text[:place] + draw.choice(letters) + text[place:],
    }[kind]
    return replace(request, messages=(Turn(role="user", content=changed),))


def collisions(number: int) -> int:
    """How often two different requests have one key, within a pair or among all of them."""
    found, known = 0, {}
    for pair in near(number):
        for request in pair:
            said = (tuple((turn.role, turn.content) for turn in request.messages), request.settings["seed"])
            found += known.setdefault(request.hash, said) != said
        found += pair[0].hash == pair[1].hash
    return found


@pytest.mark.slow
def test_a_hundred_thousand_near_pairs_have_different_keys():
    assert collisions(100_000) == 0


@pytest.mark.sweep
def test_a_million_near_pairs_have_different_keys():
    assert collisions(1_000_000) == 0


@given(st.text(), st.text())
def test_texts_differ_when_their_keys_do(one, two):
    assert (with_user(one).key("m") == with_user(two).key("m")) == (one == two)


def test_a_request_is_counted_once_on_its_way_and_comes_out_as_it_went_in():
    with trial_context(TrialContext(repeat=3)):
        first, second = with_key(BASE, "m"), with_key(BASE, "m")
        assert with_key(first, "m") is first
    assert (first.cache_key, second.cache_key) == (BASE.key("m", 3, 0), BASE.key("m", 3, 1))
    assert first.hash == BASE.hash
    assert plain_request(first) is plain_request(BASE) is BASE


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({**BASE.settings, "temperature": 0.0}, id="0.0 for 0"),
        pytest.param({**BASE.settings, "seed": None}, id="a seed that says nothing"),
    ],
)
def test_what_reaches_the_provider_as_the_same_has_the_same_key(settings):
    assert replace(BASE, settings=settings).key("m") == BASE.key("m")


class Word(str):
    __slots__ = ()


@dataclass(frozen=True)
class Shape:
    """Data that a schema may hold without being JSON."""

    kind: str


CONTENT = st.text() | st.sampled_from(["\ud800", "\ud83d\ude00", Word("a"), None, 1, True, ["a"], {"b": "a"}])


@given(st.lists(st.builds(Turn, role=st.text() | st.just(Word("user")), content=CONTENT), max_size=4))
def test_texts_of_messages_are_the_canonical_ones(turns):
    assert Request(messages=tuple(turns)).texts[0] == canonical(tuple(turns))


def test_keys_are_made_as_they_have_always_been():
    one = fingerprint(KEY_VERSION, tuple(BASE.messages), BASE.schema, BASE.settings, BASE.logprobs)
    assert BASE.hash == one
    assert BASE.key("openai/m@http://h", 2, 1) == f"{fingerprint(KEY_VERSION, 'openai/m@http://h', one)}-2-1"


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"a": {"b": [1, 2.0, True, None, "c"]}}, id="plain data"),
        pytest.param({"a": Shape("circle")}, id="an object in it"),
        pytest.param({1: "a"}, id="a key that is not a text"),
        pytest.param({"a": ("b", {"c": Word("d")})}, id="a text of another type"),
    ],
)
def test_a_schema_that_comes_again_has_the_same_text(schema):
    assert {replace(BASE, schema=schema).texts[1] for _ in range(3)} == {canonical(schema)}


def test_a_schema_in_a_circle_has_a_text():
    schema = {"type": "object"}
    schema["self"] = schema
    assert replace(BASE, schema=schema).texts[1] == canonical(schema)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(1, 2, id="another number"),
        pytest.param(1, True, id="an equal truth value"),
        pytest.param(1, 1.0, id="an equal number of another type"),
        pytest.param("a", Shape("circle"), id="an object"),
    ],
)
def test_a_schema_that_was_changed_in_place_has_another_text(before, after):
    schema = {"a": {"b": before}}
    assert replace(BASE, schema=schema).texts[1] == canonical(schema)
    schema["a"]["b"] = after
    assert replace(BASE, schema=schema).texts[1] == canonical(schema)
