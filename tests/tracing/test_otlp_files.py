"""Files of OpenTelemetry traces, as collectors and SDKs write them, become sessions; other files are named in one sentence."""

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.tracing.otlp_files import read_traces
from evalmark.tracing.recorder.conventions import genai_attributes

TRACE, ROOT, INNER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
MESSAGES = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Is Oslo in Norway?"}]}])
REPLY = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}])


def typed(value):
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    return {"stringValue": value}


def span(attributes, span_id=ROOT, **fields):
    return {
        "traceId": TRACE,
        "spanId": span_id,
        "name": "call",
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001500000000",
        "attributes": [{"key": key, "value": typed(value)} for key, value in attributes.items()],
        **fields,
    }


def request(*spans):
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def read(tmp_path, content, name="traces.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_traces(path, "shop")


CONVENTIONS = {
    "OpenTelemetry": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.conversation.id": "user-7",
        "gen_ai.usage.input_tokens": 21,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cost": 0.25,
        "gen_ai.input.messages": MESSAGES,
        "gen_ai.output.messages": REPLY,
    },
    "OpenInference": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "small",
        "session.id": "user-7",
        "llm.token_count.prompt": 21,
        "llm.token_count.completion": 2,
        "llm.cost.total": 0.25,
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be short.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Is Oslo in Norway?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Yes.",
    },
    "Langfuse": {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "small",
        "langfuse.session.id": "user-7",
        "langfuse.observation.usage_details": '{"input": 21, "output": 2, "total": 23}',
        "langfuse.observation.cost_details": '{"total": 0.25}',
        "langfuse.observation.input": "Is Oslo in Norway?",
        "langfuse.observation.output": "Yes.",
    },
    "OpenLLMetry": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "traceloop.association.properties.session_id": "user-7",
        "gen_ai.usage.prompt_tokens": 21,
        "gen_ai.usage.completion_tokens": 2,
        "gen_ai.usage.cost": 0.25,
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Is Oslo in Norway?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Yes.",
    },
    "Logfire": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "small",
        "gen_ai.conversation.id": "user-7",
        "gen_ai.usage.input_tokens": 21,
        "gen_ai.usage.output_tokens": 2,
        "operation.cost": 0.25,
        "pydantic_ai.all_messages": json.dumps([*json.loads(MESSAGES), *json.loads(REPLY)]),
    },
    "Vercel's AI SDK": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "small",
        "ai.telemetry.metadata.sessionId": "user-7",
        "ai.usage.promptTokens": 21,
        "ai.usage.completionTokens": 2,
        "gen_ai.usage.cost": 0.25,
        "ai.prompt": "Is Oslo in Norway?",
        "ai.response.text": "Yes.",
    },
}


@pytest.mark.parametrize("attributes", CONVENTIONS.values(), ids=CONVENTIONS)
def test_each_convention_gives_the_same_answer(tmp_path, attributes):
    traces = read(tmp_path, request(span(attributes)))
    (found,) = traces.spans
    assert (found.input, found.output, found.model) == ("Is Oslo in Norway?", "Yes.", "small")
    assert (found.usage.input_tokens, found.usage.output_tokens, found.cost) == (21, 2, 0.25)
    assert (found.kind, found.seconds, found.error) == ("model", 1.5, None)
    assert traces.sessions[0].metadata == {"session": "user-7"}


def test_steps_are_inside_of_their_answer_and_other_spans_are_counted(tmp_path):
    traces = read(
        tmp_path,
        request(
            span({"http.method": "POST"}, "1" * 16),
            span({"openinference.span.kind": "CHAIN", "input.value": "q"}, ROOT, parentSpanId="1" * 16),
            span(
                {"openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.content": "Oslo is a city."},
                INNER,
                parentSpanId=ROOT,
            ),
        ),
    )
    inner, outer = traces.spans
    assert (outer.kind, outer.parent, outer.contexts) == ("run", "", ("Oslo is a city.",))
    assert (inner.kind, inner.parent) == ("retrieval", ROOT)
    assert traces.answers == 1
    assert traces.notes == ("1 other span of the traces, such as those of a web server, are left out.",)


def test_messages_recorded_as_events_are_read(tmp_path):
    events = [
        {"name": "gen_ai.user.message", "attributes": [{"key": "content", "value": typed("Is Oslo in Norway?")}]},
        {"name": "gen_ai.choice", "attributes": [{"key": "message", "value": typed('{"content": "Yes."}')}]},
    ]
    traces = read(tmp_path, request(span({"gen_ai.operation.name": "chat"}, events=events)))
    assert (traces.spans[0].input, traces.spans[0].output) == ("Is Oslo in Norway?", "Yes.")


def test_a_failed_span_has_its_exception(tmp_path):
    thrown = {"exception.type": "ValueError", "exception.message": "no station"}
    events = [{"name": "exception", "attributes": [{"key": k, "value": typed(v)} for k, v in thrown.items()]}]
    for status in ({"code": 2}, {"code": "STATUS_CODE_ERROR", "message": "ValueError: no station"}):
        traces = read(tmp_path, request(span({"gen_ai.tool.name": "w"}, events=events, status=status)))
        assert traces.spans[0].error == "ValueError: no station"


OF_SDK = {
    "name": "chat",
    "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{ROOT}", "trace_state": "[]"},
    "parent_id": None,
    "start_time": "2026-11-21T10:15:00.000000Z",
    "end_time": "2026-11-21T10:15:01.500000Z",
    "status": {"status_code": "UNSET"},
    "attributes": CONVENTIONS["OpenInference"],
    "events": [],
}


def snake(data):
    names = {"resourceSpans": "resource_spans", "scopeSpans": "scope_spans", "traceId": "trace_id", "spanId": "span_id",
             "startTimeUnixNano": "start_time_unix_nano", "endTimeUnixNano": "end_time_unix_nano", "stringValue": "string_value",
             "intValue": "int_value", "doubleValue": "double_value"}  # fmt: skip
    if isinstance(data, dict):
        return {names.get(key, key): snake(value) for key, value in data.items()}
    return [snake(item) for item in data] if isinstance(data, list) else data


def as_base64(text):
    return base64.b64encode(bytes.fromhex(text)).decode()


WHOLE = request(span(CONVENTIONS["OpenInference"]))
FORMS = {
    "a document": json.dumps(WHOLE, indent=1),
    "a document on each line": f"{json.dumps(WHOLE)}\n\n{json.dumps({'resourceSpans': []})}\n",
    "a list of documents": json.dumps([WHOLE]),
    "names with underscores": json.dumps(snake(WHOLE)),
    "ids in base64": json.dumps(WHOLE).replace(TRACE, as_base64(TRACE)).replace(ROOT, as_base64(ROOT)),
    "a span of the SDK on each line": json.dumps(OF_SDK) + "\n",
    "older files": json.dumps(WHOLE).replace("scopeSpans", "instrumentationLibrarySpans"),
    "a byte order mark": "\ufeff" + json.dumps(WHOLE),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_each_form_of_a_file_gives_the_same_span(tmp_path, text):
    (found,) = read(tmp_path, text).spans
    assert (found.id, found.input, found.usage.input_tokens, found.seconds) == (ROOT, "Is Oslo in Norway?", 21, 1.5)


BROKEN = {
    "an empty file": ("", "is empty"),
    "no JSON": ("{", "not valid JSON"),
    "another document": ('{"a": 1}', "has no `resourceSpans`"),
    "metrics": ('{"resourceMetrics": []}', "holds metrics and no traces"),
    "a text": ('"x"', "is not a JSON object"),
    "only other spans": (json.dumps(request(span({"http.method": "GET"}))), "1 span and none of generative AI"),
    "no spans": ('{"resourceSpans": [{"scopeSpans": null}]}', "none of generative AI"),
    "a wrong id": (json.dumps(request(span({}, "xyz"))), "'xyz' for its span id"),
    "no time": (json.dumps(request(span({}, startTimeUnixNano="soon"))), "'soon' for a time"),
    "a damaged line": (json.dumps(WHOLE) + "\n{\n", ":2"),
    "deep nesting": ('{"resourceSpans":' + "[" * 5_000 + "]" * 5_000 + "}", "nested"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_cannot_be_read_is_named_in_one_sentence(tmp_path, text, message):
    with pytest.raises(DataError, match=message) as raised:
        read(tmp_path, text)
    assert "traces.json" in str(raised.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["resourceSpans", "scopeSpans", "spans", "attributes", "key", "value", "events", "status", "stringValue", "context",
         "start_time", "traceId", "arrayValue", "values", "kvlistValue"]), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_no_document_breaks_the_reader(tmp_path_factory, data):
    with suppress(DataError):
        read(tmp_path_factory.mktemp("otlp"), json.dumps(data))


@given(
    st.dictionaries(st.sampled_from(sorted({name for one in CONVENTIONS.values() for name in one})), JSON, max_size=6)
)
def test_no_attributes_break_the_conversion(attributes):
    assert genai_attributes(attributes).items() >= attributes.items()
