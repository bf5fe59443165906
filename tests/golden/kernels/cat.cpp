extern "C" void k1c8ccc714f0e3735(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  float *__restrict const b1 = (float *)p[1];
  const float *__restrict const b2 = (const float *)p[2];
  const long n0 = n[0];
  const long n1 = n[1];
  for (long r0 = begin; r0 < end; r0++) {
    for (long j = 0; j < n0; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v0 = b0[r0 * n0 + c0];
        const float v1 = td_add(v0, 1.0f);
        b1[r0 * n1 + c0] = v1;
      }
    }
    for (long j = 0; j < 32; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v2 = b2[r0 * 32 + c0];
        const float v3 = td_add(v2, 1.0f);
        b1[r0 * n1 + c0 + n0] = v3;
      }
    }
  }
}
