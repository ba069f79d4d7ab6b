"""A plan from a suite file and the flags of a command line."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.foreign.import_guard import unused_module_notes
from evalmark.core.foreign.named_objects import check_object_module, is_named_object
from evalmark.core.lazy import LazyModule
from evalmark.core.protocols import Embedder, Target
from evalmark.core.settings import Settings
from evalmark.core.values.run import Gate
from evalmark.inputs.datasets.header import read_header
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.inputs.suites.reader import read_suite
from evalmark.inputs.suites.suite import CommandSpec, DatasetSpec, HttpSpec, MetricSpec, Suite, SuiteTarget, TargetSpec
from evalmark.runs.targets.given_target import GivenTarget

from .check import raise_faults, with_references
from .judges import Judge, ResolvedMetric, judge_named, metric_from_file, with_judges
from .models import ModelFactory
from .overrides import NO_OVERRIDES, Overrides, distinct_targets, model_targets
from .plan import (
    DatasetSource,
    Loader,
    OpenRecorded,
    Plan,
    ScorerSpec,
    embedder_for,
    file_source,
    load_embedder,
    nothing_recorded,
    recorded_source,
    scorer_spec,
)
from .prompt_plan import is_prompt, metrics_of, plan_prompt, tests_in, tests_of, with_prompt
from .threshold_lock import with_lock

if TYPE_CHECKING:
    from evalmark.prompts.specs import detection
    from evalmark.prompts.specs import spec as spec_module
    from evalmark.prompts.specs.spec import PromptSpec
    from evalmark.runs.targets import function
    from evalmark.scoring.builtin import grounding

    from . import service_targets as service
else:
    detection = LazyModule("evalmark.prompts.specs.detection")
    spec_module = LazyModule("evalmark.prompts.specs.spec")
    function = LazyModule("evalmark.runs.targets.function")
    service = LazyModule("evalmark.runs.planning.service_targets")
    grounding = LazyModule("evalmark.scoring.builtin.grounding")


def plan_suite(
    path: Path,
    settings: Settings,
    overrides: Overrides = NO_OVERRIDES,
    load: Loader = load_embedder,
    recorded: OpenRecorded = nothing_recorded,
) -> Plan:
    """Make the plan of a suite file; `load` makes an embedder of a name, `recorded` reads recorded sessions.

    Raises:
        ConfigError: the suite, its target or a metric cannot be used; all faults are named at once.
    """
    if is_prompt(path):
        plan = plan_prompt(path, settings, overrides, load)
        plan = replace(plan, until_decided=overrides.until_decided, seed=overrides.seed)
        return with_lock(plan, overrides.lock or settings.lock)
    suite = read_suite(path)
    planner = _SuitePlanner(suite, ModelFactory(settings=settings), overrides)
    specs = planner.scorers()
    targets = planner.targets()
    sources = planner.sources(recorded)
    raise_faults(planner.faults)
    embedder = planner.embedder(specs, load)
    imported = planner.imported(embedder)
    plan = Plan(
        name=suite.name,
        sources=sources,
        targets=targets,
        scorers=specs,
        embedder=embedder,
        repeat=overrides.repeat or suite.repeat,
        timeout=overrides.timeout or suite.timeout,
        until_decided=overrides.until_decided or suite.until_decided,
        seed=overrides.seed,
        gate=_gate(suite, specs),
        baseline=suite.baseline,
        suite=str(path),
        notes=(
            *suite.notes,
            *planner.notes,
            *_of_prompt(planner.spec),
            *(unused_module_notes(planner.folders) if imported else ()),
        ),
        models=planner.models,
        imported=imported,
    )
    return with_lock(with_references(plan), overrides.lock or suite.lock or settings.lock)


class _SuitePlanner:
    """Makes the parts of a plan from a suite, and gathers all faults."""

    def __init__(self, suite: Suite, models: ModelFactory, overrides: Overrides) -> None:
        self.suite, self.models, self.overrides = suite, models, overrides
        self.folders = (suite.path.parent.resolve(), Path.cwd())
        self.named = AllowedFolders(self.folders, models.settings.allow_code)
        """Where code that the suite names is found; code that the user names is found in `folders` only."""
        self.faults: list[str] = []
        self.notes: list[str] = []

    def scorers(self) -> tuple[ScorerSpec, ...]:
        """Return the scorers of the suite, or of the prompt under test, each once for each of its judges."""
        specs: list[ScorerSpec] = []
        for metric in self.suite.metrics or self._found():
            try:
                resolved = self._metric(metric) if isinstance(metric, MetricSpec) else metric
                spec = with_prompt(resolved.spec, self.spec, metric.place)
                specs += with_judges(spec, self._judges(metric, resolved) if spec.needs_judge else (), self.models)
                self.notes += resolved.notes
            except ConfigError as fault:
                self.faults.append(str(fault))
        return tuple(specs)

    def _found(self) -> tuple[ResolvedMetric, ...]:
        """Return the metrics of the prompt under test."""
        try:
            return () if self.spec is None else tuple(metrics_of(Path(self.spec.prompt.file), self.spec))
        except ConfigError as fault:
            self.faults.append(str(fault))
            return ()

    def sources(self, recorded: OpenRecorded) -> tuple[DatasetSource, ...]:
        """Return the datasets of the suite, else the tests of the prompt under test."""
        try:
            spec = self.spec
            if spec is not None and not self.suite.datasets:
                tests = tests_of(Path(spec.prompt.file), spec)
                return tuple(source.clustered_by(self.suite.cluster) for source in tests)
            sources = self._named(recorded)
        except ConfigError as fault:
            self.faults.append(str(fault))
            return ()
        if not sources:
            why = "--target replaces the prompt" if self.overrides.target else "its list has no prompt alone"
            self.faults.append(
                f"{self.suite.path}: the suite has no `datasets`, and {why} that would supply tests; add `datasets`."
            )
        return sources

    def _named(self, recorded: OpenRecorded) -> tuple[DatasetSource, ...]:
        """Return the datasets of the suite, in its order."""
        datasets, settings = self.suite.datasets, self.models.settings
        files = iter(_sources([spec for spec in datasets if not spec.project], self.spec))
        sources = (
            recorded_source(spec.project, settings, recorded, spec.name) if spec.project else next(files)
            for spec in datasets
        )
        return tuple(source.clustered_by(spec.cluster) for source, spec in zip(sources, datasets, strict=True))

    @cached_property
    def spec(self) -> "PromptSpec | None":
        """The prompt under test with its rules; None where there is none."""
        target = self.suite.target
        is_prompt_target = isinstance(target, TargetSpec) and target.prompt is not None and not self.overrides.target
        return spec_module.read_spec(target.prompt) if is_prompt_target else None  # type: ignore[union-attr,arg-type]

    def _metric(self, metric: MetricSpec) -> ResolvedMetric:
        overrides = {"threshold": metric.threshold, "repeat": metric.repeat}
        settings = {**metric.settings, **{name: value for name, value in overrides.items() if value is not None}}
        if metric.path is not None:
            return metric_from_file(metric.path, settings, metric.place)
        return ResolvedMetric(spec=scorer_spec({metric.name: settings}, metric.place, self.named))

    def _judges(self, metric: MetricSpec | ResolvedMetric, resolved: ResolvedMetric) -> Sequence[Judge]:
        """Return the judges of a metric: of the flag, else of suite, metric file or settings."""
        if self.overrides.judges:
            return [judge_named(name, "--judge") for name in self.overrides.judges]
        own = metric.judges if isinstance(metric, MetricSpec) else ()
        if specs := own or (() if resolved.judge else self.suite.judges):
            return [Judge(model=spec.model, settings=spec.settings, place=spec.place) for spec in specs]
        names = (resolved.judge,) if resolved.judge else self.models.settings.judge
        return [judge_named(name) for name in names]

    def targets(self) -> tuple[Target, ...]:
        """Return what is under test; a placeholder where it has a fault."""
        if self.overrides.target:
            return self._targets_of(self.overrides.target, f"--target {self.overrides.target}")
        target, place = self.suite.target, self.suite.target_place
        if not isinstance(target, tuple):
            return self._targets_of(target, place)
        if self.overrides.models:
            self.faults.append(f"{place}: --model is for a single target, and the suite lists {len(target)}.")
            return ()
        places = [place if isinstance(one, str) else one.place for one in target]
        made = [self._targets_of(one, location) for one, location in zip(target, places, strict=True)]
        return distinct_targets(list(zip(target, made, strict=True)))

    def _targets_of(self, target: SuiteTarget | None, location: str) -> tuple[Target, ...]:
        """Return a target, or each model of one with several."""
        try:
            if isinstance(target, (HttpSpec, CommandSpec)):
                return (self._service(target),)
            if not isinstance(target, str) and (target is not None or self.overrides.models):
                models = self.overrides.models
                return model_targets(target or TargetSpec(), models, self.models, self.overrides.default_model)
            return (GivenTarget(),) if target is None else (self._code(target),)
        except ConfigError as fault:
            self.faults.append(f"{location}: {fault}" if location else str(fault))
            return (GivenTarget(),)

    def _service(self, spec: HttpSpec | CommandSpec) -> Target:
        if self.overrides.models:
            raise ConfigError("--model is for a prompt or a model under test; this target is a service or a command.")
        if isinstance(spec, HttpSpec):
            return service.http_target(spec, self.models)
        return service.command_target(spec, self.named)

    def _code(self, name: str) -> Target:
        if self.overrides.models:
            raise ConfigError("--model is for a prompt or a model under test, and this target is code; leave it out.")
        target = function.as_target(name, folders=self.folders if self.overrides.target else self.named)
        if getattr(target, "is_blind", False):
            self.notes.append(f"{name} takes no input: it is called in the same way for every case.")
        return target

    def embedder(self, specs: tuple[ScorerSpec, ...], load: Loader) -> Embedder | None:
        """Return the embedding model, where a metric needs one."""
        override, own = self.overrides.embeddings, self.suite.embeddings
        folders = self.named if own and not override else self.folders
        if own and not override and is_named_object(own):
            check_object_module(own, self.named, what="embedder")  # also where nothing is loaded, as in a plan
        return embedder_for(specs, override or own or self.models.settings.embeddings, self.models, folders, load)

    def imported(self, embedder: Embedder | None) -> tuple[str, ...]:
        """Return the modules of the user's code that were imported."""
        target = self.overrides.target or self.suite.target
        targets = target if isinstance(target, tuple) else (target,)
        embeddings = None if embedder is None else self.overrides.embeddings or self.suite.embeddings
        metrics = (metric.name.removeprefix("not-") for metric in self.suite.metrics)
        names = [name for name in (*targets, *metrics, embeddings) if isinstance(name, str) and is_named_object(name)]
        modules = dict.fromkeys(name.partition(":")[0] for name in names)
        return tuple(name for name in modules if name.partition(".")[0] != "evalmark")


def _sources(datasets: Sequence[DatasetSpec], prompt: "PromptSpec | None") -> tuple[DatasetSource, ...]:
    """Return the datasets, named by the suite, else by the dataset itself, else by its file.

    Tests of the prompt under test are read with it, unless the suite has options for reading them.
    """
    read_options = [(spec, ReadOptions(**spec.options)) for spec in datasets]
    of_prompt = [prompt is not None and not s.options and detection.holds_tests(s.path, prompt) for s in datasets]
    own = [
        None if spec.named or is_tests else read_header(spec.path, options).name
        for (spec, options), is_tests in zip(read_options, of_prompt, strict=True)
    ]
    names = [name or spec.name for name, (spec, _) in zip(own, read_options, strict=True)]
    sources: list[DatasetSource] = []
    for name, (spec, options), is_tests in zip(names, read_options, of_prompt, strict=True):
        label = name if names.count(name) == 1 else spec.name
        if is_tests and prompt is not None:
            sources.append(tests_in(spec.path, prompt, label))
        else:
            sources.append(file_source(spec.path, label, options))
    return tuple(sources)


def _gate(suite: Suite, specs: tuple[ScorerSpec, ...]) -> Gate | None:
    """Return the suite's gate; `flags: true` adds the usual limits of the RAG metrics in use."""
    if not suite.gate_flags:
        return suite.gate
    limits = grounding.flag_thresholds(a.name for a in specs if a.name)
    gate = suite.gate or Gate()
    return replace(gate, thresholds={**limits, **gate.thresholds})


def _of_prompt(spec: "PromptSpec | None") -> tuple[str, ...]:
    """Return the notes on the prompt under test."""
    return () if spec is None else (*spec.prompt.notes, *spec.notes)
