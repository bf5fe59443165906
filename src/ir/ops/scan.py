"""Rows of the scan family."""
