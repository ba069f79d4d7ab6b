"""Generates tests from a prompt; models are called through a gateway, as in a run."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalmark.core.errors import ConfigError
from evalmark.core.protocols import CallLog, ChatModel
from evalmark.core.settings import Settings
from evalmark.core.values.spending import Spending
from evalmark.prompts.generation import pipeline
from evalmark.prompts.generation.call_estimate import CallCount, estimate_calls
from evalmark.prompts.generation.coverage import BrokenRules, rules_broken_in
from evalmark.prompts.generation.effort import Effort
from evalmark.prompts.generation.pipeline import GenerationJob, GenerationResult, StageResult
from evalmark.prompts.generation.stages import GROUNDTRUTH, STAGES, Stage
from evalmark.prompts.templates.prompt_files import read_prompt
from evalmark.runs.planning.check import raise_faults
from evalmark.runs.planning.models import ModelFactory, ModelGateway
from evalmark.runs.session.run_store import RunStore

MOST_RUNS = 100
"""Number of the newest runs that are searched for a run of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateJob:
    """The options of `evalmark generate`."""

    prompt: Path
    effort: Effort
    model: str | None = None
    """The model of all stages; None: the first of the judges in the settings, else the one that the prompt names."""
    model_for: Mapping[str, str] = field(default_factory=dict)
    """Other models, by stage."""
    seed: int | None = None
    redo: Stage | None = None
    on_step: Callable[[StageResult], None] | None = None


async def generate_tests(
    job: GenerateJob, settings: Settings, call_log: CallLog, *, models: ModelFactory | None = None
) -> tuple[GenerationResult, tuple[Spending, ...]]:
    """Create the missing files of a prompt's folder; return what each stage did, and the spending.

    Raises:
        ConfigError: the prompt, a file or a model cannot be used; nothing was sent.
        ModelError: a stage got no reply that can be used.
        RunStoppedError: a budget is used up.
    """
    models = models or ModelFactory(settings=settings)
    gateway = ModelGateway(models, call_log)
    try:
        opened = _opened(job, models)
        raise_faults(gateway.faults(opened.values()))
        account = await pipeline.generate_tests(_job(job, {stage: gateway(model) for stage, model in opened.items()}))
        return account, gateway.meter.spending()
    finally:
        await gateway.close()


async def estimate_test_calls(job: GenerateJob, settings: Settings) -> tuple[CallCount, ...]:
    """Return how many calls each stage would make; nothing is sent or written.

    Raises:
        ConfigError: the prompt, a file or the name of a model cannot be used.
    """
    models = ModelFactory(settings=settings)
    try:
        return estimate_calls(_job(job, _opened(job, models)))
    finally:
        await models.close()


def _job(job: GenerateJob, models: Mapping[str, ChatModel]) -> GenerationJob:
    more = {} if job.on_step is None else {"on_step": job.on_step}
    return GenerationJob(
        prompt=job.prompt,
        effort=job.effort,
        models=models,
        settings={} if job.seed is None else {"seed": job.seed},
        redo=job.redo,
        **more,
    )


def _opened(job: GenerateJob, models: ModelFactory) -> dict[str, ChatModel]:
    """Open the model of each stage; ground truth has one only where it is named."""
    named = {stage.name: job.model_for.get(stage.name) for stage in STAGES}
    others = [name for name, model in named.items() if model is None and name != GROUNDTRUTH.name]
    usual = _usual(job, models.settings) if others else ""
    names = {name: model or usual for name, model in named.items() if model or name in others}
    opened = {model: models.chat(model) for model in dict.fromkeys(names.values())}
    return {stage: opened[model] for stage, model in names.items()}


def _usual(job: GenerateJob, settings: Settings) -> str:
    found = job.model or next(iter(settings.judge), None) or read_prompt(job.prompt).model
    if found is None:
        raise ConfigError(
            f"{job.prompt}: no model is named that could write tests; name one with --model provider/model."
        )
    return found


def broken_rules(prompt: Path, store: RunStore) -> BrokenRules | None:
    """Return which tests broke which rule in the newest run of a prompt; None where there is no recent run."""
    there = os.path.realpath(prompt)
    runs = (run for run in store.runs(MOST_RUNS) if run.suite and os.path.realpath(run.suite) == there)
    newest = next(runs, None)
    return None if newest is None else rules_broken_in(newest)
