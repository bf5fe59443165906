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
  bool whole = td_round(b) == b, odd = whole & (td_round(b * 0.5) * 2 != b);
  v = ((a == 1) & (td_abs_f(y) == __builtin_inff())) | (y == 0) | (x == 1) ? 1.0 : v;
  v = (x < 0) & (a < __builtin_inf()) & !whole ? __builtin_nan("") : v;
  return odd ? td_copysign_f((float)v, x) : (float)v;
}
