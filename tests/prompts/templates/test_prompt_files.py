"""What prompt files say, in every format, and what is said of files that are wrong."""

from pathlib import Path

import pytest

from evalmark.errors import ConfigError
from evalmark.prompts.templates.prompt import Message
from evalmark.prompts.templates.prompt_files import parse_prompt, read_prompt
from evalmark.prompts.templates.rendering import render

from .writing_down import prompt

V1 = """---
name: Support
description: Answers customers
authors: [somebody]
tags: [support]
model:
  api: chat
  configuration:
    type: azure_openai
    azure_endpoint: ${env:AZURE_OPENAI_ENDPOINT}
    api_key: a-key-in-a-file
  parameters:
    temperature: 0.2
    max_tokens: 300
    response_format:
      type: json_schema
      json_schema: {name: answer, schema: {type: object}}
inputs:
  firstName: {type: string, description: Who asks, default: Jane}
  question: {type: string}
sample:
  question: What about my tent?
---
system:
You help {{firstName}}.

user:
{{question}}
"""
V2 = """---
name: support
metadata: {authors: [somebody], tags: [support]}
model:
  id: gpt-4o
  provider: openai
  connection: {kind: key, endpoint: "${env:OPENAI_ENDPOINT}", apiKey: "${env:OPENAI_API_KEY}"}
  options: {temperature: 0.2, maxOutputTokens: 300, topP: 0.9, stopSequences: [END]}
inputs:
  - {name: firstName, kind: string, default: Jane}
  - {name: question, kind: string, required: true, example: Where is my tent?}
template:
  format: {kind: jinja2}
  parser: {kind: prompty}
---
system:
You help {{firstName}}.

user:
{{question}}
"""
GITHUB = """name: support
model: openai/gpt-4o
modelParameters: {temperature: 0.2, maxTokens: 300, topP: 0.9}
messages:
  - role: system
    content: You help {{firstName}}.
  - role: user
    content: |
      {{question}}
testData:
  - {firstName: Jane, question: Where is my tent?, expected: 1.10}
"""


@pytest.mark.parametrize(
    ("text", "name", "lines"),
    [
        pytest.param(V1, "a.prompty", (25, 28), id="prompty, version 1"),
        pytest.param(V2, "a.prompty", (17, 20), id="prompty, version 2"),
        pytest.param(V2, "a.md", (17, 20), id="Markdown with a head"),
        pytest.param(GITHUB, "a.prompt.yml", (6, 9), id="GitHub Models"),
        pytest.param(GITHUB, "a.prompt.yaml", (6, 9), id="GitHub Models, the longer ending"),
    ],
)
def test_the_same_prompt_in_every_format(text, name, lines):
    found = parse_prompt(text, Path(name))
    assert [(m.role, m.text) for m in found.messages] == [
        ("system", "You help {{firstName}}."),
        ("user", "{{question}}"),
    ]
    assert tuple(message.line for message in found.messages) == lines
    assert (found.settings["temperature"], found.settings["max_tokens"]) == (0.2, 300)
    turns = render(found, {"firstName": "Jane", "question": "Hello?"})
    assert [turn.content for turn in turns] == ["You help Jane.", "Hello?"]


def test_version_1_keeps_what_is_of_use_and_no_connection():
    found = parse_prompt(V1, Path("a.prompty"))
    assert (found.name, found.description, found.tags) == ("Support", "Answers customers", ("support",))
    assert (found.model, found.settings, found.schema) == (
        None,
        {"temperature": 0.2, "max_tokens": 300},
        {"type": "object"},
    )
    assert found.rest == {"authors": ["somebody"], "model": {"api": "chat"}}
    assert [sample.values for sample in found.samples] == [{"question": "What about my tent?"}]
    assert "a-key-in-a-file" not in repr(found)


def test_version_2_has_settings_and_tags_under_other_names():
    found = parse_prompt(V2, Path("a.prompty"))
    assert (found.model, found.tags) == ("gpt-4o", ("support",))
    assert found.settings == {"temperature": 0.2, "max_tokens": 300, "top_p": 0.9, "stop": ["END"]}
    question = found.inputs[1]
    assert (question.required, question.example) == (True, "Where is my tent?")
    assert "OPENAI" not in repr(found)


def test_github_models_has_test_data_whose_words_lose_no_letter():
    (sample,) = parse_prompt(GITHUB, Path("a.prompt.yml")).samples
    assert sample.values == {"firstName": "Jane", "question": "Where is my tent?"}
    assert sample.rest == {"expected": "1.10"}


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        pytest.param("{x: {type: string}}", ("string", None, True), id="a type alone"),
        pytest.param("{x: hello}", ("string", "hello", False), id="a value alone"),
        pytest.param("{x: 5}", ("number", 5, False), id="a number alone"),
        pytest.param("{x: 1.10}", ("string", "1.10", False), id="a word that would lose a letter"),
        pytest.param("{x: [a, b]}", ("array", ["a", "b"], False), id="a list alone"),
        pytest.param("{x: {id: 1}}", ("object", {"id": 1}, False), id="a mapping with other keys"),
        pytest.param("{x: }", (None, None, True), id="nothing"),
        pytest.param("{x: {}}", (None, None, True), id="an empty mapping"),
        pytest.param("{x: {type: int, default: 3}}", ("integer", 3, False), id="promptflow's word for a type"),
        pytest.param("{x: {type: string, required: false}}", ("string", None, False), id="one that may be left out"),
        pytest.param("[{name: x, kind: float}]", ("number", None, True), id="a list, as version 2 has it"),
        pytest.param(
            "{properties: [{name: x, kind: string, default: a}]}", ("string", "a", False), id="a list below properties"
        ),
    ],
)
def test_inputs_are_declared_in_many_ways(inputs, wanted):
    (known,) = prompt("{{x}}", f"inputs: {inputs}").inputs
    assert (known.type, known.default, known.required) == wanted
    assert known.declared


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        pytest.param("hello", [("system", "hello", 4)], id="no role at all"),
        pytest.param("hello\nuser:\nhi", [("system", "hello", 4), ("user", "hi", 6)], id="text above the first role"),
        pytest.param("user:\nhi\n", [("user", "hi", 5)], id="one role"),
        pytest.param("USER:\nhi", [("user", "hi", 5)], id="capital letters"),
        pytest.param("# user:\nhi", [("user", "hi", 5)], id="a heading, as promptflow writes it"),
        pytest.param("  user :  \nhi", [("user", "hi", 5)], id="spaces around it"),
        pytest.param('user[name="a"]:\nhi', [("user", "hi", 5)], id="attributes"),
        pytest.param("developer:\nhi", [("system", "hi", 5)], id="the developer is the system"),
        pytest.param("user: hi", [("system", "user: hi", 4)], id="text behind the colon"),
        pytest.param("the user:\nhi", [("system", "the user:\nhi", 4)], id="a word before it"),
        pytest.param(
            "user:\n\n\n  hi \n there\n \nassistant:\n\n",
            [("user", "  hi \n there", 7)],
            id="blank lines around a message",
        ),
        pytest.param("user:\na\n---\nb", [("user", "a\n---\nb", 5)], id="a rule in the body"),
        pytest.param("user:\r\na\r\nb", [("user", "a\nb", 5)], id="line ends of Windows"),
        pytest.param("{{ 'user:' }}\nhi", [("system", "{{ 'user:' }}\nhi", 4)], id="how to write a role as text"),
    ],
)
def test_roles_stand_alone_on_their_line(body, wanted):
    messages = prompt(body).messages
    assert [(message.role, message.text, message.line) for message in messages] == wanted


@pytest.mark.parametrize(
    ("text", "first"),
    [
        pytest.param("hello", "hello", id="no head"),
        pytest.param("----\nhello\n---\nmore", "----\nhello\n---\nmore", id="a longer rule is no head"),
        pytest.param("\n\n---\nname: a\n---\nhello", "hello", id="blank lines above the head"),
        pytest.param("\ufeff---\nname: a\n---\nhello", "hello", id="a byte order mark"),
        pytest.param("---\n---\nhello", "hello", id="an empty head"),
        pytest.param("---\nname: a # ---\n---\nhello", "hello", id="hyphens within the head"),
    ],
)
def test_a_head_stands_between_two_lines_of_three_hyphens(text, first):
    assert parse_prompt(text, Path("p.md")).messages[0].text == first


NOTES = [
    ("nmae: a", "{{x}}", "p.prompty:2: `nmae` is not read; it is kept unchanged; did you mean `name`?"),
    ("inputs: {y: {type: string}}", "{{yy}}", "p.prompty:2: the input 'y' is not used in any message; 'yy' does."),
    ("", "hello", "p.prompty:4: the prompt has no {{variable}}, so every test sends the same request."),
    ("", "{{x}}\nuser:", "p.prompty:5: nothing follows `user:`; the message is left out."),
    ("", "{{x}}\nfunction:\n", "p.prompty:5: `function:` does not start a message; it is text."),
    (
        "",
        "![it]({{x}})",
        "p.prompty:4: an image in Markdown is sent as text; to send an image, declare an input of the type image.",
    ),
    (
        "",
        "{% for turn in x %}\n{{turn.role}}:\n{{turn.text}}{% endfor %}",
        "p.prompty:5: a variable cannot set the role of a message, so this line is text; for a conversation, declare an input of the type thread.",
    ),
    ("sample: {y: a}", "{{x}}", "p.prompty:2: the sample names 'y', which is not an input of the prompt."),
    ("version: {a: 1}\nname: no", "{{x}}", None),
]


@pytest.mark.parametrize(("head", "body", "note"), NOTES)
def test_what_a_reader_should_know_is_noted(head, body, note):
    assert prompt(body, head).notes == ((note,) if note else ())


WRONG = [
    pytest.param("---\nname: [a\n---\nx", "p.prompty:", "not valid YAML", id="a head that is no YAML"),
    pytest.param("---\nname: a\nhello", "p.prompty:1:", "never closed", id="a head that is never closed"),
    pytest.param("---\n- a\n---\nx", "p.prompty:2:", 'the front matter is ["a"]', id="a list for a head"),
    pytest.param("---js\n{}\n---\nx", "p.prompty:1:", "is not read; write YAML", id="a head in JavaScript"),
    pytest.param("+++\na=1\n+++\nx", "p.prompty:1:", "is not read; write YAML", id="a head in TOML"),
    pytest.param("---\na: 1\na: 2\n---\nx", "p.prompty:3:1:", "a second time", id="a key twice"),
    pytest.param("---\na: !!python/name:os.system x\n---\nx", "p.prompty:2:4:", "the tag", id="a tag of Python"),
    pytest.param("---\nname: a\n---\n\n", "p.prompty:2:", "the file has no message", id="no message"),
    pytest.param("---\n---\nuser:\n\nsystem:\n", "p.prompty:1:", "the file has no message", id="roles and no text"),
    pytest.param("", "p.prompty:1:", "the file has no message", id="an empty file"),
    pytest.param("---\nname: {a: 1}\n---\nx", "p.prompty:2:", '$.name is {"a": 1}; it takes a text.', id="a name"),
    pytest.param("---\ntags: {a: 1}\n---\nx", "p.prompty:2:", "it takes a list", id="tags"),
    pytest.param("---\ninputs: 5\n---\nx", "p.prompty:2:", "$.inputs is 5; it takes a mapping.", id="inputs"),
    pytest.param(
        "---\ninputs:\n  a: {type: strng}\n---\nx", "p.prompty:3:", "did you mean 'string'?", id="an unknown type"
    ),
    pytest.param("---\ninputs:\n- type: string\n---\nx", "p.prompty:3:", "with a `name`", id="an input without a name"),
    pytest.param(
        "---\ninputs:\n- name: a\n- name: a\n---\nx", "p.prompty:4:", "the first one is in line 3", id="an input twice"
    ),
    pytest.param(
        "---\ninputs:\n  a b: 1\n---\nx", "p.prompty:3:", "use letters, digits and _", id="a name with a space"
    ),
    pytest.param(
        "---\ninputs:\n  a: {type: integer, default: many}\n---\nx",
        "p.prompty:3:",
        '$.inputs.a.default is "many"; it takes a whole number.',
        id="a default of another type",
    ),
    pytest.param(
        "---\ninputs:\n  a: {enum: [x, y], default: z}\n---\nx",
        "p.prompty:3:",
        'it takes one of "x", "y"',
        id="a default that is no choice",
    ),
    pytest.param("---\nsample: [1]\n---\nx", "p.prompty:2:", "a sample is a mapping", id="a sample that is a number"),
    pytest.param("---\nscenarios: x\n---\nx", "p.prompty:2:", "it takes a list", id="scenarios that are a text"),
    pytest.param(
        "---\nscenarios:\n- {name: a, parameters: {b: 1}}\n---\n{{c}}",
        "p.prompty:3:",
        "is not an input of the prompt",
        id="a scenario with an unknown input",
    ),
    pytest.param(
        "---\ntemplate: mustache\n---\nx", "p.prompty:2:", "only jinja2 is supported", id="another template language"
    ),
    pytest.param("---\nbase: b.prompty\n---\nx", "p.prompty:2:", "names a base prompt", id="a prompt to build on"),
    pytest.param(
        "---\nmodel:\n  parameters:\n    messages: []\n---\nx",
        "p.prompty:4:",
        "would replace a part of the request",
        id="messages",
    ),
    pytest.param(
        "---\nmodel:\n  options:\n    maxTokens: 1\n    max_tokens: 2\n---\nx",
        "p.prompty:5:",
        "a second time",
        id="twice",
    ),
    pytest.param(
        "---\nmodel:\n  parameters:\n    extra_headers: {Authorization: x}\n---\nx",
        "p.prompty:4:",
        "would be recorded",
        id="a secret among the settings",
    ),
    pytest.param("---\nmetadata: {api_key: x}\n---\nx", "p.prompty:2:", "holds a secret", id="a secret elsewhere"),
    pytest.param("---\n---\n\nhi {{ x", "p.prompty:4:", "not a valid template", id="a variable that is never closed"),
    pytest.param("---\n---\na\n{% if x %}b", "p.prompty:4:", "not a valid template", id="an if that is never closed"),
    pytest.param(
        "---\n---\n{% for x in y %}\nuser:\n{{x}}\n{% endfor %}",
        "p.prompty:3:",
        "not a valid template",
        id="a role in a loop",
    ),
]


@pytest.mark.parametrize(("text", "place", "sentence"), WRONG)
def test_a_wrong_prompt_is_refused_with_its_place(text, place, sentence):
    with pytest.raises(ConfigError) as told:
        parse_prompt(text, Path("p.prompty"))
    assert str(told.value).startswith(place)
    assert sentence in str(told.value)


WRONG_GITHUB = [
    pytest.param("name: a", "p.yml:1:", "has no `messages`", id="no messages"),
    pytest.param("- a", "p.yml:1:", "has no `messages`", id="a list"),
    pytest.param("messages: []", "p.yml:1:", "has no message", id="an empty list"),
    pytest.param("messages: x", "p.yml:1:", "it takes a list", id="a text for messages"),
    pytest.param("messages:\n- role: tool\n  content: x", "p.yml:2:", "one of system, user, assistant", id="a role"),
    pytest.param("messages:\n- role: user\n  content: [a]", "p.yml:3:", "it takes a text", id="a list for content"),
    pytest.param("messages:\n- role: user", "p.yml:2:", "it takes a text", id="no content"),
    pytest.param("messages:\n- hello", "p.yml:2:", "it takes one of", id="a text for a message"),
    pytest.param(
        "messages:\n- role: user\n  content: |\n    a\n    {{b", "p.yml:5:", "not a valid template", id="in a block"
    ),
    pytest.param(
        "messages:\n- role: user\n  content: a {{b |", "p.yml:3:", "not a valid template", id="in a line with a bar"
    ),
    pytest.param(
        'messages:\n- role: user\n  content: "a\\n{{b"', "p.yml:3:", "not a valid template", id="in a quoted text"
    ),
    pytest.param(
        "responseFormat: xml\nmessages:\n- {role: user, content: x}", "p.yml:1:", "json_schema", id="a response format"
    ),
    pytest.param(
        "messages:\n- {role: user, content: x}\nresponseFormat: json_schema", "p.yml:1:", "it takes", id="no schema"
    ),
    pytest.param(
        "messages:\n- {role: user, content: x}\nresponseFormat: json_schema\njsonSchema: '{'",
        "p.yml:4:",
        "cannot be read: not valid JSON",
        id="a schema that is no JSON",
    ),
]


@pytest.mark.parametrize(("text", "place", "sentence"), WRONG_GITHUB)
def test_a_wrong_file_of_github_models_is_refused_with_its_place(text, place, sentence):
    with pytest.raises(ConfigError) as told:
        parse_prompt(text, Path("p.yml"))
    assert str(told.value).startswith(place)
    assert sentence in str(told.value)


def test_all_faults_are_named_at_once_in_the_order_of_their_lines():
    with pytest.raises(ConfigError) as told:
        prompt("x", "tags: 5\ninputs:\n  a: {type: strng}\n  b: {type: intt}\nname: []")
    assert [line.split(":")[1] for line in str(told.value).splitlines()] == ["2", "4", "5", "6"]


def test_a_message_that_cannot_be_read_hides_no_other_fault_and_makes_none():
    sample = "sample: {b: 1}\nscenarios: [{name: one, parameters: {b: 1}}]"
    with pytest.raises(ConfigError) as refused:
        prompt("user:\n{{ a }}\n\nsystem:\n{{ b() }}", f"inputs:\n  a: {{type: strng}}\n{sample}")
    first, second = str(refused.value).splitlines()
    assert '$.inputs.a.type is "strng"' in first
    assert "a call is not allowed" in second


@pytest.mark.parametrize("name", ["p.json", "p.docx", "p"])
def test_other_files_are_no_prompts(name):
    with pytest.raises(ConfigError, match="is not a prompt file"):
        read_prompt(name)


def test_what_cannot_be_opened_or_decoded_is_refused(tmp_path):
    (tmp_path / "old.prompty").write_bytes(b"caf\xe9 {{x}}")
    (tmp_path / "long.prompty").write_text("x" * ((1 << 20) + 1))
    for name, sentence in (("none.prompty", "no such file"), ("old.prompty", "not UTF-8"), ("long.prompty", "at most")):
        with pytest.raises(ConfigError, match=sentence):
            read_prompt(tmp_path / name)


def test_a_fingerprint_changes_with_the_words_and_not_with_the_place():
    one = prompt("user:\n{{x}}", "description: a\ninputs: {x: {type: string}}")
    moved = prompt("\n\nuser:\n\n{{x}}\n", "tags: [b]\n\ninputs: {x: {type: string, description: c}}", name="other.md")
    assert one.fingerprint == moved.fingerprint
    others = [
        prompt("user:\n{{x}}!", "inputs: {x: {type: string}}"),
        prompt("system:\n{{x}}", "inputs: {x: {type: string}}"),
        prompt("user:\n{{x}}", "inputs: {x: {type: string, default: a}}"),
        prompt("user:\n{{x}}", "inputs: {x: {type: string}}\nmodel: a"),
        prompt("user:\n{{x}}", "inputs: {x: {type: string}}\nmodelParameters: {seed: 1}"),
    ]
    assert len({one.fingerprint, *(other.fingerprint for other in others)}) == 6


def test_the_place_is_that_of_the_first_message():
    assert prompt("\nuser:\nhi").place == "p.prompty:6"
    assert prompt("hi").messages == (Message(role="system", text="hi", line=4),)


def test_a_sample_of_a_conversation_is_one_sample():
    turns = [{"role": "user", "content": "Hi"}]
    head = "inputs: {talk: {type: thread}}\nsample: {talk: [{role: user, content: Hi}]}"
    found = parse_prompt(f"---\n{head}\n---\nuser:\n{{{{talk}}}}\n", Path("p.prompty"))
    assert [sample.values for sample in found.samples] == [{"talk": turns}]


def test_notes_stand_in_the_order_of_the_file():
    keys = [f"odd{number}" for number in range(30)]
    head = "\n".join(f"{key}: 1" for key in keys)
    found = parse_prompt(f"---\n{head}\n---\nuser:\n{{{{x}}}}\n", Path("p.prompty"))
    assert [note.split("`")[1] for note in found.notes] == keys
