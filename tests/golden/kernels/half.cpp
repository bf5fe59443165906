extern "C" void kda13f5670e54df9e(void *const *p, const long *n, long begin, long end, long *err) {
  const td_bf16 *__restrict const b0 = (const td_bf16 *)p[0];
  td_bf16 *__restrict const b1 = (td_bf16 *)p[1];
  #pragma omp simd
  for (long c0 = begin; c0 < end; c0++) {
    const float v0 = td_to_float(b0[c0]);
    const float v1 = td_round_bf16(td_exp(v0));
    const float v2 = td_round_bf16(td_add(v1, 1.0f));
    b1[c0] = td_to_bf16(v2);
  }
}
