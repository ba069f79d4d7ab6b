"""`evaluate`: runs a task over cases and scores its outputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from evalmark.core.errors import ConfigError
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import ChatModel, Target
from evalmark.core.settings import Replay, Settings
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Case
from evalmark.core.values.run import DatasetInfo, Gate, Run, Sample
from evalmark.core.values.score import Result
from evalmark.inputs.datasets.case_builder import as_cases
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.sharding import parse_shard
from evalmark.inputs.secrets.env_file import settings_with_env_file
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.runs.isolation.worker_setup import refuse_while_spawning
from evalmark.runs.planning.check import with_references
from evalmark.runs.planning.first_rows import NoteHandler
from evalmark.runs.planning.judges import ScorerLike, scorer_specs
from evalmark.runs.planning.models import ModelFactory
from evalmark.runs.planning.plan import DatasetSource, Plan, embedder_for, file_source, recorded_source
from evalmark.runs.session.run_store import MemoryRunStore, with_results
from evalmark.runs.targets.function import as_target
from evalmark.runs.targets.given_target import GivenTarget
from evalmark.storage.results.run_ids import parse_run_name, parse_run_tags
from evalmark.storage.store.store import open_store

from .execute import execute
from .notebook_progress import notebook_progress
from .options import RunOptions
from .recorded_cases import recorded_cases

if TYPE_CHECKING:
    from evalmark.runs.planning import service_targets
else:
    service_targets = LazyModule("evalmark.runs.planning.service_targets")

SETTINGS = (
    "jobs",
    "timeout",
    "replay",
    "max_cost",
    "max_calls",
    "max_tokens",
    "on",
    "workers",
    "trust_cluster",
    "isolate",
)
"""Options that are settings too."""

Data = str | PathLike[str] | Iterable[Case | Mapping[str, Any] | str]
Task = Callable[..., Any] | str | Mapping[str, Any] | None


class EvaluateOptions(TypedDict, total=False):
    """Options of `evaluate` besides cases, task and scorers."""

    name: str
    """Name of the suite; by default the name of the dataset. Runs of one suite are compared with each other."""
    run_name: str
    """Name of this run, usable wherever a run is named, as with `evalmark run --name`."""
    tags: Sequence[str]
    """Tags of this run: words, or `key=value`."""
    repeat: int
    """Times each case is run; 1 by default."""
    gate: Gate
    """The rule for pass and fail; without one every score that can pass must."""
    embeddings: str | Callable[..., Any]
    """Model name, folder, `module:attribute`, callable `list[str] -> (n, d)` array, or LangChain Embeddings."""
    store: str | PathLike[str] | None
    """File of the store; None keeps the run in memory only. By default the one in the settings."""
    jobs: int
    """Cases that run at the same time."""
    timeout: float
    """Time limit in seconds for each target call and each scorer call."""
    limit: int
    """The most cases to run."""
    sample: int
    """The size of a random sample of the cases to run; the same cases for the same `seed`, in whatever order they come."""
    shard: str
    """Which share of the cases to run, as `2/4`; `evalmark merge` joins the runs of all shares."""
    cluster: str
    """The field of a case by which cases depend on each other, such as their document."""
    until_decided: bool
    """Stop as soon as the gate is decided either way; cases run in a random order."""
    seed: int
    """Seed of that order, random by default, and of `sample`, 0 by default."""
    judge: str | ChatModel | Sequence[str | ChatModel]
    """The chat model of scorers that need a judge: `provider/model`, an object, or several of them."""
    replay: Replay
    """How cached replies are used: `auto`, `off`, `record` or `strict`; see the page on model calls."""
    max_cost: float
    """The most US dollars that model calls may cost."""
    max_calls: int
    """The most model calls to send."""
    max_tokens: int
    """The most tokens, input and output, of all model calls."""
    on: str
    """Where trials run: `local`, `ray`, `ray:auto` or `ray://HOST:PORT`."""
    workers: int
    """Worker processes on Ray."""
    trust_cluster: bool
    """Use a Ray cluster even if it accepts work from anyone who knows its address."""
    isolate: bool
    """Run the task in worker processes, where a crash is an error of its case."""


def evaluate(
    data: Data, task: Task = None, scorers: Sequence[ScorerLike] = (), **options: Unpack[EvaluateOptions]
) -> Run:
    """Run a task over cases, score its outputs, and return the run.

    Works in scripts, in notebooks and inside a running event loop; there, prefer `await evaluate_async(...)`.

    Args:
        data: A list of cases or of mappings with the same fields, the path of a dataset, or `sessions:PROJECT` for the
            labelled outputs of a recorded project.
        task: What is under test: a function of the input, sync or async, `module:attribute`, or a service or a command as in a
            suite, such as `{"http": {"url": ...}}`. None scores the outputs
            that the rows bring.
        scorers: Names, `{name: settings}`, or functions of `case`, `output`, `expected` and so on.
        options: By name; see `EvaluateOptions`: `name`, `run_name`, `tags`, `repeat`, `gate`, `embeddings`, `store`,
            `jobs`, `timeout`, `limit`, `sample`, `shard`, `cluster`, `until_decided`, `seed`, `judge`, `replay`, `max_cost`, `max_calls`, `max_tokens`, `on`,
            `workers`, `trust_cluster` and `isolate`.

    Returns:
        The run with all results. It is kept in `.evalmark/evalmark.db`, unless `store` names another file or is None.

    >>> from evalmark import evaluate
    >>> run = evaluate([{"id": "1", "input": "ping", "expected": "pong"}], lambda text: "pong", ["equals"], store=None)
    >>> [result.verdict for result in run.results]
    ['pass']

    Raises:
        ConfigError: the cases, the task, a scorer or an option cannot be used; nothing was started.
        StoreError: the store cannot be used.
    """
    return run_sync(evaluate_async(data, task, scorers, **options))


async def evaluate_async(
    data: Data, task: Task = None, scorers: Sequence[ScorerLike] = (), **options: Unpack[EvaluateOptions]
) -> Run:
    """Run `evaluate` on the caller's event loop, with the same arguments and result.

    Args:
        data: As in `evaluate`.
        task: As in `evaluate`.
        scorers: As in `evaluate`.
        options: As in `evaluate`.

    Returns:
        The run with all results.

    Raises:
        ConfigError: the cases, the task, a scorer or an option cannot be used; nothing was started.
        StoreError: the store cannot be used.

    >>> import asyncio
    >>> from evalmark import evaluate_async
    >>> run = asyncio.run(evaluate_async([{"input": "a", "expected": "A"}], str.upper, ["equals"], store=None))
    >>> [result.verdict for result in run.results]
    ['pass']
    """
    refuse_while_spawning()
    unknown = sorted(set(options) - set(EvaluateOptions.__annotations__))
    if unknown:
        names = ", ".join(EvaluateOptions.__annotations__)
        raise ConfigError(f"evaluate() has no option {unknown[0]!r}; it knows {names}.")
    settings = settings_with_env_file(Path.cwd(), {name: options.get(name) for name in SETTINGS})
    plan = _plan(data, task, scorers, options, settings)
    path = options.get("store", settings.store)
    limit, share, size = options.get("limit"), options.get("shard"), options.get("sample")
    shard = None if share is None else replace(parse_shard(str(share)), limit=limit)
    run_options = RunOptions(
        store=MemoryRunStore(),
        settings=settings,
        limit=limit,
        sample=None if size is None else Sample(size=size, seed=options.get("seed") or 0),
        shard=shard,
        given_name="" if (run_name := options.get("run_name")) is None else parse_run_name(run_name),
        tags=parse_run_tags(options.get("tags") or ()),
    )
    results: list[Result] = []
    with notebook_progress() as callbacks:
        if path is None:
            return await execute(plan, replace(run_options, **callbacks))
        with open_store(path) as store:
            run = await execute(plan, replace(run_options, store=store, on_results=results.extend, **callbacks))
    return with_results(run, results)


def _plan(data: Data, task: Task, scorers: Sequence[ScorerLike], options: EvaluateOptions, settings: Settings) -> Plan:
    here = Path.cwd()
    models = ModelFactory(settings=settings)
    specs = scorer_specs(scorers, options.get("judge"), models, (here,))
    source = _source(data, replace(settings, store=str(options.get("store") or settings.store)))
    source = source.clustered_by(options.get("cluster") or "")
    target: Target = GivenTarget()
    if isinstance(task, Mapping):
        target = service_targets.mapping_target(task, models, here)
    elif task is not None:
        target = as_target(task, folders=(here,))
    plan = Plan(
        name=options.get("name") or source.info.name,
        sources=(source,),
        targets=(target,),
        scorers=specs,
        models=models,
        embedder=embedder_for(specs, options.get("embeddings", settings.embeddings), models, (here,)),
        repeat=options.get("repeat", 1),
        gate=options.get("gate"),
        until_decided=options.get("until_decided", False),
        seed=options.get("seed"),
    )
    return with_references(plan)


def _source(data: Data, settings: Settings) -> DatasetSource:
    if isinstance(data, str) and data.startswith(SESSIONS_PREFIX):
        return recorded_source(data.removeprefix(SESSIONS_PREFIX), settings, recorded_cases)
    if isinstance(data, (str, PathLike)):
        return file_source(Path(data))
    items = (
        data if isinstance(data, Mapping | Case) else tuple(data)
    )  # as_cases reports what is wrong with a single one
    as_cases(items)

    def read(note: NoteHandler, answer_is_reference: bool = False) -> Iterator[Case | BadRow]:
        return iter(as_cases(items, notes=note, answer_is_reference=answer_is_reference))

    return DatasetSource(
        info=DatasetInfo(name="cases"), read=read, read_references=partial(read, answer_is_reference=True)
    )
