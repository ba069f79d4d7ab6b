"""Where settings or arguments name a secret, which would stand in every recording of a request."""

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .document import DataPath

_ENDS = (
    *("accesskey", "accountkey", "apikey", "authorization", "bearer", "passphrase", "passwd", "password"),
    *("privatekey", "refreshtoken", "secret", "secretkey", "sessiontoken", "subscriptionkey"),
)
_TOKENS = frozenset(("token", "accesstoken", "apitoken", "authtoken", "bearertoken", "idtoken"))
"""Other tokens, such as `stop_token`, are words of a model."""
NOT_KEPT = "(not kept)"
"""What stands in the place of a secret."""


def secrets_in(settings: Any, at: "DataPath" = ()) -> "Iterator[DataPath]":
    """The path of each value that goes by the name of a secret, however deep it stands; never the value.

    >>> list(secrets_in({"extra_headers": {"X-Api-Key": "…"}, "max_tokens": 5}, ("settings",)))
    [('settings', 'extra_headers', 'X-Api-Key')]
    """
    if isinstance(settings, dict):
        for name, value in settings.items():
            plain = "".join(filter(str.isalpha, str(name).casefold()))
            if plain.endswith(_ENDS) or plain in _TOKENS:
                yield (*at, name)
            else:
                yield from secrets_in(value, (*at, name))
    elif isinstance(settings, list):
        for number, value in enumerate(settings):
            yield from secrets_in(value, (*at, number))


def without_secrets(data: Any) -> Any:
    """JSON data with a mark in the place of each value that goes by the name of a secret; itself where there is none.

    >>> without_secrets({"url": "/", "headers": {"Authorization": "…"}})
    {'url': '/', 'headers': {'Authorization': '(not kept)'}}
    """
    paths = list(secrets_in(data))
    own = deepcopy(data) if paths else data
    for *above, last in paths:
        holder = own
        for part in above:
            holder = holder[part]
        holder[last] = NOT_KEPT
    return own
