"""Graph to program: fusion, lowering, scheduling and printing; pure functions that start no compiler."""

from .generate import generate as generate
