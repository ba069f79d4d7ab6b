"""What people say of outputs, and which output an id means."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .rows import read_words
    from .subjects import Subject, Which, Word, found, history, note, of_result, of_span, own_name, subject

__all__ = [
    "Subject",
    "Which",
    "Word",
    "found",
    "history",
    "note",
    "of_result",
    "of_span",
    "own_name",
    "read_words",
    "subject",
]

__getattr__ = deferred(
    __name__,
    {
        "Subject": "subjects",
        "Which": "subjects",
        "Word": "subjects",
        "found": "subjects",
        "history": "subjects",
        "note": "subjects",
        "of_result": "subjects",
        "of_span": "subjects",
        "own_name": "subjects",
        "read_words": "rows",
        "subject": "subjects",
    },
)
