"""How things look in HTML, in the viewer and in reports alike: templates, foreign text, small pictures made of numbers."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .differences import differences_picture
    from .drawing import environment, page
    from .pictures import interval_picture, spread_in_words, spread_picture, stacked_picture
    from .scores import kind_of, short
    from .style import look
    from .text import LONGEST, Segment, Text, segments, text_of, visible

__all__ = [
    "LONGEST",
    "Segment",
    "Text",
    "differences_picture",
    "environment",
    "interval_picture",
    "kind_of",
    "look",
    "page",
    "segments",
    "short",
    "spread_in_words",
    "spread_picture",
    "stacked_picture",
    "text_of",
    "visible",
]

__getattr__ = deferred(
    __name__,
    {
        "LONGEST": "text",
        "Segment": "text",
        "Text": "text",
        "differences_picture": "differences",
        "environment": "drawing",
        "interval_picture": "pictures",
        "kind_of": "scores",
        "look": "style",
        "page": "drawing",
        "segments": "text",
        "short": "scores",
        "spread_in_words": "pictures",
        "spread_picture": "pictures",
        "stacked_picture": "pictures",
        "text_of": "text",
        "visible": "text",
    },
)
