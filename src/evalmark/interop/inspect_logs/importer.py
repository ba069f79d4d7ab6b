"""Import logs of Inspect: one run of all logs, and a suite for each task."""

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalmark.core.text import count
from evalmark.core.values.spending import Spending, spending_by_model
from evalmark.inputs.documents.errors import PlacedError
from evalmark.interop.shared.folders import folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft, PromptText, read_side_file
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.interop.shared.recorded import RecordedRow, RecordedRun, import_recorded
from evalmark.interop.shared.results import REST

from .log_files import InspectLog, read_logs
from .samples import row_of, usage_of

Data = dict[str, Any]
_PROVIDERS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "gemini",
    "ollama": "ollama",
    "openrouter": "openrouter",
    "mistral": "mistral",
    "groq": "groq",
    "deepseek": "deepseek",
    "together": "together",
    "grok": "xai",
}
"""Inspect's names of providers that evalmark has too."""
_SETTINGS = ("temperature", "max_tokens", "top_p", "seed")
_STRIPPED = string.whitespace + string.punctuation
_EDGE = r"[\s!-/:-@\[-`{-~]*"
_MATCHES = {
    "begin": (f"^{_EDGE}", ""),
    "end": ("", rf"{_EDGE}\Z"),
    "any": ("", ""),
    "exact": (f"^{_EDGE}", rf"{_EDGE}\Z"),
}
"""What stands before and after the target in a pattern, for each `location` of `match`."""
_OURS = " (of evalmark)"
_CODE = "its code is not in the log"


def import_inspect(path: Path) -> ImportResult:
    """Import a log of Inspect, or all logs of a folder as one run with a target for each model.

    Raises:
        DataError: a file is no log or damaged, or two logs have results of one task and one model.
    """
    logs = _without_retried(read_logs(path))
    side = read_side_file(folder_of(path))
    if side is None:
        _refuse_reruns(logs)
    tasks = {_task(log): log for log in reversed(logs)}
    recorded = RecordedRun(name=", ".join(dict.fromkeys(map(_task, logs))), path=path, side=side)
    recorded.metrics = {name: fields for log in logs for name, fields in _metrics(log).items()}
    spent: list[Spending] = []
    rows = _ordered(logs, recorded, spent)
    if not rows:
        raise PlacedError(
            str(path), "has no samples: it was written with log_samples=False, or stopped before the first."
        )
    recorded.header = _header(logs, spent, recorded)

    def prepare(dataset: str, builder: ImportBuilder) -> None:
        _prepare(tasks[dataset], builder)

    return import_recorded(rows, recorded, prepare)


def _task(log: InspectLog) -> str:
    return str(log.spec.get("task") or log.path.stem)


def _model(log: InspectLog) -> str:
    return str(log.spec.get("model") or "unknown")


def _created(log: InspectLog) -> str:
    return str(log.spec.get("created") or "")


def _without_retried(logs: Sequence[InspectLog]) -> list[InspectLog]:
    """Return the logs without those that `inspect eval-retry` replaced: the last log of a task id has all samples."""
    ordered = sorted(logs, key=_created)
    last = {str(log.spec.get("task_id") or log.path): log for log in ordered}
    return list(last.values())


def _refuse_reruns(logs: Sequence[InspectLog]) -> None:
    seen: dict[tuple[str, str], InspectLog] = {}
    for log in logs:
        other = seen.setdefault((_task(log), _model(log)), log)
        if other is not log:
            names = f"{other.path.name} and {log.path.name}"
            raise PlacedError(
                str(log.path.parent),
                f"{names} are both of the task {_task(log)} with {_model(log)}. Import each log as a run of its own, by "
                "naming the files instead of the folder; then evalmark compare compares them.",
            )


def _ordered(logs: Sequence[InspectLog], recorded: RecordedRun, spent: list[Spending]) -> list[RecordedRow]:
    """Return the rows of all samples, in the order of each dataset, and collect what the calls cost."""
    rows: list[RecordedRow] = []
    for log in logs:
        listed = list_or_empty(dict_or_empty(log.spec.get("dataset")).get("sample_ids"))
        places = {str(key): number for number, key in enumerate(listed)}
        own: list[RecordedRow] = []
        invalid = 0
        for sample, place in log.samples():
            row = row_of(sample, place, _task(log), _model(log))
            own.append(replace(row, checks=_match_checks(log, row)))
            spent.extend(_spending(sample))
            invalid += sample.get("invalidation") is not None
        if invalid:
            recorded.remarks[f"{log.path}: {count(invalid, 'sample')} marked as invalid; imported like the others."] = (
                None
            )
        rows += sorted(own, key=lambda row: (places.get(str(row.case["id"]), len(places)), row.repeat or 0))
    return rows


def _spending(sample: Data) -> Iterator[Spending]:
    """Yield the tokens of each call of a model, of solvers and scorers alike."""
    for event in list_or_empty(sample.get("events")):
        if not isinstance(event, dict) or event.get("event") != "model" or not isinstance(event.get("model"), str):
            continue
        used = dict_or_empty(event.get("output")).get("usage")
        usage, cost = usage_of(used) or {}, dict_or_empty(used).get("total_cost")
        is_known = {"input_tokens", "output_tokens"} <= usage.keys()
        cached, failed = event.get("cache") == "read", bool(event.get("error"))
        paid = not cached and not failed
        yield Spending(
            model=event["model"],
            calls=int(paid),
            replayed=int(cached),
            failed=int(failed and not cached),
            input_tokens=usage["input_tokens"] if paid and is_known else 0,
            output_tokens=usage["output_tokens"] if paid and is_known else 0,
            unknown_usage=int(paid and not is_known),
            cost=float(cost) if paid and is_number(cost) else None,
            unknown_cost=int(paid and not is_number(cost)),
        )


def _header(logs: Sequence[InspectLog], spent: Sequence[Spending], recorded: RecordedRun) -> Data:
    first, specs = logs[0], [log.spec for log in logs]
    ended = [str(dict_or_empty(log.header.get("stats")).get("completed_at") or "") for log in logs]
    versions = {
        str(name): str(version) for spec in specs for name, version in dict_or_empty(spec.get("packages")).items()
    }
    revision = dict_or_empty(first.spec.get("revision"))
    commit = str(revision.get("commit") or "")
    return {
        "created": _second(_created(first)),
        "finished": _second(max(ended)) or None,
        "spending": spending_by_model(spent),
        "versions": versions,
        "revision": f"{commit}+" if commit and revision.get("dirty") else commit,
        "tags": tuple(dict.fromkeys(str(tag) for spec in specs for tag in list_or_empty(spec.get("tags")))),
        "notes": (f"Imported from logs of Inspect in {recorded.path}.", *_notes(logs)),
    }


def _second(time: str) -> str:
    """Return a time in UTC to the second; Inspect writes `+00:00` and, in places, fractions."""
    return f"{time[:19]}Z" if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", time) else time


def _notes(logs: Sequence[InspectLog]) -> Iterator[str]:
    for log in logs:
        status = log.header.get("status", "started")
        if status == "success":
            continue
        error = dict_or_empty(log.header.get("error")).get("message")
        why = f": {' '.join(str(error).split())[:300]}" if error else ""
        yield f"The status of {log.path.name} is {str(status)[:20]}, so cases may be missing{why}."


def _scorers(log: InspectLog) -> list[Data]:
    """Return the scorers of a task; older logs name them only with their results."""
    listed = [scorer for scorer in list_or_empty(log.spec.get("scorers")) if isinstance(scorer, dict)]
    if listed:
        return listed
    results = list_or_empty(dict_or_empty(log.header.get("results")).get("scores"))
    by_name = {str(score.get("scorer")): score for score in results if isinstance(score, dict) and score.get("scorer")}
    return [{"name": name, "options": dict_or_empty(score.get("params"))} for name, score in by_name.items()]


def _name(scorer: Data) -> str:
    """Return the name of one of Inspect's scorers; a metric that evalmark exported is none, whatever its name."""
    name = str(scorer.get("name", "")).removeprefix("inspect_ai/")
    return f"{name}{_OURS}" if REST in dict_or_empty(scorer.get("metadata")) else name


def _options(scorer: Data) -> Data:
    return {key: value for key, value in dict_or_empty(scorer.get("options")).items() if value is not None}


def _metrics(log: InspectLog) -> Mapping[str, Data]:
    """Return the judge of each scorer that names one."""
    judges = {str(scorer.get("name")): dict_or_empty(scorer.get("options")).get("model") for scorer in _scorers(log)}
    return {name: {"judge": judge} for name, judge in judges.items() if isinstance(judge, str)}


def _prepare(log: InspectLog, builder: ImportBuilder) -> None:
    """Add the scorers and the model of a task to its suite."""
    _add_model(log, builder)
    for scorer in _scorers(log):
        _add_metric(scorer, builder)


def _add_model(log: InspectLog, builder: ImportBuilder) -> None:
    """Add the model if the task only asks it; solvers are code, so a suite of theirs scores recorded outputs."""
    part = f"{_task(log)}: solver"
    steps = [dict_or_empty(step) for step in list_or_empty(dict_or_empty(log.header.get("plan")).get("steps"))]
    names = [str(step.get("solver", "")).removeprefix("inspect_ai/") for step in steps]
    system = _system_text(steps[0]) if names[:1] == ["system_message"] else None
    provider, _, model = _model(log).partition("/")
    if names != ["generate"] and not (names == ["system_message", "generate"] and system):
        shown = ", ".join(filter(None, names)) or "unknown"
        builder.part(part, "changed", f"{shown}: {_CODE}; the suite scores the recorded outputs, without a target")
        return
    if provider not in _PROVIDERS or not model:
        why = f"{_model(log)} is no model of evalmark's providers; the suite scores the recorded outputs, without a target"
        builder.part(part, "changed", why)
        return
    builder.models = [f"{_PROVIDERS[provider]}/{model}"]
    if system:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": "{{input}}"}]
        builder.prompts.append(PromptText(name=_task(log), messages=messages))
    config = dict_or_empty(log.spec.get("model_generate_config"))
    builder.settings = {name: config[name] for name in _SETTINGS if is_number(config.get(name))}
    epochs = dict_or_empty(log.spec.get("config")).get("epochs")
    if type(epochs) is int and epochs > 1:
        builder.options["repeat"] = epochs
    builder.part(part, "kept", f"the target {builder.models[0]}")


def _system_text(step: Data) -> str | None:
    """Return the text of a system message; None if it may be the name of a file, or has variables."""
    text = dict_or_empty(step.get("params")).get("template")
    is_text = isinstance(text, str) and " " in text.strip() and not {"{", "}"} & set(text)
    return str(text) if is_text else None


def _add_metric(scorer: Data, builder: ImportBuilder) -> None:
    """Add what means the same as a scorer to the suite; its recorded scores are in the run in any case."""
    name, options = _name(scorer), _options(scorer)
    part = f"{builder.name}: scorer {name}"
    if name.endswith(_OURS):
        builder.part(
            part, "left out", "a log does not have its settings; the suite that the run was made with has them"
        )
        return
    if name == "includes" and options.keys() <= {"ignore_case"}:
        settings = {"ignore_case": True} if options.get("ignore_case", True) else {}
        builder.metrics.append(MetricDraft(name=name, scorer="contains", settings=settings))
        builder.part(part, "kept", "contains")
    elif _is_match(scorer):
        builder.part(part, "kept", "regex, for each case")
    elif name == "model_graded_fact" and options.keys() <= {"model", "partial_credit"}:
        builder.metrics.append(_graded_fact(name, options))
        builder.part(part, "changed", "a metric file: the same question in other words, to the judge of the suite")
    else:
        builder.part(part, "left out", f"{_CODE}; its recorded scores are in the run")


def _is_match(scorer: Data) -> bool:
    """Tell whether a scorer is Inspect's `match` in a form that a pattern can have."""
    options = _options(scorer)
    is_plain = options.keys() <= {"location", "ignore_case", "numeric"} and not options.get("numeric")
    return _name(scorer) == "match" and is_plain


def _match_checks(log: InspectLog, row: RecordedRow) -> list[Data]:
    """Return a pattern for each `match`: Inspect strips white space and punctuation from both ends of output and target."""
    texts = [row.case.get("expected"), *(example["value"] for example in row.case.get("examples", ()))]
    targets = "|".join(re.escape(str(text).strip(_STRIPPED)) for text in texts if text is not None)
    checks = []
    for options in [_options(scorer) for scorer in _scorers(log) if _is_match(scorer)]:
        begin, end = _MATCHES.get(str(options.get("location", "end")), _MATCHES["end"])
        flags = "(?is)" if options.get("ignore_case", True) else "(?s)"
        checks.append({"regex": {"pattern": f"{flags}{begin}(?:{targets}){end}", "name": "match"}})
    return checks if targets else []


def _graded_fact(name: str, options: Data) -> MetricDraft:
    choices = {"correct": 1.0, "incorrect": 0.0} | ({"partly": 0.5} if options.get("partial_credit") else {})
    file = {
        "metric_description": "Does the output contain what the expected answer says? Style, wording and further content "
        "do not count; where the expected answer and the facts differ, the expected answer counts.",
        "config": {"needs_history": False, "needs_example_output": True},
        "score": {"type": "choice", "description": "whether the content is there", "choices": choices},
        "threshold": 1.0,
    }
    return MetricDraft(name=name, file=file)
