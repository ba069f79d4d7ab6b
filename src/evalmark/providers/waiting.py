"""How long a server asks to be left alone, read out of the headers of its answer."""

from collections.abc import Mapping


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait before the next request; None where the headers do not say."""
    text = headers.get("retry-after", "")
    return float(text) if text.isdigit() else None
