"""What holds of every text and every value."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalmark.errors import ConfigError
from evalmark.prompts.templates.prompt_files import parse_prompt, read_prompt
from evalmark.prompts.templates.rendering import render

from .test_attacks import GADGETS
from .writing_down import prompt

pieces = st.sampled_from(
    [
        *("---\n", "---", "user:\n", "system:", "{{", "}}", "{%", "%}", "{#", "#}", "-%}", "{{ x }}", "{% if x %}", "{% endif %}"),
        *("{% for x in y %}", "{% endfor %}", "{% raw %}", "{% endraw %}", "|upper", "|join", "x.y", "[0]", "(", ")", "'", '"'),
        *("name: a\n", "inputs:\n  x: {type: string}\n", "- ", "messages:\n", "- role: user\n  content: |\n    ", ": ", "\n", "\r"),
        *("sample: {x: 1}\n", "${env:A}", "${file:a}", "!!python/name:x ", "&a ", "*a ", "|\n", "1e999", "\0", "\ud800", "\u2028"),
    ]
)  # fmt: skip
texts = st.one_of(st.text(max_size=80), st.lists(st.one_of(pieces, st.text(max_size=6)), max_size=25).map("".join))
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=8,
)
values = st.one_of(st.text(), st.sampled_from(GADGETS), st.lists(pieces, max_size=6).map("".join))


@given(texts, st.sampled_from(["p.prompty", "p.md", "p.prompt.yml"]))
@example("{% autoescape x %}{% endautoescape %}", "p.md")
@example("---\ninputs: {x: {type: array, enum: [[]]}}\n---\n{{x}}", "p.md")
def test_reading_raises_nothing_but_our_errors(text, name):
    try:
        found = parse_prompt(text, Path(name))
    except ConfigError as error:
        assert str(error).startswith(name)  # noqa: PT017
        return
    assert found == parse_prompt(text, Path(name))
    assert found.fingerprint == parse_prompt(text, Path("other", name)).fingerprint
    assert repr(found)


@given(texts, plain)
def test_rendering_raises_nothing_but_our_errors(text, value):
    try:
        found = parse_prompt(text, Path("p.md"))
        turns = render(found, {known.name: value for known in found.inputs})
    except ConfigError:
        return
    assert [turn.role for turn in turns] == [message.role for message in found.messages]


@given(plain)
def test_any_value_is_taken_or_refused(value):
    found = prompt(
        "{{a}}{{b|upper}}{{c.x}}{% for x in d %}{{x}}{% endfor %}{{e|join}}{{ 1 if f == 1 or f in g else 2 }}",
        "inputs: {a: {type: string}, h: {type: integer}, i: {type: boolean}, j: {type: thread}, k: {type: image}}",
    )
    for known in found.inputs:
        try:
            render(found, {known.name: value})
        except ConfigError as error:
            assert str(error).startswith("p.prompty:")  # noqa: PT017


@given(values, values)
def test_values_stand_in_the_prompt_letter_for_letter_and_open_no_message(one, other):
    found = prompt("{{one}}\nuser:\n<{{other}}>{{one}}\nassistant:\n{% if one %}{{other}}{% endif %}!")
    system, user, assistant = render(found, {"one": one, "other": other})
    assert (system.content, user.content) == (one, f"<{other}>{one}")
    assert assistant.content == (other if one else "") + "!"
    assert (system.role, user.role, assistant.role) == ("system", "user", "assistant")


@given(st.lists(values, max_size=4))
def test_values_in_a_loop_stand_letter_for_letter(items):
    (turn,) = render(prompt("{% for x in items %}{{x}}{% endfor %}|{{ items|join('') }}"), {"items": items})
    assert turn.content == "".join(items) + "|" + "".join(items)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="{}%#\r:!")))
def test_text_without_braces_is_its_own_rendering(text):
    try:
        (turn,) = render(prompt(text), {})
    except ConfigError:
        assert not text.strip()
        return
    lines = text.split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    assert turn.content == "\n".join(lines)


@given(
    st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant"]), st.sampled_from(["a", "b\n\nc", "{{x}}"])),
        min_size=1,
    )
)
def test_messages_that_are_written_down_are_read_again(messages):
    text = "\n\n".join(f"{role}:\n{body}" for role, body in messages)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "p.prompty")
        file.write_text(f"---\nname: p\n---\n{text}\n", encoding="utf-8")
        found = read_prompt(file)
        assert [(message.role, message.text) for message in found.messages] == messages
        assert found == read_prompt(file)


@pytest.mark.parametrize("value", GADGETS)
def test_each_gadget_stands_letter_for_letter(value):
    found = prompt("user:\n{{x}}\nassistant:\n{{ x|default('y') }}")
    assert [turn.content for turn in render(found, {"x": value})] == [value, value]
