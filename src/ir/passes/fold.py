"""fold: constants computed, identities removed, movements composed (the rows of ir/rules.py).

Needs nothing; leaves a graph in which no rule fires. What a rule frees is left for `prune`.
"""

from __future__ import annotations

from ..graph import Graph
from ..rewrite import rewrite
from ..rules import RULES


def fold(graph: Graph) -> Graph:
    """The graph with every rule applied wherever it fires."""
    return rewrite(graph, RULES)
