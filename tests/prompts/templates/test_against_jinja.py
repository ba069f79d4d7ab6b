"""Where a template is allowed, Jinja itself writes the same: its own renderer is the second opinion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import StrictUndefined, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from evalmark.errors import ConfigError
from evalmark.prompts.templates.rendering import render

from .writing_down import prompt

JINJA = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
VALUES = {
    "a": "Ab ",
    "n": 3,
    "z": "",
    "l": ["x", "y", "y"],
    "e": [],
    "d": {"k": "v", "w": "u", "n": 2},
    "r": [{"k": "p", "s": [1, 2]}, {"k": "q", "s": []}],
}

names = st.sampled_from(["a", "n", "z", "d.k", "d['w']", "l[1]", "r[0].k", "x", "loop.index", "missing", "d.missing"])
filters = st.sampled_from(
    [
        "",
        "|upper",
        "|lower|trim",
        "|default('-')",
        "|default('-', true)",
        "|default(missing)",
        "|default(z, n)",
        "|trim|capitalize",
    ]
)
printed = st.builds("{{{{ {}{} }}}}".format, names, filters)
tests = st.one_of(
    names,
    st.builds("{} == {}".format, names, st.sampled_from(["'Ab '", "3", "''"])),
    st.builds("{} is {}".format, st.sampled_from(["a", "missing", "x"]), st.sampled_from(["defined", "undefined"])),
    st.sampled_from(["'y' in l", "'q' not in l", "n > 2", "1 < n <= 3", "e", "l", "l|length == 3", "d|length > 9"]),
)
conditions = st.one_of(
    tests,
    st.builds("not ({})".format, tests),
    st.builds("({}) and ({})".format, tests, tests),
    st.builds("({}) or ({})".format, tests, tests),
)
letters = st.text(alphabet="ab \n\t<&", max_size=4)
lists = st.sampled_from(["l", "e", "d", "d|items", "r", "r[0].s", "r[1].s", "l if x != 'y'"])
plain = st.one_of(letters, printed, st.sampled_from(["{{ l|join(', ') }}", "{{ l|first }}{{ r|length }}", "{# c #}"]))


def nested(inner):
    blocks = st.lists(inner, max_size=3).map("".join)
    dash = st.sampled_from(["", "-"])
    return st.one_of(
        st.builds("{{% if {} {}%}}{}{{% else %}}{}{{% endif %}}".format, conditions, dash, blocks, blocks),
        st.builds("{{% if {} %}}{}{{% elif {} %}}{}{{%{} endif %}}".format, conditions, blocks, conditions, blocks, dash),
        st.builds("{{% for x in {} %}}{}{{% else %}}{}{{% endfor %}}".format, lists, blocks, blocks),
        st.builds("{{{{ {} if {} else {} }}}}".format, st.sampled_from(["a", "n"]), conditions, st.sampled_from(["z", "'-'"])),
    )  # fmt: skip


templates = st.lists(st.recursive(plain, nested, max_leaves=8), max_size=5).map("".join)


def by_jinja(text):
    try:
        return JINJA.from_string(text).render(**VALUES)
    except UndefinedError:
        return None
    except TypeError:  # a text compared with a number
        return None


def by_us(text):
    found = prompt(f"[{text}]")
    try:
        (turn,) = render(
            found, {name: value for name, value in VALUES.items() if name in {i.name for i in found.inputs}}
        )
    except ConfigError:
        return None
    return turn.content[1:-1]


@given(templates)
def test_what_both_can_write_is_the_same(text):
    wanted, found = by_jinja(text), by_us(text)
    # Lists, mappings and truth values are JSON here; in Jinja they are what Python shows of them.
    if wanted is not None and found is not None and not set("{[(") & set(wanted):
        assert found == wanted


@given(templates)
def test_what_jinja_cannot_write_we_do_not_write_either(text):
    if by_us(text) is not None:
        assert by_jinja(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "{% for x in l -%}\n  {{ x }}\n{%- endfor %}",
        "a\n{%- if n %}\nb\n{%- endif %}\nc",
        "{{ a -}}   b",
        "  {%- raw %} {{ a }} {% endraw -%}  ",
        "{#- c -#} x",
        "{% for k, v in d|items %}{{k}}{{v}}{{loop.first}}{% endfor %}".replace("{{loop.first}}", "{{loop.index0}}"),
        "{{ 'a\\nb' }}{{ \"it's\" }}{{ 'b' 'c' }}",
        "{{ 1_000 }} {{ 0x1f }} {{ 1.5e3 }}",
        "{{ d.items|default('no') }}",
        "trailing\n\n",
    ],
)
def test_blanks_and_constants_are_those_of_jinja(text):
    if "d.items" in text:  # Jinja finds the method before the key; here there are only keys
        assert by_us(text) == "no"
    else:
        assert by_us(text) == by_jinja(text)
