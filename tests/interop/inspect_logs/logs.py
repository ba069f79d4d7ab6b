"""Logs in the layout of Inspect, as its versions of 2026 write them."""

import json
import zipfile
from pathlib import Path
from typing import Any

Data = dict[str, Any]


def sample(key: Any = "no", **fields: Any) -> Data:
    """A sample with one answer of the model and no scores."""
    text = fields.pop("completion", "Oslo")
    message = {"id": "m2", "role": "assistant", "content": text, "source": "generate", "model": "openai/small"}
    question = {"id": "m1", "role": "user", "content": "Capital of Norway?", "source": "input"}
    return {
        "id": key,
        "epoch": 1,
        "input": "Capital of Norway?",
        "target": "Oslo",
        "messages": [question, message],
        "output": {
            "model": "small",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "completion": text,
            "time": 0.5,
        },
        "scores": {},
        "metadata": {},
        "model_usage": {"openai/small": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}},
        "events": [],
        **fields,
    }


def header(**spec: Any) -> Data:
    """A log without samples."""
    return {
        "version": 2,
        "status": spec.pop("status", "success"),
        "error": spec.pop("error", None),
        "plan": {"name": "plan", "steps": spec.pop("steps", [{"solver": "generate", "params": {}}])},
        "stats": {"started_at": "2026-11-20T10:00:00+00:00", "completed_at": "2026-11-20T10:01:00+00:00"},
        "eval": {
            "task": "capitals",
            "task_id": "t1",
            "created": "2026-11-20T10:00:00+00:00",
            "model": "openai/small",
            "dataset": {"name": "capitals", "samples": 1},
            "config": {"epochs": 1},
            "scorers": [{"name": "includes", "options": {}}],
            "packages": {"inspect_ai": "0.3.285"},
            **spec,
        },
    }


def write_json(path: Path, samples: list[Data], **spec: Any) -> Path:
    """Write a log as one document; NaN stands as Inspect writes it."""
    path.write_text(json.dumps({**header(**spec), "samples": samples}))
    return path


def write_eval(
    path: Path, samples: list[Data], *, method: int = zipfile.ZIP_DEFLATED, module: Any = zipfile, **spec: Any
) -> Path:
    """Write a log as an archive."""
    with module.ZipFile(path, "w", method) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, **header(**spec)}))
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps(header(**spec)))
    return path
