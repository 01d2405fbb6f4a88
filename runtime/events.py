"""Everything that server and worker say to each other, and so everything that an engine ever reports.

Only the vocabulary: how it travels is `runtime.wire`. Messages are arrays on the wire, not maps, because one
is sent for every token; both ends always come from the same installation.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from runtime.options import Constraint, LoadOptions, SamplingOptions

FailureKind: TypeAlias = Literal["too_long", "bad_request", "engine", "cancelled"]
LoadFailureKind: TypeAlias = Literal["bad_model", "out_of_memory", "unsupported", "aborted", "engine"]
RawBytes: TypeAlias = bytes  # the field of that name would hide the type inside TokenLogprob


class Message(Struct, frozen=True, array_like=True, tag=True):
    """Base of what is sent; the class name is the tag."""


# To the worker.


class Load(Message, frozen=True):
    """Load the GGUF at ``path``; ``architecture`` is the prefix of the keys that overrides may name."""

    path: str
    options: LoadOptions
    architecture: str


class Submit(Message, frozen=True):
    """Generate after ``prompt`` (text, or token ids that are used as they are).

    ``add_special`` puts the beginning-of-text token in front where the vocabulary wants one; special tokens
    written in the text are always recognised. ``shift`` lets the engine drop old tokens when the context is
    full, ``truncate`` lets it shorten a prompt that does not fit. ``logprobs``: -1 for none, else the number
    of alternatives. With ``echo_tokens`` the end carries the ids of prompt and answer. A ``constraint`` that
    cannot be compiled ends the request as a bad one before its first token.
    """

    id: int
    prompt: str | list[int]
    sampling: SamplingOptions = SamplingOptions()
    add_special: bool = True
    shift: bool = True
    truncate: bool = True
    logprobs: int = -1
    echo_tokens: bool = False
    constraint: Constraint | None = None


class Embed(Message, frozen=True):
    """Make the embedding of a text, its special tokens included; answered by ``Embedded`` or ``Failed``."""

    id: int
    tokens: list[int]


class Cancel(Message, frozen=True):
    """Nobody reads request ``id`` any more. An unknown or finished id is no error."""

    id: int


class Tokenize(Message, frozen=True):
    """Answered by ``Tokens``."""

    id: int
    text: str
    add_special: bool = True


class Detokenize(Message, frozen=True):
    """Answered by ``Text``."""

    id: int
    tokens: list[int]


class Shutdown(Message, frozen=True):
    """Stop at once, also in the middle of a load."""


# From the worker.


class EngineInfo(Struct, frozen=True, kw_only=True):
    """What was really loaded. ``num_ctx`` is the effective context of one slot; ids are -1 where absent."""

    num_ctx: int
    num_parallel: int
    n_ctx_train: int
    n_vocab: int
    n_layer: int
    is_hybrid: bool
    is_recurrent: bool
    can_shift: bool
    bos: int
    eos: int
    add_bos: bool
    model_bytes: int
    device_bytes: int
    host_bytes: int
    extra_buffers: bool
    llama_version: str
    load_seconds: float
    pooling: str = "last"  # of embeddings: mean, cls, last or rank
    rerank_template: str = ""  # with {query} and {document}
    sep: int = -1
    add_sep: bool = False
    eos_ids: list[int] = []  # every token that ends an answer
    eot: int = -1
    fim_prefix: int = -1  # before the text in front of a gap, behind it, and before what is to fill it
    fim_suffix: int = -1
    fim_middle: int = -1
    add_eos: bool = False


class Hello(Message, frozen=True):
    """First message: the process is up, nothing is loaded. ``engine`` is "llama" or "fake"."""

    pid: int
    engine: str


class Progress(Message, frozen=True):
    """How much of the model is loaded, 0 to 1."""

    fraction: float


class Ready(Message, frozen=True):
    """The model is loaded and takes requests."""

    info: EngineInfo


class LoadFailed(Message, frozen=True):
    """The load ended without a model; the worker ends after this."""

    kind: LoadFailureKind
    message: str


class TokenLogprob(Struct, frozen=True, array_like=True):
    """A chosen token with its log probability, and the best alternatives as (token, bytes, logprob)."""

    token: str
    bytes: RawBytes
    logprob: float
    top: list[tuple[str, RawBytes, float]] = []


class Token(Message, frozen=True):
    """New text of request ``id``; ``count`` tokens are covered by it (bytes of a character are held back)."""

    id: int
    text: str
    count: int = 1
    logprobs: list[TokenLogprob] = []


class Finished(Message, frozen=True):
    """Request ``id`` ended as it should; ``text`` is a last remainder that was held back.

    ``detail`` says which of the reasons it was: "eos", "stop_string" (then ``stop`` holds it), "num_predict",
    "context" or "cancelled". ``prompt_tokens`` includes ``cached_tokens``; ``truncated`` counts the prompt
    tokens that were dropped. Durations are in nanoseconds.
    """

    id: int
    reason: Literal["stop", "length", "cancelled"]
    detail: str
    stop: str | None = None
    text: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    prompt_ns: int = 0
    generate_ns: int = 0
    truncated: int = 0
    tokens: list[int] | None = None
    logprobs: list[TokenLogprob] = []


class Embedded(Message, frozen=True):
    """The embedding of request ``id``: float32 numbers in the machine's order, as the model made them."""

    id: int
    vector: RawBytes
    prompt_tokens: int


class Failed(Message, frozen=True):
    """Request ``id`` ended with an error; the engine goes on."""

    id: int
    kind: FailureKind
    message: str


class Tokens(Message, frozen=True):
    """Answer to ``Tokenize``."""

    id: int
    tokens: list[int]


class Text(Message, frozen=True):
    """Answer to ``Detokenize``."""

    id: int
    text: str


class Stats(Message, frozen=True):
    """Totals since the load. ``own_ns`` is the time spent outside the model's own computation."""

    steps: int = 0
    decode_ns: int = 0
    own_ns: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    active: int = 0
    queued: int = 0


EngineEvent: TypeAlias = Token | Finished | Failed | Embedded
ToWorker: TypeAlias = Load | Submit | Embed | Cancel | Tokenize | Detokenize | Shutdown
FromWorker: TypeAlias = (
    Hello | Progress | Ready | LoadFailed | Token | Finished | Failed | Embedded | Tokens | Text | Stats
)
