"""The prelude's mathematical functions in Triton, translated from their C: one source of polynomials.

A C function becomes a @triton.jit function of the same name. Structs are tuples; float literals are left
bare beside a value, since Triton gives them its type, and are f64(...) where they stand alone as doubles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .triton_c import C, ConstantArray, Function, Statement, Struct, Unread

TYPES = {"bool": "tl.int1", "int": "tl.int32", "unsigned": "tl.uint32", "long": "tl.int64",
         "unsigned long": "tl.uint64", "float": "tl.float32", "double": "tl.float64"}
_RANK = {t: k for k, t in enumerate(TYPES)}
_LEVEL = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
_COMPARES = frozenset(["==", "!=", "<", ">", "<=", ">="])
_ATOM = 9
_BITCAST = {"td_float_of": "float", "td_double_of": "double"}
# C names whose Triton text is another; {} are the operands
_SAME = {"td_mad": "tl.fma", "td_fma": "tl.fma", "td_abs_f": "tl.abs", "td_abs_d": "tl.abs",
         "__builtin_fabs": "tl.abs", "__builtin_fabsf": "tl.abs", "__builtin_floor": "tl.floor",
         "__builtin_sqrt": "tl.sqrt", "__builtin_rint": "td_rint_d"}
_CONSTANTS = {"__builtin_inf": math.inf, "__builtin_inff": math.inf, "__builtin_nan": math.nan,
              "__builtin_nanf": math.nan}


@dataclass(frozen=True, slots=True)
class Value:
    """An expression's text, C type and precedence; `number` where it is a literal."""

    text: str
    type: str
    level: int = _ATOM
    number: float | int | None = None


Values = tuple[Value, ...]  # one, or one per field of a struct


@dataclass(slots=True)
class Library:
    """What functions and structs there are, for types and arguments."""

    functions: dict[str, Function] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    arrays: dict[str, ConstantArray] = field(default_factory=dict)

    def add(self, piece: Function | Struct | ConstantArray) -> None:
        kind = {Function: self.functions, Struct: self.structs, ConstantArray: self.arrays}[type(piece)]
        kind[piece.name] = piece  # type: ignore[index]

    def fields(self, type_: str) -> tuple[tuple[str, str], ...]:
        """(type, suffix) of what a variable of this type is made of."""
        if type_ in self.structs:
            return tuple((t, f"_{name}") for t, name in self.structs[type_].fields)
        return ((type_, ""),)


def translate(function: Function, library: Library) -> str:
    """The Triton text of a C function."""
    return _Translator(function, library).text()


def literal(number: float | int) -> str:
    """A number as Triton source."""
    if isinstance(number, int):
        return str(number)
    if math.isnan(number) or math.isinf(number):
        return f'float("{number}")'
    return repr(number)


def translate_column(array: ConstantArray, step: int, first: int) -> str:
    """A function of i: array[step * i + first], by comparisons, since Triton has no constant arrays."""
    lines = ["@triton.jit", f"def {column_name(array.name, step, first)}(i):",
             f"    value = f64({literal(array.values[first])})"]
    for k, number in enumerate(array.values[first + step::step]):
        lines.append(f"    value = tl.where(i == {k + 1}, {literal(number)}, value)")
    return "\n".join([*lines, "    return value"])


def column_name(array: str, step: int, first: int) -> str:
    return f"{array}_{first}_of_{step}"


class _Translator:
    def __init__(self, function: Function, library: Library):
        self.function, self.library = function, library
        self.lines: list[str] = []
        self.types: dict[str, str] = {}
        self.arrays: dict[str, str] = {}  # local name -> constant array
        self.count = 0

    def text(self) -> str:
        f = self.function
        parameters = []
        for type_, name in f.parameters:
            self.types[name] = type_
            parameters += [name + suffix for _, suffix in self.library.fields(type_)]
        for statement in f.body:
            self.statement(statement)
        comment = [f"# {line}" for line in f.comment.splitlines()]
        head = [*comment, "@triton.jit", f"def {f.name}({', '.join(parameters)}):"]
        return "\n".join(head + ["    " + line for line in self.lines])

    # statements ---------------------------------------------------------------------------------
    def statement(self, s: Statement) -> None:
        if s.kind == "return":
            values = self.as_type(self.values(s.value, self.function.type), self.function.type)
            self.lines.append("return " + ", ".join(self.alone(v) for v in values))
            return
        assert s.target is not None
        if s.kind == "declare":
            name = str(s.target.data)
            if s.type == "array":
                self.arrays[name] = str(s.value.data)
                return
            self.types[name] = s.type
        names = [v.text for v in self.values(s.target)]
        type_ = self.type_of(s.target)
        if self._assign_call(names, s.value):
            return
        values = self.as_type(self.values(s.value, type_), type_)
        texts = [self.alone(v) for v in values]
        for k, (name, text) in enumerate(zip(names, texts, strict=True)):
            later = " ".join(texts[k + 1:])
            if name in later:  # a field that a later one reads
                raise Unread(f"{self.function.name}: {name} is read after it is assigned")
            self.lines.append(f"{name} = {text}")

    def _assign_call(self, names: list[str], value: C) -> bool:
        """A struct that a function returns goes straight to the fields."""
        called = self.library.functions.get(str(value.data)) if value.kind == "call" else None
        if called is None or called.type not in self.library.structs:
            return False
        self.lines.append(f"{', '.join(names)} = {self.call_text(value)}")
        return True

    # values -------------------------------------------------------------------------------------
    def type_of(self, c: C) -> str:
        if c.kind == "field":
            fields = {name: t for t, name in self.library.structs[self.type_of(c.args[0])].fields}
            return fields[str(c.data)]
        return self.types[str(c.data)]

    def value(self, c: C) -> Value:
        (only,) = self.values(c)
        return only

    def values(self, c: C, wanted: str = "") -> Values:
        """The value of an expression, or its fields; `wanted` is the struct that braces make."""
        match c.kind:
            case "name":
                name = str(c.data)
                return tuple(Value(name + suffix, t) for t, suffix in self.library.fields(self.types[name]))
            case "call":
                return self._call(c)
            case "choose":
                return self._choose(c)
            case "init":
                types = [t for t, _ in self.library.fields(wanted)]
                return tuple(self.cast(self.value(a), t) for a, t in zip(c.args, types, strict=True))
        return (self._single(c),)

    def _single(self, c: C) -> Value:
        match c.kind:
            case "num":
                number, type_ = c.data
                return Value(literal(number), type_, _ATOM, number)
            case "field":
                return self._field(c)
            case "cast":
                return self.cast(self.value(c.args[0]), str(c.data))
            case "unary":
                return self._unary(str(c.data), self.value(c.args[0]))
            case "binary":
                return self.binary(str(c.data), *map(self.value, c.args))
            case "item":
                return self._item(c)
        raise Unread(f"{self.function.name}: no Triton for {c.kind}")

    def as_type(self, values: Values, type_: str) -> Values:
        types = [t for t, _ in self.library.fields(type_)]
        return tuple(self.cast(v, t) for v, t in zip(values, types, strict=True))

    def _field(self, c: C) -> Value:
        (base,) = c.args
        if base.kind == "name":
            return Value(f"{base.data}_{c.data}", self.type_of(c))
        called = self.library.functions[str(base.data)]
        names = [name for _, name in self.library.structs[called.type].fields]
        return self._call(base)[names.index(str(c.data))]

    def _item(self, c: C) -> Value:
        """array[step * i + first] of a constant array."""
        base, index = c.args
        first = 0
        if index.kind == "binary" and index.data == "+" and index.args[1].kind == "num":
            index, first = index.args[0], index.args[1].data[0]
        if not (index.kind == "binary" and index.data == "*" and index.args[0].kind == "num"):
            raise Unread(f"{self.function.name}: expected array[number * i + number]")
        step = index.args[0].data[0]
        name = column_name(self.arrays[str(base.data)], step, first)
        return Value(f"{name}({self.value(index.args[1]).text})", "double")

    def alone(self, v: Value) -> str:
        """The text of a value that stands without another to take its type from."""
        return f"f64({v.text})" if v.number is not None and v.type == "double" else v.text

    # operators ----------------------------------------------------------------------------------
    def _unary(self, op: str, x: Value) -> Value:
        if op == "!":
            return Value(f"{self.inside(x, 1)} == 0", "bool", 0)
        if op == "~":
            ones = -1 if x.type in ("int", "long") else (1 << (64 if "long" in x.type else 32)) - 1
            return self.binary("^", x, Value(literal(ones), x.type, _ATOM, ones))
        if x.number is not None:
            return Value(literal(-x.number), x.type, 7, -x.number)
        if x.type in ("float", "double"):  # 0 - x would lose the sign of zero
            return Value(f"{self.inside(x, 6)} * -1.0", x.type, 6)
        return Value(f"0 - {self.inside(x, 6)}", x.type, 5)

    def inside(self, v: Value, level: int) -> str:
        return v.text if v.level >= level else f"({v.text})"

    def binary(self, op: str, a: Value, b: Value) -> Value:
        if op in ("&&", "||"):
            return self.binary(op[0], a, b)
        type_ = a.type if op in ("<<", ">>") else max(a.type, b.type, key=_RANK.__getitem__)
        if a.number is not None and b.number is not None:
            return self._folded(op, a.number, b.number, type_)
        a = self.cast(a, type_)
        b = b if op in ("<<", ">>") else self.cast(b, type_)
        if op == "/" and type_ == "float":
            return Value(f"tl.div_rn({a.text}, {b.text})", type_)
        if op in _COMPARES:
            return Value(f"{self.inside(a, 1)} {op} {self.inside(b, 1)}", "bool", 0)
        level = _LEVEL[op]
        return Value(f"{self.inside(a, level)} {op} {self.inside(b, level + 1)}", type_, level)

    def _folded(self, op: str, a, b, type_: str) -> Value:
        if op not in ("+", "-", "*"):
            raise Unread(f"{self.function.name}: two literals under {op}")
        number = a + b if op == "+" else a - b if op == "-" else a * b
        return Value(literal(number), type_, _ATOM, number)

    def cast(self, v: Value, type_: str) -> Value:
        if v.type == type_:
            return v
        if v.number is not None:
            number = float(v.number) if type_ in ("float", "double") else int(v.number)
            return Value(literal(number), type_, _ATOM, number)
        if type_ == "bool":
            return Value(f"{self.inside(v, 1)} != 0", "bool", 0)
        return Value(f"{self.inside(v, 8)}.to({TYPES[type_]})", type_)

    def _choose(self, c: C) -> Values:
        condition = self.cast(self.value(c.args[0]), "bool").text
        one, other = self.values(c.args[1]), self.values(c.args[2])
        out = []
        for a, b in zip(one, other, strict=True):
            type_ = max(a.type, b.type, key=_RANK.__getitem__)
            a, b = self.cast(a, type_), self.cast(b, type_)
            left = a.text if b.number is None else self.alone(a)
            out.append(Value(f"tl.where({condition}, {left}, {b.text})", type_))
        return tuple(out)

    # calls --------------------------------------------------------------------------------------
    def _call(self, c: C) -> Values:
        name = str(c.data)
        if name in _CONSTANTS:
            return (Value(literal(_CONSTANTS[name]), "float" if name.endswith("f") else "double", _ATOM,
                          _CONSTANTS[name]),)
        if name == "td_bits":
            x = self.value(c.args[0])
            type_ = "unsigned" if x.type == "float" else "unsigned long"
            return (Value(f"{self.inside(x, 8)}.to({TYPES[type_]}, bitcast=True)", type_),)
        if name in _BITCAST:
            type_ = _BITCAST[name]
            bits = self.cast(self.value(c.args[0]), "unsigned" if type_ == "float" else "unsigned long")
            return (Value(f"{self.inside(bits, 8)}.to({TYPES[type_]}, bitcast=True)", type_),)
        if name in _SAME:
            return (self._builtin(name, [self.value(a) for a in c.args]),)
        called = self.library.functions[name]
        if called.type not in self.library.structs:
            return (Value(self.call_text(c), called.type),)
        fields = self.library.structs[called.type].fields
        self.count += 1
        names = [f"t{self.count}_{field}" for _, field in fields]
        self.lines.append(f"{', '.join(names)} = {self.call_text(c)}")
        return tuple(Value(n, t) for n, (t, _) in zip(names, fields, strict=True))

    def _builtin(self, name: str, args: list[Value]) -> Value:
        type_ = max((a.type for a in args), key=_RANK.__getitem__)
        args = [self.cast(a, type_) for a in args]
        return Value(f"{_SAME[name]}({', '.join(self.alone(a) for a in args)})", type_)

    def call_text(self, c: C) -> str:
        called = self.library.functions[str(c.data)]
        texts = []
        for arg, (type_, _) in zip(c.args, called.parameters, strict=True):
            texts += [self.alone(v) for v in self.as_type(self.values(arg, type_), type_)]
        return f"{called.name}({', '.join(texts)})"
