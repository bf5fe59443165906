"""Eager against compiled, step by step: the largest relative difference of the loss.

    python bench/equality.py                 # mlp, gpt, conv: float64, 200 steps
    python bench/equality.py --dtype float32 --steps 20
    python bench/equality.py --torch         # first five float32 losses against PyTorch, same seed
"""
import argparse
import importlib
import json

import workloads

NAMES = {"mlp": "mlp_train", "gpt": "gpt_train", "conv": "conv_train"}


class Keep:
    """Stands in for `compile` in the workloads: whole steps, compiled or not."""

    whole = True

    def __init__(self, T, compiled):
        self.T, self.compiled = T, compiled

    def __call__(self, f):
        return self.T.compile(f) if self.compiled else f


def losses(module, name, steps, dtype, compiled, nudge=False):
    T = importlib.import_module(module)
    T.manual_seed(0)
    T.set_default_dtype(getattr(T, dtype))
    step = workloads.WORKLOADS[NAMES[name]](T, Keep(T, compiled))
    if nudge:
        nudge_input(T, step)
    return [float(step().detach()) for _ in range(steps)]


def nudge_input(T, step):
    """Moves the first float tensor the step closes over by one unit in the last place."""
    for cell in step.__closure__ or ():
        for t in cell.cell_contents if isinstance(cell.cell_contents, tuple) else ():
            if t.is_floating_point():
                t.view(-1)[0] = float(T.nextafter(t.view(-1)[0], T.tensor(9.0, dtype=t.dtype)))
                return


def relative(a, b):
    return max(abs(x - y) / max(abs(x), 1e-30) for x, y in zip(a, b, strict=True))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--models", nargs="*", default=list(NAMES))
    ap.add_argument("--dtype", default="float64")
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--torch", action="store_true")
    a = ap.parse_args()
    for name in a.models:
        row = dict(model=name, dtype=a.dtype, steps=a.steps)
        if a.torch:
            want = losses("torch", name, 5, "float32", False)
            for mode in (False, True):
                got = losses("treadle", name, 5, "float32", mode)
                row["compiled" if mode else "eager"] = relative(want, got)
            row |= dict(dtype="float32", steps=5, against="torch", losses=want)
        else:
            eager = losses("treadle", name, a.steps, a.dtype, False)
            row["difference"] = relative(eager, losses("treadle", name, a.steps, a.dtype, True))
            row["last"] = eager[-1]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
