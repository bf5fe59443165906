// erf, erfc, erfinv.

TD float td_erf_poly_f(float z) {
  float p = -0x1.3c614ap-11f;
  p = td_mad(p, z, 0x1.47c71ap-8f);
  p = td_mad(p, z, -0x1.b6a24ep-6f);
  p = td_mad(p, z, 0x1.ce1bf0p-4f);
  p = td_mad(p, z, -0x1.8126eep-2f);
  return td_mad(p, z, 0x1.06eba6p-3f);
}

// log(erfc(a)), 0.9 <= a <= 4
TD float td_erfc_log_f(float a) {
  float p = 0x1.9fab86p-13f;
  p = td_mad(p, a, -0x1.91c8a4p-9f);
  p = td_mad(p, a, 0x1.6d9acap-6f);
  p = td_mad(p, a, -0x1.aa7224p-4f);
  p = td_mad(p, a, -0x1.4621dap-1f);
  p = td_mad(p, a, -0x1.20b74ap+0f);
  return td_mad(p, a, -0x1.5d4336p-13f);
}

// x + x P(x^2) below 0.9, else 1 - erfc; both are always computed
TD float td_erf_f(float x) {
  const float magic = 0x1.8p23f + 127;
  float a = td_abs_f(x), small = td_mad(x, td_erf_poly_f(x * x), x);
  float h = td_erfc_log_f(a > 4.0f ? 4.0f : a), w = td_mad(h, 0x1.715476p+0f, magic);
  float r = td_mad(w - magic, -0x1.62e430p-1f, h), s = td_float_of(td_bits(w) << 23);
  float large = td_mad(-s, td_expm1_poly_f(r), 1 - s);
  return a > 0.9f ? td_copysign_f(large, x) : small;
}

TD double td_erf_poly_d(double z) {
  double p = 0x1.463db1c08f9e0p-33;
  p = td_mad(p, z, -0x1.cc031b94aab38p-30);
  p = td_mad(p, z, 0x1.1435fd7bcdd99p-26);
  p = td_mad(p, z, -0x1.63bf93802e548p-23);
  p = td_mad(p, z, 0x1.ba6e031d6c2aep-20);
  p = td_mad(p, z, -0x1.f4dd476daeff0p-17);
  p = td_mad(p, z, 0x1.f9a3bd217cda2p-14);
  p = td_mad(p, z, -0x1.c02db94e4d8f8p-11);
  p = td_mad(p, z, 0x1.565bcd2cd62ccp-8);
  p = td_mad(p, z, -0x1.b82ce31356cabp-6);
  p = td_mad(p, z, 0x1.ce2f21a04590dp-4);
  p = td_mad(p, z, -0x1.812746b037a25p-2);
  return td_mad(p, z, 0x1.06eba8214db69p-3);
}

// exp(x^2) erfc(x) (1 + 2 x) at u = (x - 3) / (x + 3) - 1/16, without the first coefficient
TD double td_erfcx_poly_d(double u) {
  double p = 0x1.4eaafafc3eeaap-29;
  p = td_mad(p, u, -0x1.b4c404e49dc50p-29);
  p = td_mad(p, u, -0x1.a4415822edde3p-26);
  p = td_mad(p, u, 0x1.b9c3ff0b32731p-27);
  p = td_mad(p, u, 0x1.316eec000bef9p-23);
  p = td_mad(p, u, 0x1.350aee1ac06abp-27);
  p = td_mad(p, u, -0x1.77e6e1252d596p-21);
  p = td_mad(p, u, -0x1.80c22029ccc2cp-22);
  p = td_mad(p, u, 0x1.d351af7a502f2p-19);
  p = td_mad(p, u, 0x1.5adc64eb506a5p-19);
  p = td_mad(p, u, -0x1.43a983df0c913p-16);
  p = td_mad(p, u, -0x1.7982883a1827ap-17);
  p = td_mad(p, u, 0x1.014fb5e9b6b36p-13);
  p = td_mad(p, u, -0x1.4381bd0010f93p-16);
  p = td_mad(p, u, -0x1.ad333812c2720p-11);
  p = td_mad(p, u, 0x1.7898b456215afp-10);
  p = td_mad(p, u, 0x1.b89d60e02293ap-9);
  p = td_mad(p, u, -0x1.70352176c5016p-6);
  p = td_mad(p, u, 0x1.e8748579fd9c2p-5);
  p = td_mad(p, u, -0x1.96b81b93816a9p-4);
  p = td_mad(p, u, 0x1.a359a2f5a7d84p-4);
  p = td_mad(p, u, -0x1.a825d186c610ep-6);
  return td_mad(p, u, -0x1.1f0b6d7c6a8dap-3);
}

TD double td_erfcx_poly_fd(double u) {
  double p = -0x1.f90238d45c04dp-19;
  p = td_mad(p, u, 0x1.8627d379985d2p-14);
  p = td_mad(p, u, -0x1.cdc1fad0ca450p-16);
  p = td_mad(p, u, -0x1.a2be16cb3be8bp-11);
  p = td_mad(p, u, 0x1.79b345ddb550dp-10);
  p = td_mad(p, u, 0x1.b7bdb700e4f53p-9);
  p = td_mad(p, u, -0x1.70398da137976p-6);
  p = td_mad(p, u, 0x1.e876d38ef85ffp-5);
  p = td_mad(p, u, -0x1.96b7fae42f2e2p-4);
  p = td_mad(p, u, 0x1.a3598df1f1092p-4);
  p = td_mad(p, u, -0x1.a825d70ee97b2p-6);
  p = td_mad(p, u, -0x1.1f0b6d456c6d2p-3);
  return td_mad(p, u, 0x1.3e8f6a5385703p+0);
}

// erfc of 0.5 <= a, scaled by 2^-k: a pair and k
TD td_exp_parts td_erfc_parts(double a) {
  td_dd p = td_product(a, a), d = td_fast_sum(2 * a, 1);
  td_exp_parts e = td_exp_parts_of(-p.h, -p.l);
  double u = (a - 3) / (a + 3) - 0.0625;
  td_dd g = td_last_step(td_erfcx_poly_d(u), u, 0x1.3e8f6a535f080p+0, -0x1.8891772551695p-57);
  td_dd h = {e.h, e.l};
  td_dd q = td_dd_div(td_dd_mul(h, g), d);
  td_exp_parts r = {q.h, q.l, e.bits};
  return r;
}

TD double td_erf_d(double x) {
  double a = td_abs_d(x), small = td_mad(x, td_erf_poly_d(x * x), x);
  td_exp_parts e = td_erfc_parts(a > 1 ? (a > 6 ? 6.0 : a) : 1.0);
  double large = 1 - td_scale_d(e.h + e.l, e.bits);
  return a < 1 ? small : td_copysign_d(x != x ? x : large, x);
}

TD double td_erfc_d(double x) {
  double a = td_abs_d(x), z = x * x;
  td_dd s = td_fast_sum(x, x * td_erf_poly_d(z)), t = td_sum(1, -s.h);
  double small = t.h + (t.l - s.l);
  td_exp_parts e = td_erfc_parts(a > 0.5 ? (a > 28 ? 28.0 : a) : 0.5);
  double tail = td_scale_d(e.h + e.l, e.bits);
  double large = x < 0 ? 2 - tail : tail;
  return x != x ? x : a < 0.5 ? small : large;
}

TD double td_erf_poly_fd(double z) {
  double p = 0x1.33f1cda192820p-8;
  p = td_mad(p, z, -0x1.b63fc84718426p-6);
  p = td_mad(p, z, 0x1.ce23bc0c6fc1ep-4);
  p = td_mad(p, z, -0x1.81272eee5d3bcp-2);
  return td_mad(p, z, 0x1.06eba7e16bbafp-3);
}

// 1 - erf below 0.5
TD float td_erfc_f(float x) {
  double v = (double)x, a = td_abs_d(v), c = td_clamp_d(a, 0.0, 12.0);
  double small = 1 - td_mad(v, td_erf_poly_fd(v * v), v);
  td_reduced_d e = td_exp_reduce_d(-c * c, 0x1.8p52 + 1023);
  double s = td_double_of(e.bits << 52), u = (c - 3) / (c + 3) - 0.0625;
  double y = td_mad(s, td_expm1_poly_fd(e.r), s) * td_erfcx_poly_fd(u) / td_mad(2.0, c, 1.0);
  y = v < 0 ? 2 - y : y;
  return x != x ? x : (float)(a < 0.5 ? small : y);
}

// x P(u), u = -log(1 - x^2) below 5, above it a shift of its root
TD double td_erfinv_d(double x) {
  double a = td_abs_d(x);
  td_dd l = td_log_dd((1 - a) * (1 + a)), w = {-l.h, -l.l}, r = td_dd_sqrt(w);
  bool tail = w.h > 5, far = w.h > 14;
  double u = far ? r.h - 4.875 : tail ? r.h - 3 : w.h;
  double p = far ? 0x1.6ddca054d1d56p-42 : tail ? -0x1.9f6160f8dd024p-29 : -0x1.3832492271de2p-64;
  p = td_mad(p, u, far ? -0x1.0dec105172b17p-40 : tail ? 0x1.aca99a966596ap-27 : 0x1.18c04df88b7dfp-58);
  p = td_mad(p, u, far ? -0x1.66261f7ecedddp-40 : tail ? -0x1.27f1a8a7e44bcp-28 : -0x1.cad89732e1c0fp-54);
  p = td_mad(p, u, far ? 0x1.96e69e1aafe29p-37 : tail ? -0x1.1bb03e9dd4125p-24 : 0x1.bd48e1be4df19p-50);
  p = td_mad(p, u, far ? -0x1.2942318e9bc60p-35 : tail ? 0x1.6b3ad7daab28ep-23 : -0x1.180adbfb55ea6p-46);
  p = td_mad(p, u, far ? 0x1.1588a62d0aab4p-34 : tail ? -0x1.50b5cfeabff8fp-24 : 0x1.d048d823e8180p-44);
  p = td_mad(p, u, far ? -0x1.3e55a718298f7p-36 : tail ? -0x1.5a078553b7937p-21 : -0x1.eacf46224c002p-42);
  p = td_mad(p, u, far ? -0x1.dd40c8a294112p-32 : tail ? 0x1.0c6584b9be91ap-19 : 0x1.4383982d24670p-40);
  p = td_mad(p, u, far ? 0x1.22e409ca7b46dp-29 : tail ? -0x1.bbb2c54308cebp-20 : -0x1.d8696a2217af8p-39);
  p = td_mad(p, u, far ? -0x1.c12390921cb23p-28 : tail ? -0x1.8f25ba4217093p-18 : 0x1.58cf2f71e28b9p-36);
  p = td_mad(p, u, far ? 0x1.0f8e70dc8753bp-26 : tail ? 0x1.70025a10013c6p-16 : -0x1.dc0779404e545p-36);
  p = td_mad(p, u, far ? -0x1.159bc51cf6268p-25 : tail ? -0x1.7fbf18c48e0f3p-16 : -0x1.19fba308c9e41p-31);
  p = td_mad(p, u, far ? 0x1.0320ad84b7a97p-24 : tail ? -0x1.85bd7874d5e49p-15 : 0x1.9adf2c6709c0bp-31);
  p = td_mad(p, u, far ? -0x1.03d1be57d902dp-23 : tail ? 0x1.aeffe220cc27ap-13 : 0x1.8795f87c0e94bp-26);
  p = td_mad(p, u, far ? 0x1.63ec81386686fp-22 : tail ? -0x1.28e09edfa52b7p-12 : -0x1.40502cc8b03bbp-25);
  p = td_mad(p, u, far ? -0x1.5476e9367829bp-20 : tail ? -0x1.38430fc1669efp-13 : -0x1.0fceaed2a05ebp-20);
  p = td_mad(p, u, far ? 0x1.71a25dbe4a8fep-18 : tail ? 0x1.84f3ed63c0d11p-10 : 0x1.0f1e72683422dp-19);
  p = td_mad(p, u, far ? -0x1.8915127a4610dp-16 : tail ? -0x1.d2754fd227e6bp-9 : 0x1.87014d45fefe9p-15);
  p = td_mad(p, u, far ? 0x1.7717f036450bdp-14 : tail ? 0x1.7495888ec0a62p-8 : -0x1.0c86b84a0a6c0p-13);
  p = td_mad(p, u, far ? -0x1.0cbcfbbf3017cp-12 : tail ? -0x1.f4f1c6f0c0938p-8 : -0x1.3211025e2a921p-9);
  p = td_mad(p, u, far ? -0x1.a819f17821c76p-15 : tail ? 0x1.3582c8114bd52p-7 : 0x1.7a72e72c1fd7ep-7);
  p = td_mad(p, u, far ? 0x1.02a49f7855b35p+0 : tail ? 0x1.006dca7a9c22ap+0 : 0x1.db29fb2fee5dbp-3);
  double first = far ? 0x1.2e4fbe28e61acp+2 : tail ? 0x1.6a9efbd66eae6p+1 : 0x1.c5bf891b4ef6bp-1;
  double low = far ? -0x1.ab0a457fc7370p-52 : tail ? 0x1.5a142f4051bdcp-53 : -0x1.559f7e690d41ep-55;
  // what u lacks counts by the slope of P, nearly constant
  low += tail ? r.l * 1.03 : w.l * 0.22;
  td_dd g = td_last_step(p, u, first, low), y = td_product(x, g.h);
  double v = y.h + td_mad(x, g.l, y.l);
  v = a < 0x1p-200 ? x * 0x1.c5bf891b4ef6bp-1 : v;
  return a == 1 ? x * __builtin_inf() : a > 1 ? __builtin_nan("") : v;
}

TD float td_erfinv_f(float x) { return (float)td_erfinv_d((double)x); }
