"""gradcheck and gradgradcheck: gradients against central differences."""

from __future__ import annotations

import numpy as np

from ..ir import dtype as dt
from .autograd import grad
from .tensor import Tensor, from_array


class GradcheckError(RuntimeError):
    """The gradients differ from the differences."""


def _tensors(value) -> list[Tensor]:
    values = value if isinstance(value, (tuple, list)) else [value]
    return [v for v in values if isinstance(v, Tensor)]


def _differentiable(values) -> list[Tensor]:
    return [t for t in _tensors(values) if t.type.dtype.is_differentiable and t.requires_grad]


def _basis(t: Tensor):
    """Per real component of t: a tensor that is 1 (or 1j) there and 0 elsewhere."""
    for unit in (1, 1j) if t.type.dtype.is_complex else (1,):
        for place in np.ndindex(*t.type.shape):
            array = np.zeros(t.type.shape, t.type.dtype.np)
            array[place] = unit
            yield from_array(array)


def _components(t: Tensor) -> np.ndarray:
    """t's numbers as a line of reals: real parts, then imaginary ones."""
    flat = np.array(t.detach().nd).reshape(-1)
    return np.concatenate([flat.real, flat.imag]) if t.type.dtype.is_complex else flat


def _numeric(fn, inputs, wanted: Tensor, eps: float) -> list[np.ndarray]:
    """Per output, the Jacobian (components of the input, components of the output) by central differences."""
    array, rows = wanted.nd, []
    steps = (eps, 1j * eps) if wanted.type.dtype.is_complex else (eps,)
    for step in steps:
        for place in np.ndindex(*array.shape):
            kept = array[place]
            array[place] = kept + step
            above = [_components(o) for o in _tensors(fn(*inputs))]
            array[place] = kept - step
            below = [_components(o) for o in _tensors(fn(*inputs))]
            array[place] = kept
            rows.append([(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)])
    sizes = [_components(o).size for o in _tensors(fn(*inputs))]
    return [np.array([r[k] for r in rows]).reshape(len(rows), sizes[k]) for k in range(len(sizes))]


def _analytic(output: Tensor, wanted: list[Tensor]) -> list[np.ndarray]:
    """Per input, its Jacobian by one backward for each component of the output."""
    columns: list[list[np.ndarray]] = [[] for _ in wanted]
    for seed in _basis(output):
        found = grad(output, wanted, seed, retain_graph=True, allow_unused=True)
        for k, (g, t) in enumerate(zip(found, wanted, strict=True)):
            n = t.type.numel * (2 if t.type.dtype.is_complex else 1)
            columns[k].append(np.zeros(n) if g is None else _components(g))
    sizes = [t.type.numel * (2 if t.type.dtype.is_complex else 1) for t in wanted]
    return [np.array(c).reshape(len(c), n).T for c, n in zip(columns, sizes, strict=True)]


def gradcheck(func, inputs, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
              nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
              check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked=None) -> bool:
    """Returns whether func's gradients are those of central differences; else raises GradcheckError.

    Give float64 inputs that require grad.

    >>> import treadle
    >>> x = treadle.tensor([1.0, 2.0], dtype=treadle.float64, requires_grad=True)
    >>> gradcheck(lambda x: (x * x).sum(), (x,))
    True
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    wanted = _differentiable(inputs)
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")
    for k, t in enumerate(wanted):
        if t.type.dtype not in (dt.float64, dt.complex128):
            import warnings

            warnings.warn(f"Input #{k} requires gradient and is not a double precision floating point or complex. This "
                          "check will likely fail if all the inputs are not of double precision floating point or "
                          "complex. ", stacklevel=2)
    try:
        _compare(func, inputs, wanted, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(func, inputs, wanted, eps, atol, rtol) -> None:
    outputs = _tensors(func(*inputs))
    numeric = [_numeric(func, inputs, t, eps) for t in wanted]
    for number, output in enumerate(outputs):
        if not output.requires_grad:
            analytic = [np.zeros_like(n[number]) for n in numeric]
        else:
            analytic = _analytic(output, wanted)
        for k, (mine, other) in enumerate(zip(analytic, numeric, strict=True)):
            if not np.allclose(mine, other[number], rtol, atol, equal_nan=True):
                raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {k},\n"
                                     f"numerical:{other[number]}\nanalytical:{mine}\n")


def gradgradcheck(func, inputs, grad_outputs=None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
                  gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
                  check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False,
                  check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False) -> bool:
    """Returns whether the gradients of func's gradients are those of central differences."""
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        outs = _differentiable(func(*inputs))
        grad_outputs = tuple(from_array(_random(rng, o)).requires_grad_() for o in outs)
    grad_outputs = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    n = len(inputs)

    def first_order(*both):
        values = both[:n]
        outs = _differentiable(func(*values))
        found = grad(outs, _differentiable(values), both[n:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(first_order, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception)


def _random(rng, t: Tensor) -> np.ndarray:
    array = rng.standard_normal(t.type.shape)
    if t.type.dtype.is_complex:
        array = array + 1j * rng.standard_normal(t.type.shape)
    return np.asarray(array).astype(t.type.dtype.np)
