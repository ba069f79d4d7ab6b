"""Rules in plain English that a machine can check: found in their words, conservatively, and held against outputs."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .finding import Check, Finding
    from .labels import OneOf, labels_in
    from .language import Language
    from .limits import Limit
    from .markup import Balanced, Markup, TagCount, TagsInside
    from .reading import check_of, parts_in
    from .structure import JsonText, SchemaText
    from .words import Ends, Forbidden, Ordered, Required

__all__ = [
    "Balanced",
    "Check",
    "Ends",
    "Finding",
    "Forbidden",
    "JsonText",
    "Language",
    "Limit",
    "Markup",
    "OneOf",
    "Ordered",
    "Required",
    "SchemaText",
    "TagCount",
    "TagsInside",
    "check_of",
    "labels_in",
    "parts_in",
]

__getattr__ = deferred(
    __name__,
    {
        "Balanced": "markup",
        "Check": "finding",
        "Ends": "words",
        "Finding": "finding",
        "Forbidden": "words",
        "JsonText": "structure",
        "Language": "language",
        "Limit": "limits",
        "Markup": "markup",
        "OneOf": "labels",
        "Ordered": "words",
        "Required": "words",
        "SchemaText": "structure",
        "TagCount": "markup",
        "TagsInside": "markup",
        "check_of": "reading",
        "labels_in": "labels",
        "parts_in": "reading",
    },
)
