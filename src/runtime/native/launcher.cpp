// run(plan, table, start) as a builtin function of CPython, against our own declarations of its
// stable ABI: no Python.h is needed. The symbols are weak: where the process does not export them,
// td_make_launcher returns null and the caller goes through ctypes.

extern "C" {

struct PyObject;

struct td_method {
    const char *name;
    PyObject *(*call)(PyObject *, PyObject *const *, long);
    int flags;
    const char *doc;
};

#define TD_WEAK __attribute__((weak))
TD_WEAK PyObject *PyLong_FromLong(long);
TD_WEAK long PyLong_AsLong(PyObject *);
TD_WEAK void *PyEval_SaveThread();
TD_WEAK void PyEval_RestoreThread(void *);
TD_WEAK PyObject *PyErr_Occurred();
TD_WEAK void PyErr_SetString(PyObject *, const char *);
TD_WEAK PyObject *PyCFunction_NewEx(td_method *, PyObject *, PyObject *);
extern TD_WEAK PyObject *PyExc_TypeError;

static PyObject *td_launch(PyObject *, PyObject *const *args, long count) {
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "run expected 3 integers: plan, table, start");
        return nullptr;
    }
    const td_plan *plan = (const td_plan *)PyLong_AsLong(args[0]);
    void **table = (void **)PyLong_AsLong(args[1]);
    long start = PyLong_AsLong(args[2]);
    if (PyErr_Occurred()) return nullptr;
    void *state = PyEval_SaveThread();
    long result = td_run(plan, table, start, (long *)(table + plan->slots));
    PyEval_RestoreThread(state);
    return PyLong_FromLong(result);
}

PyObject *td_make_launcher() {
    static td_method method = {"run", td_launch, 0x0080 /* METH_FASTCALL */, nullptr};
    if (!PyLong_FromLong || !PyLong_AsLong || !PyEval_SaveThread || !PyEval_RestoreThread ||
        !PyErr_Occurred || !PyErr_SetString || !PyCFunction_NewEx || !&PyExc_TypeError)
        return nullptr;
    return PyCFunction_NewEx(&method, nullptr, nullptr);
}
}
