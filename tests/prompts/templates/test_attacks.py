"""Templates that try to reach Python, files, or all of the processor: none of them gets anywhere."""

import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from evalmark.errors import ConfigError
from evalmark.prompts.templates.prompt_files import parse_prompt
from evalmark.prompts.templates.rendering import render

from .writing_down import prompt, said

GADGETS = """
{{ ''.__class__.__mro__[1].__subclasses__() }}
{{ ().__class__.__bases__[0].__subclasses__() }}
{{ [].__class__.__base__ }}
{{ x.__class__ }}
{{ x['__class__'] }}
{{ x|attr('__class__') }}
{{ x|attr('\\x5f\\x5fclass\\x5f\\x5f') }}
{{ x|attr(['__', 'class', '__']|join) }}
{{ x[['__', 'class', '__']|join] }}
{{ x['\\x5f\\x5fclass\\x5f\\x5f'] }}
{{ x['\\u005f_class__'] }}
{{ x.__init__.__globals__ }}
{{ x.__dict__ }}
{{ x.__getitem__('a') }}
{{ x.__reduce__() }}
{{ cycler.__init__.__globals__.os.popen('id').read() }}
{{ lipsum.__globals__['os'].popen('id').read() }}
{{ joiner.__init__.__globals__.os }}
{{ namespace.__init__.__globals__ }}
{{ url_for.__globals__ }}
{{ get_flashed_messages.__globals__ }}
{{ config.__class__.__init__.__globals__ }}
{{ self.__init__.__globals__ }}
{{ self._TemplateReference__context }}
{{ self.__dict__ }}
{{ request.application.__globals__ }}
{{ request['application']['__globals__'] }}
{{ range(10) }}
{{ dict(a=1) }}
{{ lipsum() }}
{{ cycler('a').next() }}
{{ '%s'|format(x) }}
{{ '{0.__class__}'.format(x) }}
{{ '{0.__class__}'|format(x) }}
{{ 'a'.format_map({'a': x}) }}
{{ ('{0.__class__.__init__.__globals__}'|string).format(x) }}
{{ x|map(attribute='__class__')|list }}
{{ x|selectattr('__class__')|list }}
{{ x|groupby('__class__') }}
{{ x|sort(attribute='__class__') }}
{{ x|sum(attribute='__class__') }}
{{ x|map('attr', '__class__') }}
{{ x|xmlattr }}
{{ x|pprint }}
{{ x|safe }}
{{ x|default(x.__class__) }}
{{ x|join(attribute='__class__') }}
{{ x.items() }}
{{ x.copy() }}
{{ x.pop('a') }}
{{ x.update(x) }}
{{ x.append(1) }}
{{ 'a'.upper() }}
{{ loop.__init__ }}
{% for a in x %}{{ loop.__class__ }}{% endfor %}
{% for a in x %}{{ loop.__init__.__globals__ }}{% endfor %}
{% for a in x recursive %}{{ loop(x) }}{% endfor %}
{% for loop in x %}{{ loop }}{% endfor %}
{% for x.y in x %}{% endfor %}
{% for __class__ in x %}{% endfor %}
{% set x = 1 %}
{% set x.y = 1 %}
{% set y %}{{ x }}{% endset %}
{% macro a() %}{% endmacro %}
{% call a() %}{% endcall %}
{% include '/etc/passwd' %}
{% import 'os' as os %}
{% from 'os' import system %}
{% extends '/etc/passwd' %}
{% block a %}{% endblock %}
{% filter upper %}a{% endfilter %}
{% with a = x %}{% endwith %}
{% autoescape false %}{% endautoescape %}
{% do x.append(1) %}
{% debug %}
{% trans %}a{% endtrans %}
{% print(x) %}{{ x.__class__ }}
{{ constructor.constructor('return process')() }}
{{ x.constructor }}
{{ x.__proto__ }}
{{ ''['constructor'] }}
{{ 'a' * 100000000 }}
{{ 9 ** 9 ** 9 }}
{{ 1 / 0 }}
{{ 10 % 3 }}
{{ 1 + 1 }}
{{ -x }}
{{ 'a' ~ x }}
{{ x[::-1] }}
{{ {'a': 1} }}
{{ x is callable }}
{{ x is sameas x }}
{{ x is filter }}
{{ x|default(*x) }}
{{ x|default(**x) }}
{{ 1e999 }}
${{<%[%'"}}%\\
{{ x if }}
{{
{% for %}
""".strip().splitlines()


@pytest.fixture
def canary(tmp_path, monkeypatch):
    """What an escape would show or leave behind."""
    monkeypatch.setenv("EVALMARK_CANARY", "canary-5f1e")
    monkeypatch.chdir(tmp_path)
    return tmp_path


VALUES = [["a"], {"a": "b"}, "text"]


@pytest.mark.parametrize("gadget", GADGETS)
def test_a_gadget_is_refused_or_finds_no_value(gadget, canary):
    for value in VALUES:
        with pytest.raises(ConfigError) as told:
            render(prompt(f"{gadget} {{{{x}}}}"), {"x": value})
        assert str(told.value).startswith("p.prompty:4: ")
        assert "<class" not in str(told.value)
        assert "canary-5f1e" not in str(told.value)
    assert list(canary.iterdir()) == []


def test_there_are_enough_gadgets():
    assert len(set(GADGETS)) >= 90


@pytest.mark.parametrize("gadget", GADGETS)
def test_a_gadget_in_a_value_is_text(gadget):
    assert said("{{x}}", x=gadget) == gadget
    assert said("{% for y in x %}{{y|trim}}{% endfor %}", x=[gadget]) == gadget.strip()


@pytest.mark.parametrize("gadget", GADGETS)
def test_a_gadget_in_the_data_of_a_prompt_is_text(gadget):
    quoted = gadget.replace("'", "''")
    assert said("{{x}}", f"inputs:\n  x: {{type: string, default: '{quoted}'}}") == gadget


def test_what_jinja_offers_besides_is_not_there():
    names = ("range", "dict", "lipsum", "cycler", "joiner", "namespace", "self", "super", "caller", "varargs", "config")
    found = prompt(" ".join(f"{{{{ {name} }}}}" for name in names))
    assert {known.name for known in found.inputs} == set(names)
    assert [turn.content for turn in render(found, dict.fromkeys(names, "x"))] == [" ".join("x" * len(names))]


HEADS = [
    "---js\nmodule.exports = {}\n---\nx",
    "---javascript\n{}\n---\nx",
    "---json\n{}\n---\nx",
    "---coffee\nx\n---\nx",
    "--- python\nx\n---\nx",
    "---\na: !!python/object/apply:os.system ['touch canary']\n---\nx",
    "---\na: !!python/object/new:os.system ['touch canary']\n---\nx",
    "---\na: !!js/function 'function(){}'\n---\nx",
    "---\na: &a [*a]\n---\nx",
    "---\na: &a [x, x]\nb: &b [*a, *a]\n" + "".join(f"c{n}: &c{n} [*b, *b, *b]\n" for n in range(60)) + "---\nx",
]


@pytest.mark.parametrize("text", HEADS)
def test_a_head_is_data(text, canary):
    with pytest.raises(ConfigError):
        parse_prompt(text, Path("p.prompty"))
    assert list(canary.iterdir()) == []


def bomb(depth):
    layers = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, depth))
    return f"l0: &l0 [lol]\n{layers}"


ROWS = [list(range(1000))] * 1000
BOMBS = [
    pytest.param("{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}", {"x": list(range(1000))}, "steps", id="loops that say nothing"),
    pytest.param("{% for a in x %}{% for b in x %}{{y}}{% endfor %}{% endfor %}", {"x": list(range(900)), "y": "y" * 1000}, "grows longer", id="loops that say much"),
    pytest.param("{% for a in x %}{{y}}{% endfor %}", {"x": list(range(100)), "y": "y" * (1 << 20)}, "grows longer", id="a large value again and again"),
    pytest.param("{% for a in x if a in y %}{% endfor %}", {"x": list(range(200000)), "y": list(range(300000, 400000))}, "steps", id="searches in a list"),
    pytest.param("{% for a in x if y in z %}{% endfor %}", {"x": list(range(100000)), "y": "ab", "z": "a" * 1000000}, "steps", id="searches in a text"),
    pytest.param("{% for a in x %}{% if y|upper == 'a' %}{% endif %}{% endfor %}", {"x": list(range(100000)), "y": "ß" * 1000000}, "steps", id="words that grow"),
    pytest.param("{% for a in x %}{% if y|tojson == 'a' %}{% endif %}{% endfor %}", {"x": list(range(100000)), "y": [["\\"] * 1000] * 100}, "steps", id="lists that are written out"),
    pytest.param("{{ x|join(y) }}", {"x": ["a"] * 100000, "y": "y" * 100000}, "would make a text of more than", id="a long glue"),
    pytest.param("{{ x|join(y)|join }}", {"x": ["a"] * 100000, "y": "y" * 100000}, "would make a text of more than", id="a long glue on the way"),
    pytest.param("{% for a, b in x|items %}{% for c in x|items %}{% endfor %}{% endfor %}", {"x": {str(n): n for n in range(5000)}}, "steps", marks=pytest.mark.slow, id="items of items"),
    pytest.param("{% for a in x %}{% for b in a %}{{b}}{% endfor %}{% endfor %}", {"x": [ROWS, ROWS]}, "items", id="a value that is larger than it looks"),
    pytest.param("{{x}}", {"x": ["y" * (1 << 20)] * 33}, "MiB of text", id="a value of many megabytes"),
    pytest.param("{{x}}", {"x": range(10**12)}, "items", id="a range without an end"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "values", "sentence"), BOMBS)
def test_a_bomb_is_stopped_early(body, values, sentence):
    found = prompt(body)
    before = time.process_time()
    with pytest.raises(ConfigError, match=sentence):
        render(found, values)
    assert time.process_time() - before < 15  # two seconds on a machine of its own


LARGE = ("loops that say much", "a large value again and again", "a long glue", "a value of many megabytes")


@pytest.mark.parametrize(("body", "values", "sentence"), [row for row in BOMBS if row.id in LARGE])
def test_a_bomb_of_text_is_stopped_before_it_fills_the_memory(body, values, sentence):
    found = prompt(body)
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError, match=sentence):
            render(found, values)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


def test_a_value_that_holds_itself_is_refused():
    circle: list = []
    circle.append(circle)
    with pytest.raises(ConfigError, match="nested deeper than 100 levels"):
        render(prompt("{{x}}"), {"x": circle})


DEEP = [
    pytest.param("{{ " + "(" * 5000 + "x" + ")" * 5000 + " }}", id="brackets"),
    pytest.param("{{ " + "[" * 5000 + "x" + "]" * 5000 + " }}", id="lists"),
    pytest.param("{{ x" + "|trim" * 5000 + " }}", id="filters"),
    pytest.param("{{ x" + ".a" * 5000 + " }}", id="parts"),
    pytest.param("{{ " + "not " * 5000 + "x }}", id="negations"),
    pytest.param("{% if x %}" * 5000 + "{% endif %}" * 5000, id="conditions"),
    pytest.param("{% for x in y %}" * 2000 + "{% endfor %}" * 2000, id="loops"),
    pytest.param("{{ x" + " and x" * 5000 + " }}", id="conjunctions"),
    pytest.param("{{ 1" + "0" * 10_000 + " }}", id="a long number"),
    pytest.param("{{ x[1" + "0" * 4_000 + "] }}", id="a far place"),
    pytest.param("{{ 0x" + "f" * 5_000 + " }}", id="a number in digits that Python reads and does not write"),
    pytest.param("{{ x|join([0x" + "f" * 5_000 + "]) }}", id="such a number in a list"),
]


@pytest.mark.parametrize("body", DEEP)
def test_a_deep_template_is_refused(body):
    with pytest.raises(ConfigError):
        render(prompt(body), {"x": [1], "y": [1]})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{{" * 50_000, id="braces"),
        pytest.param("{# " * 50_000, id="comments"),
        pytest.param("{{ x }}" * 30_000, id="variables"),
        pytest.param("{%" + " " * 200_000 + "x", id="spaces in a tag"),
        pytest.param(" " * 200_000 + "{%- if", id="spaces before a tag"),
        pytest.param("user[" + "a=b," * 50_000, id="attributes that are never closed"),
        pytest.param("user" + " " * 200_000 + "x:", id="spaces behind a role"),
        pytest.param(" " * 200_000 + "# \t" * 1000 + "system :", id="spaces before a role"),
        pytest.param("![" * 100_000, id="pictures that are never closed"),
        pytest.param("{{" + "role " * 50_000 + "}}:", id="roles of values"),
        pytest.param("{{ '" + "\\" * 100_000 + " }}", id="backslashes"),
        pytest.param("---\n" * 50_000, id="heads"),
        pytest.param("user:\n" * 50_000 + "x", id="roles"),
        pytest.param("\n" * 400_000 + "{{x}}" + "\n" * 400_000, id="blank lines around a message"),
    ],
)
def test_a_text_made_to_be_slow_is_read_in_time(text):
    before = time.process_time()
    try:
        parse_prompt(text, Path("p.md"))
    except ConfigError as error:
        assert str(error).startswith("p.md")  # noqa: PT017
    assert time.process_time() - before < 10


WATCHED = ("compile", "exec", "open", "import", "os.system", "subprocess.Popen", "os.getenv")
seen: list[str] = []
watching: list[bool] = []


def watched():
    return bool(watching) and threading.current_thread() is threading.main_thread()


sys.addaudithook(lambda event, args: seen.append(event) if event in WATCHED and watched() else None)


def test_nothing_is_compiled_run_or_opened_to_read_and_render_a_prompt():
    text = "---\ninputs: {n: x}\n---\n{% for a in l|items %}{{a|join(n)|upper}}{% endfor %}{{ l.b if l is defined }}"
    path = Path("p.prompty")
    render(parse_prompt(text, path), {"l": {"b": 1}})  # what is loaded at first use is loaded now
    seen.clear()
    watching.append(True)
    try:
        render(parse_prompt(text + " ", path), {"l": {"b": 1}})
    finally:
        watching.clear()
    assert seen == []
    watching.append(True)
    compile("1", "x", "eval")
    watching.clear()
    assert seen == ["compile"]  # so the watch was kept
