"""einsum: sums of products in Einstein's notation, by batched matrix products."""

from __future__ import annotations

from math import prod

from ...ir import ops
from ...ir.arith import expand_to
from ..autocast import cast_inputs
from .shape import diagonal, movedim
from .support import give

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _sublists(args):
    """einsum(op1, [0, 1], op2, [1, 2], [0, 2]) as an equation and operands."""
    operands, terms, out = [], [], None
    items = list(args)
    while items:
        if not hasattr(items[0], "type"):
            out = items.pop(0)
            break
        operands.append(items.pop(0))
        terms.append(items.pop(0))

    def text(term):
        return "".join("..." if n is Ellipsis else _LETTERS[n] for n in term)

    equation = ",".join(map(text, terms))
    return equation if out is None else f"{equation}->{text(out)}", operands


def _parse(equation: str, operands):
    """(each operand's letters, the output's letters); an ellipsis becomes letters of its own."""
    equation = equation.replace(" ", "")
    left, arrow, out = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        what = "more" if len(terms) < len(operands) else "fewer"
        raise RuntimeError(f"einsum(): {what} operands were provided than specified in the equation")
    for term in terms:
        for c in term.replace("...", ""):
            if not c.isalpha():
                raise RuntimeError(f"einsum(): invalid subscript given at index {equation.index(c)} in the equation "
                                   "string, subscripts must be in [a-zA-Z]")
    free = [c for c in _spare() if c not in equation]
    width = max([x.type.ndim - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True)
                 if "..." in t], default=0)
    dots = "".join(free[:width])
    full = [_filled(t, x, dots, k) for k, (t, x) in enumerate(zip(terms, operands, strict=True))]
    if arrow:
        out = out.replace("...", dots)
    else:
        seen = "".join(full)
        out = dots + "".join(sorted(c for c in set(seen) if seen.count(c) == 1 and c not in dots))
    return full, _checked_output(out, full)


def _spare():
    return [chr(c) for c in range(0x3B1, 0x3B1 + 64)]


def _filled(term, x, dots, k):
    """A term's letters, one a dim: an ellipsis stands for the last of `dots`."""
    count = len(term.replace("...", ""))
    if "..." in term:
        n = x.type.ndim - count
        if n >= 0:
            return term.replace("...", dots[len(dots) - n:] if n else "")
    if count != x.type.ndim:
        raise RuntimeError(f"einsum(): the number of subscripts in the equation ({count}) does not match the number of "
                           f"dimensions ({x.type.ndim}) for operand {k} and no ellipsis was given")
    return term


def _checked_output(out, terms):
    known = set("".join(terms))
    for c in out:
        if c not in known:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
        if out.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
    return out


def _sizes(terms, operands):
    sizes: dict[str, int] = {}
    for k, (term, x) in enumerate(zip(terms, operands, strict=True)):
        for c, n in zip(term, x.type.shape, strict=True):
            if sizes.get(c, 1) not in (1, n) and n != 1:
                raise RuntimeError(f"einsum(): subscript {c} has size {n} for operand {k} which does not broadcast "
                                   f"with previously seen size {sizes[c]}")
            sizes[c] = max(sizes.get(c, 1), n) if 0 not in (n, sizes.get(c, 1)) else 0
    return sizes


def _without_repeats(x, term):
    """A letter named twice in one term means its diagonal."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            i = term.index(c)
            j = term.index(c, i + 1)
            x = movedim(diagonal(x, 0, i, j), -1, i)
            term = term[:j] + term[j + 1:]
    return x, term


def _summed(x, term, keep):
    """x with the letters outside `keep` summed away."""
    dims = tuple(d for d, c in enumerate(term) if c not in keep)
    if not dims:
        return x, term
    return ops.reduce_sum(x, dims=dims), "".join(c for c in term if c in keep)


def _ordered(x, term, letters, sizes):
    """x with dims in the order of `letters`, size 1 where it lacks one."""
    have = [c for c in letters if c in term]
    x = ops.permute(x, dims=tuple(term.index(c) for c in have)) if "".join(have) != term else x
    shape = tuple(x.type.shape[have.index(c)] if c in term else 1 for c in letters)
    return ops.reshape(x, shape=shape) if x.type.shape != shape else x


def _pair(a, ta, b, tb, keep, sizes):
    """The product of two terms, summed over letters that nothing later needs."""
    a, ta = _summed(a, ta, set(tb) | keep)
    b, tb = _summed(b, tb, set(ta) | keep)
    batch = [c for c in ta if c in tb and c in keep]
    inner = [c for c in ta if c in tb and c not in keep]
    only_a, only_b = [c for c in ta if c not in tb], [c for c in tb if c not in ta]
    if not inner:
        letters = "".join([*batch, *only_a, *only_b])
        return _ordered(a, ta, letters, sizes) * _ordered(b, tb, letters, sizes), letters

    def shaped(x, term, groups):
        x = _ordered(x, term, "".join(c for g in groups for c in g), sizes)
        x = expand_to(x, tuple(sizes[c] for g in groups for c in g))
        lead = tuple(sizes[c] for c in groups[0])
        return ops.reshape(x, shape=(*lead, *(prod(sizes[c] for c in g) for g in groups[1:])))

    y = ops.dot(shaped(a, ta, (batch, only_a, inner)), shaped(b, tb, (batch, inner, only_b)))
    letters = [*batch, *only_a, *only_b]
    return ops.reshape(y, shape=tuple(sizes[c] for c in letters)), "".join(letters)


def einsum(*args, out=None):
    """Returns sums of products of the operands' elements, as the equation says.

    >>> import treadle
    >>> einsum('ij,jk->ik', treadle.ones(2, 3), treadle.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if not isinstance(args[0], str):
        equation, operands = _sublists(args)
    else:
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
            operands = list(operands[0])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    operands = list(cast_inputs("einsum", *operands))
    terms, result = _parse(equation, operands)
    sizes = _sizes(terms, operands)
    values = [_without_repeats(x, t) for x, t in zip(operands, terms, strict=True)]
    y, term = values[0]
    for k, (x, t) in enumerate(values[1:], 1):
        later = set(result).union(*[t_ for _, t_ in values[k + 1:]]) if k + 1 < len(values) else set(result)
        y, term = _pair(y, term, x, t, later, sizes)
    y, term = _summed(y, term, set(result))
    return give(_ordered(y, term, result, sizes), out)
