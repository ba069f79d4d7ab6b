"""Translate JavaScript regular expressions to equivalent Python ones; others are refused."""

import re

from evalmark.core.lazy import need

_SPACES = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_ENDS = r"\n\r\u2028\u2029"
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACES}
_WORD = f"[{_SETS['w']}]"
_BOUNDS = {
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_GROUPS = re.compile(r"\(\?(?::|=|!|<=|<!|<[A-Za-z_]\w*>)")
_OPENS = re.compile(r"\((?!\?)|\(\?<[A-Za-z_]")
_REPEATS = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})(\??)")
_NUMBERED = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})")
_PROPERTY = re.compile(r"\\[pP]\{[A-Za-z_=]+\}")
_NAMED = re.compile(r"\\k<([A-Za-z_]\w*)>")


def python_pattern(text: str, *, is_multiline: bool = False, dot_all: bool = False, is_unicode: bool = False) -> str:
    r"""Translate a pattern for the package `regex`.

    Args:
        text: The pattern in JavaScript.
        is_multiline: Whether it has the flag `m`.
        dot_all: Whether it has the flag `s`.
        is_unicode: Whether it has the flag `u`.

    >>> python_pattern(r"^\d+$"), python_pattern("^O")
    ('^[0-9]+\\Z', '^O')

    Raises:
        ValueError: the pattern has no equivalent or is invalid; the text has the reason.
    """
    translator = _PatternTranslator(text, is_unicode=is_unicode)
    translator.signs = {
        "$": rf"(?=[{_ENDS}]|\Z)" if is_multiline else r"\Z",
        "^": rf"(?:(?<=[{_ENDS}])|\A)" if is_multiline else "^",
        ".": "(?s:.)" if dot_all else f"[^{_ENDS}]",
        **{sign: rf"\{sign}" for sign in "{}]"},
    }
    pattern = translator.whole()
    module = need("regex")
    try:
        module.compile(pattern)
    except module.error as error:
        raise ValueError(f"it cannot be read: {error}") from None
    return pattern


class _PatternTranslator:
    def __init__(self, text: str, *, is_unicode: bool) -> None:
        self.text = text
        self.at = 0
        self.is_unicode = is_unicode
        self.groups = len(_OPENS.findall(text))
        self.signs: dict[str, str] = {}

    def whole(self) -> str:
        parts = []
        while self.at < len(self.text):
            parts.append(self.part())
        return "".join(parts)

    def part(self) -> str:
        sign = self.text[self.at]
        if sign == "\\":
            return self.escaped()
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
        return self.signs.get(sign, sign)

    def group(self) -> str:
        if self.text[self.at + 1 : self.at + 2] != "?":
            self.at += 1
            return "("
        match = _GROUPS.match(self.text, self.at)
        if match is None:
            raise ValueError(f"{self.text[self.at : self.at + 4]!r} is not a group that evalmark can translate")
        self.at = match.end()
        return match[0]

    def escaped(self) -> str:
        """Translate an escape outside of brackets."""
        sign = self.text[self.at + 1 : self.at + 2]
        if sign and sign in _BOUNDS:
            self.at += 2
            return _BOUNDS[sign]
        if sign.lower() in _SETS and sign:
            self.at += 2
            return f"[{'^' if sign.isupper() else ''}{_SETS[sign.lower()]}]"
        if (name := _NAMED.match(self.text, self.at)) is not None:
            self.at = name.end()
            return f"(?({name[1]})(?P={name[1]}))"  # a group without a match is empty in JavaScript
        if sign and sign in "123456789":
            return self.reference()
        return self.character()

    def reference(self) -> str:
        digits = re.compile(r"[0-9]+").match(self.text, self.at + 1)
        number = digits[0] if digits else ""
        if not number or int(number) > self.groups:
            raise ValueError(f"a backslash before {number!r} has another meaning in Python")
        self.at += 1 + len(number)
        return rf"(?({number})(?:\g<{number}>))" if len(number) > 1 else rf"(?({number})(?:\{number}))"

    def character(self) -> str:
        """Translate an escape that means one character, or a property of characters."""
        if (numbered := _NUMBERED.match(self.text, self.at)) is not None:
            self.at = numbered.end()
            return numbered[0]
        if self.is_unicode and (named := _PROPERTY.match(self.text, self.at)) is not None:
            self.at = named.end()
            return named[0]
        sign = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if sign and sign in "ntrfv":
            return f"\\{sign}"
        if sign == "0" and not self.text[self.at : self.at + 1].isdigit():
            return r"\x00"
        if not sign or sign.isalnum():
            raise ValueError(f"a backslash before {sign!r} has another meaning in Python")
        return re.escape(sign)

    def characters(self) -> str:
        """Translate a character class."""
        is_negated = self.text.startswith("[^", self.at)
        self.at += 1 + is_negated
        parts: list[str] = []
        outside: list[str] = []
        while (sign := self.text[self.at : self.at + 1]) != "]":
            if not sign:
                raise ValueError("a bracket is not closed")
            inner = self.text[self.at + 1 : self.at + 2]
            if sign != "\\":
                self.at += 1
                parts.append(f"\\{sign}" if sign in "[&~|" else sign)
            elif inner and inner in "DWS":
                self.at += 2
                outside.append(f"[^{_SETS[inner.lower()]}]")
            else:
                parts.append(self.in_brackets(inner))
        self.at += 1
        return _character_class(parts, outside, is_negated)

    def in_brackets(self, sign: str) -> str:
        if sign and sign in _SETS:
            self.at += 2
            return _SETS[sign]
        if sign == "b":
            self.at += 2
            return "\\x08"
        return self.character()


def _character_class(parts: list[str], outside: list[str], is_negated: bool) -> str:
    """Join the characters and the negated sets of a class, which Python has not in one bracket."""
    if not outside:
        if not parts:
            return "(?s:.)" if is_negated else "(?!)"
        return f"[{'^' if is_negated else ''}{''.join(parts)}]"
    each = "|".join(([f"[{''.join(parts)}]"] if parts else []) + outside)
    return f"(?:(?!{each})(?s:.))" if is_negated else f"(?:{each})"
