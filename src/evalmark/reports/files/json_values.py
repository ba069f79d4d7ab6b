"""Conversion of numbers, intervals and texts for JSON reports."""

import json
import re
from typing import Any

from evalmark.stats.inference.intervals import Interval

_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")  # legal in JSON, trouble in terminals and files


def json_line(value: Any) -> str:
    r"""JSON with every language readable and every control character escaped; half surrogates survive as \udxxx."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def interval_values(interval: Interval | None) -> dict[str, Any] | None:
    """Convert an interval to JSON values with twelve digits."""
    if interval is None:
        return None
    low, high = (None if end is None else float(f"{end:z.12g}") for end in (interval.low, interval.high))
    return {"low": low, "high": high, "level": interval.level, "method": interval.method}
