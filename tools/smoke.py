"""Whether an installed treadle works: import, the command, one compiled training step. Run outside the repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import treadle as tl


def main() -> None:
    place = Path(tl.__file__).parent
    assert place.name == "treadle" and "site-packages" in place.parts, f"not the installed package: {place}"
    assert not any(name.partition(".")[0] == "src" for name in sys.modules)
    for needed in ("py.typed", "codegen/prelude/base.h", "runtime/native/abi.cpp"):
        assert (place / needed).exists(), f"{needed} is not in the wheel"
    version = subprocess.run([Path(sys.executable).with_name("treadle"), "--version"], capture_output=True,
                             text=True, check=True).stdout
    assert tl.__version__ in version, version
    eager, compiled = losses(lambda step: step), losses(tl.compile)
    assert eager == compiled and compiled[-1] < compiled[0], (eager, compiled)
    print(f"smoke: {version.strip()} works from {place}")


def losses(wrap) -> list[float]:
    """The losses of ten steps of a linear model."""
    tl.manual_seed(0)
    model = tl.nn.Linear(4, 1)
    optimizer = tl.optim.SGD(model.parameters(), lr=0.1)
    x = tl.arange(32).reshape(8, 4) / 32

    @wrap
    def step(x):
        optimizer.zero_grad()
        loss = ((model(x) - x[:, :1]) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return [round(step(x).item(), 5) for _ in range(10)]


if __name__ == "__main__":
    main()
