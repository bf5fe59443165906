"""Pictures of a graph: Graphviz text, a networkx graph, and a self-contained HTML table with a drawing.

`groups` maps node names to a number (a fusion group); nodes of one group share a colour.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from .graph import Graph, Node
from .text import _arg_text, _call_text, _shown, type_text

# light backgrounds that stay readable under black text, told apart by most colour-blind readers
COLOURS = ("#cfe8ff", "#ffe2b8", "#d5f0c8", "#f7cfe0", "#e0d6f5", "#fff3b0", "#c9eeee", "#f0d9c8")


def _colour(node: Node, groups: Mapping[str, int] | None) -> str:
    group = (groups or {}).get(node.name)
    if group is not None:
        return COLOURS[group % len(COLOURS)]
    return "#eeeeee" if node.opcode == "placeholder" else "#ffffff"


def to_dot(graph: Graph, groups: Mapping[str, int] | None = None) -> str:
    """The graph in Graphviz's language.

    >>> from treadle.ir.parse import parse_graph
    >>> print(to_dot(parse_graph("graph g:\\n  %x: float32[2] = placeholder(0)\\n  return %x")))
    digraph "g" {
      node [shape=box, style=filled, fontname="monospace", fontsize=10];
      "x" [label="x\\nplaceholder(0)\\nfloat32[2]", fillcolor="#eeeeee"];
      "output" [shape=oval, fillcolor="#ffffff"];
      "x" -> "output";
    }
    """
    lines = [f"digraph {_quote(graph.name)} {{",
             '  node [shape=box, style=filled, fontname="monospace", fontsize=10];']
    for n in graph.nodes:
        label = _quote("\n".join((n.name, _short_call(n), type_text(n.type))))
        lines.append(f'  {_quote(n.name)} [label={label}, fillcolor="{_colour(n, groups)}"];')
    lines.append('  "output" [shape=oval, fillcolor="#ffffff"];')
    lines += [f"  {_quote(a.name)} -> {_quote(n.name)};" for n in graph.nodes for a in n.inputs]
    lines += [f'  {_quote(o.name)} -> "output";' for o in graph.outputs]
    return "\n".join([*lines, "}"])


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _short_call(node: Node) -> str:
    """The op with its numbers and attributes, operands left to the edges."""
    if node.opcode != "call_function":
        return f"{node.opcode}({_shown(node.target)})"
    words = ["_" if type(a) is Node else _shown(a) for a in node.args]
    words += [f"{k}={_shown(v)}" for k, v in node.attrs]
    return f"{node.target.name}({', '.join(words)})"


def to_networkx(graph: Graph):
    """A networkx.MultiDiGraph: nodes by name with opcode, target, type, attrs, line; edges with `operand`."""
    import networkx

    result = networkx.MultiDiGraph(name=graph.name, outputs=[o.name for o in graph.outputs])
    for n in graph.nodes:
        target = n.target.name if n.opcode == "call_function" else n.target
        result.add_node(n.name, opcode=n.opcode, target=target, type=n.type, attrs=dict(n.attrs), line=n.line)
        for place, a in enumerate(n.args):
            if type(a) is Node:
                result.add_edge(a.name, n.name, operand=place)
    return result


# HTML ---------------------------------------------------------------------------------------------
_STYLE = (
    "<style>.treadle{font:12px ui-monospace,Menlo,Consolas,monospace;color:#111}"
    ".treadle table{border-collapse:collapse}.treadle th,.treadle td{text-align:left;padding:2px 8px;"
    "border-bottom:1px solid #ddd;vertical-align:top;color:#111;background:#fff}"
    ".treadle td.source{color:#666}.treadle svg{max-width:100%;height:auto;background:#fff}</style>"
)
_DRAWN = 300  # nodes; a larger drawing helps nobody


def to_html(graph: Graph, groups: Mapping[str, int] | None = None) -> str:
    """A fragment of HTML: a drawing of the graph (up to 300 nodes) and a table of its nodes."""
    drawing = _drawing(graph, groups) if 0 < len(graph.nodes) <= _DRAWN else ""
    rows, current = [], None
    for n in graph.nodes:
        source = ""
        if n.line is not None and n.line != current:
            text = n.line.text or ""
            source = f"{n.line} {text}".strip()
        current = n.line
        cells = [n.name, _call_text(n), type_text(n.type)]
        style = f' style="background:{_colour(n, groups)}"'
        rows.append("<tr>" + "".join(f"<td{style}>{escape(c)}</td>" for c in cells)
                    + f'<td class="source">{escape(source)}</td></tr>')
    outputs = escape(", ".join(map(_arg_text, graph.outputs)))
    head = "".join(f"<th>{h}</th>" for h in ("name", "value", "type", "line"))
    title = f"<b>graph {escape(graph.name)}</b>, {len(graph.nodes)} nodes, returns {outputs}"
    details = "" if not drawing else f"<details open><summary>drawing</summary>{drawing}</details>"
    return (f'<div class="treadle">{_STYLE}<p>{title}</p>{details}'
            f"<table><tr>{head}</tr>{''.join(rows)}</table></div>")


_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 150, 34, 16, 30


def _drawing(graph: Graph, groups) -> str:
    """An SVG with each node below its operands."""
    rows = _rows(graph)
    across = max(map(len, rows))
    total = across * (_WIDTH + _GAP_X) + _GAP_X
    at: dict[Node, tuple[float, float]] = {}
    for depth, row in enumerate(rows):
        left = (total - len(row) * (_WIDTH + _GAP_X) + _GAP_X) / 2
        for k, n in enumerate(row):
            at[n] = (left + k * (_WIDTH + _GAP_X), depth * (_HEIGHT + _GAP_Y) + 8)
    height = len(rows) * (_HEIGHT + _GAP_Y)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
             f'viewBox="0 0 {total} {height}" font-family="monospace" font-size="11">']
    for n in graph.nodes:
        parts += [_edge(at[a], at[n]) for a in n.inputs]
    wanted = set(graph.outputs)
    parts += [_box(n, *at[n], _colour(n, groups), n in wanted) for n in graph.nodes]
    return "".join([*parts, "</svg>"])


def _rows(graph: Graph) -> list[list[Node]]:
    """Nodes by depth, each row ordered by where its operands stand (one barycentre sweep down)."""
    depth: dict[Node, int] = {}
    rows: list[list[Node]] = []
    for n in graph.nodes:
        depth[n] = max((depth[a] + 1 for a in n.inputs), default=0)
        while len(rows) <= depth[n]:
            rows.append([])
        rows[depth[n]].append(n)
    place: dict[Node, float] = {}
    for row in rows:
        first = {n: i for i, n in enumerate(row)}
        row.sort(key=lambda n, first=first: (
            sum(place[a] for a in n.inputs) / len(n.inputs) if n.inputs else first[n]))
        for i, n in enumerate(row):
            place[n] = i - len(row) / 2
    return rows


def _edge(start, end) -> str:
    x1, y1 = start[0] + _WIDTH / 2, start[1] + _HEIGHT
    x2, y2 = end[0] + _WIDTH / 2, end[1]
    bend = (y2 - y1) / 2
    return (f'<path d="M{x1:g} {y1:g}C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}" '
            'fill="none" stroke="#888"/>')


def _box(n: Node, x: float, y: float, colour: str, is_output: bool) -> str:
    width = 2 if is_output else 1
    lines = (f"{n.name} = {n.target.name}" if n.opcode == "call_function" else n.name, type_text(n.type))
    words = "".join(f'<text x="{x + 6:g}" y="{y + 14 + 13 * i:g}">{escape(_cut(text))}</text>'
                    for i, text in enumerate(lines))
    full = escape(f"{n.name}: {type_text(n.type)} = {_call_text(n)}" + (f"  # {n.line}" if n.line else ""))
    return (f'<g><title>{full}</title><rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" '
            f'fill="{colour}" stroke="#444" stroke-width="{width}"/>{words}</g>')


def _cut(text: str, limit: int = 21) -> str:
    return text if len(text) <= limit else text[:limit - 1] + "…"
