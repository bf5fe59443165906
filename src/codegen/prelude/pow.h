// pow, by 2^(y log2 |x|); the special cases are C99's.

TD float td_pow_f(float x, float y) {
  double a = __builtin_fabs((double)x), b = (double)y;
  td_split_d m = td_split_of_d(a);
  double l = td_mad(td_log1p_core_fd(m.f), 0x1.71547652b82fep+0, m.k);
  l = a == 0 ? -__builtin_inf() : a < __builtin_inf() ? l : a;
  const double magic = 0x1.8p52 + 1023;
  double t = td_clamp_d(b * l, -160.0, 160.0), z = t + magic, r = (t - (z - magic)) * 0x1.62e42fefa39efp-1;
  double e = td_expm1_poly_fd(r), s = td_double_of(td_bits(z) << 52);
  double v = td_mad(s, e, s);
  bool whole = __builtin_rint(b) == b, odd = whole & (__builtin_rint(b * 0.5) * 2 != b);
  v = (((a == 1) & (td_abs_f(y) == __builtin_inff())) | (y == 0) | (x == 1)) ? 1.0 : v;
  v = ((x < 0) & (a < __builtin_inf()) & !whole) ? __builtin_nan("") : v;
  return odd ? td_copysign_f((float)v, x) : (float)v;
}

TD double td_log_pair_rest(double z) {
  double p = 0x1.eac62bc603309p-4;
  p = td_mad(p, z, 0x1.de3d65469dec2p-4);
  p = td_mad(p, z, 0x1.11206f686731ap-3);
  p = td_mad(p, z, 0x1.3b1364c824480p-3);
  p = td_mad(p, z, 0x1.745d1829594e9p-3);
  p = td_mad(p, z, 0x1.c71c71c5968cfp-3);
  p = td_mad(p, z, 0x1.2492492492f51p-2);
  return td_mad(p, z, 0x1.9999999999996p-2);
}

// log(x) of a positive finite x as a pair, to 2^-66
TD td_dd td_log_pair(double x) {
  td_split_d a = td_split_of_d(x);
  td_dd d = td_sum(2, a.f), n = {a.f, 0}, s = td_dd_div(n, d), z = td_dd_mul(s, s);
  td_dd c = td_last_step(td_log_pair_rest(z.h), z.h, 0x1.5555555555555p-1, 0x1.5555555555555p-55);
  td_dd cube = td_dd_mul(td_dd_mul(z, s), c), twice = td_fast_sum(2 * s.h, 2 * s.l);
  td_dd k = {a.k * 0x1.62e42fefa3p-1, a.k * 0x1.3de6af278ece6p-42};
  return td_dd_add(k, td_dd_add(twice, cube));
}

TD double td_pow_d(double x, double y) {
  double a = td_abs_d(x);
  td_dd l = td_log_pair(a);
  l.h = a == 0 ? -__builtin_inf() : a < __builtin_inf() ? l.h : a;
  double p = y * l.h, low = td_mad(y, l.l, td_fma(y, l.h, -p));
  td_exp_parts e = td_exp_parts_of(td_clamp_d(p, -800.0, 800.0), td_abs_d(p) < 800 ? low : 0.0);
  double v = td_scale_d(e.h + e.l, e.bits);
  bool whole = __builtin_rint(y) == y, odd = whole & (__builtin_rint(y * 0.5) * 2 != y);
  v = (((a == 1) & (td_abs_d(y) == __builtin_inf())) | (y == 0) | (x == 1)) ? 1.0 : v;
  v = ((x < 0) & (a < __builtin_inf()) & !whole) ? __builtin_nan("") : v;
  return odd ? td_copysign_d(v, x) : v;
}

// integers: wraps; a negative exponent gives the truncated quotient
template <class T> TD T td_ipow(T a, T n) {
  if (n < 0) return a == 1 ? (T)1 : a == (T)-1 ? (n & 1 ? a : (T)1) : (T)0;
  T v = 1;
  for (; n; n = (T)(n >> 1)) {
    if (n & 1) v = (T)(v * a);
    a = (T)(a * a);
  }
  return v;
}
