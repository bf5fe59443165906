// erf, erfc, erfinv.

// x + x P(x^2) below 0.9, else 1 - exp(-h(x)); both are always computed
TD float td_erf_f(float x) {
  const float magic = 0x1.8p23f + 127;
  float a = td_abs_f(x), z = x * x;
  float p = 0x1.4771fcp-14f;
  p = td_mad(p, z, -0x1.a3515ep-11f);
  p = td_mad(p, z, 0x1.53f224p-8f);
  p = td_mad(p, z, -0x1.b7f71ap-6f);
  p = td_mad(p, z, 0x1.ce2ce6p-4f);
  p = td_mad(p, z, -0x1.81273ep-2f);
  p = td_mad(p, z, 0x1.06eba8p-3f);
  float small = td_mad(x, p, x);
  float c = a > 4.0f ? 4.0f : a, h = 0x1.5d8274p-16f;
  h = td_mad(h, c, -0x1.c463acp-12f);
  h = td_mad(h, c, 0x1.106504p-8f);
  h = td_mad(h, c, -0x1.9aed1cp-6f);
  h = td_mad(h, c, 0x1.bb45b2p-4f);
  h = td_mad(h, c, 0x1.444d16p-1f);
  h = td_mad(h, c, 0x1.212628p+0f);
  h = td_mad(h, c, -0x1.62daaap-13f);
  float w = td_mad(h, -0x1.715476p+0f, magic), k = w - magic;
  float r = td_mad(k, -0x1.62e430p-1f, -h);
  float s = td_float_of(td_bits(w) << 23);
  float large = (1 - s) - s * td_expm1_poly_f(r);
  return a < 0.9f ? small : td_copysign_f(large, x);
}
