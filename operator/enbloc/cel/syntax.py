# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A CEL expression as a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from enbloc.cel.tokens import SyntaxFault, Token, tokens
from enbloc.cel.values import LARGEST

#: The API server's limit, in bytes (resource.k8s.io CELSelectorExpressionMaxLength).
LONGEST_EXPRESSION: Final = 10 * 1024
#: The deepest nesting of brackets and operators.
DEEPEST: Final = 120
_RESERVED: Final = frozenset(
    [
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "in"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    ]
)
_WORDS: Final = {"true": True, "false": False, "null": None}
_LOGIC: Final = ("||", "&&")
_LEVELS: Final = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, or the first part of a function's name."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`; with `optional` `operand.?field`."""

    operand: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`; with `optional` `operand[?key]`."""

    operand: Node
    key: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `args`, the receiver of a `member` first; operators are named `_+_`."""

    function: str
    args: tuple[Node, ...]
    member: bool = False


@dataclass(frozen=True, slots=True)
class Logic:
    """`&&` (`all_of`) or `||` of two terms or more."""

    terms: tuple[Node, ...]
    all_of: bool


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? yes : no`."""

    condition: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; each item with whether it is left out when it is an empty optional."""

    items: tuple[tuple[Node, bool], ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map: key, value, and whether the pair is left out when the value is an empty optional."""

    pairs: tuple[tuple[Node, Node, bool], ...]


Node = Const | Name | Select | Index | Call | Logic | Conditional | ListOf | MapOf


def parse(source: str) -> Node:
    """The tree of an expression, macros not yet expanded. Raises SyntaxFault."""
    if len(source.encode("utf-8", "surrogatepass")) > LONGEST_EXPRESSION:
        raise SyntaxFault(f"longer than {LONGEST_EXPRESSION} bytes", LONGEST_EXPRESSION)
    parser = _Parser(tokens(source))
    node = parser.expression()
    parser.expect("end")
    return node


class _Parser:
    """Recursive descent; `depth` is how many levels the parser is inside, or operators chained."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    def expression(self) -> Node:
        """A conditional, or an expression that binds tighter."""
        self._deeper()
        outside = self._depth
        node = self._operators(1)
        if self._take("?"):
            yes = self._operators(1)
            self.expect(":")
            node = Conditional(node, yes, self.expression())
        self._depth = outside - 1
        return node

    def expect(self, sign: str) -> None:
        """Consume the sign, or the end. Raises SyntaxFault if something else is there."""
        token = self._tokens[self._at]
        if sign != (token.text if token.kind == "sign" else token.kind):
            wanted = "" if sign == "end" else f", expected {sign!r}"
            raise SyntaxFault(f"unexpected {token.text!r}{wanted}", token.position)
        self._at += 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            position = self._tokens[self._at].position
            raise SyntaxFault(f"nested more than {DEEPEST} levels deep", position)

    def _take(self, *signs: str) -> str | None:
        """Consume and return the next sign, if it is one of these."""
        token = self._tokens[self._at]
        if token.kind != "sign" or token.text not in signs:
            return None
        self._at += 1
        return token.text

    def _operators(self, loosest: int) -> Node:
        """Operands, and the operators between them of at least this precedence."""
        outside = self._depth
        node = self._unary()
        while True:
            sign = self._tokens[self._at].text
            level = _LEVELS.get(sign, 0) if self._tokens[self._at].kind != "literal" else 0
            if level < max(loosest, 1):
                self._depth = outside
                return node
            self._at += 1
            self._deeper()
            right = self._operators(level + 1)
            if level > len(_LOGIC):
                node = Call(f"_{sign}_" if sign != "in" else "@in", (node, right))
                continue
            terms = [node, right]
            while self._take(sign):
                terms.append(self._operators(level + 1))
            node = Logic(tuple(terms), all_of=sign == "&&")

    def _unary(self) -> Node:
        outside = self._depth
        sign = self._take("!", "-")
        if sign is None:
            node = self._member(self._primary())
        elif sign == "-" and type(self._tokens[self._at].value) in (int, float):
            value = self._tokens[self._at].value
            self._at += 1
            node = self._member(Const(-value))
        else:
            self._deeper()
            operand = self._unary()
            node = Call(f"{sign}_", (operand,))
        self._depth = outside
        return node

    def _member(self, node: Node) -> Node:
        while True:
            if self._take("."):
                optional = self._take("?") is not None
                field = self._field()
                if not optional and self._take("("):
                    node = Call(field, (node, *self._arguments()), member=True)
                else:
                    node = Select(node, field, optional)
            elif self._take("["):
                optional = self._take("?") is not None
                node = Index(node, self.expression(), optional)
                self.expect("]")
            else:
                return node
            self._deeper()

    def _field(self) -> str:
        token = self._tokens[self._at]
        if token.kind != "name" or token.text in _WORDS or token.text == "in":
            raise SyntaxFault(f"unexpected {token.text!r}, expected a name", token.position)
        self._at += 1
        return token.text

    def _primary(self) -> Node:
        token = self._tokens[self._at]
        if token.kind == "literal":
            self._at += 1
            if type(token.value) is int and token.value > LARGEST:
                raise SyntaxFault("invalid int literal", token.position)
            return Const(token.value)
        if self._take("("):
            node = self.expression()
            self.expect(")")
            return node
        if self._take("["):
            return self._list()
        if self._take("{"):
            return self._map()
        if token.kind == "name" and token.text in _WORDS:
            self._at += 1
            return Const(_WORDS[token.text])
        self._take(".")  # names are absolute anyway
        name = self._field()
        if name in _RESERVED:
            raise SyntaxFault(f"reserved identifier: {name}", token.position)
        return Call(name, self._arguments()) if self._take("(") else Name(name)

    def _arguments(self) -> tuple[Node, ...]:
        args: list[Node] = []
        while not self._take(")"):
            if args:
                self.expect(",")
            args.append(self.expression())
        return tuple(args)

    def _list(self) -> Node:
        items: list[tuple[Node, bool]] = []
        while not self._take("]"):
            optional = self._take("?") is not None
            items.append((self.expression(), optional))
            if not self._take(","):
                self.expect("]")
                break
        return ListOf(tuple(items))

    def _map(self) -> Node:
        pairs: list[tuple[Node, Node, bool]] = []
        while not self._take("}"):
            optional = self._take("?") is not None
            key = self.expression()
            self.expect(":")
            pairs.append((key, self.expression(), optional))
            if not self._take(","):
                self.expect("}")
                break
        return MapOf(tuple(pairs))
