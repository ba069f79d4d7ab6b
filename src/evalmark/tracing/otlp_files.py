"""Read recorded traces from files of OpenTelemetry, as sessions for the store.

Files hold OTLP in its JSON form (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), as collectors write it, or spans as the
SDK of Python prints them: one JSON document, or one on each line.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evalmark.core.errors import DataError
from evalmark.core.text import count
from evalmark.core.values.session import Session, Span
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import open_file
from evalmark.inputs.documents.strict_json import parse_json

from .recorder.conventions import event_attributes, genai_attributes
from .recorder.otel import MOST_SPANS, EndedSpan, spans_of_trace
from .recorder.span_values import session_value, span_value

MOST_BYTES = 512 << 20
"""Largest file that is read."""
_HEX = {"trace": re.compile(r"(?:0x)?([0-9a-fA-F]{32})"), "span": re.compile(r"(?:0x)?([0-9a-fA-F]{16})")}
_SNAKE = re.compile(r"_([a-z])")
_ERROR = ("2", "STATUS_CODE_ERROR", "ERROR", "StatusCode.ERROR")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTraces:
    """The sessions of a file, with their spans."""

    sessions: tuple[Session, ...]
    spans: tuple[Span, ...]
    notes: tuple[str, ...]
    """What was left out, one sentence each."""

    @property
    def answers(self) -> int:
        """The number of answers: spans without another one around them."""
        return sum(not span.parent for span in self.spans)


def read_traces(path: Path, project: str) -> RecordedTraces:
    """Read the traces of a file as sessions of a project.

    The outermost spans of generative AI of a trace are answers, those inside are their steps; traces of one conversation are one
    session. Other spans, such as those of a web server, are left out. Reading a file again gives the same ids.

    Args:
        path: a file in OTLP's JSON form, or of spans of the SDK; one document, or one on each line.
        project: the name under which the sessions are found.

    Raises:
        DataError: the file cannot be read, or is not such a file.
    """
    traces: dict[str, list[EndedSpan]] = {}
    dropped = others = 0
    for span in _spans(path):
        spans = traces.setdefault(span.trace, [])
        if len(spans) < MOST_SPANS:
            spans.append(span)
        dropped += len(spans) == MOST_SPANS
        others += not span.is_genai
    found = [open_span for spans in traces.values() for open_span in spans_of_trace(spans, project, {})]
    if not found:
        raise PlacedError(
            str(path), f"{count(others, 'span')} and none of generative AI, so there is nothing to import."
        )
    sessions = {span.session.id: session_value(span.session) for span in found}
    notes = (
        [f"{count(others, 'other span')} of the traces, such as those of a web server, are left out."] if others else []
    )
    if dropped:
        notes.append(f"Of a trace with more than {MOST_SPANS:,} spans, the rest is left out.")
    return RecordedTraces(sessions=tuple(sessions.values()), spans=tuple(map(span_value, found)), notes=tuple(notes))


def _spans(path: Path) -> Iterator[EndedSpan]:
    with open_file(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise PlacedError(str(path), f"is larger than {MOST_BYTES >> 20} MiB; divide it, by lines if it has several.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlacedError(str(path), f"is not UTF-8: {error.reason} at byte {error.start:,}.") from None
    if not (first := text.lstrip()[:1]):
        raise PlacedError(str(path), "is empty.")
    lines = text.splitlines()
    is_whole = first == "[" or not _is_document(next(filter(str.strip, lines), ""))
    documents = [(1, text)] if is_whole else [(n, line) for n, line in enumerate(lines, 1) if line.strip()]
    for number, document in documents:
        place = f"{path}:{number}"
        for data in _as_list(parse_json(document, str(path), number)):
            yield from _of_document(data, place)


def _is_document(line: str) -> bool:
    """Return whether a line is a whole JSON document, so that the file has one on each line."""
    try:
        parse_json(line, "")
    except DataError:
        return False
    return True


def _of_document(data: Any, place: str) -> Iterator[EndedSpan]:
    """Yield the spans of an export request, or of one span that the SDK printed."""
    if not isinstance(data, dict):
        raise PlacedError(place, "is not a JSON object with `resourceSpans`, nor a span with a `context`.")
    if isinstance(data.get("context"), dict) and "start_time" in data:
        yield _sdk_span(data, place)
        return
    data = _camel(data)
    if "resourceSpans" not in data:
        known = {"resourceMetrics": "metrics", "resourceLogs": "logs"}
        kind = next((word for key, word in known.items() if key in data), "")
        found = (
            f"holds {kind} and no traces" if kind else "has no `resourceSpans`, so it is not a trace of OpenTelemetry"
        )
        raise PlacedError(place, f"{found}.")
    for resource in _as_list(data["resourceSpans"]):
        for scope in _scopes(resource):
            for span in _as_list(_camel(scope).get("spans")):
                yield _otlp_span(span, place)


def _scopes(resource: Any) -> list[Any]:
    fields = _camel(resource)
    return _as_list(fields.get("scopeSpans", fields.get("instrumentationLibrarySpans")))


def _otlp_span(data: Any, place: str) -> EndedSpan:
    fields = _camel(data)
    status = _camel(fields.get("status"))
    attributes = _attributes(fields.get("attributes"))
    events = [
        (str(_camel(event).get("name")), _attributes(_camel(event).get("attributes")))
        for event in _as_list(fields.get("events"))
    ]
    code, message = str(status.get("code", "")), str(status.get("message", ""))
    return EndedSpan(
        trace=_id(fields.get("traceId"), "trace", place),
        id=_id(fields.get("spanId"), "span", place),
        parent=_id(fields["parentSpanId"], "span", place) if fields.get("parentSpanId") else "",
        name=str(fields.get("name", "")),
        started=_nanoseconds(fields.get("startTimeUnixNano"), place),
        ended=_nanoseconds(fields.get("endTimeUnixNano") or fields.get("startTimeUnixNano"), place),
        attributes=genai_attributes({**event_attributes(events), **attributes}),
        error=_error(attributes, events, message) if code in _ERROR else None,
    )


def _sdk_span(data: Mapping[str, Any], place: str) -> EndedSpan:
    """Read a span as `Span.to_json` of OpenTelemetry's SDK for Python writes it."""
    context, status = data["context"], _dict(data.get("status"))
    attributes = _dict(data.get("attributes"))
    events = [(str(_dict(e).get("name")), _dict(_dict(e).get("attributes"))) for e in _as_list(data.get("events"))]
    is_failed = str(status.get("status_code")) in _ERROR
    return EndedSpan(
        trace=_id(context.get("trace_id"), "trace", place),
        id=_id(context.get("span_id"), "span", place),
        parent=_id(data["parent_id"], "span", place) if data.get("parent_id") else "",
        name=str(data.get("name", "")),
        started=_time(data.get("start_time"), place),
        ended=_time(data.get("end_time") or data.get("start_time"), place),
        attributes=genai_attributes({**event_attributes(events), **attributes}),
        error=_error(attributes, events, str(status.get("description", ""))) if is_failed else None,
    )


def _error(attributes: Mapping[str, Any], events: Sequence[tuple[str, Mapping[str, Any]]], message: str) -> str:
    """Describe a failure in one line: its type and its text."""
    thrown = next((fields for name, fields in events if name == "exception"), {})
    kind = str(attributes.get("error.type") or thrown.get("exception.type") or "error")
    text = (message or str(thrown.get("exception.message", ""))).removeprefix(f"{kind}: ")
    return " ".join(f"{kind}: {text}".split()).rstrip(":")


def _attributes(items: Any) -> dict[str, Any]:
    """Read a list of keys and typed values; a value of an unknown type is left out."""
    return {
        str(item["key"]): value
        for item in _as_list(items)
        if isinstance(item, dict) and "key" in item and (value := _value(item.get("value"))) is not None
    }


def _value(value: Any) -> Any:
    """Read a typed value; the depth of the document is limited by the JSON reader."""
    fields = _camel(value)
    for name in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if name in fields:
            return fields[name]
    if "intValue" in fields:
        text = str(fields["intValue"])
        return int(text) if re.fullmatch(r"-?\d{1,20}", text) else None
    if "arrayValue" in fields:
        return [_value(item) for item in _as_list(_camel(fields["arrayValue"]).get("values"))]
    if "kvlistValue" in fields:
        return _attributes(_camel(fields["kvlistValue"]).get("values"))
    return None


def _id(value: Any, kind: str, place: str) -> str:
    """Read an id: hexadecimal, or base64 as protobuf's own JSON form has it."""
    text = str(value)
    if match := _HEX[kind].fullmatch(text):
        return match[1].lower()
    size = 16 if kind == "trace" else 8
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:
        content = b""
    if len(content) != size:
        raise PlacedError(place, f"a span has {text[:40]!r} for its {kind} id; it takes {2 * size} hexadecimal digits.")
    return content.hex()


def _nanoseconds(value: Any, place: str) -> int:
    if not re.fullmatch(r"\d{1,19}", str(value)):
        raise PlacedError(place, f"a span has {str(value)[:40]!r} for a time; it takes nanoseconds since 1970.")
    return int(value)


def _time(value: Any, place: str) -> int:
    try:
        return round(datetime.fromisoformat(str(value)).timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        raise PlacedError(place, f"a span has {str(value)[:40]!r} for a time; it takes an ISO 8601 time.") from None


def _camel(value: Any) -> dict[str, Any]:
    """Return a mapping with names as in OTLP's JSON form; some exporters write them with underscores."""
    if not isinstance(value, dict):
        return {}
    return {_SNAKE.sub(lambda match: match[1].upper(), str(name)): item for name, item in value.items()}


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
