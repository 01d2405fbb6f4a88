"""Which files of a hub's repository a tag means: weights, their further parts, a projector, texts. Pure.

A tag is a quantisation or a file's name, in any case. It must fit whole words of a file's name: `F16` is not
in `BF16`, nor `Q4_K` in `Q4_K_M`. Where more than one file fits, none is guessed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os.path import commonprefix

from mirrors.errors import BadAnswer, NoChoice

# A quantisation as files are named after it: Q4_K_M, IQ2_XXS, UD-Q4_K_XL, BF16, MXFP4_MOE, TQ1_0 …
_QUANTISATION = re.compile(
    r"(?:UD-)?(?:I?Q\d+_(?:K(?:_(?:XXS|XS|S|M|L|XL|XXL))?|XXS|XS|S|M|NL|XL|[01])(?:_\d+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4"
    r"|BF16|F16|F32|FP16|FP32|FP8)",
    re.IGNORECASE,
)
_EDGE = r"[-._ ]"
_PART = re.compile(r"^(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$", re.IGNORECASE)
_DRAFT = re.compile(r"^(?:mtp|eagle\d?|dflash|draft)-", re.IGNORECASE)
_PREFERRED = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "Q8_0")
_PROJECTOR_ORDER = ("F16", "BF16", "Q8_0", "F32")
_LICENCES = re.compile(r"^(?:licen[cs]e|copying)(?:\.(?:md|txt))?$", re.IGNORECASE)
_RESERVED = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$", re.IGNORECASE)
_TEXT_BYTES = 1 << 20
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file in a repository. `size` is None where the list does not say; `sha256` is 64 hex digits or ""."""

    path: str
    size: int | None = None
    sha256: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files that make one model. `model` has all parts in order; `texts` are by what they are for."""

    model: tuple[RemoteFile, ...]
    projector: RemoteFile | None
    texts: tuple[tuple[str, RemoteFile], ...]

    @property
    def files(self) -> tuple[RemoteFile, ...]:
        return (*(file for _, file in self.texts), *([self.projector] if self.projector else ()), *self.model)


def choose(files: Sequence[RemoteFile], tag: str | None) -> Chosen:
    """What a tag (None: none was given) means in this list. Raises NoChoice with what there is."""
    candidates = [file for file in files if is_weights(file)]
    if not candidates:
        raise NoChoice("the repository has no GGUF file; it may have a sister whose name ends in -GGUF")
    first = _named(candidates, tag) if tag else _usual(candidates)
    return Chosen(_parts(first, files), _projector(first, files), tuple(_texts(files)))


def is_weights(file: RemoteFile) -> bool:
    """Whether a file is a model by itself, or the first part of one."""
    name = file.name.lower()
    if not name.endswith(".gguf") or name.startswith("mmproj") or "-mmproj" in name or "imatrix" in name:
        return False
    part = _PART.match(file.name)
    return not _DRAFT.match(name) and (part is None or int(part["number"]) == 1)


def quantisation(file_name: str) -> str:
    """The quantisation that a file is named after, or "": the last one, as that stands behind the model."""
    stem = _stem(file_name)
    found = [match[0] for match in re.finditer(rf"(?:(?<={_EDGE})|^){_QUANTISATION.pattern}(?={_EDGE}|$)",
                                               stem, re.IGNORECASE)]  # fmt: skip
    return found[-1] if found else ""


def check_list(files: Iterable[RemoteFile]) -> None:
    """Raise BadAnswer for a list with a path that could lead anywhere else, or the same path twice."""
    seen: set[str] = set()
    for file in files:
        if not is_plain_path(file.path):
            raise BadAnswer(f"lists a file with an unsafe path: {file.path!r:.120}")
        folded = file.path.casefold()
        if folded in seen:
            raise BadAnswer(f"lists {file.path!r:.120} twice")
        seen.add(folded)


def is_plain_path(path: str) -> bool:
    """Whether a path only leads downwards, on any system."""
    if any(ord(char) < 0x20 or char in '\\:\x7f*?"<>|' for char in path):
        return False
    return all(
        part not in ("", ".", "..")
        and not part.endswith((".", " "))
        and len(part.encode("utf-8", "replace")) <= 255
        and not _RESERVED.match(part)
        for part in path.split("/")
    )


def _named(candidates: list[RemoteFile], tag: str) -> RemoteFile:
    wanted = tag.lower()
    exact = [file for file in candidates if wanted in (file.path.lower(), file.name.lower())]
    exact = exact or [file for file in candidates if file.name.lower() == f"{wanted}.gguf"]
    if exact:
        return _only(exact, tag, candidates)
    if wanted == "latest":
        return _usual(candidates)
    by_quantisation = [file for file in candidates if quantisation(file.name).lower() == wanted]
    if not by_quantisation:
        by_quantisation = [file for file in candidates if quantisation(file.folder).lower() == wanted]
    return _only(by_quantisation or _by_label(candidates, wanted), tag, candidates)


def _by_label(candidates: list[RemoteFile], wanted: str) -> list[RemoteFile]:
    """For makers' own names: what is left of one behind what all have in common; else words of it."""
    stems = [_stem(file.name).lower() for file in candidates]
    common = re.sub(r"[^-._ ]*$", "", commonprefix(stems)) if len(stems) > 1 else ""  # noqa: RUF071  no paths
    labelled = [file for file, stem in zip(candidates, stems, strict=True) if stem[len(common) :] == wanted]
    if labelled:
        return labelled
    words = re.compile(rf"(?:(?<={_EDGE})|^){re.escape(wanted)}(?={_EDGE}|$)")
    found = [file for file, stem in zip(candidates, stems, strict=True) if words.search(stem)]
    return [file for file in found if not _inside_another(file.name, wanted)]


def _inside_another(name: str, wanted: str) -> bool:
    """Whether the words are a piece of the file's quantisation, such as Q4_K of Q4_K_M."""
    found = quantisation(name).lower()
    return found != wanted and wanted in found


def _only(found: list[RemoteFile], tag: str, candidates: list[RemoteFile]) -> RemoteFile:
    if len(found) == 1:
        return found[0]
    if found:
        raise NoChoice(f"more than one file fits {tag!r:.90}: {_shown(found)}; name one of them")
    raise NoChoice(f"no file fits {tag!r:.90}; there are: {_shown(candidates)}")


def _usual(candidates: list[RemoteFile]) -> RemoteFile:
    """Q4_K_M, else another one of four bits, else Q8_0, else the only one."""
    by_name: dict[str, list[RemoteFile]] = {}
    for file in candidates:
        by_name.setdefault(quantisation(file.name).upper().removeprefix("UD-"), []).append(file)
    four_bits = sorted(name for name in by_name if name.startswith("Q4_"))
    for name in (*_PREFERRED[:-1], *four_bits, _PREFERRED[-1]):
        if name in by_name:
            plain = [file for file in by_name[name] if not quantisation(file.name).upper().startswith("UD-")]
            return _only(plain or by_name[name], name, candidates)
    if len(candidates) == 1:
        return candidates[0]
    raise NoChoice(f"nothing says which file is meant; name one behind a colon: {_shown(candidates)}")


def _parts(first: RemoteFile, files: Sequence[RemoteFile]) -> tuple[RemoteFile, ...]:
    match = _PART.match(first.name)
    if match is None:
        return (first,)
    count, width = int(match["count"]), match["count"]
    by_path = {file.path: file for file in files}
    prefix = f"{first.folder}/" if first.folder else ""
    ending = first.name[-len(".gguf") :]
    wanted = [f"{prefix}{match['stem']}-{number:05}-of-{width}{ending}" for number in range(1, count + 1)]
    missing = [path for path in wanted if path not in by_path]
    if missing or not count:
        raise NoChoice(f"parts of {first.path} are missing: {', '.join(missing)[:300]}")
    return tuple(by_path[path] for path in wanted)


def _projector(first: RemoteFile, files: Sequence[RemoteFile]) -> RemoteFile | None:
    """Of the same folder, else of the nearest one above."""
    found = [
        file for file in files if file.name.lower().endswith(".gguf") and "mmproj" in file.name.lower()
    ]
    folder = first.folder
    while True:
        here = [file for file in found if file.folder == folder]
        if here:
            return min(here, key=_projector_rank)
        if not folder:
            return None
        folder = folder.rpartition("/")[0]


def _projector_rank(file: RemoteFile) -> tuple[int, str]:
    name = quantisation(file.name).upper().replace("FP", "F")
    return (_PROJECTOR_ORDER.index(name) if name in _PROJECTOR_ORDER else len(_PROJECTOR_ORDER), file.path)


def _texts(files: Sequence[RemoteFile]) -> Iterable[tuple[str, RemoteFile]]:
    """Files at the top of the repository that Ollama's bridge takes too, and the licence."""
    for file in files:
        if file.folder or (file.size or 0) > _TEXT_BYTES:
            continue
        if file.name in ("template", "system", "params"):
            yield file.name, file
        elif _LICENCES.match(file.name):
            yield "license", file


def _stem(file_name: str) -> str:
    part = _PART.match(file_name)
    return part["stem"] if part else file_name.removesuffix(".gguf").removesuffix(".GGUF")


def _shown(files: list[RemoteFile]) -> str:
    names = [file.path for file in files]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
