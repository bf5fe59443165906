"""RNN, LSTM, GRU."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ...frontend.autocast import cast_inputs, state as autocast_state
from ...frontend.declare import declare_attrs
from ...frontend.functions.create import empty, zeros
from ...frontend.functions.join import cat
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import Parameter
from ..recurrent import gru_layer, lstm_layer, rnn_layer
from ..utils.packing import PackedSequence, Padded
from .cells import GRUCell as GRUCell, LSTMCell as LSTMCell, RNNCell as RNNCell, RNNCellBase as RNNCellBase
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_READ = ("mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
         "proj_size", "training", "_all_weights")


class RNNBase(Module):
    """What LSTM, GRU and RNN share: the weights of all layers and directions, and the walk through them."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 proj_size: int = 0, device=None, dtype=None) -> None:
        super().__init__()
        _check(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(self._directions):
                names = []
                for kind, shape in self._shapes(layer).items():
                    name = f"{kind}_l{layer}{'_reverse' * direction}"
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                    names.append(name)
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _out_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        gates = _GATES[self.mode] * self.hidden_size
        size = self.input_size if layer == 0 else self._out_size * self._directions
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, size), "weight_hh": (gates, self._out_size)}
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def reset_parameters(self) -> None:
        """Draws all weights uniformly within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: weights need not lie in one block here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def __setstate__(self, state: dict) -> None:
        state = {k: v for k, v in state.items() if k not in ("_flat_weights", "_flat_weights_names")}
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False),
                            ("dropout", 0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    # checks ---------------------------------------------------------------------------------------
    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """RuntimeError or ValueError unless the input has the right dtype, dims and size."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype and not autocast_state.any:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert "
                             f"input: input.to({weight.dtype}), or convert model: model.to({input.dtype})")
        dims = 3 if batch_sizes is None else 2
        if input.ndim != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                               f"{input.shape[-1]}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Returns (layers * directions, batch, size of the hidden state)."""
        batch = (int(batch_sizes[0]) if batch_sizes is not None
                 else input.shape[0 if self.batch_first else 1])
        return self.num_layers * self._directions, batch, self._out_size

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple,
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """RuntimeError unless hx has the expected size."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    # running --------------------------------------------------------------------------------------
    def _run(self, input: Any, states: tuple[Tensor, ...] | None) -> tuple[Any, tuple[Tensor, ...]]:
        """(output, final states) for a tensor with or without batch, or a packed sequence."""
        declare_attrs(self, _READ)
        if isinstance(input, PackedSequence):
            return self._run_packed(input, states)
        name = type(self).__name__
        if input.ndim not in (2, 3):
            tail = "D tensor instead" if self.mode.startswith("RNN") else "D instead"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.ndim}{tail}")
        batched, dim = input.ndim == 3, 0 if self.batch_first else 1
        if states is not None:
            self._check_dims(states, batched)
            states = states if batched else tuple(s.unsqueeze(1) for s in states)
        x = input if batched else input.unsqueeze(dim)
        states = self._checked_states(x, states, None)
        y, finals = self._layers(x.transpose(0, 1) if self.batch_first else x, states, None)
        y = y.transpose(0, 1) if self.batch_first else y
        if not batched:
            y, finals = y.squeeze(dim), tuple(s.squeeze(1) for s in finals)
        return y, finals

    def _run_packed(self, packed: PackedSequence, states):
        if states is not None and packed.sorted_indices is not None:
            states = tuple(s.index_select(1, packed.sorted_indices) for s in states)
        states = self._checked_states(packed.data, states, packed.batch_sizes)
        padded = Padded.of(packed.batch_sizes)
        y, finals = self._layers(padded.spread(packed.data), states, padded.mask(packed.data))
        out = PackedSequence(padded.gathered(y), packed.batch_sizes, packed.sorted_indices,
                             packed.unsorted_indices)
        if packed.unsorted_indices is not None:
            finals = tuple(s.index_select(1, packed.unsorted_indices) for s in finals)
        return out, finals

    def _check_dims(self, states, batched: bool) -> None:
        dims = 3 if batched else 2
        if states[0].ndim != dims:
            raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be "
                               f"{dims}-D but got {states[0].ndim}-D tensor")

    def _checked_states(self, x: Tensor, states, batch_sizes):
        self.check_input(x, batch_sizes)
        size = self.get_expected_hidden_size(x, batch_sizes)
        if states is None:
            return (zeros(size, dtype=x.dtype, device=x.device),)
        self.check_hidden_size(states[0], size)
        return states

    def _layers(self, x: Tensor, states: tuple[Tensor, ...], mask: Tensor | None):
        """(output, final states) of all layers; time comes first."""
        x, *states = cast_inputs("lstm", x, *states)
        finals: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            outs = []
            for direction in range(self._directions):
                place = layer * self._directions + direction
                weights = [getattr(self, name) for name in self._all_weights[place]]
                y, ends = self._layer(x, [s[place] for s in states], weights, mask, bool(direction))
                outs.append(y)
                for found, end in zip(finals, ends, strict=True):
                    found.append(end)
            x = outs[0] if len(outs) == 1 else cat(outs, -1)
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(cat([e.unsqueeze(0) for e in found], 0) for found in finals)

    def _layer(self, x, states, weights, mask, reverse: bool):
        """(output, [state after the last step]) of one layer in one direction."""
        raise NotImplementedError


def _weights(weights: list, bias: bool) -> tuple:
    """(w_ih, w_hh, b_ih, b_hh, w_hr), None for what there is not."""
    w_ih, w_hh, *rest = weights
    b_ih, b_hh = rest[:2] if bias else (None, None)
    rest = rest[2:] if bias else rest
    return (*cast_inputs("lstm", w_ih, w_hh), b_ih, b_hh, *cast_inputs("lstm", *rest)) if rest else (
        *cast_inputs("lstm", w_ih, w_hh), b_ih, b_hh, None)


def _gates(x: Tensor, w: Tensor, *biases: Tensor | None) -> Tensor:
    """x's share of the gates, with all biases that just add."""
    out = F.linear(x, w, biases[0])
    return out if len(biases) < 2 or biases[1] is None else out + biases[1].to(out.dtype)


def _end(y: Tensor, reverse: bool) -> Tensor:
    return y[0 if reverse else -1]


class LSTM(RNNBase):
    """Long short-term memory over (time, batch, input_size): returns output, (h_n, c_n).

    >>> import treadle
    >>> output, (h_n, c_n) = LSTM(10, 20, 2)(treadle.zeros(5, 3, 10))
    >>> output.shape, h_n.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None):
        """Returns output, (h_n, c_n); packed input gives packed output."""
        output, states = self._run(input, None if hx is None else tuple(hx))
        return output, states

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Returns (layers * directions, batch, hidden_size)."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def _check_dims(self, states, batched: bool) -> None:
        dims = 3 if batched else 2
        if any(s.ndim != dims for s in states):
            raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx and cx should also "
                               f"be {dims}-D but got ({states[0].ndim}-D, {states[1].ndim}-D) tensors")

    def _checked_states(self, x: Tensor, states, batch_sizes):
        self.check_input(x, batch_sizes)
        sizes = (self.get_expected_hidden_size(x, batch_sizes), self.get_expected_cell_size(x, batch_sizes))
        if states is None:
            return tuple(zeros(size, dtype=x.dtype, device=x.device) for size in sizes)
        for i, (state, size) in enumerate(zip(states, sizes, strict=True)):
            self.check_hidden_size(state, size, f"Expected hidden[{i}] size {{}}, got {{}}")
        return states

    def _layer(self, x, states, weights, mask, reverse):
        w_ih, w_hh, b_ih, b_hh, w_hr = _weights(weights, self.bias)
        gx = _gates(x, w_ih, b_ih, b_hh)
        more = [v for v in (mask, w_hr) if v is not None]
        if w_hr is not None and mask is None:
            more = [full_mask(gx), w_hr]
        y, cells, _ = lstm_layer(gx, *states, w_hh, *more, reverse=reverse)
        return y, [_end(y, reverse), _end(cells, reverse)]


def full_mask(gx: Tensor) -> Tensor:
    """A mask of no padding."""
    from ...frontend.functions.create import ones

    return ones(gx.shape[0], gx.shape[1], 1, dtype=gx.dtype, device=gx.device)


class _OneState(RNNBase):
    def forward(self, input: Any, hx: Tensor | None = None):
        """Returns output, h_n; packed input gives packed output."""
        output, (state,) = self._run(input, None if hx is None else (hx,))
        return output, state


class GRU(_OneState):
    """Gated recurrent units over (time, batch, input_size): returns output, h_n."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def _layer(self, x, states, weights, mask, reverse):
        w_ih, w_hh, b_ih, b_hh, _ = _weights(weights, self.bias)
        b = zeros(w_hh.shape[0], dtype=x.dtype, device=x.device) if b_hh is None else b_hh.to(x.dtype)
        more = [] if mask is None else [mask]
        y, _ = gru_layer(_gates(x, w_ih, b_ih), *states, w_hh, b, *more, reverse=reverse)
        return y, [_end(y, reverse)]


class RNN(_OneState):
    """h = tanh(x W_ih' + b_ih + h W_hh' + b_hh) over (time, batch, input_size): returns output, h_n."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        chosen = args[3] if len(args) > 3 else kwargs.pop("nonlinearity", "tanh")
        if chosen not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{chosen}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{chosen.upper()}", *args[:3], *args[4:], **kwargs)
        self.nonlinearity = chosen

    def _layer(self, x, states, weights, mask, reverse):
        w_ih, w_hh, b_ih, b_hh, _ = _weights(weights, self.bias)
        more = [] if mask is None else [mask]
        y, _ = rnn_layer(_gates(x, w_ih, b_ih, b_hh), *states, w_hh, *more, reverse=reverse,
                         relu=self.mode == "RNN_RELU")
        return y, [_end(y, reverse)]


def _refuse_projection(kwargs: dict) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


def _check(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element "
                         "being zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                      f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                      stacklevel=4)
    for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool),
                              ("input_size", input_size, int), ("hidden_size", hidden_size, int)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
