"""Writes PyTorch's values of all layer cases to `stored_layers.npz`: python tests/nn/make_stored.py"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from layer_cases import CASES, run

STORED = Path(__file__).with_name("stored_layers.npz")


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    found = {}
    for case in CASES:
        for key, value in run(case, torch).items():
            if not (case.random and key != "repr" and not key.startswith("init")):
                found[f"{case.name}|{key}"] = value
    np.savez_compressed(STORED, **found)


if __name__ == "__main__":
    main()
