// Division and remainders. Integers: a zero divisor gives 0 (the caller checks for it and raises),
// MIN / -1 wraps. Up to 32 bits they go through double, whose quotient truncates exactly.

template <class T> TD T td_quotient(T a, T b) {
  return (T)(int)(long)((double)a / (double)(b == 0 ? (T)1 : b));
}

TD long td_quotient(long a, long b) { return b == 0 ? 0 : b == -1 ? -a : a / b; }

template <class T> TD T td_div(T a, T b) { return b == 0 ? (T)0 : td_quotient(a, b); }
TD float td_div(float a, float b) { return a / b; }
TD double td_div(double a, double b) { return a / b; }
TD bool td_div(bool a, bool b) { return a && b; }

template <class T> TD T td_fmod(T a, T b) { return b == 0 ? (T)0 : (T)(a - td_quotient(a, b) * b); }
TD bool td_fmod(bool, bool) { return false; }

// the quotient rounded down
template <class T> TD T td_floordiv(T a, T b) {
  T q = td_quotient(a, b), r = (T)(a - q * b);
  return b == 0 ? (T)0 : (T)(q - ((r != 0) & ((r < 0) != (b < 0))));
}
TD bool td_floordiv(bool a, bool b) { return a && b; }

// the remainder with the divisor's sign
template <class T> TD T td_mod(T a, T b) {
  T r = td_fmod(a, b);
  return (T)(((r != 0) & ((r < 0) != (b < 0))) ? r + b : r);
}
TD bool td_mod(bool, bool) { return false; }

// r less the nearest multiple of d: exact for floats, and 52 bits shorter
TD double td_fmod_step(double r, double d) { return td_fma(-__builtin_rint(r / d), d, r); }

// six steps cover every ratio of two floats
TD float td_fmod(float a, float b) {
  double n = __builtin_fabs((double)a), d = __builtin_fabs((double)b);
  double r = td_fmod_step(td_fmod_step(td_fmod_step(n, d), d), d);
  r = td_fmod_step(td_fmod_step(td_fmod_step(r, d), d), d);
  r = r < 0 ? r + d : r;
  return __builtin_copysignf((float)(n < d ? n : r), a);
}

// exact while the quotient has under 53 bits; the rest is libm's
TD double td_fmod(double a, double b) {
  double n = __builtin_fabs(a), d = __builtin_fabs(b), q = __builtin_trunc(n / d);
  double r = td_fma(-q, d, n);
  r = r < 0 ? r + d : r;
  if (n < d) return a;
  if (!(q < 0x1p52 && d > 0x1p-900 && n < 0x1p1000)) return __builtin_fmod(a, b);
  return __builtin_copysign(r, a);
}

TD float td_mod(float a, float b) {
  float r = td_fmod(a, b);
  return ((r != 0) & ((r < 0) != (b < 0))) ? r + b : r;
}
TD double td_mod(double a, double b) {
  double r = td_fmod(a, b);
  return ((r != 0) & ((r < 0) != (b < 0))) ? r + b : r;
}

// PyTorch's: from the exact remainder, so that a quotient just under an integer stays under it
template <class T> TD T td_floor_quotient(T a, T b, T mod) {
  T div = (a - mod) / b;
  div = ((mod != 0) & ((b < 0) != (mod < 0))) ? div - 1 : div;
  T down = td_floor(div);
  down = div - down > (T)0.5 ? down + 1 : down;
  T zero = td_copysign((T)0, a / b);
  return b == 0 ? a / b : div != 0 ? down : zero;
}

TD float td_floordiv(float a, float b) { return td_floor_quotient(a, b, td_fmod(a, b)); }
TD double td_floordiv(double a, double b) { return td_floor_quotient(a, b, td_fmod(a, b)); }
