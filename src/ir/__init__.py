"""The language: types, one row per primitive, the graph and the passes over it; imports no other floor."""
