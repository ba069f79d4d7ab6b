"""Where settings or arguments name a secret, which would stand in every recording of a request."""

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
"""Other tokens, such as `stop_token`, are words of a model."""
MASK = "(not kept)"
"""What stands in the place of a secret."""


def secret_paths(settings: Any, at: Path = ()) -> Iterator[Path]:
    """The path of each value that goes by the name of a secret, however deep it stands; never the value.

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
    """JSON data with a mark in the place of each value that goes by the name of a secret; itself where there is none.

    >>> mask_secret_fields({"url": "/", "headers": {"Authorization": "…"}})
    {'url': '/', 'headers': {'Authorization': '(not kept)'}}
    """
    paths = list(secret_paths(data))
    own = deepcopy(data) if paths else data
    for *above, last in paths:
        holder = own
        for part in above:
            holder = holder[part]
        holder[last] = MASK
    return own
