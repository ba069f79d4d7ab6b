"""Export a run to OpenTelemetry: a trace for each output, and an event `gen_ai.evaluation.result` for each score.

Names are those of the semantic conventions for generative AI, https://opentelemetry.io/docs/specs/semconv/gen-ai/; files and
requests are OTLP in its JSON form, a whole request on each line.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.foreign.entry_points import own_version
from evalmark.core.text import one_line
from evalmark.core.values.case import ToolCall
from evalmark.core.values.plain_data import canonical, fingerprint
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result, Score
from evalmark.models.providers.addresses import validate_address
from evalmark.models.providers.http import HttpClient

from .shared.export_run import ExportResult, ExportRun

TRACES, LOGS = "traces.jsonl", "logs.jsonl"
PATHS: Mapping[str, str] = {TRACES: "v1/traces", LOGS: "v1/logs"}
"""Where an OTLP endpoint takes the lines of each file."""
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
"""The variable with the headers of requests, as `name=value,name=value`."""
_BATCH = 200
"""Results in one request; collectors refuse bodies of more than 20 MiB by default."""
_MOST = 10_000
"""Characters of an input, an output or a reason."""
_SCOPE = "evalmark"
_LABELS = {True: "pass", False: "fail"}


def to_otel(export_run: ExportRun) -> ExportResult:
    """Convert a run to lines of OTLP requests: its outputs as spans, its scores as log records.

    When each output was made is unknown, so all spans begin with the run and are as long as the output took.
    """
    run = export_run.run
    files = {
        TRACES: "".join(_lines(run, "resourceSpans", "scopeSpans", "spans", _spans)),
        LOGS: "".join(_lines(run, "resourceLogs", "scopeLogs", "logRecords", _records)),
    }
    remark = "When an output was made is not stored: all spans begin with the run, and are as long as the output took."
    return ExportResult(files=files, remarks=(remark,))


async def send_to_otel(
    files: Mapping[str, str], base_url: str, environ: Mapping[str, str], http: HttpClient, within: float
) -> int:
    """Send the lines of an export to an OTLP endpoint, and return the number of requests; each is sent once.

    Args:
        files: the files of `to_otel`.
        base_url: the address of the endpoint, such as http://127.0.0.1:4318.
        environ: the environment, for `OTEL_EXPORTER_OTLP_HEADERS`.
        http: the HTTP client.
        within: seconds for each request.

    Raises:
        ConfigError: the address or a header is invalid; nothing was sent.
        EvalmarkError: the endpoint is unreachable, or refused a request.
    """
    address, headers = validate_address(base_url, "--base-url").removesuffix("/"), _headers(environ)
    sent = 0
    for name, path in PATHS.items():
        for line in files[name].splitlines():
            response = await http.post(f"{address}/{path}", line.encode(), headers, within=within)
            if fault := _fault(response.status, response.body):
                before = f" {sent:,} requests were accepted before." if sent else ""
                raise EvalmarkError(f"{address}/{path} refused the export: {fault}.{before}")
            sent += 1
    return sent


def _headers(environ: Mapping[str, str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for pair in filter(str.strip, environ.get(HEADERS, "").split(",")):
        name, sign, value = pair.partition("=")
        if not (sign and name.strip().isascii() and name.strip().isprintable() and value.strip().isprintable()):
            raise ConfigError(f"{HEADERS}: write name=value, several with commas between them.")
        headers[name.strip().lower()] = value.strip()
    return headers


def _fault(status: int, body: bytes) -> str:
    """Return why a request was not accepted as a whole; empty if it was."""
    try:
        reply = json.loads(body) if body.strip() else {}
    except ValueError:
        reply = {}
    part = reply.get("partialSuccess") if isinstance(reply, dict) else None
    if status != 200:
        return f"status {status}: {one_line(body.decode(errors='replace'), 200)}"
    if isinstance(part, dict) and (rejected := part.get("rejectedSpans") or part.get("rejectedLogRecords")):
        return f"{rejected} of its entries were rejected: {one_line(str(part.get('errorMessage', '')), 200)}"
    return ""


def _lines(run: Run, resources: str, scopes: str, entries: str, make: Any) -> Iterator[str]:
    resource = {"attributes": _attributes({"service.name": run.name, "evalmark.run": run.id})}
    scope = {"name": _SCOPE, "version": own_version()}
    for part in _batches(run.results):
        found = [entry for result in part for entry in make(run, result)]
        if found:
            yield f"{json.dumps({resources: [{'resource': resource, scopes: [{'scope': scope, entries: found}]}]})}\n"


def _batches(results: Iterable[Result]) -> Iterator[Sequence[Result]]:
    batch: list[Result] = []
    for result in results:
        batch.append(result)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _spans(run: Run, result: Result) -> Iterator[dict[str, Any]]:
    trace, span = _ids(run, result)
    start, end = _times(run, result)
    case, output = result.trial.case, result.output
    texts: list[Mapping[str, Any]] = [{"role": turn.role, "content": turn.content} for turn in case.history]
    texts.append({"role": "user", "content": case.input})
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": result.trial.target,
        "gen_ai.input.messages": json.dumps([_message(text["role"], text["content"]) for text in texts]),
        "gen_ai.output.messages": json.dumps([_message("assistant", output.value)]) if output.error is None else None,
        "gen_ai.usage.input_tokens": output.usage and output.usage.input_tokens,
        "gen_ai.usage.output_tokens": output.usage and output.usage.output_tokens,
        "error.type": None if output.error is None else output.error.partition(":")[0],
        "evalmark.case": case.id,
        "evalmark.dataset": result.trial.dataset,
        "evalmark.repeat": result.trial.repeat,
        "evalmark.verdict": result.verdict,
        "evalmark.expected": None if case.expected is None else _text(case.expected),
    }
    yield {
        "traceId": trace,
        "spanId": span,
        "name": f"invoke_agent {result.trial.target}".strip(),
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _attributes(attributes),
        "status": {} if output.error is None else {"code": 2, "message": output.error},
    }
    for number, call in enumerate(output.tool_calls):
        yield _tool_span(call, trace, span, number, (start, end))


def _tool_span(call: ToolCall, trace: str, parent: str, number: int, times: tuple[int, int]) -> dict[str, Any]:
    start, end = times
    length = None if call.seconds is None else round(call.seconds * 1e9)
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id or None,
        "gen_ai.tool.call.arguments": _text(call.arguments),
        "gen_ai.tool.call.result": None if call.result is None else _text(call.result),
        "error.type": None if call.error is None else call.error.partition(":")[0],
    }
    return {
        "traceId": trace,
        "spanId": fingerprint("otel-tool-1", parent, number)[:16],
        "parentSpanId": parent,
        "name": f"execute_tool {call.name}",
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end if length is None else start + length),
        "attributes": _attributes(attributes),
        "status": {} if call.error is None else {"code": 2, "message": call.error},
    }


def _records(run: Run, result: Result) -> Iterator[dict[str, Any]]:
    trace, span = _ids(run, result)
    _, end = _times(run, result)
    for score in result.scores:
        if score.status == "skipped":  # the metric does not apply to the case
            continue
        yield {
            "timeUnixNano": str(end),
            "eventName": "gen_ai.evaluation.result",
            "traceId": trace,
            "spanId": span,
            "attributes": _attributes(_evaluation(score)),
        }


def _evaluation(score: Score) -> dict[str, Any]:
    number = score.value if score.value is not None else score.raw if isinstance(score.raw, float) else None
    return {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.score.value": number if score.status == "scored" else None,
        "gen_ai.evaluation.score.label": None if score.passed is None else _LABELS[score.passed],
        "gen_ai.evaluation.explanation": score.reason[:_MOST] or None,
        "error.type": None if score.status == "scored" else score.status,
    }


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": _text(content)}]}


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))[:_MOST]


def _ids(run: Run, result: Result) -> tuple[str, str]:
    """Return the ids of trace and span, which are the same in every export of the run."""
    whole = fingerprint("otel-1", run.id, canonical(result.trial.id))
    return fingerprint("otel-trace-1", whole)[:32], whole[:16]


def _times(run: Run, result: Result) -> tuple[int, int]:
    """Return when the run began, and that time plus the length of the output, in nanoseconds since 1970."""
    try:
        began = datetime.fromisoformat(run.created)
    except ValueError:
        began = datetime.fromtimestamp(0, UTC)
    start = (
        (began.replace(tzinfo=began.tzinfo or UTC) - datetime.fromtimestamp(0, UTC))
        // timedelta(microseconds=1)
        * 1_000
    )
    return start, start + round((result.output.seconds or 0) * 1e9)


def _attributes(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in fields.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
