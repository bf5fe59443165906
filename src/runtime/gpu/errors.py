"""Errors of the GPU back end."""

from __future__ import annotations


class GpuError(RuntimeError):
    """A GPU, its driver or triton is not there or does not do what is asked; the message has the remedy."""


class WildAccess(GpuError):
    """An interpreted kernel read or wrote outside the memory it was given, or two programs wrote one place."""
