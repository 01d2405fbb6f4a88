"""Quantising a layer of the store: the new file is made, judged and hashed before it becomes a blob.

The engine that does the work is given as a function; this module knows none. Blocking.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from modelfiles.creation import Progress
from modelfiles.gguf import GGUF, read_gguf
from modelfiles.gguf.check import check_usable
from modelfiles.package import LAYER_TYPE, Layer
from modelfiles.quantization import Quantization, plan_for, type_of
from modelfiles.store import Store

Report = Callable[[Progress], None]

# Ollama's digest for work on weights that have no digest yet
NO_DIGEST = "0" * 19
_TOLD_EVERY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Job:
    """What an engine is to do: write `target`, a file that is there, in numbers of GGUF; see `Plan`."""

    source: Path
    target: Path
    file_type: int
    types: tuple[tuple[str, int], ...]
    importance: Path | None
    allow_requantize: bool


# Gets the bytes of source tensors that are done; what it raises ends the job and is passed on
Quantizer = Callable[[Job, Callable[[int], None]], None]


def quantized(
    store: Store,
    layers: tuple[Layer, ...],
    header: GGUF,
    asked: Quantization,
    quantizer: Quantizer,
    report: Report,
) -> tuple[tuple[Layer, ...], GGUF]:
    """The weights as they are asked for and their header: the same, where there is nothing to do.

    `layers` are the parts of a split model, or one; what comes out is one.

    Raises QuantizeError for what may not be done, BlobNotFound, BadGGUF and what the engine raises.
    """
    plan = plan_for(asked, header)
    if plan is None:
        return layers, header
    importance = store.blob_path(asked.importance) if asked.importance else None
    told = _Told(report, f"quantizing {type_of(header)} model to {plan.shown}", header)
    found: list[GGUF] = []

    def write(target: Path) -> None:
        source = store.engine_path([layer.digest for layer in layers])
        job = Job(source, target, plan.file_type, plan.types, importance, asked.allow_requantize)
        quantizer(job, told.done)
        told.done(told.total, last=True)
        report(Progress("verifying conversion"))
        found.append(_judged(target))

    digest = store.make_blob(write, told.hashed)
    return (store.use_blob(digest, LAYER_TYPE + layers[0].kind),), found[0]


def _judged(path: Path) -> GGUF:
    header = read_gguf(path)
    check_usable(header)
    return header


class _Told:
    """Tells how far a job is, not too often; and often enough to learn that nobody listens."""

    def __init__(self, report: Report, status: str, header: GGUF) -> None:
        self.total = sum(tensor.nbytes for tensor in header.tensors)
        self._report = report
        self._status = status
        self._at = 0.0

    def done(self, count: int, *, last: bool = False) -> None:
        if self._due() or last:
            self._report(Progress(self._status, NO_DIGEST, self.total, min(count, self.total)))

    def hashed(self, _: int, __: int) -> None:
        if self._due():
            self._report(Progress("verifying conversion"))

    def _due(self) -> bool:
        now = time.monotonic()
        if now - self._at < _TOLD_EVERY_SECONDS:
            return False
        self._at = now
        return True
