"""`evaluate`: cases, a task and scorers in, a run out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, environ
from pathlib import Path
from typing import Any, TypedDict, Unpack

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import ChatModel, Target
from evalmark.core.settings import Replay, Settings, load_settings
from evalmark.core.sync import run_sync
from evalmark.core.values.case import Case
from evalmark.core.values.run import DatasetInfo, Gate, Run
from evalmark.core.values.score import Result
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import as_cases
from evalmark.inputs.datasets.sharding import parse_shard
from evalmark.inputs.suites.suite import SESSIONS_PREFIX
from evalmark.runs.isolation.worker_setup import refuse_while_spawning
from evalmark.runs.planning.judges import ScorerLike, scorer_specs
from evalmark.runs.planning.models import Models
from evalmark.runs.planning.plan import DatasetSource, NoteHandler, Plan, embedder_for, file_source, recorded_source
from evalmark.runs.planning.references import with_references
from evalmark.runs.session.run_store import MemoryRunStore, with_results
from evalmark.runs.targets.function import as_target
from evalmark.runs.targets.given_target import GivenTarget
from evalmark.storage.store.store import open_store

from .execute import execute
from .options import RunOptions
from .recorded_cases import recorded_cases

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
Task = Callable[..., Any] | str | None


class EvaluateOptions(TypedDict, total=False):
    """What `evaluate` takes besides cases, task and scorers."""

    name: str
    """What the run is called; else the dataset's or the task's name."""
    repeat: int
    """How often each case is answered; 1 unless said otherwise."""
    gate: Gate
    """The rule for pass and fail; without one every score that can pass must."""
    embeddings: str | Callable[..., Any]
    """Model name, folder, `module:attribute`, callable `list[str] -> (n, d)` array, or LangChain Embeddings."""
    store: str | PathLike[str] | None
    """The store's file; None keeps the run in memory only; else the one in the settings."""
    jobs: int
    """How many cases are answered at the same time."""
    timeout: float
    """Seconds a case may take."""
    limit: int
    """Only so many of the cases."""
    shard: str
    """Only a share of these, as `2/4`; `evalmark merge` makes one run of the runs of all shares."""
    until_decided: bool
    """Stop as soon as the gate is decided either way; cases are asked in a random order."""
    seed: int
    """Of that order; any unless said otherwise."""
    judge: str | ChatModel | Sequence[str | ChatModel]
    """Who judges, for scorers that ask a chat model: `provider/model`, an object, or several of them."""
    replay: Replay
    """`auto`: a recorded reply is used again; `off`, `record` or `strict`: see the page on model calls."""
    max_cost: float
    """US dollars that the model calls may come to."""
    max_calls: int
    """Model calls that may be sent."""
    max_tokens: int
    """Tokens, in and out, that the model calls may come to."""
    on: str
    """Where trials are answered and judged: `local`, `ray`, `ray:auto` or `ray://HOST:PORT`."""
    workers: int
    """Processes of Ray that answer and judge."""
    trust_cluster: bool
    """Use a Ray cluster also where it takes the work of anybody who knows its address."""
    isolate: bool
    """Ask the task in worker processes, where a crash is an error of its case."""


def evaluate(
    data: Data, task: Task = None, scorers: Sequence[ScorerLike] = (), **options: Unpack[EvaluateOptions]
) -> Run:
    """Run a task over cases, score what it gives, and return everything that was found.

    `data` is a list of cases (or mappings with the same fields), the path of a dataset, or
    `sessions:PROJECT` for the labelled answers of a recorded project; without a `task` the answers that the rows bring along are scored. A scorer is a name, `{name: settings}`,
    or any function of `case`, `output`, `expected` and so on. Works in scripts, in notebooks and
    inside a running loop (there, prefer `await evaluate_async(...)`). By name it takes the options
    `name`, `repeat`, `gate`, `embeddings`, `store`, `jobs`, `timeout`, `limit`, `shard`, `until_decided`, `seed`, `judge`,
    `replay`, `max_cost`, `max_calls`, `max_tokens`, `on`, `workers`, `trust_cluster` and `isolate`; a run is kept in `.evalmark/evalmark.db` unless `store` names another file or is None.

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
    """`evaluate` on the caller's own loop."""
    refuse_while_spawning()
    unknown = sorted(set(options) - set(EvaluateOptions.__annotations__))
    if unknown:
        known = ", ".join(EvaluateOptions.__annotations__)
        raise ConfigError(f"evaluate() has no option {unknown[0]!r}; it knows {known}.")
    settings = load_settings(environ, Path.cwd(), {name: options.get(name) for name in SETTINGS})
    plan = _plan(data, task, scorers, options, settings)
    path = options.get("store", settings.store)
    limit, share = options.get("limit"), options.get("shard")
    shard = None if share is None else replace(parse_shard(str(share)), limit=limit)
    alone = RunOptions(store=MemoryRunStore(), settings=settings, limit=limit, shard=shard)
    if path is None:
        return await execute(plan, alone)
    found: list[Result] = []
    with open_store(path) as store:
        run = await execute(plan, replace(alone, store=store, on_results=found.extend))
    return with_results(run, found)


def _plan(data: Data, task: Task, scorers: Sequence[ScorerLike], options: EvaluateOptions, settings: Settings) -> Plan:
    here = Path.cwd()
    models = Models(settings=settings)
    specs = scorer_specs(scorers, options.get("judge"), models, (here,))
    source = _source(data, replace(settings, store=str(options.get("store") or settings.store)))
    target: Target = GivenTarget() if task is None else as_target(task, folders=(here,))
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
    items = data if isinstance(data, Mapping | Case) else tuple(data)  # the one of which as_cases says what is wrong
    as_cases(items)

    def read(note: NoteHandler, answer_is_reference: bool = False) -> Iterator[Case | BadRow]:
        return iter(as_cases(items, notes=note, answer_is_reference=answer_is_reference))

    return DatasetSource(
        info=DatasetInfo(name="cases"), read=read, read_references=partial(read, answer_is_reference=True)
    )
