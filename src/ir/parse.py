"""parse_graph: the graph that a text stands for; the inverse of `text.print_graph`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from . import dtype as dt
from .device import CPU, device
from .errors import GraphError
from .graph import Graph, Line, Node
from .op import Op
from .type import TensorType, tensor_type

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<device>(?:cuda|cpu|meta)(?::\d+)?(?![\w.]))
  | (?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|(?:inf|nan)(?![\w.])))
  | (?P<word>[A-Za-z_][\w.]*)
  | (?P<mark>[%()\[\]=,:@])
    )""",
    re.VERBOSE,
)
_COMMENT = re.compile(
    r'#\s*(?P<file>"(?:[^"\\]|\\.)*"|.*?):(?P<number>\d+)(?: in (?P<function>[^:]+))?:(?: (?P<text>.*))?$')
_DTYPES = {d.name: d for d in dt.ALL}
_CONSTANTS = {"None": None, "True": True, "False": False}


class _Tokens:
    """The tokens of one line, read one after the other."""

    def __init__(self, text: str):
        self.text, self.at, self.kind, self.value = text, 0, "", ""
        self.next()

    def next(self) -> str:
        """The token before the move."""
        value, rest = self.value, self.text[self.at:]
        found = _TOKEN.match(rest)
        if found is None:
            if rest.strip():
                raise self.fault("a name, a number or one of %()[]=,:@")
            self.kind, self.value = "end", ""
            return value
        self.at += found.end()
        self.kind, self.value = found.lastgroup or "", found.group(found.lastgroup or 0)
        return value

    def take(self, *expected: str) -> str:
        if self.value not in expected and self.kind not in expected:
            raise self.fault(" or ".join(map(repr, expected)))
        return self.next()

    def name(self) -> str:
        quoted = self.kind == "string"
        text = self.take("word", "string", "device")
        return json.loads(text) if quoted else text

    def fault(self, expected: str) -> GraphError:
        got = repr(self.value) if self.value else "the end of the line"
        return GraphError(f"expected {expected}, got {got} at column {self.at} of: {self.text}")

    def many(self, close: str, one) -> list:
        """Comma-separated items up to `close`, which is taken."""
        items = []
        while self.value != close:
            items.append(one())
            if self.value != close:
                self.take(",")
        self.take(close)
        return items


def parse_value(tokens: _Tokens):
    """A value written by `value_text`."""
    if tokens.value == "(":
        tokens.take("(")
        return tuple(tokens.many(")", lambda: parse_value(tokens)))
    if tokens.kind == "string":
        return json.loads(tokens.next())
    if tokens.kind == "number":
        return _number(tokens.next())
    if tokens.kind == "device":
        return _device(tokens.next())
    word = tokens.take("word")
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if word == "complex":
        tokens.take("(")
        return complex(*tokens.many(")", lambda: _number(tokens.take("number"))))
    if word in _DTYPES:
        return _rest_of_type(tokens, _DTYPES[word]) if tokens.value == "[" else _DTYPES[word]
    raise tokens.fault(f"a value instead of {word!r}")


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _device(text: str) -> device:
    return CPU if text == "cpu" else device(text)


def parse_type(tokens: _Tokens):
    """A type written by `type_text`."""
    if tokens.value == "(":
        tokens.take("(")
        return tuple(tokens.many(")", lambda: parse_type(tokens)))
    word = tokens.take("word")
    if word not in _DTYPES:
        raise tokens.fault(f"a dtype instead of {word!r}")
    return _rest_of_type(tokens, _DTYPES[word])


def _rest_of_type(tokens: _Tokens, dtype: dt.DType) -> TensorType:
    tokens.take("[")
    shape = tuple(tokens.many("]", lambda: int(tokens.take("number"))))
    if tokens.value != "@":
        return tensor_type(shape, dtype)
    tokens.take("@")
    return tensor_type(shape, dtype, _device(tokens.take("device")))


class _Reader:
    def __init__(self, ops: Mapping[str, Op]):
        self.ops = ops
        self.nodes: dict[str, Node] = {}
        self.line: Line | None = None

    def operand(self, tokens: _Tokens) -> Node:
        tokens.take("%")
        name = tokens.name()
        if name not in self.nodes:
            raise GraphError(f"%{name} is read before it is made, in: {tokens.text}")
        return self.nodes[name]

    def node(self, tokens: _Tokens) -> None:
        tokens.take("%")
        name = tokens.name()
        tokens.take(":")
        kind = parse_type(tokens)
        tokens.take("=")
        opcode = tokens.take("word")
        tokens.take("(")
        items = tokens.many(")", lambda: self.item(tokens))
        tokens.take("end")
        if name in self.nodes:
            raise GraphError(f"%{name} is made twice, in: {tokens.text}")
        args = tuple(value for key, value in items if not key)
        attrs = tuple((key, value) for key, value in items if key)
        if opcode in ("placeholder", "get_attr"):
            self.nodes[name] = Node(opcode, name, args[0], (), (), kind, self.line)
            return
        if opcode not in self.ops:
            raise GraphError(f"no op is named {opcode!r} (composites are handed over in `ops`), in: "
                             + tokens.text)
        self.nodes[name] = Node("call_function", name, self.ops[opcode], args, attrs, kind, self.line)

    def item(self, tokens: _Tokens) -> tuple[str, Any]:
        """An operand ('', value) or an attribute (name, value)."""
        if tokens.value == "%":
            return "", self.operand(tokens)
        if tokens.kind == "word" and tokens.value not in _CONSTANTS and tokens.text[tokens.at:][:1] == "=":
            key = tokens.next()
            tokens.take("=")
            return key, parse_value(tokens)
        if tokens.kind == "device" and tokens.text[tokens.at:][:1] == "=":
            raise tokens.fault("an attribute's name")
        return "", parse_value(tokens)


def parse_line(comment: str) -> Line | None:
    """The source line a comment names, None for an empty one."""
    if comment.strip() == "#":
        return None
    found = _COMMENT.match(comment.strip())
    if found is None:
        raise GraphError(f"expected '# file:number in function: text', got {comment.strip()!r}")
    file = found["file"]
    file = json.loads(file) if file.startswith('"') else file
    return Line(file, int(found["number"]), found["function"] or "", found["text"] or "")


def parse_graph(text: str, ops: Mapping[str, Op] | None = None) -> Graph:
    """The graph a text stands for; GraphError with the line that is wrong.

    `ops` are composites and other ops by name, beside the table's.

    >>> print(parse_graph('''graph double:
    ...   %x: float32[2] = placeholder(0)
    ...   %y: float32[2] = add(%x, %x)
    ...   return %y'''))
    graph double:
      %x: float32[2] = placeholder(0)
      %y: float32[2] = add(%x, %x)
      return %y
    """
    from .ops import TABLE

    lines = iter(text.strip().split("\n"))
    head = _Tokens(next(lines, ""))
    head.take("graph")
    name = head.name()
    reader = _Reader({**TABLE, **(ops or {})})
    for raw in lines:
        body = raw.strip()
        if not body:
            continue
        if body.startswith("#"):
            reader.line = parse_line(body)
            continue
        tokens = _Tokens(body)
        if tokens.value != "return":
            reader.node(tokens)
            continue
        tokens.take("return")
        outputs = tokens.many("", lambda tokens=tokens: reader.operand(tokens))
        return Graph(reader.nodes.values(), outputs, name)
    raise GraphError(f"graph {name!r} has no return line")
