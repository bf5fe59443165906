// What every kernel needs: bit casts, the stored forms of float16 and bfloat16, conversions.

#define TD static inline __attribute__((always_inline, unused))

struct td_f16 { unsigned short b; };

struct td_bf16 { unsigned short b; };

TD unsigned td_bits(float x) { return __builtin_bit_cast(unsigned, x); }

TD unsigned long td_bits(double x) { return __builtin_bit_cast(unsigned long, x); }

TD float td_float_of(unsigned b) { return __builtin_bit_cast(float, b); }

TD double td_double_of(unsigned long b) { return __builtin_bit_cast(double, b); }

// a * b + c, rounded once: exact algorithms may rely on it
TD float td_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

TD double td_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class T> TD T td_fma(T a, T b, T c) { return (T)(a * b + c); }

// a * b + c, rounded once where that is one instruction, else twice
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)
TD float td_mad(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TD double td_mad(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
TD float td_mad(float a, float b, float c) { return a * b + c; }
TD double td_mad(double a, double b, double c) { return a * b + c; }
#endif

TD float td_abs_f(float x) { return __builtin_fabsf(x); }

TD double td_abs_d(double x) { return __builtin_fabs(x); }

TD float td_copysign_f(float x, float s) { return __builtin_copysignf(x, s); }

TD double td_copysign_d(double x, double s) { return __builtin_copysign(x, s); }

TD float td_to_float(td_bf16 x) { return td_float_of((unsigned)x.b << 16); }

// round to nearest even in integers; a NaN keeps its sign and top bits and stays a NaN
TD unsigned td_bf16_bits(float x) {
  unsigned b = td_bits(x);
  unsigned rounded = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return (b & 0x7fffffffu) > 0x7f800000u ? (b >> 16) | 0x40u : rounded;
}

TD td_bf16 td_to_bf16(float x) { td_bf16 r = {(unsigned short)td_bf16_bits(x)}; return r; }

TD float td_round_bf16(float x) { return td_float_of(td_bf16_bits(x) << 16); }

// the machine's own conversion where compilers vectorise it, else integers
#if defined(__AVX512FP16__)
TD float td_to_float(td_f16 x) { return (float)__builtin_bit_cast(_Float16, x.b); }
TD unsigned td_f16_bits(float x) { return __builtin_bit_cast(unsigned short, (_Float16)x); }
#else
// normal numbers by moving the exponent; subnormal ones as an integer times 2^-24
TD float td_to_float(td_f16 x) {
  unsigned h = x.b, m = h & 0x7fffu, sign = (h & 0x8000u) << 16;
  unsigned normal = (m << 13) + (m < 0x7c00u ? 112u << 23 : 224u << 23);
  unsigned small = td_bits((float)(int)m * 0x1p-24f);
  return td_float_of((m < 0x400u ? small : normal) | sign);
}
// subnormal results round by adding 0.5, whose last bit weighs 2^-24
TD unsigned td_f16_bits(float x) {
  unsigned b = td_bits(x), sign = (b >> 16) & 0x8000u, m = b & 0x7fffffffu;
  unsigned normal = (m - (112u << 23) + 0xfffu + ((m >> 13) & 1u)) >> 13;
  unsigned small = td_bits(td_float_of(m) + 0.5f) - 0x3f000000u;
  unsigned r = m < 0x38800000u ? small : m < 0x477ff000u ? normal : 0x7c00u;
  return (m > 0x7f800000u ? 0x7e00u | (m >> 13 & 0x3ffu) : r) | sign;
}
#endif

TD td_f16 td_to_f16(float x) { td_f16 r = {(unsigned short)td_f16_bits(x)}; return r; }

TD float td_round_f16(float x) { td_f16 h = td_to_f16(x); return td_to_float(h); }

// double to float16: through a float that keeps what was cut off in its last bit (round to odd)
TD float td_round_to_odd(double x) {
  float f = (float)x;
  double back = f;
  unsigned away = __builtin_fabs(back) > __builtin_fabs(x), exact = back == x || x != x;
  unsigned b = td_bits(f);
  return td_float_of(exact ? b : (b - away) | 1u);
}
