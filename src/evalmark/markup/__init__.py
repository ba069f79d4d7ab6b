"""How things look in HTML, in the viewer and in reports alike: templates, foreign text, small pictures made of numbers."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .canvas import Drawn
    from .costs import are_comparable, cost_drawn, cost_table, qualities
    from .course import DASHES, Line, Outcome, Stop, course_picture
    from .curves import Chosen, Roc, roc_drawn
    from .differences import differences_picture
    from .drawing import environment, page
    from .judges import agreement_drawn, flips_drawn
    from .milestones import BY_RATE, Milestone, Passage, course_lines, milestone, stops_of, whole_lines
    from .pictures import interval_picture, spread_in_words, spread_picture, stacked_picture
    from .scatter import Point, scatter_drawn
    from .scores import kind_of, short
    from .sections import Gathered, Section, gathered, sections_of
    from .separated import separated_drawn
    from .single import alone
    from .spreads import Halves, halves_drawn, spread_drawn, together
    from .style import look, script
    from .text import LONGEST, Segment, Text, changed, segments, text_of, visible
    from .whiskers import Whisker, whisker_picture

__all__ = [
    "BY_RATE",
    "DASHES",
    "LONGEST",
    "Chosen",
    "Drawn",
    "Gathered",
    "Halves",
    "Line",
    "Milestone",
    "Outcome",
    "Passage",
    "Point",
    "Roc",
    "Section",
    "Segment",
    "Stop",
    "Text",
    "Whisker",
    "agreement_drawn",
    "alone",
    "are_comparable",
    "changed",
    "cost_drawn",
    "cost_table",
    "course_lines",
    "course_picture",
    "differences_picture",
    "environment",
    "flips_drawn",
    "gathered",
    "halves_drawn",
    "interval_picture",
    "kind_of",
    "look",
    "milestone",
    "page",
    "qualities",
    "roc_drawn",
    "scatter_drawn",
    "script",
    "sections_of",
    "segments",
    "separated_drawn",
    "short",
    "spread_drawn",
    "spread_in_words",
    "spread_picture",
    "stacked_picture",
    "stops_of",
    "text_of",
    "together",
    "visible",
    "whisker_picture",
    "whole_lines",
]

__getattr__ = deferred(
    __name__,
    {
        "Gathered": "sections",
        "Section": "sections",
        "gathered": "sections",
        "sections_of": "sections",
        "stops_of": "milestones",
        "whole_lines": "milestones",
        "BY_RATE": "milestones",
        "Milestone": "milestones",
        "Passage": "milestones",
        "course_lines": "milestones",
        "milestone": "milestones",
        "DASHES": "course",
        "are_comparable": "costs",
        "cost_drawn": "costs",
        "cost_table": "costs",
        "qualities": "costs",
        "agreement_drawn": "judges",
        "flips_drawn": "judges",
        "separated_drawn": "separated",
        "Chosen": "curves",
        "Roc": "curves",
        "roc_drawn": "curves",
        "Drawn": "canvas",
        "Halves": "spreads",
        "halves_drawn": "spreads",
        "spread_drawn": "spreads",
        "Whisker": "whiskers",
        "whisker_picture": "whiskers",
        "Point": "scatter",
        "scatter_drawn": "scatter",
        "Line": "course",
        "Outcome": "course",
        "Stop": "course",
        "course_picture": "course",
        "LONGEST": "text",
        "changed": "text",
        "Segment": "text",
        "Text": "text",
        "alone": "single",
        "differences_picture": "differences",
        "environment": "drawing",
        "interval_picture": "pictures",
        "kind_of": "scores",
        "look": "style",
        "page": "drawing",
        "script": "style",
        "segments": "text",
        "short": "scores",
        "spread_in_words": "pictures",
        "spread_picture": "pictures",
        "stacked_picture": "pictures",
        "text_of": "text",
        "together": "spreads",
        "visible": "text",
    },
)
