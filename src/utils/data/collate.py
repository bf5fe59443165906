"""Samples to batches: tensors stacked, numbers made tensors, containers taken apart."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...frontend.functions.create import as_tensor, tensor
from ...frontend.functions.join import stack
from ...frontend.tensor import Tensor
from ...ir import dtype as dt

UNKNOWN = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
Map = dict[Any, Callable]


def _no_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind in "SUO"


def _filled(like: Any, pairs: list[tuple]) -> Any:
    """A container like `like` with the values of (key, value) pairs; a plain dict or list if it cannot be made."""
    mapping = isinstance(like, Mapping)
    try:
        if isinstance(like, MutableMapping):
            out = copy.copy(like)
            out.update(dict(pairs))
            return out
        if isinstance(like, MutableSequence):
            out = copy.copy(like)
            for key, value in pairs:
                out[key] = value
            return out
        return type(like)(dict(pairs) if mapping else [v for _, v in pairs])
    except TypeError:
        return dict(pairs) if mapping else [v for _, v in pairs]


def default_convert(data: Any) -> Any:
    """Returns data with the arrays in it as tensors."""
    if isinstance(data, np.ndarray):
        return data if _no_numbers(data) else as_tensor(data)
    if isinstance(data, np.generic) and not isinstance(data, (np.str_, np.bytes_)):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return _filled(data, [(k, default_convert(data[k])) for k in data])
    if isinstance(data, tuple):
        made = [default_convert(d) for d in data]
        return type(data)(*made) if hasattr(data, "_fields") else made
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _filled(data, [(i, default_convert(d)) for i, d in enumerate(data)])
    return data


def collate(batch: list, *, collate_fn_map: Map | None = None) -> Any:
    """Returns the samples of `batch` as one, each kind by the function of its type."""
    first = batch[0]
    functions = collate_fn_map or {}
    if type(first) in functions:
        return functions[type(first)](batch, collate_fn_map=collate_fn_map)
    for kind, fn in functions.items():
        if isinstance(first, kind):
            return fn(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _filled(first, [(k, collate([d[k] for d in batch], collate_fn_map=collate_fn_map))
                               for k in first])
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(collate(column, collate_fn_map=collate_fn_map)
                             for column in zip(*batch, strict=False)))
    if not isinstance(first, Sequence):
        raise TypeError(UNKNOWN.format(type(first)))
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=True)]
    return columns if isinstance(first, tuple) else _filled(first, list(enumerate(columns)))


def collate_tensor_fn(batch: list[Tensor], *, collate_fn_map: Map | None = None) -> Tensor:
    """Returns tensors stacked."""
    return stack(batch, 0)


def _collate_arrays(batch: list, *, collate_fn_map: Map | None = None) -> Any:
    if _no_numbers(batch[0]):
        raise TypeError(UNKNOWN.format(batch[0].dtype))
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def _collate_scalars(batch: list, *, collate_fn_map: Map | None = None) -> Tensor:
    return as_tensor(np.array(batch))


def _collate_floats(batch: list[float], *, collate_fn_map: Map | None = None) -> Tensor:
    return tensor(batch, dtype=dt.float64)


def _collate_ints(batch: list[int], *, collate_fn_map: Map | None = None) -> Tensor:
    return tensor(batch)


def _collate_text(batch: list, *, collate_fn_map: Map | None = None) -> list:
    return batch


default_collate_fn_map: Map = {
    Tensor: collate_tensor_fn,
    np.ndarray: _collate_arrays,
    (np.bool_, np.number, np.object_): _collate_scalars,
    float: _collate_floats,
    int: _collate_ints,
    str: _collate_text,
    bytes: _collate_text,
}


def default_collate(batch: list) -> Any:
    """Returns a list of samples as one batch.

    >>> default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
