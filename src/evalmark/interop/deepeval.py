"""Import DeepEval's datasets of goldens and its saved test runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalmark.inputs.documents.errors import PlacedError
from evalmark.interop.shared.folders import files_of, folder_of
from evalmark.interop.shared.import_builder import ImportBuilder, read_side_file
from evalmark.interop.shared.import_result import ImportResult
from evalmark.interop.shared.items import dict_or_empty, generated_row_id, is_number, list_or_empty, unique_names
from evalmark.interop.shared.lenient_json import read_lenient_json
from evalmark.interop.shared.recorded import (
    KnownMetric,
    RecordedRow,
    RecordedRun,
    add_known_metrics,
    import_recorded,
    recorded_score,
)
from evalmark.interop.shared.results import REST, SIDE
from evalmark.interop.shared.row_files import ENDINGS, PlacedRow, export_rows, rows_in

Data = dict[str, Any]
GOLDENS = "goldens.json"
"""The name of exported goldens."""
_METRICS = {
    "Exact Match": KnownMetric("equals", settings={"strip": True}),
    "Faithfulness": KnownMetric("faithfulness", "changed", "judged too, by evalmark's own questions"),
}
_TEXTS = ("input", "actual_output", "expected_output", "scenario", "expected_outcome", "name", "comments")
_RUN_KEYS = ("testCases", "conversationalTestCases")
_KEPT = (
    "comments",
    "sourceFile",
    "customColumnKeyValues",
    "scenario",
    "userDescription",
    "persona",
    "additionalMetadata",
)
"""Keys that go to the metadata of a case under their own name, beside those of its metadata."""


def import_deepeval(path: Path) -> ImportResult:
    """Import goldens (JSON, JSONL or CSV) as a dataset, or a saved test run, such as `.latest_run_full.json`.

    Raises:
        DataError: the file is invalid, or holds neither goldens nor test cases.
    """
    side = read_side_file(folder_of(path))
    files = [file for file in files_of(path, ENDINGS) if file.name != SIDE]
    if side is not None and len(files) > 1:
        files = [file for file in files if file.name != GOLDENS]
    elif len(files) != 1:
        raise PlacedError(str(path), f"has {len(files)} files of JSON, JSONL or CSV; name one of them.")
    recorded = RecordedRun(name=files[0].stem.lstrip("."), path=path, side=side)
    read = _Metrics()
    made = [row for file in files for row in _rows(file, recorded, read)]
    if not made:
        raise PlacedError(str(path), "has neither goldens nor test cases.")
    recorded.metrics = {} if side is not None else read.fields()
    for row in made:
        for score in row.scores:
            known = recorded.metrics.get(str(score["name"]), {})
            score |= {key: value for key, value in known.items() if key == "direction"}
    recorded.header = {"notes": (f"Imported from {path.name} of DeepEval.",)}

    def prepare(_: str, builder: ImportBuilder) -> None:
        thresholds = {name: at["threshold"] for name, at in recorded.metrics.items() if at.get("direction") != "lower"}
        add_known_metrics(
            builder,
            read.facts,
            {} if side is not None else _METRICS,
            {n: t for n, t in thresholds.items() if t is not None},
        )
        if any("scenario" in row.case.get("metadata", {}) for row in made):
            builder.part(
                "scenario",
                "changed",
                "the input of a case; DeepEval lets a model play the user, and a suite sends the input",
            )

    return import_recorded(made, recorded, prepare)


def _rows(file: Path, recorded: RecordedRun, read: "_Metrics") -> list[RecordedRow]:
    """Return the rows of one file; test cases are results, goldens are not."""
    rows, conversations, header = _cases(file, recorded)
    recorded.is_run = any(key in header for key in _RUN_KEYS)
    recorded.name = str(header.get("identifier") or header.get("datasetAlias") or recorded.name)
    target = str(dict_or_empty(header.get("hyperparameters")).get("model") or "")
    made = [_row(camel(row), place, target, (read, recorded.is_run)) for row, place in rows]
    return made + [_conversation(camel(row), place, target, read) for row, place in conversations]


def test_case_row(row: Data, place: str, target: str) -> RecordedRow:
    """Convert one test case of a test run.

    Raises:
        DataError: it lacks its input, or its metrics are not a list of objects.
    """
    return _row(camel(row), place, target, (_Metrics(), True))


def _cases(path: Path, recorded: RecordedRun) -> tuple[list[PlacedRow], list[PlacedRow], Data]:
    """Return goldens or test cases, conversations, and the header of a test run."""
    if path.suffix.lower() != ".json":
        rows = export_rows(path, lambda note: recorded.remarks.update({note: None}), _TEXTS)
        header: Data = {}
    else:
        data = read_lenient_json(path)
        header = dict_or_empty(dict_or_empty(data).get("testRunData") or data)
        if any(isinstance(header.get(key), list) for key in _RUN_KEYS):
            cases, conversations = ([*list_or_empty(header.get(key))] for key in _RUN_KEYS)
            return (
                rows_in(cases, f"{path}: testCases"),
                rows_in(conversations, f"{path}: conversationalTestCases"),
                header,
            )
        rows = rows_in(data, str(path))
    conversations = [(row, place) for row, place in rows if row.get("scenario") is not None]
    return [(row, place) for row, place in rows if row.get("scenario") is None], conversations, header


def camel(row: Mapping[str, Any]) -> Data:
    """Return a row with the keys of the API; datasets are saved with underscores, test runs in camel case.

    >>> camel({"actual_output": "Oslo", "inputTokenCount": 3})
    {'actualOutput': 'Oslo', 'inputTokenCount': 3}
    """

    def named(key: str) -> str:
        first, *rest = key.split("_")
        return first + "".join(word[:1].upper() + word[1:] for word in rest)

    return {named(str(key)): value for key, value in row.items() if value is not None}


@dataclass(slots=True, kw_only=True)
class _MetricFacts:
    """What the verdicts of one metric tell of it."""

    thresholds: set[float | None] = field(default_factory=set)
    judges: set[str] = field(default_factory=set)
    is_lower: bool = False


@dataclass(slots=True, kw_only=True)
class _Metrics:
    """The metrics of a test run, with the direction that its verdicts show."""

    facts: dict[str, _MetricFacts] = field(default_factory=dict)

    def scores(self, row: Data, place: str) -> list[Data]:
        """Return the scores of a test case; a second metric of one name gets a number.

        Raises:
            DataError: the metrics are not a list of objects.
        """
        listed = row.get("metricsData") or []
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise PlacedError(place, "`metricsData` is not a list of objects.")
        names = unique_names(str(item.get("name") or item.get("metric") or "metric") for item in listed)
        return [self._score(name, item) for name, item in zip(names, listed, strict=True)]

    def _score(self, name: str, item: Data) -> Data:
        facts = self.facts.setdefault(name, _MetricFacts())
        value, threshold, success = item.get("score"), item.get("threshold"), item.get("success")
        facts.thresholds.add(float(threshold) if is_number(threshold) else None)
        if isinstance(judge := item.get("evaluationModel"), str):
            facts.judges.add(judge)
        if is_number(value) and is_number(threshold) and isinstance(success, bool) and value != threshold:
            facts.is_lower |= (value > threshold) != success
        if item.get("error") is not None:
            return {"name": name, "status": "error", "reason": str(item["error"])}
        return recorded_score(name, value, passed=success, reason=item.get("reason"))

    def fields(self) -> dict[str, Data]:
        """Return the fields of each metric: a threshold and a judge only if all test cases have the same."""
        return {
            name: {
                "direction": "lower" if facts.is_lower else "higher",
                "threshold": next(iter(facts.thresholds)) if len(facts.thresholds) == 1 else None,
                "judge": next(iter(facts.judges)) if len(facts.judges) == 1 else "",
            }
            for name, facts in self.facts.items()
        }


def _row(row: Data, place: str, target: str, read: tuple[_Metrics, bool]) -> RecordedRow:
    """Convert a golden, or a test case, which is a result even without an output."""
    metrics, is_result = read
    if "input" not in row:
        raise PlacedError(place, "there is no `input`, which every golden and test case has.")
    case = {"input": row["input"], "expected": row.get("expectedOutput"), "contexts": _texts(row.get("context"))}
    return RecordedRow(
        place=place,
        case=_with_id({**case, "metadata": _metadata(row), "tags": _texts(row.get("tags"))}, row),
        output=_output(row, is_result=is_result),
        scores=metrics.scores(row, place),
        target=target,
        rest=dict_or_empty(row.get("metadata")).get(REST),
    )


def _conversation(row: Data, place: str, target: str, metrics: _Metrics) -> RecordedRow:
    """Convert a conversation: what the user is to achieve is the input, the last reply the output."""
    turns = [dict_or_empty(turn) for turn in list_or_empty(row.get("turns"))]
    messages = [{"role": str(turn.get("role")), "content": turn.get("content", "")} for turn in turns]
    scores = metrics.scores(row, place)
    case = {
        "input": row.get("scenario"),
        "expected": row.get("expectedOutcome"),
        "contexts": _texts(row.get("context")),
    }
    case["metadata"] = {**(_metadata(row) or {}), "scenario": row.get("scenario")}
    output = None
    if scores:
        replies = [message["content"] for message in messages if message["role"] == "assistant"]
        output = {"value": replies[-1] if replies else None, "transcript": messages}
    else:
        case["history"] = messages or None
    return RecordedRow(place=place, case=_with_id(case, row), output=output, scores=scores, target=target)


def _with_id(case: Data, row: Data) -> Data:
    name = row.get("name")
    kept = {key: value for key, value in case.items() if value is not None}
    # DeepEval names test cases by their place; a name by content stays when cases are added before it.
    is_given = isinstance(name, str) and name and not name.startswith(("test_case_", "conversational_test_case_"))
    return {"id": name if is_given else generated_row_id([kept.get("input"), kept.get("expected")]), **kept}


def _texts(value: Any) -> list[str] | None:
    """Return a list of texts; in CSV and JSONL, DeepEval joins them with `|`."""
    if isinstance(value, str):
        return value.split("|") if value else None
    if not isinstance(value, list):
        return None
    return [str(item.get("context", item)) if isinstance(item, dict) else str(item) for item in value]


def _metadata(row: Data) -> Data | None:
    own = {**dict_or_empty(row.get("metadata")), **dict_or_empty(row.get("additionalMetadata"))}
    own.pop(REST, None)
    kept = {key: row[key] for key in _KEPT if key in row and key != "additionalMetadata"}
    tools = {"expected_tools": _tools(row["expectedTools"])} if row.get("expectedTools") else {}
    return {**kept, **own, **tools} or None


def _tools(value: Any) -> list[Data]:
    calls = [camel(item) if isinstance(item, dict) else {"name": str(item)} for item in list_or_empty(value)]
    return [
        {
            key: item
            for key, item in {
                "name": str(call.get("name", "")),
                "arguments": call.get("inputParameters"),
                "result": call.get("output"),
            }.items()
            if item is not None
        }
        for call in calls
    ]


def _output(row: Data, *, is_result: bool) -> Data | None:
    """Return the recorded output; a golden whose `actual_output` is null has none yet."""
    if row.get("actualOutput") is None:
        return {"error": "DeepEval recorded no output."} if is_result else None
    tokens = {"input_tokens": row.get("inputTokenCount"), "output_tokens": row.get("outputTokenCount")}
    usage = {name: int(count) for name, count in tokens.items() if is_number(count) and count >= 0}
    fields = {
        "value": row["actualOutput"],
        "contexts": _texts(row.get("retrievalContext")),
        "tool_calls": _tools(row.get("toolsCalled")) or None,
        "seconds": row.get("completionTime"),
        "usage": usage or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
