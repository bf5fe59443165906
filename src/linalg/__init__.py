"""Linear algebra in torch.linalg's names."""

from ..frontend.functions.linalg import (
    cholesky as cholesky, cholesky_ex as cholesky_ex, cond as cond, cross as cross,
    det as det, diagonal as diagonal, eig as eig, eigh as eigh,
    eigvals as eigvals, eigvalsh as eigvalsh, inv as inv, inv_ex as inv_ex, lstsq as lstsq,
    matrix_exp as matrix_exp, matrix_norm as matrix_norm, matrix_power as matrix_power, matrix_rank as matrix_rank,
    multi_dot as multi_dot, norm as norm, pinv as pinv, qr as qr, slogdet as slogdet, solve as solve,
    solve_triangular as solve_triangular, svd as svd, svdvals as svdvals, vander as vander, vecdot as vecdot,
)  # fmt: skip
from ..frontend.functions.matmul import matmul as matmul
from ..frontend.functions.reduce import vector_norm as vector_norm
from ..ir.errors import LinAlgError as LinAlgError
