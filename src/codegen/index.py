"""Integer index expressions: sums of coefficient * atom, simplified by the ranges of their variables.

    index = int | Ix
    Ix    = const + sum(coefficient * atom)
    atom  = Var | Div(Ix, c) | Mod(Ix, c) | Read(expr) | Held(Ix)        c a positive int
Movement rows use Python's + - * // % on them. (32 * a + b) // 32 is a for b in [0, 32), so that reshapes,
permutes, slices and windows of contiguous memory fold into plain strides.
"""

from __future__ import annotations

from math import gcd


class Atom:
    """What an index is a sum of; `lo` and `hi` bound its value, both included."""

    __slots__ = ("hi", "lo", "key")

    def __init__(self, lo: int, hi: int, key: tuple):
        self.lo, self.hi, self.key = lo, hi, key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other) -> bool:
        return self is other or self.key == other.key


_count = iter(range(1 << 62))


class Var(Atom):
    """A loop variable in [0, extent)."""

    __slots__ = ("extent", "name")

    def __init__(self, name: str, extent: int):
        super().__init__(0, max(extent - 1, 0), ("var", next(_count)))
        self.name, self.extent = name, extent

    __hash__ = Atom.__hash__


class Div(Atom):
    __slots__ = ("by", "of")

    def __init__(self, of: Ix, by: int):
        super().__init__(of.lo // by, of.hi // by, ("div", of, by))
        self.of, self.by = of, by

    __hash__ = Atom.__hash__


class Mod(Atom):
    __slots__ = ("by", "of")

    def __init__(self, of: Ix, by: int):
        super().__init__(0, by - 1, ("mod", of, by))
        self.of, self.by = of, by

    __hash__ = Atom.__hash__


class Read(Atom):
    """A number read from data, known to be in [0, size)."""

    __slots__ = ("expr",)

    def __init__(self, expr, size: int):
        super().__init__(0, max(size - 1, 0), ("read", expr, size))
        self.expr = expr

    __hash__ = Atom.__hash__


class Held(Atom):
    """An index known to lie in [lo, hi] wherever it is used, since a condition guards the use."""

    __slots__ = ("of",)

    def __init__(self, of: Ix, lo: int, hi: int):
        super().__init__(lo, hi, ("held", of, lo, hi))
        self.of = of

    __hash__ = Atom.__hash__


class Ix:
    """A sum of atoms; made by `make`, which keeps it in normal form."""

    __slots__ = ("_hash", "const", "hi", "lo", "terms")

    def __init__(self, terms: dict[Atom, int], const: int):
        self.terms, self.const = terms, const
        lo = hi = const
        for atom, k in terms.items():
            lo += k * (atom.lo if k > 0 else atom.hi)
            hi += k * (atom.hi if k > 0 else atom.lo)
        self.lo, self.hi = lo, hi
        self._hash = hash((const, frozenset(terms.items())))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other) -> bool:
        return self is other or (
            type(other) is Ix and self._hash == other._hash and self.const == other.const
            and self.terms == other.terms
        )

    def __add__(self, other):
        if type(other) is int:
            return Ix(self.terms, self.const + other) if other else self
        terms = dict(self.terms)
        for atom, k in other.terms.items():
            terms[atom] = terms.get(atom, 0) + k
        return make(terms, self.const + other.const)

    __radd__ = __add__

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, k: int):
        if k == 1:
            return self
        return Ix({a: c * k for a, c in self.terms.items()}, self.const * k) if k else 0

    __rmul__ = __mul__

    def __floordiv__(self, c: int):
        return divide(self, c)

    def __mod__(self, c: int):
        return modulo(self, c)

    def __repr__(self) -> str:
        return text(self)


_COMPOUND = (Div, Mod, Held)


def index_of(atom: Atom) -> Ix | int:
    """The index that is this atom alone; a constant if it has one value."""
    return Ix({atom: 1}, 0) if atom.lo != atom.hi else atom.lo


def held(x: Ix | int, size: int) -> Ix | int:
    """x, known to be in [0, size)."""
    if type(x) is int or x.lo >= 0 and x.hi < size:
        return x
    return index_of(Held(x, max(x.lo, 0), min(x.hi, size - 1)))


def release(x: Ix | int) -> Ix | int:
    """x with what was held as plain sums again: all use of the knowledge has been made."""
    if type(x) is int or not any(map(_holds, x.terms)):
        return x
    total: Ix | int = x.const
    for atom, k in x.terms.items():
        total = total + _released(atom) * k
    return total


def _holds(atom: Atom) -> bool:
    return type(atom) is Held or type(atom) in (Div, Mod) and any(map(_holds, atom.of.terms))


def _released(atom: Atom) -> Ix | int:
    """The index that is this atom alone, nothing held at any depth."""
    if type(atom) is Held:
        return release(atom.of)
    if type(atom) in (Div, Mod) and _holds(atom):
        of = release(atom.of)
        return of // atom.by if type(atom) is Div else of % atom.by
    return index_of(atom)


def make(terms: dict[Atom, int], const: int) -> Ix | int:
    """The normal form: no zero coefficients; k*m*(x // m) + k*(x % m) becomes k*x."""
    terms = {a: k for a, k in terms.items() if k}
    for atom in terms:
        if type(atom) is Mod:
            k = terms[atom]
            partner, scale = _quotient_of(atom)
            if partner is not None and terms.get(partner) == k * atom.by * scale:
                del terms[atom], terms[partner]
                return make(terms, const) + atom.of * k
    return Ix(terms, const) if terms else const


def _quotient_of(mod: Mod) -> tuple[Atom | None, int]:
    """The atom of (mod.of // mod.by), if it is one atom alone, and its coefficient."""
    q = divide(mod.of, mod.by)
    if type(q) is Ix and len(q.terms) == 1 and q.const == 0:
        ((atom, k),) = q.terms.items()
        return atom, k
    return None, 1


def _split(x: Ix, c: int) -> tuple[dict[Atom, int], int, dict[Atom, int], int]:
    """x = c * (terms, const) + (rest, rest const), the rest's constant in [0, c)."""
    whole = {a: k // c for a, k in x.terms.items() if k % c == 0}
    rest = {a: k for a, k in x.terms.items() if k % c}
    return whole, x.const // c, rest, x.const % c


def divide(x: Ix | int, c: int) -> Ix | int:
    """x // c."""
    if c == 1:
        return x
    if type(x) is int:
        return x // c
    if x.lo // c == x.hi // c:
        return x.lo // c
    whole, const, rest, left = _split(x, c)
    if not rest:
        return make(whole, const)
    part = Ix(rest, left)
    if part.lo >= 0 and part.hi < c:
        return make(whole, const)
    return make(whole, const) + _divide_rest(part, c)


def _coarse(part: Ix, c: int) -> tuple[Ix, Ix | int, int] | None:
    """part = g * X + Y with g > 1 a divisor of c and Y in [0, g), as (X, Y, g); None if there is none."""
    terms = sorted(part.terms.items(), key=lambda t: -abs(t[1]))
    g = c
    found = None
    for place, (_, k) in enumerate(terms):
        g = gcd(g, abs(k))
        if g == 1:
            break
        low = part.const % g
        rest = make(dict(terms[place + 1:]), low)
        lo, hi = (rest, rest) if type(rest) is int else (rest.lo, rest.hi)
        if lo >= 0 and hi < g:
            big = Ix({a: k // g for a, k in terms[:place + 1]}, part.const // g)
            found = big, rest, g
            break
    return found


def _divide_rest(part: Ix, c: int) -> Ix | int:
    if part.lo // c == part.hi // c:
        return part.lo // c
    coarse = _coarse(part, c)
    if coarse is not None:
        return divide(coarse[0], c // coarse[2])
    if len(part.terms) == 1 and part.const == 0:
        ((atom, k),) = part.terms.items()
        if k == 1 and type(atom) is Div:
            return divide(atom.of, atom.by * c)
        if k == 1 and type(atom) is Mod and atom.by % c == 0:
            return modulo(divide(atom.of, c), atom.by // c)
    return Ix({Div(part, c): 1}, 0)


def modulo(x: Ix | int, c: int) -> Ix | int:
    """x % c; 0 for c == 0, where no element asks for it."""
    if c <= 1:
        return 0
    if type(x) is int:
        return x % c
    if x.lo // c == x.hi // c:
        return x - c * (x.lo // c)
    _, _, rest, left = _split(x, c)
    if not rest:
        return left
    part = Ix({a: k % c if k > 0 else -(-k % c) for a, k in rest.items()}, left)
    if part.lo // c == part.hi // c:
        return part - c * (part.lo // c)
    coarse = _coarse(part, c)
    if coarse is not None:
        big, small, g = coarse
        return modulo(big, c // g) * g + small
    if len(part.terms) == 1 and part.const == 0:
        ((atom, k),) = part.terms.items()
        if k == 1 and type(atom) is Mod and atom.by % c == 0:
            return modulo(atom.of, c)
    return Ix({Mod(part, c): 1}, 0)


def substitute(x: Ix | int, values: dict[Atom, Ix | int]) -> Ix | int:
    """x with its variables replaced, simplified again."""
    if type(x) is int:
        return x
    total: Ix | int = x.const
    for atom, k in x.terms.items():
        total = total + _value(atom, values) * k
    return total


def _value(atom: Atom, values: dict) -> Ix | int:
    if type(atom) is Div:
        return divide(substitute(atom.of, values), atom.by)
    if type(atom) is Mod:
        return modulo(substitute(atom.of, values), atom.by)
    if type(atom) is Held:
        inner = substitute(atom.of, values)
        if type(inner) is int or inner.lo >= atom.lo and inner.hi <= atom.hi:
            return inner
        return index_of(Held(inner, max(inner.lo, atom.lo), min(inner.hi, atom.hi)))
    found = values.get(atom)
    return index_of(atom) if found is None else found


def variables(x: Ix | int, into: set | None = None) -> set[Atom]:
    """The variables and reads that x depends on."""
    found = set() if into is None else into
    if type(x) is Ix:
        for atom in x.terms:
            if type(atom) in _COMPOUND:
                variables(atom.of, found)
            else:
                found.add(atom)
    return found


def coefficient(x: Ix | int, atom: Atom) -> int | None:
    """How much x grows with the atom, or None where that is not a constant."""
    if type(x) is int:
        return 0
    for a in x.terms:
        if type(a) in _COMPOUND and atom in variables(a.of):
            return None
    return x.terms.get(atom, 0)


def breaks(x: Ix | int, var: Atom, found: set[int]) -> None:
    """Adds the c of every (var ...) // c and % c in x where var stands alone with a coefficient."""
    if type(x) is int:
        return
    for atom in x.terms:
        if type(atom) in (Div, Mod):
            k = atom.of.terms.get(var)
            if k is not None and len(variables(atom.of)) >= 1:
                step = atom.by // gcd(atom.by, abs(k))
                if step > 1:
                    found.add(step)
        if type(atom) in _COMPOUND:
            breaks(atom.of, var, found)


def flatten(index: tuple, strides: tuple[int, ...], offset: int = 0) -> Ix | int:
    """The offset of an element from its index and the strides."""
    total: Ix | int = offset
    for i, s in zip(index, strides, strict=True):
        total = total + i * s
    return total


def unflatten(flat: Ix | int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple:
    """The index in a contiguous shape of the element at a flat place."""
    return tuple((flat // s) % n if d else flat // s
                 for d, (s, n) in enumerate(zip(strides, shape, strict=True)))


def text(x: Ix | int) -> str:
    """A readable form, for errors and tests."""
    if type(x) is int:
        return str(x)
    parts = [_atom_text(a) if k == 1 else f"{k}*{_atom_text(a)}" for a, k in x.terms.items()]
    return " + ".join(parts + ([str(x.const)] if x.const else []))


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, Var):
        return atom.name
    if isinstance(atom, Div):
        return f"({text(atom.of)})//{atom.by}"
    if isinstance(atom, Mod):
        return f"({text(atom.of)})%{atom.by}"
    if isinstance(atom, Held):
        return f"<{text(atom.of)}>"
    return "[read]"
