"""Terminal text of one model or tool call: request, reply, tokens, cost and time."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from evalmark.core.money import money
from evalmark.core.text import clean, count, one_line
from evalmark.core.values.call import Call, Reply
from evalmark.core.values.plain_data import plain
from evalmark.core.values.tool import ToolRecording
from evalmark.reports.text.numbers import duration
from evalmark.reports.text.transcripts import tokens_used

from .console import COLORS, DEFAULT, MARKS, FieldList, TerminalStyle, indented, render

_CLEANED = "control characters were removed here"
_SHORT = 60
_FORMS = {"schema": "native JSON schema", "tool": "tool call", "text": "read from the text"}


def call_screen(call: Call, style: TerminalStyle = DEFAULT) -> str:
    """Show a model call in full."""
    return _drawn(_heading(call), (*_request_fields(call), *_reply_fields(call)), style)


def tool_call_screen(recording: ToolRecording, style: TerminalStyle = DEFAULT) -> str:
    """Show a recorded tool call in full."""
    name = " ".join(filter(None, (recording.tool, recording.version)))
    heading = Text.assemble((f"{MARKS['pass']} ", COLORS["pass"]), (one_line(name, 200), "bold"), "  a tool")
    rows = {"key": recording.key, "time": recording.created, "input": recording.input}
    return _drawn(heading, (*rows.items(), ("arguments", recording.arguments), ("result", recording.result)), style)


def _drawn(heading: RenderableType, rows: Iterable[tuple[str, Any]], style: TerminalStyle) -> str:
    fields = FieldList((one_line(label, 20), _exact(value)) for label, value in rows)
    return render([heading, indented(fields)], style)


def _heading(call: Call) -> RenderableType:
    reply = call.reply
    if reply is None:
        kind, status = "fail", "failed"
    else:
        kind = "pass" if reply.status == "ok" else "unscored"
        status = reply.status + (", cached" if reply.replayed else "")
    return Text.assemble((f"{MARKS[kind]} ", COLORS[kind]), (one_line(call.model, 200), "bold"), f"  {status}")


def _request_fields(call: Call) -> Iterator[tuple[str, Any]]:
    request = call.request
    yield "key", call.key
    yield "endpoint", call.identity
    if call.created:
        yield "time", call.created
    if call.repeat:
        yield "repeat", str(call.repeat + 1)
    if call.use:
        yield "before", f"the same request was sent {count(call.use, 'time')} before in this trial"
    settings = {name: value for name, value in request.settings.items() if value is not None}
    if settings or request.logprobs:
        yield "settings", settings | ({"logprobs": request.logprobs} if request.logprobs else {})
    for turn in request.messages:
        yield turn.role, turn.content
    if request.schema is not None:
        yield "schema", request.schema


def _reply_fields(call: Call) -> Iterator[tuple[str, Any]]:
    if call.error is not None:
        yield "error", call.error
    reply = call.reply
    if reply is None:
        return
    yield "reply", reply.text
    fields = {"data": reply.data, "reasoning": reply.reasoning or None, "form": _FORMS.get(reply.form)}
    yield from ((label, value) for label, value in fields.items() if value is not None)
    yield from (("tool call", {"name": tool.name, "arguments": tool.arguments}) for tool in reply.tool_calls)
    if reply.model and reply.model != call.model:
        yield "answered by", reply.model + (f", {reply.system_fingerprint}" if reply.system_fingerprint else "")
    yield "took", _took(reply, of_model=call.is_model_call)
    yield from _attempts(reply)
    if reply.headers:
        yield "headers", reply.headers


def _attempts(reply: Reply) -> Iterator[tuple[str, Any]]:
    for number, attempt in enumerate(reply.attempts, start=1):
        status = "" if attempt.status is None else f"HTTP {attempt.status}, "
        yield f"attempt {number}", f"{attempt.error} ({status}{duration(attempt.seconds)})"
        if attempt.body:
            yield "", attempt.body


def _took(reply: Reply, *, of_model: bool) -> str:
    seconds = [] if reply.seconds is None else [duration(reply.seconds)]
    if not of_model and reply.cost is None:
        return " · ".join([*(["cached"] if reply.replayed else []), *seconds])
    cost = "price unknown" if reply.cost is None else money(reply.cost)
    paid = [f"$0 now, {cost} when it was sent"] if reply.replayed else [cost]
    return " · ".join([tokens_used(reply.usage), *paid, *seconds])


def _exact(value: Any) -> Text:
    """Show a text unchanged and other values as JSON; note removed control characters."""
    text = value if isinstance(value, str) else _json(value)
    safe = clean(text)
    shown = Text(safe)
    if safe != text.replace("\r\n", "\n"):
        shown.append(f"\n({_CLEANED})", style="dim")
    return shown


def _json(value: Any) -> str:
    short = json.dumps(plain(value), ensure_ascii=False)
    return short if len(short) <= _SHORT else json.dumps(plain(value), ensure_ascii=False, indent=2)
