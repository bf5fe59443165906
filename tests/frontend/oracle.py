"""The same expressions in PyTorch and in treadle: what they give, or how they fail.

An expression reads `T` (the package), `F` (nn.functional) and the inputs below. Where torch is not
installed, its answers come from reference.npz, written by `python tests/frontend/oracle.py`
(with torch installed).
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np

REFERENCE = Path(__file__).with_name("reference.npz")


def arrays() -> dict[str, np.ndarray]:
    """The inputs, by name: x y z floats of (3, 4); v w vectors; m a square; i j k integers; b c bools; ..."""
    rng = np.random.default_rng(7)
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    base = f(4, 4)
    return {
        "x": f(3, 4), "y": f(3, 4), "z": f(2, 3, 4), "row": f(1, 4), "v": f(4), "w": f(4), "s": f(), "u": f(3, 1),
        "m": base, "spd": base @ base.T + 4 * np.eye(4, dtype=np.float32), "q": f(2, 4, 5), "img": f(2, 4, 6, 5),
        "d": f(3, 4).astype(np.float64), "pos": np.abs(f(3, 4)) + 0.1, "unit": np.tanh(f(3, 4)) * 0.95,
        "special": np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5], np.float32),
        "i": rng.integers(-5, 6, (3, 4)), "j": rng.integers(1, 5, (3, 4)), "k": rng.integers(0, 3, (5,)),
        "places": rng.integers(0, 3, (3, 4)), "short": rng.integers(-9, 9, (3, 4)).astype(np.int16),
        "byte": rng.integers(0, 255, (3, 4)).astype(np.uint8), "b": rng.random((3, 4)) > 0.5,
        "c": rng.random((3, 4)) > 0.3, "cplx": (f(3, 4) + 1j * f(3, 4)).astype(np.complex64),
        "e": np.zeros((0, 3), np.float32), "half": f(3, 4).astype(np.float16), "labels": rng.integers(0, 4, (3,)),
    }


def _weights(shape):
    return np.cos(np.arange(int(np.prod(shape)), dtype=np.float64)).reshape(shape)


def _flat(value):
    """A result as a list of leaves: tensors, numbers, strings."""
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [leaf for v in value for leaf in _flat(v)]
    return [tuple(value) if type(value).__name__ == "Size" else value]


def run(lib, expression: str):
    """('ok', leaves, gradients) or ('error', type, message) of an expression under a library."""
    functional = importlib.import_module(lib.__name__ + ".nn.functional")
    names = {n: lib.tensor(a) for n, a in arrays().items()}
    grads = [n for n, t in names.items() if t.dtype in (lib.float32, lib.float64) and t.numel() and n != "special"]
    for n in grads:
        names[n].requires_grad_()
    leaf = dict(names)
    scope = {"T": lib, "F": functional, "np": np, "inf": float("inf"), "nan": float("nan"), **names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = _flat(_evaluate(expression, scope))
            found = _gradients(lib, out, {n: leaf[n] for n in grads})
        except Exception as error:
            return "error", type(error), str(error)
    return "ok", [_plain(v) for v in out], found


def _evaluate(expression, scope):
    *before, last = [part.strip() for part in expression.split(";")]
    for part in before:
        exec(part, scope)
    return eval(last, scope)


def _is_tensor(v):
    return hasattr(v, "detach")


def _gradients(lib, out, leaves):
    roots = [v for v in out if _is_tensor(v) and v.requires_grad and v.dtype in (lib.float32, lib.float64)]
    if not roots:
        return {}
    total = None
    for v in roots:
        term = (v * lib.tensor(_weights(tuple(v.shape))).to(v.dtype)).sum().to(lib.float64)
        total = term if total is None else total + term
    if not total.requires_grad:
        return {}
    total.backward()
    return {n: _plain(t.grad) for n, t in leaves.items() if t.grad is not None}


def _plain(v):
    """(dtype name, array) of a tensor; (type name, value) of anything else."""
    if _is_tensor(v):
        v = v.detach()
        name = str(v.dtype).split(".")[-1]
        if name == "bfloat16":
            v = v.float()
        return name, np.array(v.resolve_conj().numpy())
    kind = type(v).__name__
    if kind.lower() == "dtype":
        return "dtype", str(v).split(".")[-1]
    return kind, v if isinstance(v, (bool, int, float, complex, str, tuple, type(None))) else str(v)


def tolerance(name: str) -> tuple[float, float]:
    return {"float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "float64": (1e-7, 1e-7)}.get(name, (3e-5, 3e-5))


def differs(mine, theirs) -> str:
    """What is different in two outcomes of `run`, or ''."""
    if mine[0] != theirs[0]:
        return f"treadle: {mine[:3]}, torch: {theirs[:3]}"
    if mine[0] == "error":
        return _error_differs(mine, theirs)
    if len(mine[1]) != len(theirs[1]):
        return f"{len(mine[1])} results, torch has {len(theirs[1])}"
    for place, (a, b) in enumerate(zip(mine[1], theirs[1], strict=True)):
        if said := _leaf_differs(a, b):
            return f"result {place}: {said}"
    for name in mine[2].keys() | theirs[2].keys():
        zero = ("float32", np.zeros_like(arrays()[name]))
        if said := _leaf_differs(mine[2].get(name, zero), theirs[2].get(name, zero), loose=20):
            return f"gradient of {name}: {said}"
    return ""


def _error_differs(mine, theirs):
    kinds = [t.__name__ for t in mine[1].__mro__]
    if theirs[1].lstrip("_") not in kinds:
        return f"{mine[1].__name__}({mine[2]!r}) is no {theirs[1]}({theirs[2]!r})"
    return ""


def _leaf_differs(a, b, loose=1):
    if a[0] != b[0]:
        return f"{a[0]}, torch gives {b[0]}"
    if not isinstance(a[1], np.ndarray):
        same = a[1] == b[1] or (isinstance(a[1], float) and np.allclose(a[1], b[1], 1e-5, 1e-6, equal_nan=True))
        return "" if same else f"{a[1]!r}, torch gives {b[1]!r}"
    if a[1].shape != np.shape(b[1]):
        return f"shape {a[1].shape}, torch gives {np.shape(b[1])}"
    rtol, atol = tolerance(a[0])
    if np.allclose(a[1], b[1], rtol * loose, atol * loose, equal_nan=True):
        return ""
    return f"{a[1]}, torch gives {b[1]}"


def have_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def torch_says(expression: str):
    """PyTorch's outcome, with the error's type as a name."""
    import torch

    out = run(torch, expression)
    return (out[0], out[1].__name__, out[2]) if out[0] == "error" else out


# stored answers -----------------------------------------------------------------------------------------
def encode(outcomes: dict) -> dict[str, np.ndarray]:
    """Outcomes as arrays: a JSON text, and per dtype all numbers in one line, which the text points into."""
    lines: dict[str, list] = {}
    ends: dict[str, int] = {}

    def leaf(pair):
        name, value = pair
        if isinstance(value, np.ndarray):
            kind, start = str(value.dtype), ends.get(str(value.dtype), 0)
            lines.setdefault(kind, []).append(value.reshape(-1))
            ends[kind] = start + value.size
            return [name, "array", [kind, start, list(value.shape)]]
        if isinstance(value, complex):
            return [name, "complex", [value.real, value.imag]]
        return [name, "tuple", list(value)] if isinstance(value, tuple) else [name, "plain", value]

    plan = {e: [*out] if out[0] == "error" else ["ok", [leaf(v) for v in out[1]], {n: leaf(v) for n, v in out[2].items()}]
            for e, out in outcomes.items()}
    held = {kind: np.concatenate(parts) for kind, parts in lines.items()}
    held["plan"] = np.frombuffer(json.dumps(plan).encode(), np.uint8)
    return held


def stored() -> dict:
    """The outcomes that reference.npz holds, by expression."""
    with np.load(REFERENCE) as held:
        lines = {n: held[n] for n in held.files}

    def leaf(entry):
        name, form, value = entry
        if form == "array":
            kind, start, shape = value
            return name, lines[kind][start:start + int(np.prod(shape))].reshape(shape)
        return name, complex(*value) if form == "complex" else tuple(value) if form == "tuple" else value

    plan = json.loads(lines.pop("plan").tobytes().decode())
    return {e: tuple(out) if out[0] == "error" else ("ok", [leaf(v) for v in out[1]], {
        n: leaf(v) for n, v in out[2].items()}) for e, out in plan.items()}


def all_cases() -> list[str]:
    """Every expression of the case files, once."""
    out: dict[str, None] = {}
    for path in sorted(Path(__file__).with_name("cases").glob("*.txt")):
        for line in path.read_text().splitlines():
            if line.strip() and not line.lstrip().startswith("#"):
                out[line.strip()] = None
    return list(out)


def cases(name: str) -> list[str]:
    """The expressions of one case file."""
    text = Path(__file__).with_name("cases").joinpath(name + ".txt").read_text()
    return list(dict.fromkeys(line.strip() for line in text.splitlines()
                              if line.strip() and not line.lstrip().startswith("#")))


if __name__ == "__main__":
    np.savez_compressed(REFERENCE, **encode({e: torch_says(e) for e in all_cases()}))
