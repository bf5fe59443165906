// Matrix products of one element type, TD_REAL, from the parts in vectors.cpp and tile.cpp.
//
// One register tile of up to ROWS x 3 vectors of C is held while k runs. B is packed into panels of
// 3 vectors' width once for all threads, or read in place where that is cheaper; A is read in place
// where its rows are contiguous, else packed block by block. Threads share a grid of blocks of C.
// The order of summation over k is fixed by the shape alone (blocks of block_k), so the result does
// not depend on threads or timing. Nothing is skipped for being zero: NaN and inf spread.

namespace {

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

// --- few rows or few columns: products of rows with columns, each running along k ----------------

const long FEW = 4;

// The sum over the lanes of each of N vectors: turned LANES at a time, lanes add up as rows.
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

// --- one or two rows times B in place: rows of B are read from end to end ------------------------

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

// --- the whole -----------------------------------------------------------------------------------

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

const long MANY = 6 * ROWS;  // rows; with fewer, panels of B are fetched too often for their work

// Cuts m x n into near equal blocks, small enough that threads do not wait long for the last. Where
// A must be packed, by rows first: each block across packs its rows of A anew.
void cut(Work &w, long n, long matrices) {
    long wanted = 4 * threads(), few = w.way == AXPYS ? 8 * COLS : 2 * COLS;
    bool packs = w.way == PACKED && w.g.csa != 1;
    long most_n = w.way == AXPYS || packs ? 4 * BLOCK_N : BLOCK_N;
    w.mb = round_up(parts(w.g.m, parts(w.g.m, BLOCK_M)), ROWS);
    w.nb = round_up(parts(n, parts(n, most_n)), COLS);
    for (;;) {
        w.down = parts(w.g.m, w.mb);
        w.across = parts(n, w.nb);
        double each = (double)w.mb * w.nb * w.g.k;
        if (w.down * w.across * matrices >= wanted || each < SMALL) return;
        bool by_rows = w.nb <= few || (packs ? w.mb > MANY : w.mb > w.nb);
        if (!by_rows) w.nb = round_up(w.nb / 2, COLS);
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
// makes no difference to the result: in place if its vectors are aligned, or used once or twice.
Way choose(const Work &w) {
    const td_gemm_args &g = w.g;
    bool costly = g.k >= 16 * LANES && g.k * g.n >= (1 << 17);  // to turn B for so few rows
    bool few_rows = g.rsb == 1 && g.m <= (g.csa == 1 && costly ? 4 * ROWS : FEW);
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
    pthread_key_create(&scratch_key, free_scratch);
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
