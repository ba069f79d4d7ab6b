"""What apps did for their users and what people say of it, as the store keeps it, and the test cases it makes."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .examples import Labelled, Said, case_id, labelled
    from .kept import Named, Recorded, Traffic

__all__ = ["Labelled", "Named", "Recorded", "Said", "Traffic", "case_id", "labelled"]

__getattr__ = deferred(
    __name__,
    {
        "Labelled": "examples",
        "Named": "kept",
        "Recorded": "kept",
        "Said": "examples",
        "Traffic": "kept",
        "case_id": "examples",
        "labelled": "examples",
    },
)
