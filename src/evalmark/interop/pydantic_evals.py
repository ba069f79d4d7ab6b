"""Import datasets of pydantic-evals (YAML or JSON) with their evaluators, and reports of their evaluations (JSON)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.document import load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import regular_file
from evalmark.interop.shared.import_builder import ImportBuilder, MetricDraft
from evalmark.interop.shared.import_result import ImportResult, PartOutcome
from evalmark.interop.shared.items import dict_or_empty, is_number, list_or_empty
from evalmark.interop.shared.recorded import RecordedRow, RecordedRun, import_recorded, recorded_score

Data = dict[str, Any]
_POSITIONAL = {
    "Equals": "value",
    "Contains": "value",
    "IsInstance": "type_name",
    "MaxDuration": "seconds",
    "LLMJudge": "rubric",
    "GEval": "criteria",
}
"""The argument of each evaluator that may stand without its name."""
_TYPES = {"dict": "object", "list": "array", "int": "integer", "float": "number", "bool": "boolean", "NoneType": "null"}
_PROVIDERS = {"openai": "openai", "openai-chat": "openai", "anthropic": "anthropic", "google-gla": "gemini"} | {
    name: name for name in ("groq", "mistral", "deepseek", "ollama", "openrouter", "together")
}
"""Prefixes of pydantic-ai's model names for which evalmark has a provider of its own."""
_AS_DATA = "an output that is JSON text counts as data too"
_CODE = "its code is not in the file"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evaluator:
    """One evaluator: the class and its arguments."""

    name: str
    arguments: Data = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name of its results."""
        name = self.arguments.get("evaluation_name")
        return name if isinstance(name, str) and name else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    """What an evaluator becomes, or why it is left out."""

    outcome: PartOutcome
    to: str
    scorer: str = ""
    settings: Data = field(default_factory=dict)
    file: Data | None = None
    """A metric file, which only a suite can have."""
    judge: str = ""


def import_pydantic_evals(path: Path) -> ImportResult:
    """Import a dataset as a suite, or a report, as `EvaluationReportAdapter.dump_json` writes it, as a run.

    Raises:
        DataError: the file is invalid, or is neither of them.
    """
    data = load_document(regular_file(path)).data
    cases = dict_or_empty(data).get("cases")
    if not isinstance(cases, list) or not all(isinstance(case, dict) and "inputs" in case for case in cases):
        raise PlacedError(str(path), "is no dataset of pydantic-evals: `cases` is not a list of objects with `inputs`.")
    recorded = RecordedRun(name=str(data.get("name") or path.stem), path=path)
    recorded.header = {"notes": (f"Imported from {path.name} of pydantic-evals.",)}
    if any("output" in case or "assertions" in case for case in cases) or "failures" in data:
        failures = [case for case in list_or_empty(data.get("failures")) if isinstance(case, dict)]
        rows = [_result(case, f"{path}: cases[{number}]") for number, case in enumerate(cases)]
        rows += [_failure(case, f"{path}: failures[{number}]") for number, case in enumerate(failures)]
        return import_recorded(rows, recorded, lambda _, builder: _add_report(rows, builder))
    if not cases:
        raise PlacedError(str(path), "has no cases.")
    recorded.is_run = False
    evaluators = _evaluators(data.get("evaluators"), str(path))
    found = [_case(case, number, f"{path}: cases[{number}]") for number, case in enumerate(cases, start=1)]
    shared, own = _shared_checks(evaluators, found)
    parts: dict[tuple[str, PartOutcome, str], None] = {}
    rows = [_with_checks(row, [*own, *specs], parts) for row, specs in found]

    def prepare(_: str, builder: ImportBuilder) -> None:
        for evaluator in shared:
            _add_metrics(evaluator, builder)
        for name, outcome, to in parts:
            builder.part(name, outcome, to)
        for evaluator in _evaluators(data.get("report_evaluators"), str(path)):
            builder.part(
                f"report evaluator {evaluator.name}", "no effect", "it summarizes results, which evalmark show does"
            )

    return import_recorded(rows, recorded, prepare)


def _evaluators(specs: Any, place: str) -> list[_Evaluator]:
    """Read the forms of an evaluator: `Name`, `{Name: argument}`, `{Name: {arguments}}`, `{name: …, arguments: …}`."""
    if specs is not None and not isinstance(specs, list):
        raise PlacedError(place, "`evaluators` is not a list.")
    return [_evaluator(spec, place) for spec in specs or []]


def _evaluator(spec: Any, place: str) -> _Evaluator:
    if isinstance(spec, str):
        return _Evaluator(name=spec)
    if not isinstance(spec, dict) or not spec or not all(isinstance(key, str) for key in spec):
        raise PlacedError(place, f"the evaluator {spec!r:.40} is neither a name nor a name with arguments.")
    if isinstance(spec.get("name"), str) and spec.keys() <= {"name", "arguments"}:
        name, arguments = spec["name"], spec.get("arguments")
        arguments = arguments[0] if isinstance(arguments, list) and len(arguments) == 1 else arguments
    elif len(spec) == 1:
        [(name, arguments)] = spec.items()
    else:
        raise PlacedError(place, f"the evaluator {spec!r:.40} has several names.")
    if arguments is None:
        return _Evaluator(name=name)
    if isinstance(arguments, dict) and all(isinstance(key, str) for key in arguments):
        return _Evaluator(name=name, arguments=arguments)
    return _Evaluator(name=name, arguments={_POSITIONAL.get(name, "value"): arguments})


def _case(case: Data, number: int, place: str) -> tuple[RecordedRow, list[_Evaluator]]:
    row = RecordedRow(place=place, case=_case_fields(case, str(case.get("name") or f"Case {number}")))
    return row, _evaluators(case.get("evaluators"), place)


def _case_fields(case: Data, name: str) -> Data:
    metadata = case.get("metadata")
    fields = {
        "id": name[:200],
        "input": case.get("inputs"),
        "expected": case.get("expected_output"),
        "metadata": metadata if isinstance(metadata, dict) or metadata is None else {"metadata": metadata},
    }
    return {key: value for key, value in fields.items() if value is not None}


def _shared_checks(
    evaluators: list[_Evaluator], cases: list[tuple[RecordedRow, list[_Evaluator]]]
) -> tuple[list[_Evaluator], list[_Evaluator]]:
    """Return the evaluators that become metrics of the suite, and those that each case gets.

    `EqualsExpected` skips cases without an expected output, which a metric of the suite would leave unscored.
    """
    some_lack_it = any("expected" not in row.case for row, _ in cases)
    own = [one for one in evaluators if one.name == "EqualsExpected" and some_lack_it]
    return [one for one in evaluators if one not in own], own


def _with_checks(
    row: RecordedRow, evaluators: list[_Evaluator], parts: dict[tuple[str, PartOutcome, str], None]
) -> RecordedRow:
    checks: list[Data] = []
    for evaluator in evaluators:
        if evaluator.name == "EqualsExpected" and "expected" not in row.case:
            continue
        check = _converted(evaluator)
        if check.file is not None:
            check = _judged_in_a_case(evaluator)
        part = f"case {row.case['id']}: {evaluator.label}"
        parts[part, check.outcome, check.to] = None
        if check.scorer:
            checks.append({check.scorer: {**check.settings, "name": evaluator.label}})
    return RecordedRow(place=row.place, case=row.case, checks=checks)


def _add_metrics(evaluator: _Evaluator, builder: ImportBuilder) -> None:
    check = _converted(evaluator)
    builder.part(f"evaluator {evaluator.label}", check.outcome, check.to)
    if check.file is not None:
        builder.metrics += [
            MetricDraft(name=name, file=file, judge=check.judge) for name, file in _judged_files(evaluator, check.file)
        ]
    elif check.scorer:
        builder.metrics.append(MetricDraft(name=evaluator.label, scorer=check.scorer, settings=check.settings))


def _converted(evaluator: _Evaluator) -> _Check:
    """Return what means the same as an evaluator."""
    convert = {
        "EqualsExpected": lambda _: _Check(outcome="kept", to="equals", scorer="equals"),
        "Equals": _equals,
        "Contains": _contains,
        "IsInstance": _is_instance,
        "MaxDuration": _max_duration,
        "LLMJudge": _llm_judge,
        "GEval": _g_eval,
    }.get(evaluator.name)
    if convert is not None:
        return convert(evaluator.arguments)
    if evaluator.name == "HasMatchingSpan":
        return _Check(outcome="left out", to="evalmark does not match spans; tool_calls checks which tools were called")
    return _Check(outcome="left out", to=f"{_CODE}; rewrite it as a Python function, and name the function as a metric")


def _equals(arguments: Data) -> _Check:
    value = arguments.get("value")
    if isinstance(value, str):
        pattern = rf"(?s)\A{re.escape(value)}\Z"
        return _Check(outcome="kept", to="regex of the whole output", scorer="regex", settings={"pattern": pattern})
    settings = {"expected": value, "allow_extras": False, "error_field": None}
    if isinstance(value, dict) and value:
        to = f"structured_output: {_AS_DATA}"
        return _Check(outcome="changed", to=to, scorer="structured_output", settings=settings)
    return _Check(
        outcome="changed", to=f"json_schema: {_AS_DATA}", scorer="json_schema", settings={"schema": {"const": value}}
    )


def _contains(arguments: Data) -> _Check:
    value = arguments.get("value")
    if isinstance(value, str) or (arguments.get("as_strings") and is_number(value)):
        settings: Data = {"all": [str(value)]} | (
            {} if arguments.get("case_sensitive", True) else {"ignore_case": True}
        )
        return _Check(outcome="kept", to="contains", scorer="contains", settings=settings)
    if isinstance(value, dict) and value and not arguments.get("as_strings"):
        settings = {"expected": value, "error_field": None}
        to = f"structured_output: {_AS_DATA}"
        return _Check(outcome="changed", to=to, scorer="structured_output", settings=settings)
    return _Check(outcome="left out", to="whether a list or a printed value contains something is no check of evalmark")


def _is_instance(arguments: Data) -> _Check:
    kind = _TYPES.get(str(arguments.get("type_name")))
    if kind is None:
        return _Check(outcome="left out", to="an output of evalmark has no Python class beside those of JSON")
    return _Check(
        outcome="changed", to=f"json_schema: {_AS_DATA}", scorer="json_schema", settings={"schema": {"type": kind}}
    )


def _max_duration(arguments: Data) -> _Check:
    seconds = arguments.get("seconds")
    if not is_number(seconds) or seconds <= 0:
        return _Check(outcome="left out", to="`seconds` is no number of seconds")
    return _Check(outcome="kept", to="time", scorer="time", settings={"seconds": seconds})


def _llm_judge(arguments: Data) -> _Check:
    rubric = arguments.get("rubric")
    if not isinstance(rubric, str) or not rubric.strip():
        return _Check(outcome="left out", to="it has no `rubric`")
    shows_expected = bool(arguments.get("include_expected_output"))
    template = ["Does the output meet this rubric?\n{{description}}"]
    template += ["Input:\n{{input}}"] if arguments.get("include_input") else []
    template += ["Expected output:\n{{expected}}"] if shows_expected else []
    file = {
        "metric_description": rubric,
        "config": {"needs_history": False, "needs_example_output": shows_expected},
        "score": {"type": "boolean", "description": "whether the output meets the rubric"},
        "template": [*template, "Output:\n{{output}}"],
    }
    to = "a metric file: the same rubric and material, in evalmark's words"
    return _Check(outcome="changed", to=to, file=file, judge=_model(arguments.get("model")))


def _judged_files(evaluator: _Evaluator, file: Data) -> Iterator[tuple[str, Data]]:
    """Yield a metric file for the assertion and for the score of a judge, as far as they are asked for."""
    arguments = evaluator.arguments
    if evaluator.name != "LLMJudge":
        yield evaluator.label, file
        return
    configs = {"score": arguments.get("score", False), "pass": arguments.get("assertion", {})}
    enabled = {kind: dict_or_empty(config) for kind, config in configs.items() if config is not False}
    for kind, config in enabled.items():
        name = config.get("evaluation_name") or (f"LLMJudge_{kind}" if len(enabled) > 1 else "LLMJudge")
        percentage = {"type": "percentage", "description": "how far the output meets the rubric"}
        yield str(name), (file if kind == "pass" else {**file, "score": percentage})


def _judged_in_a_case(evaluator: _Evaluator) -> _Check:
    """Return the judge of a single case, which cannot have a metric file."""
    arguments = evaluator.arguments
    if evaluator.name != "LLMJudge" or arguments.get("include_expected_output") or arguments.get("score"):
        return _Check(
            outcome="left out", to="a single case cannot have this judge here; give it to all cases, as a metric file"
        )
    differs = [] if arguments.get("include_input") else ["the judge sees the input too"]
    differs += ["the judge is that of the suite"] if arguments.get("model") else []
    to = ", ".join(["closed_qa with the same rubric, in evalmark's words", *differs])
    return _Check(outcome="changed", to=to, scorer="closed_qa", settings={"criteria": arguments.get("rubric")})


def _g_eval(arguments: Data) -> _Check:
    criteria, steps = arguments.get("criteria"), list_or_empty(arguments.get("evaluation_steps"))
    low, high = [*list_or_empty(arguments.get("score_range", [1, 5])), None, None][:2]
    if not isinstance(criteria, str) or type(low) is not int or type(high) is not int or low >= high:
        return _Check(outcome="left out", to="it has no `criteria`, or no `score_range` of two whole numbers")
    lines = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    template = [
        "{{description}}",
        *(["Input:\n{{input}}"] if arguments.get("include_input") else []),
        "Output:\n{{output}}",
    ]
    file = {
        "metric_description": f"{criteria}\n{lines}".strip(),
        "config": {"needs_history": False, "needs_example_output": False},
        "score": {"type": "scale", "description": "how far the criteria are met", "min": low, "max": high},
        "template": template,
    }
    to = "a metric file: the same criteria and steps, in evalmark's words"
    return _Check(outcome="changed", to=to, file=file, judge=_model(arguments.get("model")))


def _model(name: Any) -> str:
    """Convert a model of pydantic-ai; empty for the judge of the suite."""
    if not isinstance(name, str) or ":" not in name:
        return ""
    provider, _, model = name.partition(":")
    return f"{_PROVIDERS[provider]}/{model}" if provider in _PROVIDERS else f"pydantic-ai/{name}"


def _result(case: Data, place: str) -> RecordedRow:
    """Convert a case of a report; assertions pass or fail, scores and labels do not."""
    scores = []
    for kind in ("assertions", "scores", "labels"):
        for name, item in dict_or_empty(case.get(kind)).items():
            value = dict_or_empty(item)
            scores.append(recorded_score(name, value.get("value"), reason=value.get("reason")))
    for failure in list_or_empty(case.get("evaluator_failures")):
        error = dict_or_empty(failure)
        scores.append({"name": str(error.get("name")), "status": "error", "reason": _line(error.get("error_message"))})
    seconds = case.get("task_duration")
    more: Mapping[str, Any] = {key: case[key] for key in ("metrics", "attributes") if dict_or_empty(case.get(key))}
    output = {"value": case.get("output"), "seconds": seconds if is_number(seconds) else None, "metadata": more or None}
    return RecordedRow(place=place, case=_case_fields(case, _name(case)), output=output, scores=scores)


def _failure(case: Data, place: str) -> RecordedRow:
    """Convert a case whose task raised an exception."""
    output = {"error": _line(case.get("error_message") or "the task failed")}
    return RecordedRow(place=place, case=_case_fields(case, _name(case)), output=output)


def _name(case: Data) -> str:
    """Return the name of a case; repeats of one have its name under `source_case_name`."""
    return str(case.get("source_case_name") or case.get("name") or "case")


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _add_report(rows: list[RecordedRow], builder: ImportBuilder) -> None:
    for name in dict.fromkeys(str(score["name"]) for row in rows for score in row.scores):
        builder.part(f"evaluation {name}", "left out", "a report has no evaluators; import the dataset for a suite")
