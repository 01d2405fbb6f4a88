"""The frames between server and worker: every message, cut anywhere, comes out as it went in."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import events
from runtime.errors import WireError
from runtime.options import LoadOptions, SamplingOptions
from runtime.wire import HEADER_BYTES, FrameEncoder, server_decoder, worker_decoder

INFO = events.EngineInfo(
    num_ctx=4096,
    num_parallel=2,
    n_ctx_train=262144,
    n_vocab=248320,
    n_layer=40,
    is_hybrid=True,
    is_recurrent=False,
    can_shift=False,
    bos=-1,
    eos=248046,
    add_bos=False,
    model_bytes=1 << 40,
    device_bytes=0,
    host_bytes=1 << 33,
    extra_buffers=True,
    llama_version="0.5.0",
    load_seconds=1.5,
)
TO_WORKER: list[events.ToWorker] = [
    events.Load(
        path="/m/ö.gguf",
        options=LoadOptions(
            num_ctx=8192, use_mmap=False, kv_overrides={"a.b": 2, "c": True, "d": "x", "e": 1.5}
        ),
        architecture="qwen35moe",
    ),
    events.Submit(id=1, prompt="hello\x00ü", sampling=SamplingOptions(stop=("a", "b"), seed=7)),
    events.Submit(id=2, prompt=[1, 2, 248319], logprobs=20, echo_tokens=True, shift=False, truncate=False),
    events.Cancel(id=2),
    events.Tokenize(id=3, text="a", add_special=False),
    events.Detokenize(id=4, tokens=[]),
    events.Shutdown(),
]
LOGPROB = events.TokenLogprob(token="é", bytes=b"\xc3", logprob=-0.5, top=[("x", b"x", -1.0)])
FROM_WORKER: list[events.FromWorker] = [
    events.Hello(pid=17, engine="fake"),
    events.Progress(fraction=0.25),
    events.Ready(info=INFO),
    events.LoadFailed(kind="bad_model", message="no tensors"),
    events.Token(id=1, text="he\nllo", count=2, logprobs=[LOGPROB]),
    events.Finished(
        id=1, reason="stop", detail="stop_string", stop="a", text="", tokens=[1, 2], prompt_ns=1 << 50
    ),
    events.Failed(id=2, kind="too_long", message="9 tokens"),
    events.Tokens(id=3, tokens=[5]),
    events.Text(id=4, text=""),
    events.Stats(steps=1, decode_ns=2, own_ns=3, active=1),
]
SMALL = FrameEncoder().encode(FROM_WORKER[:2]) + FrameEncoder().encode(FROM_WORKER[4:6])


def test_every_message_to_the_worker_survives() -> None:
    assert worker_decoder().feed(FrameEncoder().encode(TO_WORKER)) == TO_WORKER


def test_every_message_from_the_worker_survives() -> None:
    assert server_decoder().feed(FrameEncoder().encode(FROM_WORKER)) == FROM_WORKER


@pytest.mark.parametrize("cut", range(len(SMALL) + 1))
def test_two_frames_cut_at_every_byte(cut: int) -> None:
    decoder = server_decoder()
    assert decoder.feed(SMALL[:cut]) + decoder.feed(SMALL[cut:]) == FROM_WORKER[:2] + FROM_WORKER[4:6]
    assert decoder.pending_bytes == 0


def test_byte_by_byte() -> None:
    data = b"".join(FrameEncoder().encode([message]) for message in FROM_WORKER)
    decoder = server_decoder()
    assert [m for byte in data for m in decoder.feed(bytes([byte]))] == FROM_WORKER


@settings(max_examples=60, deadline=None)
@given(
    frames=st.lists(st.lists(st.sampled_from(FROM_WORKER), max_size=3), max_size=5),
    cuts=st.lists(st.integers(0, 3000), max_size=8),
    tail=st.integers(0, 20),
)
def test_any_frames_in_any_pieces_and_a_tail(
    frames: list[list[events.FromWorker]], cuts: list[int], tail: int
) -> None:
    data = b"".join(FrameEncoder().encode(frame) for frame in frames)
    rest = FrameEncoder().encode(FROM_WORKER)[:tail]
    whole = data + rest
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    decoder = server_decoder()
    got = [m for a, b in itertools.pairwise(places) for m in decoder.feed(whole[a:b])]
    assert got == [message for frame in frames for message in frame]
    assert decoder.pending_bytes == len(rest)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_garbage_is_a_wire_error_or_incomplete(data: bytes) -> None:
    decoder = worker_decoder(max_frame_bytes=64)
    try:
        decoder.feed(data)
    except WireError:
        return
    assert decoder.pending_bytes <= HEADER_BYTES + 64


def test_a_frame_of_garbage_names_its_size() -> None:
    with pytest.raises(WireError, match="frame of 3 bytes cannot be read"):
        worker_decoder().feed(b"\x00\x00\x00\x03abc")


def test_a_message_of_the_other_direction_is_refused() -> None:
    with pytest.raises(WireError, match="cannot be read"):
        worker_decoder().feed(FrameEncoder().encode([events.Hello(pid=1, engine="fake")]))


def test_announced_size_above_the_limit_is_refused_before_it_arrives() -> None:
    with pytest.raises(WireError, match="frame of 11 bytes exceeds the limit of 10"):
        worker_decoder(max_frame_bytes=10).feed(b"\x00\x00\x00\x0b")


def test_encoder_refuses_what_the_other_end_would_refuse() -> None:
    with pytest.raises(WireError, match="exceeds the limit of 50"):
        FrameEncoder(max_frame_bytes=50).encode([events.Submit(id=1, prompt="x" * 60)])


def test_a_large_frame_in_small_pieces_is_looked_at_twice_only(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = server_decoder()
    looks: list[int] = []
    take = decoder._take

    def counted(data: bytes, messages: list[events.FromWorker]) -> int:
        looks.append(len(data))
        return take(data, messages)

    monkeypatch.setattr(decoder, "_take", counted)
    data = FrameEncoder().encode([events.Tokens(id=1, tokens=list(range(50_000)))])
    got = [m for at in range(0, len(data), 1000) for m in decoder.feed(data[at : at + 1000])]
    assert len(got) == 1
    assert len(looks) == 2


def test_token_frames_stay_small() -> None:
    """One token costs a few bytes more than its text: the tag, the id and the length."""
    assert len(FrameEncoder().encode([events.Token(id=12, text="hello")])) < 24


def test_defaults_are_not_shared_between_instances() -> None:
    first, second = events.Token(id=1, text="a"), events.Token(id=2, text="b")
    assert first.logprobs is not second.logprobs
    with pytest.raises(AttributeError):
        first.text = "c"  # type: ignore[misc]  # that it is frozen is the point
    assert msgspec.structs.replace(first, text="c").text == "c"
