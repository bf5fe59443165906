// log, log2, log10, log1p: x = 2^k m with m near 1, f = m - 1.

// s = f / (2 + f); log(1 + f) = 2 s + s z R(z), z = s^2
TD double td_log_poly_d(double z) {
  double p = 0x1.2f04686eccd41p-3;
  p = td_mad(p, z, 0x1.39a1d8e74cd9fp-3);
  p = td_mad(p, z, 0x1.74663d7aefe70p-3);
  p = td_mad(p, z, 0x1.c71c5211fd4d8p-3);
  p = td_mad(p, z, 0x1.24924941e39d4p-2);
  p = td_mad(p, z, 0x1.999999997feffp-2);
  return td_mad(p, z, 0x1.5555555555592p-1);
}

// the same to 2^-43, for float results
TD double td_log_poly_fd(double z) {
  double p = 0x1.91159587c5dcap-3;
  p = td_mad(p, z, 0x1.c62b145e12d2ep-3);
  p = td_mad(p, z, 0x1.249411ede58cdp-2);
  p = td_mad(p, z, 0x1.999996a951376p-2);
  return td_mad(p, z, 0x1.555555561e3acp-1);
}

struct td_split_d { double f, k; };

// f in [1/sqrt 2, sqrt 2) - 1 and k of a positive x
TD td_split_d td_split_of_d(double x) {
  bool small = x < 0x1p-1022;
  unsigned long b = td_bits(small ? x * 0x1p54 : x);
  unsigned long i = b - 0x3fe6a09e667f3bcdul;
  double k = td_double_of((i >> 52 ^ 0x800) + 0x4330000000000000ul) - (0x1p52 + 2048);
  td_split_d r = {td_double_of(b - (i & 0xfff0000000000000ul)) - 1, small ? k - 54 : k};
  return r;
}

// what log does at the ends: y where 0 < x < inf
TD float td_log_ends_f(float x, float y) {
  y = x < __builtin_inff() ? y : x;
  y = x == 0 ? -__builtin_inff() : y;
  return x < 0 ? __builtin_nanf("") : y;
}

TD double td_log_ends_d(double x, double y) {
  y = x < __builtin_inf() ? y : x;
  y = x == 0 ? -__builtin_inf() : y;
  return x < 0 ? __builtin_nan("") : y;
}

// log(1 + f) + k ln 2
TD float td_log_sum_f(float f, float k) {
  float p = 0x1.b72512p-5f;
  p = td_mad(p, f, -0x1.bf9e3cp-4f);
  p = td_mad(p, f, 0x1.efd294p-4f);
  p = td_mad(p, f, -0x1.00f7eep-3f);
  p = td_mad(p, f, 0x1.23041ap-3f);
  p = td_mad(p, f, -0x1.552fe0p-3f);
  p = td_mad(p, f, 0x1.99a53ep-3f);
  p = td_mad(p, f, -0x1.00006ep-2f);
  p = td_mad(p, f, 0x1.555548p-2f);
  p = td_mad(p, f, -0.5f);
  return td_mad(k, 0x1.62e430p-1f, td_mad(k, -0x1.05c610p-29f, td_mad(f * f, p, f)));
}

// a subnormal x is scaled by 2^23; the mask is arithmetic because a conditional would become a branch
TD float td_log_f(float x) {
  int small = (int)(td_bits(x) - 0x00800000u) >> 31;
  unsigned b = td_bits(x * td_float_of(0x3f800000u + ((unsigned)small & 0x0b800000u)));
  int i = (int)(b - 0x3f3504f3u) >> 23;
  float y = td_log_sum_f(td_float_of(b - ((unsigned)i << 23)) - 1, (float)(i - (small & 23)));
  return td_log_ends_f(x, y);
}

// 1 + x = 2^k (1 + f), and f regains what rounding took from 1 + x
TD float td_log1p_f(float x) {
  float u = 1 + x, lost = x - (u - 1);
  int i = (int)(td_bits(u) - 0x3f3504f3u) >> 23, j = i < 64 ? i : 64;
  float f = td_float_of(td_bits(u) - ((unsigned)i << 23)) - 1;
  f = td_mad(lost, td_float_of(0x3f800000u - ((unsigned)j << 23)), f);
  float y = td_log_ends_f(u, td_log_sum_f(f, (float)i));
  return x == 0 ? x : y;
}

TD double td_log_d(double x) {
  td_split_d a = td_split_of_d(x);
  double f = a.f, s = f / (2 + f), z = s * s, h = 0.5 * f * f;
  double low = td_mad(a.k, 0x1.abc9e3b39803fp-56, s * td_mad(z, td_log_poly_d(z), h));
  double y = td_mad(a.k, 0x1.62e42fefa39efp-1, f - (h - low));
  return td_log_ends_d(x, y);
}

// log(1 + f) of f in [1/sqrt 2, sqrt 2) - 1, to 2^-42
TD double td_log1p_core_fd(double f) {
  double s = f / (2 + f), z = s * s;
  return s * td_mad(z, td_log_poly_fd(z), 2.0);
}

TD float td_log2_f(float x) {
  td_split_d a = td_split_of_d((double)x);
  return td_log_ends_f(x, (float)td_mad(td_log1p_core_fd(a.f), 0x1.71547652b82fep+0, a.k));
}

TD float td_log10_f(float x) {
  td_split_d a = td_split_of_d((double)x);
  double y = td_log1p_core_fd(a.f) * 0x1.bcb7b1526e50ep-2;
  return td_log_ends_f(x, (float)td_mad(a.k, 0x1.34413509f79ffp-2, y));
}

// log(1 + f) to about 2^-58, not normalised
TD td_dd td_log1p_dd(double f) {
  double s = f / (2 + f), z = s * s, g = 0.5 * f, h = g * f, top = f - h;
  double low = ((f - top) - h) - td_fma(g, f, -h);
  td_dd r = {top, td_mad(s, td_mad(z, td_log_poly_d(z), h), low)};
  return r;
}

// (h + l) * (ch + cl) + k * (kh + kl), not normalised; kh short enough that k * kh is exact
TD td_dd td_log_base(double k, td_dd a, double kh, double kl, double ch, double cl) {
  td_dd p = td_product(a.h, ch), s = td_sum(k * kh, p.h);
  s.l += td_mad(a.l, ch, td_mad(a.h, cl, td_mad(k, kl, p.l)));
  return s;
}

TD double td_log_base_d(double k, td_dd a, double kh, double kl, double ch, double cl) {
  td_dd s = td_log_base(k, a, kh, kl, ch, cl);
  return s.h + s.l;
}

// log(x) of a positive finite x to about 2^-58
TD td_dd td_log_dd(double x) {
  td_split_d a = td_split_of_d(x);
  td_dd s = td_log_base(a.k, td_log1p_dd(a.f), 0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42, 1, 0);
  return td_fast_sum(s.h, s.l);
}

TD double td_log2_d(double x) {
  td_split_d a = td_split_of_d(x);
  double y = td_log_base_d(a.k, td_log1p_dd(a.f), 1, 0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
  return td_log_ends_d(x, y);
}

TD double td_log10_d(double x) {
  td_split_d a = td_split_of_d(x);
  double y = td_log_base_d(a.k, td_log1p_dd(a.f), 0x1.34413509f7p-2, 0x1.3fde623e2566bp-43,
                           0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57);
  return td_log_ends_d(x, y);
}

TD double td_log1p_d(double x) {
  td_dd u = td_sum(1, x);
  td_split_d a = td_split_of_d(u.h);
  td_dd g = td_log1p_dd(a.k == 0 ? x : a.f);
  g.l += a.k == 0 ? 0 : u.l / u.h;
  double y = td_log_base_d(a.k, g, 0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42, 1, 0);
  y = td_log_ends_d(u.h, y);
  return x == 0 ? x : y;
}
