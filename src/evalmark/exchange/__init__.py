"""What all formats of other tools share: results, cases and questions on their way out, and what came of files on their way in."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .assertions import Assertions, JudgedAssertions
    from .imported import Fate, Imported, Part
    from .origins import portable_run
    from .portable import Check, Exported, Portable

__all__ = [
    "Assertions",
    "Check",
    "Exported",
    "Fate",
    "Imported",
    "JudgedAssertions",
    "Part",
    "Portable",
    "portable_run",
]

__getattr__ = deferred(
    __name__,
    {
        "Assertions": "assertions",
        "Check": "portable",
        "Exported": "portable",
        "Fate": "imported",
        "Imported": "imported",
        "JudgedAssertions": "assertions",
        "Part": "imported",
        "Portable": "portable",
        "portable_run": "origins",
    },
)
