"""The rules of the house that a machine can check; each failure names the file and the remedy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from treadle.ir.op import Kind
from treadle.ir.ops import TABLE
from treadle.ir.passes import PIPELINE
from treadle.ir.scalar import VERBS

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = CONFIG["tool"]["setuptools"]
# docs/design.md, section 4, names all of them
VARIABLES = {"TREADLE_CACHE_DIR", "TREADLE_LOGS", "TREADLE_NUM_THREADS", "TREADLE_CXX", "TREADLE_FAKE_CUDA",
             "TREADLE_DISABLE"}
MOST_LINES, MOST_TEST_LINES = 500, 800
SCALAR_PRIMITIVES, OTHER_PRIMITIVES = 80, 60
WORDS = {"index", "dot", "scatter"}  # codegen's own words for an expression, a step and a stage
# one table whose cases change the globals of the very module they stand in
LONGER_TABLES = {"tests/frontend/watch/test_reads.py": 920}
HEAVY = {"sympy", "networkx", "torch", "triton", "hypothesis", "pytest", "scipy"}


def sources(*suffixes: str, under: Path = SRC) -> list[Path]:
    return sorted(p for p in under.rglob("*") if p.suffix in suffixes and "__pycache__" not in p.parts)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_packages_are_the_folders():
    folders = {p.parent for p in sources(".py")}
    without = [name(f) for f in folders if not (f / "__init__.py").exists()]
    assert not without, f"no __init__.py in {without}"
    found = {".".join(("treadle", *f.relative_to(SRC).parts)) for f in folders}
    listed = SETUPTOOLS["packages"]
    assert set(listed) == found, "tool.setuptools.packages in pyproject.toml must list the folders of src"
    assert listed == sorted(listed)


def test_every_other_file_is_package_data():
    data = SETUPTOOLS["package-data"]
    for path in SRC.rglob("*"):
        if path.is_dir() or path.suffix in (".py", ".pyc") or "__pycache__" in path.parts:
            continue
        package = ".".join(("treadle", *path.parent.relative_to(SRC).parts))
        assert any(path.match(p) for p in data.get(package, ())), f"{name(path)} would not be in the wheel"


def test_no_file_is_a_god():
    files = [(p, MOST_LINES) for p in sources(".py", ".cpp", ".h")]
    files += [(p, MOST_TEST_LINES) for p in sources(".py", under=ROOT / "tests")]
    long = {name(p): n for p, most in files
            if (n := len(p.read_text().splitlines())) > LONGER_TABLES.get(name(p), most)}
    assert not long, f"split these by job: {long}"


def test_packages_say_their_job():
    bare = [name(p) for p in sources(".py") if not ast.get_docstring(ast.parse(p.read_text()))]
    assert not bare, f"no docstring: {bare}"


@pytest.mark.parametrize("path", sources(".py", under=SRC / "codegen"), ids=name)
def test_codegen_knows_kinds_not_names(path):
    """Codegen may make nodes of a row it imports; what a node is, it asks of the kind, never of the name."""
    names = set(TABLE) - VERBS - WORDS
    nodes = list(ast.walk(ast.parse(path.read_text())))
    strings = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    assert not strings & names, "ask for the op's kind, or give its row a column"
    compared = {side.id for n in nodes if isinstance(n, ast.Compare) for side in (n.left, *n.comparators)
                if isinstance(side, ast.Name) and side.id in TABLE
                and any(isinstance(other, ast.Attribute) and other.attr == "target"
                        for other in (n.left, *n.comparators))}
    assert not compared, "ask for the op's kind, or give its row a column"


def test_environment_variables():
    used = {word for p in sources(".py", ".cpp", ".h") for word in re.findall(r"\bTREADLE_[A-Z_]+\b", p.read_text())
            if p.suffix == ".py" or f'getenv("{word}")' in p.read_text()}
    assert used <= VARIABLES, f"not in docs/design.md, section 4: {used - VARIABLES}"


def test_todos_have_an_issue():
    bad = [f"{name(p)}: {line.strip()}" for p in sources(".py", ".cpp", ".h") for line in p.read_text().splitlines()
           if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", line)]
    assert not bad, f"write TODO(#issue): {bad}"


def test_few_primitives():
    """Library rows are opaque calls and composites are composed: neither is a primitive codegen must know."""
    scalar = [op.name for op in TABLE.values() if op.kind is Kind.ELEMENTWISE]
    other = [op.name for op in TABLE.values()
             if op.kind not in (Kind.ELEMENTWISE, Kind.LIBRARY, Kind.COMPOSITE)]
    assert len(scalar) <= SCALAR_PRIMITIVES, f"{len(scalar)}; compose instead: {scalar}"
    assert len(other) <= OTHER_PRIMITIVES, f"{len(other)}; compose instead: {other}"


def test_pipeline_is_short():
    assert len(PIPELINE) <= 12


def test_import_contracts():
    """The four floors, pure ir and codegen, no torch: the contracts of pyproject.toml."""
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_package_stands_on_a_floor():
    layers = " ".join(CONFIG["tool"]["importlinter"]["contracts"][0]["layers"])
    named = set(re.findall(r"[\w.]+", layers))
    missing = [name(p) for p in SRC.iterdir() if (p / "__init__.py").exists() and f"treadle.{p.name}" not in named]
    assert not missing, f"name them in the layers of pyproject.toml: {missing}"


def test_import_is_light():
    code = "import sys, treadle; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & HEAVY, "import these where they are used"
    assert "src" not in loaded


def test_nothing_imports_src():
    folders = ("src", "tests", "bench", "examples", "tools")
    files = [p for folder in folders for p in sources(".py", under=ROOT / folder)]
    bad = [name(p) for p in files if re.search(r"^\s*(import|from) src\b", p.read_text(), re.MULTILINE)]
    assert not bad, f"the package is called treadle: {bad}"


def test_one_version():
    import treadle

    assert treadle.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
