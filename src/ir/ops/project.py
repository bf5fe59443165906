"""One output of an op that has several."""

from ..op import Kind, make_op

getitem = make_op(
    "getitem", Kind.PROJECT, lambda types, *, index: types[index],
    lambda values, *, index: values[index], None, None,
)
