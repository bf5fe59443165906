// Philox 4x32-10: word i & 3 of the block whose counter is i >> 2 and whose key is the seed, low word first.
TD unsigned td_philox(unsigned long seed, unsigned long i) {
  unsigned c0 = (unsigned)(i >> 2), c1 = (unsigned)(i >> 34), c2 = 0, c3 = 0;
  unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; round++) {
    unsigned long p = 0xd2511f53ul * c0, q = 0xcd9e8d57ul * c2;
    c0 = (unsigned)(q >> 32) ^ c1 ^ k0, c2 = (unsigned)(p >> 32) ^ c3 ^ k1;
    c1 = (unsigned)q, c3 = (unsigned)p;
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  return i & 2 ? (i & 1 ? c3 : c2) : (i & 1 ? c1 : c0);
}

// uniform in [0, 1): the leading 24 bits of one word, or 53 of two
TD float td_uniform(unsigned w) { return (float)(int)(w >> 8) * 0x1p-24f; }

TD double td_uniform(unsigned high, unsigned low) {
  return (double)(long)high * 0x1p-32 + (double)(int)(low >> 11) * 0x1p-53;
}
