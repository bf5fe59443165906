// Matrix product for one element type, TD_REAL.
namespace {
typedef TD_REAL T;
struct Call { const td_gemm_args *g; const T *a, *b; T *c; };

void rows(void *const *p, const long *, long begin, long end, long *) {
    const td_gemm_args &g = *(const td_gemm_args *)p[0];
    for (long r = begin; r < end; r++) {
        long batch = r / g.m, i = r % g.m, b0 = batch / g.nb1, b1 = batch % g.nb1;
        const T *a = (const T *)p[1] + b0 * g.sa0 + b1 * g.sa1 + i * g.rsa;
        const T *b = (const T *)p[2] + b0 * g.sb0 + b1 * g.sb1;
        T *c = (T *)p[3] + b0 * g.sc0 + b1 * g.sc1 + i * g.ldc;
        for (long j = 0; j < g.n; j++) {
            T sum = 0;
            for (long k = 0; k < g.k; k++) sum += a[k * g.csa] * b[k * g.rsb + j * g.csb];
            c[j] = g.beta ? c[j] + sum : sum;
        }
    }
}
typedef void (*ParallelFor)(td_kernel, void *const *, const long *, long, long, long *);
ParallelFor parallel_for;
}
extern "C" void td_gemm_init(ParallelFor f) { parallel_for = f; }
extern "C" void td_gemm_run(const td_gemm_args *args, const void *a, const void *b, void *c) {
    void *p[4] = {(void *)args, (void *)a, (void *)b, c};
    long err[TD_ERR];
    parallel_for(rows, p, nullptr, args->nb0 * args->nb1 * args->m, 8, err);
}
