"""Builds the C++ prelude into one library of loops over arrays, and measures errors in units of the last place."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from treadle.codegen.prelude import C_TYPE, cpp_prelude
from treadle.ir.scalar import BINARY, COMPARE, UNARY

FLAGS = ("-O3 -march=native -fopenmp-simd -shared -fPIC -ffp-contract=off -fwrapv -fno-math-errno "
         "-fno-trapping-math -fno-semantic-interposition").split()
FLOATS, INTEGERS = ("float32", "float64"), ("uint8", "int8", "int16", "int32", "int64")
NP = {name: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name in C_TYPE}
EVERYWHERE = {"add", "sub", "mul", "div", "neg", "abs", "minimum", "maximum", "floordiv", "mod", "fmod"}
BITWISE = {"and_", "or_", "xor", "not_", "shl", "shr"}
# glibc's long double functions; the others have no such reference
IN_LIBM = ("exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf "
           "erfc lgamma").split()


def means_something(verb: str, dtype: str) -> bool:
    if verb in BITWISE:
        return dtype not in FLOATS
    return dtype in FLOATS or verb in EVERYWHERE or verb in COMPARE


def kernel(name: str, result: str, operands: tuple[str, ...], expression: str) -> str:
    """A loop over `b`, `c`, ... into `a`; GCC reports on the line of its `for`."""
    arrays = [f"const {C_TYPE[d]} *__restrict {chr(98 + i)}" for i, d in enumerate(operands)]
    head = f'extern "C" void {name}({C_TYPE[result]} *__restrict a, {", ".join(arrays)}, long n)'
    return f"{head} {{\n#pragma omp simd\nfor (long i = 0; i < n; i++) a[i] = {expression};\n}}\n"


def kernels() -> str:
    text = []
    for dtype in (*FLOATS, *INTEGERS, "bool"):
        for verb in (*UNARY, *BINARY, *COMPARE):
            if not means_something(verb, dtype):
                continue
            count = 1 if verb in UNARY else 2
            result = "bool" if verb in COMPARE else dtype
            arguments = ", ".join(f"{chr(98 + i)}[i]" for i in range(count))
            text.append(kernel(f"{verb}_{dtype}", result, (dtype,) * count, f"td_{verb}({arguments})"))
    for source in C_TYPE:
        for target in C_TYPE:
            if source != target:
                name, to = f"convert_{source}_{target}", C_TYPE[target]
                text.append(kernel(name, target, (source,), f"td_convert<{to}>(b[i])"))
    for half, short in (("float16", "f16"), ("bfloat16", "bf16")):
        text.append(kernel(f"round_{half}", "float32", ("float32",), f"td_round_{short}(b[i])"))
        text.append(kernel(f"load_{half}", "float32", (half,), "td_to_float(b[i])"))
        text.append(kernel(f"store_{half}", half, ("float32",), f"td_to_{short}(b[i])"))
    text.append(kernel("select_float32", "float32", ("bool", "float32", "float32"), "td_select(b[i], c[i], d[i])"))
    text.append(kernel("fma_float64", "float64", ("float64",) * 3, "td_fma(b[i], c[i], d[i])"))
    words = "(int)td_philox((unsigned long)b[i], (unsigned long)c[i])"
    text.append(kernel("philox", "int32", ("int64", "int64"), words))
    text.append(kernel("uniform", "float32", ("int32",), "td_uniform((unsigned)b[i])"))
    text.append(kernel("uniform2", "float64", ("int32", "int32"), "td_uniform((unsigned)b[i], (unsigned)c[i])"))
    return "".join(text)


def references() -> str:
    text = []
    for name in IN_LIBM:
        text.append(f'extern "C" long double {name}l(long double);\n'
                    f'extern "C" void ref_{name}(long double *a, const double *b, long n)'
                    f" {{ for (long i = 0; i < n; i++) a[i] = {name}l(b[i]); }}\n")
    for name in ("pow", "atan2"):
        text.append(f'extern "C" long double {name}l(long double, long double);\n'
                    f'extern "C" void ref_{name}(long double *a, const double *b, const double *c, long n)'
                    f" {{ for (long i = 0; i < n; i++) a[i] = {name}l(b[i], c[i]); }}\n")
    return "".join(text)


@dataclass(frozen=True, slots=True)
class Library:
    handle: ctypes.CDLL
    vectorised: frozenset[str] | None  # the kernels GCC vectorised; None with another compiler

    def call(self, name: str, result: np.dtype | str, *operands: np.ndarray) -> np.ndarray:
        """The kernel over arrays of one shape."""
        operands = tuple(np.ascontiguousarray(x) for x in operands)
        out = np.empty(operands[0].shape, result)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (out, *operands)]
        getattr(self.handle, name)(*pointers, ctypes.c_long(out.size))
        return out

    def verb(self, verb: str, dtype: str, *operands: np.ndarray) -> np.ndarray:
        return self.call(f"{verb}_{dtype}", "bool" if verb in COMPARE else NP[dtype], *operands)

    def exact(self, verb: str, *operands: np.ndarray) -> np.ndarray:
        return self.call(f"ref_{verb}", np.longdouble, *[x.astype(np.float64) for x in operands])


def build(folder: Path) -> Library:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = cpp_prelude() + kernels() + references()
    (folder / "prelude.cpp").write_text(source)
    gcc = compiler.endswith("g++") and not compiler.endswith("clang++")
    report = ["-fopt-info-vec-optimized", "-fno-ipa-icf"] if gcc else []
    made = subprocess.run([compiler, *FLAGS, *report, "prelude.cpp", "-o", "prelude.so"], cwd=folder,
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    lines = {int(m) for m in re.findall(r"prelude\.cpp:(\d+):\d+: optimized: loop vectorized", made.stderr)}
    names = {re.search(r"void (\w+)\(", line)[1] for at, line in enumerate(source.split("\n"), 1)
             if line.startswith('extern "C" void') and at + 2 in lines}
    return Library(ctypes.CDLL(str(folder / "prelude.so")), frozenset(names) if gcc else None)


# errors ------------------------------------------------------------------------------------------
def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """|got - exact| in units of the last place of exact; inf where one is NaN or infinite and the other is not.

    A finite result within two units of the overflow threshold may be infinite.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        size = np.maximum(np.abs(exact), np.longdouble(info.smallest_normal))
        unit = np.ldexp(np.longdouble(1), np.frexp(np.where(np.isfinite(size), size, 1))[1] - 1 - info.nmant)
        error = np.abs(got.astype(np.longdouble) - exact) / unit
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        edge = np.where(np.isfinite(got), got, rounded)
        near = (np.isfinite(got) != np.isfinite(rounded)) & (np.abs(edge) > info.max * (1 - 2 * info.eps))
    error = np.where(np.isfinite(got) & np.isfinite(rounded), error, np.where(same, 0, np.inf))
    return np.where(near, 1, error)


def same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal, zeros in sign too, all NaNs alike."""
    if a.dtype.kind not in "fV" and a.dtype != NP["bfloat16"]:
        return a == b
    a, b = a.astype(np.float64), b.astype(np.float64)
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


def special_values(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    edges = [0, 1, 2, 3, 0.5, 0.75, 0.9, 0.6, np.inf, info.max, info.smallest_normal, info.smallest_subnormal, 1e10,
             1e-10, np.pi / 2, np.pi, 10, 1.4616321449683623, 4, 27, 1 / 3, 7.3]
    x = np.array([*edges, *[-e for e in edges], np.nan], dtype)
    return np.concatenate([x, np.nextafter(x, NP[dtype].type(np.inf)), np.nextafter(x, NP[dtype].type(-np.inf))])


def samples(dtype: str, count: int = 12000) -> np.ndarray:
    """Every bit pattern is possible; ranges where functions are busy are drawn more often."""
    r = np.random.default_rng(7)
    width = NP[dtype].itemsize * 8
    patterns = r.integers(0, 2**width, count, dtype=np.uint64).astype(f"u{width // 8}").view(dtype)
    near = [r.uniform(-1, 1, count), r.uniform(-10, 10, count), r.uniform(0.5, 2, count), r.uniform(0, 8, count),
            r.uniform(-110, 110, count), r.uniform(-750, 750, count // 2), np.exp(r.uniform(-40, 40, count // 2)),
            -np.exp(r.uniform(-40, 3, count // 2)), 1 - np.exp(r.uniform(-36, 0, count // 2))]
    return np.concatenate([patterns, *[x.astype(dtype) for x in near], special_values(dtype)])


def pairs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of two elements of x."""
    a, b = np.meshgrid(x, x)
    return a.ravel(), b.ravel()
