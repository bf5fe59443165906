"""Rows of the random family."""
