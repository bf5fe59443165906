"""Special functions in torch.special's names."""

from ..frontend.functions.binary import xlogy as xlogy
from ..frontend.functions.nn.softmax import log_softmax as log_softmax, softmax as softmax
from ..frontend.functions.pointwise import (
    digamma as digamma, digamma as psi, erf as erf, erfc as erfc, erfinv as erfinv, exp2 as exp2, expm1 as expm1,
    lgamma as gammaln, log1p as log1p, logit as logit, round as round, sigmoid as expit, sinc as sinc,
)  # fmt: skip
from ..frontend.functions.reduce import logsumexp as logsumexp
from ..frontend.functions.special import (
    entr as entr, log_ndtr as log_ndtr, multigammaln as multigammaln, ndtr as ndtr, ndtri as ndtri, xlog1py as xlog1py,
)  # fmt: skip
