"""The examples run alone, agree with themselves, stay quiet in a pipe, and use PyTorch's names only."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import treadle

EXAMPLES = Path(__file__).parent.parent / "examples"
SHORT = {"digits": ("--epochs", "1", "--eager-steps", "4"), "chars": ("--steps", "6", "--eager-steps", "4")}


def run(script, *argv, **env):
    return subprocess.run([sys.executable, str(script), *argv], capture_output=True, text=True, timeout=280,
                          env={**os.environ, **env}, check=False)


@pytest.mark.parametrize("name", SHORT)
def test_an_example_compiles_agrees_and_writes_its_page(name, tmp_path):
    page = tmp_path / "page.html"
    said = run(EXAMPLES / f"{name}.py", *SHORT[name], "--page", str(page))
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stderr == ""  # no warning, and no progress line where no terminal is
    largest = re.search(r"largest difference in 4 steps: (\S+)", said.stdout)
    assert largest and float(largest[1]) < 1e-4, said.stdout
    assert "kernels built" in said.stdout
    text = page.read_text(encoding="utf-8")
    assert "loss.backward()" in text or "backward</b>()" in text
    assert 'class="chip kernel"' in text


@pytest.mark.parametrize("name", SHORT)
def test_a_start_is_timed(name):
    said = run(EXAMPLES / f"{name}.py", "--start")
    assert said.returncode == 0, said.stderr
    assert re.fullmatch(r"  start +\d+\.\d\d s: import .* from the cache\)\n", said.stdout)


def test_without_a_compiler_there_is_one_warning_and_the_same_answer(tmp_path):
    said = run(EXAMPLES / "digits.py", *SHORT["digits"], TREADLE_CXX=str(tmp_path / "none"),
               TREADLE_CACHE_DIR=str(tmp_path / "cache"))
    assert said.returncode == 0, said.stderr
    assert said.stderr.count("Warning") == 1 and "TREADLE_CXX" in said.stderr
    assert "largest difference in 4 steps: 0.0e+00" in said.stdout


def example(name):
    """The example as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def losses(name, count, dtype, compiled):
    module = example(name)
    treadle.set_default_dtype(dtype)
    try:
        bar = module.Bar(count)
        if name == "digits":
            images, labels, _, _ = module.load()
            model, data = module.make_model(), module.head(images.to(dtype), labels, count)
        else:
            letters, text, _ = module.load()
            model, data = module.make_model(letters), module.batches(text, count)
        step = module.make_step(model, count)
        return module.run(treadle.compile(step) if compiled else step, data, bar)[0]
    finally:
        treadle.set_default_dtype(treadle.float32)


@pytest.mark.parametrize(("name", "count", "dtype", "bound"), [
    ("digits", 20, treadle.float32, 1e-4),
    ("digits", 30, treadle.float64, 1e-9),
    pytest.param("digits", 200, treadle.float64, 1e-9, marks=pytest.mark.slow),
    pytest.param("chars", 20, treadle.float32, 1e-4, marks=pytest.mark.slow),
    pytest.param("chars", 200, treadle.float64, 1e-9, marks=pytest.mark.slow),
])
def test_compiled_training_is_eager_training(name, count, dtype, bound):
    eager, compiled = (losses(name, count, dtype, c) for c in (False, True))
    assert len(eager) == count and eager[-1] < eager[0]
    for n, (a, b) in enumerate(zip(eager, compiled, strict=True)):
        assert abs(a - b) <= bound * abs(a), f"step {n + 1}: eager {a!r}, compiled {b!r}"


def test_other_data_is_refused(tmp_path):
    shutil.copy(EXAMPLES / "digits.py", tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "digits.csv.gz").write_bytes(b"0,1,2")
    said = run(tmp_path / "digits.py")
    assert said.returncode == 1 and "SHA-256" in said.stderr


def test_the_data_is_described():
    text = (EXAMPLES / "data" / "README.md").read_text()
    source = (EXAMPLES / "digits.py").read_text()
    assert re.search(r'SHA256 = "(\w{64})"', source)[1] in text
    assert "CC BY 4.0" in text and "Alpaydin" in text


@pytest.mark.torch
@pytest.mark.parametrize("name", SHORT)
def test_an_example_runs_on_torch(name, tmp_path):
    """Only the imports change, and compile is left out: explain() is treadle's."""
    text = (EXAMPLES / f"{name}.py").read_text()
    text = text.replace("import treadle as torch", "import torch\ntorch.compile = lambda step: step")
    text = text.replace("import treadle.nn", "import torch.nn").replace("from treadle import nn", "from torch import nn")
    text = text.replace("    print_start(step, seconds)\n", "")
    if name == "digits":
        shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    script = tmp_path / f"{name}.py"
    script.write_text(text)
    said = run(script, *SHORT[name])
    assert said.returncode == 0, said.stderr
    assert "largest difference in 4 steps: 0.0e+00" in said.stdout
