"""The scalar verbs in C++: accuracy, special values, integer and rounding semantics, vectorisation."""

from __future__ import annotations

import math
import shutil
import subprocess

import mpmath as mp
import numpy as np
import pytest

from treadle.codegen.prelude import C_TYPE, cpp_prelude
from treadle.ir.philox import philox_uint32, uniform
from treadle.ir import dtype as dt
from treadle.ir.scalar import UNARY, VERBS

from .prelude_library import (FLOATS, IN_LIBM, INTEGERS, NP, build, means_something, pairs, same_bits, samples,
                              special_values, ulps)

# The promise is 2 ulp everywhere; what was measured is under 1.05, or under these.
BOUNDS = {("expm1", "float32"): 1.3, ("log1p", "float32"): 1.5, ("tanh", "float32"): 1.3, ("rsqrt", "float32"): 1.5,
          ("expm1", "float64"): 1.7, ("tanh", "float64"): 1.4, ("rsqrt", "float64"): 1.5,
          ("erfinv", "float64"): 1.5, ("lgamma", "float64"): 1.6, ("digamma", "float64"): 1.6}  # fmt: skip
# No machine has a vector division of 64-bit integers; the remainder of two doubles may need libm.
SCALAR = {f"{verb}_{dtype}" for verb in ("fmod", "mod", "floordiv") for dtype in ("int64", "float64", "bool")}
SCALAR |= {"div_int64", "div_bool", "mod_uint8", "shl_bool", "shr_bool"}


@pytest.fixture(autouse=True)
def _quiet():
    """Overflow and NaN are the subject here."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("prelude"))


def check(verb, dtype, x, got, exact):
    error = ulps(got, exact)
    worst = int(np.argmax(error))
    bound = BOUNDS.get((verb, dtype), 1.05)
    at = [float(v[worst]) for v in x]
    assert error[worst] <= bound, f"{verb}{at} = {got[worst]}, {float(exact[worst])} expected: {error[worst]} ulp"
    zero = (got == 0) & (exact == 0)
    assert (np.signbit(got) == np.signbit(exact))[zero].all(), "the sign of a zero"


# accuracy ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("verb", [v for v in IN_LIBM if v != "lgamma"])
def test_accuracy(library, verb, dtype):
    x = samples(dtype)
    check(verb, dtype, (x,), library.verb(verb, dtype, x), library.exact(verb, x))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rsqrt(library, dtype):
    x = samples(dtype)
    exact = 1 / np.sqrt(x.astype(np.longdouble))
    check("rsqrt", dtype, (x,), library.verb("rsqrt", dtype, x), exact)


@pytest.mark.parametrize("dtype", FLOATS)
def test_lgamma(library, dtype):
    """Near the zeros at negative x a double keeps its absolute error only."""
    x = samples(dtype)
    got, exact = library.verb("lgamma", dtype, x), library.exact("lgamma", x)
    if dtype == "float64":
        left = (x < -2) & np.isfinite(exact.astype(dtype))
        error = np.abs(got - exact)[left] / np.maximum(1, np.abs(exact[left]))
        assert error.max() < 4e-16, x[left][np.argmax(error)]
        x, got, exact = x[~left], got[~left], exact[~left]
    check("lgamma", dtype, (x,), got, exact)


def exact_digamma(v: float) -> np.longdouble:
    if v == 0:
        return np.longdouble(-math.copysign(math.inf, v))
    if not math.isfinite(v):
        return np.longdouble(v if v > 0 else math.nan)
    return as_long_double(mp.digamma(v)) if v > 0 or v != math.floor(v) else np.longdouble(math.nan)


def exact_erfinv(v: float) -> np.longdouble:
    if not -1 < v < 1 or v == 0:
        return np.longdouble(v if v == 0 else v * math.inf if abs(v) == 1 else math.nan)
    return as_long_double(mp.erfinv(v))


def as_long_double(v) -> np.longdouble:
    return np.longdouble(mp.nstr(v, 25))


@pytest.mark.parametrize("dtype", FLOATS)
def test_digamma(library, dtype):
    x = np.concatenate([samples(dtype)[::131], special_values(dtype)])
    with mp.workdps(40):
        exact = np.array([exact_digamma(v) for v in x.tolist()])
    got = library.verb("digamma", dtype, x)
    if dtype == "float64":
        left = (x < 0) & np.isfinite(exact.astype(dtype))
        error = np.abs(got - exact)[left] / np.maximum(1, np.abs(exact[left]))
        assert error.max() < 4e-16, x[left][np.argmax(error)]
        x, got, exact = x[~left], got[~left], exact[~left]
    check("digamma", dtype, (x,), got, exact)


@pytest.mark.parametrize("dtype", FLOATS)
def test_erfinv(library, dtype):
    r = np.random.default_rng(3)
    x = np.concatenate([special_values(dtype), r.uniform(-1, 1, 300).astype(dtype),
                        (1 - np.exp(r.uniform(-36, -1, 300))).astype(dtype), [1e-300, -1e-40]]).astype(dtype)
    with mp.workdps(40):
        exact = np.array([exact_erfinv(v) for v in x.tolist()])
    check("erfinv", dtype, (x,), library.verb("erfinv", dtype, x), exact)


@pytest.mark.parametrize("dtype", FLOATS)
def test_pow(library, dtype):
    """All of C's special cases, bases near 1 with large exponents, whole exponents of negative bases."""
    r, n = np.random.default_rng(5), 20000
    a, b = pairs(special_values(dtype))
    x = np.concatenate([a, np.exp(r.uniform(-3, 3, n)), 1 + r.uniform(-1, 1, n) * 1e-6, -r.uniform(0, 9, n)])
    y = np.concatenate([b, r.uniform(-50, 50, n), r.uniform(-1e8, 1e8, n), r.integers(-30, 30, n)])
    x, y = x.astype(dtype), y.astype(dtype)
    check("pow", dtype, (x, y), library.verb("pow", dtype, x, y), library.exact("pow", x, y))


@pytest.mark.parametrize("dtype", FLOATS)
def test_atan2(library, dtype):
    a, b = pairs(special_values(dtype))
    more = samples(dtype)
    y, x = np.concatenate([a, more]), np.concatenate([b, np.random.default_rng(1).permutation(more)])
    check("atan2", dtype, (y, x), library.verb("atan2", dtype, y, x), library.exact("atan2", y, x))


@pytest.mark.parametrize("x", [6381956970095103.0 * 2.0**797, 1.6e300, 2.0**1023, 5e22, 1e5, np.pi])
def test_sines_of_large_arguments(library, x):
    """The first is the double nearest to a multiple of pi / 2."""
    values = np.full(1, x)
    with mp.workdps(400):
        for verb, f in (("sin", mp.sin), ("cos", mp.cos), ("tan", mp.tan)):
            error = ulps(library.verb(verb, "float64", values), np.array([as_long_double(f(mp.mpf(x)))]))
            assert error[0] < 1, verb


def test_floats_of_some_binades(library):
    """Every seventh float of [1/2, 4) through the three that most models call."""
    x = np.arange(0x3F000000, 0x40800000, 7, dtype=np.uint32).view(np.float32)
    for verb, f in (("exp", np.exp), ("tanh", np.tanh), ("log", np.log)):
        check(verb, "float32", (x,), library.verb(verb, "float32", x), f(x.astype(np.float64)).astype(np.longdouble))


# exact operations --------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_floats(library, dtype):
    x, (a, b) = samples(dtype), pairs(special_values(dtype))
    for verb, f in {"neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
                    "round": np.rint}.items():
        assert same_bits(library.verb(verb, dtype, x), f(x)).all(), verb
    for verb, f in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "fmod": np.fmod,
                    "copysign": np.copysign, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "gt": np.greater,
                    "le": np.less_equal, "ge": np.greater_equal}.items():
        assert same_bits(library.verb(verb, dtype, a, b), f(a, b)).all(), verb


@pytest.mark.parametrize("dtype", FLOATS)
def test_minimum_and_maximum_keep_nan(library, dtype):
    a, b = pairs(special_values(dtype))
    for verb, f in (("minimum", np.minimum), ("maximum", np.maximum)):
        got, want = library.verb(verb, dtype, a, b), f(a, b)
        assert ((got == want) | (np.isnan(got) & np.isnan(want))).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainder_and_floor_division(library, dtype):
    """The remainder has the divisor's sign; a zero keeps the dividend's, as PyTorch's."""
    a, b = pairs(special_values(dtype))
    rest = np.fmod(a, b)
    want = np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)
    quotient = np.floor_divide(a, b)
    assert same_bits(library.verb("mod", dtype, a, b), want).all()
    got = library.verb("floordiv", dtype, a, b)
    finite = np.isfinite(a) & (b != 0)
    assert ((got == quotient) | (np.isnan(got) & np.isnan(quotient)))[finite].all()
    assert same_bits(got[b == 0], (a / b)[b == 0]).all() if (b == 0).any() else True


def wrap(value: int, dtype: str) -> int:
    info = np.iinfo(dtype)
    return (value - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)


def python_result(verb: str, a: int, b: int, dtype: str) -> int:
    bits = np.iinfo(dtype).bits
    if verb in ("floordiv", "mod", "div", "fmod") and b == 0:
        return 0
    truncated = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    shifts = 0 <= b < bits
    return {"add": a + b, "sub": a - b, "mul": a * b, "and_": a & b, "or_": a | b, "xor": a ^ b,
            "minimum": min(a, b), "maximum": max(a, b), "div": truncated, "fmod": a - truncated * b,
            "floordiv": a // b if b else 0, "mod": a % b if b else 0,
            "shl": a << b if shifts else 0, "shr": a >> b if shifts else -(a < 0)}[verb]


def integers(dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    if info.bits == 8:
        return np.arange(info.min, info.max + 1).astype(dtype)
    edges = [0, 1, 2, 3, 5, 7, 31, 63, 64, info.max, info.max - 1, info.max // 2, info.min, info.min + 1, -1, -2, -7]
    more = np.random.default_rng(2).integers(info.min, info.max, 40, dtype)
    return np.concatenate([np.array(edges, dtype), more])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("verb", ("add sub mul div floordiv mod fmod and_ or_ xor minimum maximum shl shr").split())
def test_integers(library, verb, dtype):
    """As Python's, wrapped; division by zero is 0 and does not trap, nor does MIN / -1."""
    a, b = pairs(integers(dtype))
    got = library.verb(verb, dtype, a, b)
    want = [wrap(python_result(verb, i, j, dtype), dtype) for i, j in zip(a.tolist(), b.tolist(), strict=True)]
    assert got.tolist() == want


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_unary(library, dtype):
    x = integers(dtype)
    for verb, f in (("neg", np.negative), ("abs", np.abs), ("not_", np.invert)):
        assert (library.verb(verb, dtype, x) == f(x)).all()


def test_bools(library):
    a, b = pairs(np.array([False, True]))
    for verb, want in {"add": a | b, "mul": a & b, "and_": a & b, "or_": a | b, "xor": a ^ b, "minimum": a & b,
                       "maximum": a | b, "lt": ~a & b, "ge": a | ~b}.items():
        assert (library.verb(verb, "bool", a, b) == want).all(), verb
    assert library.verb("not_", "bool", a).tolist() == (~a).tolist()


def test_fma_rounds_once(library):
    a = np.array([1 + 2.0**-30])
    assert library.call("fma_float64", "f8", a, a, -(a * a))[0] == 2.0**-60


def test_select(library):
    c, a, b = np.array([True, False]), np.array([1, 2], "f4"), np.array([3, np.nan], "f4")
    assert same_bits(library.call("select_float32", "f4", c, a, b), np.array([1, np.nan], "f4")).all()


# conversions -------------------------------------------------------------------------------------
def to_convert(dtype: str) -> np.ndarray:
    if dtype in ("float16", "bfloat16"):
        return np.arange(2**16, dtype=np.uint16).view(NP[dtype])
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        return integers(dtype)
    edges = [300, -300, 255.9, -1.5, 256.5, 127.9, -128.9, 65504, 65519.99, 65520, 6e-8, 2.98e-8, 3e9, -3e9, 2.0**31,
             -(2.0**31), 2.0**31 - 1, -(2.0**31) - 1, 2.0**63, -(2.0**63), 1e19]
    ties = 1 + np.arange(4096) * 2.0**-12
    return np.concatenate([samples(dtype), np.array(edges, dtype), ties.astype(dtype),
                           (ties + 2.0**-40).astype(dtype)])


@pytest.mark.parametrize("source", C_TYPE)
@pytest.mark.parametrize("target", C_TYPE)
def test_conversions_are_astype(library, source, target):
    if source == target:
        return
    x = to_convert(source)
    got = library.call(f"convert_{source}_{target}", NP[target], x)
    assert same_bits(got, x.astype(NP[target])).all()


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_halves(library, half):
    """Loading is exact; storing rounds to nearest even; rounding in place is both."""
    every = np.arange(2**16, dtype=np.uint16).view(NP[half])
    loaded = library.call(f"load_{half}", "f4", every)
    assert same_bits(loaded, every.astype(np.float32)).all()
    stored = library.call(f"store_{half}", NP[half], loaded)
    kept = ~np.isnan(loaded)
    assert (stored.view(np.uint16) == every.view(np.uint16))[kept].all() and np.isnan(stored[~kept].astype("f4")).all()
    x = samples("float32")
    want = x.astype(NP[half])
    assert same_bits(library.call(f"store_{half}", NP[half], x), want).all()
    assert same_bits(library.call(f"round_{half}", "f4", x), want.astype(np.float32)).all()


# random bits -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("seed", "start"), [(0, 0), (42, 3), (2**32 - 1, 2**34 - 5), (2**40 + 5, 7)])
def test_philox_is_the_interpreters(library, seed, start):
    at = np.arange(start, start + 50)
    words = library.call("philox", "i4", np.full(50, seed), at).view(np.uint32)
    assert (words == philox_uint32(seed, start, 50)).all()


def test_uniform_is_the_interpreters(library):
    at = np.arange(60)
    words = library.call("philox", "i4", np.full(60, 9), at)
    assert (library.call("uniform", "f4", words) == uniform(9, 60, dt.float32)).all()
    assert (library.call("uniform2", "f8", words[::2], words[1::2]) == uniform(9, 30, dt.float64)).all()
    extreme = np.array([-1, 0], np.int32)
    assert library.call("uniform", "f4", extreme).tolist() == [1 - 2.0**-24, 0]


# the text ----------------------------------------------------------------------------------------
def test_loops_are_vectorised(library):
    if library.vectorised is None:
        pytest.skip("only GCC's report is read")
    floats = {f"{verb}_{dtype}" for dtype in FLOATS for verb in VERBS if means_something(verb, dtype)}
    floats -= {f"{v}_{d}" for v in ("fma", "select", "convert", "philox") for d in FLOATS}
    wanted = floats | {f"{v}_{d}" for v in ("add", "mul", "lt", "minimum", "shl") for d in INTEGERS}
    wanted |= {"round_bfloat16", "round_float16", "load_float16", "store_bfloat16", "philox",
               "convert_float32_int64", "convert_float64_int8", "convert_bool_float32", "convert_int64_float64"}
    assert sorted((wanted - SCALAR) - library.vectorised) == []


@pytest.mark.parametrize("dtype", FLOATS)
def test_each_verb_stands_alone(dtype, tmp_path):
    """The text for one verb is complete and has no other verb's functions."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    parts = []
    for verb in sorted(set(UNARY) - {"not_"}):
        text = cpp_prelude({(verb, dtype)})
        use = f"{C_TYPE[dtype]} use({C_TYPE[dtype]} x) {{ return td_{verb}(x); }}"
        parts.append(f"namespace alone_{verb} {{\n{text}{use}\n}}\n")
    (tmp_path / "alone.cpp").write_text("".join(parts).replace("#define TD", "#undef TD\n#define TD"))
    made = subprocess.run([compiler, "-march=native", "-Wall", "-Werror", "-fsyntax-only", "alone.cpp"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_only_what_is_asked_for():
    add = cpp_prelude({("add", "float32")})
    assert "td_exp" not in add and "td_to_bf16" in add and "td_convert" in add
    assert "td_exp_d" not in cpp_prelude({("exp", "bfloat16")})
    with pytest.raises(KeyError, match="sigmoid"):
        cpp_prelude({("sigmoid", "float32")})
    with pytest.raises(KeyError, match="int32"):
        cpp_prelude({("exp", "int32")})


def test_every_verb_has_its_text():
    for verb in VERBS - {"convert", "const"}:
        assert cpp_prelude({(verb, "int32" if verb in ("philox", "not_") else "float32")})
