// asin, acos, atan, atan2.

TD double td_asin_poly_d(double z) {
  double p = 0x1.0be4b8d789526p-5;
  p = td_mad(p, z, -0x1.59f766b3546b2p-6);
  p = td_mad(p, z, 0x1.65028aeb78020p-6);
  p = td_mad(p, z, 0x1.e159c05c6c282p-9);
  p = td_mad(p, z, 0x1.618ad03d68116p-7);
  p = td_mad(p, z, 0x1.757789e8f8f18p-7);
  p = td_mad(p, z, 0x1.ca21449bf7051p-7);
  p = td_mad(p, z, 0x1.1c49ddff29e9ap-6);
  p = td_mad(p, z, 0x1.6e8bdfe6a6dfbp-6);
  p = td_mad(p, z, 0x1.f1c71a8b9d301p-6);
  p = td_mad(p, z, 0x1.6db6db722b5e9p-5);
  p = td_mad(p, z, 0x1.333333332df17p-4);
  return td_mad(p, z, 0x1.5555555555578p-3);
}

TD double td_asin_poly_fd(double z) {
  double p = 0x1.33d698934b941p-5;
  p = td_mad(p, z, 0x1.d7a9c1f6c103bp-7);
  p = td_mad(p, z, 0x1.04aadb619b55ap-5);
  p = td_mad(p, z, 0x1.6cabbab9e18ccp-5);
  p = td_mad(p, z, 0x1.333891c84df6dp-4);
  return td_mad(p, z, 0x1.55554c308c056p-3);
}

// asin of a small, or sqrt((1 - a) / 2) whose arc sine is the half complement of a's
struct td_arc { double s, l, z; };

// s + l and z = (s + l)^2
TD td_arc td_arc_of(double a) {
  double w = (1 - a) * 0.5;
  td_dd p = {w, 0}, r = td_dd_sqrt(p);
  td_arc small = {a, 0, a * a}, large = {r.h, r.l, w};
  return a < 0.5 ? small : large;
}

TD double td_asin_d(double x) {
  double a = td_abs_d(x);
  td_arc v = td_arc_of(a);
  double tail = td_mad(v.s * v.z, td_asin_poly_d(v.z), v.l);
  td_dd d = td_fast_sum(0x1.921fb54442d18p+0, -2 * v.s);
  double large = d.h + (d.l + td_mad(-2.0, tail, 0x1.1a62633145c07p-54));
  return td_copysign_d(a < 0.5 ? v.s + tail : a > 1 ? __builtin_nan("") : large, x);
}

TD double td_acos_d(double x) {
  double a = td_abs_d(x);
  td_arc v = td_arc_of(a);
  double tail = td_mad(v.s * v.z, td_asin_poly_d(v.z), v.l), twice = 2 * (v.s + tail);
  double signed_s = td_copysign_d(v.s, x), signed_tail = td_copysign_d(1.0, x) * tail;
  double middle = 0x1.921fb54442d18p+0 - (signed_s - (0x1.1a62633145c07p-54 - signed_tail));
  double far = 0x1.921fb54442d18p+1 - (twice - 0x1.1a62633145c07p-53);
  double y = a < 0.5 ? middle : x > 0 ? twice : far;
  return a > 1 ? __builtin_nan("") : y;
}

TD float td_asin_f(float x) {
  double v = (double)x, a = td_abs_d(v), z = a < 0.5 ? a * a : (1 - a) * 0.5;
  double s = a < 0.5 ? a : __builtin_sqrt(z);
  double y = td_mad(s * z, td_asin_poly_fd(z), s);
  return td_copysign_f((float)(a < 0.5 ? y : 0x1.921fb54442d18p+0 - 2 * y), x);
}

TD float td_acos_f(float x) {
  double v = (double)x, a = td_abs_d(v), z = a < 0.5 ? a * a : (1 - a) * 0.5;
  double s = a < 0.5 ? a : __builtin_sqrt(z);
  double y = td_mad(s * z, td_asin_poly_fd(z), s);
  double middle = 0x1.921fb54442d18p+0 - td_copysign_d(y, v);
  return (float)(a < 0.5 ? middle : v > 0 ? 2 * y : 0x1.921fb54442d18p+1 - 2 * y);
}

TD double td_atan_poly_d(double z) {
  double p = -0x1.25767077c64afp-6;
  p = td_mad(p, z, 0x1.37dbf22abc5f9p-5);
  p = td_mad(p, z, -0x1.9cd586033ed13p-5);
  p = td_mad(p, z, 0x1.df0ffa2cce13ap-5);
  p = td_mad(p, z, -0x1.10ebc55cb5d1dp-4);
  p = td_mad(p, z, 0x1.3b111a575d10bp-4);
  p = td_mad(p, z, -0x1.745cf8eee8e5bp-4);
  p = td_mad(p, z, 0x1.c71c70e6b4bb2p-4);
  p = td_mad(p, z, -0x1.24924922aee7ep-3);
  p = td_mad(p, z, 0x1.9999999995898p-3);
  return td_mad(p, z, -0x1.555555555553dp-2);
}

TD double td_atan_poly_fd(double z) {
  double p = -0x1.f236b4fc7db4ap-5;
  p = td_mad(p, z, 0x1.b1fc41e4edd2cp-4);
  p = td_mad(p, z, -0x1.23b659757d4a4p-3);
  p = td_mad(p, z, 0x1.9991a888ec066p-3);
  return td_mad(p, z, -0x1.55554953707d7p-2);
}

// atan(n / d) in [0, pi], n >= 0, the half plane of d's sign; t = (n' - c d') / (d' + c n'), c 0 or 1,
// is under tan(pi / 8)
TD double td_arc_tangent_d(double n, double d) {
  double m = td_abs_d(d), a = n < m ? n : m, b = n < m ? m : n;
  bool middle = a > 0x1.a827999fcef32p-2 * b;
  td_dd u = td_sum(a, -b), v = td_sum(a, b), zero = {a, 0}, one = {b, 0};
  td_dd t = td_dd_div(middle ? u : zero, middle ? v : one);
  t.h = b == 0 ? 0 : t.h;
  t.l = ((b == 0) | (a < 0x1p-900)) ? 0 : t.l;
  double z = t.h * t.h, tail = td_mad(t.h * z, td_atan_poly_d(z), t.l);
  // the angle is base + sign * t
  bool swap = n > m, back = (long)td_bits(d) < 0, minus = swap != back;
  double base = middle ? 0x1.921fb54442d18p-1 : 0, low = middle ? 0x1.1a62633145c07p-55 : 0;
  double quarter = swap ? 0x1.921fb54442d18p+0 : back ? 0x1.921fb54442d18p+1 : 0;
  double quarter_low = swap ? 0x1.1a62633145c07p-54 : back ? 0x1.1a62633145c07p-53 : 0;
  base = minus ? quarter - base : quarter + base;
  low = minus ? quarter_low - low : quarter_low + low;
  td_dd s = td_fast_sum(base, minus ? -t.h : t.h);
  return s.h + (s.l + ((minus ? -tail : tail) + low));
}

TD double td_atan_d(double x) {
  double a = td_abs_d(x), y = td_arc_tangent_d(a, 1);
  return td_copysign_d(a < 0x1p-27 ? a : a < __builtin_inf() ? y : x != x ? x : 0x1.921fb54442d18p+0, x);
}

// both scaled away from overflow and underflow; two infinities act as two ones
TD double td_atan2_d(double y, double x) {
  double n = td_abs_d(y), m = td_abs_d(x), top = n > m ? n : m;
  double scale = top > 0x1p900 ? 0x1p-200 : top < 0x1p-700 ? 0x1p300 : 1;
  bool infinite = top == __builtin_inf();
  n = infinite ? (n == top ? 1.0 : 0.0) : n * scale;
  m = infinite ? (m == top ? 1.0 : 0.0) : m * scale;
  double r = td_arc_tangent_d(n, td_copysign_d(m, x));
  return ((x != x) | (y != y)) ? x + y : td_copysign_d(r, y);
}

TD double td_arc_tangent_fd(double n, double d) {
  double m = td_abs_d(d), a = n < m ? n : m, b = n < m ? m : n;
  bool middle = a > 0x1.a827999fcef32p-2 * b, swap = n > m;
  double t = middle ? (a - b) / (a + b) : b == 0 ? 0 : a / b, z = t * t;
  double y = td_mad(t * z, td_atan_poly_fd(z), t) + (middle ? 0x1.921fb54442d18p-1 : 0);
  y = swap ? 0x1.921fb54442d18p+0 - y : y;
  return (long)td_bits(d) < 0 ? 0x1.921fb54442d18p+1 - y : y;
}

TD float td_atan_f(float x) {
  double a = td_abs_d((double)x), v = a > 1e30 ? 1e30 : a;
  return td_copysign_f((float)td_arc_tangent_fd(v, 1), x);
}

TD float td_atan2_f(float y, float x) {
  double n = td_abs_d((double)y), m = td_abs_d((double)x), top = n > m ? n : m;
  bool infinite = top == __builtin_inf();
  n = infinite ? (n == top ? 1.0 : 0.0) : n;
  m = infinite ? (m == top ? 1.0 : 0.0) : m;
  float r = (float)td_arc_tangent_fd(n, td_copysign_d(m, (double)x));
  return ((x != x) | (y != y)) ? x + y : td_copysign_f(r, y);
}
