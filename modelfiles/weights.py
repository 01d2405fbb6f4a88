"""The weights of a new model: the files of a request are read, judged, and put in order where they are parts.

Nothing is copied: each file becomes a layer as it is, the parts of a split model one layer each. Raises
CreateError for files that make no model, BadGGUF for damaged ones, BlobNotFound, and StoreError.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from modelfiles.creation import Progress
from modelfiles.errors import BadGGUF, CreateError
from modelfiles.gguf import GGUF, read_gguf
from modelfiles.gguf.check import check_usable, kind_of, split_count
from modelfiles.gguf.split import order_parts, part_name, part_stem, whole_header
from modelfiles.package import LAYER_TYPE, Layer
from modelfiles.store import Store
from modelfiles.store.paths import digest_of_blob

Report = Callable[[Progress], None]

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Weights:
    """The layers of one GGUF, more than one where it is split, and the header of the whole of it.

    `name` is that of the file, `is_new` tells that it was made here.
    """

    layers: tuple[Layer, ...]
    header: GGUF
    name: str = ""
    is_new: bool = False

    @property
    def kind(self) -> str:
        return self.layers[0].kind


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    digest: str
    header: GGUF


def weights_of_files(store: Store, files: Mapping[str, str], report: Report) -> list[Weights]:
    """The weights in a model's files, the model itself first."""
    found = read_files(store, files, report)
    models = [item for item in found if item.kind == "model"]
    if not models:
        first = found[0]
        what = "an adapter, which goes into ADAPTER," if first.kind == "adapter" else f"a {first.kind},"
        raise CreateError(f"{first.name} is {what} but there is no model that it belongs to")
    if len(models) > 1:
        names = ", ".join(
            str(item.header.metadata.get("general.name", item.header.architecture)) for item in models
        )
        raise CreateError(f"the files hold {len(models)} models ({names}); give one FROM for each create")
    return models + [item for item in found if item.kind != "model"]


def read_files(store: Store, files: Mapping[str, str], report: Report) -> list[Weights]:
    """The weights in these files, whatever they are for."""
    _check_type(store, files)
    read = [_read(store, name, files[name], report) for name in sorted(files)]
    found = [
        Weights((store.use_blob(file.digest, LAYER_TYPE + kind_of(file.header)),), file.header, file.name)
        for file in read
        if split_count(file.header) == 1
    ]
    return found + [
        _parts(store, parts) for parts in _grouped([file for file in read if split_count(file.header) > 1])
    ]


def header_of_blobs(store: Store, digests: Sequence[str]) -> GGUF:
    """The header of a GGUF in one blob, or of its parts in several. Raises BlobNotFound and BadGGUF."""
    headers = []
    for digest in digests:
        with store.using_blob(digest) as path:
            headers.append(read_gguf(path))
    return headers[0] if len(headers) == 1 else whole_header(headers)


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


def _grouped(files: Sequence[_File]) -> list[list[_File]]:
    """The parts of each split model, in their order. Raises BadGGUF for missing ones."""
    stems: dict[str, dict[str, _File]] = {}
    for file in map(_named_as_part, files):
        stems.setdefault(part_stem(file.name), {})[file.name] = file
    return [
        [group[name] for name in order_parts({name: file.header for name, file in group.items()})]
        for group in stems.values()
    ]


def _named_as_part(file: _File) -> _File:
    """A blob of a split model, which a Modelfile that `show` printed names, says itself which part it is."""
    place = file.header.metadata.get("split.no")
    if digest_of_blob(PurePosixPath(file.name).name) is None or not isinstance(place, int):
        return file
    return replace(file, name=part_name("model", place + 1, split_count(file.header)))


def _parts(store: Store, parts: Sequence[_File]) -> Weights:
    """One layer for each part, named in a way from which an engine knows their order."""
    stem = part_stem(parts[0].name)
    with _naming(stem):
        header = whole_header([part.header for part in parts])
        check_usable(header)
    kind = LAYER_TYPE + kind_of(header)
    layers = [
        store.use_blob(part.digest, kind, name=part_name(stem, index, len(parts)))
        for index, part in enumerate(parts, 1)
    ]
    return Weights(tuple(layers), header, stem)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say in which file a fault was found."""
    try:
        yield
    except BadGGUF as error:
        raise BadGGUF(f"{name}: {error}") from error
