"""Checks outputs against those rules of a prompt that can be checked by machine: one score per rule, without a judge."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Output
from evalmark.core.values.plain_data import fingerprint
from evalmark.core.values.score import Score
from evalmark.prompts.rules.checks import RuleCheck
from evalmark.prompts.rules.explicit_checks import explicit_check
from evalmark.prompts.rules.rule_parser import checks_of
from evalmark.prompts.specs.spec import PromptSpec
from evalmark.scoring.binding.scores import unscored
from evalmark.scoring.binding.text import text_of

NO_ANSWER = "the target returned None; is a `return` missing?"
VERSION = "rules-3"
"""The version of the rule interpretation; scores of another version are not comparable."""


def has_checkable_rules(spec: PromptSpec) -> bool:
    """Return whether any rule of the prompt can be checked by machine."""
    return bool(RuleChecks(spec=spec).checks)


@dataclass(frozen=True, kw_only=True)
class RuleChecks:
    """Check outputs against the machine-checkable rules of the prompt: a score `rules.NUMBER` for each.

    >>> RuleChecks().name
    'rules'
    """

    name: ClassVar[str] = "rules"
    needs_spec: ClassVar[bool] = True

    spec: PromptSpec | None = None
    """The prompt under test with its rules; set by a run of a prompt."""

    @cached_property
    def checks(self) -> Mapping[int, RuleCheck]:
        """The checks by rule number; other rules have none.

        An explicit check replaces the one that is derived from the rule's text.

        Raises:
            ConfigError: There is no prompt under test.
        """
        spec = self.spec
        if spec is None:
            raise ConfigError(f"{self.name} needs a prompt under test; name one as the target.")
        schema = spec.prompt.schema
        stated = {one.rule: explicit_check(one.data, schema) for one in spec.checks}
        found = {**checks_of(spec.rules, spec.body, schema), **stated}
        return {number: check for number, check in sorted(found.items()) if check is not None}

    @property
    def fingerprint(self) -> str:
        """A hash of the rules and their prompt."""
        return fingerprint(VERSION, *(() if self.spec is None else (self.spec.fingerprint, *self.spec.checks)))

    def __call__(self, case: Case, output: Output) -> list[Score]:
        """Return one score per checkable rule, or a single `skipped` one if there is none."""
        checks = self.checks
        if not checks:
            return [Score(name=self.name, status="skipped", reason="the prompt has no rule that a machine can check")]
        if output.value is None:
            return [unscored(f"{self.name}.{number}", NO_ANSWER) for number in checks]
        text = text_of(output.value)
        return [self._score(number, check, text) for number, check in checks.items()]

    def _score(self, number: int, check: RuleCheck, text: str) -> Score:
        holds, reason = check(text)
        return Score(
            name=f"{self.name}.{number}",
            status="skipped" if holds is None else "scored",
            raw=holds,
            value=None if holds is None else float(holds),
            passed=holds,
            reason=f"{check.description}: {reason}",
            detail={
                "rule": number,
                "text": self.spec.rules[number - 1] if self.spec else "",
                "check": check.description,
                "is_whole": check.is_whole,
            },
        )
