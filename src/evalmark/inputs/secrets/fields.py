"""Find secrets in settings and arguments by the names of their fields."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Path = tuple[str | int, ...]
"""Keys and positions that lead to a value, from the top."""

_ENDS = (
    *("accesskey", "accountkey", "apikey", "authorization", "bearer", "passphrase", "passwd", "password"),
    *("privatekey", "refreshtoken", "secret", "secretkey", "sessiontoken", "subscriptionkey"),
)
_TOKENS = frozenset(("token", "accesstoken", "apitoken", "authtoken", "bearertoken", "idtoken"))
"""Other tokens, such as `stop_token`, are model settings."""
MASK = "(not kept)"
"""The text that replaces a secret."""


def secret_paths(settings: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the path of each value whose field has the name of a secret, at any depth.

    >>> list(secret_paths({"extra_headers": {"X-Api-Key": "…"}, "max_tokens": 5}, ("settings",)))
    [('settings', 'extra_headers', 'X-Api-Key')]
    """
    if isinstance(settings, dict):
        for name, value in settings.items():
            plain = "".join(filter(str.isalpha, str(name).casefold()))
            if plain.endswith(_ENDS) or plain in _TOKENS:
                yield (*at, name)
            else:
                yield from secret_paths(value, (*at, name))
    elif isinstance(settings, list):
        for number, value in enumerate(settings):
            yield from secret_paths(value, (*at, number))


def mask_secret_fields(data: Any) -> Any:
    """Replace each value whose field has the name of a secret; data without secrets is returned unchanged.

    >>> mask_secret_fields({"url": "/", "headers": {"Authorization": "…"}})
    {'url': '/', 'headers': {'Authorization': '(not kept)'}}
    """
    paths = list(secret_paths(data))
    result = deepcopy(data) if paths else data
    for *above, last in paths:
        holder = result
        for part in above:
            holder = holder[part]
        holder[last] = MASK
    return result
