"""Estimates the number of calls of a job before any call."""

from dataclasses import dataclass

from evalmark.core.text import count
from evalmark.prompts.specs.prompt_tests import file_of_tests
from evalmark.prompts.specs.spec import PromptRule

from .drafts import MAX_BASELINE_BATCH, RuleGroup, batches, rule_groups
from .folder_files import RowData, has_content, read_rows, read_statements
from .pipeline import STATEMENTS, GenerationJob, GenerationPipeline, start_pipeline
from .refinement import MAX_ANSWERS, rows_to_expand, rows_without_ground_truth
from .stages import EXPANSION, GROUNDEDNESS, GROUNDTRUTH, STAGES, TESTS, VALIDITY, Stage, from_here
from .statements import with_statements
from .validity import MAX_RULES_PER_CALL, MAX_TESTS_PER_CALL, rows_without_validity

ASSUMED_RULES = 10
"""The assumed number of rules before they are generated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """The calls of one stage."""

    stage: str
    calls: int
    exact: bool = True
    """Whether the number is known and not estimated."""
    model: str = ""


def estimate_calls(job: GenerationJob) -> tuple[CallCount, ...]:
    """Return the calls of each stage if every reply can be used; nothing is sent or written.

    Raises:
        ConfigError: The prompt or a file cannot be used.
    """
    pipeline = start_pipeline(job)
    if job.redo is not None:
        pipeline.record = pipeline.record.marked_for_redo(from_here(job.redo))
    counting = _CallEstimator(pipeline)
    return tuple(counting.of(stage) for stage in STAGES)


class _CallEstimator:
    """Estimates a job stage by stage."""

    def __init__(self, pipeline: GenerationPipeline) -> None:
        self.pipeline, self.job, self.spec = pipeline, pipeline.job, pipeline.spec
        self.known = True
        """Whether the numbers of rules and tests so far are those of files."""
        self.rows: list[RowData] = []
        self.new = 0
        """Tests that are still to be written."""
        self.has_own_tests = True

    def of(self, stage: Stage) -> CallCount:
        """Return the calls of the next stage."""
        if stage in STATEMENTS:
            calls, exact = self._statements(stage), True
        elif stage is GROUNDEDNESS:
            calls, exact = self._groundedness(), self.known
        elif stage is TESTS:
            exact = self.known
            calls = self._tests()
        else:
            exact = self.known and not (self.new or (stage is GROUNDTRUTH and stage.name in self.job.models))
            calls = self._refined(stage) if self.has_own_tests else 0
        model = self.job.models.get(stage.name)
        return CallCount(
            stage=stage.name, calls=calls, exact=exact or not calls, model="" if model is None else model.name
        )

    def _is_redone(self, stage: Stage) -> bool:
        return stage.name in self.pipeline.record.redo

    def _statements(self, stage: Stage) -> int:
        name, _ = STATEMENTS[stage]
        lines = () if self._is_redone(stage) else read_statements(self.spec.folder / stage.file)
        if not lines and name in ("rules", "inverse_rules"):
            self.known = False
            # Placeholders: only their number counts.
            amount = ASSUMED_RULES if name == "rules" else len(self.spec.rules)
            self.spec = with_statements(self.spec, name, tuple(f"{name} {n}" for n in range(amount)))
        elif lines:
            self.spec = with_statements(self.spec, name, lines)
        elif name == "input_spec":
            self.spec = with_statements(self.spec, name, (name,))
        return 0 if lines else 1

    def _groundedness(self) -> int:
        marks = {} if self._is_redone(GROUNDEDNESS) else self.pipeline.record.marks
        return len(batches(sum(rule not in marks for rule in self.spec.rules), MAX_RULES_PER_CALL))

    def _tests(self) -> int:
        effort = self.job.effort
        path = None if self._is_redone(TESTS) else file_of_tests(self.spec)
        if path is not None and has_content(path):
            self.rows = (read_rows(path) or []) if path.name == TESTS.file else []
            self.has_own_tests = bool(self.rows)
            return 0
        groups: list[RuleGroup] = rule_groups(self.spec, effort)
        rules: list[PromptRule] = [rule for group in groups for rule in group.rules]
        self.new = len(rules) * effort.tests_per_rule * effort.generations
        return len(groups) * effort.generations

    def _refined(self, stage: Stage) -> int:
        rows, spec = self.rows, self.spec
        total = len(rows) + self.new
        if stage is EXPANSION:
            times = self.job.effort.expansions
            old = rows if self._is_redone(stage) else rows_to_expand(spec, rows, times)
            return (len(old) + self.new) * times
        if stage is VALIDITY:
            times = self.job.effort.expansions
            changed = self._is_redone(stage) or rows_to_expand(spec, rows, times)
            return len(
                batches(
                    (len(rows) if changed else len(rows_without_validity(spec, rows))) + self.new, MAX_TESTS_PER_CALL
                )
            )
        if stage is GROUNDTRUTH:
            left = (len(rows) if self._is_redone(stage) else len(rows_without_ground_truth(spec, rows))) + self.new
            return MAX_ANSWERS * left if stage.name in self.job.models else 0
        if not self._is_redone(stage) and has_content(spec.folder / stage.file):
            return 0
        return len(batches(total, MAX_BASELINE_BATCH)) + len(
            batches(total, MAX_TESTS_PER_CALL) if spec.input_spec else []
        )


def format_total(counts: tuple[CallCount, ...]) -> str:
    exact = all(one.exact for one in counts)
    return f"{'' if exact else 'about '}{count(sum(one.calls for one in counts), 'call')}"
