"""The stored fields of each value type: how each one is written and read."""

from typing import Any, get_args

from evalmark.core.values.call import Attempt, Reply, ReplyForm, ReplyStatus, Request
from evalmark.core.values.case import Example, Output, ToolCall, Turn, Usage
from evalmark.core.values.run import DatasetInfo, Gate, Metric, RunStatus, Sample, Shard, UntilDecided
from evalmark.core.values.score import Direction, Mode, Status
from evalmark.core.values.session import SpanKind
from evalmark.core.values.spending import Spending

from .fields import (
    REQUIRED,
    Field,
    Spec,
    dump_fields,
    load_fields,
    mapping_of,
    of_type,
    one_of,
    read_int,
    read_list,
    read_number,
    read_object,
    read_optional_count,
    read_optional_number,
    read_text,
    read_texts,
    read_token,
    storable,
    storable_count,
    storable_mapping,
    storable_names,
    storable_number,
    storable_text,
    storable_texts,
    storable_token,
    tuple_field,
    value_field,
)

read_status = one_of(get_args(RunStatus))
read_mode = one_of(get_args(Mode))

_ANYTHING = Field(storable, lambda value: value, plain=str)
_CONTENT = _ANYTHING._replace(skip=REQUIRED)
_TEXT = Field(storable_text, read_text, "", plain=str)
_NAME = Field(storable_text, read_text, plain=str)
_TEXTS = Field(storable_texts, read_texts)
_NUMBER = Field(storable_number, read_optional_number)
_COUNT = Field(storable, read_int, plain=int)
_SUM = _COUNT._replace(skip=0)
_TRUTH = Field(storable, of_type(bool, "true or false"), plain=bool)
_MAPPING = Field(storable_mapping, read_object, {})
_NUMBERS = Field(storable_mapping, mapping_of(read_number), {})
_NAMES = Field(storable_mapping, mapping_of(read_text), {})
_DIRECTION = Field(storable_text, one_of(get_args(Direction)), "higher")

_TALLY = Field(storable_count, read_optional_count)
_USAGE = Spec(
    dict.fromkeys(("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens"), _TALLY)
)
_TOOL_CALL = Spec(
    {
        "name": _NAME,
        "arguments": _MAPPING,
        "result": _ANYTHING,
        "error": _NAME,
        "id": _TEXT,
        "started": _NAME,
        "seconds": _NUMBER,
    }
)
_TURN = Spec({"role": _NAME, "content": _CONTENT})
_TURNS = tuple_field(Turn, _TURN)
_USED = value_field(Usage, _USAGE)


def _dump_call(call: Any) -> dict[str, Any]:
    return dump_fields(call, _TOOL_CALL) if isinstance(call, ToolCall) else {"name": storable_text(call)}


def _dump_event(event: Any) -> dict[str, Any]:
    """Encode a message or a tool call of a transcript; only a message has a role."""
    return dump_fields(event, _TURN) if isinstance(event, Turn) else _dump_call(event)


def _load_event(data: Any) -> Turn | ToolCall:
    is_message = "role" in read_object(data)
    event: Turn | ToolCall = load_fields(Turn, _TURN, data) if is_message else load_fields(ToolCall, _TOOL_CALL, data)
    return event


OUTPUT = Spec(
    {
        "value": _ANYTHING,
        "error": _NAME,
        "seconds": _NUMBER,
        "waited": _NUMBER,
        "contexts": _TEXTS,
        "tool_calls": tuple_field(ToolCall, _TOOL_CALL, _dump_call),
        "metadata": _MAPPING,
        "transcript": Field(
            lambda events: [*map(_dump_event, events)], lambda data: tuple(map(_load_event, read_list(data))), ()
        ),
        "usage": _USED,
        "masked": _TRUTH._replace(skip=False),
    }
)


def output_fields(output: Output) -> dict[str, Any]:
    """Encode an output like `dump_fields`, but write the tool calls of its transcript only once."""
    data = dump_fields(output, OUTPUT)
    if output.transcript and output.tool_calls == tuple(e for e in output.transcript if isinstance(e, ToolCall)):
        data.pop("tool_calls", None)
    return data


CASE = Spec(
    {
        "id": _NAME,
        "input": _ANYTHING,
        "expected": _ANYTHING,
        "examples": tuple_field(Example, Spec({"value": _CONTENT, "liked": _TRUTH})),
        "contexts": _TEXTS,
        "history": _TURNS,
        "given": Field(output_fields, lambda data: load_fields(Output, OUTPUT, data)),
        "tags": Field(storable_texts, read_texts, ()),
        "metadata": _MAPPING,
        "original": _TEXT,
    }
)
SCORE = Spec(
    {
        "name": _NAME,
        "status": Field(storable_text, one_of(get_args(Status)), "scored"),
        "raw": _ANYTHING,
        "value": _NUMBER,
        "direction": _DIRECTION,
        "passed": _TRUTH,
        "reason": _TEXT,
        "detail": _MAPPING,
    }
)
_SPENDING = Spec(
    {
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
        "is_model": _TRUTH._replace(skip=True),
    }
)
RUN = Spec(
    {
        "id": _NAME,
        "name": _NAME,
        "created": _NAME,
        "finished": _NAME,
        "status": Field(storable_text, read_status),
        "target": _TEXT,
        "datasets": tuple_field(
            DatasetInfo, Spec({"name": _NAME, "path": _TEXT, "rows": _COUNT, "plan": _TEXT, "cluster": _TEXT})
        ),
        "metrics": tuple_field(
            Metric,
            Spec(
                {
                    "name": _NAME,
                    "direction": _DIRECTION,
                    "threshold": _NUMBER,
                    "unit": _TEXT,
                    "judge": _TEXT,
                    "mode": Field(storable_text, read_mode, "single"),
                    "base": _TEXT,
                    "dataset": _TEXT,
                    "version": _TEXT,
                    "bars": _NUMBERS._replace(attribute="own_thresholds"),
                    "embeds": _TRUTH._replace(skip=False),
                }
            ),
        ),
        "repeat": _COUNT,
        "gate": value_field(
            Gate,
            Spec(
                {
                    "min_pass_rate": _NUMBER,
                    "max_unscored": _COUNT,
                    "max_errors": _COUNT,
                    "min_score": _NUMBER,
                    "thresholds": _NUMBERS,
                }
            ),
        ),
        "suite": _TEXT,
        "plan": _TEXT,
        "embedder": _TEXT,
        "revision": _TEXT,
        "is_part": _TRUTH._replace(skip=False),
        "shard": value_field(
            Shard,
            Spec(
                {
                    "number": _COUNT,
                    "of": _COUNT,
                    "limit": _COUNT,
                    "only": _TEXTS._replace(skip=()),
                    "dealt": _NAMES,
                }
            ),
        ),
        "until_decided": value_field(
            UntilDecided,
            Spec(
                {
                    "seed": _COUNT,
                    "level": _NUMBER,
                    "cases": _COUNT,
                    "after": _COUNT,
                    "outcome": Field(storable_text, one_of(("pass", "fail"))),
                    "reason": _TEXT,
                }
            ),
        ),
        "sample": value_field(Sample, Spec({"size": _COUNT, "seed": _COUNT, "taken": _COUNT, "of": _COUNT})),
        "given_name": _TEXT,
        "tags": _TEXTS._replace(skip=()),
        "versions": _NAMES,
        "spending": tuple_field(Spending, _SPENDING),
        "notes": Field(storable_texts, read_texts, ()),
    }
)
REQUEST = Spec(
    {
        "messages": _TURNS._replace(skip=REQUIRED),
        "schema": Field(storable_mapping, read_object),
        "settings": _MAPPING,
        "logprobs": _SUM,
    }
)
_ATTEMPT = Spec({"seconds": _NUMBER._replace(skip=REQUIRED), "error": _NAME, "status": _TALLY, "body": _TEXT})
REPLY = Spec(
    {
        "text": _TEXT,
        "status": Field(storable_text, one_of(get_args(ReplyStatus)), "ok"),
        "data": _ANYTHING,
        "form": Field(storable_text, one_of(get_args(ReplyForm)), ""),
        "reasoning": _TEXT,
        "tool_calls": tuple_field(ToolCall, _TOOL_CALL, _dump_call),
        "usage": _USED._replace(skip=Usage()),
        "cost": _NUMBER,
        "model": _TEXT,
        "system_fingerprint": _TEXT,
        "seconds": _NUMBER,
        "attempts": tuple_field(Attempt, _ATTEMPT),
        "tokens": Field(
            lambda tokens: [*map(storable_token, tokens)], lambda data: tuple(map(read_token, read_list(data))), ()
        ),
        "headers": Field(storable_names, mapping_of(read_text), {}),
        "key": _TEXT,
        "replayed": _TRUTH._replace(skip=False),
    }
)
TOOL_RECORDING = Spec(
    {
        "key": _NAME,
        "tool": _NAME,
        "version": _TEXT,
        "created": _TEXT,
        "altered": _TRUTH._replace(skip=False),
        "arguments": _CONTENT,
        "input": _CONTENT,
        "result": _CONTENT,
    }
)
CALL = Spec(
    {
        "key": _NAME,
        "altered": _TRUTH._replace(skip=False),
        "model": _NAME,
        "identity": _NAME,
        "repeat": _SUM,
        "use": _SUM,
        "created": _TEXT,
        "request": value_field(Request, REQUEST),
        "reply": value_field(Reply, REPLY),
    }
)
SPAN = Spec(
    {
        "id": _NAME,
        "session": _NAME,
        "project": _NAME,
        "parent": _TEXT,
        "kind": Field(storable_text, one_of(get_args(SpanKind)), "run"),
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
)
SESSION = Spec(
    {
        "id": _NAME,
        "project": _NAME,
        "started": _NAME,
        "metadata": _MAPPING,
        "dropped": _SUM,
    }
)
LABEL = Spec(
    {
        "about": _NAME,
        "liked": _TRUTH,
        "score": _NUMBER,
        "comment": _TEXT,
        "by": _NAME,
        "created": _NAME,
        "content": _NAME,
        "id": _TEXT,
    }
)
LABEL_SAMPLE = Spec(
    {
        "run": _NAME,
        "trials": _TEXTS,
        "by_verdict": _TEXT,
        "outputs": _COUNT,
        "created": _NAME,
    }
)
