// The parts that every matrix product is made of: the register tile, and how operands are packed.
namespace {

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

// Turns up to LANES rows of LANES elements: out[i][j] = in[j][i]. The last row stands for missing
// ones.
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
    long beyond = V * LANES - width;  // whole vectors may be read only while they end within B
    long whole = beyond == 0 ? k : rsb <= 0 ? 0 : most(0, k - parts(beyond, rsb));
    for (long p = 0; p < whole; p++) {
        const T *row = b + p * rsb;
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) store(out + p * COLS + v * LANES, load(row + v * LANES));
    }
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

// Packs G groups of ROWS adjacent rows: whole cache lines are read, AHEAD columns early because
// their distance defeats the processor's own foresight; G streams are written.
template <int G> void pack_groups(const T *a, long csa, long k, T *out) {
    for (long p = 0; p < k; p++, a += csa) {
#pragma GCC unroll 8
        for (int g = 0; g < G; g += 2) __builtin_prefetch(a + AHEAD * csa + g * ROWS);
#pragma GCC unroll 8
        for (int g = 0; g < G; g++) memcpy(out + (g * k + p) * ROWS, a + g * ROWS, ROWS * sizeof(T));
    }
}

// Packs A[m, k] into groups of ROWS rows, each as k columns of ROWS; the last group may be smaller.
void pack_rows(const T *a, long rsa, long csa, long m, long k, T *out) {
    long i = 0;
    if (rsa == 1) {
        for (; i + STRIP <= m; i += STRIP) pack_groups<STRIP / ROWS>(a + i, csa, k, out + i * k);
        for (; i + ROWS <= m; i += ROWS) pack_groups<1>(a + i, csa, k, out + i * k);
    }
    for (; i < m; i += ROWS)
        for (long p = 0, rows = least(ROWS, m - i); p < k; p++)
            for (long r = 0; r < rows; r++)
                out[i * k + p * ROWS + r] = a[(i + r) * rsa + p * csa];
}

}  // namespace
