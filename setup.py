"""Hands the engine binding to setuptools; everything else is in pyproject.toml.

One wheel serves every CPython from 3.11 on, because cffi compiles against the stable ABI. Builds of Python
without the GIL have no such ABI and get a wheel of their own.
"""

import sysconfig

from setuptools import setup

has_stable_abi = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    cffi_modules=["runtime/native/build.py:ffibuilder"],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if has_stable_abi else {},
)
