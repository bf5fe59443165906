"""Reads the C of the prelude: the few forms its mathematical functions are written in, as small trees.

    expr      = num value | name | field base name | item base index | call name args | cast type x
              | unary op x | binary op a b | choose c a b | init args
    statement = declare type name expr | assign target expr | return expr
    piece     = function | struct | table (a constant array)

Whatever else stands in a piece raises Unread: it needs a text of its own for Triton.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NUMBERS = ("bool", "int", "unsigned", "long", "unsigned long", "float", "double")
_TOKEN = re.compile(r"""\s*(?:
    (?P<num>0x[0-9a-f]*\.[0-9a-f]*p[+-]?\d+f? | 0x[0-9a-f]+p[+-]?\d+f? | 0x[0-9a-f]+u?l?
          | \d+\.\d*(?:e[+-]?\d+)?f? | \d+e[+-]?\d+f? | \d+u?l?)
  | (?P<name>[A-Za-z_]\w*) | (?P<text>"[^"]*")
  | (?P<op><<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|[-+*/%&|^~!<>=?:;,.(){}\[\]]))""", re.X)
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
           ("+", "-"), ("*", "/", "%"))


class Unread(ValueError):
    """C that is not of the forms read here."""


@dataclass(frozen=True, slots=True)
class C:
    """An expression: its kind, its text or number, and what it is made of."""

    kind: str
    data: object = None
    args: tuple[C, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    kind: str  # declare | assign | return
    value: C
    target: C | None = None
    type: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    type: str
    parameters: tuple[tuple[str, str], ...]  # (type, name)
    body: tuple[Statement, ...]
    comment: str


@dataclass(frozen=True, slots=True)
class Struct:
    name: str
    fields: tuple[tuple[str, str], ...]  # (type, name)


@dataclass(frozen=True, slots=True)
class ConstantArray:
    name: str
    values: tuple[float, ...]


def read_pieces(text: str) -> list[Function | Struct | ConstantArray]:
    """The definitions in a text of the prelude."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    comment = "\n".join(line[3:] for line in text.splitlines() if line.startswith("// "))
    reader = _Reader(_tokens("\n".join(lines)), comment)
    found = []
    while reader.peek():
        found.append(reader.definition())
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    out, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unread(f"expected the prelude's C, got {text[at:at + 30]!r}")
        out.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return out


def number(text: str) -> tuple[float | int, str]:
    """The value and the C type of a numeric literal."""
    is_hex = text.startswith("0x")
    if "." in text or "p" in text or not is_hex and "e" in text:
        kind = "float" if text.endswith("f") and ("p" in text or not is_hex) else "double"
        plain = text[:-1] if kind == "float" else text
        return (float.fromhex(plain) if is_hex else float(plain)), kind
    plain = text.rstrip("ul")
    value = int(plain, 16 if is_hex else 10)
    suffix = text[len(plain):]
    kind = {"": "int", "u": "unsigned", "l": "long", "ul": "unsigned long"}[suffix]
    return value, "long" if kind == "int" and value >> 31 else kind


class _Reader:
    """Recursive descent over tokens."""

    def __init__(self, tokens: list[tuple[str, str]], comment: str):
        self.tokens, self.at, self.comment = tokens, 0, comment

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place][1] if place < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        found = self.peek()
        if wanted and found != wanted or not found:
            raise Unread(f"expected {wanted or 'more'!r}, got {found!r}")
        self.at += 1
        return found

    def accept(self, text: str) -> bool:
        if self.peek() != text:
            return False
        self.at += 1
        return True

    # definitions --------------------------------------------------------------------------------
    def definition(self) -> Function | Struct | ConstantArray:
        if self.accept("struct"):
            return self._struct()
        if self.accept("static"):
            return self._array()
        self.take("TD")
        type_, name = self.type(), self.take()
        self.take("(")
        parameters = []
        while not self.accept(")"):
            parameters.append((self.type(), self.take()))
            self.accept(",")
        self.take("{")
        body = []
        while not self.accept("}"):
            body += self.statement()
        return Function(name, type_, tuple(parameters), tuple(body), self.comment)

    def _struct(self) -> Struct:
        name, fields = self.take(), []
        self.take("{")
        while not self.accept("}"):
            type_ = self.type()
            fields.append((type_, self.take()))
            while self.accept(","):
                fields.append((type_, self.take()))
            self.take(";")
        self.take(";")
        return Struct(name, tuple(fields))

    def _array(self) -> ConstantArray:
        self.take("const")
        self.take("double")
        name = self.take()
        while not self.accept("="):
            self.take()
        values = []
        self.take("{")
        while not self.accept("}"):
            sign = -1.0 if self.accept("-") else 1.0
            values.append(sign * number(self.take())[0])
            self.accept(",")
        self.take(";")
        return ConstantArray(name, tuple(values))

    def type(self) -> str:
        self.accept("const")
        first = self.take()
        if first == "unsigned" and self.accept("long"):
            return "unsigned long"
        if first not in NUMBERS and not first.startswith("td_"):
            raise Unread(f"expected a type, got {first!r}")
        return first

    # statements ---------------------------------------------------------------------------------
    def statement(self) -> list[Statement]:
        if self.accept("return"):
            value = self.expr()
            self.take(";")
            return [Statement("return", value)]
        if self.peek() in (*NUMBERS, "const") or self.peek().startswith("td_") and self.peek(1) not in ("(", "."):
            return self._declaration()
        target = self._postfix()
        op = self.take()
        value = self.expr()
        self.take(";")
        if op in ("+=", "-="):
            value = C("binary", op[0], (target, value))
        elif op != "=":
            raise Unread(f"expected an assignment, got {op!r}")
        return [Statement("assign", value, target)]

    def _declaration(self) -> list[Statement]:
        type_, out = self.type(), []
        while True:
            pointer = self.accept("*")
            name = self.take()
            self.take("=")
            value = self._braces() if self.peek() == "{" else self.expr()
            out.append(Statement("declare", value, C("name", name), "array" if pointer else type_))
            if self.accept(";"):
                return out
            self.take(",")

    def _braces(self) -> C:
        self.take("{")
        args = [self.expr()]
        while self.accept(","):
            args.append(self.expr())
        self.take("}")
        return C("init", None, tuple(args))

    # expressions --------------------------------------------------------------------------------
    def expr(self) -> C:
        condition = self._binary(0)
        if not self.accept("?"):
            return condition
        a = self.expr()
        self.take(":")
        return C("choose", None, (condition, a, self.expr()))

    def _binary(self, level: int) -> C:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self.peek() in _LEVELS[level]:
            op = self.take()
            left = C("binary", op, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> C:
        if self.peek() in ("-", "~", "!"):
            return C("unary", self.take(), (self._unary(),))
        if self.peek() == "(" and self.peek(1) in NUMBERS:
            self.take("(")
            type_ = self.type()
            self.take(")")
            return C("cast", type_, (self._unary(),))
        return self._postfix()

    def _postfix(self) -> C:
        out = self._atom()
        while True:
            if self.accept("."):
                out = C("field", self.take(), (out,))
            elif self.accept("["):
                out = C("item", None, (out, self.expr()))
                self.take("]")
            else:
                return out

    def _atom(self) -> C:
        kind = self.tokens[self.at][0] if self.peek() else ""
        if kind == "num":
            return C("num", number(self.take()))
        if self.accept("("):
            inside = self.expr()
            self.take(")")
            return inside
        name = self.take()
        if kind == "text":
            return C("name", name)
        if kind != "name":
            raise Unread(f"expected a value, got {name!r}")
        if not self.accept("("):
            return C("name", name)
        args = []
        while not self.accept(")"):
            args.append(self.expr())
            self.accept(",")
        return C("call", name, tuple(args))
