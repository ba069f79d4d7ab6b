"""Which report of a comparison a file's ending asks for."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from evalmark.core.errors import ConfigError

from .comparison_json import comparison_as_json
from .comparison_markdown import comparison_in_markdown

COMPARISON_WRITERS: Mapping[str, Callable[..., Iterator[str]]] = MappingProxyType(
    {".json": comparison_as_json, ".md": comparison_in_markdown}
)
"""`write(comparison, pairs=())` by the ending that asks for it."""


def comparison_writer_for(path: Path | str) -> Callable[..., Iterator[str]]:
    """The report that a file's ending asks for.

    Raises:
        ConfigError: no report of a comparison has this ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in COMPARISON_WRITERS:
        raise ConfigError(f"{path}: no report of a comparison has this ending. Use {' or '.join(COMPARISON_WRITERS)}.")
    return COMPARISON_WRITERS[ending]
