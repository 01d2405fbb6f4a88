"""From the name in a request to everything that answering it needs to know of the model.

Reads the store and GGUF headers, on threads; what is derived from a header is kept as long as the header
stays the same. The words for names that lead nowhere are Ollama's. Loads nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from modelfiles.capabilities import capabilities
from modelfiles.errors import ConflictingSource, ModelNotFound, ModelRequired, TemplateError
from modelfiles.gguf import GGUF
from modelfiles.names import Reference, parse_name, parse_reference
from modelfiles.package import Package
from modelfiles.store import Store
from modelfiles.templates.jinja import ChatTemplate
from runtime.shape import ModelShape, shape_of
from runtime.supervisor import ModelSpec
from shim.bridge import Threads
from shim.errors import ApiError, bad_request, forbidden, model_not_found
from shim.headers import Headers

_NO_CLOUD = "ollama cloud is disabled: remote model is unavailable"
_TOOL_TEMPLATE = "tokenizer.chat_template.tool_use"
_MOST_KNOWN = 32


@dataclass(frozen=True, slots=True)
class Templates:
    """The chat templates inside the weights; an error in the place of one that cannot be used."""

    default: ChatTemplate | TemplateError | None
    with_tools: ChatTemplate | TemplateError | None

    def choose(self, *, tools: bool) -> ChatTemplate | None:
        """The template for such a request, None where there is none. Raises TemplateError."""
        chosen = self.with_tools if tools and self.with_tools is not None else self.default
        if isinstance(chosen, TemplateError):
            raise chosen
        return chosen


@dataclass(frozen=True, slots=True)
class _Derived:
    header: GGUF
    shape: ModelShape
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

    def __init__(self, store: Store, headers: Headers, threads: Threads) -> None:
        self._store = store
        self._headers = headers
        self._threads = threads
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Derived] = OrderedDict()

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
        """Raise StoreError if the weights were linked into the store and have been changed since."""
        await self._threads.run_long(self._store.verify_linked, target.package.model_digest)

    def _find(self, requested: str, reference: Reference) -> Target:
        name = parse_name(reference.base)
        try:
            package = self._store.load(name)
        except ModelNotFound:
            raise model_not_found(requested) from None
        if package.config.remote_host and package.config.remote_model:
            raise model_not_found(requested) if reference.source == "local" else forbidden(_NO_CLOUD)
        if package.model_path is None:
            return Target(requested, package, capabilities(package, None), Templates(None, None), None)
        derived = self._derive(package.model_path)
        return Target(
            requested,
            package,
            capabilities(package, derived.header),
            derived.templates,
            _spec(package, package.model_path, derived),
        )

    def _derive(self, path: Path) -> _Derived:
        header = self._headers.read(path)
        with self._lock:
            known = self._known.get(path)
            if known is not None and known.header is header:
                self._known.move_to_end(path)
                return known
        derived = _Derived(header, _shape(header), _templates(header))
        with self._lock:
            self._known[path] = derived
            self._known.move_to_end(path)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return derived


def _shape(header: GGUF) -> ModelShape:
    tensors = ((tensor.name, tensor.type, tensor.shape, tensor.nbytes) for tensor in header.tensors)
    return shape_of(header.metadata, tensors)


def _templates(header: GGUF) -> Templates:
    return Templates(
        _compiled(header.chat_template or None), _compiled(header.metadata.get(_TOOL_TEMPLATE) or None)
    )


def _compiled(source: object) -> ChatTemplate | TemplateError | None:
    if not isinstance(source, str):
        return None
    try:
        return ChatTemplate(source)
    except TemplateError as error:
        return error


def _spec(package: Package, path: Path, derived: _Derived) -> ModelSpec:
    return ModelSpec(
        key="|".join(map(str, (path, *package.adapters))),
        path=str(path),
        architecture=derived.header.architecture,
        shape=derived.shape,
        name=package.name.display,
        payload=package,
    )
