"""Export a run as logs of Inspect, one for each dataset and target, which its viewer opens."""

from collections.abc import Sequence
from typing import Any

from evalmark.core.text import count
from evalmark.core.values.case import Case, Output, ToolCall, Turn
from evalmark.core.values.plain_data import fingerprint, plain
from evalmark.core.values.score import Result, Score
from evalmark.inputs.documents.serialization import file_name, json_text
from evalmark.interop.shared.export_run import ExportResult, ExportRun
from evalmark.interop.shared.results import REST, native_trial, remainder_of
from evalmark.scoring.binding.text import text_of

from .samples import row_of

Data = dict[str, Any]
_ROLES = ("system", "user", "assistant", "tool")
_UNKNOWN_TIME = "1970-01-01T00:00:00+00:00"


def to_inspect(export: ExportRun) -> ExportResult:
    """Write a log in JSON for each dataset and target; what a log has no place for stands in the metadata of its samples.

    Checks that pass or fail are `C` and `I`, other scores numbers. Scores without a value are left out of the log.
    """
    files = dict(export.side)
    for target, results in export.by_target.items():
        for dataset in dict.fromkeys(result.trial.dataset for result in results):
            log = _log(export, target, [result for result in results if result.trial.dataset == dataset])
            begin = log["eval"]["created"][:19].replace(":", "-")
            name = file_name(f"{begin}_{dataset or export.run.name}_{target}", [*map(_stem, files)])
            files[f"{name}.json"] = json_text(log)
    missing = sum(score.status != "scored" for result in export.run.results for score in result.scores)
    remark = (
        f"{count(missing, 'score')} without a value: Inspect's logs have no place for it but the metadata of samples."
    )
    return ExportResult(files=files, remarks=(*export.remarks, *((remark,) if missing else ())))


def _stem(name: str) -> str:
    return name.removesuffix(".json")


def _log(export: ExportRun, target: str, results: Sequence[Result]) -> Data:
    run, dataset = export.run, results[0].trial.dataset
    created, finished = _time(run.created), _time(run.finished or run.created)
    judges = {metric.name: metric.judge for metric in run.metrics}
    names = list(dict.fromkeys(score.name for result in results for score in result.scores))
    scorers = [
        {
            "name": name,
            "options": {"model": judges[name]} if judges.get(name) else {},
            "metrics": [],
            "metadata": {REST: True},
        }
        for name in names
    ]
    ids = list(dict.fromkeys(result.trial.case.id for result in results))
    epochs = 1 + max(result.trial.repeat for result in results)
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": fingerprint(run.id)[:22],
            "eval_id": fingerprint(run.id, dataset, target)[:22],
            "created": created,
            "task": dataset or run.name or "evalmark",
            "task_id": fingerprint(run.id, dataset, target)[:22],
            "task_version": 0,
            "task_attribs": {},
            "task_args": {},
            "dataset": {"name": dataset, "samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": target,
            "model_args": {},
            "model_generate_config": {},
            "config": {"epochs": epochs},
            "scorers": scorers,
            "packages": {},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": _results(results, names),
        "stats": {"started_at": created, "completed_at": finished, "model_usage": {}},
        "samples": [_sample(result, target) for result in results],
    }


def _time(moment: str) -> str:
    """Return a time as Inspect writes it."""
    return moment.replace("Z", "+00:00") if moment else _UNKNOWN_TIME


def _results(results: Sequence[Result], names: Sequence[str]) -> Data:
    """Return the means, which the viewer shows above the samples."""
    scores = []
    for name in names:
        values = [s.value for result in results for s in result.scores if s.name == name and s.value is not None]
        mean = {"mean": {"name": "mean", "value": sum(values) / len(values), "params": {}}} if values else {}
        counts = {"scored_samples": len(values), "unscored_samples": len(results) - len(values)}
        scores.append({"name": name, "scorer": name, "params": {}, "metrics": mean, **counts})
    done = sum(result.output.error is None for result in results)
    return {"total_samples": len(results), "completed_samples": done, "scores": scores}


def _sample(result: Result, target: str) -> Data:
    """Convert a result to a sample, with what a reader of the log would not find in it."""
    case, output = result.trial.case, result.output
    metadata = {name: value for name, value in dict(plain(case.metadata)).items() if name != REST}
    completion = text_of(output.value)
    message = {"role": "assistant", "content": completion, "source": "generate", "model": target}
    sample: Data = {
        "id": case.id,
        "epoch": result.trial.repeat + 1,
        "input": _input(case),
        "target": [text_of(value) for value in case.liked] if len(case.liked) > 1 else text_of(case.expected),
        "messages": _messages(case, output, message),
        "output": {
            "model": target,
            "choices": [] if output.error is not None else [{"message": message, "stop_reason": "stop"}],
            "completion": completion,
        },
        "scores": {score.name: found for score in result.scores if (found := _score(score)) is not None},
        "metadata": metadata,
        "store": {},
        "events": [],
        "model_usage": _usage(output, target),
        "attachments": {},
    }
    if output.seconds is not None:
        sample["output"]["time"] = sample["total_time"] = sample["working_time"] = output.seconds
    if output.error is not None:
        sample["error"] = {"message": output.error, "traceback": "", "traceback_ansi": ""}
    sample["metadata"] = {**metadata, REST: remainder_of(result, native_of(sample, target))}
    return sample


def native_of(sample: Data, target: str) -> Data:
    """Return what an importer finds in a sample without the remainder, in the form of `result_data`."""
    row = row_of(sample, "", "", target)
    output = {name: value for name, value in (row.output or {}).items() if value is not None}
    return {"trial": native_trial("", target, 0), "case": row.case, "output": output, "scores": list(row.scores)}


def _input(case: Case) -> str | list[Data]:
    question = text_of(case.input)
    if not case.history or any(turn.role not in _ROLES for turn in case.history):
        return question
    turns = [{"role": turn.role, "content": text_of(turn.content)} for turn in case.history]
    return [*turns, {"role": "user", "content": question}]


def _messages(case: Case, output: Output, message: Data) -> list[Data]:
    """Return the messages of the transcript, or the input and the output."""
    if not output.transcript:
        content = _input(case)
        before = [{"role": "user", "content": content}] if isinstance(content, str) else content
        return before if output.error is not None else [*before, message]
    messages: list[Data] = []
    for number, event in enumerate(output.transcript):
        messages += [_message(event)] if isinstance(event, Turn) else _call(event, number)
    return messages


def _message(turn: Turn) -> Data:
    role = turn.role if turn.role in _ROLES else "user"
    return {"role": role, "content": text_of(turn.content), **({"model": None} if role == "assistant" else {})}


def _call(call: ToolCall, number: int) -> list[Data]:
    """Return a call of a tool, and the message with its result."""
    key = call.id or f"call-{number}"
    function = {"id": key, "function": call.name, "arguments": dict(plain(call.arguments)), "type": "function"}
    reply: Data = {"role": "tool", "tool_call_id": key, "function": call.name, "content": text_of(call.result)}
    if call.error is not None:
        reply["error"] = {"type": "unknown", "message": call.error}
    return [{"role": "assistant", "content": "", "tool_calls": [function]}, reply]


def _score(score: Score) -> Data | None:
    """Return a score of Inspect; None for one without a value, for which its logs have no place."""
    if score.status != "scored":
        return None
    value: Any = score.raw if score.value is None else score.value
    if score.passed is not None and score.value in (None, 0, 1):
        value = "C" if score.passed else "I"
    if not isinstance(value, (str, int, float, bool)):
        return None
    metadata = plain(score.detail) or None
    return {"value": value, "explanation": score.reason or None, "metadata": metadata, "history": []}


def _usage(output: Output, target: str) -> Data:
    """Return the tokens; Inspect counts input tokens of the cache beside the others."""
    usage = output.usage
    if usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return {}
    read, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    counts = {
        "input_tokens": max(0, usage.input_tokens - read - written),
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "input_tokens_cache_read": usage.cached_tokens,
        "input_tokens_cache_write": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    return {target: {name: number for name, number in counts.items() if number is not None}}
