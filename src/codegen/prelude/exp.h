// exp, exp2, expm1. All start from x = k ln 2 + r, |r| <= ln 2 / 2, and exp(r) - 1 = r + r^2 P(r);
// k is read from the low bits of a sum with 1.5 * 2^23 (2^52) plus a bias.

TD float td_exp_tail_f(float r) {
  float p = 0x1.6ab74cp-10f;
  p = td_mad(p, r, 0x1.123d62p-7f);
  p = td_mad(p, r, 0x1.55585ap-5f);
  p = td_mad(p, r, 0x1.55548cp-3f);
  return td_mad(p, r, 0x1.fffffcp-2f);
}

TD double td_exp_tail_d(double r) {
  double p = 0x1.ad7f81fdd3dabp-26;
  p = td_mad(p, r, 0x1.28adcdd052424p-22);
  p = td_mad(p, r, 0x1.71df25d114feep-19);
  p = td_mad(p, r, 0x1.a01999ae86d9fp-16);
  p = td_mad(p, r, 0x1.a01a0129e3ecap-13);
  p = td_mad(p, r, 0x1.6c16c1844ac0cp-10);
  p = td_mad(p, r, 0x1.1111111127ddcp-7);
  p = td_mad(p, r, 0x1.55555555507f1p-5);
  p = td_mad(p, r, 0x1.55555555554f9p-3);
  return td_mad(p, r, 0x1.000000000000ap-1);
}

// to 2^-34, for float results
TD double td_exp_tail_fd(double r) {
  double p = 0x1.9f0831ec18b33p-13;
  p = td_mad(p, r, 0x1.6d8db5448debap-10);
  p = td_mad(p, r, 0x1.111271f5a5218p-7);
  p = td_mad(p, r, 0x1.55548d0add25fp-5);
  p = td_mad(p, r, 0x1.55555441adb16p-3);
  return td_mad(p, r, 0x1.0000003a74188p-1);
}

// exp(r) - 1
TD float td_expm1_poly_f(float r) { return td_mad(r * r, td_exp_tail_f(r), r); }

TD double td_expm1_poly_d(double r) { return td_mad(r * r, td_exp_tail_d(r), r); }

TD double td_expm1_poly_fd(double r) { return td_mad(r * r, td_exp_tail_fd(r), r); }

// y * 2^k in two steps, so that subnormal and infinite results come out; b holds k + twice the bias
TD float td_scale_f(float y, unsigned b) {
  unsigned half = (b >> 1) << 23;
  return y * td_float_of(half) * td_float_of((b << 23) - half);
}

TD double td_scale_d(double y, unsigned long b) {
  unsigned long half = (b >> 1) << 52;
  return y * td_double_of(half) * td_double_of((b << 52) - half);
}

TD double td_clamp_d(double x, double lo, double hi) { x = x < lo ? lo : x; return x > hi ? hi : x; }

// bits: k + bias in its low bits, where magic is 1.5 * 2^23 (2^52) + bias
struct td_reduced_f { float r; unsigned bits; };

struct td_reduced_d { double r; unsigned long bits; };

TD td_reduced_f td_exp_reduce_f(float x, float magic) {
  float z = td_mad(x, 0x1.715476p+0f, magic), k = z - magic;
  td_reduced_f a = {td_mad(k, 0x1.05c610p-29f, td_mad(k, -0x1.62e430p-1f, x)), td_bits(z)};
  return a;
}

TD td_reduced_d td_exp_reduce_d(double x, double magic) {
  double z = td_mad(x, 0x1.71547652b82fep+0, magic), k = z - magic;
  td_reduced_d a = {td_mad(k, -0x1.abc9e3b39803fp-56, td_mad(k, -0x1.62e42fefa39efp-1, x)), td_bits(z)};
  return a;
}

// inf or 0, by the sign of a large x. Clamping x first would be the natural way, but compilers turn
// two clamps in a row into branches and those into twice the work.
TD float td_exp_end_f(float x) { return td_float_of(0x7f800000u & ~(unsigned)((int)td_bits(x) >> 31)); }

TD double td_exp_end_d(double x) {
  return td_double_of(0x7ff0000000000000ul & ~(unsigned long)((long)td_bits(x) >> 63));
}

TD float td_exp_f(float x) {
  td_reduced_f a = td_exp_reduce_f(x, 0x1.8p23f + 254);
  float y = td_scale_f(1 + td_expm1_poly_f(a.r), a.bits);
  return td_abs_f(x) > 105 ? td_exp_end_f(x) : y;
}

TD double td_exp_d(double x) {
  td_reduced_d a = td_exp_reduce_d(x, 0x1.8p52 + 2046);
  double y = td_scale_d(1 + td_expm1_poly_d(a.r), a.bits);
  return td_abs_d(x) > 746 ? td_exp_end_d(x) : y;
}

TD float td_exp2_f(float x) {
  const float magic = 0x1.8p23f + 254;
  float z = x + magic, t = x - (z - magic), r = td_mad(t, 0x1.62e430p-1f, t * -0x1.05c610p-29f);
  float y = td_scale_f(1 + td_expm1_poly_f(r), td_bits(z));
  return td_abs_f(x) > 151 ? td_exp_end_f(x) : y;
}

TD double td_exp2_d(double x) {
  const double magic = 0x1.8p52 + 2046;
  double z = x + magic, t = x - (z - magic);
  double r = td_mad(t, 0x1.62e42fefa39efp-1, t * 0x1.abc9e3b39803fp-56);
  double y = td_scale_d(1 + td_expm1_poly_d(r), td_bits(z));
  return td_abs_d(x) > 1076 ? td_exp_end_d(x) : y;
}

// 2^k (r + r^2 P) + (2^k - 1): the two large terms are added without loss, all is halved so that
// k = 128 does not overflow before its time, and k is at least -30 (-60)
TD float td_expm1_f(float x) {
  td_reduced_f a = td_exp_reduce_f(x, 0x1.8p23f + 127);
  int low_bits = 0x4b400000 + 127 - 30, bits = (int)a.bits > low_bits ? (int)a.bits : low_bits;
  float h = td_float_of((unsigned)(bits - 1) << 23), tail = h * (a.r * a.r) * td_exp_tail_f(a.r);
  float top = h - 0.5f, s = td_mad(h, a.r, top), low = td_mad(h, a.r, top - s);
  float y = 2 * (s + (low + tail));
  float end = td_float_of(0x7f800000u ^ ((unsigned)((int)td_bits(x) >> 31) & 0xc0000000u));
  y = td_abs_f(x) > 88.8f ? end : y;
  return x == 0 ? x : y;
}

TD double td_expm1_d(double x) {
  td_reduced_d a = td_exp_reduce_d(x, 0x1.8p52 + 1023);
  long low_bits = 0x4338000000000000 + 1023 - 60, bits = (long)a.bits > low_bits ? (long)a.bits : low_bits;
  double h = td_double_of((unsigned long)(bits - 1) << 52), tail = h * (a.r * a.r) * td_exp_tail_d(a.r);
  double top = h - 0.5, s = td_mad(h, a.r, top), low = td_mad(h, a.r, top - s);
  double y = 2 * (s + (low + tail));
  unsigned long sign = (unsigned long)((long)td_bits(x) >> 63);
  double end = td_double_of(0x7ff0000000000000ul ^ (sign & 0xc000000000000000ul));
  y = td_abs_d(x) > 709.9 ? end : y;
  return x == 0 ? x : y;
}

// exp(x + xl) = 2^k (h + l), k in the low bits with twice the bias, |x| < 800
struct td_exp_parts { double h, l; unsigned long bits; };

TD td_exp_parts td_exp_parts_of(double x, double xl) {
  td_reduced_d a = td_exp_reduce_d(x, 0x1.8p52 + 2046);
  double q = a.r * a.r * td_exp_tail_d(a.r);
  td_dd s = td_fast_sum(1, a.r), t = td_fast_sum(s.h, q + xl);
  td_exp_parts r = {t.h, t.l + td_mad(xl, a.r + q, s.l), a.bits};
  return r;
}
