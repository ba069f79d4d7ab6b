"""How many tokens a request may take, guessed before it goes out."""

from evalmark.core.values.call import Request
from evalmark.core.values.plain_data import canonical

BYTES_PER_TOKEN = 2
"""Of text; English has more than four, so the guess is on the high side, as a guess about money should be."""
PER_MESSAGE = 8
"""Tokens that a provider puts around each message."""
ASSUMED_OUTPUT = 1_024
"""Tokens of a reply when the request sets no limit and nothing is known of the model yet."""


def estimate_input_tokens(request: Request) -> int:
    """A cautious guess of the request's input tokens.

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
    """How many tokens the reply may have at the most; None where the request does not say.

    >>> output_limit(Request(messages=(), settings={"max_tokens": 100}))
    100
    """
    if not request.settings:
        return None
    given = [request.settings.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
    known = [limit for limit in given if type(limit) is int and limit > 0]
    return min(known) if known else None


def estimate_tokens(request: Request) -> int:
    """A guess of all tokens of a call, as cautious as a provider's own when it decides whether to take a request.

    >>> estimate_tokens(Request(messages=(), settings={"max_tokens": 100}))
    100
    """
    return estimate_input_tokens(request) + (output_limit(request) or ASSUMED_OUTPUT)
