"""What a new model starts from: the layers of another one, or weights that were sent; adapters and drafts.

Raises CreateError, BadGGUF, ModelNotFound, BlobNotFound and StoreError. Writes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from modelfiles.adapters import check_adapter
from modelfiles.creation import CreateRequest, Progress
from modelfiles.errors import CloudRefused, CreateError, InvalidName
from modelfiles.gguf import GGUF
from modelfiles.names import Name, parse_name, parse_reference
from modelfiles.package import LAYER_TYPE, Config, Layer
from modelfiles.remote import remote_url
from modelfiles.store import Store
from modelfiles.weights import Weights, header_of_blobs, read_files, weights_of_files

Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Base:
    """What there is so far. `headers` are those of the model and its projectors, the model's own first.

    `made` holds the digests of layers that were made for this request. A stub of a remote model has no
    headers.
    """

    layers: tuple[Layer, ...] = ()
    headers: tuple[GGUF, ...] = ()
    config: Config = field(default_factory=Config)
    parameters: dict[str, object] = field(default_factory=dict)
    made: frozenset[str] = frozenset()
    drafts: tuple[GGUF, ...] = ()

    def weights_of(self, kind: str) -> Weights:
        """The model's own weights, or those of its draft."""
        header = self.headers[0] if kind == "model" else self.drafts[0]
        return Weights(tuple(layer for layer in self.layers if layer.kind == kind), header)

    def with_weights(self, kind: str, layers: tuple[Layer, ...], header: GGUF) -> "Base":
        """With other weights in the place of these."""
        old = self.weights_of(kind).layers
        if layers == old:
            return self
        at = self.layers.index(old[0])
        kept = [layer for layer in self.layers if layer not in old]
        changed = replace(
            self,
            layers=(*kept[:at], *layers, *kept[at:]),
            made=self.made | {layer.digest for layer in layers},
        )
        if kind == "model":
            return replace(changed, headers=(header, *self.headers[1:]))
        return replace(changed, drafts=(header,))


def stub_of(request: CreateRequest) -> Base:
    """A model that runs elsewhere: no weights, only where it is."""
    if request.draft_files:
        raise CreateError("DRAFT cannot be used with remote models")
    return Base(config=Config(remote_host=remote_url(request.remote_host), remote_model=request.from_))


def base_of(store: Store, request: CreateRequest, progress: Report) -> Base:
    """The model of `from`, with everything that it has, or the files of the request."""
    if request.from_:
        return _inherited(store, request.from_)
    if not request.files:
        raise CreateError("neither 'from' or 'files' was specified")
    weights = weights_of_files(store, request.files, progress)
    for item in weights:
        if item.kind == "adapter":
            check_adapter(item.name, item.header, weights[0].header)
    return Base(
        layers=tuple(layer for item in weights for layer in item.layers),
        headers=tuple(item.header for item in weights if item.kind != "adapter"),
    )


def with_adapters(store: Store, base: Base, request: CreateRequest, progress: Report) -> Base:
    """With the adapter of the request behind those that are there."""
    if not request.adapters or not base.headers:
        return base
    if len(request.adapters) > 1:
        raise CreateError("only one adapter is currently supported")
    [adapter] = read_files(store, request.adapters, progress)
    check_adapter(adapter.name, adapter.header, base.headers[0])
    return replace(base, layers=(*base.layers, *adapter.layers))


def with_drafts(store: Store, base: Base, request: CreateRequest, progress: Report) -> Base:
    """With the draft model of the request in the place of any other."""
    if not request.draft_files or not base.headers:
        return base
    found = read_files(store, request.draft_files, progress)
    if len(found) != 1 or found[0].kind != "model":
        raise CreateError("DRAFT must name one model, a GGUF file or the parts of one")
    [draft] = found
    layers = tuple(replace(layer, media_type=LAYER_TYPE + "draft") for layer in draft.layers)
    kept = tuple(layer for layer in base.layers if layer.kind != "draft")
    return replace(base, layers=(*kept, *layers), drafts=(draft.header,))


def _inherited(store: Store, text: str) -> Base:
    package = store.load(_source(text))
    if package.model_path is None:
        raise CreateError(f"{package.name.display} has no GGUF weights to start from")
    weights = [layer.digest for layer in package.layers if layer.kind == "model"]
    for digest in weights:
        store.verify_linked(digest)
    shown = package.name.display
    layers = tuple(
        Layer(layer.media_type, layer.digest, layer.size, from_=shown, name=layer.name)
        for layer in package.layers
    )
    projectors = [layer.digest for layer in package.layers if layer.kind == "projector"]
    headers = [header_of_blobs(store, [digest]) for digest in projectors]
    model = header_of_blobs(store, package.model_digests)
    return Base(layers, (model, *headers), package.config, dict(package.parameters))


def _source(text: str) -> Name:
    reference = parse_reference(text)
    if reference.source == "cloud":
        raise CloudRefused
    try:
        return parse_name(reference.base)
    except InvalidName as error:
        raise CreateError("invalid model name") from error
