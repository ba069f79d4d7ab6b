"""When data that was found agrees with data that was expected, and how two lists are paired off."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .differences import parting, spoken
    from .equality import ABSENT, Fuzzy, Same, agrees, check_data, check_rule, data_of, fuzzy_of, holds_nan, strictly
    from .json_text import NotJsonError, json_of, no_constant, read_json
    from .numbers import number_of, numbers_in
    from .pairing import all_paired, paired, paired_in_order

__all__ = [
    "ABSENT",
    "Fuzzy",
    "NotJsonError",
    "Same",
    "agrees",
    "all_paired",
    "check_data",
    "check_rule",
    "data_of",
    "fuzzy_of",
    "holds_nan",
    "json_of",
    "no_constant",
    "number_of",
    "numbers_in",
    "paired",
    "paired_in_order",
    "parting",
    "read_json",
    "spoken",
    "strictly",
]

__getattr__ = deferred(
    __name__,
    {
        "ABSENT": "equality",
        "Fuzzy": "equality",
        "NotJsonError": "json_text",
        "Same": "equality",
        "agrees": "equality",
        "all_paired": "pairing",
        "check_data": "equality",
        "check_rule": "equality",
        "data_of": "equality",
        "fuzzy_of": "equality",
        "holds_nan": "equality",
        "json_of": "json_text",
        "no_constant": "json_text",
        "number_of": "numbers",
        "numbers_in": "numbers",
        "paired": "pairing",
        "paired_in_order": "pairing",
        "parting": "differences",
        "read_json": "json_text",
        "spoken": "differences",
        "strictly": "equality",
    },
)
