extern "C" void kb97907dc0dac9a27(void *const *p, const long *n, long begin, long end, long *err) {
  float *__restrict const b0 = (float *)p[0];
  const float *__restrict const b1 = (const float *)p[1];
  const long n0 = n[0];
  const long n1 = n[1];
  float *const s0 = b0 + begin / n1 * n0;
  for (long c = 0; c < n0; c++) s0[c] = 0.0f;
  for (long r0 = begin; r0 < end; r0++) {
    for (long j = 0; j < n0; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v1 = b1[r0 * n0 + c0];
        const float v2 = td_mul(v1, v1);
        const float v3 = td_add(s0[c0], v2);
        s0[c0] = v3;
      }
    }
  }
}

extern "C" void k00a2588b80e23fcf(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  float *__restrict const b1 = (float *)p[1];
  const long n0 = n[0];
  for (long r = begin; r < end; r++) {
    const long x0 = r % 4 * 64;
    float a0[64];
    for (long l = 0; l < 64; l++) a0[l] = 0.0f;
    for (long c0 = 0; c0 < 32; c0++) {
      #pragma omp simd
      for (long l = 0; l < 64; l++) {
        const long x = x0 + l;
        const float v1 = b0[c0 * n0 + x];
        const float v2 = td_add(a0[l], v1);
        a0[l] = v2;
      }
    }
    #pragma omp simd
    for (long l = 0; l < 64; l++) {
      const long x = x0 + l;
      b1[x] = a0[l];
    }
  }
}
