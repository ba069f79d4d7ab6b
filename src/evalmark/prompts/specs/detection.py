"""Detects files of cases that are tests of a prompt."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from evalmark.core.errors import DataError
from evalmark.inputs.datasets.fields import can_be_case
from evalmark.inputs.datasets.options import ReadOptions
from evalmark.inputs.datasets.reader import READERS, format_of
from evalmark.inputs.datasets.rows import DatasetFile
from evalmark.inputs.documents.files import regular_file

from .prompt_tests import TEST_FILES
from .spec import PromptSpec

BASELINE_FILES = ("baseline_tests.json", "baseline_tests.txt")
"""File names of tests that were generated without rules; the first existing one counts."""
TEST_FIELDS = frozenset(
    ("testinput", "testid", "testuid", "ruleid", "inverse", "scenario", "baseline", "valid", "validity", "grounded")
)
"""Fields that only tests of a prompt have; case, spaces, `-` and `_` are ignored."""
_MAX_ROWS = 20
"""Rows at the start of a file that are checked: some rows may lack a field."""


def holds_tests(path: Path, spec: PromptSpec) -> bool:
    """Return whether a file of cases holds tests of this prompt, so that `read_tests` must read it.

    This is so if it is one of the prompt's own files, if a row has a field that only such tests have, or if rows have the
    prompt's inputs as columns and no `input` column. It is False for an unreadable file; the dataset reader reports its
    faults.
    """
    path = Path(path)
    if path.name in (*TEST_FILES, *BASELINE_FILES) and path.resolve().parent == spec.folder.resolve():
        return True
    try:
        return any(_is_test(set(row), spec) for row in _first_rows(path))
    except DataError:
        return False


def _first_rows(path: Path) -> list[Mapping[str, object]]:
    regular_file(path)
    options = ReadOptions()
    reading = DatasetFile(path=path, options=options, notes=lambda note: None, any_columns=True)
    rows = (value for _, _, value in READERS[format_of(path, options)](reading))
    return [row for row in islice(rows, _MAX_ROWS) if isinstance(row, Mapping)]


def _is_test(names: set[str], spec: PromptSpec) -> bool:
    if any("".join(c for c in str(name).casefold() if c not in " _-") in TEST_FIELDS for name in names):
        return True
    needed = {variable.name for variable in spec.prompt.inputs if variable.required}
    if len(needed) > 1 and needed <= names:
        return True
    return not can_be_case(names, ReadOptions()) and any(variable.name in names for variable in spec.prompt.inputs)
