"""Every layer against PyTorch's stored values: repr, state_dict keys, initial weights, results, gradients."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import treadle

sys.path.insert(0, str(Path(__file__).parent))
from layer_cases import CASES, run
from make_stored import STORED


@pytest.fixture(scope="module")
def stored() -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(STORED) as file:
        for key in file.files:
            name, _, part = key.partition("|")
            found.setdefault(name, {})[part] = file[key]
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_layer_is_torchs(case, stored):
    want = stored[case.name]
    weights = {key[5:]: value for key, value in want.items() if key.startswith("init.")}
    got = run(case, treadle, weights)
    assert str(got["repr"]) == str(want["repr"])
    if not case.random:
        assert list(got) == list(want)
    for key, value in want.items():
        if key == "repr":
            continue
        assert got[key].shape == value.shape and got[key].dtype == value.dtype, key
        if key.startswith("init."):  # uniforms bit for bit, normals within 2 ulp
            np.testing.assert_allclose(got[key], value, rtol=3e-7, atol=0, err_msg=key)
        else:
            np.testing.assert_allclose(got[key], value, rtol=case.tolerance, atol=case.tolerance, err_msg=key)
