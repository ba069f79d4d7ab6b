"""A prompt under test with its specification: intent, input specification, rules, inverse rules."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.core.errors import ConfigError
from evalmark.core.text import count
from evalmark.core.values.plain_data import fingerprint
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import local_file, path_kind
from evalmark.inputs.documents.text import read_text
from evalmark.prompts.rules.explicit_checks import explicit_check
from evalmark.prompts.templates.prompt import Prompt
from evalmark.prompts.templates.prompt_files import NO_ENV, read_prompt

from .statement_files import StatementLine, is_refusal, statements_with_checks

SPEC_FILES = ("intent.txt", "input_spec.txt", "rules.txt", "inverse_rules.txt")
"""Files of a prompt's folder, without its tests; each is optional and may be edited by hand."""
_ENDS = (".prompty", ".markdown", ".md", ".txt", ".yaml", ".yml")
RULES_FILE = "rules.txt"


class ExplicitCheck(NamedTuple):
    """The machine check that the author of a rule wrote for it."""

    rule: int
    """The number of the rule."""
    source: str
    """The check, or `none`, as JSON."""

    @property
    def data(self) -> Any:
        """The argument of `evalmark.prompts.rules.explicit_checks.explicit_check`."""
        return json.loads(self.source)


class PromptRule(NamedTuple):
    """One rule for a prompt's outputs."""

    number: int
    """The number by which tests name it: rules from 1, then inverse rules."""
    text: str
    inverse: bool = False
    """Whether the text is the opposite of what the prompt asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSpec:
    """A prompt with the specification of its outputs."""

    prompt: Prompt
    folder: Path = field(default=Path(), compare=False)
    """The folder of the files."""
    intent: str = ""
    """The purpose of the prompt in a sentence; may be empty."""
    input_spec: tuple[str, ...] = ()
    """The allowed inputs, one statement each."""
    rules: tuple[str, ...] = ()
    """The rules for every output, one statement each."""
    inverse_rules: tuple[str, ...] = ()
    """The opposites of rules, for tests that tempt the prompt to break them."""
    checks: tuple[ExplicitCheck, ...] = ()
    """Explicit checks of rules; the checks of other rules are derived from their text."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Remarks on the files for the user, one sentence each."""

    @property
    def numbered(self) -> tuple[PromptRule, ...]:
        """Rules and inverse rules with their numbers."""
        rules = [PromptRule(number, text) for number, text in enumerate(self.rules, 1)]
        inverse = enumerate(self.inverse_rules, len(rules) + 1)
        return (*rules, *(PromptRule(number, text, inverse=True) for number, text in inverse))

    def rule(self, number: int) -> PromptRule | None:
        """Return the rule with a number; None if there is none."""
        found = self.numbered
        return found[number - 1] if 1 <= number <= len(found) else None

    @property
    def body(self) -> str:
        """The text of the prompt with unfilled variables and without role names."""
        return "\n\n".join(message.text for message in self.prompt.messages)

    @property
    def fingerprint(self) -> str:
        """A hash of the prompt and its specification."""
        return fingerprint(
            "spec-1", self.prompt.fingerprint, self.intent, self.input_spec, self.rules, self.inverse_rules
        )


def folder_of(prompt_path: str | os.PathLike[str]) -> Path:
    """Return the folder of a prompt's files: next to the prompt, with its name without the ending.

    >>> folder_of("prompts/classify.prompty") == Path("prompts/classify")
    True
    """
    path = Path(prompt_path)
    name = path.name
    for end in _ENDS:
        if name.lower().endswith(end):
            name = name[: -len(end)]
            break
    return path.parent / (name[: -len(".prompt")] if name.lower().endswith(".prompt") else name)


def read_spec(
    prompt_path: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] = NO_ENV,
) -> PromptSpec:
    """Read a prompt with the files in its folder; missing and empty files are allowed.

    `intent.txt` holds a sentence; `input_spec.txt`, `rules.txt` and `inverse_rules.txt` hold one statement per line. A line
    `check:` below a rule holds its explicit check. `folder` replaces the default folder; `env` is passed to `read_prompt`.

    Raises:
        ConfigError: The prompt or a file cannot be read, a file holds only a refusal, or a check is invalid.
    """
    path = Path(prompt_path)
    home = folder_of(path) if folder is None else Path(folder)
    prompt = read_prompt(path, env)
    intent, input_spec, rules, inverse = (_statements(home / name) for name in SPEC_FILES)
    return PromptSpec(
        prompt=prompt,
        folder=home,
        intent=" ".join(one.text for one in intent),
        input_spec=tuple(one.text for one in input_spec),
        rules=tuple(one.text for one in rules),
        inverse_rules=tuple(one.text for one in inverse),
        checks=_explicit_checks(rules, prompt.schema, home / RULES_FILE),
        notes=tuple(_notes(home, len(rules), inverse)),
    )


def _statements(file: Path) -> list[StatementLine]:
    if path_kind(file) == "nothing":
        return []
    local_file(file)
    found = statements_with_checks(read_text(file), str(file))
    if is_refusal([one.text for one in found]):
        raise PlacedError(
            f"{file}:{found[0].line}", f"holds {found[0].text[:60]!r}, a refusal; write the file, or generate it again."
        )
    if file.name != RULES_FILE and (wrong := next((one for one in found if one.check is not None), None)):
        line = wrong.line if wrong.check is None else wrong.check[0]
        raise PlacedError(f"{file}:{line}", f"has a check; only the rules in {RULES_FILE} have checks.")
    return found


def _explicit_checks(
    rules: list[StatementLine], schema: Mapping[str, Any] | None, file: Path
) -> tuple[ExplicitCheck, ...]:
    """Return the explicit checks of rules.

    Raises:
        DataError: A check is invalid.
    """
    found: list[ExplicitCheck] = []
    for number, one in enumerate(rules, 1):
        if one.check is None:
            continue
        line, data = one.check
        try:
            explicit_check(data, schema)
        except ConfigError as error:
            raise PlacedError(f"{file}:{line}", f"the check of rule {number}: {error}") from None
        found.append(ExplicitCheck(number, json.dumps(data, sort_keys=True)))
    return tuple(found)


def _notes(home: Path, rules: int, inverse: list[StatementLine]) -> list[str]:
    """Return a note if the number of inverse rules differs from that of the rules."""
    if not inverse or len(inverse) == rules:
        return []
    numbers = f"{rules + 1} to {rules + len(inverse)}" if len(inverse) > 1 else f"{rules + 1}"
    place = f"{home / SPEC_FILES[3]}:{inverse[-1].line}"
    amounts = f"{count(len(inverse), 'inverse rule')} for {count(rules, 'rule')}"
    return [f"{place}: {amounts}; their numbers are {numbers}, and they are not matched to rules."]
