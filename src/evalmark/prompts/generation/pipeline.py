"""Runs all generation stages in order; a file that already has content is reused."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from evalmark.core.protocols import ChatModel
from evalmark.core.text import count
from evalmark.inputs.documents.atomic_write import write_atomically
from evalmark.prompts.specs.prompt_tests import file_of_tests
from evalmark.prompts.specs.spec import PromptSpec, folder_of, read_spec
from evalmark.prompts.templates.prompt_files import read_prompt

from .drafts import DraftedTests, draft_baseline, draft_tests
from .effort import Effort
from .folder_files import RowData, check_files, has_content, read_rows, read_statements, write_json
from .generation_record import GenerationRecord, read_record, write_record
from .refinement import add_ground_truths, expand_rows, rows_to_expand, rows_without_ground_truth, undo_stage
from .rows import draft_rows
from .stage_calls import StageModels
from .stages import (
    BASELINE_TESTS,
    EXPANSION,
    GROUNDEDNESS,
    GROUNDTRUTH,
    INPUT_SPEC,
    INTENT,
    INVERSE_RULES,
    RULES,
    TESTS,
    VALIDITY,
    Stage,
    basis,
    from_here,
)
from .statements import input_spec_of, intent_of, inverse_rules_of, rules_of, with_statements
from .validity import check_groundedness, check_validity, rows_without_validity
from .variables import check_inputs

StageOutcome = Literal["made", "reused", "left out"]
STATEMENTS: Mapping[Stage, tuple[str, Callable[[StageModels, PromptSpec], Awaitable[tuple[str, ...]]]]] = {
    INTENT: ("intent", intent_of),
    INPUT_SPEC: ("input_spec", input_spec_of),
    RULES: ("rules", rules_of),
    INVERSE_RULES: ("inverse_rules", inverse_rules_of),
}
"""The stages whose file holds statements, with the field of the spec and the function that generates it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """The result of one stage."""

    stage: str
    outcome: StageOutcome
    path: Path
    amount: str
    """How much there is now, or why nothing was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationJob:
    """What to generate, and with which models."""

    prompt: Path
    effort: Effort
    models: Mapping[str, ChatModel]
    """By stage; without one for `groundtruth`, no ground truth is made."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Request settings such as `seed`."""
    redo: Stage | None = None
    """Remake this stage and all later ones, even if their files exist."""
    on_step: Callable[[StageResult], None] = lambda step: None
    """Called with each stage result as soon as it is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationResult:
    """The result of a generation job."""

    spec: PromptSpec
    steps: tuple[StageResult, ...]
    notes: tuple[str, ...]
    """Remarks for the user, one sentence each."""


async def generate_tests(job: GenerationJob) -> GenerationResult:
    """Make every missing file of a prompt's folder, in order.

    Raises:
        ConfigError: The prompt or a file cannot be used, or no tests can be made for the prompt.
        ModelError: A stage got no usable reply; earlier results are kept.
        RunStoppedError: A budget is used up; earlier results are kept.
    """
    pipeline = start_pipeline(job)
    if job.redo is not None:
        pipeline.keep(pipeline.record.marked_for_redo(from_here(job.redo)))
    for stage in (INTENT, INPUT_SPEC, RULES):
        await pipeline.statements(stage)
    await pipeline.groundedness()
    await pipeline.statements(INVERSE_RULES)
    await pipeline.tests()
    if not pipeline.has_own_tests:
        return pipeline.result()
    await pipeline.refine(EXPANSION, "test")
    await pipeline.refine(VALIDITY, "mark")
    await pipeline.refine(GROUNDTRUTH, "test")
    await pipeline.baseline()
    return pipeline.result()


def start_pipeline(job: GenerationJob) -> "GenerationPipeline":
    """Return the pipeline of a job before its first stage.

    Raises:
        ConfigError: No tests can be made for the prompt, or a file in its folder cannot be used.
    """
    spec = PromptSpec(prompt=read_prompt(job.prompt), folder=folder_of(job.prompt))
    check_inputs(spec)
    record = read_record(spec.folder)
    check_files(spec, {*record.redo, *(from_here(job.redo) if job.redo is not None else ())})
    models = StageModels(models=job.models, settings=job.settings, place=spec.prompt.file)
    return GenerationPipeline(job, spec, record, models)


class GenerationPipeline:
    """A job in progress; each stage writes its files before the next one starts."""

    def __init__(self, job: GenerationJob, spec: PromptSpec, record: GenerationRecord, models: StageModels) -> None:
        self.job, self.spec, self.record = job, spec, record
        self._models = models
        self.steps: list[StageResult] = []
        self.notes: list[str] = []
        self.rows: list[RowData] = []

    @property
    def models_of_stages(self) -> StageModels:
        """The models, with the number of times that each stage was redone."""
        return replace(self._models, times={name: origin.times for name, origin in self.record.origins.items()})

    @property
    def has_own_tests(self) -> bool:
        """Whether the tests are in a file that later stages may extend."""
        return bool(self.rows)

    def keep(self, record: GenerationRecord) -> None:
        self.record = record
        write_record(self.spec.folder, record)

    def result(self) -> GenerationResult:
        """Return the result, as read from the files."""
        spec = read_spec(self.job.prompt)
        return GenerationResult(
            spec=spec, steps=tuple(self.steps), notes=(*spec.prompt.notes, *spec.notes, *dict.fromkeys(self.notes))
        )

    async def statements(self, stage: Stage) -> None:
        """Run a stage whose file holds one statement per line."""
        name, make = STATEMENTS[stage]
        path = self.spec.folder / stage.file
        lines = () if stage.name in self.record.redo else read_statements(path)
        is_there = bool(lines)
        if not is_there:
            lines = await make(self.models_of_stages, self.spec)
            write_atomically(path, ["\n".join(lines), "\n"])
        self._finish(stage, path, is_there, count(len(lines), "statement" if name == "input_spec" else _noun(name)))
        self.spec = with_statements(self.spec, name, lines)

    async def groundedness(self) -> None:
        """Check whether the prompt supports each rule; only new and edited rules are checked."""
        known = {} if GROUNDEDNESS.name in self.record.redo else self.record.marks
        unchecked = [rule for rule in self.spec.rules if rule not in known]
        found = {
            **known,
            **(await check_groundedness(self.models_of_stages, self.spec, unchecked) if unchecked else {}),
        }
        marks = {rule: found[rule] for rule in self.spec.rules}
        if unchecked or marks != self.record.marks:
            self.keep(replace(self.record, marks=marks))
        loose = sum(not mark.grounded for mark in marks.values())
        amount = f"{len(marks) - loose} of {count(len(marks), 'rule')} supported by the prompt"
        self._finish(GROUNDEDNESS, self.spec.folder / GROUNDEDNESS.file, not unchecked, amount)

    async def tests(self) -> None:
        """Generate tests for each rule, unless a file with tests exists."""
        path = self.spec.folder / TESTS.file
        test_file = None if TESTS.name in self.record.redo else file_of_tests(self.spec)
        if test_file is not None and test_file != path:
            self._finish(TESTS, test_file, True, "unchanged; only tests.json is refined")
            return
        is_there = test_file is not None and has_content(path)
        if is_there:
            self.rows = read_rows(path) or []
        else:
            found = await draft_tests(self.models_of_stages, self.spec, self.job.effort)
            self._note_dropped(TESTS, found)
            self.rows = draft_rows(self.spec, found.drafts, self._marks())
            write_json(path, self.rows)
        amount = count(len(self.rows), "test") if self.rows else "unchanged; the file is not a list of tests"
        self._finish(TESTS, path, is_there, amount)

    async def refine(self, stage: Stage, noun: str) -> None:
        """Run a stage that adds to existing tests; complete tests are left unchanged."""
        path = self.spec.folder / stage.file
        if reason := self._left_out(stage):
            if stage.name in self.record.redo:
                self.keep(self.record.made(stage.name, basis(stage, self.spec), ""))
            self.steps.append(StageResult(stage=stage.name, outcome="left out", path=path, amount=reason))
            return
        if stage.name in self.record.redo:
            self.rows = undo_stage(self.spec, stage, self.rows)
        left = len(self._incomplete_rows(stage))
        if left:
            self.rows = await self._refined_rows(stage)
            write_json(path, self.rows)
        self._finish(stage, path, not left, count(left or len(self.rows), noun))

    def _incomplete_rows(self, stage: Stage) -> list[RowData]:
        if stage is EXPANSION:
            return rows_to_expand(self.spec, self.rows, self.job.effort.expansions)
        return (rows_without_validity if stage is VALIDITY else rows_without_ground_truth)(self.spec, self.rows)

    async def _refined_rows(self, stage: Stage) -> list[RowData]:
        if stage is EXPANSION:
            return await expand_rows(self.models_of_stages, self.spec, self.rows, self.job.effort.expansions)
        refine = check_validity if stage is VALIDITY else add_ground_truths
        return await refine(self.models_of_stages, self.spec, self.rows)

    def _left_out(self, stage: Stage) -> str:
        """Return why a stage has nothing to do; empty if it has."""
        if stage is EXPANSION and not self.job.effort.expansions:
            return "no expansions are requested"
        if stage is GROUNDTRUTH and stage.name not in self.job.models:
            return "no model is configured for it"
        if stage is VALIDITY and not self.spec.input_spec:
            return "there is no input specification"
        return ""

    async def baseline(self) -> None:
        """Generate as many baseline tests from the prompt alone as there are tests for rules."""
        path = self.spec.folder / BASELINE_TESTS.file
        is_there = BASELINE_TESTS.name not in self.record.redo and has_content(path)
        if is_there:
            rows = read_rows(path) or []
        else:
            found = await draft_baseline(self.models_of_stages, self.spec, len(self.rows))
            self._note_dropped(BASELINE_TESTS, found)
            rows = await check_validity(self.models_of_stages, self.spec, draft_rows(self.spec, found.drafts, {}))
            write_json(path, rows)
        self._finish(BASELINE_TESTS, path, is_there, count(len(rows), "test"))

    def _marks(self) -> dict[str, bool]:
        """Return whether the prompt supports each rule and inverse rule; an inverse rule has the mark of its rule."""
        marks = {rule: mark.grounded for rule, mark in self.record.marks.items()}
        if len(self.spec.rules) == len(self.spec.inverse_rules):
            pairs = zip(self.spec.inverse_rules, self.spec.rules, strict=True)
            marks |= {inverse: marks[rule] for inverse, rule in pairs if rule in marks}
        return marks

    def _note_dropped(self, stage: Stage, found: DraftedTests) -> None:
        """Add a note about the tests of a reply that were left out."""
        total: Counter[str] = found.dropped
        reasons = "; ".join(f"{number} {reason}" for reason, number in total.most_common(5))
        if total:
            self.notes.append(f"{stage.name}: {count(total.total(), 'test')} left out: {reasons}.")

    def _finish(self, stage: Stage, path: Path, is_there: bool, amount: str) -> None:
        now = basis(stage, self.spec)
        before = self.record.origin(stage.name).basis
        if is_there and before and before != now and stage.shown:
            self.notes.append(
                f"{path} was made before the prompt or the files of earlier stages were edited; "
                f"--redo {stage.name} remakes it and all later stages."
            )
        if not is_there or stage.name in self.record.redo:
            model = self.job.models.get(stage.name)
            self.keep(self.record.made(stage.name, now, "" if model is None else model.name))
        step = StageResult(stage=stage.name, outcome="reused" if is_there else "made", path=path, amount=amount)
        self.steps.append(step)
        self.job.on_step(step)


def _noun(name: str) -> str:
    return {"intent": "sentence", "rules": "rule", "inverse_rules": "inverse rule"}[name]
