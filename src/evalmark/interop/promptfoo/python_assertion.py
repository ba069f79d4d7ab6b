"""The scorer for promptfoo assertions that are Python functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evalmark.core.errors import ConfigError
from evalmark.core.foreign.allowed_folders import AllowedFolders
from evalmark.core.foreign.named_objects import load_object
from evalmark.core.values.case import Case, Output
from evalmark.inputs.documents.files import path_kind, regular_file
from evalmark.scoring.binding.text import text_of


@dataclass(frozen=True, kw_only=True)
class PythonAssertion:
    """Call a promptfoo assertion function: `get_assert(output, context)`.

    The function returns a boolean, a number, or a mapping with `pass`, `score` and `reason`.
    """

    name: ClassVar[str] = "python"

    file: Path
    """The Python file, relative to the suite."""
    function: str = "get_assert"
    least: float | None = None
    """The least number that passes; None: every number above 0 passes."""

    def __post_init__(self) -> None:
        _ = self.check

    @cached_property
    def check(self) -> Callable[..., Any]:
        """The function itself."""
        if path_kind(self.file) != "nothing":
            regular_file(self.file, is_code=True)
        folders = AllowedFolders((self.file.parent.absolute(), Path.cwd()))  # the function must belong to that project
        found = load_object(f"{self.file.stem}:{self.function}", folders, what="assertion")
        if not callable(found):
            raise ConfigError(f"{self.file}: {self.function!r} is not a function.")
        function: Callable[..., Any] = found
        return function

    def __call__(self, case: Case, output: Output) -> Any:
        """Call the function and return its result."""
        variables = case.input if isinstance(case.input, Mapping) else {"input": case.input}
        context = {"vars": {**variables, "expected": case.expected}, "prompt": text_of(case.input), "config": {}}
        found = self.check(text_of(output.value), context)
        if isinstance(found, Mapping) and "score" not in found and "pass" in found:
            return {**found, "score": float(bool(found["pass"]))}
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return {"score": found, "passed": found > 0 if self.least is None else found >= self.least}
        return found
