"""The plan of `evalmark rag`: the RAG metrics over one dataset."""

from dataclasses import dataclass
from pathlib import Path

from evalmark.core.settings import Settings
from evalmark.core.values.run import Gate
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.inputs.documents.files import dataset_name
from evalmark.runs.planning.models import ModelFactory
from evalmark.runs.planning.plan import (
    DEFAULT_READ_OPTIONS,
    Loader,
    Plan,
    embedder_for,
    file_source,
    load_embedder,
    scorer_spec,
)
from evalmark.scoring.builtin.grounding import RAG_METRICS, flag_thresholds


@dataclass(frozen=True, slots=True, kw_only=True)
class RagJob:
    """The options of `evalmark rag`."""

    dataset: Path
    options: ReadOptions = DEFAULT_READ_OPTIONS
    """Which columns hold what, where they have no usual names."""
    model: str
    """The embedding model."""
    sufficiency: float = 0.5
    hallucination: float = 0.4
    splitter: str = "sentencex"
    metrics: tuple[str, ...] = ()
    """Further scorers, as names or `module:attribute`."""
    fail_on_flags: bool = False
    """Turn the usual limits into a gate on the means."""
    max_unscored: int = 0
    """The largest number of unscored trials with which the gate can decide."""
    max_errors: int = 0


def plan_rag(job: RagJob, settings: Settings, load: Loader = load_embedder) -> Plan:
    """Plan the five RAG metrics, and any others that are named, over the outputs of a dataset.

    Raises:
        ConfigError: the dataset, the model or a metric cannot be used.
    """
    source = file_source(job.dataset, options=job.options)
    next(iter(source.read(lambda _: None)), None)  # unknown columns are reported before a model is downloaded
    here, models = Path.cwd(), ModelFactory(settings=settings)
    own = {
        "context_sufficiency": {"sufficiency": job.sufficiency},
        "answer_hallucination": {"hallucination": job.hallucination, "splitter": job.splitter},
    }
    specs = tuple(
        scorer_spec({name: own.get(name, {})}, f"--metric {name}", (here,)) for name in (*RAG_METRICS, *job.metrics)
    )
    limits = flag_thresholds(RAG_METRICS) if job.fail_on_flags else {}
    return Plan(
        name=dataset_name(job.dataset),
        sources=(source,),
        scorers=specs,
        embedder=embedder_for(specs, job.model, models, (here,), load),
        models=models,
        gate=Gate(thresholds=limits, max_unscored=job.max_unscored, max_errors=job.max_errors),
        suite=str(job.dataset),
    )
