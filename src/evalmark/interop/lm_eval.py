"""Import what lm-eval (lm-evaluation-harness) logs with `--log_samples`: samples of each task, and the results beside them."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.errors import PlacedError
from evalmark.interop.shared.folders import files_of, folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.interop.shared.lenient_json import lenient_rows, read_lenient_json
from evalmark.interop.shared.recorded import RecordedRow, RecordedRun, import_recorded, recorded_score

Data = dict[str, Any]
_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(\.\d+)?)")
_MODEL = re.compile(r"(?:^|,)(?:pretrained|model)=([^,]+)")
_OWN = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"} | {
    "doc_hash", "prompt_hash", "target_hash", "task_name", "schema",
}  # fmt: skip
"""The keys of a sample that are not metrics."""
_PLAIN = {"metric", "aggregation", "higher_is_better", "ignore_case"}


@dataclass(slots=True, kw_only=True)
class _Task:
    """The samples of one task on one model."""

    path: Path
    name: str
    date: str = ""
    results: Data = field(default_factory=dict)
    """The content of the results file of the same evaluation; empty without one."""

    @property
    def config(self) -> Data:
        return dict_or_empty(dict_or_empty(self.results.get("configs")).get(self.name))

    @property
    def model(self) -> str:
        """The model; without results, the folder, which lm-eval names after the model."""
        config = dict_or_empty(self.results.get("config"))
        arguments = config.get("model_args")
        listed = dict_or_empty(arguments).get("pretrained") or dict_or_empty(arguments).get("model")
        match = _MODEL.search(arguments) if isinstance(arguments, str) else None
        name = self.results.get("model_name") or listed or (match and match[1]) or self.path.resolve().parent.name
        return str(name)


def import_lm_eval(path: Path) -> ImportResult:
    """Import a `samples_*.jsonl` file of lm-eval, or all of a folder as one run, with `results_*.json` where it stands.

    Raises:
        DataError: a file is invalid, or there are no samples.
    """
    tasks = _tasks(path)
    recorded = RecordedRun(name=", ".join(dict.fromkeys(task.name for task in tasks)), path=path)
    rows: list[RecordedRow] = []
    for task in tasks:
        rows += _rows(task, recorded)
        lower = [name for name, is_higher in _directions(task).items() if is_higher is False]
        for name in {str(score["name"]) for row in rows for score in row.scores}:
            if name.split(",")[0] in lower:
                recorded.metrics[name] = {"direction": "lower"}
    if not rows:
        raise PlacedError(str(path), "has no samples.")
    recorded.header = _header(tasks, path)
    by_name = {task.name: task for task in tasks}
    return import_recorded(
        _with_directions(rows, recorded), recorded, lambda name, builder: _prepare(by_name[name], builder)
    )


def _tasks(path: Path) -> list[_Task]:
    """Return the files of samples with the results of the same evaluation: those of the same time in the same folder."""
    named = {file: _SAMPLES.fullmatch(file.stem) for file in files_of(path, (".jsonl",), below=True)}
    files = [file for file, match in named.items() if match is not None] or (
        list(named) if list(named) == [path] else []
    )
    if not files:
        raise PlacedError(str(path), "there is no samples_TASK_DATE.jsonl here; run lm_eval with --log_samples.")
    tasks: dict[tuple[str, str], _Task] = {}
    for file in files:
        match = named[file]
        task = _Task(path=file, name=match["task"] if match else file.stem, date=match["date"] if match else "")
        task.results = _results(file, task.date)
        other = tasks.setdefault((task.name, task.model), task)
        if other is not task:
            raise PlacedError(
                str(folder_of(path)),
                f"{other.path.name} and {file.name} are both of the task {task.name} with {task.model}. Import each "
                "evaluation as a run of its own: put it into a folder of its own.",
            )
    return list(tasks.values())


def _results(samples: Path, date: str) -> Data:
    beside = files_of(samples.parent, (".json",))
    named = [file for file in beside if file.name == f"results_{date}.json"]
    others = [file for file in beside if file.name.startswith("results")] if not date else []
    for file in named or others[:1]:
        data = read_lenient_json(file)
        if not isinstance(data, dict):
            raise PlacedError(str(file), "is not an object, as the results of lm-eval are.")
        return data
    return {}


def _directions(task: _Task) -> dict[str, Any]:
    return dict_or_empty(dict_or_empty(task.results.get("higher_is_better")).get(task.name))


def _with_directions(rows: Sequence[RecordedRow], recorded: RecordedRun) -> Iterator[RecordedRow]:
    for row in rows:
        for score in row.scores:
            score |= recorded.metrics.get(str(score["name"]), {})
        yield row


def _rows(task: _Task, recorded: RecordedRun) -> list[RecordedRow]:
    """Return a row for each document; a line for each filter holds the scores of its own."""
    rows: dict[str, RecordedRow] = {}
    for data, place in lenient_rows(task.path):
        key = data.get("doc_id")
        if isinstance(key, bool) or not isinstance(key, (str, int)):
            raise PlacedError(place, f"`doc_id` is {key!r:.40}; it takes a number, as in the samples of lm-eval.")
        scores = [*_scores(data, task, recorded)]
        if str(key) in rows:
            rows[str(key)].scores.extend(scores)  # type: ignore[attr-defined]
        else:
            rows[str(key)] = _row(str(key), data, scores, task, place)
    return list(rows.values())


def _scores(data: Data, task: _Task, recorded: RecordedRun) -> Iterator[Data]:
    listed = [name for name in list_or_empty(data.get("metrics")) if isinstance(name, str)]
    suffix = data.get("filter", "none")
    for name in listed or [key for key in data if key not in _OWN]:
        value = data.get(name)
        if isinstance(value, (list, dict)):
            recorded.remarks[
                f"{task.path}: `{name}` is calculated from all outputs at once, so a sample has no score of it; it is not imported."
            ] = None
            continue
        yield recorded_score(name if suffix == "none" else f"{name},{suffix}", value)


def _row(key: str, data: Data, scores: list[Data], task: _Task, place: str) -> RecordedRow:
    requests = _requests(data.get("arguments"))
    if not requests:
        raise PlacedError(place, "`arguments` has no request, so the prompt is unknown.")
    prompt, history = _prompt(requests[0][0])
    case: Data = {"id": key, "input": prompt, "expected": data.get("target")}
    case |= {"history": history} if history else {}
    case |= {"metadata": {"doc": data["doc"]}} if data.get("doc") is not None else {}
    replies = list_or_empty(data.get("resps"))
    if all(_likelihood(reply) is not None for reply in replies) and replies:
        output = _chosen(case, requests, replies)
    else:
        output = {"value": _first(replies)}
    case = {name: value for name, value in case.items() if value is not None}
    return RecordedRow(place=place, case=case, output=output, scores=scores, target=task.model, dataset=task.name)


def _requests(arguments: Any) -> list[list[Any]]:
    """Return the arguments of each request; newer versions name them `gen_args_0` and `arg_0`."""
    if isinstance(arguments, dict):
        arguments = list(arguments.values())
    each = [list(item.values()) if isinstance(item, dict) else item for item in list_or_empty(arguments)]
    return [item for item in each if isinstance(item, list) and item]


def _prompt(text: Any) -> tuple[Any, list[Data]]:
    """Return the prompt; of a chat, which is a text of JSON, its last message and the history before it."""
    if not (isinstance(text, str) and text.startswith('[{"role"')):
        return text, []
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return text, []
    turns = [{"role": str(m.get("role")), "content": m.get("content")} for m in messages if isinstance(m, dict)]
    return (turns[-1]["content"], turns[:-1]) if turns else (text, [])


def _likelihood(reply: Any) -> float | None:
    """Return the log-likelihood of a continuation: `[["-1.5", "False"]]`, numbers or texts of numbers."""
    pair = reply[0] if isinstance(reply, list) and len(reply) == 1 else None
    if not (isinstance(pair, list) and len(pair) == 2 and str(pair[1]) in ("True", "False")):
        return None
    try:
        number = float(pair[0])
    except (TypeError, ValueError):
        return None
    return None if math.isnan(number) else number


def _chosen(case: Data, requests: Sequence[Sequence[Any]], replies: Sequence[Any]) -> Data:
    """Make the output of the continuation that the model finds most likely, and put all of them into the input."""
    texts = [str(request[1]).strip() if len(request) > 1 else "" for request in requests]
    likelihoods = [number for reply in replies if (number := _likelihood(reply)) is not None]
    metadata = {"loglikelihoods": [number if math.isfinite(number) else None for number in likelihoods]}
    if len(likelihoods) < 2 or len(texts) < len(likelihoods):
        return {"value": None, "metadata": metadata}
    case["input"] = {"prompt": case["input"], "choices": texts}
    case["expected"] = _target(case["expected"], texts)
    return {"value": texts[likelihoods.index(max(likelihoods))], "metadata": metadata}


def _target(target: Any, texts: Sequence[str]) -> Any:
    """Return the right choice: lm-eval writes its number as a text; a number that is also a choice stays as it is."""
    index = int(target) if isinstance(target, str) and re.fullmatch(r"[0-9]{1,6}", target) else target
    is_place = type(index) is int and 0 <= index < len(texts) and target not in texts
    return texts[index] if is_place else target


def _first(replies: Sequence[Any]) -> Any:
    """Return the first reply to the first request; further ones are tries of the same prompt."""
    value: Any = list(replies)
    while isinstance(value, list):
        value = value[0] if value else None
    return value


def _header(tasks: Sequence[_Task], path: Path) -> Data:
    results = next((task.results for task in tasks if task.results), {})
    header: Data = {"notes": (f"Imported from samples of lm-eval in {path}.",)}
    started, seconds = results.get("date"), results.get("total_evaluation_time_seconds")
    if is_number(started) and 0 < started < 1e11:
        header["created"] = _time(started)
        if isinstance(seconds, str) and re.fullmatch(r"\d{1,9}(\.\d+)?", seconds):
            header["finished"] = _time(started + float(seconds))
    elif day := next((task.date for task in tasks if task.date), ""):
        header["created"] = f"{day[:10]}T{day[11:19].replace('-', ':')}Z"
    names = {"lm_eval": "lm_eval_version", "transformers": "transformers_version"}
    versions = {ours: str(results[name]) for ours, name in names.items() if results.get(name)}
    return header | ({"versions": versions} if versions else {})


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _prepare(task: _Task, builder: ImportBuilder) -> None:
    """Add the metrics that a suite can calculate from an output; most need the filters or likelihoods of lm-eval."""
    builder.part(f"{task.name}: prompt", "changed", "each case has the whole prompt; the suite scores recorded outputs")
    for metric in list_or_empty(task.config.get("metric_list")):
        name = dict_or_empty(metric).get("metric")
        part = f"{task.name}: metric {name}"
        if name == "exact_match" and set(metric) <= _PLAIN and not task.config.get("filter_list"):
            settings: Mapping[str, Any] = {"ignore_case": True} if metric.get("ignore_case") else {}
            builder.metrics.append(MetricDraft(name="exact_match", scorer="equals", settings=settings))
            builder.part(part, "kept", "equals")
        else:
            builder.part(
                part, "left out", "it needs lm-eval's filters or likelihoods; its recorded scores are in the run"
            )
    if not task.config:
        builder.part(
            f"{task.name}: metrics", "left out", "results_DATE.json, which has their settings, is not in the folder"
        )
