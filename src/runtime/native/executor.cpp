// The plan executor: runs an array of steps with no Python in between.
#include <string.h>
#include <time.h>

enum { TD_KERNEL, TD_GEMM, TD_SGEMM, TD_DGEMM, TD_HOST, TD_COPY, TD_FILL };  // kinds of a step
enum { TD_DONE, TD_AT_HOST, TD_FAILED, TD_PAUSED };                         // low byte of a result

struct td_ref {
    long slot, offset;  // table[slot] + offset bytes
};

struct td_step {
    long kind;
    void *fn;
    long extent, grain;
    long np, nn;
    const td_ref *refs;
    const long *n;
};

struct td_plan {
    long count, slots;
    td_step *steps;
};

namespace {

typedef void (*Sgemm)(int, int, int, long, long, long, float, const float *, long, const float *,
                      long, float, float *, long);
typedef void (*Dgemm)(int, int, int, long, long, long, double, const double *, long, const double *,
                      long, double, double *, long);

const int ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112;
const long COPY_GRAIN = 1 << 20, PAUSE_NS = 50 * 1000 * 1000;

// One call of a CBLAS matrix product for each matrix of the batch. One of A's two strides is 1, and
// one of B's: plan.py sees to it.
template <typename T, typename Fn>
void call_blas(Fn fn, const td_gemm_args &g, const T *a, const T *b, T *c) {
    int ta = g.csa == 1 ? AS_IS : TRANSPOSED, tb = g.csb == 1 ? AS_IS : TRANSPOSED;
    long lda = g.csa == 1 ? g.rsa : g.csa, ldb = g.csb == 1 ? g.rsb : g.csb;
    for (long i = 0; i < g.nb0; i++)
        for (long j = 0; j < g.nb1; j++)
            fn(ROW_MAJOR, ta, tb, g.m, g.n, g.k, T(1), a + i * g.sa0 + j * g.sa1, lda,
               b + i * g.sb0 + j * g.sb1, ldb, T(g.beta), c + i * g.sc0 + j * g.sc1, g.ldc);
}

void copy_part(void *const *p, const long *, long begin, long end, long *) {
    memmove((char *)p[0] + begin, (const char *)p[1] + begin, end - begin);
}

void zero_part(void *const *p, const long *, long begin, long end, long *) {
    memset((char *)p[0] + begin, 0, end - begin);
}

void run_step(const td_step &s, void *const *p, long *err) {
    const td_gemm_args *g = (const td_gemm_args *)s.n;
    switch (s.kind) {
    case TD_KERNEL:
        if (s.extent <= s.grain) ((td_kernel)s.fn)(p, s.n, 0, s.extent, err);
        else td_parallel_for((td_kernel)s.fn, p, s.n, s.extent, s.grain, err);
        return;
    case TD_GEMM: ((td_gemm)s.fn)(g, p[0], p[1], p[2]); return;
    case TD_SGEMM:
        call_blas((Sgemm)s.fn, *g, (const float *)p[0], (const float *)p[1], (float *)p[2]);
        return;
    case TD_DGEMM:
        call_blas((Dgemm)s.fn, *g, (const double *)p[0], (const double *)p[1], (double *)p[2]);
        return;
    case TD_COPY: td_parallel_for(copy_part, p, s.n, s.n[0], COPY_GRAIN, err); return;
    case TD_FILL: td_parallel_for(zero_part, p, s.n, s.n[0], COPY_GRAIN, err); return;
    }
}

long coarse_ns() {
    timespec now;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return now.tv_sec * 1000000000l + now.tv_nsec;
}

}  // namespace

// Runs steps from `start` on. The result is 0 at the end of the plan, else index * 256 + status:
// at a HOST step (its index: the caller does it and comes back at the next), at a failed check (its
// index; err holds code, value, index), or at a pause (the next index: the caller looks for signals
// and comes back).
extern "C" long td_run(const td_plan *plan, void *const *table, long start, long *err) {
    long begun = coarse_ns();
    err[0] = err[1] = err[2] = 0;
    for (long i = start; i < plan->count; i++) {
        const td_step &s = plan->steps[i];
        if (s.kind == TD_HOST) return i * 256 + TD_AT_HOST;
        void *p[s.np + 1];
        for (long j = 0; j < s.np; j++) p[j] = (char *)table[s.refs[j].slot] + s.refs[j].offset;
        run_step(s, p, err);
        if (err[0]) {
            err[2] = i;
            return i * 256 + TD_FAILED;
        }
        if (i + 1 < plan->count && coarse_ns() - begun > PAUSE_NS)
            return (i + 1) * 256 + TD_PAUSED;
    }
    return TD_DONE;
}
