"""Record LangChain chains and LangGraph graphs with a callback handler."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from evalmark.core.lazy import need
from evalmark.core.values.session import SpanKind
from evalmark.runs.transcripts.contents import get_field

from .record import record
from .spans import CURRENT, OpenSession, OpenSpan

MOST_OPEN = 10_000
"""Largest number of open runs; the oldest is discarded beyond it, since LangChain does not end every run."""
_HIDDEN = "langsmith:hidden"
"""The tag of internal runs of LangChain."""
_KEYS = ("session_id", "thread_id", "conversation_id")
"""Keys in the metadata of a run that may hold the session key of the app."""


def callback_handler(project: str, **options: Any) -> Any:
    """Create a callback handler that records each invocation of a chain or graph as an answer with its steps.

    Inside of an answer that is already being recorded, it adds steps to that answer.

    Args:
        project: The name under which the sessions are found.
        options: The options of `record`. Without `session`, a `session_id` or `thread_id` in the metadata or the
            configuration of a run is the session key.

    Returns:
        A handler for `config={"callbacks": [...]}`.

    Raises:
        ConfigError: An option is not valid.
        MissingExtraError: langchain-core is not installed.

    Example:
        `chain.invoke(question, config={"callbacks": [callback_handler("demoChatGPT")]})`
    """
    base = need("langchain_core.callbacks", "langchain").BaseCallbackHandler
    handler: Any = type("EvalmarkCallbackHandler", (_Handler, base), {"run_inline": True})()
    handler.begin(project, options)
    return handler


class _Handler:
    """The methods that LangChain calls; each run is a span, found by the id of the run."""

    def begin(self, project: str, options: Mapping[str, Any]) -> None:
        """Set the project and the options of `record`."""
        self._project, self._options = project, dict(options)
        record(project, **options)  # reports wrong options at once
        self._open: dict[UUID, OpenSpan] = {}
        self._parents: dict[UUID, UUID | None] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self._start("step", inputs, serialized, more)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        span, inputs = self._open.get(run_id), more.get("inputs")
        if span is not None and inputs is not None:  # for streams, only the end event has the input
            span.input = inputs
        self._end(run_id, outputs)

    def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        inputs = more.get("inputs")
        self._start("tool", input_str if inputs is None else inputs, serialized, more)

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, output)

    def on_retriever_start(self, serialized: Any, query: str, **more: Any) -> None:
        self._start("retrieval", query, serialized, more)

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, [get_field(document, "page_content") for document in documents])

    def on_llm_start(self, serialized: Any, prompts: Sequence[str], **more: Any) -> None:
        self._start("model", prompts[0] if len(prompts) == 1 else prompts, serialized, more)

    def on_chat_model_start(self, serialized: Any, messages: Sequence[Sequence[Any]], **more: Any) -> None:
        turns = [
            [{"role": get_field(m, "type"), "content": get_field(m, "content")} for m in batch] for batch in messages
        ]
        self._start("model", turns[0] if len(turns) == 1 else turns, serialized, more)

    def on_llm_end(self, response: Any, *, run_id: UUID, **more: Any) -> None:
        span = self._open.get(run_id)
        if span is None:
            return
        first = next(iter(next(iter(get_field(response, "generations") or ()), ()) or ()), None)
        message = get_field(first, "message")
        metadata = get_field(message, "response_metadata") or {}
        counted = get_field(message, "usage_metadata") or get_field(get_field(response, "llm_output"), "token_usage")
        span.usage = None if counted is None else dict(counted)
        span.model = str(get_field(metadata, "model_name") or span.model)
        self._end(run_id, get_field(first, "text") if message is None else message)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, error=error)

    on_tool_error = on_retriever_error = on_llm_error = on_chain_error

    def _start(self, kind: SpanKind, value: Any, serialized: Any, more: Mapping[str, Any]) -> None:
        """Start the span of a run; the steps of a hidden run are recorded as steps of the run around it."""
        run, parent_run = more["run_id"], more.get("parent_run_id")
        self._forget_oldest()
        self._parents[run] = parent_run
        if _HIDDEN in (more.get("tags") or ()):
            return
        parent = self._outer_span(parent_run)
        session = self._session(more.get("metadata") or {}) if parent is None else parent.session
        name = more.get("name") or get_field(serialized, "name") or ""
        span = OpenSpan(session, parent, kind="run" if parent is None and kind == "step" else kind, name=str(name))
        span.set_input(value)
        span.model = str(get_field(more.get("metadata"), "ls_model_name") or "")
        self._open[run] = span

    def _outer_span(self, run: UUID | None) -> OpenSpan | None:
        """The span around a new one: that of the parent run, or the current span of the app."""
        while run is not None:
            if run in self._open:
                return self._open[run]
            run = self._parents.get(run)
        current = CURRENT.get()
        return current if isinstance(current, OpenSpan) else None

    def _session(self, metadata: Mapping[str, Any]) -> OpenSession:
        current = CURRENT.get()
        if isinstance(current, OpenSession):
            return current
        key = next((metadata[name] for name in _KEYS if metadata.get(name)), None)
        options: dict[str, Any] = {"session": key} | self._options
        return record(self._project, **options).open()

    def _end(self, run: UUID, output: Any = None, error: BaseException | None = None) -> None:
        self._parents.pop(run, None)
        span = self._open.pop(run, None)
        if span is None:
            return
        if error is None:
            span.end(output)
        else:
            span.fail(error)

    def _forget_oldest(self) -> None:
        for runs in (self._open, self._parents):
            while len(runs) >= MOST_OPEN:
                runs.pop(next(iter(runs)))
