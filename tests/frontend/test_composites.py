"""Composites: the eager form gives what the body gives; gradients are those of differences, twice."""

from __future__ import annotations

import numpy as np
import pytest
import treadle
from treadle.autograd import gradcheck, gradgradcheck
from treadle.frontend import composites
from treadle.frontend.composites import (activation, attention, clamp, conv, dropout, linear, loss, norm, pool,
                                         reduce, resample)
from treadle.ir.composite import body_graph
from treadle.ir.interpret import run_numpy
from treadle.ir.op import Kind, Op

FILES = (activation, attention, clamp, conv, dropout, linear, loss, norm, pool, reduce, resample)
ALL = {row.name: row for file in FILES for row in vars(file).values() if isinstance(row, Op)
       and row.kind is Kind.COMPOSITE}
LABELS = np.array([0, 3, 1])
HALF = {"has_mask": False, "is_causal": True, "dropout_p": 0.0, "scale": 0.5}
CONV = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2}
ONES = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
DEPTH = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 4}
POOL = {"kernel": (3, 2), "stride": (2, 2), "padding": (1, 0)}
CE = {"ignore_index": 1, "smoothing": 0.1, "reduction": "mean"}
NONE = {"reduction": "none"}
MEAN = {"reduction": "mean"}
SEED = np.array(1234)
IMAGE = (1, 4, 5, 4)

# composite -> operands (shapes of float64, or arrays) and attributes
SAMPLES: dict[str, list[tuple]] = {
    "leaky_relu": [(((3, 4),), {"slope": 0.1})],
    "elu": [(((3, 4),), {"alpha": 0.7, "scale": 1.1, "input_scale": 1.3})],
    "hardtanh": [(((3, 4),), {"low": -0.5, "high": 0.6})],
    "softplus": [(((3, 4),), {"beta": 1.5, "threshold": 1.0})],
    "softshrink": [(((3, 4),), {"lambd": 0.5})],
    "hardshrink": [(((3, 4),), {"lambd": 0.5})],
    "threshold": [(((3, 4),), {"threshold": 0.1, "value": 7.0})],
    "gelu": [(((3, 4),), {"approximate": "none"}), (((3, 4),), {"approximate": "tanh"}), (((),), {"approximate": "none"})],
    "gelu_backward": [(((3, 4), (3, 4)), {"approximate": "none"}), (((5,), (5,)), {"approximate": "tanh"})],
    **{n: [(((3, 4),), {"dim": 1}), (((2, 3, 4),), {"dim": 0})] for n in ("softmax", "log_softmax")},
    **{n: [(((3, 4), (3, 4)), {"dim": 1})] for n in ("softmax_backward", "log_softmax_backward")},
    "attention": [(((2, 3, 4), (2, 5, 4), (2, 5, 3)), HALF),
                  (((2, 3, 4), (2, 5, 4), (2, 5, 3), np.array([[[True, False, True, True, False]] * 2 + [[False] * 5]])),
                   {**HALF, "has_mask": True, "is_causal": False}),
                  (((2, 3, 4), (2, 5, 4), (2, 5, 3), SEED), {**HALF, "dropout_p": 0.4})],
    "attention_backward": [(((2, 3, 3), (2, 3, 4), (2, 5, 4), (2, 5, 3), (2, 3, 3), (2, 3)), HALF)],
    "clamp": [(((3, 4),), {"low": -0.5, "high": None}), (((3, 4),), {"low": -0.5, "high": 0.4})],
    "conv": [((IMAGE, (6, 2, 3, 2), (6,)), CONV), ((IMAGE, (3, 4, 3, 3)), ONES), ((IMAGE, (4, 1, 3, 3)), DEPTH),
             (((2, 4, 6), (3, 4, 1)), {"stride": (2,), "padding": (0,), "dilation": (1,), "groups": 1})],
    "conv_input": [(((1, 6, 3, 2), (6, 2, 3, 2)), {"size": (5, 4), **CONV}), ((IMAGE, (4, 3, 3, 3)), {"size": (5, 4), **ONES})],
    "conv_weight": [(((1, 6, 3, 2), IMAGE), {"kernel": (3, 2), **CONV}), ((IMAGE, IMAGE), {"kernel": (3, 3), **ONES}),
                    ((IMAGE, IMAGE), {"kernel": (3, 3), **DEPTH})],
    "dropout": [(((3, 4), SEED), {"p": 0.4, "shared": ()}), (((2, 3, 4), SEED), {"p": 0.4, "shared": (2,)})],
    "linear": [(((3, 4), (2, 4), (2,)), {}), (((2, 3, 4), (5, 4)), {})],
    "embedding": [(((4, 3), np.array([[0, 2], [2, 1]])), {"padding_idx": -1})],
    "cross_entropy": [(((3, 4), LABELS, (4,)), CE), (((3, 4), LABELS), {**CE, "smoothing": 0.0, "reduction": "none"})],
    "cross_entropy_backward": [(((), (3, 4), LABELS, (3,), (4,)), CE)],
    "nll_loss": [(((3, 4), LABELS, (4,)), {"ignore_index": -100, "reduction": "mean"})],
    **{n: [(((3, 4), (3, 4)), MEAN), (((3, 4), (3, 4)), NONE)] for n in ("mse_loss", "l1_loss", "soft_margin_loss")},
    "smooth_l1_loss": [(((3, 4), (3, 4)), {"beta": 0.7, **MEAN})],
    "huber_loss": [(((3, 4), (3, 4)), {"delta": 0.7, **NONE})],
    "bce": [((np.array([0.2, 0.7]), np.array([0.1, 0.8])), {})],
    "bce_with_logits": [(((3,), (3,), (3,), (3,)), NONE)],
    "kl_div": [(((3,), np.array([0.2, 0.3, 0.5])), {"log_target": False, **NONE}), (((3,), (3,)), {"log_target": True, **MEAN})],
    "poisson_nll_loss": [((np.array([0.4, 1.5]), np.array([2.0, 3.0])),
                          {"log_input": False, "full": True, "eps": 1e-8, **MEAN})],
    "layer_norm": [(((3, 4), (4,), (4,)), {"width": 1, "eps": 1e-5}), (((2, 2, 3),), {"width": 2, "eps": 1e-5})],
    "layer_norm_backward": [(((3, 4), (3, 4), (3,), (3,), (4,)), {"width": 1, "eps": 1e-5})],
    "layer_norm_again": [(((3, 4), (3, 4), (4,)), {"width": 1, "eps": 1e-5})],
    "batch_norm_again": [((IMAGE, IMAGE, (4,)), {"eps": 1e-5})],
    "cross_entropy_again": [(((), (3, 4), LABELS), CE)],
    "attention_again": [(((2, 3, 3), (2, 3, 4), (2, 5, 4), (2, 5, 3)), HALF)],
    "rms_norm": [(((3, 4), (4,)), {"width": 1, "eps": 1e-5})],
    "batch_norm": [((IMAGE, (4,), (4,)), {"eps": 1e-5}), (((5, 3),), {"eps": 1e-5})],
    "batch_norm_backward": [((IMAGE, IMAGE, (4,), np.array([0.5, 1.0, 2.0, 0.7]), (4,)), {"eps": 1e-5})],
    "batch_norm_eval": [((IMAGE, (4,), np.array([0.5, 1.0, 2.0, 0.7]), (4,), (4,)), {"eps": 1e-5})],
    "max_pool": [((IMAGE,), {**POOL, "dilation": (1, 1), "ceil_mode": True}),
                 ((IMAGE,), {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (2, 1), "ceil_mode": False})],
    "max_unpool": [(((2, 2, 2), np.array([[[0, 5], [7, 2]], [[3, 5], [8, 1]]])), {"size": (3, 3), "apart": True}),
                   (((2, 2, 2), np.array([[[0, 5], [5, 2]], [[3, 3], [8, 1]]])), {"size": (3, 3), "apart": False})],
    "avg_pool": [((IMAGE,), {**POOL, "ceil_mode": True, "include_pad": False, "divisor": 0}),
                 ((IMAGE,), {**POOL, "ceil_mode": False, "include_pad": True, "divisor": 5})],
    "avg_pool_backward": [(((1, 4, 3, 2),), {"size": (5, 4), **POOL, "include_pad": False, "divisor": 0})],
    **{n: [(((2, 3, 4),), {"dims": (0, 2)}), (((3,),), {"dims": ()})] for n in ("mean", "logsumexp", "norm2")},
    **{n: [(((2, 3, 4),), {"dims": (0, 2), "correction": 1})] for n in ("var", "std")},
    "fold": [(((2, 3, 2, 2, 3, 2),), {"size": (4, 4), "kernel": (2, 2), "stride": (2, 2), "padding": (1, 0), "dilation": (1, 1)})],
    "adaptive_avg_pool": [((IMAGE,), {"out": (2, 2)}), ((IMAGE,), {"out": (1, 1)}), ((IMAGE,), {"out": (5, 4)})],
    "adaptive_avg_back": [(((1, 4, 2, 2),), {"size": (5, 4)})],
    "interpolate": [((IMAGE,), {"out": (3, 7), "scales": (0.0, 0.0), "mode": m, "align_corners": c})
                    for m, c in (("nearest", False), ("bilinear", False), ("bilinear", True), ("bicubic", False))],
}
PLACES = {"max_pool": 0, "attention": 0, "layer_norm": 0, "batch_norm": 0, "cross_entropy": 0}  # the output gradients use


def samples(row):
    if row.name in SAMPLES:
        return SAMPLES[row.name]
    count = len(row.vjp) if isinstance(row.vjp, tuple) else row.body.__code__.co_argcount
    return [(((3, 4),) * count, {})]


def arrays(row, operands):
    rng = np.random.default_rng(len(row.name))
    sizes = rng.uniform(0.15, 1.6, 512)
    values = np.where(rng.random(512) < 0.5, -sizes, sizes)
    out, start = [], 0
    for v in operands:
        if isinstance(v, tuple):
            n = int(np.prod(v))
            v, start = np.resize(np.roll(values, -start), n).reshape(v), start + n
        out.append(np.array(v))
    if row.name in ("attention_backward",):  # lse of real scores, so that no exponential explodes
        out[5] = np.abs(out[5]) + 4
    return out


@pytest.mark.parametrize("row", ALL.values(), ids=lambda r: r.name)
def test_eager_is_the_body(row):
    if row.eager is None:
        pytest.skip("eager runs the body")
    for operands, attrs in samples(row):
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 3e-5), (np.float16, 2e-2)):
            values = [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays(row, operands)]
            types = tuple(treadle.tensor(v).type for v in values)
            graph = body_graph(row, types, attrs)
            wanted = run_numpy(graph, values)
            got = row.eager(*values, **attrs)
            for g, w, t in zip(got if isinstance(got, tuple) else (got,), wanted, graph.outputs, strict=True):
                assert g.dtype == t.type.dtype.np and g.shape == t.type.shape
                np.testing.assert_allclose(g.astype(float), w.astype(float), tolerance, tolerance,
                                           err_msg=f"{row.name} {attrs} {dtype}")


def _call(row, attrs):
    def fn(*values):
        out = row(*values, **attrs)
        return out[PLACES[row.name]] if row.name in PLACES else out

    return fn


def _leaves(row, operands):
    """The operands as leaves; weights of classes take no gradient, as in torch."""
    made = [treadle.tensor(a) for a in arrays(row, operands)]
    last = 1 if row.name == "cross_entropy" else 2 if row.name == "cross_entropy_again" else len(made)
    return [t.requires_grad_() if t.dtype.is_differentiable and k < last else t for k, t in enumerate(made)]


@pytest.mark.parametrize("row", ALL.values(), ids=lambda r: r.name)
def test_gradients(row):
    if row.name in GIVEN:
        pytest.skip("the second gradients of its forward check it")
    for operands, attrs in samples(row):
        values = _leaves(row, operands)
        assert gradcheck(_call(row, attrs), values), (row.name, attrs)


# handed statistics of their forward, whose dependence on its operands their own rule knows
GIVEN = {"cross_entropy_backward", "layer_norm_backward", "batch_norm_backward", "attention_backward"}


@pytest.mark.parametrize("row", ALL.values(), ids=lambda r: r.name)
def test_second_gradients(row):
    if row.name in GIVEN or row.name.endswith("_again"):
        pytest.skip("a third order of its forward")
    for operands, attrs in samples(row):
        values = _leaves(row, operands)
        assert gradgradcheck(_call(row, attrs), values, atol=1e-4), (row.name, attrs)


def test_every_file_is_listed():
    import pkgutil

    assert {m.name for m in pkgutil.iter_modules(composites.__path__)} - {"blocks", "rows", "conv_numpy", "twice", "normal", "parallel"} == {
        f.__name__.rpartition(".")[2] for f in FILES}
