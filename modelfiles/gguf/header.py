"""What the header of a GGUF file says: metadata and the list of tensors, as values.

Source of the format: the GGUF specification in ggml's docs/gguf.md. `offset` of a tensor counts from the
start of the data section, as in the file. Knows nothing of reading or of any architecture.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from modelfiles.gguf.types import FILE_TYPES, UNKNOWN_FILE_TYPE


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array whose elements were not kept: the name of their type and how many there are."""

    type: str
    count: int


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor. `shape` is in ggml's order: the elements of a row first."""

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int

    @property
    def elements(self) -> int:
        count = 1
        for dimension in self.shape:
            count *= dimension
        return count


@dataclass(frozen=True, slots=True)
class GGUF:
    """A whole header. Arrays in `metadata` are tuples, or ArrayInfo where they are long.

    `spans` says where each key's record lies in the file: first byte and the byte behind the last one.
    """

    version: int
    metadata: Mapping[str, object]
    tensors: tuple[TensorInfo, ...]
    alignment: int
    data_offset: int
    size: int
    spans: Mapping[str, tuple[int, int]]

    @property
    def architecture(self) -> str:
        """`general.architecture`, or empty where it is absent or no text."""
        value = self.metadata.get("general.architecture")
        return value if isinstance(value, str) else ""

    @property
    def parameter_count(self) -> int:
        """Elements of all tensors."""
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def file_type(self) -> str:
        """The quantisation that the file says it has, such as `Q4_K_M`; `unknown` if it says none."""
        value = self.metadata.get("general.file_type")
        return FILE_TYPES.get(value, UNKNOWN_FILE_TYPE) if isinstance(value, int) else UNKNOWN_FILE_TYPE

    @property
    def chat_template(self) -> str:
        """The Jinja chat template that came with the weights, or empty."""
        value = self.metadata.get("tokenizer.chat_template")
        return value if isinstance(value, str) else ""

    def of_architecture(self, key: str) -> object:
        """The value of `<architecture>.<key>`, or None."""
        return self.metadata.get(f"{self.architecture}.{key}")

    def count(self, key: str) -> int:
        """`<architecture>.<key>` where it is a single whole number, else 0."""
        value = self.of_architecture(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0
