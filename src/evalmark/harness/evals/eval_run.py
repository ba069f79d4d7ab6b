"""Runs an eval outside of pytest, as a run of its own."""

from contextlib import nullcontext
from dataclasses import replace
from os import PathLike, environ
from pathlib import Path
from typing import Literal

from evalmark.core.settings import load_settings
from evalmark.core.sync import run_sync
from evalmark.core.values.run import Gate, Run
from evalmark.core.values.score import Result
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.session.run_session import RunSession
from evalmark.runs.session.run_store import MemoryRunStore, with_results
from evalmark.storage.store.store import open_store

from .eval_plan import plan_eval
from .eval_spec import EvalSpec
from .rows import read_rows

SKIPPED = "The eval was skipped: its skip_if is true. No case was run, and nothing was stored."


def run_eval(eval_spec: EvalSpec, store: str | PathLike[str] | Literal["settings"] | None, gate: Gate | None) -> Run:
    """Run all cases of an eval, or none where its `skip_if` is true, and return the run.

    Raises:
        ConfigError: a part of it cannot be used, or a row is not a case; nothing was started.
    """
    settings = load_settings(environ, Path.cwd())
    rows = [] if eval_spec.skip_if else read_rows(eval_spec.data, eval_spec.place)
    store = None if eval_spec.skip_if else store
    results: list[Result] = []
    opened = (
        nullcontext(MemoryRunStore()) if store is None else open_store(settings.store if store == "settings" else store)
    )
    with opened as run_store:
        run_session = RunSession(settings, lambda: run_store)
        plan = replace(plan_eval(eval_spec, rows, run_session), gate=gate)
        run_options = RunOptions(store=run_store, settings=settings, on_results=results.extend)
        run = run_sync(execute(plan, run_options))
    run = replace(run, notes=(*run.notes, SKIPPED)) if eval_spec.skip_if else run
    return with_results(run, results)
