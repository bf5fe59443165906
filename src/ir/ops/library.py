"""Rows of the library family."""
