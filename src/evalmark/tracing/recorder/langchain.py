"""What a chain of LangChain does, or a graph of LangGraph, recorded by a callback handler."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from evalmark.core.lazy import need
from evalmark.core.values.session import SpanKind
from evalmark.runs.transcripts.contents import get_field

from .door import record
from .under_way import CURRENT, OpenSession, OpenSpan

MOST_OPEN = 10_000
"""Runs that may be under way; a run that LangChain never ends is forgotten when so many more have begun."""
_HIDDEN = "langsmith:hidden"
"""The tag of runs that are LangChain's own business."""
_KEYS = ("session_id", "thread_id", "conversation_id")
"""Under which the metadata of a run may hold what the app knows the session by."""


def callback_handler(project: str, **options: Any) -> Any:
    """A handler for `config={"callbacks": [...]}`: each invocation is an answer, and what happens in it are its steps.

    Inside of an answer that is recorded otherwise it adds steps to that one. `options` are those of `record`; a
    `session_id` or `thread_id` in the metadata or the configuration of a run says which session it is part of.

    Raises:
        ConfigError: an option cannot be used.
        MissingExtraError: langchain-core is not installed.
    """
    base = need("langchain_core.callbacks", "langchain").BaseCallbackHandler
    handler: Any = type("EvalmarkCallbackHandler", (_Handler, base), {"run_inline": True})()
    handler.begin(project, options)
    return handler


class _Handler:
    """What LangChain calls; each run of its own is a span, found again by its id."""

    def begin(self, project: str, options: Mapping[str, Any]) -> None:
        """Say where the spans go."""
        self._project, self._options = project, dict(options)
        record(project, **options)  # so that a wrong option is said now
        self._open: dict[UUID, OpenSpan] = {}
        self._above: dict[UUID, UUID | None] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self._start("step", inputs, serialized, more)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        span, inputs = self._open.get(run_id), more.get("inputs")
        if span is not None and inputs is not None:  # of what is streamed, only the end knows what went in
            span.input = inputs
        self._end(run_id, outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, error=error)

    def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
        given = more.get("inputs")
        self._start("tool", input_str if given is None else given, serialized, more)

    def on_tool_end(self, output: Any, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, error=error)

    def on_retriever_start(self, serialized: Any, query: str, **more: Any) -> None:
        self._start("retrieval", query, serialized, more)

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, [get_field(document, "page_content") for document in documents])

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, error=error)

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
        said = get_field(message, "response_metadata") or {}
        counted = get_field(message, "usage_metadata") or get_field(get_field(response, "llm_output"), "token_usage")
        span.usage = None if counted is None else dict(counted)
        span.model = str(get_field(said, "model_name") or span.model)
        self._end(run_id, get_field(first, "text") if message is None else message)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self._end(run_id, error=error)

    def _start(self, kind: SpanKind, given: Any, serialized: Any, more: Mapping[str, Any]) -> None:
        """Begin the span of a run, unless LangChain hides it; its steps are then those of the run around it."""
        run, above = more["run_id"], more.get("parent_run_id")
        self._forget_oldest()
        self._above[run] = above
        if _HIDDEN in (more.get("tags") or ()):
            return
        parent = self._around(above)
        session = self._session(more.get("metadata") or {}) if parent is None else parent.session
        name = more.get("name") or get_field(serialized, "name") or ""
        span = OpenSpan(session, parent, kind="run" if parent is None and kind == "step" else kind, name=str(name))
        span.asked(given)
        span.model = str(get_field(more.get("metadata"), "ls_model_name") or "")
        self._open[run] = span

    def _around(self, run: UUID | None) -> OpenSpan | None:
        """The span that a new one is a step of: that of the run above, or what is under way in the app."""
        while run is not None:
            if run in self._open:
                return self._open[run]
            run = self._above.get(run)
        found = CURRENT.get()
        return found if isinstance(found, OpenSpan) else None

    def _session(self, metadata: Mapping[str, Any]) -> OpenSession:
        found = CURRENT.get()
        if isinstance(found, OpenSession):
            return found
        key = next((metadata[name] for name in _KEYS if metadata.get(name)), None)
        options: dict[str, Any] = {"session": key} | self._options
        return record(self._project, **options).open()

    def _end(self, run: UUID, output: Any = None, error: BaseException | None = None) -> None:
        self._above.pop(run, None)
        span = self._open.pop(run, None)
        if span is None:
            return
        if error is None:
            span.end(output)
        else:
            span.fail(error)

    def _forget_oldest(self) -> None:
        for known in (self._open, self._above):
            while len(known) >= MOST_OPEN:
                known.pop(next(iter(known)))
