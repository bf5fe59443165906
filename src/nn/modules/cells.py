"""RNNCell, LSTMCell, GRUCell: one time step."""

from __future__ import annotations

import math

from ...frontend.declare import declare_attrs
from ...frontend.functions.create import empty, zeros
from ...frontend.tensor import Tensor
from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import Parameter
from ..recurrent import gru_layer, lstm_layer, rnn_layer
from .module import Module


class RNNCellBase(Module):
    """The weights of a cell."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None,
                 dtype=None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights uniformly within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _prepare(self, input: Tensor, states: tuple | None, count: int) -> tuple[Tensor, list[Tensor]]:
        """Input and states with a batch dim; zero states where none are given."""
        declare_attrs(self, ("hidden_size", "bias"))
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        for i, state in enumerate(states or ()):
            if state.ndim not in (1, 2):
                what = "hidden" if count == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {state.ndim}D instead")
        x = input if input.ndim == 2 else input.unsqueeze(0)
        if states is None:
            states = (zeros(x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device),) * count
        elif input.ndim == 1:
            states = tuple(s.unsqueeze(0) for s in states)
        self._check(x, states)
        return x, list(states)

    def _check(self, x: Tensor, states) -> None:
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        for i, state in enumerate(states):
            if state.shape[0] != x.shape[0]:
                raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size "
                                   f"{state.shape[0]}")
            if state.shape[1] != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {state.shape[1]}, expected "
                                   f"{self.hidden_size}")

    def _gates(self, x: Tensor, with_hidden_bias: bool) -> Tensor:
        """The input's share of the gates, as a sequence of one step."""
        gx = F.linear(x, self.weight_ih, self.bias_ih)
        if with_hidden_bias and self.bias_hh is not None:
            gx = gx + self.bias_hh
        return gx.unsqueeze(0)


class RNNCell(RNNCellBase):
    """h = tanh (or relu) of x W_ih' + b_ih + h W_hh' + b_hh."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Returns the new state, (batch, hidden_size) or (hidden_size,)."""
        declare_attrs(self, ("nonlinearity",))
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        x, states = self._prepare(input, None if hx is None else (hx,), 1)
        y, _ = rnn_layer(self._gates(x, True), *states, self.weight_hh, reverse=False,
                         relu=self.nonlinearity == "relu")
        return y[0] if input.ndim == 2 else y[0][0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Returns (h, c), each (batch, hidden_size) or (hidden_size,)."""
        x, states = self._prepare(input, None if hx is None else tuple(hx), 2)
        y, cells, _ = lstm_layer(self._gates(x, True), *states, self.weight_hh, reverse=False)
        return (y[0], cells[0]) if input.ndim == 2 else (y[0][0], cells[0][0])


class GRUCell(RNNCellBase):
    """One step of a GRU."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Returns the new state, (batch, hidden_size) or (hidden_size,)."""
        x, states = self._prepare(input, None if hx is None else (hx,), 1)
        b = self.bias_hh
        if b is None:
            b = zeros(self.weight_hh.shape[0], dtype=x.dtype, device=x.device)
        y, _ = gru_layer(self._gates(x, False), *states, self.weight_hh, b, reverse=False)
        return y[0] if input.ndim == 2 else y[0][0]
