"""A hand-made Explanation of a small training step: every kind of unit, two graphs, a lazy signature."""

from treadle.frontend.engine import Report
from treadle.frontend.explain import Explanation, Signature
from treadle.ir import dtype as dt
from treadle.ir.graph import Builder, Graph, Line
from treadle.ir.ops import add, mul, sqrt
from treadle.ir.program import CopyStep, DotStep, Fusion, HostStep, Kernel, KernelStep, Program, Ref
from treadle.ir.type import tensor_type

SOURCE = '''import treadle as torch


@torch.compile
def step(x, w):
    """Trains < once > & returns "loss"."""
    h = x * w + 1
    h = (h * h).sqrt()
    return h + x
'''

KERNEL = '''// step.py:7 in step: h = x * w + 1
extern "C" void {0}(void *const *p, const long *n, long begin, long end, long *err) {{
  const float *__restrict x = (const float *)p[0];
  float *__restrict y = (float *)p[1];
  #pragma omp simd
  for (long i = begin; i < end; ++i) {{
    float h = x[i] * 1.5e-3f + 1.0f;  // <fma> only where a verb says so & nowhere else
    y[i] = td_sqrt(h * h);
  }}
}}
'''


def sample(folder):
    """Returns the Explanation; its source file is written to `folder`."""
    path = folder / "step.py"
    path.write_text(SOURCE)
    built, plain = _graph(str(path), "step"), _graph(str(path), "stretch_1")
    reports = (Report(built, _program(), {"passes": 0.0012, "codegen": 0.0203, "build": 0.31}, 2, 0),
               Report(plain, fallback="no C++ compiler was found: <none>"))
    counts = {"graphs": 1, "lazy": 1, "recordings": 3, "replays": 41, "kernels": 2, "built": 2, "reused": 0,
              "fallbacks": 1}
    signatures = (Signature(0, 1, (), ((41, ("len(model.layers) == 2", "x < y & z")),)),
                  Signature(1, 2, ("calls time.time() (step.py:8)",), ()))
    return Explanation("step", ("step: 1 signature(s) as one graph, 1 lazy",), reports, counts, signatures,
                       ("compiled", "not compiled: the call changed <model.training>"))


def _graph(file: str, name: str) -> Graph:
    at = [Line(file, n, "step") for n in (7, 8, 9)]
    builder = Builder()
    kind = tensor_type((64, 32), dt.float32)
    x = builder.placeholder(kind, "x", at[0])
    w = builder.placeholder(kind, "w", at[0])
    m = builder.emit(mul, (x, w), {}, kind, at[0])
    h = builder.emit(add, (m, 1), {}, kind, at[0])
    hh = builder.emit(mul, (h, h), {}, kind, at[1])
    root = builder.emit(sqrt, (hh,), {}, kind, at[1])
    out = builder.emit(add, (root, x), {}, kind, at[2])
    last = builder.emit(add, (out, out), {}, kind, None)
    return Graph(builder.nodes, [last], name)


def _program() -> Program:
    kernels = (Kernel("k_fused_a", KERNEL.format("k_fused_a"), frozenset()),
               Kernel("k_fused_b", KERNEL.format("k_fused_b"), frozenset()))
    kind = tensor_type((64, 32), dt.float32)
    r = Ref(0)
    steps = (
        KernelStep(0, (r, r), (2048,), 2048, 512, ("mul", "add")),
        DotStep("float32", (1, 1), 64, 32, 16, r, (0, 0, 16, 1), r, (0, 0, 32, 1), r, (0, 0, 32, 1), "mul_1"),
        HostStep("sqrt", (), (r,), (kind,), (r,), (kind,), "sqrt", "step.py:8"),
        KernelStep(1, (r, r), (2048,), 2048, 512, ("add_1",)),
        KernelStep(1, (r, r), (2048,), 2048, 512, ("add_2",)),
        CopyStep(r, r, 8192, ""),
    )
    fusions = (Fusion(("mul", "add"), 0, 16384, 8192, "mul_1 is a product"),
               Fusion(("add_1",), 3, 16384, 8192, "add_2 reads it < twice"),
               Fusion(("add_2",), 4, 8192, 8192))
    return Program(kernels, steps, (), 2, (2,), (kind,), 8192, fusions=fusions)
