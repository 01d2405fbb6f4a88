"""GGUF files: their header read with bounded memory, checked, and joined from parts; never the weights."""

from modelfiles.gguf.header import GGUF, ArrayInfo, TensorInfo
from modelfiles.gguf.reader import parse_gguf, read_gguf

__all__ = ["GGUF", "ArrayInfo", "TensorInfo", "parse_gguf", "read_gguf"]
