"""Conversion of numbers, intervals and texts for JSON reports."""

import json
import re
from collections.abc import Mapping
from typing import Any

from evalmark.stats.inference.intervals import Interval, Share

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")  # legal in JSON, but harmful in terminals and files


def json_line(value: Any) -> str:
    r"""JSON with every language readable and every control character escaped; half surrogates survive as \udxxx."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def field_values(source: object, *names: str) -> dict[str, Any]:
    """Convert the named fields of an object to JSON values."""
    return {name: _field_value(getattr(source, name)) for name in names}


def _field_value(value: Any) -> Any:
    if isinstance(value, Interval):
        return interval_values(value)
    if isinstance(value, Share):
        return field_values(value, "passed", "n", "value", "interval")
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def interval_values(interval: Interval | None) -> dict[str, Any] | None:
    """Convert an interval to JSON values with twelve digits."""
    if interval is None:
        return None
    low, high = (None if end is None else float(f"{end:z.12g}") for end in (interval.low, interval.high))
    return {"low": low, "high": high, "level": interval.level, "method": interval.method}
