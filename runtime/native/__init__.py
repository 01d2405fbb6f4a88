"""The native engine: C over llama.cpp's C library, compiled by build.py. `runtime.engine` is its only user
in Python.
"""
