"""A graph as text, one typed line per node, and back.

    graph train:
      %x: float32[4, 3] = placeholder(0)
      # train.py:12 in step: y = (x * 2).sum()
      %mul: float32[4, 3] = mul(%x, 2.0)
      %reduce_sum: float32[] = reduce_sum(%mul, dims=(0, 1))
      return %reduce_sum

A comment holds for the nodes after it, until the next one; an empty one means that no line is known.
Names that are not plain words are quoted. Attribute values: None, bools, numbers, strings, dtypes, devices,
tensor types and tuples of them.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from linecache import getline

from .device import device
from .dtype import DType
from .graph import Graph, Line, Node
from .op import Kind
from .type import TensorType

_WORD = re.compile(r"(?!(?:inf|nan)$)[A-Za-z_][\w.]*", re.ASCII)


# values -------------------------------------------------------------------------------------------
def value_text(value) -> str:
    """An attribute value or number as text; TypeError for what text cannot hold.

    >>> value_text((1, -0.0, "mean", None)), value_text((2,))
    ('(1, -0.0, "mean", None)', '(2,)')
    """
    kind = type(value)
    if kind is int or kind is bool or value is None or kind is float:
        return repr(value)
    if isinstance(value, tuple):
        inside = ", ".join(map(value_text, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if kind is str:
        return json.dumps(value)
    if kind is DType:
        return value.name
    if kind is device:
        return str(value)
    if kind is TensorType:
        return type_text(value)
    if kind is complex:
        return f"complex({value.real!r}, {value.imag!r})"
    raise TypeError(f"{value!r} of type {kind.__name__} cannot be written: expected None, a bool, a number, "
                    "a string, a dtype, a device, a tensor type or a tuple of them")


def is_writable(value) -> bool:
    """Whether `value_text` takes it."""
    if isinstance(value, tuple):
        return all(map(is_writable, value))
    return value is None or type(value) in (bool, int, float, complex, str, DType, device, TensorType)


def _shown(value) -> str:
    """As value_text, but for any value: to look at, not to parse."""
    return value_text(value) if is_writable(value) else f"<{value!r}>"


def type_text(kind) -> str:
    """A tensor type, or a tuple of them, as text."""
    if isinstance(kind, tuple):
        return "(" + ", ".join(map(type_text, kind)) + ")"
    return repr(kind)


def _name_text(name: str) -> str:
    return name if _WORD.fullmatch(name) else json.dumps(name)


def _arg_text(a) -> str:
    return "%" + _name_text(a.name) if type(a) is Node else _shown(a)


# printing -----------------------------------------------------------------------------------------
def print_node(node: Node) -> str:
    """One node as one line, without its source line.

    >>> from treadle.ir.graph import Builder
    >>> from treadle.ir import dtype, type
    >>> print_node(Builder().placeholder(type.tensor_type((2, 3), dtype.float32)))
    '%x: float32[2, 3] = placeholder(0)'
    """
    return f"%{_name_text(node.name)}: {type_text(node.type)} = {_call_text(node)}"


def _call_text(node: Node) -> str:
    if node.opcode != "call_function":
        return f"{node.opcode}({_shown(node.target)})"
    words = [_arg_text(a) for a in node.args]
    words += [f"{name}={_shown(value)}" for name, value in node.attrs]
    return f"{node.target.name}({', '.join(words)})"


def print_graph(graph: Graph, bodies: bool = False) -> str:
    """The graph as text; with `bodies`, each composite's body follows it (for the reader, not parsed)."""
    lines = [f"graph {_name_text(graph.name)}:", *_body_lines(graph)]
    if bodies:
        for title, body in _bodies(graph, {}).items():
            lines += ["", f"body {title}:", *_body_lines(body)]
    return "\n".join(lines)


def _body_lines(graph: Graph) -> list[str]:
    out, current = [], None
    for node in graph.nodes:
        if node.line != current:
            current = node.line
            out.append("  " + line_text(current))
        out.append("  " + print_node(node))
    out.append("  return " + ", ".join(map(_arg_text, graph.outputs)) if graph.outputs else "  return")
    return out


def line_text(line: Line | None) -> str:
    """The comment that says where the user wrote it: `# file:number in function: source text`."""
    if line is None:
        return "#"
    text = getline(line.file, line.number) if line.text is None else line.text
    file = json.dumps(line.file) if _UNCLEAR.search(line.file) else line.file
    function = f" in {line.function}" if line.function else ""
    text = text.strip().partition("\n")[0]
    return f"# {file}:{line.number}{function}: {text}".rstrip()


_UNCLEAR = re.compile(r':\d|[\n\r"\\]|^\s|\s$|^$')


def _bodies(graph: Graph, found: dict[str, Graph]) -> dict[str, Graph]:
    """The body of each composite called, of each within those, by its title."""
    from .composite import body_graph

    for node in graph.nodes:
        if node.opcode != "call_function" or node.target.kind is not Kind.COMPOSITE:
            continue
        types = tuple(a.type if type(a) is Node else a for a in node.args)
        words = [*map(_shown, types), *(f"{k}={_shown(v)}" for k, v in node.attrs)]
        title = f"{node.target.name}({', '.join(words)})"
        if title not in found:
            found[title] = body_graph(node.target, types, dict(node.attrs))
            _bodies(found[title], found)
    return found


def tabulate(graph: Graph) -> str:
    """The graph as a table: one row per node with opcode, name, target, args, type and line."""
    rows: list[tuple[str, ...]] = [("opcode", "name", "target", "args", "type", "line")]
    for n in graph.nodes:
        target = n.target.name if n.opcode == "call_function" else _shown(n.target)
        args = [_arg_text(a) for a in n.args] + [f"{k}={_shown(v)}" for k, v in n.attrs]
        rows.append((n.opcode, n.name, target, ", ".join(args), type_text(n.type), str(n.line or "")))
    rows.append(("output", "output", "output", ", ".join(map(_arg_text, graph.outputs)), "", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * w for w in widths))
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


# the key ------------------------------------------------------------------------------------------
def structure_key(graph: Graph) -> str:
    """A hash of what the graph computes: ops, operands, attributes, types; not names, not lines.

    The same in every process, so it may name a file. Of a composite the body counts too.
    """
    from .composite import body_graph

    types: dict[object, str] = {}
    places: dict[Node, str] = {}
    keys: dict[Graph, str] = {}
    words: list[str] = []
    for place, node in enumerate(graph.nodes):
        places[node] = f"%{place}"
        kind = types.get(node.type)
        if kind is None:
            kind = types[node.type] = type_text(node.type)
        if node.opcode != "call_function":
            words.append(f"{node.opcode} {value_text(node.target)} {kind}")
            continue
        args = ",".join([places[a] if type(a) is Node else value_text(a) for a in node.args])
        attrs = ",".join([f"{k}={value_text(v)}" for k, v in node.attrs]) if node.attrs else ""
        words.append(f"{node.target.name}({args};{attrs}){kind}")
        if node.target.kind is Kind.COMPOSITE:
            body = body_graph(node.target, tuple(a.type if type(a) is Node else a for a in node.args),
                              dict(node.attrs))
            if body not in keys:
                keys[body] = structure_key(body)
            words.append(keys[body])
    words.append("return " + ",".join([places[o] for o in graph.outputs]))
    return blake2b("\n".join(words).encode(), digest_size=20).hexdigest()
