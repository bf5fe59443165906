"""C++ text of exprs and index expressions, with the kernel's pointers and sizes by normalised names."""

from __future__ import annotations

import math

from ..ir.dtype import DType, float32, float64
from .index import Atom, Div, Ix, Mod, Read, Var
from .loops import Expr, Nest
from .prelude import C_TYPE

BAKED = 64  # sizes below this stand in the text, so that compilers unroll
_EXACT = frozenset("neg abs minimum maximum select copysign floor ceil trunc round".split())
_DRAWN = {"float16": 11, "bfloat16": 8, "float32": 24}  # bits of a uniform draw
_HALF = {"float16": "f16", "bfloat16": "bf16"}


def c_type(d: DType) -> str:
    """The C++ type of a value in a register."""
    return "float" if d.name in _HALF else C_TYPE[d.name]


def literal(value, dtype: DType) -> str:
    """A constant of this dtype."""
    if dtype.kind == "f":
        return _real(float(value), dtype)
    if dtype.kind == "b":
        return "true" if value else "false"
    value = int(value)
    if dtype.name == "int64":
        return "(-0x7fffffffffffffffL - 1)" if value == -(1 << 63) else f"{value}L"
    if dtype.name == "int32":
        return "(-2147483647 - 1)" if value == -(1 << 31) else str(value)
    return f"({C_TYPE[dtype.name]}){value}"


def _real(value: float, dtype: DType) -> str:
    suffix, builtin = ("", "") if dtype is float64 else ("f", "f")
    if math.isnan(value):
        return f'__builtin_nan{builtin}("")'
    if dtype is not float64:
        with_np = float32.np.type(value)
        if math.isinf(with_np):
            value = math.copysign(math.inf, value)
        text = str(with_np)
    else:
        text = repr(value)
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{builtin}()"
    return text + suffix if any(c in text for c in ".e") else f"{text}.0{suffix}"


class Names:
    """Pointers and integer parameters of one kernel, numbered as the text first uses them."""

    def __init__(self, nest: Nest, alias: dict[int, int]):
        self.nest, self.alias = nest, alias
        self.pointers: dict[int, str] = {}  # slot -> name
        self.sizes: dict[object, str] = {}  # value, or "grain" or "extent" -> name
        self.verbs: set[tuple[str, str]] = set()
        self.vars: dict[Var, str] = {}

    def pointer(self, slot: int) -> str:
        slot = self.alias.get(slot, slot)
        return self.pointers.setdefault(slot, f"b{len(self.pointers)}")

    def size(self, value) -> str:
        if type(value) is int and abs(value) < BAKED:
            return str(value)
        return self.sizes.setdefault(value, f"n{len(self.sizes)}")

    def declarations(self) -> list[str]:
        """The pointers and sizes, to stand at the head of the function."""
        written = {self.alias.get(s, s) for s in self.nest.written}
        lines = []
        for k, (slot, name) in enumerate(self.pointers.items()):
            const = "" if slot in written else "const "
            kind = C_TYPE[self.nest.slots[slot].name]
            lines.append(f"{const}{kind} *__restrict const {name} = ({const}{kind} *)p[{k}];")
        lines += [f"const long {name} = n[{k}];" for k, name in enumerate(self.sizes.values())]
        return lines

    # index expressions --------------------------------------------------------------------------
    def place(self, x: Ix | int, reads) -> str:
        """The text of an index; `reads` gives the name of an expr it depends on."""
        if type(x) is int:
            return self.size(x) if x >= 0 else str(x)
        out = ""
        for atom, k in sorted(x.terms.items(), key=lambda t: -abs(t[1])):
            factor = "" if abs(k) == 1 else f" * {self.size(abs(k))}"
            out += f"{' - ' if k < 0 else ' + ' if out else ''}{self.atom(atom, reads)}{factor}"
        if x.const:
            out += f" {'-' if x.const < 0 else '+'} {self.size(abs(x.const))}"
        return out.strip()

    def atom(self, atom: Atom, reads) -> str:
        if isinstance(atom, Var):
            return self.vars[atom]
        if isinstance(atom, Read):
            return reads(atom.expr)
        assert isinstance(atom, (Div, Mod))
        sign, name = ("/", "floordiv") if isinstance(atom, Div) else ("%", "mod")
        inner, by = self.place(atom.of, reads), self.size(atom.by)
        if atom.of.lo < 0:  # C rounds toward zero
            self.verbs.add((name, "int64"))
            return f"td_{name}((long)({inner}), (long){by})"
        return f"({inner}) % {by}" if sign == "%" else f"(({inner}) / {by})"

    # exprs --------------------------------------------------------------------------------------
    def expr(self, e: Expr, name_of) -> str:
        """The text of one expr; `name_of` gives that of its operands."""
        kind = e.kind
        if kind == "const":
            return literal(e.data.value, e.dtype)
        if kind == "access":
            return self._access(e, name_of)
        if kind == "index":
            return f"(long)({self.place(e.data, name_of)})"
        if kind == "within":
            return self._within(e, name_of)
        if kind == "outside":
            return f"(unsigned long){name_of(e.args[0])} >= (unsigned long){self.size(e.data)}"
        return self._call(e, [name_of(a) for a in e.args])

    def loaded(self, text: str, dtype: DType) -> str:
        """A stored value as it is in a register."""
        return f"td_to_float({text})" if dtype.name in _HALF else text

    def _access(self, e: Expr, name_of) -> str:
        slot, place = e.data
        text = self.loaded(f"{self.pointer(slot)}[{self.place(place, name_of)}]", e.dtype)
        return f"{name_of(e.args[0])} ? {text} : {literal(0, e.dtype)}" if e.args else text

    def _within(self, e: Expr, name_of) -> str:
        place, low, high = e.data
        text = self.place(place, name_of)
        if place.lo >= -(1 << 31) and place.hi < 1 << 31:  # half the vectors
            text = f"(int)({text})"
        parts = [f"({text} >= {low})"] if low is not None else []
        if high is not None:
            parts.append(f"({text} < {self.size(high)})")
        return " & ".join(parts)

    def _call(self, e: Expr, args: list[str]) -> str:
        verb, d = e.data, e.dtype
        if verb == "convert":
            return self._convert(e.args[0].dtype, d, args[0])
        if verb == "pow" and d.kind in "ui":
            verb = "ipow"
        self.verbs.add((verb, e.args[-1].dtype.name))
        if verb == "philox":
            return self._draw(d, *args)
        text = f"td_{verb}({', '.join(args)})"
        if d.name in _HALF and verb not in _EXACT:
            return f"td_round_{_HALF[d.name]}({text})"
        return text

    def _draw(self, d: DType, seed: str, place: str) -> str:
        """A uniform number in [0, 1) from the leading bits of one word, or of two for a double."""
        word = "td_philox((unsigned long){}, {})"
        if d is float64:
            high, low = (word.format(seed, f"2ul * {place}{more}") for more in ("", " + 1"))
            return f"(double)(long){high} * 0x1p-32 + (double)(int)({low} >> 11) * 0x1p-53"
        bits = _DRAWN[d.name]
        return f"(float)(int)({word.format(seed, f'(unsigned long){place}')} >> {32 - bits}) * 0x1p-{bits}f"

    def _convert(self, source: DType, target: DType, text: str) -> str:
        if target.name in _HALF:
            if source.name in _HALF or source is float32:
                return f"td_round_{_HALF[target.name]}({text})"
            return f"td_to_float(td_convert<{C_TYPE[target.name]}>({text}))"
        if source.name in _HALF and target is float32:
            return text
        return f"td_convert<{C_TYPE[target.name]}>({text})"

    def combine(self, verb: str, slot: int, place: str, value: str) -> str:
        """The text of verb(what is stored, value)."""
        d = self.nest.slots[slot]
        self.verbs.add((verb, d.name))
        old = f"{self.pointer(slot)}[{place}]"
        return f"td_{verb}({f'td_to_float({old})' if d.name in _HALF else old}, {value})"

    def store(self, slot: int, place: str, value: str) -> str:
        """The statement that writes a value."""
        half = _HALF.get(self.nest.slots[slot].name)
        return f"{self.pointer(slot)}[{place}] = {f'td_to_{half}({value})' if half else value};"
