"""The native engine on real models: the common contract, and what only a real model can show."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.engine import NativeEngine, load_engine
from runtime.errors import LoadError
from runtime.events import Submit
from runtime.options import LoadOptions, SamplingOptions
from tests.runtime.engine_contract import Collector, EngineCase, EngineContract, greedy


def load(path: Path, options: LoadOptions, architecture: str = "llama") -> NativeEngine:
    return load_engine(str(path), architecture, options, lambda _: True)


def chat(question: str) -> str:
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


class TestNativeEngine(EngineContract):
    @pytest.fixture
    def case(self, dense_gguf: Path) -> EngineCase:
        return EngineCase(
            load=lambda options: load(dense_gguf, options),
            prompt=chat("Name three colours."),
            long_prompt="1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
        )


class TestNativeHybrid(EngineContract):
    """The same on a model with recurrent layers, whose sequences cannot be cut at will."""

    @pytest.fixture
    def case(self, tiny_qwen35moe_gguf: Path) -> EngineCase:
        return EngineCase(
            load=lambda options: load(tiny_qwen35moe_gguf, options, "qwen35moe"),
            prompt="The first of many words",
            long_prompt="Once upon a time there was",
        )

    def test_context_shift_goes_on(self, single: Collector, case: EngineCase) -> None:
        """It cannot: a recurrent state can't forget. The end says so instead."""
        [reply] = single.run(Submit(1, case.long_prompt, greedy(300)))
        assert (reply.finished.reason, reply.finished.detail) == ("length", "context")


def test_unreadable_model_is_a_load_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(LoadError) as caught:
        load(path, LoadOptions())
    assert caught.value.kind == "bad_model"


def test_load_can_be_aborted(dense_gguf: Path) -> None:
    with pytest.raises(LoadError) as caught:
        load_engine(str(dense_gguf), "llama", LoadOptions(), lambda fraction: fraction < 0.2)
    assert caught.value.kind == "aborted"


def test_load_reports_progress(dense_gguf: Path) -> None:
    seen: list[float] = []

    def report(fraction: float) -> bool:
        seen.append(fraction)
        return True

    load_engine(str(dense_gguf), "llama", LoadOptions(num_ctx=64), report).close()
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    "options",
    [
        LoadOptions(cache_type_k="q3_k"),
        LoadOptions(cache_type_v="q8_0", flash_attention=False),
        LoadOptions(num_experts_used=0),
        LoadOptions(tensor_overrides={"[": "CPU"}),
        LoadOptions(tensor_overrides={"ffn": "no such device"}),
        LoadOptions(kv_overrides={"k" * 200: 1}),
    ],
)
def test_options_that_would_abort_the_process_are_refused(dense_gguf: Path, options: LoadOptions) -> None:
    with pytest.raises(LoadError) as caught:
        load(dense_gguf, options)
    assert caught.value.kind == "unsupported"


@pytest.mark.parametrize(
    "options",
    [
        LoadOptions(num_ctx=256, cache_type_k="q8_0", cache_type_v="q8_0"),
        LoadOptions(num_ctx=256, use_mmap=False, extra_buffers=False),
        LoadOptions(num_ctx=256, use_mlock=True),
        LoadOptions(num_ctx=256, flash_attention=False, cache_type_k="bf16", cache_type_v="f32"),
        LoadOptions(num_ctx=256, num_gpu=0, cpu_moe=True, tensor_overrides={r"blk\.1\.ffn": "CPU"}),
        LoadOptions(
            num_ctx=256, num_cpu_moe=3, kv_overrides={"general.name": "renamed", "llama.rope.freq_base": 1e5}
        ),
    ],
)
def test_load_options_lead_to_a_working_model(moe_copies_gguf: Path, options: LoadOptions) -> None:
    engine = load(moe_copies_gguf, options)
    [reply] = Collector(engine).run(Submit(1, chat("What is the capital of France?"), greedy(12)))
    engine.close()
    assert "Paris" in reply.text


def test_context_is_clamped_to_the_trained_one(dense_gguf: Path) -> None:
    engine = load(dense_gguf, LoadOptions(num_ctx=1 << 20))
    assert engine.info.num_ctx == engine.info.n_ctx_train == 8192
    engine.close()


def test_seed_zero_is_a_seed(dense_gguf: Path) -> None:
    engine = load(dense_gguf, LoadOptions(num_ctx=256))
    sampling = SamplingOptions(seed=0, temperature=1.5, num_predict=16)
    replies = [Collector(engine).run(Submit(n, "Once", sampling))[0].text for n in (1, 2)]
    engine.close()
    assert replies[0] == replies[1]


def test_repeat_penalty_is_applied(dense_gguf: Path) -> None:
    """A sentence that was said before is finished by the same word; a strong penalty forbids it."""
    engine = load(dense_gguf, LoadOptions(num_ctx=256))
    prompt = "The cat sat on the mat. The cat sat on the mat. The cat sat on the"
    penalised = SamplingOptions(temperature=0, num_predict=6, repeat_penalty=8.0)
    [plain, other] = Collector(engine).run(Submit(1, prompt, greedy(6)), Submit(2, prompt, penalised))
    engine.close()
    assert "mat" in plain.text
    assert "mat" not in other.text


def test_long_prompt_does_not_stop_a_running_stream(dense_gguf: Path) -> None:
    """While a prompt of thousands of tokens is evaluated, the other slot keeps producing tokens."""
    engine = load(dense_gguf, LoadOptions(num_ctx=4096, num_parallel=2))
    collector = Collector(engine)
    collector.submit(Submit(1, "1 2 3 4 5 6 7 8", greedy(2000)))
    collector.wait_until(lambda: len(collector.replies[1].tokens) > 5)
    before = len(collector.replies[1].tokens)
    collector.submit(Submit(2, "word " * 3000, greedy(1)))
    collector.wait_until(lambda: collector.replies[2].end is not None)
    during = len(collector.replies[1].tokens) - before
    engine.cancel(1)
    collector.wait_until(lambda: collector.replies[1].end is not None)
    engine.close()
    assert during >= 3000 / 512  # more than one token for each chunk of a full batch
