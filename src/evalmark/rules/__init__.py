"""Rules in plain English that a machine can check: found in their words, conservatively, and held against outputs."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .finding import AllOf, Check, Finding
    from .labels import OneOf, labels_in
    from .language import Language
    from .limits import Limit
    from .markup import Balanced, Markup, TagCount, TagsInside
    from .plain import LetterCase, NumberText
    from .reading import check_of, checks_of, parts_in
    from .stated import Matches, stated_check
    from .structure import JsonText, SchemaText
    from .words import Ends, Forbidden, Ordered, Required

__all__ = [
    "AllOf",
    "Balanced",
    "Check",
    "Ends",
    "Finding",
    "Forbidden",
    "JsonText",
    "Language",
    "LetterCase",
    "Limit",
    "Markup",
    "Matches",
    "NumberText",
    "OneOf",
    "Ordered",
    "Required",
    "SchemaText",
    "TagCount",
    "TagsInside",
    "check_of",
    "checks_of",
    "labels_in",
    "parts_in",
    "stated_check",
]

__getattr__ = deferred(
    __name__,
    {
        "AllOf": "finding",
        "Balanced": "markup",
        "Check": "finding",
        "Ends": "words",
        "Finding": "finding",
        "Forbidden": "words",
        "JsonText": "structure",
        "Language": "language",
        "LetterCase": "plain",
        "Limit": "limits",
        "Markup": "markup",
        "Matches": "stated",
        "NumberText": "plain",
        "OneOf": "labels",
        "Ordered": "words",
        "Required": "words",
        "SchemaText": "structure",
        "TagCount": "markup",
        "TagsInside": "markup",
        "check_of": "reading",
        "checks_of": "reading",
        "labels_in": "labels",
        "parts_in": "reading",
        "stated_check": "stated",
    },
)
