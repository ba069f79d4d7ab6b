"""The real SDK of OpenTelemetry hands its spans on."""

import json

import pytest

from evalmark import ConfigError
from evalmark.tracing.recorder.otel import span_processor

from .test_otel import AGENT, CHAT, SAID, TOOL

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not installed")


@pytest.fixture
def tracer(store):
    provider = sdk.TracerProvider()
    provider.add_span_processor(span_processor("demo", store=store))
    yield provider.get_tracer("test")
    provider.shutdown()


def test_traces_of_the_sdk_are_sessions(tracer, kept):
    for turn in range(2):
        with (
            tracer.start_as_current_span("GET /chat"),
            tracer.start_as_current_span("agent", attributes=AGENT | {"gen_ai.output.messages": json.dumps(SAID)}),
        ):
            with tracer.start_as_current_span("tool", attributes=TOOL):
                pass
            with pytest.raises(KeyError), tracer.start_as_current_span(f"chat {turn}", attributes=CHAT):
                raise KeyError("gone")
    (session,) = kept()
    assert session.metadata == {"session": "c1"}
    assert [(a.name, a.input, a.output) for a in session.answers] == [("weather", "Weather in Oslo?", "Rainy.")] * 2
    assert [s.error for s in session.spans if s.kind == "model"] == ["error: KeyError: 'gone'"] * 2
    assert len(session.spans) == 6


def test_a_wrong_option_is_said_at_once():
    with pytest.raises(ConfigError, match="share of sessions"):
        span_processor("demo", sample=5)
