"""Import time, installed size, and how many kernels a GPT step needs at depth 4 and 48.

    python bench/start.py import | size | depth
"""
import json
import pathlib
import subprocess
import sys
import time

CORE = ("numpy", "numpy.libs", "ml_dtypes", "sympy", "mpmath", "networkx", "treadle", "isympy.py")


def import_time(runs=9):
    """Median seconds of `import treadle` in a new process, and of numpy alone."""
    def once(name):
        code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)

    return {name: sorted(once(name) for _ in range(runs))[runs // 2] for name in ("numpy", "treadle")}


def installed_size():
    """Megabytes of each core dependency where it is installed."""
    import numpy

    site = pathlib.Path(numpy.__file__).parent.parent

    def size(path):
        files = [path] if path.is_file() else path.rglob("*")
        return sum(f.stat().st_size for f in files if f.is_file()) / 1e6

    sizes = {p.name: round(size(p), 1) for p in site.iterdir()
             if p.name in CORE or any(p.name.startswith(c.split(".")[0] + "-") for c in CORE)}
    return sizes | {"total": round(sum(sizes.values()), 1)}


def kernels(depth):
    """Distinct kernels and seconds to the first compiled step of the GPT workload."""
    import treadle as T
    import workloads

    T.manual_seed(0)
    model, x, y = workloads.gpt(T, L=depth)
    opt = T.optim.AdamW(model.parameters(), 1e-3)

    @T.compile
    def step(x, y):
        opt.zero_grad()
        loss = workloads.lm_loss(T)(model, x, y)
        loss.backward()
        opt.step()
        return loss

    start = time.perf_counter()
    for _ in range(3):
        step(x, y)
    return dict(depth=depth, seconds=round(time.perf_counter() - start, 2), **step.explain().counts)


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "import":
        print(json.dumps(import_time()))
    elif what == "size":
        print(json.dumps(installed_size()))
    else:
        for depth in (4, 48):
            print(json.dumps(kernels(depth)), flush=True)
