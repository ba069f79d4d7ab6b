"""Convert the samples of Inspect's logs to cases, outputs and scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalmark.core.values.session import seconds_between
from evalmark.inputs.documents.errors import PlacedError
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.interop.shared.recorded import RecordedRow, recorded_score
from evalmark.interop.shared.results import REST

Data = dict[str, Any]
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's grades: correct, incorrect, partially correct, no answer, with the values of its `accuracy`."""
_WORDS = {"yes": True, "true": True, "no": False, "false": False}
_ATTACHMENT = "attachment://"
_MAX_ATTACHED = 32 << 20
"""The most characters that the attachments of a sample may add to it."""


def row_of(sample: Data, place: str, dataset: str, model: str) -> RecordedRow:
    """Convert a sample of one epoch to a row of a run.

    Raises:
        DataError: a part has another type than in Inspect's logs.
    """
    sample = {
        **sample,
        **_with_attachments({name: sample.get(name) for name in ("input", "messages", "output")}, sample),
    }
    scores = _object(sample, "scores", place)
    return RecordedRow(
        place=place,
        case=_case(sample, place),
        output=_output(sample, model, place),
        scores=[score for name, data in scores.items() for score in _scores(name, data, place)],
        target=model,
        dataset=dataset,
        repeat=sample.get("epoch", 1) - 1,
        rest=_object(sample, "metadata", place).get(REST),
    )


def _object(sample: Mapping[str, Any], name: str, place: str) -> Data:
    value = sample.get(name)
    if value is not None and not isinstance(value, dict):
        raise PlacedError(place, f"`{name}` of the sample is {value!r:.40}; it takes an object.")
    return value or {}


def _with_attachments(data: Any, sample: Mapping[str, Any]) -> Any:
    """Return data with the texts in place of references to the sample's attachments, up to a limit."""
    attachments = dict_or_empty(sample.get("attachments"))
    added = 0

    def resolved(value: Any) -> Any:
        nonlocal added
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            text = attachments.get(value.removeprefix(_ATTACHMENT))
            added += len(text) if isinstance(text, str) else 0
            return text if isinstance(text, str) and added <= _MAX_ATTACHED else value
        if isinstance(value, list):
            return [resolved(item) for item in value]
        if isinstance(value, dict):
            return {name: resolved(item) for name, item in value.items()}
        return value

    return resolved(data) if attachments else data


def _case(sample: Data, place: str) -> Data:
    question, history = _question(sample.get("input"), place)
    choices, target = sample.get("choices"), sample.get("target")
    case: Data = {"id": str(sample["id"]), "input": question}
    if choices:
        # A multiple-choice question means nothing without its choices, and all of its targets are right together.
        case["input"] = {"question": question, "choices": choices}
        case["expected"] = target
    elif isinstance(target, list):
        case["expected"] = target[0] if target else None
        case["examples"] = [{"value": other, "liked": True} for other in target[1:]] or None
    else:
        case["expected"] = None if target == "" else target
    metadata = {name: value for name, value in _object(sample, "metadata", place).items() if name != REST}
    more = {"history": history or None, "metadata": metadata or None}
    return {name: value for name, value in {**case, **more}.items() if value is not None}


def _question(value: Any, place: str) -> tuple[Any, list[Data]]:
    """Return the last message of the user, and the messages before it."""
    if not isinstance(value, list):
        return value, []
    turns = [_turn(message, place) for message in value]
    if turns and turns[-1]["role"] == "user":
        return turns[-1]["content"], turns[:-1]
    return None, turns


def _turn(message: Any, place: str) -> Data:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise PlacedError(place, "a message of the sample is not an object with a `role`.")
    return {"role": message["role"], "content": _content(message.get("content"))}


def _content(content: Any) -> Any:
    """Return the text of a message, or its parts if it has more than texts; what a model only thought is left out."""
    if not isinstance(content, list):
        return "" if content is None else content
    parts = [part for part in content if dict_or_empty(part).get("type") != "reasoning"]
    texts = [dict_or_empty(part).get("text") for part in parts]
    return "\n".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else parts


def _output(sample: Data, model: str, place: str) -> Data:
    output, error = _object(sample, "output", place), _object(sample, "error", place)
    events = [event for event in list_or_empty(sample.get("events")) if isinstance(event, dict)]
    choice = dict_or_empty(next(iter(list_or_empty(output.get("choices"))), None))
    value = _content(dict_or_empty(choice.get("message")).get("content")) if choice else output.get("completion")
    limit = dict_or_empty(sample.get("limit")).get("type")
    metadata = {"stop_reason": choice.get("stop_reason"), "limit": limit}
    return {
        "value": None if error and not value else value,
        "error": _line(error.get("message")) if error else None,
        "seconds": _seconds(sample, output, events),
        "transcript": _transcript(sample, events, place) or None,
        "usage": usage_of(dict_or_empty(sample.get("model_usage")).get(model)),
        "metadata": {name: item for name, item in metadata.items() if item is not None} or None,
    }


def _line(message: Any) -> str:
    return " ".join(str(message or "the sample failed").split())


def _seconds(sample: Data, output: Data, events: Sequence[Data]) -> float | None:
    """Return the working time of the solvers, which is that of the sample without scoring; None if it was not recorded."""
    begins = {
        str(event.get("type") or event.get("name")): event for event in events if event.get("event") == "span_begin"
    }
    first, last = (dict_or_empty(begins.get(name)).get("working_start") for name in ("solvers", "scorers"))
    if is_number(first) and is_number(last) and last >= first:
        return last - first
    replies = [m for m in list_or_empty(sample.get("messages")) if dict_or_empty(m).get("role") == "assistant"]
    seconds = output.get("time")
    return seconds if is_number(seconds) and len(replies) == 1 else None


def usage_of(used: Any) -> Data | None:
    """Convert the tokens of a model; Inspect counts input tokens of the provider's cache beside the others."""
    if not isinstance(used, dict):
        return None
    names = {
        "output_tokens": "output_tokens",
        "cached_tokens": "input_tokens_cache_read",
        "cache_write_tokens": "input_tokens_cache_write",
        "reasoning_tokens": "reasoning_tokens",
    }
    usage = {ours: count for ours, name in names.items() if (count := _tokens(used, name)) is not None}
    read = _tokens(used, "input_tokens")
    if read is not None:
        beside = usage.get("cached_tokens", 0) + usage.get("cache_write_tokens", 0)
        # Logs of older versions count them among the input tokens; the total tells which.
        is_among = _tokens(used, "total_tokens") == read + usage.get("output_tokens", 0)
        usage["input_tokens"] = read if is_among else read + beside
    return usage or None


def _tokens(used: Mapping[str, Any], name: str) -> int | None:
    count = used.get(name)
    return count if type(count) is int and count >= 0 else None


def _transcript(sample: Data, events: Sequence[Data], place: str) -> list[Data]:
    """Return the messages and tool calls in order, with the times of the tool events."""
    messages = [message for message in list_or_empty(sample.get("messages")) if isinstance(message, dict)]
    replies = {
        m["tool_call_id"]: m for m in messages if m.get("role") == "tool" and isinstance(m.get("tool_call_id"), str)
    }
    ran = {event["id"]: event for event in events if event.get("event") == "tool" and isinstance(event.get("id"), str)}
    transcript: list[Data] = []
    joined: set[str] = set()
    for message in messages:
        calls = [call for call in list_or_empty(message.get("tool_calls")) if isinstance(call, dict)]
        if message.get("role") == "tool" and str(message.get("tool_call_id")) in joined:
            continue
        turn = _turn(message, place)
        if turn["content"] not in ("", []) or not calls:
            transcript.append(turn)
        for call in calls:
            key = str(call.get("id") or "")
            joined.add(key)
            transcript.append(_tool_call(call, replies.get(key, {}), ran.get(key, {})))
    return transcript


def _tool_call(call: Data, reply: Data, event: Data) -> Data:
    arguments, error = call.get("arguments"), reply.get("error") or event.get("error")
    started, ended = event.get("timestamp"), event.get("completed")
    seconds = seconds_between(started, ended) if isinstance(started, str) and isinstance(ended, str) else None
    fields = {
        "name": str(call.get("function") or ""),
        "arguments": arguments if isinstance(arguments, dict) else {"unparsed": arguments},
        "result": _content(reply["content"]) if "content" in reply and not error else None,
        "error": _line(dict_or_empty(error).get("message")) if error else None,
        "id": str(call.get("id") or ""),
        "started": started if isinstance(started, str) else None,
        "seconds": seconds,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _scores(name: str, data: Any, place: str) -> list[Data]:
    """Convert a score; one with several values becomes several, named `scorer.value`."""
    if not isinstance(data, dict):
        data = {"value": data}  # very old logs have the bare value
    value = data.get("value")
    more = {"reason": data.get("explanation"), "detail": _detail(data)}
    if isinstance(value, dict):
        return [_score(f"{name}.{key}", item, more) for key, item in value.items()]
    return [_score(name, value, more)]


def _detail(data: Data) -> Data:
    return {key: data[key] for key in ("answer", "metadata") if data.get(key) not in (None, {}, "")}


def _score(name: str, value: Any, more: Data) -> Data:
    """Convert one value: a grade, a number, a boolean or a text; Inspect's NaN is a score without a value."""
    if isinstance(value, str):
        if value in GRADES:
            return recorded_score(name, GRADES[value], passed=value == "C", **more) | {"raw": value}
        if value.lower() in _WORDS:
            return recorded_score(name, _WORDS[value.lower()], **more) | {"raw": value}
    return recorded_score(name, value, **more)
