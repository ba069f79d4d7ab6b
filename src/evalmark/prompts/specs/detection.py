"""Which files of cases are tests of a prompt, and so to be read with it."""

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
"""Where the tests of a prompt lie that were made without rules; the first that is there counts."""
TEST_FIELDS = frozenset(
    ("testinput", "testid", "testuid", "ruleid", "inverse", "scenario", "baseline", "valid", "validity", "grounded")
)
"""Fields that only tests of a prompt have; case, spaces, `-` and `_` do not count."""
_MAX_ROWS = 20
"""Rows at the beginning of a file: fields may be left out of some."""


def holds_tests(path: Path, spec: PromptSpec) -> bool:
    """Whether a file of cases holds tests of this prompt, and is to be read by `read_tests`.

    It does where it is one of the prompt's own files, where a row has a field that only such tests have, and where rows
    give the inputs of the prompt as columns and no `input` that stands for them. A file that cannot be read holds none:
    whoever reads it as ordinary cases says what is wrong.
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
    needed = {known.name for known in spec.prompt.inputs if known.required}
    if len(needed) > 1 and needed <= names:
        return True
    return not can_be_case(names, ReadOptions()) and any(known.name in names for known in spec.prompt.inputs)
