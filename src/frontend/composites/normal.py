"""The error function where gelu needs it, in place and in few passes."""

from __future__ import annotations

import numpy as np

from ...ir import special

# erf(x) = tanh(x p(x^2) / q(x^2)), by weighted least squares on |x| <= 4.3: in exact arithmetic within
# 3.4e-9. No coefficient is negative, so nothing cancels; q's highest is 1. Beyond, tanh is 1.
_P = tuple(map(np.float32, (6.70396315469465, 131.25060322673167, 861.1434391181328, 3472.7394301278364)))
_Q = tuple(map(np.float32, (72.90899590515296, 482.8582051846411, 3077.6351778297385)))
_FAR = np.float32(64)


def erf_into(x: np.ndarray, out: np.ndarray, work: np.ndarray) -> None:
    """Writes erf(x) to `out`; x may be `out`. In float32 within 3 units of the last place."""
    if x.dtype != np.float32:
        out[...] = special.erf(x)
        return
    square = np.multiply(x, x, out=work)
    np.minimum(square, _FAR, out=square)  # else infinity over infinity
    top, bottom = np.multiply(square, _P[0]), np.add(square, _Q[0])
    for p, q in zip(_P[1:-1], _Q[1:], strict=True):
        top += p
        top *= square
        bottom *= square
        bottom += q
    top += _P[-1]
    top /= bottom
    np.multiply(x, top, out=out)
    np.tanh(out, out=out)
