"""Where settings name a secret, which would stand in every recording of a request."""

from collections.abc import Iterator
from typing import Any

from .document import DataPath

_ENDS = ("apikey", "authorization", "bearer", "password", "secret")
_TOKENS = frozenset(("token", "accesstoken", "apitoken", "authtoken", "bearertoken"))
"""Other tokens, such as `stop_token`, are words of a model."""


def secrets_in(settings: Any, at: DataPath = ()) -> Iterator[DataPath]:
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
