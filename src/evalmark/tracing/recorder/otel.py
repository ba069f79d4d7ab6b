"""Record OpenTelemetry spans that follow the semantic conventions for generative AI (version 1.41) as sessions.

Other conventions are converted first (`conventions`). The attributes are described at https://opentelemetry.io/docs/specs/semconv/gen-ai/. Inputs and outputs are recorded only if
the instrumentation captures content; otherwise spans have times, models and token counts only.
"""

import json
import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.core.lazy import need
from evalmark.core.values.case import Usage
from evalmark.core.values.session import SpanKind
from evalmark.runs.transcripts.contents import as_plain, get_field

from .conventions import CONVERSATION, COST, INPUT, OUTPUT, genai_attributes
from .queue_registry import flush
from .record import record
from .spans import OpenSession, OpenSpan

MOST_TRACES = 1_000
"""Largest number of open traces; when more start, the ended spans of the oldest are recorded."""
MOST_SPANS = 10_000
"""Largest number of spans recorded of one trace."""
_KINDS: Mapping[str, SpanKind] = {
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "execute_tool": "tool",
    "retrieval": "retrieval",
}
"""Kinds by `gen_ai.operation.name`; all others (agents, workflows, embeddings) are steps."""
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cache_read.input_tokens",
    "cache_write_tokens": "cache_creation.input_tokens",
    "reasoning_tokens": "reasoning.output_tokens",
}
"""The fields of `Usage`, and the names of the attributes after `gen_ai.usage.`."""
_BILLION = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSpan:
    """An ended OpenTelemetry span."""

    trace: str
    """32 hexadecimal digits."""
    id: str
    """16 hexadecimal digits."""
    parent: str = ""
    """Empty for the first span of a trace in this process."""
    name: str = ""
    started: int
    """Nanoseconds since 1970."""
    ended: int
    attributes: Mapping[str, Any]
    error: str | None = None

    @property
    def is_genai(self) -> bool:
        """Whether it has attributes of the conventions for generative AI."""
        return any(name.startswith("gen_ai.") for name in self.attributes)


def span_processor(project: str, **options: Any) -> Any:
    """Create a span processor that records traces of generative AI as sessions.

    The outermost GenAI spans of a trace become answers, those inside become their steps. Traces with the same
    `gen_ai.conversation.id` belong to one session.

    Args:
        project: The name under which the sessions are found.
        options: The options of `record`.

    Returns:
        A processor for `TracerProvider.add_span_processor`.

    Raises:
        ConfigError: An option is not valid.
        MissingExtraError: opentelemetry-sdk is not installed.

    Example:
        `tracer_provider.add_span_processor(span_processor("demoChatGPT"))`
    """
    base = need("opentelemetry.sdk.trace", "otel").SpanProcessor
    processor: Any = type("EvalmarkSpanProcessor", (_Processor, base), {})()
    processor.begin(project, options)
    return processor


class _Processor:
    """Collects the spans of each trace until its root span ends, which is the last one to end."""

    def begin(self, project: str, options: Mapping[str, Any]) -> None:
        """Set the project and the options of `record`."""
        self._project, self._options = project, dict(options)
        record(project, **options)  # reports wrong options at once
        self._lock = threading.RLock()
        self._traces: dict[str, list[EndedSpan]] = {}

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Do nothing: spans are read when they end."""

    def on_end(self, span: Any) -> None:
        """Collect an ended span; if it is the root of its trace, record the trace."""
        try:
            ended = _read(span)
        except (AttributeError, TypeError, ValueError):  # not a span of the SDK
            return
        with self._lock:
            if ended.trace not in self._traces and len(self._traces) >= MOST_TRACES:
                self._emit(self._traces.pop(next(iter(self._traces))))
            spans = self._traces.setdefault(ended.trace, [])
            if len(spans) < MOST_SPANS:
                spans.append(ended)
            if not ended.parent:
                self._emit(self._traces.pop(ended.trace))

    def shutdown(self) -> None:
        """Record the ended spans of all open traces."""
        with self._lock:
            for spans in self._traces.values():
                self._emit(spans)
            self._traces.clear()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until all recorded spans are in the store."""
        return flush(timeout_millis / 1000)

    def _emit(self, spans: Iterable[EndedSpan]) -> None:
        for span in spans_of_trace(list(spans), self._project, self._options):
            if span.session.sink is not None:
                span.session.sink(span)


def spans_of_trace(spans: list[EndedSpan], project: str, options: Mapping[str, Any]) -> Iterator[OpenSpan]:
    """Yield the GenAI spans of one trace as spans of one session, inner spans before those around them."""
    by_id = {span.id: span for span in spans}
    genai = [span for span in spans if span.is_genai]
    if not genai:
        return
    key = next((str(span.attributes[CONVERSATION]) for span in genai if span.attributes.get(CONVERSATION)), None)
    session = record(project, **({"session": key or f"trace {spans[0].trace}"} | dict(options))).open()
    session.started = min(span.started for span in genai) / _BILLION
    session.metadata_copy = dict(session.metadata)
    open_spans: dict[str, OpenSpan] = {}
    outer = {span.id: _outer_id(span, by_id) for span in genai}

    def place(span: EndedSpan) -> tuple[int, int, int]:
        """Outer spans come first, whatever their clocks say."""
        depth, around = 0, outer[span.id]
        while around and depth <= len(outer):
            depth, around = depth + 1, outer.get(around, "")
        return depth, span.started, -span.ended

    for span in sorted(genai, key=place):
        open_spans[span.id] = _open_span(span, session, open_spans.get(outer[span.id]))
    yield from reversed(open_spans.values())


def _outer_id(span: EndedSpan, by_id: Mapping[str, EndedSpan]) -> str:
    """The id of the innermost GenAI span around this one; empty if there is none."""
    outer = by_id.get(span.parent)
    for _ in range(len(by_id)):
        if outer is None or outer.is_genai:
            break
        outer = by_id.get(outer.parent)
    return "" if outer is None else outer.id


def _open_span(span: EndedSpan, session: OpenSession, outer: OpenSpan | None) -> OpenSpan:
    attributes = span.attributes
    operation = str(attributes.get("gen_ai.operation.name", ""))
    open_span = OpenSpan(session, outer, kind=_KINDS.get(operation, "run" if outer is None else "step"))
    open_span.id = span.id
    open_span.parent = "" if outer is None else outer.id
    open_span.name = str(attributes.get("gen_ai.tool.name") or attributes.get("gen_ai.agent.name") or span.name)
    open_span.started, open_span.seconds = span.started / _BILLION, max(0, span.ended - span.started) / _BILLION
    open_span.model = str(attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model") or "")
    open_span.template = str(attributes.get("gen_ai.prompt.name") or "")
    open_span.input, open_span.output, open_span.error = _input(attributes), _output(attributes), span.error
    open_span.usage, open_span.cost = _usage(attributes), _cost(attributes.get(COST))
    if open_span.kind == "retrieval" and open_span.answer is not open_span:
        open_span.answer.retrieved.append(open_span.output)
    return open_span


def _input(attributes: Mapping[str, Any]) -> Any:
    """The input: the arguments of a tool, a query, the only message of a user, or all messages."""
    for name in ("gen_ai.tool.call.arguments", "gen_ai.retrieval.query.text"):
        if name in attributes:
            return _data(attributes[name])
    turns = _turns(_data(attributes.get("gen_ai.input.messages")))
    if not turns and INPUT in attributes:
        return _data(attributes[INPUT])
    contents = [turn["content"] for turn in turns if turn["role"] != "system"]
    return contents[0] if len(contents) == 1 and turns[-1]["role"] == "user" else turns or None


def _output(attributes: Mapping[str, Any]) -> Any:
    for name in ("gen_ai.tool.call.result", "gen_ai.retrieval.documents"):
        if name in attributes:
            return _data(attributes[name])
    turns = _turns(_data(attributes.get("gen_ai.output.messages")))
    return turns[-1]["content"] if turns else _data(attributes.get(OUTPUT))


def _turns(messages: Any) -> list[dict[str, Any]]:
    items = messages if isinstance(messages, list) else []
    return [
        {"role": str(message.get("role", "")), "content": _message_content(message)}
        for message in items
        if isinstance(message, dict)
    ]


def _message_content(message: Mapping[str, Any]) -> Any:
    """The text of a message if all its parts are texts; otherwise the parts."""
    parts = message.get("parts", message.get("content"))
    if not isinstance(parts, list):
        return parts
    visible = [one for one in parts if get_field(one, "type") != "reasoning"]
    texts = [get_field(one, "content") for one in visible if get_field(one, "type") == "text"]
    return "".join(map(str, texts)) if len(texts) == len(visible) else visible


def _usage(attributes: Mapping[str, Any]) -> Usage | None:
    counts = {field: _count(attributes.get(f"gen_ai.usage.{name}")) for field, name in _COUNTS.items()}
    return None if all(count is None for count in counts.values()) else Usage(**counts)


def _cost(value: Any) -> float | None:
    """US dollars; None if the attribute does not say."""
    try:
        cost = float(value)
    except (TypeError, ValueError):
        return None
    return cost if 0 <= cost < math.inf else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _data(value: Any) -> Any:
    """The value of an attribute: structured data, or a text that may hold JSON."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return as_plain(value)


def _read(span: Any) -> EndedSpan:
    """Read a span of the SDK; raises AttributeError, TypeError or ValueError if it is not one."""
    context, parent, status = span.context, span.parent, span.status
    is_failed = status.status_code.name == "ERROR"
    attributes = genai_attributes(dict(span.attributes or {}))
    kind = str(attributes.get("error.type") or "error")
    return EndedSpan(
        trace=format(context.trace_id, "032x"),
        id=format(context.span_id, "016x"),
        parent="" if parent is None or parent.is_remote else format(parent.span_id, "016x"),
        name=str(span.name),
        started=int(span.start_time),
        ended=int(span.end_time),
        attributes=attributes,
        error=" ".join(f"{kind}: {status.description or ''}".split()).rstrip(":") if is_failed else None,
    )
