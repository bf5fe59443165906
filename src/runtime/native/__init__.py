"""C++ sources of the support library; `support.py` says which files make which library."""
