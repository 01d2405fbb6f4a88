"""Text on its way out of the engine: any pieces give the same text, cut at the first stop string, never in
a character.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from runtime.binding.library import ffi, lib


def push_all(pieces: Sequence[bytes], stops: Sequence[bytes]) -> tuple[list[bytes], bytes | None]:
    """What goes out piece by piece, the remainder last; and the stop string that was met."""
    encoded = [ffi.new("char[]", stop) for stop in stops]
    text = ffi.new("shim_text *")
    pointers = ffi.new("char *[]", encoded or 1)
    text.stops, text.n_stops = pointers, len(stops)
    text.longest_stop = max(map(len, stops), default=0)
    found = ffi.new("int32_t *")
    items = []
    for piece in pieces:
        ready = lib.shim_text_push(text, piece, len(piece), found)
        items.append(bytes(ffi.buffer(text.pending.data, ready)) if ready else b"")
        lib.shim_text_take(text, ready)
        if found[0] >= 0:
            return items, stops[found[0]]
    if text.pending.length:
        items.append(bytes(ffi.buffer(text.pending.data, text.pending.length)))
    return items, None


def cut(data: bytes, at: Sequence[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(min(place, len(data)) for place in at)})
    return [data[a:b] for a, b in itertools.pairwise(edges)]


WORDS = st.text(alphabet="ab<|é日🙂 ", max_size=30)
PLACES = st.lists(st.integers(0, 120), max_size=40)


@given(WORDS, PLACES)
def test_without_stops_all_goes_out_and_no_character_is_split(word: str, places: list[int]) -> None:
    items, stop = push_all(cut(word.encode(), places), [])
    assert b"".join(items) == word.encode()
    assert stop is None
    for item in items:
        item.decode()  # every item is whole characters


@given(WORDS, PLACES, st.lists(st.text(alphabet="ab<|é", min_size=1, max_size=4), min_size=1, max_size=3))
def test_cut_at_the_first_stop_string_whatever_the_pieces(
    word: str, places: list[int], stops: list[str]
) -> None:
    data, encoded = word.encode(), [stop.encode() for stop in stops]
    items, stop = push_all(cut(data, places), encoded)
    ends = [data.find(item) for item in encoded if item in data]
    joined = b"".join(items)
    if not ends:
        assert (joined, stop) == (data, None)
    else:
        # With bytes coming one by one, the stop string that is complete first wins; nothing of it goes out.
        assert stop in encoded
        assert joined == data[: len(joined)]
        assert data[len(joined) :].startswith(stop)
        assert not any(item in joined for item in encoded)


@given(st.binary(max_size=60), PLACES)
def test_bytes_that_are_no_text_pass(data: bytes, places: list[int]) -> None:
    items, _ = push_all(cut(data, places), [])
    assert b"".join(items) == data


@given(st.text(alphabet="xyzé", max_size=20), PLACES)
def test_an_unfinished_stop_string_is_released_at_the_end(word: str, places: list[int]) -> None:
    data = word.encode() + b"<|im_"
    items, stop = push_all(cut(data, places), [b"<|im_end|>"])
    assert (b"".join(items), stop) == (data, None)
    assert items[-1] == b"<|im_"
