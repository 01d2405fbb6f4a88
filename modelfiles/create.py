"""Creates a model: from another one or from weights, with the texts and parameters of a Modelfile.

Nothing is stored before the weights are known to be sound, and the name is given last: whatever stops it,
the name means what it meant before, or nothing. Blocking: runs in a thread. Progress comes in the order and
the words that clients of Ollama expect.
"""

from collections.abc import Callable
from dataclasses import dataclass

from modelfiles.creation import (
    Content,
    CreateRequest,
    Progress,
    check_request,
    make_config,
    refuse_what_is_missing,
    small_layers,
)
from modelfiles.errors import BlobNotFound, CreateError, InvalidName, StoreError
from modelfiles.gguf import GGUF, read_gguf
from modelfiles.names import Name, parse_name, parse_reference
from modelfiles.package import CONFIG_TYPE, Config, Layer, Manifest, encode_config, encode_manifest
from modelfiles.store import Store
from modelfiles.stored_parameters import checked_parameters, fitted_parameters
from modelfiles.weights import weights_of_files

__all__ = ["CreateRequest", "Progress", "check_request", "create"]

Report = Callable[[Progress], None]

# A blob that we are about to name may be removed by someone deleting the last model that had it
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class _Base:
    """What the new model starts from. `headers` are those of the GGUF layers, the model's own first."""

    layers: tuple[Layer, ...]
    made: frozenset[str]
    headers: tuple[GGUF, ...]
    config: Config
    parameters: dict[str, object]


def create(store: Store, request: CreateRequest, progress: Report) -> None:
    """Carry out the request, reporting progress; the last item is `success`.

    Raises CreateError for a bad request, BadGGUF for damaged weights, ModelNotFound for an unknown `from_`,
    BlobNotFound for files that were not sent, and StoreError.
    """
    check_request(request)
    refuse_what_is_missing(request)
    given = checked_parameters(request.parameters)
    name = store.resolve(parse_name(request.model))
    base = _base(store, request, progress)
    parameters, warnings = fitted_parameters({**base.parameters, **given}, base.headers[0])
    for warning in warnings:
        progress(Progress(f"warning: {warning}"))
    layers, contents = small_layers(request, base.layers, parameters)
    config = encode_config(make_config(request, base.config, base.headers))
    for layer in layers:
        verb = "creating new" if layer.digest in base.made else "using existing"
        progress(Progress(f"{verb} layer {layer.digest}"))
    _commit(store, name, layers, contents, config, progress)
    progress(Progress("success"))


def _base(store: Store, request: CreateRequest, progress: Report) -> _Base:
    if request.from_:
        return _inherited(store, request.from_)
    if not request.files:
        raise CreateError("neither 'from' or 'files' was specified")
    weights = weights_of_files(store, request.files, progress)
    return _Base(
        layers=tuple(item.layer for item in weights),
        made=frozenset(item.layer.digest for item in weights if item.is_new),
        headers=tuple(item.header for item in weights),
        config=Config(),
        parameters={},
    )


def _inherited(store: Store, text: str) -> _Base:
    package = store.load(_source(text))
    if package.model_path is None:
        raise CreateError(f"{package.name.display} has no GGUF weights to start from")
    store.verify_linked(package.model_digest)
    shown = package.name.display
    layers = tuple(
        Layer(layer.media_type, layer.digest, layer.size, from_=shown, name=layer.name)
        for layer in package.layers
    )
    projectors = [layer.digest for layer in package.layers if layer.kind == "projector"]
    headers = tuple(_header(store, digest) for digest in (package.model_digest, *projectors))
    return _Base(layers, frozenset(), headers, package.config, dict(package.parameters))


def _header(store: Store, digest: str) -> GGUF:
    with store.using_blob(digest) as path:
        return read_gguf(path)


def _source(text: str) -> Name:
    reference = parse_reference(text)
    if reference.source == "cloud":
        raise CreateError("ollama cloud is disabled: remote model is unavailable")
    try:
        return parse_name(reference.base)
    except InvalidName as error:
        raise CreateError("invalid model name") from error


def _commit(
    store: Store, name: Name, layers: list[Layer], contents: list[Content], config: bytes, progress: Report
) -> None:
    """Write the small blobs and the manifest. All of it again, if someone removed a blob in between."""
    for attempt in range(1, _ATTEMPTS + 1):
        report = progress if attempt == 1 else _silent
        written = [_write(store, content, report) for content in contents]
        config_layer = Layer(CONFIG_TYPE, store.write_blob([config]), len(config))
        report(Progress("writing manifest"))
        try:
            used = [
                store.use_blob(item.digest, item.media_type, from_=item.from_, name=item.name)
                for item in layers
            ]
            store.write_manifest(name, encode_manifest(Manifest(config_layer, (*used, *written))))
        except BlobNotFound:
            continue
        return
    raise StoreError(f"blobs of {name.display} are removed by someone else while it is created; try again")


def _write(store: Store, content: Content, report: Report) -> Layer:
    verb = "using existing" if store.has_blob(content.digest) else "creating new"
    digest = store.write_blob([content.data])
    report(Progress(f"{verb} layer {digest}"))
    return Layer(content.media_type, digest, len(content.data))


def _silent(_: Progress) -> None:
    """Progress that was reported already."""
