"""Trees of lists, tuples, dicts and leaves: taken apart and put together, in torch.utils._pytree's names."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PyTree = Any


def _is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


_KINDS = (list, tuple, dict, OrderedDict, defaultdict, deque)
_registered: dict[type, tuple[Callable, Callable]] = {}


def register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, **_names: Any) -> None:
    """Makes `cls` a kind of node: flatten_fn(value) -> (children, context), unflatten_fn(children, context)."""
    _registered[cls] = (flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


@dataclass(frozen=True)
class TreeSpec:
    """The shape of a tree: its kind, what has to be known to make it, and its children's shapes."""

    type: Any
    context: Any
    children_specs: tuple[TreeSpec, ...] = field(default=())

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return 1 if self.type is None else sum(c.num_leaves for c in self.children_specs)

    def is_leaf(self) -> bool:
        """Returns whether the tree is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Any) -> PyTree:
        """Returns the tree of this shape with these leaves."""
        return tree_unflatten(leaves, self)

    def __repr__(self) -> str:
        return "*" if self.type is None else f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


LeafSpec = TreeSpec(None, None)


def _children(tree: Any) -> tuple[Any, Any, list] | None:
    """(kind, context, children), or None for a leaf."""
    kind = type(tree)
    if kind in _registered:
        children, context = _registered[kind][0](tree)
        return kind, context, list(children)
    if _is_named(tree):
        return kind, None, list(tree)
    if kind in (list, tuple):
        return kind, None, list(tree)
    if kind is deque:
        return kind, tree.maxlen, list(tree)
    if kind is defaultdict:
        return kind, (tree.default_factory, list(tree)), list(tree.values())
    if kind in (dict, OrderedDict):
        return kind, list(tree), list(tree.values())
    return None


def _built(kind: Any, context: Any, children: list) -> Any:
    if kind in _registered:
        return _registered[kind][1](children, context)
    if kind is deque:
        return deque(children, maxlen=context)
    if kind is defaultdict:
        return defaultdict(context[0], zip(context[1], children, strict=True))
    if kind in (dict, OrderedDict):
        return kind(zip(context, children, strict=True))
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """Returns (leaves in order, the tree's shape).

    >>> tree_flatten({"a": [1, 2], "b": 3})[0]
    [1, 2, 3]
    """
    taken = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if taken is None:
        return [tree], LeafSpec
    kind, context, children = taken
    leaves, specs = [], []
    for child in children:
        found, spec = tree_flatten(child, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(kind, context, tuple(specs))


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> PyTree:
    """Returns the tree of a shape with these leaves."""
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to "
                         f"a pytree that holds {treespec.num_leaves} items ({treespec}).")
    if treespec.type is None:
        return leaves[0]
    children, start = [], 0
    for spec in treespec.children_specs:
        end = start + spec.num_leaves
        children.append(tree_unflatten(leaves[start:end], spec))
        start = end
    return _built(treespec.type, treespec.context, children)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """Returns the leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None):
    """Yields the leaves in order."""
    yield from tree_leaves(tree, is_leaf)


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Returns the tree's shape."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Returns the tree with func applied to its leaves (and to those of further trees of its shape)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([func(*row) for row in zip(leaves, *others, strict=True)], spec)


def tree_map_(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Calls func on the leaves; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _matches(kind: Any, value: Any) -> bool:
    return isinstance(value, kind) if isinstance(kind, (type, tuple)) else bool(kind(value))


def tree_map_only(type_or_predicate: Any, func: Callable | None = None, tree: PyTree = None,
                  is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """Returns the tree with func applied to the leaves of a type (or for which a predicate holds)."""
    return tree_map(lambda x: func(x) if _matches(type_or_predicate, x) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether pred holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether pred holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind: Any, pred: Callable, tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether pred holds for all leaves of a type."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))


def tree_any_only(kind: Any, pred: Callable, tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Returns whether pred holds for some leaf of a type."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, kind))
