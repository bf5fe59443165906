// sin, cos, tan. Floats compute in double. x = (pi / 2) (4 n + quadrant + t), |t| <= 1/2, for any x.
// A large x is an integer y times 2^w, and y is multiplied by 2^w 2/pi mod 4, a constant for each of a
// few w: what the modulus drops makes whole periods.

struct td_turn { double r; unsigned long quadrant; };

TD td_turn td_reduce_fd(double x) {
  double a = __builtin_fabs(x);
  bool w1 = a >= 0x1p50, w2 = a >= 0x1p76, w3 = a >= 0x1p102;
  double scale = w3 ? 0x1p-78 : w2 ? 0x1p-52 : w1 ? 0x1p-26 : 1.0;
  double c0 = w3   ? 0x1.d5f47d4d37703p+0
              : w2 ? 0x1.529fc2757d1f5p+0
              : w1 ? 0x1.b9391054a7f0ap+0
                   : 0x1.45f306dc9c883p-1;
  double c1 = w3   ? 0x1.b6295993c4390p-54
              : w2 ? 0x1.a6ee06db14acdp-55
              : w1 ? -0x1.505c1596447e5p-55
                   : -0x1.6b01ec5417056p-55;
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

TD float td_tan_f(float x) {
  td_turn a = td_reduce_fd((double)x);
  double s = td_sin_poly_fd(a.r), c = td_cos_poly_fd(a.r);
  float y = (float)(a.quadrant & 1 ? -c / s : s / c);
  return x == 0 ? x : y;
}

// row j: 2^(16 j) 2/pi mod 4 as four doubles
static const double td_two_over_pi[244] = {
  0x1.45f306dc9c883p-1, -0x1.6b01ec5417056p-55, -0x1.6447e493ad4cep-109, 0x1.e21c820ff28b2p-163,
  0x1.836e4e44152a0p+0, -0x1.ec54170565912p-55, 0x1.b6c52b3278872p-113, 0x1.07f9458eaf7afp-170,
  -0x1.b1bbead603d8bp+0, 0x1.f47d4d377036ep-54, -0x1.d6a66c3bc6fbep-108, -0x1.ae9c5421443aap-168,
  0x1.529fc2757d1f5p-4, 0x1.a6ee06db14acdp-59, -0x1.8778df7c035d4p-113, 0x1.d5ef5de2b0db9p-167,
  0x1.fc2757d1f534ep+0, -0x1.1f924eb53361ep-55, 0x1.c820ff28b1d5fp-111, -0x1.443a9e48db91cp-168,
  -0x1.505c1596447e5p-1, 0x1.b14acc9e21c82p-55, 0x1.fe5163abdebbcp-112, 0x1.586dc91b8e909p-166,
  0x1.f534ddc0db629p+0, 0x1.664f10e4107f9p-54, 0x1.163abdebbc562p-108, -0x1.236e4716f6c8bp-162,
  0x1.bb81b6c52b328p-1, -0x1.de37df00d74e3p-55, 0x1.7bd778ac36e49p-109, -0x1.1c5bdb22d1ffap-164,
  0x1.b6c52b3278872p-1, 0x1.07f9458eaf7afp-58, -0x1.d4f246dc8e2dfp-115, 0x1.374b801924bbbp-170,
  -0x1.6a66c3bc6fbe0p+0, -0x1.ae9c5421443aap-56, 0x1.b7246e3a424ddp-112, 0x1.700324977504fp-167,
  0x1.3c439041fe516p+0, 0x1.d5ef5de2b0db9p-55, 0x1.1b8e909374b80p-110, 0x1.924bba8274648p-166,
  -0x1.bef806ba71508p-2, -0x1.443a9e48db91cp-56, -0x1.6f6c8b47fe6dbp-110, -0x1.115f62e6de302p-164,
  0x1.fe5163abdebbcp+0, 0x1.586dc91b8e909p-54, 0x1.ba5c00c925dd4p-109, 0x1.3a32439fc3bd6p-165,
  0x1.63abdebbc561bp+0, 0x1.c91b8e909374cp-54, -0x1.ff9b6d115f62ep-108, -0x1.b78c0788538d4p-162,
  -0x1.0a21d4f246dc9p-3, 0x1.d2126e9700325p-59, -0x1.a22bec5cdbc60p-113, -0x1.e214e34ed658cp-168,
  -0x1.d4f246dc8e2dfp-3, 0x1.374b801924bbbp-58, -0x1.f62e6de301e21p-112, -0x1.38d3b5963045ep-166,
  0x1.b7246e3a424ddp+0, 0x1.700324977504fp-55, -0x1.cdbc603c429c7p-109, 0x1.894d39f74411bp-163,
  0x1.b8e909374b802p-2, -0x1.b6d115f62e6dep-56, -0x1.80f10a71a76b3p-111, 0x1.cfba208d7d4bbp-166,
  -0x1.bdb22d1ff9b6dp+0, -0x1.15f62e6de301ep-56, -0x1.0a71a76b2c609p-111, 0x1.1046bea5d7689p-165,
  0x1.d2e006492eea1p+0, -0x1.8b9b78c078854p-54, 0x1.cb129a73ee882p-108, 0x1.afa975da24275p-163,
  0x1.924bba8274648p-6, 0x1.cfe1deb1cb12ap-60, -0x1.63045df7282b4p-114, -0x1.44bb7b16638fep-168,
  0x1.2eea09d1921d0p+0, -0x1.e214e34ed658cp-56, -0x1.177dca0ad144cp-112, 0x1.213a671c09ad1p-166,
  -0x1.f62e6de301e21p+0, -0x1.38d3b5963045ep-54, 0x1.1afa975da2427p-111, 0x1.338e04d68befdp-165,
  0x1.921cfe1deb1cbp+0, 0x1.29a73ee88235fp-56, 0x1.4baed1213a672p-110, -0x1.fb29741037d8dp-165,
  0x1.fc3bd63962535p-1, -0x1.822efb9415a29p-57, 0x1.a24274ce38136p-111, -0x1.741037d8cdc54p-165,
  0x1.eb1cb129a73efp+0, -0x1.df7282b4512eep-54, 0x1.3a671c09ad17ep-110, -0x1.bec66e29c67cbp-168,
  0x1.62534e7dd1047p-1, -0x1.0568a25dbd8b3p-55, -0x1.c7eca5d040df6p-111, -0x1.9b8a719f2b318p-166,
  0x1.a73ee88235f53p+0, -0x1.44bb7b16638fep-56, 0x1.ad17df904e647p-110, 0x1.639835339f49dp-164,
  -0x1.177dca0ad144cp+0, 0x1.213a671c09ad1p-54, 0x1.f7e413991d63ap-108, -0x1.f2b3182d8dee8p-162,
  -0x1.ca0ad144bb7b1p+0, -0x1.98e3f652e8207p-54, 0x1.3991d63983534p-112, -0x1.82d8dee81d108p-166,
  0x1.2ebb4484e99c7p+0, 0x1.35a2fbf209cc9p-59, -0x1.4e33e566305b2p-115, 0x1.08bf177bf2507p-169,
  -0x1.76f62cc71fb29p-1, -0x1.d040df633714ep-55, -0x1.9f2b3182d8defp-110, 0x1.f8bbdf9283b20p-164,
  0x1.d338e04d68bf0p-1, -0x1.bec66e29c67cbp-56, 0x1.9cfa4e422fc5ep-111, -0x1.036be27003b40p-167,
  0x1.c09ad17df904ep-2, 0x1.91d639835339fp-56, 0x1.272117e2ef7e5p-110, -0x1.7c4e007680022p-164,
  -0x1.4ba081bec66e3p+0, 0x1.8e60d4ce7d272p-54, 0x1.17e2ef7e4a0ecp-110, 0x1.ff897ffde0598p-164,
  -0x1.037d8cdc538d0p-1, 0x1.a99cfa4e422fcp-55, 0x1.77bf250763ff1p-109, 0x1.7ffde05980fefp-164,
  0x1.3991d63983534p+0, -0x1.82d8dee81d108p-54, -0x1.b5f13801da001p-110, 0x1.e05980fef2f12p-164,
  0x1.d639835339f4ap+0, -0x1.bdd03a21036bep-55, -0x1.3801da00087eap-110, 0x1.80fef2f118b5ap-164,
  0x1.835339f49c846p+0, -0x1.d1081b5f13802p-58, 0x1.2fffbc0b301fep-113, -0x1.a1dce94beb25cp-169,
  -0x1.8c16c6f740e88p-1, -0x1.036be27003b40p-55, -0x1.0fd33f8086877p-115, -0x1.d297d64b824b2p-170,
  0x1.3908bf177bf25p-1, 0x1.d8ffc4bffef03p-59, -0x1.9fc04343b9d29p-114, -0x1.f592e092c9813p-168,
  0x1.7e2ef7e4a0ec8p-2, -0x1.da00087e99fc0p-62, -0x1.0d0ee74a5f593p-116, 0x1.f6d367ecf27cbp-172,
  -0x1.081b5f13801dap-2, -0x1.0fd33f8086877p-67, -0x1.d297d64b824b2p-122, -0x1.8130d834f648bp-176,
  0x1.283b1ff897ffep+0, -0x1.fa67f010d0ee7p-56, -0x1.297d64b824b26p-110, -0x1.30d834f648b0cp-168,
  -0x1.c00ed00043f4dp-1, 0x1.fde5e2316b415p-61, -0x1.2e092c98130d8p-116, -0x1.a7b24585ce04dp-171,
  0x1.2fffbc0b301fep-1, -0x1.a1dce94beb25cp-57, -0x1.25930261b069fp-113, 0x1.b74f463f669e6p-168,
  -0x1.0fd33f8086877p-3, -0x1.d297d64b824b2p-58, -0x1.8130d834f648bp-112, -0x1.738132c3402bap-169,
  0x1.980fef2f118b6p+0, -0x1.7d64b824b2605p-54, 0x1.e4f96136e9e8cp-109, 0x1.fb34f2ff516bbp-163,
  -0x1.0d0ee74a5f593p-4, 0x1.f6d367ecf27cbp-60, 0x1.36e9e8c7ecd3dp-117, -0x1.00ae9456c229cp-171,
  -0x1.dce94beb25c12p-1, -0x1.64c0986c1a7b2p-55, -0x1.161738132c340p-109, -0x1.5d28ad8453814p-164,
  -0x1.4beb25c125930p-1, -0x1.30d834f648b0cp-56, 0x1.8fd9a797fa8b6p-110, -0x1.5b08a7028341dp-165,
  -0x1.92e092c98130ep+0, 0x1.f2c26dd3d18fep-54, -0x1.961a015d28ad8p-108, -0x1.14e050683a131p-162,
  -0x1.25930261b069fp-1, 0x1.b74f463f669e6p-56, -0x1.5d28ad8453814p-116, -0x1.a0e84c2f8c608p-172,
  -0x1.8130d834f648bp+0, -0x1.738132c3402bap-57, -0x1.456c229c0a0d0p-111, -0x1.d0985f18c10ebp-165,
  -0x1.b069ec9161738p-1, -0x1.32c3402ba515bp-57, -0x1.14e050683a131p-114, 0x1.0739f78a5292fp-168,
  -0x1.ec9161738132cp-1, -0x1.a015d28ad8454p-56, 0x1.faf97c5ecf41dp-110, -0x1.821d6b5b45650p-166,
  -0x1.61738132c3403p-1, 0x1.16ba93dd63f5fp-55, 0x1.7c5ecf41ce7dep-110, 0x1.4a525d4d7f6bfp-165,
  -0x1.c09961a015d29p+0, 0x1.49eeb1faf97c6p-54, -0x1.30be31821d6b6p-110, 0x1.2ea6bfb5fb120p-164,
  -0x1.61a015d28ad84p+0, -0x1.4e050683a130cp-54, 0x1.ce7de294a4baap-110, -0x1.404a04ee072a3p-164,
  -0x1.5d28ad8453814p-4, -0x1.a0e84c2f8c608p-60, -0x1.d6b5b45650128p-114, -0x1.3b81ca8bdea7fp-170,
  0x1.7527bac7ebe5fp+0, 0x1.7b3d0739f78a5p-56, 0x1.497535fdafd89p-111, -0x1.ca8bdea7f33eep-170,
};

// u mod 4 in [-2, 2], exact
TD double td_mod4(double u) { return td_fma(-4.0, __builtin_rint(u * 0.25), u); }

struct td_turn_d { double h, l; unsigned long quadrant; };

// From 2^53 on, x 2^(-16 j) is an integer below 2^69, and integers times multiples of 4 drop out.
// max(e, 0) is written with a mask: compilers make a branch of the conditional and then do not vectorise.
TD td_turn_d td_reduce_d(double x) {
  long e = (long)(td_bits(x) >> 52 & 0x7ff) - (1023 + 53), j = (e & ~(e >> 63)) >> 4;
  const double *c = td_two_over_pi;
  double y = x * td_double_of((unsigned long)(1023 - 16 * j) << 52);
  td_dd p = td_product(y, c[4 * j]), q = td_product(y, c[4 * j + 1]), r = td_product(y, c[4 * j + 2]);
  td_dd s = td_sum(td_mod4(p.h), td_mod4(p.l)), t = td_sum(s.h, td_mod4(q.h)), v = td_sum(q.l, r.h);
  // near a multiple of pi / 2 the leading parts cancel, and any of the others may lead
  double z = t.h + 0x1.8p52;
  td_dd u = td_sum(s.l, t.l), a = td_sum(t.h - (z - 0x1.8p52), u.h), f = td_sum(a.h, v.h);
  f = td_fast_sum(f.h, f.l + (a.l + (u.l + v.l + td_mad(y, c[4 * j + 3], r.l))));
  td_dd g = td_product(f.h, 0x1.921fb54442d18p+0);
  g = td_fast_sum(g.h, td_mad(f.h, 0x1.1a62633145c07p-54, td_mad(f.l, 0x1.921fb54442d18p+0, g.l)));
  td_turn_d turn = {g.h, g.l, td_bits(z)};
  return turn;
}

TD double td_sin_tail_d(double z) {
  double p = 0x1.5d6fdac21029fp-33;
  p = td_mad(p, z, -0x1.ae5def90ea1b7p-26);
  p = td_mad(p, z, 0x1.71de34e45abdfp-19);
  p = td_mad(p, z, -0x1.a01a019b6dfe4p-13);
  p = td_mad(p, z, 0x1.111111110f3a3p-7);
  return td_mad(p, z, -0x1.5555555555546p-3);
}

TD double td_cos_tail_d(double z) {
  double p = -0x1.8f8591ab25cc1p-37;
  p = td_mad(p, z, 0x1.1ee99dd80ee63p-29);
  p = td_mad(p, z, -0x1.27e4f799320acp-22);
  p = td_mad(p, z, 0x1.a01a019c1925bp-16);
  p = td_mad(p, z, -0x1.6c16c16c14b8dp-10);
  return td_mad(p, z, 0x1.5555555555549p-5);
}

// sin(h + l) and cos(h + l) as pairs
TD td_dd td_sin_pair(double h, double l) {
  double z = h * h;
  return td_fast_sum(h, td_mad(h * z, td_sin_tail_d(z), td_mad(l, -0.5 * z, l)));
}

TD td_dd td_cos_pair(double h, double l) {
  double z = h * h, half = 0.5 * z;
  td_dd s = td_fast_sum(1, -half);
  double low = td_mad(z * z, td_cos_tail_d(z), -td_mad(h, l, td_fma(0.5 * h, h, -half)));
  return td_fast_sum(s.h, s.l + low);
}

TD double td_sin_d(double x) {
  td_turn_d a = td_reduce_d(x);
  double y = td_flip(a.quadrant & 1 ? td_cos_pair(a.h, a.l).h : td_sin_pair(a.h, a.l).h, a.quadrant);
  return td_abs_d(x) < 0x1p-27 ? x : y;
}

TD double td_cos_d(double x) {
  td_turn_d a = td_reduce_d(x);
  double y = td_flip(a.quadrant & 1 ? td_sin_pair(a.h, a.l).h : td_cos_pair(a.h, a.l).h, a.quadrant + 1);
  return td_abs_d(x) < 0x1p-27 ? 1.0 : y;
}

TD double td_tan_d(double x) {
  td_turn_d a = td_reduce_d(x);
  td_dd s = td_sin_pair(a.h, a.l), c = td_cos_pair(a.h, a.l);
  bool odd = a.quadrant & 1;
  td_dd n = {odd ? -c.h : s.h, odd ? -c.l : s.l}, d = {odd ? s.h : c.h, odd ? s.l : c.l};
  td_dd q = td_dd_div(n, d);
  return td_abs_d(x) < 0x1p-27 ? x : q.h + q.l;
}
