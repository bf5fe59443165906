// exp, exp2, expm1, sinh, cosh, tanh. All start from x = k ln 2 + r, |r| <= ln 2 / 2, and
// exp(r) - 1 = r + r^2 P(r); k is read from the low bits of a sum with 1.5 * 2^23 (2^52) plus a bias.

// r + r^2 P(r)
TD float td_expm1_poly_f(float r) {
  float p = 0x1.6ab74cp-10f;
  p = td_mad(p, r, 0x1.123d62p-7f);
  p = td_mad(p, r, 0x1.55585ap-5f);
  p = td_mad(p, r, 0x1.55548cp-3f);
  p = td_mad(p, r, 0x1.fffffcp-2f);
  return td_mad(r * r, p, r);
}

TD double td_expm1_poly_d(double r) {
  double p = 0x1.add38809a8e04p-26;
  p = td_mad(p, r, 0x1.28aef582110f9p-22);
  p = td_mad(p, r, 0x1.71defcc4d29b9p-19);
  p = td_mad(p, r, 0x1.a0199878cc523p-16);
  p = td_mad(p, r, 0x1.a01a01384cef9p-13);
  p = td_mad(p, r, 0x1.6c16c184bc012p-10);
  p = td_mad(p, r, 0x1.1111111125aaep-7);
  p = td_mad(p, r, 0x1.55555555505f3p-5);
  p = td_mad(p, r, 0x1.5555555555500p-3);
  p = td_mad(p, r, 0x1.000000000000ap-1);
  return td_mad(r * r, p, r);
}

// y * 2^k in two steps, so that subnormal and infinite results come out; b holds k + twice the bias
TD float td_scale_f(float y, unsigned b) {
  unsigned half = (b >> 1) << 23;
  return y * td_float_of(half) * td_float_of((b << 23) - half);
}

TD double td_scale_d(double y, unsigned long b) {
  unsigned long half = (b >> 1) << 52;
  return y * td_double_of(half) * td_double_of((b << 52) - half);
}

TD float td_clamp_f(float x, float lo, float hi) { x = x < lo ? lo : x; return x > hi ? hi : x; }

TD double td_clamp_d(double x, double lo, double hi) { x = x < lo ? lo : x; return x > hi ? hi : x; }

TD float td_exp_f(float x) {
  const float magic = 0x1.8p23f + 254;
  x = td_clamp_f(x, -105.0f, 89.0f);
  float z = td_mad(x, 0x1.715476p+0f, magic), k = z - magic;
  float r = td_mad(k, 0x1.05c610p-29f, td_mad(k, -0x1.62e430p-1f, x));
  return td_scale_f(1 + td_expm1_poly_f(r), td_bits(z));
}

TD double td_exp_d(double x) {
  const double magic = 0x1.8p52 + 2046;
  x = td_clamp_d(x, -746.0, 710.0);
  double z = td_mad(x, 0x1.71547652b82fep+0, magic), k = z - magic;
  double r = td_mad(k, -0x1.abc9e3b39803fp-56, td_mad(k, -0x1.62e42fefa39efp-1, x));
  return td_scale_d(1 + td_expm1_poly_d(r), td_bits(z));
}

TD float td_exp2_f(float x) {
  const float magic = 0x1.8p23f + 254;
  x = td_clamp_f(x, -151.0f, 128.0f);
  float z = x + magic, t = x - (z - magic);
  float r = td_mad(t, 0x1.62e430p-1f, t * -0x1.05c610p-29f);
  return td_scale_f(1 + td_expm1_poly_f(r), td_bits(z));
}

TD double td_exp2_d(double x) {
  const double magic = 0x1.8p52 + 2046;
  x = td_clamp_d(x, -1076.0, 1024.0);
  double z = x + magic, t = x - (z - magic);
  double r = td_mad(t, 0x1.62e42fefa39efp-1, t * 0x1.abc9e3b39803fp-56);
  return td_scale_d(1 + td_expm1_poly_d(r), td_bits(z));
}

// 2^k q + (2^k - 1), with half of 2^k so that k = 128 does not overflow before its time
TD float td_expm1_f(float x) {
  const float magic = 0x1.8p23f + 127;
  float c = td_clamp_f(x, -18.0f, 89.0f);
  float z = td_mad(c, 0x1.715476p+0f, magic), k = z - magic;
  float r = td_mad(k, 0x1.05c610p-29f, td_mad(k, -0x1.62e430p-1f, c));
  float h = td_float_of((td_bits(z) - 1) << 23);
  float y = 2 * td_mad(h, td_expm1_poly_f(r), h - 0.5f);
  return x == 0 ? x : y;
}

TD double td_expm1_d(double x) {
  const double magic = 0x1.8p52 + 1023;
  double c = td_clamp_d(x, -40.0, 710.0);
  double z = td_mad(c, 0x1.71547652b82fep+0, magic), k = z - magic;
  double r = td_mad(k, -0x1.abc9e3b39803fp-56, td_mad(k, -0x1.62e42fefa39efp-1, c));
  double h = td_double_of((td_bits(z) - 1) << 52);
  double y = 2 * td_mad(h, td_expm1_poly_d(r), h - 0.5);
  return x == 0 ? x : y;
}

// (e - 1) / (e + 1) with e = exp(2|x|) = 2^k (1 + q)
TD float td_tanh_f(float x) {
  const float magic = 0x1.8p23f + 127;
  float a = td_abs_f(x), c = a > 10.0f ? 20.0f : a + a;
  float z = td_mad(c, 0x1.715476p+0f, magic), k = z - magic;
  float r = td_mad(k, 0x1.05c610p-29f, td_mad(k, -0x1.62e430p-1f, c));
  float s = td_float_of(td_bits(z) << 23), q = td_expm1_poly_f(r);
  float n = td_mad(s, q, s - 1);
  return td_copysign_f(n / (n + 2), x);
}

TD double td_tanh_d(double x) {
  const double magic = 0x1.8p52 + 1023;
  double a = td_abs_d(x), c = a > 20.0 ? 40.0 : a + a;
  double z = td_mad(c, 0x1.71547652b82fep+0, magic), k = z - magic;
  double r = td_mad(k, -0x1.abc9e3b39803fp-56, td_mad(k, -0x1.62e42fefa39efp-1, c));
  double s = td_double_of(td_bits(z) << 52), q = td_expm1_poly_d(r);
  double n = td_mad(s, q, s - 1);
  return td_copysign_d(n / (n + 2), x);
}

// to 2^-33, for float results
TD double td_expm1_poly_fd(double r) {
  double p = 0x1.98ca448b87b16p-13;
  p = td_mad(p, r, 0x1.6d936be1d3c02p-10);
  p = td_mad(p, r, 0x1.1116c349efae6p-7);
  p = td_mad(p, r, 0x1.555488844addcp-5);
  p = td_mad(p, r, 0x1.5555518231786p-3);
  p = td_mad(p, r, 0x1.0000003a74188p-1);
  return td_mad(r * r, p, r);
}
