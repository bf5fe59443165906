"""backward and grad: the reverse walk over the tape."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.autograd import reverse_walk
from .grad_mode import set_grad_enabled
from .interpreter import current
from .tape import AccumulateGrad
from .tensor import Tensor


class _Walk:
    """The tape as `reverse_walk` needs it; gathers gradients for leaves or for named inputs."""

    def __init__(self, keep: bool, captures: dict | None, allowed: set | None, hooks: bool = True,
                 first: int = -1):
        self.keep, self.captures, self.allowed, self.hooks = keep, captures, allowed, hooks
        self.first = first  # nodes before it are ends of the walk
        self.given: set = set()

    def order(self, node) -> int:
        return node.order

    def edges(self, node) -> tuple:
        if self.allowed is None:
            return node.edges
        return tuple(e if e is not None and e[0] in self.allowed else None for e in node.edges)

    def add(self, a, b):
        return a + b

    def pull(self, node, cotangents: list) -> list:
        if node.tensor_hooks or node.retained:  # whoever sees a cotangent may keep it
            self.given.update(g.storage for g in cotangents if g is not None)
        gs = [_hooked(node, i, g) for i, g in enumerate(cotangents)] if self.hooks else cotangents
        if self._arrives(node, gs):
            return []
        if current.recorder is not None:
            current.recorder.walks(node)
        out = node.pull(gs)
        if node.hooks:
            out = _node_hooks(node, out, gs)
        if not self.keep:
            node.release()
        return out


    def _arrives(self, node, gs: list) -> bool:
        """Stores what a leaf or a captured place receives; True where the walk ends."""
        captures = self.captures
        if captures is not None:
            captures.update({(node, i): g for i, g in enumerate(gs) if (node, i) in captures})
        if isinstance(node, AccumulateGrad):
            if captures is None or (node, 0) in captures.get("leaves", ()):
                accumulate(node.leaf, gs[0], self.given)
            return True
        return captures is not None and (node.order < self.first or not any(self.edges(node)))


def _node_hooks(node, grads, outs):
    for hook in list(node.hooks.values()):
        changed = hook(tuple(grads), tuple(outs))
        if changed is not None:
            grads = list(changed)
    return grads


def _hooked(node, number, g):
    if g is None:
        return None
    if node.tensor_hooks and number in node.tensor_hooks:
        for hook in list(node.tensor_hooks[number].values()):
            changed = hook(g)
            if changed is not None:
                g = changed
    if node.retained and number in node.retained:
        kept = node.retained[number]()
        if kept is not None:
            kept._grad = g if kept._grad is None else kept._grad + g
    return g


def accumulate(leaf: Tensor, g: Tensor, given: set) -> None:
    """Adds g to leaf.grad, as torch's AccumulateGrad: a tensor of its own at first, then in place.

    `given` holds the storages somebody else may hold, which must not become a `.grad`.
    """
    from .mutation import assign

    have = leaf.grad
    if have is None:
        if not g.requires_grad:
            g = g.clone() if g._root is not None or g.storage in given else g.detach()
            given.add(g.storage)
        leaf.grad = g
    elif g.requires_grad:
        leaf.grad = have + g
    else:
        assign(have, have.detach() + g)
    hooks = leaf.__dict__.get("_accumulate_hooks")
    if hooks:
        for hook in list(hooks.values()):
            hook(leaf)


def _seed(root: Tensor, gradient) -> Tensor:
    from .functions.create import ones_like

    if gradient is None:
        if root.type.numel != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return ones_like(root.detach())
    if gradient.type.shape != root.type.shape:
        raise RuntimeError(f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and output[0] "
                           f"has a shape of {root.shape}.")
    return gradient


def _check_root(root: Tensor) -> None:
    if not root.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None,
             inputs=None) -> None:
    """Sums the gradients of `tensors` into the leaves' `.grad`, as torch.autograd.backward."""
    roots = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    gradients = grad_tensors if isinstance(grad_tensors, (list, tuple)) else [grad_tensors] * len(roots)
    captures = None
    if inputs is not None:
        chosen = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        if not chosen:
            raise RuntimeError("'inputs' argument to backward() cannot be empty.")
        captures = {"leaves": {t.edge() for t in chosen}}
    run(roots, gradients, bool(create_graph if retain_graph is None else retain_graph), create_graph,
        captures)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
         allow_unused=None, is_grads_batched=False, materialize_grads=False) -> tuple:
    """Returns the gradients of `outputs` with respect to `inputs`, as torch.autograd.grad.

    >>> import treadle
    >>> x = treadle.tensor(3.0, requires_grad=True)
    >>> treadle.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    from .functions.create import zeros_like

    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    gradients = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs] * len(roots)
    for t in wanted:
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    edges = [t.edge() for t in wanted]
    captures: dict = dict.fromkeys(edges)
    run(roots, gradients, bool(create_graph if retain_graph is None else retain_graph), create_graph,
        captures, {e[0] for e in edges})
    found = [captures[e] for e in edges]
    allow = materialize_grads if allow_unused is None else allow_unused
    if any(g is None for g in found) and not (allow or materialize_grads):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. "
                           "Set allow_unused=True if this is the desired behavior.")
    if materialize_grads:
        found = [zeros_like(t) if g is None else g for t, g in zip(wanted, found, strict=True)]
    return tuple(found)


def run(roots: Sequence[Tensor], gradients, keep: bool, create_graph: bool, captures, targets=None,
        hooks: bool = True, first: int = -1) -> None:
    """The walk itself, with gradients recorded only if asked."""
    seeds = []
    for root, gradient in zip(roots, gradients, strict=True):
        _check_root(root)
        seeds.append((*root.edge(), _seed(root, gradient)))
    allowed = _reaching([s[0] for s in seeds], targets) if targets is not None else None
    walk = _Walk(keep or create_graph, captures, allowed, hooks, first)
    walk.given.update(s[2].storage for s in seeds)
    with set_grad_enabled(bool(create_graph)):
        reverse_walk(walk, seeds)


def _reaching(starts, targets: set) -> set:
    """The nodes from which some target can be reached (those alone are walked)."""
    reach: dict = {}
    stack = [(s, False) for s in starts]
    while stack:
        node, done = stack.pop()
        if done:
            reach[node] = node in targets or any(reach.get(e[0]) for e in node.edges if e is not None)
        elif node not in reach:
            reach[node] = False
            stack.append((node, True))
            stack.extend((e[0], False) for e in node.edges if e is not None)
    return {n for n, yes in reach.items() if yes}
