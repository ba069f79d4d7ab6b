"""Join what Langfuse's API lists apart: dataset items, dataset runs, traces and scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalmark.interop.shared.items import dict_or_empty, list_or_empty

Data = dict[str, Any]
FileRow = tuple[Data, str, str]
"""A row, its place, and the name of its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lists:
    """What other rows tell of a trace."""

    items: dict[str, Data] = field(default_factory=dict)
    """The items of datasets by id."""
    item_of: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The id of the item, and the name of the dataset run, by trace."""
    scores: dict[str, list[Data]] = field(default_factory=dict)
    """Scores by trace."""


def join_langfuse(rows: Sequence[FileRow]) -> list[FileRow]:
    """Return a row for each trace, with its scores and the item that it answers, and the items that no trace answers."""
    lists = _Lists()
    placed = [(_flat(row), place, file) for row, place, file in rows]
    for row, _, file in placed:
        for trace, item, name in _links(row, file):
            lists.item_of[trace] = (item, name)
        if _is_score(row):
            lists.scores.setdefault(str(row["traceId"]), []).append(row)
        elif "input" in row and "output" not in row:
            lists.items[str(row.get("id"))] = row
    traces = [_with_item(one, lists) for one in placed if "output" in one[0] and not _is_score(one[0])]
    answered = {str(row.get("datasetItemId")) for row, _, _ in traces}
    items = [
        one
        for one in placed
        if one[0] is lists.items.get(str(one[0].get("id"))) and str(one[0].get("id")) not in answered
    ]
    return [*traces, *items]


def _links(row: Data, file: str) -> Iterator[tuple[str, str, str]]:
    """Yield trace, item and dataset run of a run with its items, or of one item of a run."""
    for link in [row, *list_or_empty(row.get("datasetRunItems"))]:
        if isinstance(link, dict) and link.get("datasetItemId") and link.get("traceId"):
            yield (
                str(link["traceId"]),
                str(link["datasetItemId"]),
                str(link.get("datasetRunName") or row.get("name") or file),
            )


def _is_score(row: Data) -> bool:
    has_value = "value" in row or "stringValue" in row
    return bool(row.get("traceId") and row.get("name")) and has_value and "input" not in row


def _flat(row: Data) -> Data:
    """Return a result of `run_experiment` with the fields of its item beside the output."""
    item = row.get("item")
    if not isinstance(item, dict):
        return row
    kept = {key: item[key] for key in ("id", "input", "metadata") if item.get(key) is not None}
    expected = item.get("expected_output", item.get("expectedOutput"))
    return {key: value for key, value in row.items() if key != "item"} | kept | {"expectedOutput": expected}


def _with_item(one: FileRow, lists: _Lists) -> FileRow:
    row, place, file = one
    trace = str(row.get("traceId") or row.get("trace_id") or row.get("id"))
    item_id, target = lists.item_of.get(trace, ("", file))
    item = lists.items.get(item_id, {})
    known = {key: item[key] for key in ("input", "expectedOutput", "expected_output") if item.get(key) is not None}
    joined = {
        **row,
        **known,
        "scores": [*list_or_empty(row.get("scores")), *lists.scores.get(trace, [])],
        "metadata": {**dict_or_empty(item.get("metadata")), **dict_or_empty(row.get("metadata"))},
    }
    return (joined | {"datasetItemId": item_id} if item_id else joined), place, target
