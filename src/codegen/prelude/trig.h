// sin, cos, tan. Floats compute in double. x = (pi / 2) (4 n + quadrant + t), |t| <= 1/2, for any x: 2/pi
// is multiplied after removing whole periods from it, 2^(w j) 2/pi mod 4 for the window j of the exponent.

struct td_turn { double r; unsigned long quadrant; };

TD td_turn td_reduce_fd(double x) {
  double a = __builtin_fabs(x);
  bool w1 = a >= 0x1p50, w2 = a >= 0x1p76, w3 = a >= 0x1p102;
  double scale = w3 ? 0x1p-78 : w2 ? 0x1p-52 : w1 ? 0x1p-26 : 1.0;
  double c0 = w3 ? 0x1.d5f47d4d37703p+0 : w2 ? 0x1.529fc2757d1f5p+0 : w1 ? 0x1.b9391054a7f0ap+0 : 0x1.45f306dc9c883p-1;
  double c1 = w3 ? 0x1.b6295993c4390p-54 : w2 ? 0x1.a6ee06db14acdp-55 : w1 ? -0x1.505c1596447e5p-55 : -0x1.6b01ec5417056p-55;
  double y = x * scale, p = y * c0, low = td_fma(y, c0, -p);
  double z = p + 0x1.8p52, t = (p - (z - 0x1.8p52)) + td_mad(y, c1, low);
  td_turn r = {t * 0x1.921fb54442d18p+0, td_bits(z)};
  return r;
}

TD double td_sin_poly_fd(double r) {
  double z = r * r, p = 0x1.6ca4de2d03808p-19;
  p = td_mad(p, z, -0x1.a00ec3ea5aaacp-13);
  p = td_mad(p, z, 0x1.111107860d4c1p-7);
  p = td_mad(p, z, -0x1.5555554b41b27p-3);
  return td_mad(r * z, p, r);
}

TD double td_cos_poly_fd(double r) {
  double z = r * r, p = -0x1.24049e4529334p-22;
  p = td_mad(p, z, 0x1.a01065fbcc8fep-16);
  p = td_mad(p, z, -0x1.6c16b77d5d292p-10);
  p = td_mad(p, z, 0x1.5555554e46bcfp-5);
  p = td_mad(p, z, -0.5);
  return td_mad(p, z, 1.0);
}

TD double td_flip(double x, unsigned long quadrant) {
  return td_double_of(td_bits(x) ^ (quadrant & 2) << 62);
}

TD float td_sin_f(float x) {
  td_turn a = td_reduce_fd((double)x);
  double s = td_sin_poly_fd(a.r), c = td_cos_poly_fd(a.r);
  float y = (float)td_flip(a.quadrant & 1 ? c : s, a.quadrant);
  return x == 0 ? x : y;
}

TD float td_cos_f(float x) {
  td_turn a = td_reduce_fd((double)x);
  double s = td_sin_poly_fd(a.r), c = td_cos_poly_fd(a.r);
  return (float)td_flip(a.quadrant & 1 ? s : c, a.quadrant + 1);
}
