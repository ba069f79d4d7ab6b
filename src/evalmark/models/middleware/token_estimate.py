"""Estimates of the tokens of a request before it is sent."""

from evalmark.core.values.call import Request
from evalmark.core.values.plain_data import canonical

BYTES_PER_TOKEN = 2
"""Bytes of text for each token; English has more than four, so that costs are overestimated rather than underestimated."""
PER_MESSAGE = 8
"""Tokens that a provider adds to each message."""
ASSUMED_OUTPUT = 1_024
"""Tokens assumed for a reply without a limit, before the first reply of the model."""


def estimate_input_tokens(request: Request) -> int:
    """Return a high estimate of the input tokens of a request.

    >>> from evalmark import Turn
    >>> estimate_input_tokens(Request(messages=(Turn(role="user", content="What is the capital of France?"),)))
    23
    """
    size = 0 if request.schema is None else len(request.texts[1])
    for turn in request.messages:
        size += _bytes(turn.content if isinstance(turn.content, str) else canonical(turn.content))
    return size // BYTES_PER_TOKEN + PER_MESSAGE * len(request.messages)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def output_limit(request: Request) -> int | None:
    """Return the limit of output tokens that the request sets; None if it sets none.

    >>> output_limit(Request(messages=(), settings={"max_tokens": 100}))
    100
    """
    if not request.settings:
        return None
    given = [request.settings.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    known = [limit for limit in given if type(limit) is int and limit > 0]
    return min(known) if known else None


def estimate_tokens(request: Request) -> int:
    """Return a high estimate of all tokens of a call, as providers make one to enforce their token limits.

    >>> estimate_tokens(Request(messages=(), settings={"max_tokens": 100}))
    100
    """
    return estimate_input_tokens(request) + (output_limit(request) or ASSUMED_OUTPUT)
