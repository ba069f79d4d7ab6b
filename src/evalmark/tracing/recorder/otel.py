"""GenAI spans of OpenTelemetry as sessions, by the semantic conventions for generative AI of version 1.41.

https://opentelemetry.io/docs/specs/semconv/gen-ai/ names the attributes. Inputs and outputs are there where the
instrumentation is told to capture content; without, spans are recorded with times, models and tokens alone.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalmark.core.lazy import need
from evalmark.core.values.session import SpanKind
from evalmark.core.values.usage import Usage
from evalmark.runs.transcripts.contents import as_plain, get_field

from .door import record
from .under_way import OpenSession, OpenSpan

MOST_TRACES = 1_000
"""Traces that may be under way; the oldest is recorded as far as it has come when more begin."""
MOST_SPANS = 10_000
"""GenAI spans of one trace that are kept."""
_KINDS: Mapping[str, SpanKind] = {
    "chat": "model",
    "text_completion": "model",
    "generate_content": "model",
    "execute_tool": "tool",
    "retrieval": "retrieval",
}
"""By `gen_ai.operation.name`; agents, workflows, embeddings and whatever comes are steps."""
_CONVERSATION = "gen_ai.conversation.id"
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cache_read.input_tokens",
    "cache_write_tokens": "cache_creation.input_tokens",
    "reasoning_tokens": "reasoning.output_tokens",
}
"""The fields of `Usage`, and what each is called behind `gen_ai.usage.`."""
_BILLION = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A span of OpenTelemetry that has ended, GenAI's or not."""

    trace: str
    """32 hex digits."""
    id: str
    """16 hex digits."""
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
        """Whether the conventions for generative AI name it."""
        return any(name.startswith("gen_ai.") for name in self.attributes)


def span_processor(project: str, **options: Any) -> Any:
    """A SpanProcessor for `TracerProvider.add_span_processor`: each trace with GenAI spans becomes answers of a session.

    The outermost GenAI spans are the answers, those inside are their steps; a trace with a `gen_ai.conversation.id` is
    part of the session of that conversation. `options` are those of `record`.

    Raises:
        ConfigError: an option cannot be used.
        MissingExtraError: opentelemetry-sdk is not installed.
    """
    base = need("opentelemetry.sdk.trace", "otel").SpanProcessor
    processor: Any = type("EvalmarkSpanProcessor", (_Processor, base), {})()
    processor.begin(project, options)
    return processor


class _Processor:
    """Gathers the spans of a trace until the first of them has ended, the last to do so."""

    def begin(self, project: str, options: Mapping[str, Any]) -> None:
        """Say where the spans go."""
        self._project, self._options = project, dict(options)
        record(project, **options)  # so that a wrong option is said now
        self._lock = threading.RLock()
        self._traces: dict[str, list[Ended]] = {}

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Nothing is recorded before the end."""

    def on_end(self, span: Any) -> None:
        """Keep a span; with the first of its trace, record them all."""
        try:
            ended = _read(span)
        except (AttributeError, TypeError, ValueError):  # a span of another make
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
        """Record what is under way as far as it has come."""
        with self._lock:
            for spans in self._traces.values():
                self._emit(spans)
            self._traces.clear()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until what has ended is in the store."""
        flush = need("evalmark.recording").flush
        return bool(flush(timeout_millis / 1000))

    def _emit(self, spans: Iterable[Ended]) -> None:
        for span in answers_of(list(spans), self._project, self._options):
            if span.session.desk is not None:
                span.session.desk.put(span)


def answers_of(spans: list[Ended], project: str, options: Mapping[str, Any]) -> Iterator[OpenSpan]:
    """The GenAI spans of one trace, ready for the desk: each after those inside of it, all of one session."""
    known = {span.id: span for span in spans}
    wanted = [span for span in spans if span.is_genai]
    if not wanted:
        return
    key = next((str(span.attributes[_CONVERSATION]) for span in wanted if span.attributes.get(_CONVERSATION)), None)
    session = record(project, **({"session": key or f"trace {spans[0].trace}"} | dict(options))).open()
    session.started = min(span.started for span in wanted) / _BILLION
    session.said = dict(session.metadata)
    made: dict[str, OpenSpan] = {}
    for span in sorted(wanted, key=lambda one: (one.started, -one.ended)):  # what is around something comes before it
        made[span.id] = _made(span, session, made.get(_around(span, known)))
    yield from reversed(made.values())


def _around(span: Ended, known: Mapping[str, Ended]) -> str:
    """The id of the innermost GenAI span around one; empty where there is none."""
    above = known.get(span.parent)
    for _ in range(len(known)):
        if above is None or above.is_genai:
            break
        above = known.get(above.parent)
    return "" if above is None else above.id


def _made(span: Ended, session: OpenSession, above: OpenSpan | None) -> OpenSpan:
    said = span.attributes
    operation = str(said.get("gen_ai.operation.name", ""))
    made = OpenSpan(session, above, kind=_KINDS.get(operation, "run" if above is None else "step"))
    made.id = span.id
    made.parent = "" if above is None else above.id
    made.name = str(said.get("gen_ai.tool.name") or said.get("gen_ai.agent.name") or span.name)
    made.started, made.seconds = span.started / _BILLION, max(0, span.ended - span.started) / _BILLION
    made.model = str(said.get("gen_ai.response.model") or said.get("gen_ai.request.model") or "")
    made.template = str(said.get("gen_ai.prompt.name") or "")
    made.input, made.output, made.error = _input(said), _output(said), span.error
    made.usage = _usage(said)
    if made.kind == "retrieval" and made.answer is not made:
        made.answer.retrieved.append(made.output)
    return made


def _input(said: Mapping[str, Any]) -> Any:
    """What was asked: a tool's arguments, a query, the one message of a user, or all messages."""
    for name in ("gen_ai.tool.call.arguments", "gen_ai.retrieval.query.text"):
        if name in said:
            return _data(said[name])
    turns = _turns(_data(said.get("gen_ai.input.messages")))
    asked = [turn["content"] for turn in turns if turn["role"] != "system"]
    return asked[0] if len(asked) == 1 and turns[-1]["role"] == "user" else turns or None


def _output(said: Mapping[str, Any]) -> Any:
    for name in ("gen_ai.tool.call.result", "gen_ai.retrieval.documents"):
        if name in said:
            return _data(said[name])
    turns = _turns(_data(said.get("gen_ai.output.messages")))
    return turns[-1]["content"] if turns else None


def _turns(messages: Any) -> list[dict[str, Any]]:
    found = messages if isinstance(messages, list) else []
    return [
        {"role": str(message.get("role", "")), "content": _said(message)}
        for message in found
        if isinstance(message, dict)
    ]


def _said(message: Mapping[str, Any]) -> Any:
    """The text of a message, where its parts are texts; else the parts."""
    parts = message.get("parts", message.get("content"))
    if not isinstance(parts, list):
        return parts
    spoken = [one for one in parts if get_field(one, "type") != "reasoning"]
    texts = [get_field(one, "content") for one in spoken if get_field(one, "type") == "text"]
    return "".join(map(str, texts)) if len(texts) == len(spoken) else spoken


def _usage(said: Mapping[str, Any]) -> Usage | None:
    counts = {field: _count(said.get(f"gen_ai.usage.{name}")) for field, name in _COUNTS.items()}
    return None if all(count is None for count in counts.values()) else Usage(**counts)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _data(value: Any) -> Any:
    """What an attribute holds: structured where the instrumentation can, else JSON in a text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return as_plain(value)


def _read(span: Any) -> Ended:
    """A span of the SDK. Raises AttributeError, TypeError or ValueError where it is none."""
    context, parent, status = span.context, span.parent, span.status
    is_failed = status.status_code.name == "ERROR"
    attributes = dict(span.attributes or {})
    kind = str(attributes.get("error.type") or "error")
    return Ended(
        trace=format(context.trace_id, "032x"),
        id=format(context.span_id, "016x"),
        parent="" if parent is None or parent.is_remote else format(parent.span_id, "016x"),
        name=str(span.name),
        started=int(span.start_time),
        ended=int(span.end_time),
        attributes=attributes,
        error=" ".join(f"{kind}: {status.description or ''}".split()).rstrip(":") if is_failed else None,
    )
