// sinh, cosh, tanh and their inverses. Below a bound an odd polynomial, above it exponentials.

TD float td_tanh_poly_f(float z) {
  float p = -0x1.82729cp-8f;
  p = td_mad(p, z, 0x1.54c0d4p-6f);
  p = td_mad(p, z, -0x1.b89a88p-5f);
  p = td_mad(p, z, 0x1.1109bep-3f);
  return td_mad(p, z, -0x1.55553ep-2f);
}

TD double td_tanh_poly_d(double z) {
  double p = -0x1.2076a07702775p-16;
  p = td_mad(p, z, 0x1.4ccc3cda723cbp-14);
  p = td_mad(p, z, -0x1.e33c55448b133p-13);
  p = td_mad(p, z, 0x1.33dcfab77891fp-11);
  p = td_mad(p, z, -0x1.7d7a24afc515dp-10);
  p = td_mad(p, z, 0x1.d6d0cd9c93f39p-9);
  p = td_mad(p, z, -0x1.226e22cf68830p-7);
  p = td_mad(p, z, 0x1.664f47f275ae7p-6);
  p = td_mad(p, z, -0x1.ba1ba1b78e478p-5);
  p = td_mad(p, z, 0x1.111111110e2e5p-3);
  return td_mad(p, z, -0x1.5555555555531p-2);
}

// 1 - 2 / (exp(2 |x|) + 1), whose ln 2 need not be exact and which is 1 from 9.1 on
TD float td_tanh_f(float x) {
  const float magic = 0x1.8p23f + 127;
  float a = td_abs_f(x), z = a * a, small = td_mad(a * z, td_tanh_poly_f(z), a);
  float w = td_mad(a, 0x1.715476p+1f, magic), r = td_mad(w - magic, -0x1.62e430p-1f, a + a);
  float s = td_float_of(td_bits(w) << 23), large = 1 - 2 / td_mad(s, td_expm1_poly_f(r), s + 1);
  large = a > 9.1f ? 1.0f : large;
  return td_copysign_f(a > 0.6f ? large : small, x);
}

TD double td_tanh_d(double x) {
  const double magic = 0x1.8p52 + 1023;
  double a = td_abs_d(x), z = a * a, small = td_mad(a * z, td_tanh_poly_d(z), a);
  double w = td_mad(a, 0x1.71547652b82fep+1, magic), r = td_mad(w - magic, -0x1.62e42fefa39efp-1, a + a);
  double s = td_double_of(td_bits(w) << 52), large = 1 - 2 / td_mad(s, td_expm1_poly_d(r), s + 1);
  large = a > 20 ? 1.0 : large;
  return td_copysign_d(a > 0.6 ? large : small, x);
}

TD double td_sinh_poly_d(double z) {
  double p = 0x1.c3694bc0980f7p-48;
  p = td_mad(p, z, 0x1.a6d43b639b226p-41);
  p = td_mad(p, z, 0x1.6130ad3ef5c55p-33);
  p = td_mad(p, z, 0x1.ae644209c9846p-26);
  p = td_mad(p, z, 0x1.71de3a68230afp-19);
  p = td_mad(p, z, 0x1.a01a01a007b1fp-13);
  p = td_mad(p, z, 0x1.1111111111199p-7);
  return td_mad(p, z, 0x1.5555555555555p-3);
}

TD double td_sinh_poly_fd(double z) {
  double p = 0x1.7a26832fbf5f4p-19;
  p = td_mad(p, z, 0x1.9ffe11b54d794p-13);
  p = td_mad(p, z, 0x1.11113624b3800p-7);
  return td_mad(p, z, 0x1.5555551830ba9p-3);
}

// exp(a) / 2 and exp(-a) / 2 for float results
TD double td_half_exp_fd(double x) {
  td_reduced_d a = td_exp_reduce_d(x, 0x1.8p52 + 1022);
  double s = td_double_of(a.bits << 52);
  return td_mad(s, td_expm1_poly_fd(a.r), s);
}

TD float td_sinh_f(float x) {
  double v = (double)x, a = td_clamp_d(td_abs_d(v), 0.0, 100.0), z = v * v;
  double small = td_mad(v * z, td_sinh_poly_fd(z), v), e = td_half_exp_fd(a);
  return a < 1 ? (float)small : td_copysign_f((float)(e - 0.25 / e), x);
}

TD float td_cosh_f(float x) {
  double e = td_half_exp_fd(td_clamp_d(td_abs_d((double)x), 0.0, 100.0));
  return (float)(e + 0.25 / e);
}

// (h + l) 2^k / 2, plus sign * its reciprocal / 4; k is kept from making the small term subnormal
TD double td_half_sum_d(td_exp_parts e, double sign) {
  unsigned long k = (e.bits & 0xffful) - 2046, bounded = k > 40 ? 40 : k;
  double t = td_double_of((1023 - 2 * bounded) << 52) * sign / e.h;
  td_dd s = td_fast_sum(e.h, t);
  return td_scale_d(s.h + (s.l + e.l), e.bits - 1);
}

TD double td_sinh_d(double x) {
  double a = td_clamp_d(td_abs_d(x), 0.0, 711.0), z = x * x;
  double small = td_mad(x * z, td_sinh_poly_d(z), x), large = td_half_sum_d(td_exp_parts_of(a, 0), -1);
  return a < 1 ? small : td_copysign_d(large, x);
}

TD double td_cosh_d(double x) {
  return td_half_sum_d(td_exp_parts_of(td_clamp_d(td_abs_d(x), 0.0, 711.0), 0), 1);
}

// log(1 + t.h + t.l) + k ln 2
TD double td_log1p_of_pair(td_dd t, double k) {
  td_dd u = td_sum(1, t.h);
  td_split_d a = td_split_of_d(u.h);
  td_dd g = td_log1p_dd(a.k == 0 ? t.h : a.f);
  g.l += ((a.k == 0 ? 0 : u.l) + t.l) / u.h;
  return td_log_base_d(a.k + k, g, 0x1.62e42fefa3p-1, 0x1.3de6af278ece6p-42, 1, 0);
}

// log(1 + x + x^2 / (1 + sqrt(1 + x^2))); from 2^60 on log(2 x)
TD double td_asinh_d(double x) {
  double a = td_abs_d(x);
  bool large = a > 0x1p60;
  double v = large ? 1.0 : a;
  td_dd p = td_product(v, v), q = td_sum(1, p.h);
  q.l += p.l;
  td_dd s = td_dd_sqrt(q), d = td_sum(1, s.h);
  d.l += s.l;
  td_dd w = td_dd_div(p, d), t = td_sum(v, w.h);
  t.l += w.l;
  td_dd far = {a, 0};
  double y = td_log1p_of_pair(large ? far : t, large ? 1.0 : 0.0);
  y = a < 0x1p-28 || !(a < __builtin_inf()) ? a : y;
  return td_copysign_d(y, x);
}

// t = x - 1, log(1 + t + sqrt(2 t + t^2))
TD double td_acosh_d(double x) {
  bool large = x > 0x1p60;
  double v = large ? 1.0 : x - 1;
  td_dd p = td_product(v, v), q = td_sum(v + v, p.h);
  q.l += p.l;
  td_dd s = td_dd_sqrt(q), t = td_sum(v, s.h);
  t.l += s.l;
  td_dd far = {x, 0};
  double y = td_log1p_of_pair(large ? far : t, large ? 1.0 : 0.0);
  y = x < __builtin_inf() ? y : x;
  return x < 1 ? __builtin_nan("") : y;
}

// log(1 + 2 x / (1 - x)) / 2
TD double td_atanh_d(double x) {
  double a = td_abs_d(x), d = 1 - a;
  td_dd n = {a + a, 0}, e = {d, (1 - d) - a};
  double y = 0.5 * td_log1p_of_pair(td_dd_div(n, e), 0);
  y = a < 0x1p-28 ? a : a < 1 ? y : a == 1 ? __builtin_inf() : __builtin_nan("");
  return td_copysign_d(y, x);
}

// log(1 + t) for float results
TD double td_log1p_fd(double t) {
  td_split_d a = td_split_of_d(1 + t);
  return td_mad(a.k, 0x1.62e42fefa39efp-1, td_log1p_core_fd(a.k == 0 ? t : a.f));
}

TD float td_asinh_f(float x) {
  double v = td_abs_d((double)x), z = v * v;
  double y = td_log1p_fd(v + z / (1 + __builtin_sqrt(1 + z)));
  return td_copysign_f(v < __builtin_inf() ? (float)y : (float)v, x);
}

TD float td_acosh_f(float x) {
  double t = (double)x - 1, y = td_log1p_fd(t + __builtin_sqrt(t * (t + 2)));
  y = t < __builtin_inf() ? y : t;
  return t < 0 ? __builtin_nanf("") : (float)y;
}

TD float td_atanh_f(float x) {
  double v = td_abs_d((double)x), y = 0.5 * td_log1p_fd((v + v) / (1 - v));
  y = v < 1 ? y : v == 1 ? __builtin_inf() : __builtin_nan("");
  return td_copysign_f((float)y, x);
}
