"""Values of cases as HTML: what is drawn, that no element or address is one of the text's own, and that nothing is lost."""

import string
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.reports.html.escaping import LONGEST
from evalmark.reports.html.rich_text import rich_text
from tests.reports.viewer.payloads import PAYLOADS

ELEMENTS = {
    *("p", "ul", "ol", "li", "blockquote", "pre", "code", "hr", "br", "em", "strong", "s", "small", "mark", "a"),
    *("table", "thead", "tbody", "tr", "th", "td", "div", "b", "i"),
}
CLASSES = {"heading", "num", "json", "message", "role", "call"}


class Reader(HTMLParser):
    """Collects elements, attributes and text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.attributes, self.text = [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_data(self, data):
        self.text += data


def check(html):
    found = Reader(html)
    assert set(found.elements) <= ELEMENTS
    for element, name, value in found.attributes:
        if element == "a":
            assert name in ("href", "rel")
            assert name == "rel" or value.lower().startswith(("http://", "https://", "mailto:"))
        else:
            assert (element, name) == ("ol", "start") or (name == "class" and value in CLASSES)
    return found


@pytest.mark.parametrize(
    ("text", "html"),
    [
        pytest.param("# Refunds\nAfter 30 days", '<p class="heading">Refunds</p><p>After 30 days</p>', id="a heading"),
        pytest.param("* a\n* b", "<ul><li>a</li><li>b</li></ul>", id="a list"),
        pytest.param("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>', id="a list that begins with 3"),
        pytest.param("`x < 1`", "<p><code>x &lt; 1</code></p>", id="code"),
        pytest.param("```py\nx = 1\n```", "<pre><small>py</small><code>x = 1</code></pre>", id="a block of code"),
        pytest.param("```\n<b>", "<pre><code>&lt;b&gt;</code></pre>", id="a block that does not end"),
        pytest.param("a *b*\nc", "<p>a <em>b</em>\nc</p>", id="a line end inside a paragraph"),
        pytest.param("~~a~~ \\*b\\*", "<p><s>a</s> \\*b\\*</p>", id="escaped signs as they were written"),
        pytest.param(
            "**a** &amp; <b>", "<p><strong>a</strong> &amp;amp; &lt;b&gt;</p>", id="entities and HTML as text"
        ),
        pytest.param(
            "|a|n|\n|-|-:|\n|x|1|",
            '<table aria-label="Table in the text"><thead><tr><th>a</th><th class="num">n</th></tr></thead>'
            '<tbody><tr><td>x</td><td class="num">1</td></tr></tbody></table>',
            id="a table",
        ),
        pytest.param(
            "<https://e.org/?a=1&b>",
            '<p><a href="https://e.org/?a=1&amp;b" rel="noopener noreferrer nofollow">https://e.org/?a=1&amp;b</a></p>',
            id="an address as a link",
        ),
        pytest.param(
            "![map](https://e.org/m.png)",
            '<p><a href="https://e.org/m.png" rel="noopener noreferrer nofollow">[image: map]</a>'
            "<small> https://e.org/m.png</small></p>",
            id="a picture as a link to it",
        ),
        pytest.param(
            '[a](https://e.org "why")',
            '<p><a href="https://e.org" rel="noopener noreferrer nofollow">a</a>'
            "<small> https://e.org \u201cwhy\u201d</small></p>",
            id="a link followed by its address and title",
        ),
        pytest.param(
            '{"a": [1.0, "x\\ny"]}', '<div class="json">{<b>"a"</b>: [1.0, <i>"x\\n\ny"</i>]}</div>', id="JSON"
        ),
        pytest.param(
            '{"a": 1, "a": 1e2}',
            '<div class="json">{<b>"a"</b>: 1, <b>"a"</b>: 1e2}</div>',
            id="JSON with a name twice",
        ),
    ],
)
def test_a_text_with_markup_is_drawn(text, html):
    assert str(rich_text(text).html) == html


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("Two lines\n\n   and    blanks ", id="blanks"),
        pytest.param("5*3*2 = 30, snake_case_name, 2 < 3", id="signs of arithmetic and names"),
        pytest.param("[1]", id="a reference"),
        pytest.param("    indented", id="an indented text"),
        pytest.param("[a]: https://e.org", id="a definition of a link"),
        pytest.param("Title\n=====", id="an underlined title"),
        pytest.param("[x](javascript:alert(1)) ![y](file:///etc/passwd) [z](#top)", id="links that lead elsewhere"),
        pytest.param("{'a': 1}", id="what is not quite JSON"),
        pytest.param("> " * 60 + "deep", id="a text nested too deeply"),
        pytest.param('{"a":' * 60 + "1" + "}" * 60, id="JSON nested too deeply"),
    ],
)
def test_any_other_text_is_shown_unchanged(text):
    shown = rich_text(text)
    assert not shown.is_drawn
    assert Reader(shown.html).text == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param([{"role": "user", "content": "**Hi**"}], "userHi", id="a message"),
        pytest.param(
            {"messages": [{"role": "system", "content": [{"type": "text", "text": "Hi"}]}]},
            "systemHi",
            id="parts of a message",
        ),
        pytest.param(
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "function": {"name": "find", "arguments": '{"id": 7}'}}],
                }
            ],
            'assistantfind{"id": 7}{"id": "c"}',
            id="a message that calls a tool",
        ),
        pytest.param({"name": "find", "arguments": "seven"}, 'find"seven"', id="arguments that are no JSON"),
        pytest.param(
            [{"role": "user", "content": "Hi", "mood": "calm"}],
            'userHi{"mood": "calm"}',
            id="a field that no format has",
        ),
        pytest.param({"a": None, "b": True}, '{"a": null, "b": true}', id="literals"),
    ],
)
def test_messages_tool_calls_and_data_are_drawn(value, text):
    assert check(rich_text(value).html).text == text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_element_and_no_address_of_a_hostile_text_is_used(payload):
    for value in (
        payload,
        {"a": payload, payload: 1},
        [{"role": payload, "content": payload}],
        [{"name": payload, "arguments": payload}],
    ):
        check(rich_text(value).html)
        check(rich_text(value, ["<script>"], longest=30).html)


MARKUP = st.text(string.ascii_lowercase[:5] + '*_`#>-|~[]()!\\<&"1. \n{}:,', max_size=200)


@given(MARKUP)
@settings(max_examples=400)
def test_no_letter_of_a_text_is_lost(text):
    shown = check(rich_text(text).html).text
    assert not Counter(c for c in text if c.isalpha()) - Counter(c for c in shown if c.isalpha())


@given(MARKUP, st.integers(1, 60))
def test_a_cut_text_says_so(text, longest):
    drawn = rich_text(text, longest=longest)
    shown = Reader(drawn.html).text
    if not drawn.is_cut:
        assert not Counter(c for c in text if c.isalpha()) - Counter(c for c in shown if c.isalpha())
    elif not drawn.is_drawn:
        assert shown == text[: drawn.shown]
        assert drawn.shown <= longest


def test_sentences_are_marked_inside_the_markup():
    shown = rich_text("**It** is high.\n\n* It is red.\n", ["It is red."])
    assert shown.html == "<p><strong>It</strong> is high.</p><ul><li><mark>It is red.</mark></li></ul>"


def test_a_text_whose_sentence_extends_over_several_elements_is_shown_unchanged():
    assert rich_text("**It** is high.", ["**It** is high."]).html == "<mark>**It** is high.</mark>"


def test_as_text_shows_the_markup():
    assert rich_text("**It**", as_text=True).html == "**It**"
    assert rich_text('{"a": 1}', as_text=True).html == '{"a": 1}'


def test_a_long_conversation_is_cut_between_its_messages():
    shown = rich_text([{"role": "user", "content": "a" * 100}] * 50, longest=250)
    assert shown.is_cut
    assert shown.html.count('class="message"') == 3
    assert shown.html.endswith("<p>…</p>")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(sign * LONGEST, id=repr(sign))
        for sign in ("[", "*a ", "_a", "![", "`a", "> ", "|", "\n- ", "<a", '{"a":')
    ],
)
def test_hostile_texts_of_the_greatest_length_are_shown(text):
    shown = rich_text(text[:LONGEST])
    check(shown.html)
    assert not Counter(c for c in text[: shown.shown] if c.isalpha()) - Counter(
        c for c in Reader(shown.html).text if c.isalpha()
    )
