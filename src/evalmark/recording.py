"""Record what an app does for its users, in the store, as a source of test cases.

`record` is the decorator and context manager, `step` records the steps of an answer, and `flush` waits until everything is
stored. `callback_handler` records LangChain and LangGraph, `span_processor` records OpenTelemetry spans. Recording does not
slow the app down noticeably and never raises.
"""

from typing import TYPE_CHECKING

from evalmark.core.lazy import lazy_getattr

if TYPE_CHECKING:
    from evalmark.tracing.recorder.langchain import callback_handler
    from evalmark.tracing.recorder.otel import span_processor
    from evalmark.tracing.recorder.queue_registry import flush
    from evalmark.tracing.recorder.record import record, step
    from evalmark.tracing.recorder.spans import OpenSession, OpenSpan, current

__all__ = [
    "OpenSession",
    "OpenSpan",
    "callback_handler",
    "current",
    "flush",
    "record",
    "span_processor",
    "step",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "OpenSession": "evalmark.tracing.recorder.spans",
        "OpenSpan": "evalmark.tracing.recorder.spans",
        "callback_handler": "evalmark.tracing.recorder.langchain",
        "current": "evalmark.tracing.recorder.spans",
        "flush": "evalmark.tracing.recorder.queue_registry",
        "record": "evalmark.tracing.recorder.record",
        "span_processor": "evalmark.tracing.recorder.otel",
        "step": "evalmark.tracing.recorder.record",
    },
)
