"""Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...frontend.declare import declare_content
from .module import Module
from .parameters import ParameterDict as ParameterDict, ParameterList as ParameterList
from .registering import note_change


class Container(Module):
    """The deprecated name of a Module with named submodules."""

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn("`nn.Container` is deprecated. All of its functionality is now implemented in "
                      "`nn.Module`. Subclass that instead.", FutureWarning, stacklevel=2)
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Row(Module):
    """Submodules in a row, named by their places."""

    def _listed(self) -> list[Module]:
        declare_content(self._modules)
        return list(self._modules.values())

    def _names(self) -> list[str]:
        declare_content(self._modules)
        return list(self._modules)

    def _name_at(self, index: int) -> str:
        names, index = self._names(), operator.index(index)
        if not -len(names) <= index < len(names):
            raise IndexError(f"index {index} is out of range")
        return names[index]

    def _renumber(self, modules: Iterable[Module]) -> None:
        note_change("the modules of a container change")
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(modules)}

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        names = self._names()[idx] if isinstance(idx, slice) else [self._name_at(idx)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[Module]:
        return iter(self._listed())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module):
        """Adds a module at the end; returns self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]):
        """Adds modules at the end; returns self."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, key: int | slice):
        """Takes the module at a place out and returns it."""
        found = self[key]
        del self[key]
        return found

    def _insert(self, index: int, module: Module) -> None:
        modules = self._listed()
        modules.insert(index, module)
        self._renumber(modules)


class Sequential(_Row):
    """Modules called one after the other, each on the result of the one before.

    >>> import treadle
    >>> Sequential(treadle.nn.Linear(2, 3), treadle.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args) -> None:
        super().__init__()
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        pairs = args[0].items() if named else ((str(i), m) for i, m in enumerate(args))
        for name, module in pairs:
            self.add_module(name, module)

    def __getitem__(self, idx: int | slice):
        if isinstance(idx, slice):
            declare_content(self._modules)
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def __add__(self, other: Sequential) -> Sequential:
        self._check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Sequential:
        self._check_sequential(other)
        return self.extend(list(other))

    @staticmethod
    def _check_sequential(other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError("add operator supports only objects of Sequential class, but "
                             f"{type(other)} is given.")

    def _check_count(self, count: Any) -> None:
        if not isinstance(count, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(count)}")
        if count <= 0:
            raise ValueError(f"Non-positive multiplication factor {count} for {type(self)}")

    def __mul__(self, other: int) -> Sequential:
        self._check_count(other)
        return Sequential(*list(self) * other)

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Sequential:
        self._check_count(other)
        return self.extend(list(self) * (other - 1))

    def forward(self, input):
        """Returns the last module's result."""
        for module in self:
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Sequential:
        """Puts a module before the one at `index`; returns self."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._insert(index, module)
        return self


class ModuleList(_Row):
    """A list of modules, registered as submodules.

    >>> import treadle
    >>> layers = ModuleList(treadle.nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), layers[-1] is layers[2]
    (3, True)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice):
        if isinstance(idx, slice):
            return type(self)(self._listed()[idx])
        return self._modules[self._name_at(idx)]

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end; returns self."""
        if not isinstance(modules, Iterable):
            raise TypeError("ModuleList.extend should be called with an iterable, but got "
                            + type(modules).__name__)
        start = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(start + i), module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Puts a module before the one at `index`."""
        self._insert(index, module)

    def __repr__(self) -> str:
        runs: list[list] = []  # [first place, last place, text]
        for i, text in enumerate(map(repr, self._modules.values())):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        body = "\n  ".join(line.replace("\n", "\n  ") for line in lines)
        return f"{self._get_name()}(\n  {body}\n)"


class ModuleDict(Module):
    """Modules by name, registered as submodules, in the order in which they came."""

    def __init__(self, modules: Mapping[str, Module] | Iterable | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def _read(self) -> dict:
        declare_content(self._modules)
        return self._modules

    def __getitem__(self, key: str) -> Module:
        return self._read()[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        note_change("the modules of a container change")
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __contains__(self, key: str) -> bool:
        return key in self._read()

    def clear(self) -> None:
        """Takes all modules out."""
        note_change("the modules of a container change")
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Takes the module of a name out and returns it."""
        found = self[key]
        del self[key]
        return found

    def keys(self):
        """Returns the names."""
        return self._read().keys()

    def items(self):
        """Returns (name, module) pairs."""
        return self._read().items()

    def values(self):
        """Returns the modules."""
        return self._read().values()

    def update(self, modules: Mapping[str, Module] | Iterable) -> None:
        """Adds the modules of a mapping or of (name, module) pairs, replacing those of the same name."""
        if not isinstance(modules, Iterable):
            raise TypeError("ModuleDict.update should be called with an iterable of key/value pairs, but got "
                            + type(modules).__name__)
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(given: Any, name: str) -> list[tuple]:
    """The (key, value) pairs of a mapping or of a sequence of pairs."""
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = []
    for j, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{j} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{j} has length {len(pair)}; 2 is required")
        pairs.append(tuple(pair))
    return pairs
