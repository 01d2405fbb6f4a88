"""The GGUF reader: what it reads, and that a file cannot lie to it."""

import os
import random
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.errors import BadGGUF
from modelfiles.gguf import GGUF, ArrayInfo, parse_gguf, read_gguf
from modelfiles.gguf.check import check_usable
from modelfiles.gguf.types import FILE_TYPES, SCALAR_TYPES, TENSOR_TYPES
from tests.modelfiles.gguf import building
from tests.modelfiles.gguf.building import (
    ARRAY,
    BOOL,
    DENSE,
    F32,
    I32,
    STRING,
    U8,
    U16,
    U32,
    U64,
    gguf,
    key,
    weights,
)


def parse(raw: bytes, *, arrays: bool = False, size: int | None = None) -> GGUF:
    return parse_gguf(
        lambda at, count: raw[at : at + count], len(raw) if size is None else size, arrays=arrays
    )


def test_reads_every_kind_of_value() -> None:
    metadata: dict[str, tuple[int, object]] = {
        "a.u8": (U8, 200),
        "a.u16": (U16, 60_000),
        "a.i32": (I32, -5),
        "a.f32": (F32, 0.5),
        "a.yes": (BOOL, True),
        "a.text": (STRING, "käse 火"),
        "a.u64": (U64, 1 << 40),
        "a.layers": (ARRAY, (U32, [1, 0, 2])),
        "a.flags": (ARRAY, (BOOL, [True, False])),
        "a.words": (ARRAY, (STRING, ["x", ""])),
        "a.none": (ARRAY, (I32, [])),
    }
    header = parse(gguf(metadata))
    expected = {name: content for name, (kind, content) in metadata.items() if kind != ARRAY}
    expected |= {"a.layers": (1, 0, 2), "a.flags": (True, False), "a.words": ("x", ""), "a.none": ()}
    assert dict(header.metadata) == expected


def test_reads_tensors_and_derives_facts() -> None:
    header = parse(gguf(DENSE, [("token_embd.weight", (64, 3), 8, 0, 204), ("norm", (32,), 0, 224, 128)]))
    assert [(t.name, t.type, t.shape, t.offset, t.nbytes) for t in header.tensors] == [
        ("token_embd.weight", "Q8_0", (64, 3), 0, 204),
        ("norm", "F32", (32,), 224, 128),
    ]
    assert header.data_offset % 32 == 0
    assert header.data_offset + 224 + 128 == header.size
    assert (header.architecture, header.file_type, header.parameter_count) == ("llama", "Q4_K_M", 224)
    assert header.count("block_count") == 1
    assert header.count("expert_count") == 0


def test_spans_are_the_records_of_the_keys() -> None:
    raw = gguf()
    header = parse(raw)
    start, end = header.spans["llama.block_count"]
    assert raw[start:end] == key("llama.block_count", U32, 1)


def test_long_arrays_are_kept_only_when_asked_for() -> None:
    tokens = [f"token {index}" for index in range(5000)]
    raw = gguf({**DENSE, "t.tokens": (ARRAY, (STRING, tokens)), "t.scores": (ARRAY, (F32, [0.5] * 5000))})
    assert parse(raw).metadata["t.tokens"] == ArrayInfo("string", 5000)
    assert parse(raw).metadata["t.scores"] == ArrayInfo("float32", 5000)
    assert parse(raw, arrays=True).metadata["t.tokens"] == tuple(tokens)
    assert parse(raw, arrays=True).metadata["t.scores"] == (0.5,) * 5000
    assert parse(raw).tensors == parse(raw, arrays=True).tensors


def test_strings_longer_than_the_buffer_are_stepped_over() -> None:
    words = ["x" * (1 << 21), "y", "z" * (1 << 20)]
    raw = gguf({"long": (ARRAY, (STRING, [*words, *["w"] * 300, *words])), **DENSE})
    assert parse(raw).architecture == "llama"


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert parse(gguf({"bad": (STRING, b"a\xffb")})).metadata["bad"] == "a\ufffdb"


def test_the_type_tables_agree_with_the_reference_package() -> None:
    constants = pytest.importorskip("gguf.constants")
    for number, (block, nbytes) in constants.GGML_QUANT_SIZES.items():
        # the package still has the size that Q8_1 had before its scale became a half
        if number.name != "Q8_1":
            ours = TENSOR_TYPES[number.value]
            assert (ours.name, ours.block_size, ours.block_bytes) == (number.name, block, nbytes)
    for number in constants.LlamaFileType:
        if number.name != "GUESSED":
            name = number.name.removeprefix("ALL_").removeprefix("MOSTLY_").removesuffix("_MOE")
            assert FILE_TYPES[number.value] == name
    assert {kind.name for kind in constants.GGUFValueType} == {
        *(kind.name.upper() for kind in SCALAR_TYPES.values()), "STRING", "ARRAY",
    }  # fmt: skip


HUGE = 1 << 62
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "only 0 bytes"),
    "magic": (b"GGML" + gguf()[4:], "not a GGUF file"),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    "zip": (b"PK\x03\x04" + bytes(100), "zip"),
    "version 1": (gguf(version=1), "version 1"),
    "version 4": (gguf(version=4), "version 4"),
    "version 0": (gguf(version=0), "version 0"),
    "big-endian": (gguf(version=0x03000000), r"big-endian GGUF \(version 3\)"),
    "only magic": (b"GGUF", "truncated"),
    "key count": (gguf(key_count=HUGE), "keys, more than"),
    "key count, one too many": (gguf(tensors=[], key_count=len(DENSE) + 1, data=b""), "key 9 of 9"),
    "tensor count": (gguf(tensor_count=HUGE), "tensors, more than"),
    "tensor count, one too many": (gguf(tensor_count=3, data=b""), "tensor 3 of 3"),
    "key length": (gguf([struct.pack("<Q", HUGE) + b"k"]), "string of 4611686018427387904 bytes"),
    "key too long": (gguf([key("k" * 70_000, U8, 1)]), "at most 65535"),
    "empty key": (gguf([key("", U8, 1)]), "key 1 of 1 is empty"),
    "same key twice": (gguf([key("k", U8, 1)] * 2), "'k' is there twice"),
    "value type": (gguf([building.string("k") + struct.pack("<IQ", 13, 1)]), "unknown value type 13"),
    "string length": (
        gguf([building.string("k") + struct.pack("<IQ", STRING, HUGE)]),
        "string of 46116860184",
    ),
    "array type": (gguf([building.string("k") + struct.pack("<IIQ", ARRAY, 99, 1)]), "unknown value type 99"),
    "array count": (
        gguf([building.string("k") + struct.pack("<IIQ", ARRAY, U8, HUGE)]),
        "more than the file",
    ),
    "array count of strings": (
        gguf([building.string("k") + struct.pack("<IIQ", ARRAY, STRING, HUGE)]),
        "has room",
    ),
    "array of arrays": (gguf({"k": (ARRAY, (ARRAY, [(U8, [1])]))}), "array of arrays"),
    "alignment 0": (gguf({"general.alignment": (U32, 0)}), "power of two"),
    "alignment 48": (gguf({"general.alignment": (U32, 48)}), "power of two"),
    "alignment text": (gguf({"general.alignment": (STRING, "32")}), "whole number"),
    "alignment huge": (gguf({"general.alignment": (U64, 1 << 63)}), "power of two"),
    "tensor name": (gguf(tensors=[("n" * 64, (32,), 0, 0, 128)]), "at most 63"),
    "tensor without a name": (gguf(tensors=[("", (32,), 0, 0, 128)]), "empty name"),
    "same tensor twice": (
        gguf(tensors=[("a", (32,), 0, 0, 128), ("a", (32,), 0, 128, 128)]),
        "'a' is there twice",
    ),
    "five dimensions": (gguf(tensors=[("a", (1, 1, 1, 1, 1), 0, 0, 4)]), "5 dimensions"),
    "dimensions overflow": (gguf(tensors=[("a", (1 << 32, 1 << 32), 0, 0, 4)]), "too large"),
    "one dimension overflows": (gguf(tensors=[("a", (1 << 63,), 0, 0, 4)]), "too large"),
    "tensor type": (gguf(tensors=[("a", (32,), 43, 0, 128)]), "unknown type 43"),
    "removed type": (gguf(tensors=[("a", (32,), 31, 0, 128)]), "Q4_0_4_4"),
    "block": (gguf(tensors=[("a", (33,), 2, 0, 128)]), "no multiple of 32"),
    "outside": (gguf(tensors=[("a", (64,), 0, 0, 256)], data=bytes(255)), "truncated"),
    "offset outside": (
        gguf(tensors=[("a", (32,), 0, HUGE, 0)], data=bytes(128)),
        "reaches to byte 46116860184",
    ),
    "misaligned": (gguf(tensors=[("a", (32,), 0, 8, 128)]), "not aligned to 32"),
    "overlap": (gguf(tensors=[("a", (32,), 0, 0, 128), ("b", (32,), 0, 96, 128)]), "'a' and 'b' overlap"),
}


@pytest.mark.parametrize("case", BAD)
def test_refuses(case: str) -> None:
    raw, message = BAD[case]
    with pytest.raises(BadGGUF, match=message):
        parse(raw)


@pytest.mark.parametrize("arrays", [False, True])
def test_every_truncation_is_an_error(arrays: bool) -> None:
    raw = gguf({**DENSE, "t.words": (ARRAY, (STRING, ["ab"] * 300))})
    for end in range(len(raw)):
        with pytest.raises(BadGGUF):
            parse(raw[:end], arrays=arrays)


@given(st.data())
def test_a_damaged_header_is_read_or_refused(data: st.DataObject) -> None:
    """Bytes of a true header are changed, cut out or doubled; nothing but BadGGUF may come of it."""
    raw = bytearray(gguf({**building.MIXTURE, "t.words": (ARRAY, (STRING, ["ab"] * 300))}, weights(3)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        new = data.draw(
            st.binary(max_size=9) | st.sampled_from([b"\xff" * 8, b"\0" * 8, struct.pack("<Q", HUGE)])
        )
        raw[at : at + data.draw(st.integers(0, 9))] = new
    try:
        header = parse(bytes(raw), arrays=data.draw(st.booleans()))
        check_usable(header)
    except BadGGUF:
        return
    assert all(header.data_offset + t.offset + t.nbytes <= len(raw) for t in header.tensors)


def _sparse(path: Path, header: bytes, size: int) -> Path:
    path.write_bytes(header)
    os.truncate(path, size)
    return path


@pytest.mark.parametrize(
    ("record", "arrays"),
    [
        (struct.pack("<IIQ", ARRAY, U8, 18 << 30), True),
        (struct.pack("<IIQ", ARRAY, U64, 2 << 30), True),
        (struct.pack("<IIQ", ARRAY, STRING, 2 << 30), True),
        (struct.pack("<IIQ", ARRAY, STRING, 1 << 30), False),
        (struct.pack("<IQ", STRING, 19 << 30), False),
    ],
)
def test_memory_is_bounded_whatever_a_large_file_claims(tmp_path: Path, record: bytes, arrays: bool) -> None:
    """The file has 20 GB, so no claim is larger than the file: only the limits protect."""
    raw = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + building.string("k") + record
    path = _sparse(tmp_path / "hostile.gguf", raw, 20 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(BadGGUF):
            read_gguf(path, arrays=arrays)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_many_keys_and_tensors_are_refused_before_they_are_read(tmp_path: Path) -> None:
    raw = struct.pack("<4sIQQ", b"GGUF", 3, 1 << 24, 0)
    with pytest.raises(BadGGUF, match="tensors, more than"):
        read_gguf(_sparse(tmp_path / "tensors.gguf", raw, 20 << 30))
    raw = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1 << 24)
    with pytest.raises(BadGGUF, match="keys, more than"):
        read_gguf(_sparse(tmp_path / "keys.gguf", raw, 20 << 30))


@pytest.mark.slow
def test_a_vocabulary_of_250000_tokens_is_passed_without_being_kept(tmp_path: Path) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefgh", k=chance.randrange(1, 12))) for _ in range(250_000)]
    metadata = {**DENSE, "t.tokens": (ARRAY, (STRING, words)), "t.merges": (ARRAY, (STRING, words))}
    nbytes = 19 << 30
    raw = gguf(metadata, [("big", (nbytes // 4,), 0, 0, nbytes)], data=b"")
    path = _sparse(tmp_path / "large.gguf", raw, len(raw) + nbytes)
    tracemalloc.start()
    try:
        header = read_gguf(path)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert header.parameter_count == nbytes // 4


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe):
        with pytest.raises(BadGGUF, match="not a regular file"):
            read_gguf(path)
    with pytest.raises(FileNotFoundError):
        read_gguf(tmp_path / "absent.gguf")


def test_a_file_that_shrinks_while_it_is_read_is_refused() -> None:
    raw = gguf()
    with pytest.raises(BadGGUF, match="shorter meanwhile"):
        parse(raw[:60], size=len(raw))
