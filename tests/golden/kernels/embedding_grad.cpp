extern "C" void k7389f13803ac4d60(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  float *__restrict const b1 = (float *)p[1];
  for (long j = begin; j < end; j += 32) {
    #pragma omp simd
    for (long l = 0; l < 32; l++) {
      const long c0 = j + l;
      const float v0 = b0[c0];
      const float v1 = td_mul(v0, 0.0f);
      b1[c0] = v1;
    }
  }
}

extern "C" void k2b0a9496149993b1(void *const *p, const long *n, long begin, long end, long *err) {
  const long *__restrict const b0 = (const long *)p[0];
  const float *__restrict const b1 = (const float *)p[1];
  float *__restrict const b2 = (float *)p[2];
  const long n0 = n[0];
  const long n1 = n[1];
  const long n2 = n[2];
  for (long r = begin; r < end; r++) {
    const long x0 = 0;
    for (long c0 = 0; c0 < n0; c0++) {
      {
        const long v0 = b0[c0];
        const bool v1 = (unsigned long)v0 >= (unsigned long)n1;
        if (v1) {
          err[0] = 1;
          err[1] = (long)v0;
          return;
        }
      }
      #pragma omp simd
      for (long l = 0; l < 64; l++) {
        const long x = x0 + l;
        const float v2 = b1[c0 * n2 + x];
        const long v3 = b0[c0];
        b2[v3 * n2 + x] = td_add(b2[v3 * n2 + x], v2);
      }
    }
  }
}
