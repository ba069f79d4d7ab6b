"""What a model took, in tokens."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say, or said what cannot be."""

    input_tokens: int | None = None
    """All input tokens, those read from the provider's cache included."""
    output_tokens: int | None = None
    """All output tokens, those of reasoning included."""
    cached_tokens: int | None = None
    """Input tokens read from the provider's cache."""
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
