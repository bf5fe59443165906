extern "C" void ka69a9d99ffe7f821(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  float *__restrict const b1 = (float *)p[1];
  const long n0 = n[0];
  const long n1 = n[1];
  float w0[32];
  for (long l = 0; l < 32; l++) w0[l] = 0.0f;
  float d1[32];
  for (long l = 0; l < 32; l++) d1[l] = 0.0f;
  for (long k = begin; k < end; k += 2048) {
    const long m = k + 2048 < end ? k + 2048 : end;
    for (long j = k; j < m; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v2 = b0[c0];
        const float v3 = td_add(d1[l], v2);
        d1[l] = v3;
      }
    }
    #pragma omp simd
    for (long l = 0; l < 32; l++) {
      const float v4 = td_add(w0[l], d1[l]);
      w0[l] = v4;
      d1[l] = 0.0f;
    }
  }
  td_halve<16>([&](long a, long b) __attribute__((always_inline)) {
    const float v5 = td_add(w0[a], w0[b]);
    w0[a] = v5;
  });
  b1[begin / n0] = w0[0];
  if (end == n1) {
    for (long k = begin / n0 + 1; k < 64; k++) b1[k] = 0.0f;
  }
}

extern "C" void k0881c002c9091c60(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  float *__restrict const b1 = (float *)p[1];
  const long n0 = n[0];
  for (long r = begin; r < end; r++) {
    float a0[32];
    for (long l = 0; l < 32; l++) a0[l] = 0.0f;
    for (long j = 0; j < n0; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v1 = b0[c0];
        const float v2 = td_add(a0[l], v1);
        a0[l] = v2;
      }
    }
    td_halve<16>([&](long a, long b) __attribute__((always_inline)) {
      const float v3 = td_add(a0[a], a0[b]);
      a0[a] = v3;
    });
    const float v4 = a0[0];
    const float v5 = td_mul(v4, 3.8146973e-06f);
    b1[0] = v5;
  }
}
