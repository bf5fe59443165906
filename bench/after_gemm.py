"""A product followed by six small loops against the sum of its parts: what waking threads costs.

    python bench/after_gemm.py
"""
import json
import time

import treadle as T


def median(f, n=200):
    for _ in range(10):
        f()
    times = []
    for _ in range(n):
        t = time.perf_counter()
        f()
        times.append(time.perf_counter() - t)
    return sorted(times)[n // 2] * 1e3


def main():
    T.manual_seed(0)
    a, b = T.randn(1024, 256), T.randn(256, 1024)
    rows = [T.randn(64, 1024) for _ in range(6)]

    def product(a, b):
        return a @ b

    def loops(*rows):
        return tuple(T.softmax(r * 0.5, -1) for r in rows)

    def both(a, b, *rows):
        return product(a, b), loops(*rows)

    with T.no_grad():
        f, g, h = T.compile(product), T.compile(loops), T.compile(both)
        parts = median(lambda: f(a, b)), median(lambda: g(*rows))
        whole = median(lambda: h(a, b, *rows))
    print(json.dumps(dict(product_ms=parts[0], loops_ms=parts[1], together_ms=whole,
                          ratio=whole / sum(parts))))


if __name__ == "__main__":
    main()
