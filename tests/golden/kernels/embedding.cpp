extern "C" void kb27fcfafee7303ea(void *const *p, const long *n, long begin, long end, long *err) {
  const long *__restrict const b0 = (const long *)p[0];
  const float *__restrict const b1 = (const float *)p[1];
  float *__restrict const b2 = (float *)p[2];
  const long n0 = n[0];
  const long n1 = n[1];
  for (long r0 = begin; r0 < end; r0++) {
    const long v0 = b0[r0];
    const bool v1 = (unsigned long)v0 >= (unsigned long)n0;
    if (v1) {
      err[0] = 1;
      err[1] = (long)v0;
      return;
    }
    for (long j = 0; j < n1; j += 32) {
      #pragma omp simd
      for (long l = 0; l < 32; l++) {
        const long c0 = j + l;
        const float v2 = b1[v0 * n1 + c0];
        const float v3 = td_mul(v2, 2.0f);
        b2[r0 * n1 + c0] = v3;
      }
    }
  }
}
