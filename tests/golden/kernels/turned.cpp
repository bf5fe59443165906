extern "C" void kd2662a84dc11a491(void *const *p, const long *n, long begin, long end, long *err) {
  const float *__restrict const b0 = (const float *)p[0];
  const float *__restrict const b1 = (const float *)p[1];
  float *__restrict const b2 = (float *)p[2];
  const long n0 = n[0];
  const long n1 = n[1];
  for (long r = begin; r < end; r++) {
    const long x0 = r % 4 * 64;
    const long rows = 64;
    for (long y0 = 0; y0 < n0; y0 += 64) {
      const long columns = 64;
      float t0[4096];
      td_turn<64>(t0, b0 + y0 * n1 + x0, n1, rows, columns);
      for (long i = 0; i < rows; i++) {
        const long x = x0 + i;
        #pragma omp simd
        for (long j = 0; j < columns; j++) {
          const long y = y0 + j;
          const float v1 = b1[x * n0 + y];
          const float v2 = td_add(v1, t0[i * 64 + j]);
          b2[x * n0 + y] = v2;
        }
      }
    }
  }
}
