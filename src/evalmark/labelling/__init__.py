"""What people say of outputs, and which output an id means."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .queue import Item, Part, answers_of_project, cases_of, drawn, outputs_of_run
    from .raters import Agreement, Pair, Thumbs, agreement, thumbs_of
    from .rows import read_words
    from .subjects import Subject, Which, Word, found, history, note, of_result, of_span, own_name, subject

__all__ = [
    "Agreement",
    "Item",
    "Pair",
    "Part",
    "Subject",
    "Thumbs",
    "Which",
    "Word",
    "agreement",
    "answers_of_project",
    "cases_of",
    "drawn",
    "found",
    "history",
    "note",
    "of_result",
    "of_span",
    "outputs_of_run",
    "own_name",
    "read_words",
    "subject",
    "thumbs_of",
]

__getattr__ = deferred(
    __name__,
    {
        "Agreement": "raters",
        "Item": "queue",
        "Pair": "raters",
        "Part": "queue",
        "Subject": "subjects",
        "Thumbs": "raters",
        "Which": "subjects",
        "Word": "subjects",
        "agreement": "raters",
        "answers_of_project": "queue",
        "cases_of": "queue",
        "drawn": "queue",
        "found": "subjects",
        "history": "subjects",
        "note": "subjects",
        "of_result": "subjects",
        "of_span": "subjects",
        "outputs_of_run": "queue",
        "own_name": "subjects",
        "read_words": "rows",
        "subject": "subjects",
        "thumbs_of": "raters",
    },
)
