"""Measures engine and server beside llama.cpp, on the same model in the same run.

Needs `pip install moe-shim[bench]`. Not part of the installed distribution.
"""
