"""Named results: `torch.return_types.max(values=..., indices=...)` and its kin."""

from __future__ import annotations

from collections import namedtuple


def _named(name: str, *fields: str):
    base = namedtuple(name, fields)

    def __repr__(self):  # noqa: N807
        inner = ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{inner})"

    return type(name, (base,), {"__repr__": __repr__, "__slots__": (), "__doc__": f"({', '.join(fields)})",
                                "__module__": __name__})


max = _named("max", "values", "indices")
min = _named("min", "values", "indices")
sort = _named("sort", "values", "indices")
topk = _named("topk", "values", "indices")
median = _named("median", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
mode = _named("mode", "values", "indices")
kthvalue = _named("kthvalue", "values", "indices")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
aminmax = _named("aminmax", "min", "max")
slogdet = _named("slogdet", "sign", "logabsdet")
linalg_slogdet = _named("linalg_slogdet", "sign", "logabsdet")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_eig = _named("linalg_eig", "eigenvalues", "eigenvectors")
linalg_lstsq = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_inv_ex = _named("linalg_inv_ex", "inverse", "info")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L", "info")
linalg_lu = _named("linalg_lu", "P", "L", "U")
linalg_lu_factor = _named("linalg_lu_factor", "LU", "pivots")
svd = _named("svd", "U", "S", "V")
qr = _named("qr", "Q", "R")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient")
histogram = _named("histogram", "hist", "bin_edges")
frexp = _named("frexp", "mantissa", "exponent")
