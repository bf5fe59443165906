"""Pictures: Graphviz text, networkx, HTML that a parser accepts."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

import networkx

from treadle.ir.parse import parse_graph
from treadle.ir.picture import COLOURS, to_dot, to_html, to_networkx

GRAPH = parse_graph("""graph "a<b>":
  %x: float32[2] = placeholder(0)
  %w: float32[2] = get_attr("the \\"w\\"")
  # a.py:3 in f: y = x * x < w
  %y: float32[2] = mul(%x, %x)
  %lt: bool[2] = lt(%y, %w)
  return %lt, %y""")


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.words, self.rows = [], [], 0

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_html():
    page = to_html(GRAPH, {"y": 0, "lt": 1})
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert parser.rows == 1 + len(GRAPH.nodes)
    assert "mul(%x, %x)" in parser.words and "a.py:3 y = x * x < w" in parser.words
    assert COLOURS[0] in page and COLOURS[1] in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # self-contained
    svg = page[page.index("<svg"):page.index("</svg>") + 6]
    boxes = ElementTree.fromstring(svg).findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(GRAPH.nodes)


def test_html_of_odd_graphs():
    assert "0 nodes" in to_html(parse_graph("graph g:\n  return"))
    lines = ["graph g:", "  %x: float32[] = placeholder(0)"]
    lines += [f"  %y{i}: float32[] = neg(%x)" for i in range(400)]
    large = to_html(parse_graph("\n".join([*lines, "  return %y1"])))
    assert "<svg" not in large and "401 nodes" in large
    assert GRAPH._repr_html_().startswith('<div class="treadle">')


def test_dot():
    text = to_dot(GRAPH, {"y": 9})
    assert text.startswith('digraph "a<b>" {') and text.endswith("}")
    assert text.count('"x" -> "y";') == 2
    assert f'fillcolor="{COLOURS[9 % len(COLOURS)]}"' in text
    assert 'get_attr(\\"the \\\\\\"w\\\\\\"\\")' in text
    assert GRAPH.to_dot() == to_dot(GRAPH)


def test_networkx():
    graph = to_networkx(GRAPH)
    assert networkx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges("x", "y") == 2
    assert graph.nodes["lt"]["target"] == "lt" and graph.graph["outputs"] == ["lt", "y"]
    assert [d["operand"] for _, _, d in graph.in_edges("lt", data=True)] == [0, 1]
