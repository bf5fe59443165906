// A CUDA driver that records its calls: device memory is host memory, kernels are not run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

typedef unsigned long long u64;
static std::string told;
static int failing = 0, parameters_told = 0;

static int tell(const char *format, u64 a = 0, u64 b = 0, u64 c = 0, u64 d = 0, u64 e = 0, u64 f = 0) {
  char line[256];
  snprintf(line, sizeof line, format, a, b, c, d, e, f);
  told += line;
  told += "\n";
  return failing;
}

static u64 number(const void *p) { return (u64)p; }

extern "C" {
const char *told_so_far() { return told.c_str(); }
void forget() { told.clear(); }
void fail_with(int code) { failing = code; }
void tell_parameters(int count) { parameters_told = count; }
int cuInit(unsigned) { return failing; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int n) { return *d = n, 0; }
int cuDeviceGetName(char *name, int size, int) { return snprintf(name, (size_t)size, "A test"), 0; }
int cuDeviceGetAttribute(int *value, int which, int) {
  *value = which == 75 ? 9 : which == 76 ? 0 : which == 97 ? 232448 : -1;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int) { return *c = (void *)0x100, 0; }
int cuDeviceGetDefaultMemPool(void **p, int) { return *p = (void *)0x200, 0; }
int cuMemPoolSetAttribute(void *, int which, u64 *value) { return tell("pool %llu %llx", (u64)which, *value); }
int cuCtxSetCurrent(void *c) { return tell("context %llx", number(c)); }
int cuGetErrorName(int, const char **s) { return *s = "CUDA_ERROR_TEST", 0; }
int cuGetErrorString(int, const char **s) { return *s = "as asked for", 0; }
int cuMemAllocAsync(u64 *p, size_t n, void *) { return *p = number(aligned_alloc(256, (n + 255) / 256 * 256)), failing; }
int cuMemFreeAsync(u64 p, void *) { return free((void *)p), tell("free"); }
int cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = 1000, *total = 2000, 0; }
int cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t n, void *) { return memcpy((void *)to, from, n), failing; }
int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t n, void *) { return memcpy(to, (void *)from, n), failing; }
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t n, void *) { return memcpy((void *)to, (void *)from, n), failing; }
int cuMemsetD8Async(u64 to, unsigned char value, size_t n, void *) { return memset((void *)to, value, n), failing; }
int cuStreamCreate(void **s, unsigned flags) { return *s = (void *)0x300, tell("stream %llu", flags); }
int cuStreamDestroy_v2(void *s) { return tell("no stream %llx", number(s)); }
int cuStreamSynchronize(void *) { return failing; }
int cuStreamWaitEvent(void *s, void *e, unsigned) { return tell("wait %llx %llx", number(s), number(e)); }
int cuStreamBeginCapture_v2(void *s, int mode) { return tell("capture %llx %llu", number(s), (u64)mode); }
int cuStreamEndCapture(void *s, void **g) { return *g = (void *)0x400, tell("captured %llx", number(s)); }
int cuGraphInstantiateWithFlags(void **x, void *, u64) { return *x = (void *)0x500, 0; }
int cuGraphLaunch(void *x, void *s) { return tell("replay %llx %llx", number(x), number(s)); }
int cuGraphDestroy(void *g) { return tell("no graph %llx", number(g)); }
int cuGraphExecDestroy(void *x) { return tell("no replay %llx", number(x)); }
int cuEventCreate(void **e, unsigned) { return *e = (void *)0x600, 0; }
int cuEventRecord(void *e, void *s) { return tell("record %llx %llx", number(e), number(s)); }
int cuEventSynchronize(void *) { return 0; }
int cuEventElapsedTime(float *ms, void *, void *) { return *ms = 1.5f, 0; }
int cuModuleLoadData(void **m, const void *image) {
  *m = (void *)0x700;
  return tell(memcmp(image, "\177ELF", 4) ? "module of no machine code" : "module");
}
int cuModuleGetFunction(void **f, void *, const char *) { return *f = (void *)0x800, 0; }
int cuFuncSetAttribute(void *, int which, int value) { return tell("attribute %llu %llu", (u64)which, (u64)value); }
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz, unsigned shared,
                   void *stream, void **parameters, void **) {
  tell("launch %llx grid %llu %llu %llu", number(f), x, y, z);
  tell("  threads %llu %llu %llu shared %llu stream %llx", tx, ty, tz, shared, number(stream));
  for (int k = 0; k < parameters_told; k++) tell("  %llx", *(u64 *)parameters[k]);
  return failing;
}
}
