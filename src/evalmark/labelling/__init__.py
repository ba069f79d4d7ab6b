"""What people say of outputs, and which output an id means."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .queue import MOST, Item, Part, Shown, Source, agreed
    from .raters import Agreement, Pair, Thumbs, agreement, thumbs_of
    from .rows import read_words
    from .subjects import (
        LONGEST_NAME,
        Subject,
        Which,
        Word,
        found,
        history,
        note,
        of_result,
        of_span,
        own_name,
        recorded_as,
        subject,
    )

__all__ = [
    "LONGEST_NAME",
    "MOST",
    "Agreement",
    "Item",
    "Pair",
    "Part",
    "Shown",
    "Source",
    "Subject",
    "Thumbs",
    "Which",
    "Word",
    "agreed",
    "agreement",
    "found",
    "history",
    "note",
    "of_result",
    "of_span",
    "own_name",
    "read_words",
    "recorded_as",
    "subject",
    "thumbs_of",
]

__getattr__ = deferred(
    __name__,
    {
        "LONGEST_NAME": "subjects",
        "MOST": "queue",
        "Agreement": "raters",
        "Item": "queue",
        "Pair": "raters",
        "Part": "queue",
        "Shown": "queue",
        "Source": "queue",
        "Subject": "subjects",
        "Thumbs": "raters",
        "Which": "subjects",
        "Word": "subjects",
        "agreed": "queue",
        "agreement": "raters",
        "found": "subjects",
        "history": "subjects",
        "note": "subjects",
        "of_result": "subjects",
        "of_span": "subjects",
        "own_name": "subjects",
        "read_words": "rows",
        "recorded_as": "subjects",
        "subject": "subjects",
        "thumbs_of": "raters",
    },
)
