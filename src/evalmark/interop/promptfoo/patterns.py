"""Translate JavaScript regular expressions to equivalent Python ones; others are refused."""

import re

from evalmark.core.lazy import need

_SPACES = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_DOT = r"[^\n\r\u2028\u2029]"
_GROUPS = re.compile(r"\(\?(?::|=|!|<=|<!|<[A-Za-z_]\w*>)")
_REPEATS = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})(\??)")
_SHORT = "dDwWbB"
"""Escapes that mean ASCII in JavaScript."""


def python_pattern(text: str) -> str:
    r"""Translate a pattern for the scorer `regex`.

    >>> python_pattern(r"^\d+$"), python_pattern("^O")
    ('(?a)^\\d+\\Z', '^O')

    Raises:
        ValueError: the pattern has no equivalent or is invalid; the text has the reason.
    """
    reading = _PatternTranslator(text)
    pattern = reading.whole()
    module = need("regex")
    try:
        module.compile(pattern)
    except module.error as error:
        raise ValueError(f"it cannot be read: {error}") from None
    return pattern


class _PatternTranslator:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.is_ascii = False

    def whole(self) -> str:
        parts = []
        while self.at < len(self.text):
            parts.append(self.part())
        return ("(?a)" if self.is_ascii else "") + "".join(parts)

    def part(self) -> str:
        sign = self.text[self.at]
        if sign == "\\":
            return self.escaped(in_class=False)
        if sign == "[":
            return self.characters()
        if sign == "(":
            return self.group()
        if (repeated := _REPEATS.match(self.text, self.at)) is not None:
            self.at = repeated.end()
            if not repeated[1] and self.text[self.at : self.at + 1] in ("+", "*"):
                raise ValueError("it repeats a repetition, which JavaScript does not allow")
            return repeated[0]
        self.at += 1
        return {"$": r"\Z", ".": _DOT, "{": r"\{", "}": r"\}", "]": r"\]"}.get(sign, sign)

    def group(self) -> str:
        if self.text[self.at + 1 : self.at + 2] != "?":
            self.at += 1
            return "("
        match = _GROUPS.match(self.text, self.at)
        if match is None:
            raise ValueError(f"{self.text[self.at : self.at + 4]!r} is not a group that evalmark can translate")
        self.at = match.end()
        return match[0]

    def escaped(self, *, in_class: bool) -> str:
        sign = self.text[self.at + 1 : self.at + 2]
        numbered = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})").match(self.text, self.at)
        if numbered is not None:
            self.at = numbered.end()
            return numbered[0]
        self.at += 2
        if sign in _SHORT and sign:
            self.is_ascii = True
            return "\\x08" if in_class and sign == "b" else f"\\{sign}"
        if sign in ("s", "S"):
            if in_class and sign == "S":
                raise ValueError(r"it has \S in brackets")
            return _SPACES if in_class else f"[{'^' if sign == 'S' else ''}{_SPACES}]"
        if sign and sign in "ntrfv":
            return f"\\{sign}"
        if not sign or sign.isalnum():
            raise ValueError(f"a backslash before {sign!r} has another meaning in Python")
        return re.escape(sign)

    def characters(self) -> str:
        """Translate a character class."""
        start = "[^" if self.text.startswith("[^", self.at) else "["
        self.at += len(start)
        parts: list[str] = []
        while (sign := self.text[self.at : self.at + 1]) != "]":
            if not sign:
                raise ValueError("a bracket is not closed")
            if sign == "\\":
                parts.append(self.escaped(in_class=True))
                continue
            self.at += 1
            parts.append(f"\\{sign}" if sign in "[&~|" else sign)
        self.at += 1
        if not parts:
            raise ValueError("its brackets are empty")
        return f"{start}{''.join(parts)}]"
