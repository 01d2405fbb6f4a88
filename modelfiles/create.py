"""Creates a model: from another one or from weights, with the texts and parameters of a Modelfile.

Nothing is stored before the weights are known to be sound, and the name is given last: whatever stops it,
the name means what it meant before, or nothing. Blocking: runs in a thread. Progress comes in the order and
the words that clients of Ollama expect.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from modelfiles.base import Base, base_of, stub_of, with_adapters, with_drafts
from modelfiles.creation import (
    Content,
    CreateRequest,
    Progress,
    check_request,
    family_defaults,
    make_config,
    small_layers,
)
from modelfiles.detection import detected_template
from modelfiles.errors import BlobNotFound, CreateError, StoreError, TemplateError
from modelfiles.names import Name, parse_name
from modelfiles.package import CONFIG_TYPE, Layer, Manifest, encode_config, encode_manifest
from modelfiles.quantization import Quantization, quantization
from modelfiles.quantizing import Quantizer, quantized
from modelfiles.store import Store
from modelfiles.stored_parameters import checked_parameters, fitted_parameters
from modelfiles.templates.go.template import parse_template

__all__ = ["CreateRequest", "Progress", "check_request", "create"]

Report = Callable[[Progress], None]

# A blob that we are about to name may be removed by someone deleting the last model that had it
_ATTEMPTS = 3


def create(
    store: Store, request: CreateRequest, progress: Report, *, quantizer: Quantizer | None = None
) -> None:
    """Carry out the request, reporting progress; the last item is `success`.

    Raises CreateError for a bad request, BadGGUF for damaged weights, ModelNotFound for an unknown `from_`,
    BlobNotFound for files that were not sent, StoreError, and what `quantizer` raises.
    """
    check_request(request)
    _check_template(request.template)
    given = checked_parameters(request.parameters)
    weights_type, draft_type = _quantizations(request)
    name = store.resolve(parse_name(request.model))
    base = stub_of(request) if request.remote_host else base_of(store, request, progress)
    base = with_adapters(store, base, request, progress)
    base = with_drafts(store, base, request, progress)
    base = _quantized(store, base, "model", weights_type, quantizer, progress)
    base = _quantized(store, base, "draft", draft_type, quantizer, progress)
    detected = None if request.from_ or request.template else detected_template(store, base)
    parameters = {**base.parameters, **(detected.parameters if detected else {}), **given}
    parameters = {**family_defaults(base.headers, parameters), **parameters}
    if base.headers:
        parameters, warnings = fitted_parameters(parameters, base.headers[0])
        for warning in warnings:
            progress(Progress(f"warning: {warning}"))
    template = request.template or (detected.template if detected else "")
    layers, contents = small_layers(replace(request, template=template), base.layers, parameters)
    config = encode_config(make_config(request, base.config, base.headers))
    for layer in layers:
        verb = "creating new" if layer.digest in base.made else "using existing"
        progress(Progress(f"{verb} layer {layer.digest}"))
    words = {"template": f"using autodetected template {detected.name}"} if detected else {}
    _commit(store, name, layers, contents, config, progress, words)
    progress(Progress("success"))


def _check_template(text: str) -> None:
    """Raise CreateError, with the parser's words, for a template that does not parse."""
    try:
        parse_template(text)
    except TemplateError as error:
        raise CreateError(f"template error: {error}") from error


def _quantizations(request: CreateRequest) -> tuple[Quantization | None, Quantization | None]:
    """What is to become of the weights, and of a draft. QuantizeError."""
    weights = quantization(
        request.quantize,
        experts=request.quantize_experts,
        tensor_types=request.tensor_types,
        importance=request.imatrix,
        allow_requantize=request.allow_requantize,
    )
    return weights, quantization(request.draft_quantize, allow_requantize=request.allow_requantize)


def _quantized(
    store: Store,
    base: Base,
    kind: str,
    asked: Quantization | None,
    quantizer: Quantizer | None,
    progress: Report,
) -> Base:
    if asked is None or not base.headers:
        return base
    if quantizer is None:
        raise CreateError("this program cannot quantize; use the server, or llama.cpp's llama-quantize")
    weights = base.weights_of(kind)
    layers, header = quantized(store, weights.layers, weights.header, asked, quantizer, progress)
    return base.with_weights(kind, layers, header)


def _commit(
    store: Store,
    name: Name,
    layers: list[Layer],
    contents: list[Content],
    config: bytes,
    progress: Report,
    words: Mapping[str, str],
) -> None:
    """Write the small blobs and the manifest. All of it again, if someone removed a blob in between.

    `words` says what to report for a kind of content instead of the usual.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        report = progress if attempt == 1 else _silent
        written = [_write(store, content, report, words.get(content.kind, "")) for content in contents]
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


def _write(store: Store, content: Content, report: Report, words: str) -> Layer:
    verb = "using existing" if store.has_blob(content.digest) else "creating new"
    digest = store.write_blob([content.data])
    report(Progress(words or f"{verb} layer {digest}"))
    return Layer(content.media_type, digest, len(content.data))


def _silent(_: Progress) -> None:
    """Progress that was reported already."""
