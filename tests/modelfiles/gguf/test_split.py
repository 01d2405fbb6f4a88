"""Parts of a split model: their order, what is missing, and the file made of them."""

from collections.abc import Sequence

import pytest

from modelfiles.errors import BadGGUF
from modelfiles.gguf import GGUF, parse_gguf
from modelfiles.gguf.check import check_usable
from modelfiles.gguf.split import is_part_name, order_parts, part_count, part_name, part_stem, whole_header
from tests.modelfiles.gguf.building import ARRAY, DENSE, I32, STRING, U16, Tensor, gguf

TENSORS: list[list[Tensor]] = [
    [("a", (32,), 0, 0, 128), ("b", (33,), 0, 128, 132)],
    [("c", (64, 2), 8, 0, 136)],
    [("d", (32, 1, 2), 0, 0, 256), ("e", (8,), 0, 256, 32)],
]


def parse(raw: bytes) -> GGUF:
    return parse_gguf(lambda at, count: raw[at : at + count], len(raw))


def part(index: int, count: int = 3, tensors: int = 5) -> bytes:
    keys: dict[str, tuple[int, object]] = {
        "split.no": (U16, index),
        "split.count": (U16, count),
        "split.tensors.count": (I32, tensors),
    }
    if index == 0:
        keys = {**DENSE, **keys, "t.words": (ARRAY, (STRING, ["x"] * 400))}
    return gguf(keys, TENSORS[index])


def name(index: int, count: int = 3) -> str:
    return f"dir/x-{index + 1:05}-of-{count:05}.gguf"


def parts(indices: Sequence[int]) -> dict[str, GGUF]:
    return {name(index): parse(part(index)) for index in indices}


def test_orders_the_parts() -> None:
    assert order_parts(parts([2, 0, 1])) == [name(0), name(1), name(2)]
    assert part_stem(name(0)) == "dir/x"


def test_names_the_missing_part() -> None:
    with pytest.raises(BadGGUF, match=r"part 2 of 3 is missing; add dir/x-00002-of-00003\.gguf"):
        order_parts(parts([0, 2]))
    with pytest.raises(BadGGUF, match=r"part 2 of 3 .*x-00002-of-00003\.gguf, dir/x-00003-of-00003\.gguf"):
        order_parts(parts([0]))


@pytest.mark.parametrize("wrong", ["a.gguf", "x-1-of-3.gguf", "x-00001-of-00003.bin"])
def test_says_how_parts_must_be_named(wrong: str) -> None:
    with pytest.raises(BadGGUF, match="must be named NAME-00001-of-0000N"):
        order_parts({wrong: parse(part(0))})


def test_names_that_deny_the_content_are_refused() -> None:
    with pytest.raises(BadGGUF, match=r"split\.no is 1"):
        order_parts({name(0): parse(part(1)), name(1): parse(part(0)), name(2): parse(part(2))})
    with pytest.raises(BadGGUF, match="its name denies"):
        order_parts({name(0, 4): parse(part(0))})
    with pytest.raises(BadGGUF, match="its name denies"):
        order_parts({name(0): parse(part(0)), name(1): parse(part(1, count=2))})


def test_the_whole_is_what_one_file_would_be() -> None:
    header = whole_header([parse(part(index)) for index in range(3)])
    check_usable(header)
    expected = parse(part(0)).metadata
    assert dict(header.metadata) == {
        key: value for key, value in expected.items() if not key.startswith("split.")
    }
    told = [(tensor.name, tensor.shape, tensor.nbytes) for tensor in header.tensors]
    assert told == [(name, shape, nbytes) for tensors in TENSORS for name, shape, _, _, nbytes in tensors]
    assert header.size == sum(len(part(index)) for index in range(3))


def test_parts_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(BadGGUF, match=r"5 tensors, but split\.tensors\.count promises 6"):
        whole_header([parse(part(0, tensors=6)), parse(part(1)), parse(part(2))])
    with pytest.raises(BadGGUF, match="same tensor more than once"):
        whole_header([parse(part(0)), parse(part(0))])


def test_names_of_parts() -> None:
    assert part_name("a/x", 2, 10) == "a/x-00002-of-00010.gguf"
    assert is_part_name(part_name("", 1, 2))
    assert part_count("x-00002-of-00010.gguf") == 10
    assert not is_part_name("x.gguf")
