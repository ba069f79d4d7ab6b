"""A text that somebody looks for as a pattern of SQL's LIKE, escaped with `!`."""

import json

from .fields import sql_text


def containing(text: str) -> str | bytes:
    """A pattern for the text as it is.

    >>> containing("50%")
    '%50!%%'
    """
    for special in ("!", "%", "_"):
        text = text.replace(special, f"!{special}")
    return sql_text(f"%{text}%")


def within_json(text: str) -> str | bytes:
    r"""A pattern for the text as the store's JSON has it, which is all ASCII.

    >>> print(within_json('a "b" ☺'))
    %a \"b\" \u263a%
    """
    return containing(json.dumps(text)[1:-1])
