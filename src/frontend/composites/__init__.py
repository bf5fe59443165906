"""Composites: functions that are one node in a graph, with NumPy forms for eager and gradients of their own."""
