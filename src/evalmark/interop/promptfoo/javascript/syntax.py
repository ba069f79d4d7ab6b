"""Parse a subset of JavaScript to nested tuples: `(kind, ...)`."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from .tokens import VALUES, Node, TokenReader, UnsupportedJavascriptError, number_of, unescape

MAX_CHARS = 20_000
_REGEX = re.compile(r"/((?:\\[^\n\r]|\[(?:\\[^\n\r]|[^\]\\\n\r])*\]|[^/\\\[\n\r])+)/([a-z]*)")
_LEVELS = {
    **dict.fromkeys(("??", "||"), 1),
    "&&": 2,
    **dict.fromkeys(("===", "!==", "==", "!="), 3),
    **dict.fromkeys(("<", ">", "<=", ">=", "in", "instanceof"), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "%"), 6),
}
"""The precedence of the binary operators."""
_ASSIGNS = ("=", "+=", "-=", "*=", "/=", "%=", "??=", "||=", "&&=")


def parse_javascript(text: str) -> Node:
    """Parse the body of a function.

    Raises:
        UnsupportedJavascriptError: The text is not JavaScript, or not in the subset.
    """
    if len(text) > MAX_CHARS:
        raise UnsupportedJavascriptError(f"it is longer than {MAX_CHARS:,} characters")
    return ("block", [statement for statement, _ in _statements(text)])


def _statements(text: str) -> list[tuple[Node, int]]:
    """Parse statements, each with the place where it begins."""
    try:
        parser = _Parser(text)
        statements = []
        while not parser.at_end():
            start = parser.start
            statements.append((parser.statement(), start))
    except RecursionError:
        raise UnsupportedJavascriptError("its parts are nested too deeply") from None
    return statements


def value_of_last_line(text: str) -> str | None:
    r"""Return code of several lines that returns nothing, with `return` before its last expression; None for other code.

    >>> value_of_last_line("const a = 1;\na > 0")
    'const a = 1;\nreturn a > 0'

    Raises:
        UnsupportedJavascriptError: The text is not in the subset.
    """
    if "\n" not in text.rstrip():
        return None
    statements = _statements(text)
    returns = any(_returns(statement) for statement, _ in statements)
    if returns or not statements or statements[-1][0][0] != "do":
        return None
    start = statements[-1][1]
    return f"{text[:start]}return {text[start:]}"


def _returns(node: Any) -> bool:
    """Tell whether a statement returns or throws, functions in it aside."""
    if isinstance(node, tuple) and node and node[0] in ("function", "declare-function"):
        return False
    if isinstance(node, tuple) and node and node[0] in ("return", "throw"):
        return True
    return isinstance(node, (tuple, list)) and any(map(_returns, node))


def nodes_of(node: Any) -> Iterator[Node]:
    """Yield a node and all nodes in it."""
    if isinstance(node, tuple) and node and isinstance(node[0], str):
        yield node
    if isinstance(node, (tuple, list)):
        for part in node:
            yield from nodes_of(part)


class _Parser(TokenReader):
    # Statements.

    def statement(self) -> Node:
        return self.nested(self._statement)

    def _statement(self) -> Node:
        if self.takes(";"):
            return ("block", [])
        if self.sees("{"):
            return self.block()
        keyword = self.token if self.kind == "name" else ""
        if keyword in _STATEMENTS:
            self.advance()
            return _STATEMENTS[keyword](self)
        node = self.expression()
        self.ends_statement()
        return ("do", node)

    def ends_statement(self) -> None:
        if not (self.takes(";") or self.sees("}") or self.at_end() or self.after_newline):
            self.fail("the end of a statement is expected")

    def block(self) -> Node:
        self.expect("{")
        statements = []
        while not self.takes("}"):
            if self.at_end():
                self.fail("a brace is not closed")
            statements.append(self.statement())
        return ("block", statements)

    def declaration(self) -> Node:
        parts = [self.declared()]
        while self.takes(","):
            parts.append(self.declared())
        return ("declare", parts)

    def declared(self) -> Node:
        target = self.target()
        return (target, self.assignment() if self.takes("=") else None)

    def declares(self) -> Node:
        node = self.declaration()
        self.ends_statement()
        return node

    def target(self) -> Node:
        """Parse what a value is assigned to: a name, or a pattern of names."""
        if self.takes("["):
            return ("list-pattern", self.listed("]", lambda: None if self.sees(",") else self.with_default()))
        if self.takes("{"):
            return ("object-pattern", self.listed("}", self.property_target))
        return ("name", self.name())

    def with_default(self) -> Node:
        if self.takes("..."):
            return ("rest", self.target())
        target = self.target()
        return ("default", target, self.assignment()) if self.takes("=") else target

    def property_target(self) -> Node:
        if self.takes("..."):
            return ("rest", self.target())
        key = self.name()
        if self.takes(":"):
            return (key, self.with_default())
        target: Node = ("name", key)
        return (key, ("default", target, self.assignment()) if self.takes("=") else target)

    def listed(self, end: str, read: Callable[[], Any]) -> list[Any]:
        """Parse what stands between commas, to the closing sign."""
        items: list[Any] = []
        while not self.takes(end):
            items.append(read())
            if not self.sees(end):
                self.expect(",")
        return items

    def if_(self) -> Node:
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        then = self.statement()
        return ("if", condition, then, self.statement() if self.takes("else") else None)

    def returns(self) -> Node:
        empty = self.after_newline or self.sees(";", "}") or self.at_end()
        node = None if empty else self.expression()
        self.ends_statement()
        return ("return", node)

    def throws(self) -> Node:
        node = self.expression()
        self.ends_statement()
        return ("throw", node)

    def leaves(self, kind: str) -> Node:
        self.ends_statement()
        return (kind,)

    def while_(self) -> Node:
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        return ("for", None, condition, None, self.statement())

    def for_(self) -> Node:
        self.expect("(")
        if self.sees("const", "let", "var"):
            state = self.state()
            self.advance()
            target = self.target()
            if self.sees("of", "in"):
                kind = self.advance()
                values = self.expression()
                self.expect(")")
                return (f"for-{kind}", target, values, self.statement())
            self.back(state)
            self.advance()
            first: Node | None = self.declaration()
        else:
            first = None if self.sees(";") else ("do", self.expression())
        self.expect(";")
        condition = None if self.sees(";") else self.expression()
        self.expect(";")
        step = None if self.sees(")") else self.expression()
        self.expect(")")
        return ("for", first, condition, step, self.statement())

    def try_(self) -> Node:
        body, name, handler, last = self.block(), None, None, None
        if self.takes("catch"):
            if self.takes("("):
                name = self.target()
                self.expect(")")
            handler = self.block()
        if self.takes("finally"):
            last = self.block()
        if handler is None and last is None:
            self.fail("'catch' is expected")
        return ("try", body, name, handler, last)

    def switch(self) -> Node:
        self.expect("(")
        value = self.expression()
        self.expect(")")
        self.expect("{")
        cases: list[Node] = []
        while not self.takes("}"):
            test = None if self.takes("default") else self.case()
            self.expect(":")
            body = []
            while not self.sees("case", "default", "}"):
                body.append(self.statement())
            cases.append((test, body))
        return ("switch", value, cases)

    def case(self) -> Node:
        self.expect("case")
        return self.expression()

    def function(self) -> Node:
        """Parse a function after its keyword; one with a name is also declared."""
        name = self.name() if self.kind == "name" else ""
        self.expect("(")
        parameters = self.listed(")", self.with_default)
        return ("function", name, parameters, self.block())

    # Expressions.

    def expression(self) -> Node:
        node = self.assignment()
        while self.sees(","):
            self.advance()
            node = ("sequence", node, self.assignment())
        return node

    def assignment(self) -> Node:
        return self.nested(self._assignment)

    def _assignment(self) -> Node:
        if (arrow := self.arrow()) is not None:
            return arrow
        node = self.conditional()
        if self.kind == "sign" and self.token in _ASSIGNS:
            sign = self.advance()
            if node[0] not in ("name", "member"):
                self.fail("this cannot be assigned to")
            return ("assign", sign[:-1], node, self.assignment())
        return node

    def arrow(self) -> Node | None:
        """Parse a function with an arrow, if one comes next."""
        if not (self.sees("(") or self.kind == "name"):
            return None
        if self.is_reserved():
            return None
        state = self.state()
        try:
            parameters = self.listed(")", self.with_default) if self.takes("(") else [("name", self.name())]
        except UnsupportedJavascriptError:
            parameters = []
        if not self.sees("=>"):
            self.back(state)
            return None
        self.advance()
        body = self.block() if self.sees("{") else ("return", self.assignment())
        return ("function", "", parameters, body)

    def conditional(self) -> Node:
        condition = self.binary(1)
        if not self.takes("?"):
            return condition
        then = self.assignment()
        self.expect(":")
        return ("choose", condition, then, self.assignment())

    def binary(self, level: int) -> Node:
        left = self.unary()
        while self.kind in ("sign", "name") and _LEVELS.get(self.token, 0) >= level:
            sign = self.advance()
            if sign == "instanceof":
                self.fail("`instanceof` is not in the subset")
            right = self.binary(_LEVELS[sign] + 1)
            left = ("logic", sign, left, right) if sign in ("&&", "||", "??") else ("binary", sign, left, right)
        return left

    def unary(self) -> Node:
        if self.sees("!", "-", "+", "typeof", "void"):
            return self.nested(lambda: ("unary", self.advance(), self.unary()))
        if self.sees("++", "--"):
            return self.nested(lambda: ("update", self.advance(), "before", self.changed(self.unary())))
        node = self.postfix()
        if self.takes("**"):
            return ("binary", "**", node, self.unary())
        return node

    def postfix(self) -> Node:
        node = self.member()
        if self.sees("++", "--") and not self.after_newline:
            return ("update", self.advance(), "after", self.changed(node))
        return node

    def changed(self, node: Node) -> Node:
        if node[0] not in ("name", "member"):
            self.fail("this cannot be changed")
        return node

    def member(self) -> Node:
        """Parse a value with its properties and calls."""
        node = self.new() if self.takes("new") else self.primary()
        is_optional = False
        while (more := self.access(node)) is not None:
            is_optional = is_optional or (more[0] in ("member", "call") and more[-1])
            node = more
        return ("chain", node) if is_optional else node

    def access(self, node: Node) -> Node | None:
        """Parse one property or call after a value; None if none comes next."""
        if self.takes("."):
            return ("member", node, ("value", self.property_name()), False)
        if self.takes("?."):
            if self.takes("["):
                return ("member", node, self.until("]"), True)
            if self.takes("("):
                return ("call", node, self.listed(")", self.item), True)
            return ("member", node, ("value", self.property_name()), True)
        if self.takes("["):
            return ("member", node, self.until("]"), False)
        if self.takes("("):
            return ("call", node, self.listed(")", self.item), False)
        return None

    def until(self, sign: str) -> Node:
        node = self.expression()
        self.expect(sign)
        return node

    def property_name(self) -> str:
        if self.kind != "name":
            self.fail("the name of a property is expected")
        return self.advance()

    def new(self) -> Node:
        name = self.name()
        return ("new", name, self.listed(")", self.item) if self.takes("(") else [])

    def item(self) -> Node:
        return ("spread", self.assignment()) if self.takes("...") else self.assignment()

    def primary(self) -> Node:
        if self.kind == "number":
            return ("value", number_of(self.advance()))
        if self.kind == "text":
            return ("value", unescape(self.advance()[1:-1]))
        if self.kind == "name":
            return self.named()
        if self.sees("/", "/="):
            return self.regex()
        reader = _PRIMARY.get(self.token) if self.kind == "sign" else None
        if reader is None:
            self.fail("a value is expected")
        if not self.sees("`"):
            self.advance()
        return self.nested(lambda: reader(self))  # type: ignore[misc]

    def named(self) -> Node:
        if self.takes("function"):
            return self.nested(self.function)
        if self.token in VALUES:
            return VALUES[self.advance()]
        return ("name", self.name())

    def regex(self) -> Node:
        match = _REGEX.match(self.text, self.start)
        if match is None:
            self.fail("a pattern is not closed")
            raise AssertionError
        self.at = match.end()
        self.advance()
        return ("regex", match[1], match[2])

    def template(self) -> Node:
        """Parse a text in backquotes, from its first sign."""
        parts: list[Node] = []
        at, begin = self.start + 1, self.start + 1
        while at < len(self.text) and self.text[at] != "`":
            if self.text[at] == "\\":
                at += 2
            elif self.text.startswith("${", at):
                parts.append(("value", unescape(self.text[begin:at])))
                self.at = at + 2
                self.advance()
                parts.append(self.expression())
                if not self.sees("}"):
                    self.fail("'}' is expected")
                at = begin = self.start + 1
            else:
                at += 1
        if at >= len(self.text):
            self.fail("a text is not closed")
        parts.append(("value", unescape(self.text[begin:at])))
        self.at = at + 1
        self.advance()
        return ("template", parts)

    def object(self) -> Node:
        return ("object", self.listed("}", self.property))

    def property(self) -> Node:
        if self.takes("..."):
            return ("spread", self.assignment())
        if self.takes("["):
            key = self.until("]")
            self.expect(":")
            return (key, self.assignment())
        if self.kind in ("text", "number"):
            is_text = self.kind == "text"
            token = self.advance()
            key = ("value", unescape(token[1:-1]) if is_text else number_of(token))
            self.expect(":")
            return (key, self.assignment())
        name = self.property_name()
        if self.takes(":"):
            return (("value", name), self.assignment())
        if not self.sees(",", "}"):
            self.fail("a method in an object is not in the subset")
        return (("value", name), ("name", name))


_STATEMENTS: dict[str, Callable[[_Parser], Node]] = {
    "const": _Parser.declares,
    "let": _Parser.declares,
    "var": _Parser.declares,
    "if": _Parser.if_,
    "return": _Parser.returns,
    "throw": _Parser.throws,
    "for": _Parser.for_,
    "while": _Parser.while_,
    "try": _Parser.try_,
    "switch": _Parser.switch,
    "break": lambda parser: parser.leaves("break"),
    "continue": lambda parser: parser.leaves("continue"),
    "function": lambda parser: ("declare-function", parser.function()),
}
_PRIMARY: dict[str, Callable[[_Parser], Node]] = {
    "(": lambda parser: parser.until(")"),
    "[": lambda parser: ("list", parser.listed("]", parser.item)),
    "{": _Parser.object,
    "`": _Parser.template,
}
