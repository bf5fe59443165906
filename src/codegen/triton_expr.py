"""Triton text of exprs and index expressions, with the kernel's pointers and sizes by normalised names.

float16 and bfloat16 are float32 in registers, rounded after each verb. A literal stands bare beside a value,
whose type it takes, and is a typed tl.full where it would be alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..ir.dtype import DType, float32, float64
from .index import Atom, Div, Ix, Mod, Read, Var
from .loops import Expr, Nest
from .triton_prelude import function_of

BAKED = 64  # sizes below this stand in the text
ELEMENT = {"bool": "u8", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
           "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}  # of a pointer
_TYPE = {"bool": "tl.int1", "float16": "tl.float32", "bfloat16": "tl.float32"}
_HALF = frozenset(["float16", "bfloat16"])
_EXACT = frozenset("neg abs minimum maximum select copysign floor ceil trunc round".split())
_INFIX = {"add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "and_": "&", "or_": "|", "xor": "^"}
_ON_BOOL = {"+": "|", "*": "&", "-": "^"}
_COUNTED = frozenset(["shl", "shr", "pow"])  # verbs of integers that need to know their width
_DRAWN = {"float16": 11, "bfloat16": 8, "float32": 24}  # bits of a uniform draw
_NARROW = frozenset(["int8", "int16", "uint8"])

# by kind: f a float in float32, d float64, i u b; -x is 0 - x in triton, which loses the sign of 0
_DIRECT = {
    "neg": {"fd": "{0} * -1.0", "iu": "0 - {0}"},
    "not_": {"b": "{0} == 0", "u": "{0} ^ 255", "i": "{0} ^ -1"},
    "abs": {"bu": "{0}", "ifd": "tl.abs({0})"},
    "floor": {"biu": "{0}", "d": "tl.floor({0})"},
    "ceil": {"biu": "{0}", "d": "tl.ceil({0})"},
    "trunc": {"biu": "{0}"},
    "round": {"biu": "{0}"},
    "fma": {"fd": "tl.fma({0}, {1}, {2})", "iu": "{0} * {1} + {2}"},
    "div": {"d": "{0} / {1}", "f": "tl.div_rn({0}, {1})", "b": "{0} & {1}"},
    "floordiv": {"b": "{0} & {1}"},
    "sqrt": {"d": "tl.sqrt({0})", "f": "tl.sqrt_rn({0})"},
}

NameOf = Callable[[Expr], str]


def register_type(d: DType) -> str:
    """The type of a value in a register."""
    return _TYPE.get(d.name, f"tl.{d.name}")


def literal(value, dtype: DType) -> str:
    """A constant beside a value of this dtype."""
    if dtype.kind == "b":
        return str(bool(value))
    if dtype.kind != "f":
        return str(int(value))
    value = float(value) if dtype is float64 else float(float32.np.type(value))
    if math.isnan(value) or math.isinf(value):
        return f'float("{value}")'
    return repr(value) if dtype is float64 else str(float32.np.type(value))


def typed(value, dtype: DType) -> str:
    """A constant of this dtype, wherever it stands."""
    if dtype.kind == "f" and value == 0 and math.copysign(1, value) < 0:
        return f"(tl.full((), 0.0, {register_type(dtype)}) * -1.0)"  # triton makes every zero +0
    return f"tl.full((), {literal(value, dtype)}, {register_type(dtype)})"


class Names:
    """Pointers and integer parameters of one kernel, numbered as the text first uses them."""

    def __init__(self, nest: Nest, alias: dict[int, int]):
        self.nest, self.alias = nest, alias
        self.pointers: dict[int, str] = {}  # slot -> name
        self.sizes: dict[object, str] = {}  # value, or "grain" -> name
        self.functions: set[str] = set()  # of the prelude
        self.vars: dict[Var, str] = {}
        self.wide = False  # whether indices take 64 bits

    def pointer(self, slot: int) -> str:
        slot = self.alias.get(slot, slot)
        return self.pointers.setdefault(slot, f"b{len(self.pointers)}")

    def size(self, value) -> str:
        if type(value) is int and abs(value) < BAKED:
            return str(value)
        return self.sizes.setdefault(value, f"n{len(self.sizes)}")

    def call(self, name: str, *args: str) -> str:
        """A call of a function of the prelude."""
        self.functions.add(name)
        return f"{name}({', '.join(args)})"

    # index expressions --------------------------------------------------------------------------
    def place(self, x: Ix | int, name_of: NameOf) -> str:
        if type(x) is int:
            return self.size(x) if x >= 0 else str(x)
        out = ""
        for atom, k in sorted(x.terms.items(), key=lambda t: -abs(t[1])):
            factor = "" if abs(k) == 1 else f" * {self.size(abs(k))}"
            out += f"{' - ' if k < 0 else ' + ' if out else ''}{self.atom(atom, name_of)}{factor}"
        if x.const:
            out += f" {'-' if x.const < 0 else '+'} {self.size(abs(x.const))}"
        return out.strip() if not out.startswith(" - ") else "0" + out

    def atom(self, atom: Atom, name_of: NameOf) -> str:
        if isinstance(atom, Var):
            return self.vars[atom]
        if isinstance(atom, Read):
            return name_of(atom.expr) if self.wide else f"{name_of(atom.expr)}.to(tl.int32)"
        assert isinstance(atom, (Div, Mod))
        sign, verb = ("//", "floordiv") if isinstance(atom, Div) else ("%", "mod")
        inner, by = self.place(atom.of, name_of), self.size(atom.by)
        if atom.of.lo < 0:  # triton rounds toward zero
            return self.call(f"td_{verb}_i", inner, by)
        return f"(({inner}) {sign} {by})"

    # exprs --------------------------------------------------------------------------------------
    def expr(self, e: Expr, name_of: NameOf) -> str:
        """The text of an expr that is no access; `name_of` gives that of its operands."""
        kind = e.kind
        if kind == "index":
            return f"({self.place(e.data, name_of)}).to(tl.int64)"
        if kind == "within":
            return self._within(e, name_of)
        if kind == "outside":
            x = self.alone(e.args[0], name_of)
            return f"({x} < 0) | ({x} >= {self.size(e.data)})"
        return self._call(e, name_of)

    def _within(self, e: Expr, name_of: NameOf) -> str:
        place, low, high = e.data
        text = self.place(place, name_of)
        parts = [f"({text} >= {low})"] if low is not None else []
        if high is not None:
            parts.append(f"({text} < {self.size(high)})")
        return " & ".join(parts)

    def alone(self, e: Expr, name_of: NameOf) -> str:
        """An operand whose type must be its own."""
        return typed(e.data.value, e.dtype) if e.kind == "const" else name_of(e)

    def beside(self, args: tuple[Expr, ...], name_of: NameOf) -> list[str]:
        """Operands that stand together: literals are bare if a value is among them."""
        is_value = any(a.kind != "const" for a in args)
        return [literal(a.data.value, a.dtype) if _is_bare(a, is_value) else self.alone(a, name_of) for a in args]

    def _call(self, e: Expr, name_of: NameOf) -> str:
        verb, d = e.data, e.dtype
        if verb == "convert":
            return self._convert(e.args[0].dtype, d, self.alone(e.args[0], name_of))
        if verb == "philox":
            return self._draw(d, *(self.alone(a, name_of) for a in e.args))
        if verb in _INFIX or verb == "select":
            text = self.together(verb, e.args[-1].dtype, *self._operands(verb, e.args, name_of))
        else:
            text = self.verb(verb, d, *(self.alone(a, name_of) for a in e.args))
        return self.rounded(text, d) if d.name in _HALF and verb not in _EXACT else text

    def _operands(self, verb: str, args: tuple[Expr, ...], name_of: NameOf) -> list[str]:
        if verb == "select":
            return [self.alone(args[0], name_of), *self.beside(args[1:], name_of)]
        return self.beside(args, name_of)

    def together(self, verb: str, d: DType, *args: str) -> str:
        """An operator or a choice."""
        if verb == "select":
            return f"tl.where({', '.join(args)})"
        sign = _INFIX[verb]
        return f"{args[0]} {_ON_BOOL.get(sign, sign) if d.kind == 'b' else sign} {args[1]}"

    def verb(self, verb: str, d: DType, *args: str) -> str:
        """Any other verb, and operators too, on operands of this dtype."""
        if verb in _INFIX or verb == "select":
            return self.together(verb, d, *args)
        text = _direct(verb, d, args)
        if text:
            return text
        name = "ipow" if verb == "pow" and d.kind in "ui" else verb
        if name == "round":
            name = "rint"
        found = function_of(name, d.name)
        if not found:
            raise KeyError(f"no Triton text for the verb {verb!r} of {d.name}")
        return self.call(found, *args, *([str(8 * d.itemsize)] if verb in _COUNTED and d.kind in "ui" else []))

    def rounded(self, text: str, d: DType) -> str:
        """A float32 rounded as a half holds it."""
        return f"({text}).to(tl.{d.name}).to(tl.float32)"

    def _draw(self, d: DType, seed: str, place: str) -> str:
        if d is float64:
            return self.call("td_uniform_d", seed, place)
        return self.call("td_uniform_f", seed, place, str(_DRAWN[d.name]))

    def _convert(self, source: DType, target: DType, text: str) -> str:
        if target.kind == "b":
            return f"{text} != 0"
        if target.name in _HALF:
            if source is float64 and target.name == "float16":
                return f"{text}.to(tl.float16).to(tl.float32)"
            return self.rounded(text if register_type(source) == "tl.float32" else f"{text}.to(tl.float32)", target)
        if source.kind == "f" and target.kind in "ui":
            return self._to_integer(source, target, text)
        same = register_type(source) == register_type(target)
        return text if same else f"{text}.to({register_type(target)})"

    def _to_integer(self, source: DType, target: DType, text: str) -> str:
        if target.name == "int64":
            return self.call("td_long", text)
        whole = self.call("td_int_d" if source is float64 else "td_int_f", text)
        return f"{whole}.to({register_type(target)})" if target.name in _NARROW else whole

    # memory -------------------------------------------------------------------------------------
    def load(self, slot: int, place: str, mask: str) -> str:
        """The value at a place, 0 where the mask is off."""
        d = self.nest.slots[slot]
        guard = f", mask={mask}, other=0" if mask else ""
        text = f"tl.load({self._address(slot, place)}{guard})"
        if d.kind == "b":
            return f"{text} != 0"
        return f"{text}.to(tl.float32)" if d.name in _HALF else text

    def store(self, slot: int, place: str, value: str, mask: str) -> str:
        """The statement that writes a value."""
        d = self.nest.slots[slot]
        if d.kind == "b":
            value = f"({value}).to(tl.uint8)"
        elif d.name in _HALF:
            value = f"({value}).to(tl.{d.name})"
        return f"tl.store({self._address(slot, place)}, {value}{f', mask={mask}' if mask else ''})"

    def _address(self, slot: int, place: str) -> str:
        return f"{self.pointer(slot)} + {f'({place})' if ' ' in place else place}"


def _is_bare(e: Expr, is_value: bool) -> bool:
    """Whether a constant may stand as a literal; bools and -0.0 may not."""
    if e.kind != "const" or not is_value or e.dtype.kind == "b":
        return False
    value = e.data.value
    return not (e.dtype.kind == "f" and value == 0 and math.copysign(1, value) < 0)


def _direct(verb: str, d: DType, args: tuple[str, ...]) -> str:
    """Verbs that triton itself has, exactly; '' for others."""
    kind = "d" if d is float64 else d.kind
    found = next((text for kinds, text in _DIRECT.get(verb, {}).items() if kind in kinds), "")
    return found.format(*args)
