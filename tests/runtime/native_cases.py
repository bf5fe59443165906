"""Shared by the tests of building and running: kernels, child processes, compilers that misbehave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from treadle.runtime import plan as plans

HEAD = "(void *const *p, const long *n, long begin, long end, long *err)"


def fill_text(symbol: str, value: int) -> str:
    """A kernel that writes one value over its range of floats."""
    return f"""extern "C" void {symbol}{HEAD} {{
    float *out = (float *)p[0];
    for (long i = begin; i < end; i++) out[i] = {value};
}}"""


ADD = f"""extern "C" void add{HEAD} {{
    float *out = (float *)p[0];
    const float *x = (const float *)p[1];
    for (long i = begin; i < end; i++) out[i] = x[i] + n[0];
}}"""

CHECK = f"""extern "C" void check{HEAD} {{
    const float *x = (const float *)p[0];
    for (long i = begin; i < end; i++)
        if (x[i] < 0) {{
            err[0] = 7;
            err[1] = i;
            return;
        }}
}}"""

SLOW = f"""extern "C" void slow{HEAD} {{
    volatile long turns = 0;
    for (long i = begin; i < end; i++)
        for (long j = 0; j < n[0]; j++) turns = turns + 1;
    ((long *)p[0])[begin] += 1;
}}"""


def call_fill(address: int, count: int = 5) -> np.ndarray:
    """What a kernel of `fill_text` at this address writes."""
    out = np.zeros(count, np.float32)
    step = plans.KernelStep(address, (plans.Ref(0),), (), count, count)
    run_steps([step], out)
    return out


def run_steps(steps: list, *arrays: np.ndarray, host=None) -> None:
    """Runs steps once on arrays by slot."""
    made = plans.make_plan(steps, slots=len(arrays))
    made.run(table_of(made, *arrays), host)


def table_of(made: plans.Plan, *arrays: np.ndarray) -> plans.Table:
    table = made.new_table()
    for slot, array in enumerate(arrays):
        table[slot] = array.ctypes.data
    return table


def child(code: str, *args: str, **environment: str | None) -> subprocess.Popen[str]:
    """Starts Python on `code`; an environment value of None unsets the name."""
    merged: dict[str, str | None] = {**os.environ, **environment}
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env={name: value for name, value in merged.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str], *, code: int = 0) -> str:
    """What a child printed; it must end with this status within a minute."""
    out, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    return out.strip()


def script(path: Path, body: str) -> str:
    """Writes an executable shell script and returns its path."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def counting_compiler(folder: Path, log: Path) -> str:
    """A compiler that notes each compilation, one line each, and then does it."""
    return script(folder / "counting-c++", f'[ "$1" = --version ] || echo x >> {log}\nexec g++ "$@"')
