"""Device names, as torch.device."""

from __future__ import annotations


class device:  # noqa: N801 - PyTorch's name
    """A device by type and index.

    >>> device("cuda:1").index, device("cpu")
    (1, device(type='cpu'))
    """

    __slots__ = ("index", "type")
    TYPES = ("cpu", "cuda", "meta")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            type, index = "cuda", type
        elif ":" in type:
            type, _, text = type.partition(":")
            if not text.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}:{text}'")
            index = int(text)
        if type not in self.TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(self.TYPES)} device type at start of device string: {type}"
            )
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name, _value):
        raise AttributeError(f"attribute '{name}' of 'device' objects is not writable")

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __repr__(self):
        tail = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{tail})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self):
        return device, (self.type, self.index)


CPU = device("cpu")
