// Vectors of one element type, TD_REAL, as the compiler itself offers them (no intrinsics), the
// sizes of tiles and blocks that suit them, and scratch memory. Read before tile.cpp and gemm.cpp.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace {

typedef TD_REAL T;

#if defined(__AVX512F__)
const int BYTES = 64, ROWS = 8;
#elif defined(__AVX__)
const int BYTES = 32, ROWS = 4;
#elif defined(__aarch64__)
const int BYTES = 16, ROWS = 8;
#else
const int BYTES = 16, ROWS = 4;
#endif
const int LANES = BYTES / sizeof(T), WIDE = 3, COLS = WIDE * LANES;
const long BLOCK_K = sizeof(T) == 4 ? 384 : 256;  // a tile's part of A stays in the nearest cache
const long BLOCK_M = 96;                          // a block of C and its part of A: the next cache
const long BLOCK_N = 8 * COLS * (64 / BYTES);
const long SHARED = 4 << 20;                      // elements of B packed at a time, at most
const long STRIP = 4 * ROWS;                      // rows of A packed together
const long AHEAD = 12;                            // columns of A asked for before they are packed
const long SUPER_K = 8 * BLOCK_K;
const long NEAR = 1 << 15;     // bytes that may be read in place in any order
const double SMALL = 1 << 18;  // multiply-adds below which one thread is faster

typedef T vec __attribute__((vector_size(BYTES)));
typedef T vec_any __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));

typedef void (*ParallelFor)(td_kernel, void *const *, const long *, long, long, long *);
typedef long (*Threads)();
ParallelFor parallel_for;
Threads threads;

inline vec load(const T *p) { return *(const vec_any *)p; }
inline void store(T *p, vec v) { *(vec_any *)p = v; }
inline long least(long a, long b) { return a < b ? a : b; }
inline long most(long a, long b) { return a > b ? a : b; }
inline long parts(long whole, long part) { return (whole + part - 1) / part; }
inline long round_up(long n, long unit) { return parts(n, unit) * unit; }

// --- lanes changing places -----------------------------------------------------------------------

template <int... I> struct Lanes {};
template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> {};
template <int... I> struct Count<0, I...> {
    typedef Lanes<I...> type;
};

// Two vectors after their blocks of D lanes off the diagonal have changed places.
template <int D, int... I> inline void exchange(vec &x, vec &y, Lanes<I...>) {
#ifdef __clang__
    vec low = __builtin_shufflevector(x, y, (I & D ? LANES + I - D : I)...);
    vec high = __builtin_shufflevector(x, y, (I & D ? LANES + I : I + D)...);
#else
    typedef TD_INTEGER index __attribute__((vector_size(BYTES)));
    const index first = {(I & D ? LANES + I - D : I)...}, second = {(I & D ? LANES + I : I + D)...};
    vec low = __builtin_shuffle(x, y, first), high = __builtin_shuffle(x, y, second);
#endif
    x = low;
    y = high;
}

template <int D> inline void exchange_all(vec *v) {
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        if (!(i & D)) exchange<D>(v[i], v[i + D], typename Count<LANES>::type());
    exchange_all<D / 2>(v);
}
template <> inline void exchange_all<0>(vec *) {}

// --- scratch memory of this thread ---------------------------------------------------------------

struct Scratch {
    void *memory[3];
    long size[3];
};
thread_local Scratch scratch;
pthread_key_t scratch_key;  // its destructor runs at a thread's end, and needs no C++ library

void free_scratch(void *) {
    for (int use = 0; use < 3; use++) {
        free(scratch.memory[use]);
        scratch.memory[use] = nullptr;
        scratch.size[use] = 0;
    }
}

enum { FOR_B, FOR_A, FOR_TAIL };

T *scratch_for(int use, long elements) {
    long bytes = elements * (long)sizeof(T);
    if (scratch.size[use] >= bytes) return (T *)scratch.memory[use];
    free(scratch.memory[use]);
    scratch.memory[use] = nullptr;
    scratch.size[use] = 0;
    bytes = round_up(bytes, bytes < (1 << 20) ? 1 << 12 : 1 << 21);
    long align = bytes < (1 << 20) ? 64 : 1 << 21;
    pthread_setspecific(scratch_key, &scratch);
    if (posix_memalign(&scratch.memory[use], align, bytes) != 0) abort();
#ifdef __linux__
    if (align > 64) madvise(scratch.memory[use], bytes, MADV_HUGEPAGE);
#endif
    scratch.size[use] = bytes;
    return (T *)scratch.memory[use];
}

}  // namespace
