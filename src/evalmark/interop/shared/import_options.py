"""What a user allows and replaces in an import."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ALL = "all"
"""The value of `--code` that names every piece of code in the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of `evalmark import` that change what a file becomes."""

    code: tuple[str, ...] = ()
    """The files whose code may run, as typed; `all` names every piece of code in the imported files."""
    providers: Mapping[str, str] = field(default_factory=dict)
    """The model that takes the place of each provider named here."""
    eval_name: str = ""
    """The only eval to import; empty for all of them."""

    def allows(self, file: Path | None = None) -> bool:
        """Whether the code in a file may run; without a file, code that stands in the imported file itself."""
        if ALL in self.code:
            return True
        return file is not None and any(Path(name).resolve() == file.resolve() for name in self.code)


DEFAULT_OPTIONS = ImportOptions()
