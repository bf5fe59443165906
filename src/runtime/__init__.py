"""The machine's side: compilers, disk cache, memory, threads, and running what codegen wrote.

In: C++ texts and lists of steps. Out: addresses of machine code and plans that run without Python.
"""
