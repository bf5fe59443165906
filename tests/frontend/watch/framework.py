"""A stand-in for the framework: values, managed objects and functions in a file of their own."""

from types import SimpleNamespace

from treadle.frontend.watch import Hooks, Watch, declare_attr, declare_content, declare_item, declare_lazy
from treadle.frontend.watch import declare_store, suspended

FILE = "<framework>"
SOURCE = '''
class Value:
    def __init__(self, data): self._data = data
    shape = property(lambda self: (len(self._data),))
    grad = property(lambda self: self._grad, lambda self, new: setattr(self, "_grad", new))
    def __add__(self, other): return Value(self._data)
    def __mul__(self, other): return Value(self._data)
    __rmul__ = __mul__
    def __bool__(self): return bool(self._data)
    def relu(self): return self

class Module:
    def __init__(self): self.__dict__["_parameters"], self.__dict__["_hooks"] = {}, {}
    def __call__(self, *args):
        declare_attr(self, "forward")
        declare_attr(self, "_hooks")
        declare_content(self._hooks)
        for hook in self._hooks.values(): hook(self)
        return self.forward(*args)
    def __getattr__(self, name):
        declare_attr(self, "_parameters")
        declare_item(self.__dict__["_parameters"], name)
        try: return self.__dict__["_parameters"][name]
        except KeyError: raise AttributeError(name) from None
    def __setattr__(self, name, value):
        if isinstance(value, Value): self.__dict__["_parameters"][name] = value
        else: object.__setattr__(self, name, value)
    def train(self, mode):
        declare_store(self, "training")
        self.__dict__["training"] = mode

def apply(function, *args): return function(*args)
def concat(values): return values[0]
def makes_list(): return [1, 2, 3]
def noise(): declare_lazy("draws noise")
def quietly(function):
    with suspended():
        return function()
class NoGrad:
    def __enter__(self): return self
    def __exit__(self, *exc): return None
'''

_names = {
    "declare_attr": declare_attr, "declare_item": declare_item, "declare_content": declare_content,
    "declare_lazy": declare_lazy, "declare_store": declare_store, "suspended": suspended,
}  # fmt: skip
exec(compile(SOURCE, FILE, "exec"), _names)
fw = SimpleNamespace(**{name: _names[name] for name in (
    "Value", "Module", "apply", "concat", "makes_list", "noise", "quietly", "NoGrad")})  # fmt: skip

HOOKS = Hooks(
    is_framework_file=lambda name: name == FILE or "/frontend/watch/" in name and "/tests/" not in name,
    is_value=lambda value: isinstance(value, fw.Value),
    is_managed=lambda value: isinstance(value, fw.Module),
)


def record(fn, *args, owned=(), **kw):
    """Return (result, the finished watch) of one recording call."""
    with Watch(fn, HOOKS, owned) as watch:
        result = fn(*args, **kw)
    return result, watch
