"""From the name in a request to everything that answering it needs to know of the model.

Reads the store and GGUF headers, on threads; what is derived from a header is kept as long as the header
stays the same. The words for names that lead nowhere are Ollama's. Loads nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from modelfiles.capabilities import capabilities, template_language
from modelfiles.errors import ConflictingSource, ModelNotFound, ModelRequired
from modelfiles.gguf import GGUF
from modelfiles.names import Reference, parse_name, parse_reference
from modelfiles.package import Package
from modelfiles.store import Store
from modelfiles.templates.choice import JinjaTemplates, Templates, compiled_go, compiled_jinja
from runtime.shape import ModelShape, shape_of
from runtime.supervisor import ModelSpec
from shim.bridge import Threads
from shim.errors import ApiError, bad_request, forbidden, model_not_found
from shim.headers import Headers

_NO_CLOUD = "ollama cloud is disabled: remote model is unavailable"
_TOOL_TEMPLATE = "tokenizer.chat_template.tool_use"
_MOST_KNOWN = 32


@dataclass(frozen=True, slots=True)
class _Weights:
    """What is derived from a GGUF header."""

    header: GGUF
    shape: ModelShape
    templates: JinjaTemplates


@dataclass(frozen=True, slots=True)
class _Derived:
    """What is derived from a whole package; `weights` None for one without."""

    weights: _Weights | None
    capabilities: tuple[str, ...]
    templates: Templates


@dataclass(frozen=True, slots=True)
class Target:
    """A model that a request is for. `spec` is None where there is nothing here to run."""

    requested: str
    package: Package
    capabilities: tuple[str, ...]
    templates: Templates
    spec: ModelSpec | None


class Resolver:
    """Made once; its method may be called at the same time."""

    def __init__(
        self, store: Store, headers: Headers, threads: Threads, *, go_template: bool | None = None
    ) -> None:
        """`go_template`: True to prefer a model's TEMPLATE, False the chat template inside its weights."""
        self._store = store
        self._headers = headers
        self._threads = threads
        self._go_template = go_template
        self._weights: _Kept[Path, _Weights] = _Kept(_MOST_KNOWN)
        self._packages: _Kept[str, _Derived] = _Kept(_MOST_KNOWN)

    async def find(self, requested: str, *, if_empty: ApiError) -> Target:
        """The model of that name. ApiError for a name that is empty, malformed, remote or unknown.

        Also raises StoreError and BadGGUF for a model that is damaged.
        """
        try:
            reference = parse_reference(requested)
        except ModelRequired:
            raise if_empty from None
        except ConflictingSource as error:
            raise bad_request(str(error)) from None
        if reference.source == "cloud":
            raise forbidden(_NO_CLOUD)
        return await self._threads.run(self._find, requested, reference)

    async def check_unchanged(self, target: Target) -> None:
        """Raise StoreError if weights or adapters were linked into the store and have been changed since."""
        package = target.package
        adapters = [layer.digest for layer in package.layers if layer.kind == "adapter"]
        for digest in (*package.model_digests, *adapters):
            await self._threads.run_long(self._store.verify_linked, digest)

    def _find(self, requested: str, reference: Reference) -> Target:
        name = parse_name(reference.base)
        try:
            package = self._store.load(name)
        except ModelNotFound:
            raise model_not_found(requested) from None
        if package.config.remote_host and package.config.remote_model:
            raise model_not_found(requested) if reference.source == "local" else forbidden(_NO_CLOUD)
        derived = self._derive(package)
        spec = self._spec(package, derived.weights) if derived.weights else None
        return Target(requested, package, derived.capabilities, derived.templates, spec)

    def _spec(self, package: Package, weights: _Weights) -> ModelSpec:
        path = self._store.engine_path(package.model_digests)
        return ModelSpec(
            key="|".join(map(str, (path, *package.adapters))),
            path=str(path),
            architecture=weights.header.architecture,
            shape=weights.shape,
            name=package.name.display,
            payload=package,
        )

    def _derive(self, package: Package) -> _Derived:
        weights = self._read(package.model_paths)
        known = self._packages.get(package.digest)
        if known is not None and known.weights is weights:
            return known
        header = weights.header if weights else None
        language = template_language(package, header, go_template=self._go_template)
        derived = _Derived(
            weights,
            capabilities(package, header, go_template=self._go_template),
            Templates(
                language, compiled_go(package.template), weights.templates if weights else JinjaTemplates()
            ),
        )
        self._packages.put(package.digest, derived)
        return derived

    def _read(self, paths: tuple[Path, ...]) -> _Weights | None:
        if not paths:
            return None
        header = self._headers.read(*paths)
        known = self._weights.get(paths[0])
        if known is not None and known.header is header:
            return known
        found = _Weights(header, _shape(header), _templates(header))
        self._weights.put(paths[0], found)
        return found


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Kept(Generic[_Key, _Value]):
    """What was derived last; used by several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, _Value] = OrderedDict()

    def get(self, key: _Key) -> _Value | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def put(self, key: _Key, value: _Value) -> None:
        with self._lock:
            self._known[key] = value
            self._known.move_to_end(key)
            while len(self._known) > self._most:
                self._known.popitem(last=False)


def _shape(header: GGUF) -> ModelShape:
    tensors = ((tensor.name, tensor.type, tensor.shape, tensor.nbytes) for tensor in header.tensors)
    return shape_of(header.metadata, tensors)


def _templates(header: GGUF) -> JinjaTemplates:
    return JinjaTemplates(
        compiled_jinja(header.chat_template), compiled_jinja(header.metadata.get(_TOOL_TEMPLATE))
    )
