"""Layers to be compared with PyTorch: constructor, inputs by name and shape, for any module with torch's API.

A shape is a tuple; ("int", high, shape) draws integers, ("bool", shape) booleans, ("unit", shape) numbers in
(0, 1); without gradients: ("target", shape) numbers in (0, 1), ("sign", shape) -1 and 1, ("simplex", shape)
probabilities along dim 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One layer: `build(nn)` makes it, `inputs` are what it is called with."""

    name: str
    build: Any
    inputs: tuple
    kwargs: dict = field(default_factory=dict)
    eval: bool = False
    random: bool = False  # the output is random: only its shape is compared
    tolerance: float = 1e-5


def drawn(shape: Any, rng: np.random.Generator) -> np.ndarray:
    """The array an input's description means."""
    kind = shape[0] if shape and isinstance(shape[0], str) else None
    if kind is None:
        return rng.standard_normal(shape).astype(np.float32)
    if kind == "int":
        return rng.integers(0, shape[1], shape[2])
    if kind == "bool":
        return rng.random(shape[1]) < 0.3
    if kind in ("unit", "target"):
        return (0.05 + 0.9 * rng.random(shape[1])).astype(np.float32)
    if kind == "sign":
        return np.where(rng.random(shape[1]) < 0.5, -1, 1).astype(np.float32)
    if kind == "simplex":
        x = rng.random(shape[1]) + 0.1
        return (x / x.sum(1, keepdims=True)).astype(np.float32)
    raise ValueError(kind)


def _activations() -> list[Case]:
    names = ("ReLU ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GELU Hardshrink LeakyReLU "
             "LogSigmoid Softplus Softshrink PReLU Softsign Tanhshrink Hardtanh").split()
    cases = [Case(name, lambda nn, name=name: getattr(nn, name)(), ((3, 5),)) for name in names]
    return cases + [
        Case("Threshold", lambda nn: nn.Threshold(0.1, 20), ((3, 5),)),
        Case("RReLU", lambda nn: nn.RReLU(0.1, 0.3), ((3, 5),), eval=True),
        Case("GLU", lambda nn: nn.GLU(1), ((3, 6),)),
        Case("GELU tanh", lambda nn: nn.GELU("tanh"), ((3, 5),)),
        Case("PReLU channels", lambda nn: nn.PReLU(4, 0.1), ((2, 4, 3),)),
        Case("Softmin", lambda nn: nn.Softmin(1), ((3, 5),)),
        Case("Softmax", lambda nn: nn.Softmax(-1), ((3, 5),)),
        Case("Softmax2d", lambda nn: nn.Softmax2d(), ((2, 3, 2, 2),)),
        Case("LogSoftmax", lambda nn: nn.LogSoftmax(0), ((3, 5),)),
        Case("LeakyReLU inplace", lambda nn: nn.Sequential(nn.Linear(5, 4), nn.LeakyReLU(0.2, inplace=True)),
             ((3, 5),)),
        Case("ELU options", lambda nn: nn.ELU(0.5), ((3, 5),)),
        Case("Softplus options", lambda nn: nn.Softplus(2, 1), ((3, 5),)),
        Case("Hardtanh options", lambda nn: nn.Hardtanh(-0.5, 0.7), ((3, 5),)),
    ]


def _linear() -> list[Case]:
    return [
        Case("Linear", lambda nn: nn.Linear(4, 3), ((5, 4),)),
        Case("Linear vector", lambda nn: nn.Linear(4, 3, bias=False), ((4,),)),
        Case("Linear batch", lambda nn: nn.Linear(4, 3), ((2, 3, 5, 4),)),
        Case("Bilinear", lambda nn: nn.Bilinear(3, 4, 2), ((5, 3), (5, 4))),
        Case("Identity", lambda nn: nn.Identity(3, unused=1), ((2, 3),)),
        Case("Embedding", lambda nn: nn.Embedding(7, 3), (("int", 7, (2, 4)),)),
        Case("Embedding padding", lambda nn: nn.Embedding(7, 3, padding_idx=-2), (("int", 7, (2, 4)),)),
        Case("Flatten", lambda nn: nn.Flatten(), ((2, 3, 4),)),
        Case("Unflatten", lambda nn: nn.Unflatten(1, (2, 3)), ((2, 6),)),
        Case("Sequential", lambda nn: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)), ((3, 4),)),
        Case("Dropout eval", lambda nn: nn.Dropout(0.3), ((3, 4),), eval=True),
        Case("Dropout", lambda nn: nn.Dropout(0.3, inplace=False), ((3, 4),), random=True),
        Case("Dropout1d", lambda nn: nn.Dropout1d(0.3), ((3, 4, 2),), random=True),
        Case("Dropout2d", lambda nn: nn.Dropout2d(), ((3, 4, 2, 2),), random=True),
        Case("AlphaDropout", lambda nn: nn.AlphaDropout(), ((3, 4),), random=True),
        Case("CosineSimilarity", lambda nn: nn.CosineSimilarity(), ((3, 4), (3, 4))),
        Case("PairwiseDistance", lambda nn: nn.PairwiseDistance(), ((3, 4), (3, 4))),
    ]


def _norms() -> list[Case]:
    return [
        Case("LayerNorm", lambda nn: nn.LayerNorm(5), ((2, 3, 5),)),
        Case("LayerNorm two", lambda nn: nn.LayerNorm((3, 5), eps=1e-3, bias=False), ((2, 3, 5),)),
        Case("LayerNorm plain", lambda nn: nn.LayerNorm(5, elementwise_affine=False), ((2, 5),)),
        Case("RMSNorm", lambda nn: nn.RMSNorm(5), ((2, 3, 5),)),
        Case("RMSNorm eps", lambda nn: nn.RMSNorm((3, 5), eps=1e-2), ((2, 3, 5),)),
        Case("GroupNorm", lambda nn: nn.GroupNorm(2, 4), ((2, 4, 3),)),
        Case("BatchNorm1d", lambda nn: nn.BatchNorm1d(4), ((6, 4),)),
        Case("BatchNorm1d length", lambda nn: nn.BatchNorm1d(4, momentum=None), ((3, 4, 5),)),
        Case("BatchNorm1d eval", lambda nn: nn.BatchNorm1d(4), ((6, 4),), eval=True),
        Case("BatchNorm2d", lambda nn: nn.BatchNorm2d(3), ((2, 3, 4, 4),)),
        Case("BatchNorm2d plain", lambda nn: nn.BatchNorm2d(3, affine=False, track_running_stats=False),
             ((2, 3, 4, 4),), eval=True),
        Case("BatchNorm3d", lambda nn: nn.BatchNorm3d(2), ((2, 2, 2, 3, 3),)),
        Case("InstanceNorm1d", lambda nn: nn.InstanceNorm1d(4), ((3, 4, 5),)),
        Case("InstanceNorm2d", lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
             ((2, 3, 4, 4),)),
        Case("InstanceNorm2d alone", lambda nn: nn.InstanceNorm2d(3), ((3, 4, 4),)),
        Case("LocalResponseNorm", lambda nn: nn.LocalResponseNorm(2), ((2, 4, 3, 3),)),
    ]


def _convolutions() -> list[Case]:
    return [
        Case("Conv1d", lambda nn: nn.Conv1d(3, 4, 3), ((2, 3, 8),)),
        Case("Conv1d same", lambda nn: nn.Conv1d(3, 4, 4, padding="same", dilation=2), ((2, 3, 9),)),
        Case("Conv2d", lambda nn: nn.Conv2d(3, 4, 3), ((2, 3, 6, 7),)),
        Case("Conv2d options", lambda nn: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2),
                                                   groups=2, bias=False), ((2, 4, 7, 6),)),
        Case("Conv2d valid", lambda nn: nn.Conv2d(3, 4, 3, padding="valid"), ((2, 3, 6, 7),)),
        Case("Conv2d alone", lambda nn: nn.Conv2d(3, 4, 3, padding=1), ((3, 6, 7),)),
        Case("Conv2d circular", lambda nn: nn.Conv2d(3, 4, 3, padding=1, padding_mode="circular"), ((2, 3, 5, 5),)),
        Case("Conv2d reflect", lambda nn: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), ((2, 3, 5, 5),)),
        Case("Conv2d replicate", lambda nn: nn.Conv2d(3, 4, 3, padding=(1, 2), padding_mode="replicate"),
             ((2, 3, 5, 5),)),
        Case("Conv3d", lambda nn: nn.Conv3d(2, 3, 2, stride=2), ((2, 2, 4, 5, 4),)),
        Case("ConvTranspose1d", lambda nn: nn.ConvTranspose1d(3, 4, 3, stride=2), ((2, 3, 5),)),
        Case("ConvTranspose2d", lambda nn: nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1),
             ((2, 3, 4, 5),)),
        Case("ConvTranspose2d groups", lambda nn: nn.ConvTranspose2d(4, 6, (3, 2), groups=2, dilation=2, bias=False),
             ((2, 4, 4, 5),)),
        Case("ConvTranspose2d size", lambda nn: nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1), ((2, 3, 4, 5),),
             {"output_size": (8, 10)}),
        Case("ConvTranspose3d", lambda nn: nn.ConvTranspose3d(2, 3, 2), ((2, 2, 3, 3, 3),)),
    ]


def _pools() -> list[Case]:
    return [
        Case("MaxPool1d", lambda nn: nn.MaxPool1d(3, stride=2), ((2, 3, 9),)),
        Case("MaxPool2d", lambda nn: nn.MaxPool2d(2), ((2, 3, 6, 7),)),
        Case("MaxPool2d options", lambda nn: nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0), ceil_mode=True),
             ((2, 3, 6, 7),)),
        Case("AvgPool1d", lambda nn: nn.AvgPool1d(3, padding=1), ((2, 3, 9),)),
        Case("AvgPool2d", lambda nn: nn.AvgPool2d(2), ((2, 3, 6, 7),)),
        Case("AvgPool2d options", lambda nn: nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True,
                                                         count_include_pad=False), ((2, 3, 6, 7),)),
        Case("AdaptiveAvgPool1d", lambda nn: nn.AdaptiveAvgPool1d(4), ((2, 3, 9),)),
        Case("AdaptiveAvgPool2d", lambda nn: nn.AdaptiveAvgPool2d(1), ((2, 3, 6, 7),)),
        Case("AdaptiveAvgPool2d sizes", lambda nn: nn.AdaptiveAvgPool2d((3, None)), ((2, 3, 6, 7),)),
        Case("AdaptiveMaxPool1d", lambda nn: nn.AdaptiveMaxPool1d(4), ((2, 3, 9),)),
        Case("AdaptiveMaxPool2d", lambda nn: nn.AdaptiveMaxPool2d((3, 2)), ((2, 3, 6, 7),)),
        Case("LPPool2d", lambda nn: nn.LPPool2d(2, 2), ((2, 3, 6, 6),)),
        Case("ZeroPad2d", lambda nn: nn.ZeroPad2d((1, 2, 0, 1)), ((2, 3, 4, 4),)),
        Case("ConstantPad1d", lambda nn: nn.ConstantPad1d((1, 2), 3.5), ((2, 3, 4),)),
        Case("ReflectionPad1d", lambda nn: nn.ReflectionPad1d(2), ((2, 3, 4),)),
        Case("ReflectionPad2d", lambda nn: nn.ReflectionPad2d(1), ((2, 3, 4, 4),)),
        Case("ReplicationPad2d", lambda nn: nn.ReplicationPad2d((1, 2, 3, 0)), ((2, 3, 4, 4),)),
        Case("CircularPad2d", lambda nn: nn.CircularPad2d(1), ((2, 3, 4, 4),)),
        Case("PixelShuffle", lambda nn: nn.PixelShuffle(2), ((2, 8, 3, 3),)),
        Case("PixelUnshuffle", lambda nn: nn.PixelUnshuffle(2), ((2, 2, 4, 4),)),
        Case("ChannelShuffle", lambda nn: nn.ChannelShuffle(2), ((2, 4, 3, 3),)),
        Case("Upsample", lambda nn: nn.Upsample(scale_factor=2), ((2, 3, 3, 4),)),
        Case("Upsample bilinear", lambda nn: nn.Upsample(size=(5, 7), mode="bilinear"), ((2, 3, 3, 4),)),
        Case("UpsamplingBilinear2d", lambda nn: nn.UpsamplingBilinear2d(scale_factor=2), ((2, 3, 3, 4),)),
        Case("UpsamplingNearest2d", lambda nn: nn.UpsamplingNearest2d(size=(6, 5)), ((2, 3, 3, 4),)),
        Case("Unfold", lambda nn: nn.Unfold(2, stride=2), ((2, 3, 4, 4),)),
        Case("Fold", lambda nn: nn.Fold((4, 4), 2, stride=2), ((2, 12, 4),)),
    ]


def _losses() -> list[Case]:
    pair = ((4, 3), (4, 3))
    classes = ((4, 3), ("int", 3, (4,)))
    return [
        Case("L1Loss", lambda nn: nn.L1Loss(), pair),
        Case("MSELoss sum", lambda nn: nn.MSELoss(reduction="sum"), pair),
        Case("MSELoss none", lambda nn: nn.MSELoss(reduction="none"), pair),
        Case("SmoothL1Loss", lambda nn: nn.SmoothL1Loss(beta=0.5), pair),
        Case("HuberLoss", lambda nn: nn.HuberLoss(delta=0.7), pair),
        Case("CrossEntropyLoss", lambda nn: nn.CrossEntropyLoss(), classes),
        Case("CrossEntropyLoss smooth", lambda nn: nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=1), classes),
        Case("CrossEntropyLoss images", lambda nn: nn.CrossEntropyLoss(reduction="none"),
             ((2, 3, 4, 4), ("int", 3, (2, 4, 4)))),
        Case("CrossEntropyLoss soft", lambda nn: nn.CrossEntropyLoss(), ((4, 3), ("simplex", (4, 3)))),
        Case("NLLLoss", lambda nn: nn.NLLLoss(), classes),
        Case("BCELoss", lambda nn: nn.BCELoss(), (("unit", (4, 3)), ("target", (4, 3)))),
        Case("BCEWithLogitsLoss", lambda nn: nn.BCEWithLogitsLoss(), ((4, 3), ("target", (4, 3)))),
        Case("KLDivLoss", lambda nn: nn.KLDivLoss(reduction="batchmean"), ((4, 3), ("simplex", (4, 3)))),
        Case("PoissonNLLLoss", lambda nn: nn.PoissonNLLLoss(), ((4, 3), ("target", (4, 3)))),
        Case("GaussianNLLLoss", lambda nn: nn.GaussianNLLLoss(), ((4, 3), (4, 3), ("unit", (4, 3)))),
        Case("HingeEmbeddingLoss", lambda nn: nn.HingeEmbeddingLoss(), ((4, 3), ("sign", (4, 3)))),
        Case("SoftMarginLoss", lambda nn: nn.SoftMarginLoss(), ((4, 3), ("sign", (4, 3)))),
        Case("CosineEmbeddingLoss", lambda nn: nn.CosineEmbeddingLoss(0.1), ((4, 3), (4, 3), ("sign", (4,)))),
        Case("MarginRankingLoss", lambda nn: nn.MarginRankingLoss(0.2), ((4,), (4,), ("sign", (4,)))),
        Case("MultiMarginLoss", lambda nn: nn.MultiMarginLoss(), classes),
        Case("MultiLabelSoftMarginLoss", lambda nn: nn.MultiLabelSoftMarginLoss(), ((4, 3), ("target", (4, 3)))),
        Case("TripletMarginLoss", lambda nn: nn.TripletMarginLoss(swap=True), ((4, 3), (4, 3), (4, 3))),
        Case("TripletMarginWithDistanceLoss", lambda nn: nn.TripletMarginWithDistanceLoss(),
             ((4, 3), (4, 3), (4, 3))),
    ]


def _recurrent() -> list[Case]:
    return [
        Case("LSTM", lambda nn: nn.LSTM(3, 4), ((5, 2, 3),)),
        Case("LSTM deep", lambda nn: nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), ((2, 5, 3),)),
        Case("LSTM alone", lambda nn: nn.LSTM(3, 4, bias=False), ((5, 3),)),
        Case("LSTM projected", lambda nn: nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True), ((5, 2, 3),)),
        Case("GRU", lambda nn: nn.GRU(3, 4), ((5, 2, 3),)),
        Case("GRU deep", lambda nn: nn.GRU(3, 4, 2, bidirectional=True, batch_first=True, bias=False), ((2, 5, 3),)),
        Case("RNN", lambda nn: nn.RNN(3, 4), ((5, 2, 3), (1, 2, 4))),
        Case("RNN relu", lambda nn: nn.RNN(3, 4, 2, "relu", bidirectional=True), ((5, 2, 3),)),
        Case("RNNCell", lambda nn: nn.RNNCell(3, 4), ((2, 3), (2, 4))),
        Case("RNNCell relu", lambda nn: nn.RNNCell(3, 4, nonlinearity="relu", bias=False), ((3,),)),
        Case("LSTMCell", lambda nn: nn.LSTMCell(3, 4), ((2, 3),)),
        Case("GRUCell", lambda nn: nn.GRUCell(3, 4), ((2, 3), (2, 4))),
    ]


def _attention() -> list[Case]:
    return [
        Case("MultiheadAttention", lambda nn: nn.MultiheadAttention(8, 2), ((5, 2, 8), (4, 2, 8), (4, 2, 8))),
        Case("MultiheadAttention first", lambda nn: nn.MultiheadAttention(8, 2, batch_first=True, bias=False),
             ((2, 5, 8), (2, 4, 8), (2, 4, 8)), {"need_weights": False}),
        Case("MultiheadAttention sizes", lambda nn: nn.MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True,
                                                                         add_zero_attn=True),
             ((5, 2, 8), (4, 2, 3), (4, 2, 5)), {"average_attn_weights": False}),
        Case("MultiheadAttention masked", lambda nn: nn.MultiheadAttention(8, 2),
             ((5, 2, 8), (4, 2, 8), (4, 2, 8)), {"attn_mask": ("bool", (5, 4)),
                                                "key_padding_mask": ("bool", (2, 4))}),
        Case("TransformerEncoderLayer", lambda nn: nn.TransformerEncoderLayer(8, 2, 16, 0.0), ((5, 2, 8),)),
        Case("TransformerEncoderLayer first", lambda nn: nn.TransformerEncoderLayer(
            8, 2, 16, 0.0, activation="gelu", batch_first=True, norm_first=True), ((2, 5, 8),)),
        Case("TransformerDecoderLayer", lambda nn: nn.TransformerDecoderLayer(8, 2, 16, 0.0), ((5, 2, 8), (4, 2, 8))),
        Case("TransformerEncoder", lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, 0.0), 2, nn.LayerNorm(8), enable_nested_tensor=False), ((5, 2, 8),)),
        Case("Transformer", lambda nn: nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True),
             ((2, 5, 8), (2, 4, 8)), tolerance=3e-5),
    ]


CASES = (_activations() + _linear() + _norms() + _convolutions() + _pools() + _losses() + _recurrent()
         + _attention())


def run(case: Case, torch: Any, load: dict[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
    """What the layer of a module with torch's API gives: weights, repr, outputs, gradients, buffers after."""
    torch.manual_seed(0)
    layer = case.build(torch.nn)
    found = {"repr": np.array(repr(layer))}
    for name, value in layer.state_dict().items():
        found["init." + name] = value.numpy().copy()
    if load is not None:
        layer.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in load.items()})
    if case.eval:
        layer.eval()
    inputs, kwargs = _arguments(case, torch)
    outs = list(_tensors(layer(*inputs, **kwargs)))
    for i, out in enumerate(outs):
        found[f"out.{i}"] = out.detach().numpy().copy()
    parts = [(out * _weight(torch, out)).sum() for out in outs if out.requires_grad]
    if parts:
        sum(parts).backward()
    named = [*((str(i), x) for i, x in enumerate(inputs)), *layer.named_parameters()]
    found.update((f"grad.{name}", x.grad.numpy().copy()) for name, x in named if x.grad is not None)
    found.update((f"after.{name}", value.numpy().copy()) for name, value in layer.named_buffers())
    return found


def _arguments(case: Case, torch: Any) -> tuple[list, dict]:
    rng = np.random.default_rng(sum(map(ord, case.name)))
    inputs = []
    for shape in case.inputs:
        x = torch.from_numpy(drawn(shape, rng))
        wanted = x.is_floating_point() and shape[0] not in ("target", "simplex", "sign")
        inputs.append(x.requires_grad_() if wanted else x)
    return inputs, {k: torch.from_numpy(drawn(v, rng)) if isinstance(v, tuple) and isinstance(v[0], str) else v
                    for k, v in case.kwargs.items()}


def _weight(torch: Any, out: Any) -> Any:
    """Numbers that make the sum of the outputs a loss with all gradients different."""
    return torch.from_numpy(np.cos(np.arange(out.numel(), dtype=np.float32)).reshape(tuple(out.shape)))


def _tensors(out: Any):
    if isinstance(out, (tuple, list)):
        for part in out:
            yield from _tensors(part)
    elif out is not None:
        yield out
