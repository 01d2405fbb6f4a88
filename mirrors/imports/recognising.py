"""Which layout a path has. The first that fits counts; the plain folder of files comes last."""

from pathlib import Path

from mirrors.errors import BadImport
from mirrors.imports.folder import find_file, find_folder
from mirrors.imports.found import Found
from mirrors.imports.huggingface import find_huggingface, huggingface_repositories
from mirrors.imports.lmstudio import find_lmstudio, lmstudio_root
from mirrors.imports.modelscope import find_modelscope, modelscope_repositories
from mirrors.imports.store import find_blobs, find_store, has_blobs, store_root

_MAGIC = b"GGUF"
_INDEX = b"index.json\0"


def find(path: Path) -> Found:
    """Everything to import at a path. Reads names and first bytes only. BadImport."""
    try:
        found = _folder(path) if path.is_dir() else _file(path)
    except OSError as error:
        raise BadImport(f"cannot read {error.filename or path}: {error.strerror}") from error
    if found == Found():
        raise BadImport(
            f"{path} holds no model; GGUF files, archives of 'shim export', and the folders of Ollama, "
            "LM Studio, Hugging Face and ModelScope are understood"
        )
    return found


def _folder(path: Path) -> Found:
    store = store_root(path)
    if store is not None:
        return find_store(store)
    if has_blobs(path):
        return find_blobs(path)
    repositories = huggingface_repositories(path)
    if repositories:
        return find_huggingface(repositories)
    caches = modelscope_repositories(path)
    if caches:
        return find_modelscope(caches)
    publishers = lmstudio_root(path)
    return find_folder(path) if publishers is None else find_lmstudio(publishers)


def _file(path: Path) -> Found:
    if not path.exists():
        raise BadImport(f"{path}: no such file or folder")
    if not path.is_file():
        raise BadImport(f"{path} is neither a file nor a folder")
    with open(path, "rb") as file:
        start = file.read(len(_INDEX))
    if start == _INDEX or path.suffix.lower() == ".tar":
        return Found(archives=(path,))
    if start.startswith(_MAGIC) and path.name.lower().endswith(".gguf"):
        return find_file(path)
    raise BadImport(f"{path} is neither a GGUF file nor an archive made by 'shim export'")
