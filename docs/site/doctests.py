"""Show the doctests of docstrings as code: Markdown would read `>>>` as three quotations."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"(?:^|(?<=\n\n)|(?<=:\n))([ \t]*)(>>> .*(?:\n(?![ \t]*\n|[ \t]*\Z).*)*)")


class Doctests(griffe.Extension):
    """Fence every doctest."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the doctests of one docstring."""
        if obj.docstring:
            obj.docstring.value = DOCTEST.sub(r"\1```pycon\n\1\2\n\1```", obj.docstring.value)
