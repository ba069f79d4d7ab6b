"""Split JavaScript into tokens."""

import re
from collections.abc import Callable
from typing import Any

Node = tuple[Any, ...]
"""A part of a program: its kind, then its own parts."""
MAX_NESTING = 60
"""Parentheses, blocks and operators inside each other."""
MAX_TOKENS = 50_000
"""Tokens that are read, those that are read again included."""

_SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/)*")
_TOKEN = re.compile(
    r"(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<text>\"(?:\\[\s\S]|[^\"\\\n\r])*\"|'(?:\\[\s\S]|[^'\\\n\r])*')"
    r"|(?P<sign>\.\.\.|=>|===|!==|\*\*=|\?\?=|\|\|=|&&=|==|!=|<=|>=|&&|\|\||\?\?|\?\.(?!\d)|\*\*|\+\+|--|[-+*/%]=|[{}()\[\];,<>+\-*/%!?:=.`&|^~])"
)
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|[\s\S])")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": "", "\r": ""}
_RESERVED = frozenset(
    (
        *("await", "async", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete"),
        *("do", "else", "export", "extends", "finally", "for", "function", "if", "import", "in", "instanceof", "let"),
        *(
            "new",
            "return",
            "super",
            "switch",
            "this",
            "throw",
            "try",
            "typeof",
            "var",
            "void",
            "while",
            "with",
            "yield",
        ),
    )
)
VALUES: dict[str, Node] = {
    "true": ("value", True),
    "false": ("value", False),
    "null": ("value", None),
}


class UnsupportedJavascriptError(Exception):
    """The text is not in the subset; it says what is not."""


class TokenReader:
    """The tokens of a text, one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.kind, self.token = "", ""
        self.start = 0
        self.after_newline = False
        self.tokens = 0
        self.advance()

    def advance(self) -> str:
        """Read the next token, and return the one before it."""
        before = self.token
        self.tokens += 1
        if self.tokens > MAX_TOKENS:
            raise UnsupportedJavascriptError("it takes too long to read")
        space = _SPACE.match(self.text, self.at)
        start = space.end() if space else self.at
        self.after_newline = any(sign in self.text[self.at : start] for sign in "\n\r\u2028\u2029")
        self.start = start
        if start >= len(self.text):
            self.kind, self.token, self.at = "end", "", start
            return before
        match = _TOKEN.match(self.text, start)
        if match is None:
            raise UnsupportedJavascriptError(f"{self.text[start : start + 20]!r} cannot be read")
        self.kind, self.token, self.at = str(match.lastgroup), match[0], match.end()
        return before

    def at_end(self) -> bool:
        return self.kind == "end"

    def sees(self, *tokens: str) -> bool:
        return self.kind in ("sign", "name") and self.token in tokens

    def takes(self, token: str) -> bool:
        """Read a token if it comes next."""
        if self.sees(token):
            self.advance()
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.takes(token):
            self.fail(f"{token!r} is expected")

    def fail(self, what: str) -> None:
        raise UnsupportedJavascriptError(f"{what} before {self.text[self.start : self.start + 20]!r}")

    def is_reserved(self) -> bool:
        return self.token in _RESERVED or self.token in VALUES

    def name(self) -> str:
        if self.kind != "name" or self.is_reserved():
            self.fail("a name is expected")
        return self.advance()

    def back(self, state: tuple[Any, ...]) -> None:
        self.at, self.kind, self.token, self.start, self.after_newline, self.depth = state

    def state(self) -> tuple[Any, ...]:
        return self.at, self.kind, self.token, self.start, self.after_newline, self.depth

    def nested(self, read: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise UnsupportedJavascriptError(f"its parts are nested more than {MAX_NESTING} deep")
        node = read()
        self.depth -= 1
        return node


def number_of(token: str) -> float:
    plain = token.replace("_", "")
    return float(int(plain, 0)) if plain[:2].lower() in ("0x", "0b") else float(plain)


def unescape(text: str) -> str:
    """Return a text without escapes, in UTF-16 code units as JavaScript counts them."""
    if "\\" not in text:
        return text

    def letter(match: re.Match[str]) -> str:
        sign = match[1]
        if sign[0] == "u" and len(sign) > 1:
            point = int(sign.strip("u{}"), 16)
            if point > 0xFFFF:
                point -= 0x10000
                return chr(0xD800 + (point >> 10)) + chr(0xDC00 + (point & 0x3FF))
            return chr(point)
        if sign[0] == "x" and len(sign) == 3:
            return chr(int(sign[1:], 16))
        return _LETTERS.get(sign, sign)

    return _ESCAPE.sub(letter, text)
