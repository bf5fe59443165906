extern "C" void kb17eebf4b6b58636(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  float *__restrict const b1 = (float *)p[1];
  const long n0 = n[0];
  for (long r = begin; r < end; r++) {
    const long x0 = r % n0 * 64;
    float a0[64];
    for (long l = 0; l < 64; l++) a0[l] = -__builtin_inff();
    for (long c0 = 0; c0 < 10; c0++) {
      #pragma omp simd
      for (long l = 0; l < 64; l++) {
        const long x = x0 + l;
        const float v1 = b0[x * 10 + c0];
        const float v2 = td_maximum(a0[l], v1);
        a0[l] = v2;
      }
    }
    float a3[64];
    for (long l = 0; l < 64; l++) a3[l] = 0.0f;
    for (long c0 = 0; c0 < 10; c0++) {
      #pragma omp simd
      for (long l = 0; l < 64; l++) {
        const long x = x0 + l;
        const float v4 = b0[x * 10 + c0];
        const float v5 = td_sub(v4, a0[l]);
        const float v6 = td_exp(v5);
        const float v7 = td_add(a3[l], v6);
        a3[l] = v7;
      }
    }
    for (long c0 = 0; c0 < 10; c0++) {
      #pragma omp simd
      for (long l = 0; l < 64; l++) {
        const long x = x0 + l;
        const float v8 = b0[x * 10 + c0];
        const float v9 = td_sub(v8, a0[l]);
        const float v10 = td_exp(v9);
        const float v11 = td_div(v10, a3[l]);
        b1[x * 10 + c0] = v11;
      }
    }
  }
}
