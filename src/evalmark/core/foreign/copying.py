"""Copy arguments for users' code, so that it cannot change the originals."""

import copy
from typing import Any

from evalmark.core.values.case import Case

_IMMUTABLE = (str, int, float, bool, bytes, type(None))


def copy_value(value: Any) -> Any:
    """Copy a value deeply; return immutable values, and values that cannot be copied, unchanged.

    >>> rows = [{"a": 1}]
    >>> copy_value(rows) == rows, copy_value(rows)[0] is rows[0]
    (True, False)
    """
    if isinstance(value, _IMMUTABLE) or (isinstance(value, Case) and _is_flat(value)):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001  foreign code: users' objects implement their own copying
        return value


def _is_flat(case: Case) -> bool:
    simple = isinstance(case.input, _IMMUTABLE) and isinstance(case.expected, _IMMUTABLE)
    return simple and not (case.metadata or case.examples or case.history or case.given)
