"""Other tools' files: results and suites read into values of ours, and written out of them."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .imported import Fate, Imported, Part
    from .promptpex import import_promptpex, read_promptpex

__all__ = ["Fate", "Imported", "Part", "import_promptpex", "read_promptpex"]

__getattr__ = deferred(
    __name__,
    {
        "Fate": "imported",
        "Imported": "imported",
        "Part": "imported",
        "import_promptpex": "promptpex",
        "read_promptpex": "promptpex",
    },
)
