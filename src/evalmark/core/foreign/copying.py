"""Copies for foreign code, so that what it does to its arguments stays with it."""

import copy
from typing import Any

from evalmark.core.values.case import Case

_IMMUTABLE = (str, int, float, bool, bytes, type(None))


def copy_value(value: Any) -> Any:
    """A copy of what could be changed; the value itself where its type cannot be copied.

    >>> rows = [{"a": 1}]
    >>> copy_value(rows) == rows, copy_value(rows)[0] is rows[0]
    (True, False)
    """
    if isinstance(value, _IMMUTABLE) or (isinstance(value, Case) and _is_flat(value)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001  foreign code: objects that a user put into a case copy themselves
        return value


def _is_flat(case: Case) -> bool:
    simple = isinstance(case.input, _IMMUTABLE) and isinstance(case.expected, _IMMUTABLE)
    return simple and not (case.metadata or case.examples or case.history or case.given)
