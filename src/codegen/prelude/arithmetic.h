// Verbs that mean the same for every type. bool: add is or, mul is and, sub is xor.

template <class T> TD T td_add(T a, T b) { return (T)(a + b); }

template <class T> TD T td_sub(T a, T b) { return (T)(a - b); }

template <class T> TD T td_mul(T a, T b) { return (T)(a * b); }

template <class T> TD T td_neg(T a) { return (T)-a; }

template <class T> TD bool td_eq(T a, T b) { return a == b; }

template <class T> TD bool td_ne(T a, T b) { return a != b; }

template <class T> TD bool td_lt(T a, T b) { return a < b; }

template <class T> TD bool td_le(T a, T b) { return a <= b; }

template <class T> TD bool td_gt(T a, T b) { return a > b; }

template <class T> TD bool td_ge(T a, T b) { return a >= b; }

template <class T> TD T td_and_(T a, T b) { return (T)(a & b); }

template <class T> TD T td_or_(T a, T b) { return (T)(a | b); }

template <class T> TD T td_xor(T a, T b) { return (T)(a ^ b); }

template <class T> TD T td_not_(T a) { return (T)~a; }
TD bool td_not_(bool a) { return !a; }

template <class T> TD T td_select(bool c, T a, T b) { return c ? a : b; }

// the smaller, and a NaN if either is one (the comparisons are false for a NaN b)
template <class T> TD T td_minimum(T a, T b) { return a != a ? a : a < b ? a : b; }

template <class T> TD T td_maximum(T a, T b) { return a != a ? a : a > b ? a : b; }

template <class T> TD T td_abs(T a) { return (T)(a < 0 ? -a : a); }
TD unsigned char td_abs(unsigned char a) { return a; }
TD bool td_abs(bool a) { return a; }
TD float td_abs(float a) { return __builtin_fabsf(a); }
TD double td_abs(double a) { return __builtin_fabs(a); }

template <class T> TD T td_floor(T a) { return a; }
TD float td_floor(float a) { return __builtin_floorf(a); }
TD double td_floor(double a) { return __builtin_floor(a); }

template <class T> TD T td_ceil(T a) { return a; }
TD float td_ceil(float a) { return __builtin_ceilf(a); }
TD double td_ceil(double a) { return __builtin_ceil(a); }

template <class T> TD T td_trunc(T a) { return a; }
TD float td_trunc(float a) { return __builtin_truncf(a); }
TD double td_trunc(double a) { return __builtin_trunc(a); }

// half to even
template <class T> TD T td_round(T a) { return a; }
TD float td_round(float a) { return __builtin_rintf(a); }
TD double td_round(double a) { return __builtin_rint(a); }

TD float td_copysign(float a, float b) { return __builtin_copysignf(a, b); }
TD double td_copysign(double a, double b) { return __builtin_copysign(a, b); }

TD float td_sqrt(float a) { return __builtin_sqrtf(a); }
TD double td_sqrt(double a) { return __builtin_sqrt(a); }

TD float td_rsqrt(float a) { return 1.0f / __builtin_sqrtf(a); }
TD double td_rsqrt(double a) { return 1.0 / __builtin_sqrt(a); }

// a count outside [0, bits) shifts everything out: 0, or the sign for a right shift
template <class T> TD T td_shl(T a, T n) {
  return (unsigned long)n < 8 * sizeof(T) ? (T)((unsigned long)a << ((unsigned long)n & 63)) : (T)0;
}

template <class T> TD T td_shr(T a, T n) {
  return (unsigned long)n < 8 * sizeof(T) ? (T)(a >> n) : (T)(a < 0 ? -1 : 0);
}
