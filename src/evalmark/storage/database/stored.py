"""The fields of every value that is stored."""

from typing import Any, get_args

from evalmark.core.values.call import Attempt, Reply, ReplyForm, ReplyStatus, Request
from evalmark.core.values.case import Example, Output, ToolCall, Turn
from evalmark.core.values.run import DatasetInfo, Gate, Metric, RunStatus, Shard, UntilDecided
from evalmark.core.values.score import Direction, Mode, Status
from evalmark.core.values.session import SpanKind
from evalmark.core.values.spending import Spending
from evalmark.core.values.usage import Usage

from .fields import (
    REQUIRED,
    Field,
    Spec,
    a_list,
    a_number,
    a_text,
    a_token,
    a_whole_number,
    an_object,
    checked,
    count_or_unknown,
    filled,
    kept,
    kept_count,
    kept_mapping,
    kept_names,
    kept_number,
    kept_text,
    kept_texts,
    kept_token,
    many,
    mapping_of,
    number_or_unknown,
    one,
    one_of,
    read,
    some_texts,
)

a_status = one_of(get_args(RunStatus))
a_mode = one_of(get_args(Mode))

_ANYTHING = Field(kept, lambda value: value)
_CONTENT = _ANYTHING._replace(skip=REQUIRED)
_TEXT = Field(kept_text, a_text, "")
_NAME = Field(kept_text, a_text)
_TEXTS = Field(kept_texts, some_texts)
_NUMBER = Field(kept_number, number_or_unknown)
_COUNT = Field(kept, a_whole_number)
_SUM = _COUNT._replace(skip=0)
_TRUTH = Field(kept, checked(bool, "true or false"))
_MAPPING = Field(kept_mapping, an_object, {})
_NUMBERS = Field(kept_mapping, mapping_of(a_number), {})
_NAMES = Field(kept_mapping, mapping_of(a_text), {})
_DIRECTION = Field(kept_text, one_of(get_args(Direction)), "higher")

_TALLY = Field(kept_count, count_or_unknown)
_USAGE: Spec = dict.fromkeys(
    ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens"), _TALLY
)
_TOOL_CALL: Spec = {
    "name": _NAME,
    "arguments": _MAPPING,
    "result": _ANYTHING,
    "error": _NAME,
    "id": _TEXT,
    "started": _NAME,
    "seconds": _NUMBER,
}
_TURN: Spec = {"role": _NAME, "content": _CONTENT}
_TURNS = many(Turn, _TURN)
_USED = one(Usage, _USAGE)


def _kept_call(call: Any) -> dict[str, Any]:
    return filled(call, _TOOL_CALL) if isinstance(call, ToolCall) else {"name": kept_text(call)}


def _kept_event(event: Any) -> dict[str, Any]:
    """A message or a call of a tool; only a message has a role."""
    return filled(event, _TURN) if isinstance(event, Turn) else _kept_call(event)


def _an_event(data: Any) -> Turn | ToolCall:
    said = "role" in an_object(data)
    event: Turn | ToolCall = read(Turn, _TURN, data) if said else read(ToolCall, _TOOL_CALL, data)
    return event


OUTPUT: Spec = {
    "value": _ANYTHING,
    "error": _NAME,
    "seconds": _NUMBER,
    "waited": _NUMBER,
    "contexts": _TEXTS,
    "tool_calls": many(ToolCall, _TOOL_CALL, _kept_call),
    "metadata": _MAPPING,
    "transcript": Field(
        lambda events: [*map(_kept_event, events)], lambda data: tuple(map(_an_event, a_list(data))), ()
    ),
    "usage": _USED,
    "masked": Field(kept, checked(bool, "true or false"), False),
}


def output_fields(output: Output) -> dict[str, Any]:
    """`filled` for an output: the calls of its transcript are written once."""
    data = filled(output, OUTPUT)
    if output.transcript and output.tool_calls == tuple(e for e in output.transcript if isinstance(e, ToolCall)):
        data.pop("tool_calls", None)
    return data


CASE: Spec = {
    "id": _NAME,
    "input": _ANYTHING,
    "expected": _ANYTHING,
    "examples": many(Example, {"value": _CONTENT, "liked": _TRUTH}),
    "contexts": _TEXTS,
    "history": _TURNS,
    "given": Field(output_fields, lambda data: read(Output, OUTPUT, data)),
    "tags": Field(kept_texts, some_texts, ()),
    "metadata": _MAPPING,
    "original": _TEXT,
}
SCORE: Spec = {
    "name": _NAME,
    "status": Field(kept_text, one_of(get_args(Status)), "scored"),
    "raw": _ANYTHING,
    "value": _NUMBER,
    "direction": _DIRECTION,
    "passed": _TRUTH,
    "reason": _TEXT,
    "detail": _MAPPING,
}
_SPENDING: Spec = {
    "model": _NAME,
    "calls": _SUM,
    "replayed": _SUM,
    "failed": _SUM,
    "repeated": _SUM,
    "attempts": _SUM,
    "input_tokens": _SUM,
    "output_tokens": _SUM,
    "unknown_usage": _SUM,
    "cost": _NUMBER,
    "unknown_cost": _SUM,
}
RUN: Spec = {
    "id": _NAME,
    "name": _NAME,
    "created": _NAME,
    "finished": _NAME,
    "status": Field(kept_text, a_status),
    "target": _TEXT,
    "datasets": many(DatasetInfo, {"name": _NAME, "path": _TEXT, "rows": _COUNT, "plan": _TEXT}),
    "metrics": many(
        Metric,
        {
            "name": _NAME,
            "direction": _DIRECTION,
            "threshold": _NUMBER,
            "unit": _TEXT,
            "judge": _TEXT,
            "mode": Field(kept_text, a_mode, "single"),
            "base": _TEXT,
            "dataset": _TEXT,
            "version": _TEXT,
            "bars": _NUMBERS,
            "embeds": _TRUTH._replace(skip=False),
        },
    ),
    "repeat": _COUNT,
    "gate": one(
        Gate,
        {
            "min_pass_rate": _NUMBER,
            "max_unscored": _COUNT,
            "max_errors": _COUNT,
            "min_score": _NUMBER,
            "thresholds": _NUMBERS,
        },
    ),
    "suite": _TEXT,
    "plan": _TEXT,
    "embedder": _TEXT,
    "revision": _TEXT,
    "is_part": _TRUTH._replace(skip=False),
    "shard": one(
        Shard,
        {
            "number": _COUNT,
            "of": _COUNT,
            "limit": _COUNT,
            "only": _TEXTS._replace(skip=()),
            "dealt": _NAMES,
        },
    ),
    "until_decided": one(
        UntilDecided,
        {
            "seed": _COUNT,
            "level": _NUMBER,
            "cases": _COUNT,
            "after": _COUNT,
            "outcome": Field(kept_text, one_of(("pass", "fail"))),
            "reason": _TEXT,
        },
    ),
    "versions": _NAMES,
    "spending": many(Spending, _SPENDING),
    "notes": Field(kept_texts, some_texts, ()),
}
REQUEST: Spec = {
    "messages": _TURNS._replace(skip=REQUIRED),
    "schema": Field(kept_mapping, an_object),
    "settings": _MAPPING,
    "logprobs": _SUM,
}
_ATTEMPT: Spec = {"seconds": _NUMBER._replace(skip=REQUIRED), "error": _NAME, "status": _TALLY, "body": _TEXT}
REPLY: Spec = {
    "text": _TEXT,
    "status": Field(kept_text, one_of(get_args(ReplyStatus)), "ok"),
    "data": _ANYTHING,
    "form": Field(kept_text, one_of(get_args(ReplyForm)), ""),
    "reasoning": _TEXT,
    "tool_calls": many(ToolCall, _TOOL_CALL, _kept_call),
    "usage": _USED._replace(skip=Usage()),
    "cost": _NUMBER,
    "model": _TEXT,
    "system_fingerprint": _TEXT,
    "seconds": _NUMBER,
    "attempts": many(Attempt, _ATTEMPT),
    "tokens": Field(lambda tokens: [*map(kept_token, tokens)], lambda data: tuple(map(a_token, a_list(data))), ()),
    "headers": Field(kept_names, mapping_of(a_text), {}),
    "key": _TEXT,
    "replayed": _TRUTH._replace(skip=False),
}
TOOL_RECORDING: Spec = {
    "key": _NAME,
    "tool": _NAME,
    "version": _TEXT,
    "created": _TEXT,
    "altered": _TRUTH._replace(skip=False),
    "arguments": _CONTENT,
    "input": _CONTENT,
    "result": _CONTENT,
}
CALL: Spec = {
    "key": _NAME,
    "altered": _TRUTH._replace(skip=False),
    "model": _NAME,
    "identity": _NAME,
    "repeat": _SUM,
    "use": _SUM,
    "created": _TEXT,
    "request": one(Request, REQUEST),
    "reply": one(Reply, REPLY),
}
SPAN: Spec = {
    "id": _NAME,
    "session": _NAME,
    "project": _NAME,
    "parent": _TEXT,
    "kind": Field(kept_text, one_of(get_args(SpanKind)), "run"),
    "name": _TEXT,
    "template": _TEXT,
    "started": _NAME,
    "seconds": _NUMBER,
    "input": _ANYTHING,
    "output": _ANYTHING,
    "error": _NAME,
    "contexts": _TEXTS,
    "model": _TEXT,
    "usage": _USED,
    "cost": _NUMBER,
    "metadata": _MAPPING,
}
SESSION: Spec = {
    "id": _NAME,
    "project": _NAME,
    "started": _NAME,
    "metadata": _MAPPING,
    "dropped": _SUM,
}
LABEL: Spec = {
    "about": _NAME,
    "liked": _TRUTH,
    "score": _NUMBER,
    "comment": _TEXT,
    "by": _NAME,
    "created": _NAME,
    "content": _NAME,
    "id": _TEXT,
}
