"""Checks the files of a prompt's folder before any call."""

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

from evalmark.core.errors import ConfigError
from evalmark.inputs.documents.files import path_kind
from evalmark.prompts.specs.prompt_tests import file_of_tests
from evalmark.prompts.specs.spec import PromptSpec

from .folder_files import has_content, read_rows, read_statements
from .stages import BASELINE_TESTS, INPUT_SPEC, INTENT, INVERSE_RULES, RULES, TESTS

STATEMENTS = (INTENT, INPUT_SPEC, RULES, INVERSE_RULES)
"""The stages whose file holds statements."""


def check_files(spec: PromptSpec, anew: Collection[str]) -> None:
    """Raise an error for files that a stage could not use; files of the stages `anew` are ignored.

    Raises:
        ConfigError: There are such files; the message names all of them.
    """
    if path_kind(spec.folder) not in ("folder", "nothing"):
        raise ConfigError(f"{spec.folder}: the prompt's files need a folder of this name; move this file.")
    statements = [partial(read_statements, spec.folder / stage.file) for stage in STATEMENTS if stage.name not in anew]
    rows = [partial(_rows, spec.folder / stage.file) for stage in (TESTS, BASELINE_TESTS) if stage.name not in anew]
    looks: list[Callable[[], object]] = [*statements, *rows, partial(_tests, spec, TESTS.name in anew)]
    faults = map(_fault, looks)
    if found := [fault for fault in faults if fault is not None]:
        raise ConfigError.of(found)


def _fault(look: Callable[[], object]) -> str | None:
    try:
        look()
    except ConfigError as fault:
        return str(fault)
    return None


def _rows(path: Path) -> None:
    if has_content(path):
        read_rows(path)


def _tests(spec: PromptSpec, anew: bool) -> None:
    there = file_of_tests(spec)
    if anew and there is not None and there.name != TESTS.file:
        raise ConfigError(
            f"{there}: the tests are in this file, and new ones would be written to {TESTS.file}; move this file first."
        )
