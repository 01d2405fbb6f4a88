"""Everything that this package may raise, on one page. Knows nothing of status codes or of dialects.

ModelfilesError
 +-- InvalidName            a model name that breaks the grammar
 |    +-- ModelRequired     no name at all
 +-- ConflictingSource      ":local" and ":cloud" in one reference
 +-- InvalidDigest          not "sha256:" and 64 hex digits
 +-- ModelfileError         a Modelfile that cannot be read (has the line)
 +-- ParameterError         a parameter that is unknown or has a value of the wrong kind
 +-- BadGGUF                a weights file that is damaged or is no GGUF
 +-- TemplateError          a chat template that cannot be parsed or rendered
 |    +-- TemplateRefused   the template itself refused these messages
 +-- CreateError            a create request that cannot be carried out
 |    +-- QuantizeError     weights that cannot be quantized as asked
 |    |    +-- TensorTypesRefused  its own table of tensor types, or importance matrix, cannot be used
 |    +-- CloudRefused      a model that only a cloud could run
 +-- ModelNotFound          no manifest of that name
 +-- BlobNotFound           no blob of that digest
 +-- DigestMismatch         content that is not what its digest says
 +-- StoreError             the store itself is damaged, or a linked file was changed
"""


class ModelfilesError(Exception):
    """Root of all errors of this package; the text is meant for the user."""


class InvalidName(ModelfilesError):
    """A model name that breaks the grammar of `modelfiles.names`."""


class ModelRequired(InvalidName):
    """An empty reference, or one that is only a source suffix."""

    def __init__(self) -> None:
        super().__init__("model is required")


class ConflictingSource(ModelfilesError):
    """A reference with more than one source suffix."""


class InvalidDigest(ModelfilesError):
    """A digest that is not `sha256`, a colon or dash, and 64 hex digits."""


class ModelfileError(ModelfilesError):
    """A Modelfile that cannot be read.

    `line` is where the faulty instruction begins, counted from 1 as an editor does it; None if there is none.
    A number in the text is Ollama's: where reading stopped, with CR and LF counted as a line each.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class ParameterError(ModelfilesError):
    """A PARAMETER that is unknown or whose value has the wrong kind.

    The text names the value alone, as clients expect it; `hint` says what would be right, and `line` where in
    the Modelfile it stands.
    """

    def __init__(self, message: str, *, hint: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.line = line


class BadGGUF(ModelfilesError):
    """A file that is no GGUF, is truncated, or whose header contradicts itself."""


class TemplateError(ModelfilesError):
    """A chat template that cannot be parsed, or fails while it is rendered."""


class TemplateRefused(TemplateError):
    """The template called `raise_exception`: it does not accept these messages."""


class CreateError(ModelfilesError):
    """A create request that cannot be carried out.

    `early` tells that the request was refused before any progress was reported.
    """

    def __init__(self, message: str, *, early: bool = False) -> None:
        super().__init__(message)
        self.early = early


class QuantizeError(CreateError):
    """Weights that cannot be quantized as a request asks."""


class TensorTypesRefused(QuantizeError):
    """A request's own table of tensor types, or an importance matrix, that cannot be used."""


class CloudRefused(CreateError):
    """A request for what only a cloud could do."""

    def __init__(self) -> None:
        super().__init__("ollama cloud is disabled: remote model is unavailable")


class ModelNotFound(ModelfilesError):
    """No manifest of that name in the store."""

    def __init__(self, name: str) -> None:
        super().__init__(f"model '{name}' not found")
        self.name = name


class BlobNotFound(ModelfilesError):
    """No blob of that digest in the store."""

    def __init__(self, digest: str) -> None:
        super().__init__(f'blob "{digest}" not found')
        self.digest = digest


class DigestMismatch(ModelfilesError):
    """Content whose hash is not the one that was announced; both as `sha256:<hex>`."""

    def __init__(self, expected: str, actual: str) -> None:
        super().__init__(f'digest mismatch, expected "{expected}", got "{actual}"')
        self.expected = expected
        self.actual = actual


class StoreError(ModelfilesError):
    """The store cannot be read or written, or a file linked into it has changed."""
