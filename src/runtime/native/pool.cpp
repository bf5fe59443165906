// The thread pool: one job at a time, its chunks taken from a counter by the caller and by helpers.
//
// Chunks are fixed by (extent, grain) alone: what is computed does not depend on who computes it.
// The caller never waits for a helper that has not begun: a helper that wakes late finds the job
// closed. A second caller (another Python thread, or a kernel that calls us) finds the pool busy
// and runs its chunks by itself, so nothing can deadlock.
#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace {

struct Job {
    td_kernel fn;
    void *const *p;
    const long *n;
    long extent, grain, chunks;
    long failed;  // lowest failing chunk so far, or `chunks`
    long err[TD_ERR];
};

// The ticket: bits 0-15 helpers inside the job, bit 16 the job may be entered, above: its number.
const unsigned long HELPER = 1, INSIDE = 0xffff, OPEN = 0x10000, NUMBER = 0x20000;

Job job;
alignas(64) unsigned long ticket;
alignas(64) long next_chunk;
alignas(64) long busy;
alignas(64) long sleepers;
long threads = 1;  // callers and helpers together
long started;      // helpers alive
long spins = 2000;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

template <typename T> T load(const T &x) { return __atomic_load_n(&x, __ATOMIC_SEQ_CST); }
template <typename T> void store(T &x, T value) { __atomic_store_n(&x, value, __ATOMIC_SEQ_CST); }

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

long least(long a, long b) { return a < b ? a : b; }

// Runs one chunk with an error record of its own: which error is told must not depend on timing.
bool run_chunk(td_kernel fn, void *const *p, const long *n, long extent, long grain, long chunk,
               long *err) {
    err[0] = err[1] = 0;
    fn(p, n, chunk * grain, least(extent, (chunk + 1) * grain), err);
    return err[0] == 0;
}

void note_failure(long chunk, const long *err) {
    pthread_mutex_lock(&mutex);
    if (chunk < job.failed) {
        job.failed = chunk;
        for (int i = 0; i < TD_ERR; i++) job.err[i] = err[i];
    }
    pthread_mutex_unlock(&mutex);
    store(next_chunk, job.chunks);  // lower chunks are all taken already: they will finish
}

void work() {
    long err[TD_ERR] = {};
    for (;;) {
        long chunk = __atomic_fetch_add(&next_chunk, 1, __ATOMIC_SEQ_CST);
        if (chunk >= job.chunks) return;
        if (!run_chunk(job.fn, job.p, job.n, job.extent, job.grain, chunk, err))
            note_failure(chunk, err);
    }
}

// Enters the job if it is open, was not entered by this helper before, and has room.
bool enter(unsigned long &seen) {
    unsigned long now = load(ticket);
    while ((now & OPEN) && now / NUMBER != seen) {
        if ((long)(now & INSIDE) >= load(threads) - 1) return false;
        if (__atomic_compare_exchange_n(&ticket, &now, now + HELPER, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
            seen = now / NUMBER;
            return true;
        }
    }
    return false;
}

bool is_open(unsigned long seen) {
    unsigned long now = load(ticket);
    return (now & OPEN) && now / NUMBER != seen && (long)(now & INSIDE) < load(threads) - 1;
}

void sleep_until_open(unsigned long seen) {
    pthread_mutex_lock(&mutex);
    __atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
    while (!is_open(seen)) pthread_cond_wait(&woken, &mutex);
    __atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&mutex);
}

void *helper(void *) {
    unsigned long seen = ~0ul;
    long idle = 0;
    for (;;) {
        if (enter(seen)) {
            work();
            __atomic_fetch_sub(&ticket, HELPER, __ATOMIC_SEQ_CST);
            idle = 0;
        } else if (++idle > load(spins)) {
            sleep_until_open(seen);
            idle = 0;
        } else {
            relax();
        }
    }
    return nullptr;
}

void forget_helpers() {  // in a forked child only the forking thread lives on
    started = busy = sleepers = next_chunk = 0;
    ticket = 0;
    mutex = PTHREAD_MUTEX_INITIALIZER;
    woken = PTHREAD_COND_INITIALIZER;
}

// Starts missing helpers. Signals stay with the threads that Python knows.
void start_helpers() {
    static bool watched = false;
    if (!watched) watched = pthread_atfork(nullptr, nullptr, forget_helpers) == 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < load(threads) - 1) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, helper, nullptr) != 0) break;
        pthread_detach(thread);
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void wake(long wanted) {
    if (load(sleepers) == 0) return;
    pthread_mutex_lock(&mutex);
    if (wanted >= sleepers) pthread_cond_broadcast(&woken);
    else
        while (wanted-- > 0) pthread_cond_signal(&woken);
    pthread_mutex_unlock(&mutex);
}

// Lets no helper in any more and waits for those inside: each is within its last chunk.
void close_job() {
    __atomic_fetch_and(&ticket, ~OPEN, __ATOMIC_SEQ_CST);
    for (long turn = 0; load(ticket) & INSIDE; turn++) {
        if (turn < 2000) relax();
        else sched_yield();  // the helper may be waiting for this very processor
    }
}

void run_alone(td_kernel fn, void *const *p, const long *n, long extent, long grain, long *err) {
    long own[TD_ERR] = {};
    long chunks = (extent + grain - 1) / grain;
    for (long chunk = 0; chunk < chunks; chunk++) {
        if (run_chunk(fn, p, n, extent, grain, chunk, own)) continue;
        for (int i = 0; i < TD_ERR; i++) err[i] = own[i];
        return;
    }
}

}  // namespace

extern "C" {

// Calls fn on [k * grain, (k + 1) * grain) for every k below extent / grain, each once. `err` gets
// the record of the lowest chunk that failed, and is left alone where none did.
void td_parallel_for(td_kernel fn, void *const *p, const long *n, long extent, long grain,
                     long *err) {
    if (extent <= 0) return;
    if (grain <= 0) grain = extent;
    long chunks = (extent + grain - 1) / grain;
    if (chunks == 1 || load(threads) <= 1 || __atomic_exchange_n(&busy, 1, __ATOMIC_SEQ_CST)) {
        run_alone(fn, p, n, extent, grain, err);
        return;
    }
    if (started < load(threads) - 1) start_helpers();
    job = Job{fn, p, n, extent, grain, chunks, chunks, {}};
    store(next_chunk, 0l);
    store(ticket, (load(ticket) / NUMBER + 1) * NUMBER | OPEN);
    wake(least(chunks, load(threads)) - 1);
    work();
    close_job();
    if (job.failed < chunks)
        for (int i = 0; i < TD_ERR; i++) err[i] = job.err[i];
    store(busy, 0l);
}

void td_set_threads(long count) { store(threads, count < 1 ? 1 : least(count, 4096)); }

long td_get_threads() { return load(threads); }

// How many turns a helper looks for work before it sleeps.
void td_set_spins(long count) { store(spins, count); }
}
