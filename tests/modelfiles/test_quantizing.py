"""Quantising a layer, with an engine that writes what the test wants: blobs, progress, faults."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from modelfiles.create import CreateRequest, Progress, create
from modelfiles.errors import BadGGUF, BlobNotFound, CreateError, QuantizeError
from modelfiles.names import parse_name
from modelfiles.quantizing import NO_DIGEST, Job, Quantizer
from modelfiles.store import Store
from tests.modelfiles.gguf.building import DENSE, I32, U16, U32, gguf

Q8_0 = 7  # general.file_type
SOURCE = gguf({**DENSE, "general.file_type": (U32, 0)})
RESULT = gguf({**DENSE, "general.file_type": (U32, Q8_0)})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


class Engine:
    """Writes `result` and remembers what it was asked."""

    def __init__(self, result: bytes = RESULT, fault: BaseException | None = None) -> None:
        self.jobs: list[Job] = []
        self.sources: list[str] = []
        self._result = result
        self._fault = fault

    def __call__(self, job: Job, done: Callable[[int], None]) -> None:
        self.jobs.append(job)
        self.sources = sorted(path.name for path in job.source.parent.iterdir())
        assert job.source.exists()
        done(64)
        job.target.write_bytes(self._result)
        if self._fault is not None:
            raise self._fault


def make(store: Store, engine: Quantizer | None, **more: object) -> list[Progress]:
    items: list[Progress] = []
    fields: dict[str, object] = {"quantize": "q8_0", **more}
    fields.setdefault("files", {"a.gguf": store.write_blob([SOURCE])})
    create(store, CreateRequest(model="m", **fields), items.append, quantizer=engine)  # type: ignore[arg-type]
    return items


def test_the_model_gets_the_new_weights(store: Store) -> None:
    items = make(store, Engine())
    package = store.load(parse_name("m"))
    assert package.model_path is not None
    assert package.model_path.read_bytes() == RESULT
    assert (package.config.file_type, package.parent_model) == ("Q8_0", "")
    total = 256
    assert items == [
        Progress("parsing GGUF"),
        Progress("quantizing F32 model to Q8_0", NO_DIGEST, total, 64),
        Progress("quantizing F32 model to Q8_0", NO_DIGEST, total, total),
        Progress("verifying conversion"),
        Progress(f"creating new layer {package.model_digest}"),
        Progress("writing manifest"),
        Progress("success"),
    ]


def test_weights_of_a_model_are_quantized_and_the_rest_inherited(store: Store) -> None:
    base = CreateRequest(model="base", files={"a.gguf": store.write_blob([SOURCE])}, system="hi")
    create(store, base, lambda item: None)
    make(store, Engine(), files={}, from_="base")
    package = store.load(parse_name("m"))
    assert (package.system, package.config.file_type) == ("hi", "Q8_0")
    assert [layer.kind for layer in package.layers] == ["model", "system"]
    assert store.load(parse_name("base")).config.file_type == "F32"


def test_the_same_type_is_no_work(store: Store) -> None:
    engine = Engine()
    items = make(store, engine, quantize="F32")
    assert engine.jobs == []
    assert items[1].status.startswith("using existing layer")


def test_the_engine_is_told_everything(store: Store) -> None:
    engine, matrix = Engine(), store.write_blob([b"matrix"])
    make(store, engine, quantize="IQ2_M", imatrix=matrix, tensor_types={"a": "F16"}, allow_requantize=True)
    [job] = engine.jobs
    assert (job.file_type, job.types, job.allow_requantize) == (29, (("a", 1),), True)
    assert job.importance == store.blob_path(matrix)


def test_a_matrix_that_was_not_sent(store: Store) -> None:
    with pytest.raises(BlobNotFound):
        make(store, Engine(), imatrix="sha256:" + "0" * 64)


def test_parts_are_found_by_their_names(store: Store) -> None:
    keys = {"split.count": (U16, 2), "split.tensors.count": (I32, 2)}
    files = {}
    for index in range(2):
        data = gguf(
            {
                **(DENSE if index == 0 else {}),
                **keys,
                "split.no": (U16, index),
                "general.file_type": (U32, 0),
            },
            [(f"t{index}", (32,), 0, 0, 128)],
        )
        files[f"x-0000{index + 1}-of-00002.gguf"] = store.write_blob([data])
    engine = Engine()
    make(store, engine, files=files)
    assert engine.jobs[0].source.name == "model-00001-of-00002.gguf"
    assert engine.sources == ["model-00001-of-00002.gguf", "model-00002-of-00002.gguf"]
    assert [layer.kind for layer in store.load(parse_name("m")).layers] == ["model"]


@pytest.mark.parametrize(
    ("engine", "error"),
    [
        (Engine(fault=KeyboardInterrupt()), KeyboardInterrupt),
        (Engine(RESULT[:-1]), BadGGUF),
        (Engine(b""), BadGGUF),
        (None, CreateError),
    ],
)
def test_faults_leave_nothing_behind(
    store: Store, engine: Quantizer | None, error: type[BaseException]
) -> None:
    store.write_blob([SOURCE])
    before = os.listdir(store.root / "blobs")
    with pytest.raises(error):
        make(store, engine)
    assert os.listdir(store.root / "blobs") == before
    assert store.names() == []


def test_a_wrong_type_is_refused_before_any_work(store: Store) -> None:
    items: list[Progress] = []
    with pytest.raises(QuantizeError):
        create(store, CreateRequest(model="m", from_="absent", quantize="x"), items.append)
    assert items == []


def test_a_draft_has_a_type_of_its_own(store: Store) -> None:
    engine = Engine()
    drafts = {"d.gguf": store.write_blob([SOURCE])}
    make(store, engine, quantize="", draft_files=drafts, draft_quantize="Q8_0")
    package = store.load(parse_name("m"))
    assert [layer.kind for layer in package.layers] == ["model", "draft"]
    assert package.drafts[0].read_bytes() == RESULT
    assert package.model_path is not None
    assert package.model_path.read_bytes() == SOURCE
