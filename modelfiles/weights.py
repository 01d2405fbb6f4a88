"""The weights of a new model: the files of a request are read, judged, and joined where they are parts.

Raises CreateError for files that make no model, BadGGUF for damaged ones, BlobNotFound, and StoreError.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import FileIO

from modelfiles.creation import Progress
from modelfiles.errors import BadGGUF, CreateError, StoreError
from modelfiles.gguf import GGUF, parse_gguf, read_gguf
from modelfiles.gguf.check import check_usable, kind_of, split_count
from modelfiles.gguf.split import Joined, join_parts, order_parts, part_stem
from modelfiles.gguf.window import ReadAt
from modelfiles.package import LAYER_TYPE, Layer
from modelfiles.store import Store

Report = Callable[[Progress], None]

# Ollama's digest for work on weights that have no digest yet
_NO_DIGEST = "0" * 19
_MAGIC = b"GGUF"
_CHUNK_BYTES = 1 << 20
_REPORT_EVERY_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """A layer with its header. `is_new` tells that it was made here."""

    layer: Layer
    header: GGUF
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    digest: str
    header: GGUF


def weights_of_files(store: Store, files: Mapping[str, str], report: Report) -> list[Weights]:
    """The layers of a model's files, the model itself first."""
    _check_type(store, files)
    read = [_read(store, name, files[name], report) for name in sorted(files)]
    whole = [file for file in read if split_count(file.header) == 1]
    found = [_as_weights(store, file) for file in whole]
    for parts in _grouped([file for file in read if split_count(file.header) > 1]):
        found.append(_joined(store, parts, report))
    return _judged(found)


def _check_type(store: Store, files: Mapping[str, str]) -> None:
    if any(name.endswith(".safetensors") for name in files):
        raise CreateError(
            "safetensors files are not supported yet; "
            "convert them to GGUF with llama.cpp's convert_hf_to_gguf.py"
        )
    present = [digest for digest in files.values() if store.has_blob(digest)]
    if not any(name.endswith(".gguf") for name in files) and not any(
        _has_magic(store, digest) for digest in present
    ):
        raise CreateError("unknown type")


def _has_magic(store: Store, digest: str) -> bool:
    with store.using_blob(digest) as path, open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _read(store: Store, name: str, digest: str, report: Report) -> _File:
    store.blob_path(digest)
    report(Progress("parsing GGUF"))
    if not _has_magic(store, digest):
        raise CreateError("supplied file was not in GGUF format")
    with _naming(name), store.using_blob(digest) as path:
        header = read_gguf(path)
        if split_count(header) == 1:
            check_usable(header)
    store.verify_linked(digest)
    return _File(name, digest, header)


def _as_weights(store: Store, file: _File) -> Weights:
    kind = kind_of(file.header)
    if kind == "adapter":
        raise CreateError(f"{file.name} is an adapter, not a model; adapters are not supported yet")
    return Weights(store.use_blob(file.digest, LAYER_TYPE + kind), file.header)


def _judged(found: Sequence[Weights]) -> list[Weights]:
    models = [item for item in found if item.layer.kind == "model"]
    if not models:
        raise CreateError("the files hold a projector, but no model that it belongs to")
    if len(models) > 1:
        names = ", ".join(
            str(item.header.metadata.get("general.name", item.header.architecture)) for item in models
        )
        raise CreateError(f"the files hold {len(models)} models ({names}); give one FROM for each create")
    return models + [item for item in found if item.layer.kind != "model"]


def _grouped(parts: Sequence[_File]) -> list[list[_File]]:
    """The parts of each split model, in their order. Raises BadGGUF for missing ones."""
    stems: dict[str, dict[str, _File]] = {}
    for part in parts:
        stems.setdefault(part_stem(part.name), {})[part.name] = part
    return [
        [group[name] for name in order_parts({name: part.header for name, part in group.items()})]
        for group in stems.values()
    ]


def _joined(store: Store, parts: Sequence[_File], report: Report) -> Weights:
    with ExitStack() as stack:
        sources = [stack.enter_context(_opened(store, part.digest)) for part in parts]
        with _naming(part_stem(parts[0].name)):
            plan = join_parts([part.header for part in parts], _reader(sources[0]))
            header = parse_gguf(lambda at, count: plan.header[at : at + count], plan.size)
            check_usable(header)
        free = shutil.disk_usage(store.root).free
        if plan.size > free:
            raise StoreError(
                f"no space left on device: joining the parts needs {plan.size} bytes, {free} are left"
            )
        digest = _write(store, plan, sources, report)
    return Weights(store.use_blob(digest, LAYER_TYPE + kind_of(header)), header, is_new=True)


def _opened(store: Store, digest: str) -> FileIO:
    with store.using_blob(digest) as path:
        return open(path, "rb", buffering=0)


def _reader(source: FileIO) -> ReadAt:
    return lambda at, count: os.pread(source.fileno(), count, at)


def _write(store: Store, plan: Joined, sources: Sequence[FileIO], report: Report) -> str:
    """Make the joined file a blob; return its digest."""
    done, reported = 0, 0
    with store.open_blob_writer() as writer:
        for chunk in _content(plan, sources):
            writer.write(chunk)
            done += len(chunk)
            if done - reported >= _REPORT_EVERY_BYTES or done == plan.size:
                report(Progress(f"joining {len(sources)} parts", _NO_DIGEST, plan.size, done))
                reported = done
        return writer.finish()


def _content(plan: Joined, sources: Sequence[FileIO]) -> Iterator[bytes | memoryview]:
    """The joined file in pieces that share one buffer: each is void when the next one comes."""
    yield plan.header
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    for piece in plan.pieces:
        source, left = sources[piece.part], piece.nbytes
        source.seek(piece.offset)
        while left:
            count = source.readinto(buffer[:left])
            if not count:
                raise StoreError(f"part {piece.part + 1} became shorter while it was read")
            yield buffer[:count]
            left -= count
        if piece.padding:
            yield bytes(piece.padding)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say in which file a fault was found."""
    try:
        yield
    except BadGGUF as error:
        raise BadGGUF(f"{name}: {error}") from error
