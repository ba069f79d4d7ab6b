"""How things look in HTML, in the viewer and in reports alike: templates, foreign text, small pictures made of numbers."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .canvas import Drawn
    from .course import Line, Stop, course_picture
    from .curves import Chosen, Roc, roc_drawn, thinned_points
    from .differences import differences_picture
    from .drawing import environment, page
    from .pictures import interval_picture, spread_in_words, spread_picture, stacked_picture
    from .scatter import Point, scatter_drawn
    from .scores import kind_of, short
    from .single import alone
    from .spreads import Halves, halves_drawn, spread_drawn
    from .style import look
    from .text import LONGEST, Segment, Text, segments, text_of, visible
    from .whiskers import Whisker, whisker_picture

__all__ = [
    "LONGEST",
    "Chosen",
    "Drawn",
    "Halves",
    "Line",
    "Point",
    "Roc",
    "Segment",
    "Stop",
    "Text",
    "Whisker",
    "alone",
    "course_picture",
    "differences_picture",
    "environment",
    "halves_drawn",
    "interval_picture",
    "kind_of",
    "look",
    "page",
    "roc_drawn",
    "scatter_drawn",
    "segments",
    "short",
    "spread_drawn",
    "spread_in_words",
    "spread_picture",
    "stacked_picture",
    "text_of",
    "thinned_points",
    "visible",
    "whisker_picture",
]

__getattr__ = deferred(
    __name__,
    {
        "Chosen": "curves",
        "Roc": "curves",
        "roc_drawn": "curves",
        "thinned_points": "curves",
        "Drawn": "canvas",
        "Halves": "spreads",
        "halves_drawn": "spreads",
        "spread_drawn": "spreads",
        "Whisker": "whiskers",
        "whisker_picture": "whiskers",
        "Point": "scatter",
        "scatter_drawn": "scatter",
        "Line": "course",
        "Stop": "course",
        "course_picture": "course",
        "LONGEST": "text",
        "Segment": "text",
        "Text": "text",
        "alone": "single",
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
