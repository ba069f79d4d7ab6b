"""Export a run as a dataset folder of Hugging Face."""

import json
from collections.abc import Iterator
from typing import Any

from evalmark.core.text import display_text
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.inputs.documents.serialization import yaml_text

from .shared.export_run import ExportResult, ExportRun

DATA = "data/results.jsonl"


def to_hugging_face(export_run: ExportRun) -> ExportResult:
    """Convert a run to a folder that `datasets.load_dataset` reads: a row for each output, and a dataset card.

    Inputs, expected outputs and outputs are texts, since a column has one type; each metric is a column `score_NAME`, empty where it
    has no value.
    """
    run = export_run.run
    names = list(dict.fromkeys(metric.name for metric in run.metrics))
    card = {"configs": [{"config_name": "default", "data_files": [{"split": "results", "path": DATA}]}]}
    text = f"---\n{yaml_text(card)}---\n\n# {run.name}\n\nOutputs and scores of the run {run.id} of evalmark.\n"
    return ExportResult(files={DATA: "".join(_lines(run, names)), "README.md": text})


def _lines(run: Run, names: list[str]) -> Iterator[str]:
    for result in run.results:
        text = json.dumps(_row(result, names), ensure_ascii=False)
        yield f"{text.encode(errors='replace').decode()}\n"  # lone surrogates are not UTF-8


def _row(result: Result, names: list[str]) -> dict[str, Any]:
    case, output = result.trial.case, result.output
    scores = {score.name: score for score in result.scores}
    return {
        "id": case.id,
        "dataset": result.trial.dataset,
        "target": result.trial.target,
        "repeat": result.trial.repeat,
        "input": display_text(case.input),
        "expected": None if case.expected is None else display_text(case.expected),
        "output": None if output.error is not None else display_text(output.value),
        "error": output.error,
        "verdict": result.verdict,
        "seconds": output.seconds,
        "tags": list(case.tags),
        **{f"score_{name}": scores[name].value if name in scores else None for name in names},
        **{f"reason_{name}": scores[name].reason if name in scores else "" for name in names},
    }
