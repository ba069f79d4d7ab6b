"""Cases as rows of a dataset, which `evalmark run` reads back as the same cases."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import plain
from evalmark.core.values.score import Result
from evalmark.inputs.documents.serialization import json_line


def dataset_lines(results: Iterable[Result]) -> Iterator[str]:
    """Yield each case once, as a line of JSONL, in the order of the results.

    Cases of several datasets with the same id are named by their dataset too, since ids are unique in a dataset.
    """
    written: set[tuple[str, str]] = set()
    ids: Counter[str] = Counter()
    for result in results:
        case, dataset = result.trial.case, result.trial.dataset
        if (dataset, case.id) in written:
            continue
        written.add((dataset, case.id))
        ids[case.id] += 1
        yield json_line(dataset_row(case) | ({"id": f"{dataset}/{case.id}"} if ids[case.id] > 1 else {}))


def dataset_row(case: Case) -> dict[str, Any]:
    """Return a case as a row of a dataset; fields that the case does not have are left out."""
    row = {
        "input": plain(case.input),
        "expected": plain(case.expected),
        "contexts": None if case.contexts is None else list(case.contexts),
        "history": [plain(turn) for turn in case.history] or None,
        "liked": [plain(one.value) for one in case.examples if one.liked] or None,
        "disliked": [plain(one.value) for one in case.examples if not one.liked] or None,
        "tags": list(case.tags) or None,
        "metadata": plain(case.metadata) or None,
        **({} if case.given is None else _given(case.given)),
    }
    return {"id": case.id} | {name: value for name, value in row.items() if value is not None}


def _given(output: Output) -> dict[str, Any]:
    """Return the fields of an output that came with the case."""
    return {
        "answer": plain(output.value),
        "retrieved_contexts": None if output.contexts is None else list(output.contexts),
        "tool_calls": [plain(call) for call in output.tool_calls] or None,
    }
