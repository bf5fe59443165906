extern "C" void k63264954b639e1bf(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  float *__restrict const b1 = (float *)p[1];
  const long n0 = n[0];
  for (long r0 = begin; r0 < end; r0++) {
    float kept0[n0];
    float a1[32];
    for (long l = 0; l < 32; l++) a1[l] = -__builtin_inff();
    for (long j = 0; j < n0; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v2 = b0[r0 * n0 + c0];
        const float v3 = td_maximum(a1[l], v2);
        a1[l] = v3;
      }
    }
    td_halve<16>([&](long a, long b) __attribute__((always_inline)) {
      const float v4 = td_maximum(a1[a], a1[b]);
      a1[a] = v4;
    });
    const float v5 = a1[0];
    float a6[32];
    for (long l = 0; l < 32; l++) a6[l] = 0.0f;
    for (long j = 0; j < n0; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v7 = b0[r0 * n0 + c0];
        const float v8 = td_sub(v7, v5);
        const float v9 = td_exp(v8);
        kept0[c0] = v9;
        const float v10 = td_add(a6[l], v9);
        a6[l] = v10;
      }
    }
    td_halve<16>([&](long a, long b) __attribute__((always_inline)) {
      const float v11 = td_add(a6[a], a6[b]);
      a6[a] = v11;
    });
    const float v12 = a6[0];
    for (long j = 0; j < n0; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v13 = td_div(kept0[c0], v12);
        b1[r0 * n0 + c0] = v13;
      }
    }
  }
}
