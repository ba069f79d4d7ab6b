"""A run as OpenTelemetry spans and evaluation events, in files and at an endpoint, and read back as sessions."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from evalmark.errors import ConfigError, EvalmarkError
from evalmark.interop.otel import LOGS, TRACES, send_to_otel, to_otel
from evalmark.interop.shared.export_run import ExportRun
from evalmark.models.providers.http import HttpClient
from evalmark.tracing.otlp_files import read_traces
from tests.reports.text import agents
from tests.reports.text.example import RUN


def entries(text, resources, scopes, name):
    for line in text.splitlines():
        for resource in json.loads(line)[resources]:
            for scope in resource[scopes]:
                yield from scope[name]


def fields(entry):
    return {item["key"]: next(iter(item["value"].values())) for item in entry["attributes"]}


def test_each_score_is_an_event_of_the_span_of_its_output():
    files = to_otel(ExportRun(run=RUN)).files
    spans = {span["spanId"]: span for span in entries(files[TRACES], "resourceSpans", "scopeSpans", "spans")}
    events = list(entries(files[LOGS], "resourceLogs", "scopeLogs", "logRecords"))
    scores = [score for result in RUN.results for score in result.scores if score.status != "skipped"]
    assert len(events) == len(scores)
    for event, score in zip(events, scores, strict=True):
        found = fields(event)
        assert event["eventName"] == "gen_ai.evaluation.result"
        assert event["traceId"] == spans[event["spanId"]]["traceId"]
        assert found["gen_ai.evaluation.name"] == score.name
        assert found.get("gen_ai.evaluation.score.label") == {True: "pass", False: "fail", None: None}[score.passed]
        assert ("error.type" in found) is (score.status != "scored")
        if score.status != "scored":
            assert "gen_ai.evaluation.score.value" not in found


def test_an_output_with_an_error_is_a_failed_span_without_an_output():
    files = to_otel(ExportRun(run=RUN)).files
    spans = list(entries(files[TRACES], "resourceSpans", "scopeSpans", "spans"))
    failed = [span for span in spans if span["status"]]
    assert len(failed) == sum(result.output.error is not None for result in RUN.results) > 0
    assert all("gen_ai.output.messages" not in fields(span) for span in failed)


@pytest.mark.parametrize("run", [RUN, agents.RUN], ids=["texts", "an agent with tools"])
def test_what_is_written_is_read_back_as_sessions(tmp_path, run):
    path = tmp_path / TRACES
    path.write_text(to_otel(ExportRun(run=run)).files[TRACES])
    traces = read_traces(path, "shop")
    answers = [span for span in traces.spans if not span.parent]
    tools = [span for span in traces.spans if span.parent]
    results = list(run.results)
    assert len(answers) == len(results)
    assert len(tools) == sum(len(result.output.tool_calls) for result in results)
    assert sorted(span.name for span in tools) == sorted(
        call.name for result in results for call in result.output.tool_calls
    )
    assert {span.error for span in answers} == {result.output.error for result in results}


class Endpoint(BaseHTTPRequestHandler):
    reply = (200, b"{}")
    seen: ClassVar[list[tuple[str, dict, dict]]] = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}, json.loads(body)))
        status, text = self.reply
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setattr(Endpoint, "seen", [])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def send(address, environ=None):
    files = to_otel(ExportRun(run=RUN)).files

    async def run() -> int:
        http = HttpClient({})
        try:
            return await send_to_otel(files, address, environ or {}, http, 10)
        finally:
            await http.close()

    return asyncio.run(run())


def test_each_line_is_a_request_to_the_endpoint(endpoint):
    assert send(f"{endpoint}/", {"OTEL_EXPORTER_OTLP_HEADERS": "X-Team=a, authorization=Bearer b"}) == 2
    assert [path for path, _, _ in Endpoint.seen] == ["/v1/traces", "/v1/logs"]
    assert all(headers["x-team"] == "a" for _, headers, _ in Endpoint.seen)
    assert all(headers["authorization"] == "Bearer b" for _, headers, _ in Endpoint.seen)
    assert all(headers["content-type"].startswith("application/json") for _, headers, _ in Endpoint.seen)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((401, b"who are you"), "status 401: who are you"),
        ((500, b""), "status 500"),
        ((200, b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}'), "3 of its entries were rejected: too old"),
    ],
)  # fmt: skip
def test_a_refusal_ends_the_export_with_one_sentence(endpoint, monkeypatch, reply, message):
    monkeypatch.setattr(Endpoint, "reply", reply)
    with pytest.raises(EvalmarkError, match=message):
        send(endpoint)
    assert len(Endpoint.seen) == 1


def test_a_wrong_address_or_header_sends_nothing(endpoint):
    with pytest.raises(ConfigError, match="--base-url"):
        send("ftp://127.0.0.1")
    with pytest.raises(ConfigError, match="write name=value"):
        send(endpoint, {"OTEL_EXPORTER_OTLP_HEADERS": "alone"})
    assert Endpoint.seen == []


def test_an_endpoint_that_is_not_there_is_one_sentence():
    with pytest.raises(EvalmarkError, match=r"127\.0\.0\.1:9"):
        send("http://127.0.0.1:9")
