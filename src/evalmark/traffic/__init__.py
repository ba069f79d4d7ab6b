"""What apps did for their users and what people say of it, as the store keeps it, and the test cases it makes."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .browsing import SessionLine, SessionPage, SessionPart
    from .examples import Labelled, Said, case_id, labelled
    from .kept import Named, Recorded, Traffic
    from .trees import Spent, as_json, by_answer, in_order, share_of_time, spent
    from .wanted import STANDINGS, SessionsWanted, Standing

__all__ = [
    "STANDINGS",
    "Labelled",
    "Named",
    "Recorded",
    "Said",
    "SessionLine",
    "SessionPage",
    "SessionPart",
    "SessionsWanted",
    "Spent",
    "Standing",
    "Traffic",
    "as_json",
    "by_answer",
    "case_id",
    "in_order",
    "labelled",
    "share_of_time",
    "spent",
]

__getattr__ = deferred(
    __name__,
    {
        "STANDINGS": "wanted",
        "Labelled": "examples",
        "Named": "kept",
        "Recorded": "kept",
        "Said": "examples",
        "SessionLine": "browsing",
        "SessionPage": "browsing",
        "SessionPart": "browsing",
        "SessionsWanted": "wanted",
        "Spent": "trees",
        "Standing": "wanted",
        "Traffic": "kept",
        "as_json": "trees",
        "by_answer": "trees",
        "case_id": "examples",
        "in_order": "trees",
        "labelled": "examples",
        "share_of_time": "trees",
        "spent": "trees",
    },
)
