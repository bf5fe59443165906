"""Every row of the table: its gradient rules against central differences, to second order; its shapes and errors."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle.autograd import gradcheck, gradgradcheck
from treadle.ir import dtype as dt
from treadle.ir.op import Kind
from treadle.ir.ops import TABLE

F, C, I = "f", "c", "i"  # a float64, complex128 or index operand


def draw(rng, shape, domain=(-np.inf, np.inf), kind=F):
    """Numbers inside a domain, away from its ends and, without one, away from 0."""
    low, high = domain
    if kind == C:
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    if np.isinf(low) and np.isinf(high):
        x = rng.uniform(0.2, 1.8, shape)
        return np.where(rng.random(shape) < 0.5, -x, x)
    low = max(low, -3.0) if np.isfinite(low) else min(high, 3.0) - 2.5
    high = high if np.isfinite(high) else low + 2.5
    width = high - low
    return rng.uniform(low + 0.1 * width, high - 0.1 * width, shape)


def line(*values):
    return np.array(values, np.int64)


SPD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.3], [0.5, 0.3, 2.0]])
GENERAL = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.6], [-0.7, 0.2, -1.1]])
TALL = np.array([[1.0, 0.3], [0.2, -1.4], [0.5, 0.9]])
SPAN = {"starts": (0, 1), "stops": (3, 4), "steps": (1, 2)}
WINDOW = {"kernel": (2,), "stride": (2,), "dilation": (1,)}

# row -> operands (a shape, an index array, or float data) and attributes; elementwise rows need none
SAMPLES: dict[str, list[tuple]] = {
    "reshape": [(((2, 3),), {"shape": (3, 2)}), (((),), {"shape": (1,)})],
    "permute": [(((2, 3, 2),), {"dims": (2, 0, 1)})],
    "expand": [(((1, 3),), {"shape": (2, 3)}), (((),), {"shape": ()})],
    "slice": [(((3, 4),), SPAN), (((3, 4),), {"starts": (2, 0), "stops": (2, 4), "steps": (1, 3)})],
    "slice_put": [(((3, 4), (3, 2)), SPAN)],
    "flip": [(((2, 3),), {"dims": (1,)})],
    "pad": [(((2, 3),), {"before": (1, 0), "after": (0, 2), "value": 3.0}),
            (((2, 3),), {"before": (0, -1), "after": (0, 1), "value": 0})],
    "cat": [(((2, 3), (1, 3), (2, 3)), {"dim": 0})],
    "as_strided": [(((8,),), {"shape": (2, 3), "strides": (2, 1), "offset": 1})],
    "as_strided_put": [(((8,), (2, 3)), {"shape": (2, 3), "strides": (3, 1), "offset": 1})],
    "window": [(((2, 5),), WINDOW), (((5, 4),), {"kernel": (2, 3), "stride": (1, 1), "dilation": (2, 1)})],
    "unwindow": [(((2, 2, 2),), {"size": (5,), **WINDOW}),
                 (((1, 2, 2, 2, 2),), {"size": (3, 3), "kernel": (2, 2), "stride": (1, 1), "dilation": (1, 1)})],
    "diagonal": [(((3, 4),), {"offset": 1, "dim1": 0, "dim2": 1}), (((2, 3, 3),), {"offset": -1, "dim1": 2, "dim2": 1})],
    "diagonal_put": [(((3, 4), (3,)), {"offset": 1, "dim1": 0, "dim2": 1})],
    "dot": [(((2, 3), (3, 2)), {}), (((2, 1, 3), (2, 3, 2)), {})],
    "reduce_sum": [(((2, 3),), {"dims": (1,)}), (((2, 3),), {"dims": ()})],
    "reduce_prod": [(((2, 3),), {"dims": (1,)}), ((np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]]),), {"dims": (1,)})],
    "reduce_max": [(((2, 3),), {"dims": (0,)})],
    "reduce_min": [(((2, 3),), {"dims": (0, 1)})],
    "max_with_index": [(((2, 3),), {"dims": (1,)})],
    "min_with_index": [(((2, 3),), {"dims": (0,)})],
    "index": [(((3, 2), line(0, 2, 0)), {}), (((3, 2), line(0, 2), line(1, 1)), {})],
    "index_add": [(((3, 2), (3, 2), line(0, 2, 0)), {})],
    "index_set": [(((3, 2), (2, 2), line(0, 2)), {})],
    "gather": [(((2, 3), line(0, 0, 2, 1).reshape(2, 2)), {"dim": 1})],
    "scatter": [(((2, 3), line(0, 2, 1, 0).reshape(2, 2), (2, 3)), {"dim": 1})],
    "scatter_add": [(((2, 3), line(0, 0, 1, 1).reshape(2, 2), (2, 3)), {"dim": 1})],
    "scatter_prod": [(((2, 3), line(0, 0, 1, 2).reshape(2, 2), (2, 3)), {"dim": 1})],
    "scatter_amax": [(((2, 3), line(0, 0, 1, 2).reshape(2, 2), (2, 3)), {"dim": 1})],
    "scatter_amin": [(((2, 3), line(0, 0, 1, 2).reshape(2, 2), (2, 2)), {"dim": 1})],
    "strided_add": [(((2, 3),), {"size": 8, "shape": (2, 3), "strides": (2, 1), "offset": 1})],
    "cumsum": [(((2, 3),), {"dim": 1}), (((),), {"dim": 0})],
    "cumprod": [(((2, 3),), {"dim": 1}), ((np.array([0.5, 0.0, 2.0, 0.0, 1.5]),), {"dim": 0})],
    "logcumsumexp": [(((2, 3),), {"dim": 1})],
    "cummax": [(((2, 3),), {"dim": 1})],
    "cummin": [(((2, 3),), {"dim": 0})],
    "sort": [(((2, 3),), {"dim": 1, "descending": True})],
    "topk": [(((2, 5),), {"k": 2, "dim": 1, "largest": True})],
    "inv": [((GENERAL,), {}), ((np.stack([SPD, GENERAL]),), {})],
    "solve": [((GENERAL, (3, 2)), {})],
    "det": [((GENERAL,), {})],
    "slogdet": [((GENERAL,), {})],
    "cholesky": [((SPD,), {})],
    "eigh": [((SPD,), {"lower": True})],
    "svd": [((TALL,), {"full_matrices": False}), ((TALL.T.copy(),), {"full_matrices": False})],
    "qr": [((TALL,), {"mode": "reduced"}), ((GENERAL,), {"mode": "complete"})],
    "eig": [((GENERAL,), {})],
    "fft_c2c": [((np.array([[1 + 2j, 0.5 - 1j, 0.3], [2j, 1.0, -1 + 1j]]),), {"dims": (0, 1), "inverse": True})],
    "fft_r2c": [(((2, 5),), {"dims": (0, 1)}), (((4,),), {"dims": (0,)})],
    "fft_c2r": [((np.array([1 + 2j, 0.5 - 1j, 0.3 + 1j]),), {"dims": (0,), "size": 5}),
                ((np.array([[1 + 2j, 0.5 - 1j, 0.3 + 1j]] * 2),), {"dims": (0, 1), "size": 4})],
    "convert": [(((2, 3),), {"dtype": dt.float64})],
    "view_real": [((np.array([1 + 2j, 0.5 - 1j]),), {})],
    "view_complex": [(((3, 2),), {})],
    "complex": [(((2,), (2,)), {})],
    "real": [((np.array([1 + 2j, 0.5 - 1j]),), {})],
    "imag": [((np.array([1 + 2j, 0.5 - 1j]),), {})],
    "conj": [((np.array([1 + 2j, 0.5 - 1j]),), {})],
}
# what has no gradient: choices, bits, draws, places, and projections of several outputs
NO_GRADIENT = {name for name, row in TABLE.items() if row.vjp is None or row.vjp == () or all(
    r is None for r in (row.vjp if isinstance(row.vjp, tuple) else (row.vjp,)))}
# gauges: these outputs are defined up to signs or phases, so a function of them that is not is checked
INVARIANT = {"svd": lambda out: (out[0] @ (out[1].unsqueeze(-1) * out[2]), out[1]), "qr": lambda out: out,
             "eigh": lambda out: (out[0], out[1] * out[1]),
             "eig": lambda out: (out[0], out[1] * out[1].conj())}


SYMMETRIC = {"cholesky", "eigh"}  # of their operand one triangle is read


def samples(row):
    if row.name in SAMPLES:
        return SAMPLES[row.name]
    operands = len(row.vjp) if isinstance(row.vjp, tuple) else 1
    first = [((2, 3),) * operands, ((),) * operands]
    if row.name == "where":
        return [((np.array([[True, False, True]]), (1, 3), (1, 3)), {})]
    return [(shapes, {}) for shapes in first]


def tensors(row, operands):
    rng = np.random.default_rng(sum(map(ord, row.name)))
    made = []
    for v in operands:
        array = draw(rng, v, row.domain) if isinstance(v, tuple) else v
        t = treadle.tensor(np.array(array))
        made.append(t.requires_grad_() if t.dtype.is_differentiable else t)
    return made


def call(row, attrs):
    view = INVARIANT.get(row.name)

    def fn(*values):
        if row.name in SYMMETRIC:
            values = [(v + v.mT) / 2 for v in values]
        out = row(*values, **attrs)
        if view is not None:
            return view(out)
        return out

    return fn


DIFFERENTIABLE = [row for name, row in TABLE.items() if name not in NO_GRADIENT]


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_gradients(row):
    for operands, attrs in samples(row):
        values = tensors(row, operands)
        assert gradcheck(call(row, attrs), values), (row.name, attrs)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_second_gradients(row):
    for operands, attrs in samples(row):
        values = tensors(row, operands)
        if any(o.requires_grad for o in _leaves(call(row, attrs)(*values))):
            assert gradgradcheck(call(row, attrs), values, atol=1e-4), (row.name, attrs)


def _leaves(out):
    return [o for o in (out if isinstance(out, tuple) else (out,)) if o.dtype.is_differentiable]


COMPLEX = ["add", "sub", "mul", "div", "pow", "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "neg",
           "sigmoid", "abs", "asin", "acos", "atan", "asinh", "acosh", "atanh"]


@pytest.mark.parametrize("name", COMPLEX)
def test_gradients_of_complex(name):
    row, rng = TABLE[name], np.random.default_rng(3)
    values = [treadle.tensor(draw(rng, (3,), kind=C)).requires_grad_() for _ in row.vjp]
    assert gradcheck(row, values)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda r: r.name)
def test_infer_says_what_eager_gives(row):
    for operands, attrs in samples(row):
        values = tensors(row, operands)
        said = row.infer(*[v.type for v in values], **attrs)
        got = row(*values, **attrs)
        for t, o in zip(said if isinstance(said, tuple) else (said,), got if isinstance(got, tuple) else (got,),
                        strict=True):
            assert t is o.type


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5)])
@pytest.mark.parametrize("row", [r for r in TABLE.values() if r.kind is Kind.ELEMENTWISE and isinstance(r.vjp, tuple)
                                 and len(r.vjp) == 1 and r.name not in ("convert", "real", "imag", "bit_not")],
                         ids=lambda r: r.name)
def test_unary_shapes_and_halves(row, shape):
    x = np.asarray(draw(np.random.default_rng(0), shape, row.domain))
    wide = row(treadle.tensor(x)).numpy()
    for dtype, tolerance in ((treadle.float32, 1e-5), (treadle.float16, 5e-3), (treadle.bfloat16, 4e-2)):
        t = treadle.tensor(x).to(dtype)
        y = row(t)
        assert y.shape == shape and y.dtype is dtype
        exact = row(t.double()).numpy()
        np.testing.assert_allclose(y.double().numpy(), exact, tolerance, tolerance)
    assert wide.shape == shape


def test_table_is_complete():
    assert not [n for n, r in TABLE.items() if r.name != n]
    variadic_or_attrs = [n for n, r in TABLE.items() if n not in NO_GRADIENT and n not in SAMPLES
                         and r.kind is not Kind.ELEMENTWISE]
    assert not variadic_or_attrs, "give these rows a sample"
