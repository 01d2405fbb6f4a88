"""LM Studio's folder of models: exactly `<publisher>/<repository>/<file>.gguf`."""

from pathlib import Path

from mirrors.choice import quantisation
from mirrors.imports.folder import models_in
from mirrors.imports.found import Found, Skipped, joined
from mirrors.imports.naming import hub_name
from mirrors.imports.walking import walk


def lmstudio_root(path: Path) -> Path | None:
    """The folder of publishers, if this is one or the home that holds one."""
    for root in (path, path / "models"):
        weights = [file for file in root.glob("*/*/*.gguf") if not file.name.startswith(".")]
        if weights and not any(root.glob("*.gguf")) and not any(root.glob("*/*.gguf")):
            return root
    return None


def find_lmstudio(root: Path) -> Found:
    """Every model in the folder of publishers."""
    files, skipped = walk(root)
    fitting = [file for file in files if len(file.path.relative_to(root).parts) == 3]
    found = models_in(fitting, "LM Studio", _name, root)
    other = [
        Skipped(str(folder), "safetensors files, which cannot be used; there may be a sister as GGUF")
        for folder in sorted({file.path.parent for file in files if file.path.suffix == ".safetensors"})
    ]
    return joined([found, Found(skipped=(*skipped, *other))])


def _name(path: Path) -> tuple[str, str]:
    return hub_name(path.parent.parent.name, path.parent.name), quantisation(path.name)
