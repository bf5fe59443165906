"""Special functions NumPy lacks: erf, erfc, erfinv, lgamma, digamma.

Each takes an array of any float dtype and returns a new one of the same dtype and shape. float64 is
within 2 ulp, except lgamma and digamma at negative x, where two large terms may cancel and the error
is 2 ulp of the larger. float32 goes through float64 (erf has its own polynomials), float16 and
bfloat16 through float32. The polynomials are those of `codegen/prelude`, made by
`tools/fit_polynomials.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

BLOCK = 8192  # elements worked on at a time: the temporaries stay in the cache

_ERF_SMALL = (
    0.1283791670955126, -0.376126389031841, 0.11283791670971173, -0.02686617064805989,
    0.005223977653110178, -0.0008548328567375132, 0.00012055387607983481,
    -1.4926921461870497e-05, 1.6481791996586568e-06, -1.6565823202588306e-07,
    1.607759035558744e-08, -1.6735144148643906e-09, 1.483572275597882e-10,
)
_ERFCX = (
    1.2443758443396575, -0.14015851531923468, -0.0258879228741487, 0.1023804059609486,
    -0.09929667255354481, 0.05962587422975531, -0.02247360485041846, 0.0033616238361605906,
    0.0014366016453391907, -0.0008186341750342253, -1.928250731021671e-05,
    0.00012269562221586269, -1.1250671480834659e-05, -1.9291768577464163e-05,
    2.5843152024203607e-06, 3.4817984985450053e-06, -3.5833409360862804e-07,
    -7.001718002249852e-07, 8.994326219146552e-09, 1.42228458345401e-07, 1.2857071426947607e-08,
    -2.4462075153445963e-08, -3.177888718068053e-09, 2.4350293987102123e-09,
)
_LGAMMA = (
    0.42278433509846713, 0.32246703342411326, -0.06735230105319841, 0.020580808427779047,
    -0.007385551028640149, 0.0028905103311168004, -0.0011927539131168258, 0.0005096695131460437,
    -0.0002231547284719249, 9.945770618743997e-05, -4.492660090638202e-05,
    2.050532647824385e-05, -9.436812625093775e-06, 4.385914683465036e-06,
    -2.0512434725625973e-06, 9.17129718006284e-07, -4.1725360212422945e-07,
    2.8163269555174503e-07, -1.4544311413047444e-07,
)
_LGAMMA_HALF = (
    -0.8131238057251815, 1.0909482962451629, -0.7199661103625573, 0.6552243694414644,
    -0.6729879447120751, 0.7347350816957318, -0.8319115773992193, 0.9651524961842142,
    -1.1396030438265037, 1.3637708105847943, -1.6495034882969097, 2.0125225131870073,
    -2.4736575620399086, 3.0591211166426526, -3.7924117670764175, 4.72870004090792,
    -6.127773482114667, 7.802911197721097, -7.4761510075552575, 8.80741804507189,
    -27.19040017476202, 36.589348361912066,
)
_LGAMMA_ONE = (
    0.4831289505409809, -0.14595989591430608, 0.06291140107456437, -0.031308487501008224,
    0.01679709863127582, -0.009425622448735892, 0.005446457839040127, -0.003212074065373721,
    0.0019229163150460877, -0.0011644147667120124, 0.0007115190335734016,
    -0.0004379906890511464, 0.00027131404913423475, -0.0001689374202285544,
    0.00010535336839617163, -6.603972005019785e-05, 4.3033680834877624e-05,
    -2.7524797114339395e-05, 1.3174680854954738e-05, -7.78023130248707e-06,
    1.2149110988120526e-05, -8.198898693690038e-06,
)
_STIRLING = (
    0.08333333333333333, -0.0027777777777551584, 0.000793650775621876, -0.0005952327341552658,
    0.000840998200067342, -0.0018638219234226525, 0.0045067186906205346,
)
_DIGAMMA_ONE = (
    0.9510558760318328, -0.42362742128146064, 0.24054248424078742, -0.14840492305386074,
    0.09498872445281671, -0.06192213327733738, 0.040760833945690605, -0.026975796582546535,
    0.017907248154703317, -0.011908221870741881, 0.007927024967675049, -0.005279913121990844,
    0.0035180681608805325, -0.002345700815673683, 0.001563667351687355, -0.0010353510630896866,
    0.0006894472260998919, -0.0004895882697595307, 0.0003285057616962072,
    -0.00013813574004473855, 8.865410983142264e-05, -0.0001834486986374479,
    0.00012470135625416488,
)
_DIGAMMA_HALF = (
    -1.0858608797864722, 2.5418796476716077, -2.651316608168668, 3.2938854224735246,
    -4.283358575739102, 5.6562778578919035, -7.512397897011544, 10.000425785562761,
    -13.324913186154005, 17.761491791537726, -23.67888133280286, 31.569867123254333,
    -42.10333616605217, 56.14853421472297, -74.53165808989456, 99.14152750967457,
    -138.58942078820232, 187.7572452077103, -173.9082920777162, 210.7472083925451,
    -796.6892367921193, 1126.6492054343776,
)
_DIGAMMA_THREE = (
    0.9227843350984671, 0.39493406684822646, -0.07705690315959444, 0.01982323371113479,
    -0.005677755143363003, 0.001718061984537041, -0.0005367773820424806, 0.00017110619689791288,
    -5.5267825010241666e-05, 1.801263472459561e-05, -5.9073597975435674e-06,
    1.9459005403149672e-06, -6.430159995905723e-07, 2.1305019826504844e-07,
    -7.070033123097531e-08, 2.3350845650262755e-08, -7.741249739356838e-09,
    2.724906749055229e-09, -9.234606638962749e-10, 2.0241279047426821e-10,
    -6.048722777723038e-11, 6.22420814913854e-11, -2.1997168950598317e-11,
)
_DIGAMMA_FAR = (
    0.08333333333333312, -0.008333333332988713, 0.0039682537800848254, -0.004166617866529319,
    0.007568944143484684, -0.02056181721805266, 0.06099998824666805,
)
_ERFINV_CENTRE = (
    0.886226925452758, 0.23201366653465424, 0.011549342038277951, -0.002335101641695606,
    -0.00012804329372899902, 4.661143843517885e-05, 2.019993463255279e-06,
    -1.0125613029435698e-06, -3.728936232494658e-08, 2.2793294793463912e-08,
    7.473713981712861e-10, -5.129240097748347e-10, -2.7059126858626502e-11,
    1.9600140473196317e-11, -3.356687555209087e-12, 1.1493527579511284e-12,
    -4.3592655166467823e-13, 1.0309187904203623e-13, -1.554547708091238e-14,
    1.5448916263294575e-15, -9.949637839100162e-17, 3.804888123066072e-18,
    -6.611016522693907e-20,
)
_ERFINV_TAIL = (
    2.8329767987282706, 1.0016752766933998, 0.009445522011985705, -0.007643805570071209,
    0.005685182418121744, -0.003558794015660107, 0.001483737339129491, -0.0001488981052205208,
    -0.000283124374598469, 0.00020551659783897889, -4.6460642727449786e-05,
    -2.287307212808869e-05, 2.1935056850014787e-05, -5.947759350002343e-06,
    -1.6529050561674205e-06, 1.9997101760013834e-06, -6.445299427190291e-07,
    -7.83964534782618e-08, 1.6914208241426955e-07, -6.605136568011433e-08,
    -4.30655170543021e-09, 1.2475721161692206e-08, -3.0222900817691663e-09,
)
_ERFINV_FAR = (
    4.7236171149637975, 1.0103244465623906, -5.055681953174903e-05, -0.0002562887347714799,
    8.942926146843478e-05, -2.3429531645553304e-05, 5.507979436362172e-06,
    -1.268329084085226e-06, 3.3147991331808327e-07, -1.2098779466750695e-07,
    6.033285699809972e-08, -3.2317880128706656e-08, 1.5806663410557964e-08,
    -6.535831558351994e-09, 2.116508944876422e-09, -4.3405913079208355e-10,
    -1.809522592043103e-11, 6.310387690147705e-11, -3.3794386658973104e-11,
    1.156481772509733e-11, -1.2724005603132974e-12, -9.58956022129006e-13, 3.24950574414636e-13,
)
_ERF_SMALL_32 = (
    0.12837915, -0.37612507, 0.11281961, -0.026772095, 0.0050014914, -0.000603447,
)
_ERF_LARGE_32 = (
    -0.00016654136, -1.1277968, -0.636977, -0.10411276, 0.022314737, -0.0030653668,
    0.00019820691,
)
_DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)  # a sum of two


def _horner(coefficients: tuple, x: np.ndarray) -> np.ndarray:
    """The polynomial with these coefficients, lowest first, in the dtype of x."""
    total = np.multiply(x, x.dtype.type(coefficients[-1]))
    for c in coefficients[-2:0:-1]:
        total += x.dtype.type(c)
        total *= x
    total += x.dtype.type(coefficients[0])
    return total


def _scaled(times, coefficients: tuple, x: np.ndarray) -> np.ndarray:
    """times * polynomial, with the rounding of the polynomial's last step made good."""
    rest = _horner(coefficients[1:], x)
    rest *= x
    total = coefficients[0] + rest
    y = times * total
    y += times * ((coefficients[0] - total) + rest)
    return y


def _in_blocks(core: Callable, x: np.ndarray, work: np.dtype) -> np.ndarray:
    """core, a function of one-dimensional arrays of dtype `work`, over x of any shape."""
    out = np.empty(x.shape, x.dtype)
    source, target = x.reshape(-1), out.reshape(-1)
    with np.errstate(all="ignore"):
        for start in range(0, source.size, BLOCK):
            part = source[start : start + BLOCK]
            target[start : start + BLOCK] = core(part.astype(work, copy=False))
    return out


def through_double(core: Callable, x) -> np.ndarray:
    """core of an array, computed in float64 and rounded to the array's dtype.

    float16 and bfloat16 are rounded to float32 first, as compiled code does.

    >>> through_double(np.log, np.array([1, 2, 4], np.float32)).dtype
    dtype('float32')
    """
    x = np.asarray(x)
    if x.dtype.itemsize < 4:
        return through_double(core, x.astype(np.float32)).astype(x.dtype)
    return _in_blocks(core, x, np.dtype(np.float64))


def _split(keep: np.ndarray, x: np.ndarray, yes: Callable, no: Callable) -> np.ndarray:
    """yes(x) where keep, no(x) elsewhere; each sees only its own elements."""
    if keep.all():
        return yes(x)
    if not keep.any():
        return no(x)
    out = np.empty_like(x)
    out[keep] = yes(x[keep])
    rest = ~keep
    out[rest] = no(x[rest])
    return out


# erf and erfc


def erf(x) -> np.ndarray:
    """The error function.

    >>> erf(np.array([0.0, 0.5, -np.inf])).round(6).tolist()
    [0.0, 0.5205, -1.0]
    """
    x = np.asarray(x)
    if x.dtype == np.float64:
        return _in_blocks(_erf, x, x.dtype)
    if x.dtype == np.float32:
        return _in_blocks(_erf32, x, x.dtype)
    return erf(x.astype(np.float32)).astype(x.dtype)


def erfc(x) -> np.ndarray:
    """The complementary error function 1 - erf(x), accurate where that is small.

    >>> float(erfc(np.array(10.0)))
    2.088487583762545e-45
    """
    return through_double(_erfc, x)


def _erf32(x: np.ndarray) -> np.ndarray:
    a = np.abs(x)
    small = _horner(_ERF_SMALL_32, np.square(x))
    small *= x
    small += x
    large = _horner(_ERF_LARGE_32, np.minimum(a, np.float32(4)))
    np.exp(large, out=large)
    np.subtract(np.float32(1), large, out=large)
    np.copysign(large, x, out=large)
    np.copyto(small, large, where=a > np.float32(0.9))
    return small


def _erf_small(x: np.ndarray) -> np.ndarray:
    y = _horner(_ERF_SMALL, np.square(x))
    y *= x
    y += x
    return y


def _upper_half(x: np.ndarray) -> np.ndarray:
    """x cut to 26 bits: its square is exact."""
    return (x.view(np.uint64) & np.uint64(0xFFFFFFFFF8000000)).view(np.float64)


def _remainder(n: np.ndarray, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """n - q d for a quotient q, nearly exact."""
    qh, dh = _upper_half(q), _upper_half(d)
    return (((n - qh * dh) - qh * (d - dh)) - (q - qh) * dh) - (q - qh) * (d - dh)


def _erfc_large(x: np.ndarray) -> np.ndarray:
    """erfc for x >= 1/2: exp(-h**2) G / (1 + 2 x), and what h and the roundings left out."""
    x = np.minimum(x, 28.0)
    u = (x - 3) / (x + 3) - 0.0625
    rest = _horner(_ERFCX[1:], u) * u
    g = _ERFCX[0] + rest
    d = 2 * x + 1
    q = g / d
    h = _upper_half(x)
    # results below the normal range are made 2^93 times as large first, and so rounded once
    far = np.where(x > 26, 64.462890625, 0.0)
    error = np.expm1((h - x) * (x + h) + np.where(x > 26, -0.0002028329250862242, 0.0))
    error += (((_ERFCX[0] - g) + rest) + _remainder(g, q, d)) / g - ((2 * x - d) + 1) / d
    y = np.exp(far - np.square(h)) * q
    y += y * error
    return np.where(x > 26, y * 2.0**-93, y)


def _erf(x: np.ndarray) -> np.ndarray:
    a = np.abs(x)
    return np.copysign(_split(a < 1, a, _erf_small, lambda v: 1 - _erfc_large(v)), x)


def _erfc_near(x: np.ndarray) -> np.ndarray:
    rest = _horner(_ERF_SMALL, np.square(x))
    rest *= x
    return (0.5 - x) + (0.5 - rest)


def _erfc_far(x: np.ndarray) -> np.ndarray:
    tail = _erfc_large(np.abs(x))
    return np.where(x < 0, 2 - tail, tail)


def _erfc(x: np.ndarray) -> np.ndarray:
    return _split(np.abs(x) < 0.75, x, _erfc_near, _erfc_far)


# erfinv


def erfinv(x) -> np.ndarray:
    """The inverse of erf on (-1, 1); infinite at -1 and 1, NaN beyond.

    >>> float(erfinv(np.array(0.5)))
    0.4769362762044699
    """
    return through_double(_erfinv, x)


def _erfinv(x: np.ndarray) -> np.ndarray:
    a = np.abs(x)
    q = (1 - a) * (1 + a)
    y = _split(q > 0.0067, q, lambda v: _horner(_ERFINV_CENTRE, -np.log(v)), _erfinv_tail)
    return np.where(a < 1, x * y, x * np.where(a == 1, np.inf, np.nan))


def _log_pair(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log(x) as a sum of two, x positive."""
    m, e = np.frexp(x)
    top, low = e * 0.6931471803691238, np.log(m)  # ln 2 cut to 32 bits, so the product is exact
    s = top + low
    low = (top - s) + low + e * 1.9082149292705877e-10
    return s + low, (s - (s + low)) + low


def _erfinv_tail(q: np.ndarray) -> np.ndarray:
    """From the root of w = -log(q), with what rounding took from w and from the root."""
    w, low = _log_pair(q)
    w = -w
    r = np.sqrt(w)
    h = _upper_half(r)
    low = ((w - np.square(h)) - (r - h) * (r + h) - low) / (2 * r)
    near, far = lambda v: _horner(_ERFINV_TAIL, v - 3), lambda v: _horner(_ERFINV_FAR, v - 4.875)
    return _split(w <= 14, r, near, far) + 1.03 * low


# lgamma


def lgamma(x) -> np.ndarray:
    """The logarithm of |Gamma(x)|; infinite at 0, -1, -2, ... and at both infinities.

    >>> lgamma(np.array([1.0, 4.0, -1.0])).tolist() == [0.0, float(np.log(6.0)), np.inf]
    True
    """
    return through_double(_lgamma, x)


def _lgamma(x: np.ndarray) -> np.ndarray:
    y = _split(x < -0.5, x, _lgamma_left, _lgamma_right)
    return np.where(np.isinf(x), np.inf, y)


def _lgamma_right(x: np.ndarray) -> np.ndarray:
    return _split(x < 2, x, _lgamma_low, lambda v: _split(v < 7.5, v, _lgamma_near, _lgamma_far))


def _lgamma_low(x: np.ndarray) -> np.ndarray:
    """Below 2, where the zeros at 1 and 2 are factors; below 1/2 one step down."""
    return _split(x >= 1, x, _lgamma_one, lambda v: _split(v < 0.5, v, _lgamma_step, _lgamma_half))


def _lgamma_step(x: np.ndarray) -> np.ndarray:
    return _lgamma_low(x + 1) - np.log(np.abs(x))


def _lgamma_half(x: np.ndarray) -> np.ndarray:
    return _scaled(x - 1, _LGAMMA_HALF, x - 0.75)


def _lgamma_one(x: np.ndarray) -> np.ndarray:
    zeros = (x - 1) * (x - 2)
    y = _scaled(zeros, _LGAMMA_ONE, x - 1.5)
    y -= 0.5 * _remainder(zeros, x - 1, x - 2)  # the polynomial is near 1/2
    return y + 0.0  # no -0.0 at 1


def _lgamma_near(x: np.ndarray) -> np.ndarray:
    """t P(t) about 2, and the logarithm of (x - 1)(x - 2)... from there."""
    whole = np.rint(x)
    t = x - whole
    y = _scaled(t, _LGAMMA, t)
    product = x - 1
    for k in range(2, 6):
        product *= np.where(whole > k + 1.5, x - k, 1.0)
    return y + np.where(whole > 2.5, np.log(product), 0.0)


def _lgamma_far(x: np.ndarray) -> np.ndarray:
    """Stirling's formula: (x - 1/2)(log x - 1) + (log(2 pi) - 1) / 2 + S / x."""
    log, low = _log_pair(x)
    low *= x - 0.5
    low += _horner(_STIRLING, 1 / np.square(x)) / x + 0.41893853320467274
    return np.where(x < np.inf, (x - 0.5) * (log - 1) + low, x)


def _lgamma_left(x: np.ndarray) -> np.ndarray:
    """log(pi / |x sin(pi x)|) - lgamma(-x)."""
    s = np.abs(np.sin(np.pi * (x - np.rint(x))) * x)
    y = np.log(np.pi / s) - _lgamma_right(-x)
    return np.where(x == np.rint(x), np.inf, y)


# digamma


def digamma(x) -> np.ndarray:
    """The derivative of lgamma; NaN at -1, -2, ..., infinite at 0 with the sign of -x.

    >>> float(digamma(np.array(1.0)))
    -0.5772156649015329
    """
    return through_double(_digamma, x)


def _digamma(x: np.ndarray) -> np.ndarray:
    return _split(x < 0, x, _digamma_left, _digamma_right)


def _digamma_right(x: np.ndarray) -> np.ndarray:
    return _split(x < 8, x, lambda v: _split(v < 2, v, _digamma_low, _digamma_near), _digamma_far)


def _digamma_low(x: np.ndarray) -> np.ndarray:
    """Below 2; below 1/2 one step down."""
    return _split(x >= 1, x, _digamma_one, lambda v: _split(v < 0.5, v, _digamma_step, _digamma_half))


def _digamma_step(x: np.ndarray) -> np.ndarray:
    return _digamma_low(x + 1) - 1 / x


def _digamma_half(x: np.ndarray) -> np.ndarray:
    return _scaled(1.0, _DIGAMMA_HALF, x - 0.75)


def _digamma_one(x: np.ndarray) -> np.ndarray:
    """On [1, 2), where the zero is a factor."""
    return _scaled((x - _DIGAMMA_ROOT[0]) - _DIGAMMA_ROOT[1], _DIGAMMA_ONE, x - 1.5)


def _digamma_near(x: np.ndarray) -> np.ndarray:
    """On [2, 4), and 1 / (x - 1) + 1 / (x - 2) + ... above it."""
    steps = np.where(x < 4, 0.0, np.where(x < 6, 2.0, 4.0))
    y = _scaled(1.0, _DIGAMMA_THREE, (x - steps) - 3)
    for k in range(1, 5):
        y += np.where(steps >= k, 1 / (x - k), 0.0)
    return y


def _digamma_far(x: np.ndarray) -> np.ndarray:
    w = 1 / np.square(x)
    return np.log(x) - (0.5 / x + w * _horner(_DIGAMMA_FAR, w))


def _digamma_left(x: np.ndarray) -> np.ndarray:
    """digamma(1 - x) - pi / tan(pi x)."""
    u = x - np.rint(x)
    y = _digamma_right(1 - x) - np.pi / np.tan(np.pi * u)
    y = np.where(x > -1e-17, -1 / x, y)
    return np.where(u == 0, np.nan, y)
