"""A compiled Module is that Module: one `__dict__` for both, only the call differs."""

from __future__ import annotations

import weakref

_classes: dict[type, type] = {}
_calls: dict[int, object] = {}  # id of the twin -> its compiled call (a Module's __dict__ is shared)


def compile_module(module, fullgraph: bool, backend: str = "auto"):
    """A module sharing `module`'s attributes whose calls are compiled.

    It is an instance of the same class, has the same state_dict keys, and what is set on one is seen by
    both.
    """
    from .compile import Compiled

    twin = object.__new__(_compiled_class(type(module)))
    object.__setattr__(twin, "__dict__", module.__dict__)
    _calls[id(twin)] = Compiled(module.__call__, fullgraph, type(module).__name__, backend)
    weakref.finalize(twin, _calls.pop, id(twin), None)
    return twin



def _compiled_class(cls: type) -> type:
    found = _classes.get(cls)
    if found is None:
        def call(self, *args, **kwargs):
            return _calls[id(self)](*args, **kwargs)

        def explain(self):
            return _calls[id(self)].explain()

        def copy(self, memo):
            import copy as copying

            plain = object.__new__(cls)
            object.__setattr__(plain, "__dict__", self.__dict__)
            known = _calls[id(self)]
            return compile_module(copying.deepcopy(plain, memo), known.fullgraph, known.backend)

        found = type(cls.__name__, (cls,), {"__call__": call, "__deepcopy__": copy, "explain": explain,
                                            "__module__": cls.__module__, "__doc__": cls.__doc__})
        _classes[cls] = found
    return found
