// What all parts of the support library share: records whose layout Python knows too (plan.py).
// Every integer field is a long, so that Python can write a record as a row of int64.

typedef void (*td_kernel)(void *const *p, const long *n, long begin, long end, long *err);

// C[M,N] = A[M,K] @ B[K,N] (+ C where beta is 1), for nb0 x nb1 matrices. Strides count elements;
// C's columns are adjacent.
struct td_gemm_args {
    long m, n, k;
    long rsa, csa, rsb, csb, ldc;
    long nb0, nb1;
    long sa0, sa1, sb0, sb1, sc0, sc1;
    long beta;
};

typedef void (*td_gemm)(const td_gemm_args *args, const void *a, const void *b, void *c);

enum { TD_ERR = 4 };  // longs in an error record: code, value, step, one spare
