"""Programs whose kernels are Triton text, on an NVIDIA GPU or interpreted: the only place that imports triton."""
