// Matrix products of one element type, TD_REAL, in vectors of the compiler's own kind: no intrinsics.
//
// One register tile of up to ROWS x 3 vectors of C is held while k runs. B is packed into panels of
// 3 vectors' width once for all threads, or read in place where that is cheaper; A is read in place
// where its rows are contiguous, else packed block by block. Threads share a grid of blocks of C.
// The order of summation over k is fixed by the shape alone (blocks of block_k), so the result does
// not depend on threads or timing. Nothing is skipped for being zero: NaN and inf spread as they must.
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
const long BLOCK_M = 96, BLOCK_N = 8 * COLS;      // a block of C and its part of A: the next cache
const long SHARED = 4 << 20;                      // elements of B packed at a time, at most
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

// --- scratch memory of this thread ---------------------------------------------------------------

struct Scratch {
    void *memory[3] = {};
    long size[3] = {};
    ~Scratch() {
        for (void *m : memory) free(m);
    }
};
thread_local Scratch scratch;

enum { FOR_B, FOR_A, FOR_TAIL };

T *scratch_for(int use, long elements) {
    long bytes = elements * (long)sizeof(T);
    if (scratch.size[use] >= bytes) return (T *)scratch.memory[use];
    free(scratch.memory[use]);
    scratch.memory[use] = nullptr;
    scratch.size[use] = 0;
    bytes = round_up(bytes, bytes < (1 << 20) ? 1 << 12 : 1 << 21);
    long align = bytes < (1 << 20) ? 64 : 1 << 21;
    if (posix_memalign(&scratch.memory[use], align, bytes) != 0) abort();
#ifdef __linux__
    if (align > 64) madvise(scratch.memory[use], bytes, MADV_HUGEPAGE);
#endif
    scratch.size[use] = bytes;
    return (T *)scratch.memory[use];
}

// --- the register tile ---------------------------------------------------------------------------

// C[R, width] (+)= A[R, k] @ B[k, V vectors]; `width` may end within the last vector.
template <int R, int V>
void tile(long k, const T *a, long rsa, long csa, const T *b, long ldb, T *c, long ldc, long width,
          bool add) {
    vec acc[R][V] = {};
    for (long p = 0; p < k; p++) {
        vec row[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) row[v] = load(b + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            T x = a[r * rsa];
#pragma GCC unroll 8
            for (int v = 0; v < V; v++) acc[r][v] += x * row[v];
        }
        a += csa;
        b += ldb;
    }
    if (width == V * LANES) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 8
            for (int v = 0; v < V; v++) {
                T *place = c + r * ldc + v * LANES;
                store(place, add ? load(place) + acc[r][v] : acc[r][v]);
            }
        return;
    }
    T line[V * LANES];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) store(line + v * LANES, acc[r][v]);
        for (long j = 0; j < width; j++) c[r * ldc + j] = add ? c[r * ldc + j] + line[j] : line[j];
    }
}

struct Panel {  // one panel of B at one block of k, and how its products reach C
    const T *b;
    long ldb, width, k;
    bool add;
};

struct Rows {  // rows of A in groups of ROWS, in place or packed
    const T *a;
    long group, rsa, csa;
};

template <int R, int V> void some(const Panel &q, const Rows &a, long i, T *c, long ldc) {
    const T *from = a.a + i / ROWS * a.group + i % ROWS * a.rsa;
    tile<R, V>(q.k, from, a.rsa, a.csa, q.b, q.ldb, c + i * ldc, ldc, q.width, q.add);
}

// All rows of a block times one panel: full tiles, then halves, so that no row is computed twice.
template <int V> void column(const Panel &q, const Rows &a, T *c, long ldc, long m) {
    long i = 0;
    for (; i + ROWS <= m; i += ROWS) some<ROWS, V>(q, a, i, c, ldc);
    if (ROWS > 4 && i + 4 <= m) {
        some<4, V>(q, a, i, c, ldc);
        i += 4;
    }
    if (i + 2 <= m) {
        some<2, V>(q, a, i, c, ldc);
        i += 2;
    }
    if (i < m) some<1, V>(q, a, i, c, ldc);
}

// --- packing -------------------------------------------------------------------------------------

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

// Turns up to LANES rows of LANES elements: out[i][j] = in[j][i]. Beyond `rows` stands the last row.
void turn(const T *in, long in_stride, long rows, T *out, long out_stride) {
    vec v[LANES];
    if (rows >= LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) v[i] = load(in + i * in_stride);
    } else {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) v[i] = load(in + least(i, rows - 1) * in_stride);
    }
    exchange_all<LANES / 2>(v);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) store(out + i * out_stride, v[i]);
}

// Packs B[k, width] into k rows of COLS. What stands behind the width is never looked at.
template <int V> void pack_adjacent(const T *b, long rsb, long k, long width, T *out) {
    long whole = width % LANES ? k - 1 : k;  // the last row must not be read past its end
    if (rsb < V * LANES) whole = width % LANES ? least(whole, most(0, k - parts(V * LANES, most(rsb, 1)))) : k;
    for (long p = 0; p < whole; p++)
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) store(out + p * COLS + v * LANES, load(b + p * rsb + v * LANES));
    for (long p = whole; p < k; p++)
        for (long j = 0; j < width; j++) out[p * COLS + j] = b[p * rsb + j];
}

void pack_panel(const T *b, long rsb, long csb, long k, long width, T *out) {
    if (csb == 1) {
        if (width > 2 * LANES) pack_adjacent<3>(b, rsb, k, width, out);
        else if (width > LANES) pack_adjacent<2>(b, rsb, k, width, out);
        else pack_adjacent<1>(b, rsb, k, width, out);
        return;
    }
    long turned = rsb == 1 ? k / LANES * LANES : 0;
    for (long p = 0; p < turned; p += LANES)
        for (long j = 0; j < width; j += LANES)
            turn(b + j * csb + p, csb, width - j, out + p * COLS + j, COLS);
    for (long p = turned; p < k; p++)
        for (long j = 0; j < width; j++) out[p * COLS + j] = b[p * rsb + j * csb];
}

// Packs A[m, k] into groups of ROWS rows, each as k columns of ROWS; the last group may be smaller.
void pack_rows(const T *a, long rsa, long csa, long m, long k, T *out) {
    long whole = m / ROWS * ROWS;
    for (long p = 0; p < k; p++) {
        const T *from = a + p * csa;
        T *to = out + p * ROWS;
        if (rsa == 1)
            for (long i = 0; i < whole; i += ROWS, to += ROWS * k)
                memcpy(to, from + i, ROWS * sizeof(T));
        else
            for (long i = 0; i < whole; i += ROWS, to += ROWS * k)
                for (long r = 0; r < ROWS; r++) to[r] = from[(i + r) * rsa];
        for (long i = whole; i < m; i++) to[i - whole] = from[i * rsa];
    }
}

// --- a block of C --------------------------------------------------------------------------------

struct Product {  // one matrix product, and the part of it at work
    const td_gemm_args *g;
    const T *a, *b;
    T *c;
    const T *packed;  // B in panels from row k0 and column j0 on, or null: in place
    long k0, ks, j0;
    long block_k;
};

// Fixed by k alone: it is the order of summation.
long block_of_k(long k) { return k <= BLOCK_K ? k : round_up(parts(k, parts(k, BLOCK_K)), 4); }

Panel panel_at(const Product &q, long k, long kc, long j, long end) {
    const td_gemm_args &g = *q.g;
    Panel panel = {nullptr, COLS, least(COLS, end - j), kc, g.beta || k > 0};
    const T *b = q.b + k * g.rsb + j * g.csb;
    if (q.packed) {
        panel.b = q.packed + (j - q.j0) * q.ks + (k - q.k0) * COLS;
    } else if (g.csb == 1 && panel.width % LANES == 0) {
        panel.b = b;
        panel.ldb = g.rsb;
    } else {
        T *tail = scratch_for(FOR_TAIL, BLOCK_K * COLS);
        pack_panel(b, g.rsb, g.csb, kc, panel.width, tail);
        panel.b = tail;
    }
    return panel;
}

Rows rows_at(const Product &q, long i, long m, long k, long kc) {
    const td_gemm_args &g = *q.g;
    const T *a = q.a + i * g.rsa + k * g.csa;
    bool near = g.csa == 1 || kc * g.csa * (long)sizeof(T) <= NEAR;
    if (near) return Rows{a, ROWS * g.rsa, g.rsa, g.csa};
    T *own = scratch_for(FOR_A, round_up(m, ROWS) * kc);
    pack_rows(a, g.rsa, g.csa, m, kc, own);
    return Rows{own, ROWS * kc, 1, ROWS};
}

// C[i0:i1, j0:j1] (+)= A @ B over q's part of k.
void block(const Product &q, long i0, long i1, long j0, long j1) {
    for (long k = q.k0; k < q.k0 + q.ks; k += q.block_k) {
        long kc = least(q.block_k, q.k0 + q.ks - k);
        Rows rows = rows_at(q, i0, i1 - i0, k, kc);
        for (long j = j0; j < j1; j += COLS) {
            Panel panel = panel_at(q, k, kc, j, j1);
            T *c = q.c + i0 * q.g->ldc + j;
            if (panel.width > 2 * LANES) column<3>(panel, rows, c, q.g->ldc, i1 - i0);
            else if (panel.width > LANES) column<2>(panel, rows, c, q.g->ldc, i1 - i0);
            else column<1>(panel, rows, c, q.g->ldc, i1 - i0);
        }
    }
}

// --- few rows or few columns: products of rows with columns, each running along k -----------------

const long FEW = 4;

// The sum over the lanes of each of N vectors: turned LANES at a time, so that lanes add up as rows.
template <int N> inline void sums(const vec *acc, T *total) {
#pragma GCC unroll 16
    for (int base = 0; base < N; base += LANES) {
        vec v[LANES], sum = {};
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) v[i] = base + i < N ? acc[base + i] : vec{};
        exchange_all<LANES / 2>(v);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) sum += v[i];
        store(total + base, sum);
    }
}

// Up to R rows times up to C columns; beyond `rows` and `columns` stands the last one, for nothing.
template <int R, int C> void dots(const Product &q, long i0, long rows, long j0, long columns) {
    const td_gemm_args &g = *q.g;
    const T *a[R], *b[C];
    for (int i = 0; i < R; i++) a[i] = q.a + (i0 + least(i, rows - 1)) * g.rsa;
    for (int j = 0; j < C; j++) b[j] = q.b + (j0 + least(j, columns - 1)) * g.csb;
    vec acc[R * C] = {};
    long whole = g.k / LANES * LANES;
    for (long p = 0; p < whole; p += LANES) {
        vec column[C];
#pragma GCC unroll 8
        for (int j = 0; j < C; j++) column[j] = load(b[j] + p);
#pragma GCC unroll 8
        for (int i = 0; i < R; i++) {
            vec row = load(a[i] + p);
#pragma GCC unroll 8
            for (int j = 0; j < C; j++) acc[i * C + j] += row * column[j];
        }
    }
    T total[R * C + LANES];
    sums<R * C>(acc, total);
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < columns; j++) {
            T *c = q.c + (i0 + i) * g.ldc + j0 + j, x = total[i * C + j];
            for (long p = whole; p < g.k; p++) x += a[i][p] * b[j][p];
            *c = g.beta ? *c + x : x;
        }
}

template <int R, int C> void dots_over(const Product &q, long i0, long i1, long j0, long j1) {
    for (long j = j0; j < j1; j += C)
        for (long i = i0; i < i1; i += R) dots<R, C>(q, i, least(R, i1 - i), j, least(C, j1 - j));
}

void dot_block(const Product &q, long i0, long i1, long j0, long j1) {
    if (i1 - i0 == 1) dots_over<1, 4>(q, i0, i1, j0, j1);
    else if (i1 - i0 == 2) dots_over<2, 4>(q, i0, i1, j0, j1);
    else if (ROWS == 8 && q.g->m > FEW) dots_over<ROWS, 3>(q, i0, i1, j0, j1);
    else dots_over<4, 4>(q, i0, i1, j0, j1);
}

// --- one or two rows times B in place: rows of B are read from end to end -------------------------

template <int R, int K>
inline void axpys(const T *a, long rsa, long csa, const T *b, long rsb, T *c, long ldc, long n) {
    T x[R][K];
    for (int i = 0; i < R; i++)
        for (int p = 0; p < K; p++) x[i][p] = a[i * rsa + p * csa];
#pragma omp simd
    for (long j = 0; j < n; j++)
#pragma GCC unroll 2
        for (int i = 0; i < R; i++) {
            T y = c[i * ldc + j];
#pragma GCC unroll 8
            for (int p = 0; p < K; p++) y += x[i][p] * b[p * rsb + j];
            c[i * ldc + j] = y;
        }
}

template <int R> void axpy_rows(const Product &q, long i, long j, long n) {
    const td_gemm_args &g = *q.g;
    const T *a = q.a + i * g.rsa, *b = q.b + j;
    T *c = q.c + i * g.ldc + j;
    if (!g.beta)
        for (int r = 0; r < R; r++) memset(c + r * g.ldc, 0, n * sizeof(T));
    long p = 0;
    for (; p + 8 <= g.k; p += 8)
        axpys<R, 8>(a + p * g.csa, g.rsa, g.csa, b + p * g.rsb, g.rsb, c, g.ldc, n);
    for (; p < g.k; p++)
        axpys<R, 1>(a + p * g.csa, g.rsa, g.csa, b + p * g.rsb, g.rsb, c, g.ldc, n);
}

void axpy_block(const Product &q, long i0, long i1, long j0, long j1) {
    if (i1 - i0 == 2) axpy_rows<2>(q, i0, j0, j1 - j0);
    else axpy_rows<1>(q, i0, j0, j1 - j0);
}

// Copies a small matrix so that it runs along k: out[i * k + p].
T *along_k(const T *x, long stride, long step, long count, long k, int use) {
    T *out = scratch_for(use, count * k);
    for (long i = 0; i < count; i++)
        for (long p = 0; p < k; p++) out[i * k + p] = x[i * stride + p * step];
    return out;
}

// --- the whole ------------------------------------------------------------------------------------

enum Way { IN_PLACE, PACKED, DOTS, AXPYS };

struct Work {  // a batch of products, cut into a grid of blocks
    td_gemm_args g;
    const T *a, *b;
    T *c;
    Way way;
    long mb, nb, down, across;  // a block's size, blocks by rows and by columns
    Product shared;             // of a single matrix whose B is packed for all threads
};

Product product_at(const Work &w, long matrix) {
    long i = matrix / w.g.nb1, j = matrix % w.g.nb1;
    return Product{&w.g, w.a + i * w.g.sa0 + j * w.g.sa1, w.b + i * w.g.sb0 + j * w.g.sb1,
                   w.c + i * w.g.sc0 + j * w.g.sc1, nullptr, 0, w.g.k, 0, block_of_k(w.g.k)};
}

typedef void (*Block)(const Product &, long, long, long, long);

void run_block(Block fn, const Work &w, const Product &q, long place) {
    long i = place / w.across * w.mb, j = place % w.across * w.nb;
    fn(q, i, least(w.g.m, i + w.mb), j, least(w.g.n, j + w.nb));
}

void in_place_chunk(void *const *p, const long *, long begin, long end, long *) {
    const Work &w = *(const Work *)p[0];
    Block fn = w.way == AXPYS ? axpy_block : block;
    long blocks = w.down * w.across;
    for (long x = begin; x < end; x++) run_block(fn, w, product_at(w, x / blocks), x % blocks);
}

void dot_chunk(void *const *p, const long *, long begin, long end, long *) {
    Work w = *(const Work *)p[0];
    const td_gemm_args whole = w.g;
    long blocks = w.down * w.across;
    for (long x = begin; x < end; x++) {
        Product q = product_at(w, x / blocks);
        if (whole.csa != 1) {
            q.a = along_k(q.a, whole.rsa, whole.csa, whole.m, whole.k, FOR_A);
            w.g.rsa = whole.k;
        }
        if (whole.rsb != 1) {
            q.b = along_k(q.b, whole.csb, whole.rsb, whole.n, whole.k, FOR_B);
            w.g.csb = whole.k;
        }
        run_block(dot_block, w, q, x % blocks);
        w.g = whole;
    }
}

void pack_chunk(void *const *p, const long *, long begin, long end, long *) {
    const Work &w = *(const Work *)p[0];
    const Product &q = w.shared;
    for (long x = begin; x < end; x++) {
        long j = q.j0 + x * COLS;
        pack_panel(q.b + q.k0 * w.g.rsb + j * w.g.csb, w.g.rsb, w.g.csb, q.ks,
                   least(COLS, w.g.n - j), (T *)q.packed + x * COLS * q.ks);
    }
}

void shared_chunk(void *const *p, const long *, long begin, long end, long *) {
    const Work &w = *(const Work *)p[0];
    for (long x = begin; x < end; x++) {
        long i = x / w.across * w.mb, j = w.shared.j0 + x % w.across * w.nb;
        long j1 = least(w.g.n, w.shared.j0 + w.across * w.nb);
        block(w.shared, i, least(w.g.m, i + w.mb), j, least(j1, j + w.nb));
    }
}

// Whole matrices, each packed and multiplied by one thread.
void matrix_chunk(void *const *p, const long *, long begin, long end, long *) {
    const Work &w = *(const Work *)p[0];
    for (long x = begin; x < end; x++) {
        Product q = product_at(w, x);
        T *packed = scratch_for(FOR_B, round_up(w.g.n, COLS) * w.g.k);
        for (long j = 0; j < w.g.n; j += COLS)
            pack_panel(q.b + j * w.g.csb, w.g.rsb, w.g.csb, w.g.k, least(COLS, w.g.n - j),
                       packed + j * w.g.k);
        q.packed = packed;
        for (long i = 0; i < w.g.m; i += BLOCK_M)
            block(q, i, least(w.g.m, i + BLOCK_M), 0, w.g.n);
    }
}

void share(td_kernel fn, Work &w, long extent, double each) {
    void *p[1] = {&w};
    long err[TD_ERR];
    if (each * extent < SMALL) return fn(p, nullptr, 0, extent, err);
    long grain = most(1, (long)(SMALL / 2 / each));
    parallel_for(fn, p, nullptr, extent, grain, err);
}

// Cuts m x n into near equal blocks, small enough that threads do not wait long for the last.
void cut(Work &w, long n, long matrices) {
    long wanted = 4 * threads(), few = w.way == AXPYS ? 8 * COLS : 2 * COLS;
    long most_n = w.way == AXPYS ? 4 * BLOCK_N : BLOCK_N;
    w.mb = round_up(parts(w.g.m, parts(w.g.m, BLOCK_M)), ROWS);
    w.nb = round_up(parts(n, parts(n, most_n)), COLS);
    for (;;) {
        w.down = parts(w.g.m, w.mb);
        w.across = parts(n, w.nb);
        double each = (double)w.mb * w.nb * w.g.k;
        if (w.down * w.across * matrices >= wanted || each < SMALL) return;
        if (w.nb > few && w.nb >= w.mb) w.nb = round_up(w.nb / 2, COLS);
        else if (w.mb > ROWS) w.mb = round_up(w.mb / 2, ROWS);
        else return;
    }
}

void run_shared(Work &w, long matrix) {
    Product whole = product_at(w, matrix);
    long super = whole.block_k * most(1, SUPER_K / whole.block_k);
    for (long k = 0; k < w.g.k; k += super)
        for (long j = 0, n; j < w.g.n; j += n) {
            long ks = least(super, w.g.k - k);
            n = least(w.g.n - j, most(BLOCK_N, SHARED / ks / COLS * COLS));
            w.shared = whole;
            w.shared.k0 = k;
            w.shared.ks = ks;
            w.shared.j0 = j;
            w.shared.packed = scratch_for(FOR_B, round_up(n, COLS) * ks);
            share(pack_chunk, w, parts(n, COLS), 4.0 * COLS * ks);
            cut(w, n, 1);
            share(shared_chunk, w, w.down * w.across, (double)w.mb * w.nb * ks);
        }
}

void clear(const Work &w, long matrices) {
    for (long x = 0; x < matrices; x++) {
        Product q = product_at(w, x);
        for (long i = 0; i < w.g.m; i++) memset(q.c + i * w.g.ldc, 0, w.g.n * sizeof(T));
    }
}

// A column of results that lie side by side is a row of the turned product.
void turn_column(Work &w) {
    td_gemm_args &g = w.g;
    if (g.n != 1 || g.m == 1 || g.ldc != 1) return;
    td_gemm_args t = g;
    t.m = 1, t.n = g.m, t.ldc = g.m;
    t.rsa = g.csb, t.csa = g.rsb, t.rsb = g.csa, t.csb = g.rsa;
    t.sa0 = g.sb0, t.sa1 = g.sb1, t.sb0 = g.sa0, t.sb1 = g.sa1;
    const T *a = w.a;
    w.a = w.b;
    w.b = a;
    g = t;
}

// Between tiles and dots by shape and strides alone: they sum in another order. Where B is packed
// makes no difference to the result: in place only if its vectors are aligned, or used once or twice.
Way choose(const Work &w) {
    const td_gemm_args &g = w.g;
    bool few_rows = g.rsb == 1 && g.m <= (g.csa == 1 ? 4 * ROWS : FEW);
    bool few_columns = g.csa == 1 && g.n <= FEW;
    if (g.k >= LANES && (few_rows || few_columns)) return DOTS;
    if (g.csb != 1) return PACKED;
    if (g.m <= 2) return AXPYS;
    if (g.m <= 2 * ROWS) return IN_PLACE;
    bool aligned = (unsigned long)w.b % BYTES == 0 && g.rsb % LANES == 0;
    bool near = g.k * g.rsb * (long)sizeof(T) <= 2 * NEAR;
    return aligned && (near || g.m <= 4 * ROWS) ? IN_PLACE : PACKED;
}

}  // namespace

extern "C" {

void td_gemm_init(ParallelFor run, Threads count) {
    parallel_for = run;
    threads = count;
}

void td_gemm_run(const td_gemm_args *args, const void *a, const void *b, void *c) {
    Work w = {*args, (const T *)a, (const T *)b, (T *)c, IN_PLACE, 0, 0, 0, 0, {}};
    long matrices = w.g.nb0 * w.g.nb1;
    if (w.g.m <= 0 || w.g.n <= 0 || matrices <= 0) return;
    if (w.g.k <= 0) {
        if (!w.g.beta) clear(w, matrices);
        return;
    }
    turn_column(w);
    w.way = choose(w);
    double each = (double)w.g.m * w.g.n * w.g.k;
    if (w.way == PACKED) {
        bool whole = matrices >= 2 * threads() && w.g.k * w.g.n <= SHARED / 4;
        if (whole) return share(matrix_chunk, w, matrices, each);
        for (long x = 0; x < matrices; x++) run_shared(w, x);
        return;
    }
    cut(w, w.g.n, matrices);
    long blocks = w.down * w.across;
    share(w.way == DOTS ? dot_chunk : in_place_chunk, w, blocks * matrices, each / blocks);
}
}
