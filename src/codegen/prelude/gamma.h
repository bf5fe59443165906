// lgamma and digamma. The float versions are the double ones: near their zeros nothing less is enough.

// lgamma(2 + t) / t without the first coefficient, |t| <= 1/2
TD double td_lgamma_poly_d(double t) {
  double p = -0x1.38563294d0188p-23;
  p = td_mad(p, t, 0x1.2e669b1af7fffp-22);
  p = td_mad(p, t, -0x1.c005cbfc2ec5fp-22);
  p = td_mad(p, t, 0x1.ec61594086eaap-21);
  p = td_mad(p, t, -0x1.1350306556ebfp-19);
  p = td_mad(p, t, 0x1.265570c588717p-18);
  p = td_mad(p, t, -0x1.3ca59a6bbe002p-17);
  p = td_mad(p, t, 0x1.5805b4e4e8785p-16);
  p = td_mad(p, t, -0x1.78df240be80a6p-15);
  p = td_mad(p, t, 0x1.a127e61b33840p-14);
  p = td_mad(p, t, -0x1.d3fd4857f0402p-13);
  p = td_mad(p, t, 0x1.0b36af20374ffp-11);
  p = td_mad(p, t, -0x1.38ac5c323068dp-10);
  p = td_mad(p, t, 0x1.7add6eae8a062p-9);
  p = td_mad(p, t, -0x1.e404fc2185d8fp-8);
  p = td_mad(p, t, 0x1.51322ac7d7e52p-6);
  p = td_mad(p, t, -0x1.13e001a55761dp-4);
  return td_mad(p, t, 0x1.4a34cc4a60fa7p-2);
}

// x (lgamma(x) - Stirling's formula) at 1 / x^2, x >= 8
TD double td_stirling_poly_d(double w) {
  double p = 0x1.275a316373e4ap-8;
  p = td_mad(p, w, -0x1.e896f8d3a0ce0p-10);
  p = td_mad(p, w, 0x1.b8ecde1f4d450p-11);
  p = td_mad(p, w, -0x1.3812c9037e303p-11);
  p = td_mad(p, w, 0x1.a01a0101847e3p-11);
  p = td_mad(p, w, -0x1.6c16c16c0a05ap-9);
  return td_mad(p, w, 0x1.5555555555555p-4);
}

TD td_dd td_dd_times(td_dd a, double b) {
  td_dd p = td_product(a.h, b);
  return td_fast_sum(p.h, td_mad(a.l, b, p.l));
}

// (x - 1)(x - 2)...(x - n) for n = round(x) - 2 up to 6; 1 / x and 1 / (x (x + 1)) as x and x (x + 1)
// for n = -1 and -2
TD td_dd td_gamma_product(double x, double n) {
  td_dd up = td_sum(x, 1), p = td_dd_times(up, x);
  p.h = n < -1 ? p.h : n < 0 ? x : 1.0;
  p.l = n < -1 ? p.l : 0.0;
  p = td_dd_times(p, n > 0 ? x - 1 : 1.0);
  p = td_dd_times(p, n > 1 ? x - 2 : 1.0);
  p = td_dd_times(p, n > 2 ? x - 3 : 1.0);
  p = td_dd_times(p, n > 3 ? x - 4 : 1.0);
  p = td_dd_times(p, n > 4 ? x - 5 : 1.0);
  p = td_dd_times(p, n > 5 ? x - 6 : 1.0);
  return p;
}

// log |Gamma(x)| for x >= -1/2. Below 8, t = x - round(x) and the logarithm of a product, above it
// (x - 1/2)(log x - 1) + (log(2 pi) - 1) / 2 + S / x
TD td_dd td_lgamma_right(double x) {
  bool far = x >= 7.5;
  double c = far ? 1.0 : x, whole = __builtin_rint(c), n = whole - 2, t = c - whole;
  td_dd q = td_gamma_product(c, n);
  double m = td_abs_d(far ? x : q.h);
  td_dd l = td_log_dd(m);
  l.l += far ? 0 : q.l / q.h;
  td_dd g = td_last_step(td_lgamma_poly_d(t), t, 0x1.b0ee6072093cep-2, 0x1.9092e8074885bp-58);
  td_dd near = td_dd_times(g, t), sign = {n < 0 ? -l.h : l.h, n < 0 ? -l.l : l.l};
  near = td_dd_add(near, sign);
  td_dd one = td_sum(l.h, -1), k = {one.h, one.l + l.l}, a = td_dd_times(k, x - 0.5);
  double tail = td_stirling_poly_d(1 / (x * x)) / x + 0x1.3494bc9001442p-56;
  td_dd b = td_sum(a.h, 0x1.acfe390c97d69p-2);
  b = td_fast_sum(b.h, b.l + (a.l + tail));
  td_dd over = {__builtin_inf(), 0};
  b = a.h < __builtin_inf() ? b : over;
  return far ? b : near;
}

// |pi u| or pi / 2 less it, whichever is under pi / 4
struct td_eighth { double h, l; bool upper; };

TD td_eighth td_eighth_of(double u) {
  double v = td_abs_d(u), r = v * 0x1.921fb54442d18p+1;
  double low = td_mad(v, 0x1.1a62633145c07p-53, td_fma(v, 0x1.921fb54442d18p+1, -r));
  bool upper = v > 0.25;
  td_eighth a = {upper ? 0x1.921fb54442d18p+0 - r : r, upper ? 0x1.1a62633145c07p-54 - low : low, upper};
  return a;
}

// left of -1/2: log(pi / |x sin(pi x)|) - lgamma(-x). Near its zeros there the absolute error stays
// that of a double near 1; the relative one does not.
TD double td_lgamma_d(double x) {
  bool left = x < -0.5;
  double a = left ? -x : x, u = a - __builtin_rint(a), m = td_abs_d(x);
  td_eighth e = td_eighth_of(u);
  double s = e.upper ? td_cos_pair(e.h, e.l).h : td_sin_pair(e.h, e.l).h;
  td_dd g = td_lgamma_right(a), v = td_product(left ? s : 1.0, left ? a : 1.0), l = td_log_dd(v.h);
  td_dd w = td_sum(0x1.250d048e7a1bdp+0, -l.h), minus = {-g.h, -g.l};
  w.l += 0x1.7abf2ad8d5088p-57 - l.l - v.l / v.h;
  w = td_dd_add(w, minus);
  double y = left ? w.h + w.l : g.h + g.l;
  y = m < 0x1p-500 ? -td_log_d(m) : y;
  y = ((m == __builtin_inf()) | ((x < 0) & (u == 0))) ? __builtin_inf() : y;
  return x != x ? x : y;
}

TD float td_lgamma_f(float x) { return (float)td_lgamma_d((double)x); }

// digamma(x) / (x - root) at t = x - 1.5 without the first coefficient
TD double td_digamma_poly_d(double t) {
  double p = 0x1.058487e66db47p-13;
  p = td_mad(p, t, -0x1.80b84528126cfp-13);
  p = td_mad(p, t, 0x1.73d7a02706a1dp-14);
  p = td_mad(p, t, -0x1.21b10f8c80108p-13);
  p = td_mad(p, t, 0x1.5876980c6c198p-12);
  p = td_mad(p, t, -0x1.00af6cdb62fe8p-11);
  p = td_mad(p, t, 0x1.69780a4ead8c3p-11);
  p = td_mad(p, t, -0x1.0f693bd2ca170p-10);
  p = td_mad(p, t, 0x1.99e7f08c9da54p-10);
  p = td_mad(p, t, -0x1.3374a8943bd56p-9);
  p = td_mad(p, t, 0x1.cd1ec76464b25p-9);
  p = td_mad(p, t, -0x1.5a063e2f46a8fp-8);
  p = td_mad(p, t, 0x1.03c0b47ed08fcp-7);
  p = td_mad(p, t, -0x1.863567be8232ap-7);
  p = td_mad(p, t, 0x1.2564714be4437p-6);
  p = td_mad(p, t, -0x1.b9f8b106c1eb8p-6);
  p = td_mad(p, t, 0x1.4de9aa182445cp-5);
  p = td_mad(p, t, -0x1.fb44202a6415ap-5);
  p = td_mad(p, t, 0x1.8512e59037b81p-4);
  p = td_mad(p, t, -0x1.2feeeb98a7613p-3);
  p = td_mad(p, t, 0x1.eca189b8e6f7dp-3);
  return td_mad(p, t, -0x1.b1cb63005ee99p-2);
}

// x^2 (log x - 1 / (2 x) - digamma(x)) at 1 / x^2, x >= 8
TD double td_digamma_tail_d(double w) {
  double p = 0x1.f3b63f526d25cp-5;
  p = td_mad(p, w, -0x1.50e2831fdd08dp-6);
  p = td_mad(p, w, 0x1.f009cf8fbf9b9p-8);
  p = td_mad(p, w, -0x1.11103f78bf8b1p-8);
  p = td_mad(p, w, 0x1.041040352b595p-8);
  p = td_mad(p, w, -0x1.11111110e090dp-7);
  return td_mad(p, w, 0x1.5555555555546p-4);
}

// s + 1 / x where taken
TD td_dd td_add_inverse(td_dd s, double x, bool taken) {
  double r = 1 / x, low = td_fma(-r, x, 1.0) * r;
  td_dd v = {taken ? r : 0.0, taken ? low : 0.0};
  return td_dd_add(s, v);
}

// x > 0. Below 8 from [1, 2), where the zero is a factor; above it from the logarithm.
TD td_dd td_digamma_right(double x) {
  bool far = x >= 8;
  double c = far ? 1.5 : x, n = __builtin_floor(c) - 1, y = c - n;
  td_dd d = td_fast_sum(y - 0x1.762d86356be3fp+0, -0x1.b86a722197829p-54);
  td_dd g = td_last_step(td_digamma_poly_d(y - 1.5), y - 1.5, 0x1.e6f0cbb873616p-1, 0x1.8b8ecf15f2590p-55);
  td_dd s = td_add_inverse(td_dd_mul(d, g), -c, n < 0);
  s = td_add_inverse(s, c - 1, n > 0);
  s = td_add_inverse(s, c - 2, n > 1);
  s = td_add_inverse(s, c - 3, n > 2);
  s = td_add_inverse(s, c - 4, n > 3);
  s = td_add_inverse(s, c - 5, n > 4);
  s = td_add_inverse(s, c - 6, n > 5);
  double v = far ? x : 8.0, w = 1 / (v * v);
  td_dd l = td_log_dd(v), h = {-0.5 / v, -w * td_digamma_tail_d(w)};
  l = td_dd_add(l, h);
  return far ? l : s;
}

// left of 0: digamma(1 - x) - pi / tan(pi x), with lgamma's remark
TD double td_digamma_d(double x) {
  bool left = x < 0;
  td_dd g = td_digamma_right(left ? 1 - x : x);
  double u = x - __builtin_rint(x);
  td_eighth e = td_eighth_of(u);
  td_dd s = td_sin_pair(e.h, e.l), c = td_cos_pair(e.h, e.l);
  td_dd pi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
  td_dd t = td_dd_mul(pi, td_dd_div(e.upper ? s : c, e.upper ? c : s));
  td_dd w = {u < 0 ? t.h : -t.h, u < 0 ? t.l : -t.l};
  w = td_dd_add(g, w);
  double y = left ? w.h + w.l : g.h + g.l;
  y = (left & (u == 0)) ? __builtin_nan("") : y;
  y = td_abs_d(x) < 0x1p-60 ? -1 / x : y;
  return x < __builtin_inf() ? y : x;
}

TD float td_digamma_f(float x) { return (float)td_digamma_d((double)x); }
