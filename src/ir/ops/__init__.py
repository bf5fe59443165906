"""The table: one row per primitive, in a file per family. Nothing else lists ops by name."""

from .. import arith as _arith
from ..op import Op
from . import (contract, create, elementwise, fourier, gather, library, linalg, movement, project, random, reduce, scan,
               views)

_FAMILIES = (create, elementwise, movement, views, reduce, contract, gather, scan, random, library, linalg, fourier,
             project)
TABLE: dict[str, Op] = {
    row.name: row for family in _FAMILIES for row in vars(family).values() if isinstance(row, Op)
}
globals().update(TABLE)


class _Table:
    """The rows as attributes, for the operators."""


for _name, _row in TABLE.items():
    setattr(_Table, _name, _row)
_arith.table = _Table
