"""HTTP services and commands as targets: the request of a case, and the output of a response."""

import asyncio
import json
from dataclasses import dataclass, field

import pytest

from evalmark import Case, ToolCall, Turn
from evalmark.core.values.call import Reply
from evalmark.core.values.case import Usage
from evalmark.errors import ConfigError
from evalmark.inputs.documents.json_query import missing_part
from evalmark.models.providers.http_service import spending_parts
from evalmark.runs.targets.service import ServiceTarget, template_faults


@dataclass
class Service:
    """Gives one reply, and remembers its requests."""

    reply: Reply = field(default_factory=lambda: Reply(text="{}"))
    name: str = "support"
    identity: str = "http/service@here"
    requests: list = field(default_factory=list)

    async def __call__(self, request):
        self.requests.append(request)
        return self.reply


def http(**settings) -> ServiceTarget:
    body, queries = settings.pop("body", None), settings.pop("queries", {})
    address = {"url": "http://host/ask", "method": "POST", **settings}
    return ServiceTarget(name="support", kind="http", model=Service(), settings=address, body=body, queries=queries)


CASE = Case(
    id="7",
    input={"question": "Why?", "n": 3},
    expected="because",
    contexts=("a", "b"),
    history=(Turn(role="user", content="Hi"),),
    metadata={"lang": "no"},
)


@pytest.mark.parametrize(
    ("body", "case", "sent"),
    [
        pytest.param(None, CASE, {"question": "Why?", "n": 3}, id="without a body, a mapping is sent as it is"),
        pytest.param(None, Case(id="1", input="Why?"), {"input": "Why?"}, id="without a body, a text is named input"),
        pytest.param(
            {"q": "{{input}}"}, CASE, {"q": {"question": "Why?", "n": 3}}, id="a lone variable keeps its type"
        ),
        pytest.param({"n": "{{ input.n }}"}, CASE, {"n": 3}, id="so does a part of one"),
        pytest.param({"n": "no. {{input.n}}"}, CASE, {"n": "no. 3"}, id="within text it is text"),
        pytest.param([["{{id}}", 1, None]], CASE, [["7", 1, None]], id="in lists, other values stay"),
        pytest.param({"c": "{{contexts}}"}, CASE, {"c": ["a", "b"]}, id="the contexts of the case"),
        pytest.param({"l": "{{metadata.lang}}"}, CASE, {"l": "no"}, id="its metadata"),
        pytest.param(
            {"q": "{{input}}"}, Case(id="1", input='"{{id}}"\n'), {"q": '"{{id}}"\n'}, id="a value is no template"
        ),
    ],
)
def test_a_body_is_filled_with_the_values_of_the_case(body, case, sent):
    (turn,) = http(body=body).request(case).messages
    assert json.loads(turn.content) == sent


def test_a_body_of_text_is_sent_as_text():
    request = http(body="Question: {{input.question}}").request(CASE)
    assert request.messages[0].content == "Question: Why?"
    assert request.settings["content_type"].startswith("text/plain")


def test_values_in_an_address_are_encoded():
    url = "http://host/a b/{{id}}?q={{input}}"
    request = http(url=url, method="GET").request(Case(id="../x", input="a&b=ø"))
    assert request.settings["url"] == "http://host/a%20b/..%2Fx?q=a%26b%3D%C3%B8"
    assert request.messages[0].content == ""


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param(
            {"q": "{{input.answer}}"}, "{{input.answer}} has no value in this case", id="a part that is missing"
        ),
        pytest.param({"q": "{{input.question.x}} "}, "is a text, which has no part 'x'", id="a part of a text"),
    ],
)
def test_a_case_that_lacks_a_value_is_unfit(body, fault):
    target = http(body=body)
    assert fault in target.unfit(CASE)
    with pytest.raises(ConfigError):
        asyncio.run(target(CASE))
    assert target.model.requests == []


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        pytest.param("{{expected}}", "{{expected}} is not a value of a case", id="the expected output"),
        pytest.param({"a": ["{{question}}"]}, "{{question}} is not a value of a case", id="an unknown name, in a list"),
        pytest.param("{{ input() }}", "a call is not allowed", id="a call"),
        pytest.param("{{ input", "not a valid template", id="an open brace"),
    ],
)
def test_a_faulty_template_is_named(settings, fault):
    (found,) = template_faults(settings)
    assert fault in found


RESPONSE = json.dumps(
    {
        "answer": {"text": "Oslo"},
        "docs": [{"text": "a"}, {"text": "b", "n": 1}],
        "calls": [{"name": "f", "arguments": {"x": 1}}, {"function": {"name": "g", "arguments": '{"y": 2}'}}, 3],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "cost": 0.25,
    }
)
QUERIES = {"output": "$.answer.text", "contexts": "$.docs[*].text", "tool_calls": "$.calls"}


def test_the_parts_of_a_response_become_the_output():
    output = http(queries=QUERIES).output(Reply(text=RESPONSE, key="k-0-0"), None)
    assert (output.value, output.contexts) == ("Oslo", ("a", "b"))
    assert output.tool_calls == (ToolCall(name="f", arguments={"x": 1}), ToolCall(name="g", arguments={"y": 2}))
    assert output.metadata == {"calls": ["k-0-0"]}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        pytest.param("http", '{"a": 1}', {"a": 1}, id="JSON of a service is data"),
        pytest.param("http", "Oslo\n", "Oslo\n", id="text of a service is text"),
        pytest.param(
            "command", '{"a": 1}\n', '{"a": 1}', id="what a command prints is text, without its last line end"
        ),
    ],
)
def test_without_a_path_the_whole_response_is_the_output(kind, text, value):
    target = ServiceTarget(name="x", kind=kind, model=Service())
    assert target.output(Reply(text=text), None).value == value


def test_an_empty_response_is_an_error():
    assert http().output(Reply(text="", status="empty"), None).error == "the response was empty"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("<!doctype html><html>", "`output` needs JSON, and this is a web page", id="a web page"),
        pytest.param("hello", "`output` needs JSON, and this is 'hello'", id="text"),
        pytest.param('{"a": 1, "a": 2}', "`output` needs JSON", id="a key twice"),
        pytest.param('{"error": "busy"}', '`output` $.answer.text is not in {"error": "busy"}', id="another object"),
    ],
)
def test_a_response_without_its_parts_is_refused(text, fault):
    assert fault in missing_part(text, QUERIES)


def test_usage_and_cost_are_read_where_the_suite_says():
    queries = {"usage": "$.usage", "cost": "$.cost"}
    assert spending_parts(RESPONSE, queries) == {"usage": Usage(input_tokens=3, output_tokens=4), "cost": 0.25}
    assert spending_parts(RESPONSE, {}) == {}


def test_the_fingerprint_changes_with_what_is_asked():
    targets = [http(), http(method="PUT"), http(body={"q": "{{input}}"}), http(queries={"output": "$.a"})]
    assert len({target.fingerprint for target in targets}) == len(targets)
