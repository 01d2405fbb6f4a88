"""Types of the compiled module: cffi's two objects, whose attributes only the C compiler knows."""

from typing import Any

ffi: Any
lib: Any
