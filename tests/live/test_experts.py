"""Mixtures of experts with known right outputs, on the real engine.

The models are rewritten from SmolLM2 (see `demo/upcycle.py`): copies of the whole network must say what the
dense model says however many experts run, slices of it only with all of them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from runtime.engine import NativeEngine, load_engine
from runtime.events import Finished, Submit, Token
from runtime.options import LoadOptions, SamplingOptions
from tests.live.jobs import generate, text_of
from tests.live.server import ShimServer

pytestmark = [pytest.mark.live, pytest.mark.slow]

PROMPTS = [
    "Once upon a time",
    "The three most important things in life are",
    "def fibonacci(n):\n",
]
TEXT = "Once upon a time, the city of Nova Haven was a thriving metropolis, with towering skyscrapers."

# How far logits may lie apart when the same sums are added up in another order. The engine rounds the input
# of every matrix product to 8 bits a block; a last-bit difference before that moves some of these roundings
# by a whole step, and thirty layers carry that on. The dense model differs from itself by about 1 (largest of
# 49,152 logits, which spread over more than 30) when a prompt is evaluated token by token instead of at once,
# and so does the sum of the four slices. Leaving out half of the slices moves logits by more than 30.
ROUNDING = 4.0


@contextmanager
def engine_on(path: Path, experts: int | None = None) -> Iterator[NativeEngine]:
    options = LoadOptions(num_ctx=512, num_experts_used=experts)
    engine = load_engine(str(path), "llama", options, lambda fraction: True)
    try:
        yield engine
    finally:
        engine.close()


def greedy(engine: NativeEngine, prompt: str, tokens: int = 48) -> str:
    engine.submit(Submit(1, prompt, SamplingOptions(temperature=0, num_predict=tokens)))
    text = ""
    while True:
        for event in engine.wait_events(60):
            assert isinstance(event, Token | Finished), event
            text += event.text
            if isinstance(event, Finished):
                return text


def greedy_texts(path: Path, experts: int | None = None) -> list[str]:
    with engine_on(path, experts) as engine:
        return [greedy(engine, prompt) for prompt in PROMPTS]


def logits(path: Path, experts: int | None = None) -> npt.NDArray[np.float32]:
    with engine_on(path, experts) as engine:
        return np.array(engine.logits(engine.tokenize(TEXT, True)), np.float32)


@pytest.fixture(scope="module")
def dense_texts(dense_gguf: Path) -> list[str]:
    return greedy_texts(dense_gguf)


@pytest.fixture(scope="module")
def dense_logits(dense_gguf: Path) -> npt.NDArray[np.float32]:
    return logits(dense_gguf)


@pytest.mark.parametrize("experts", [1, 2, 4])
def test_copies_say_what_the_dense_model_says(
    moe_copies_gguf: Path, dense_texts: list[str], experts: int
) -> None:
    assert greedy_texts(moe_copies_gguf, experts) == dense_texts


@pytest.mark.parametrize("experts", [None, 1, 3, 4])
def test_copies_have_the_dense_models_logits(
    moe_copies_gguf: Path, dense_logits: npt.NDArray[np.float32], experts: int | None
) -> None:
    assert np.abs(logits(moe_copies_gguf, experts) - dense_logits).max() <= ROUNDING


def test_all_slices_together_are_the_dense_model(
    moe_split_gguf: Path, dense_logits: npt.NDArray[np.float32]
) -> None:
    difference = np.abs(logits(moe_split_gguf) - dense_logits)
    assert difference.max() <= ROUNDING
    assert difference.mean() <= ROUNDING / 8


@pytest.mark.parametrize("experts", [1, 2, 3])
def test_fewer_slices_are_another_model(
    moe_split_gguf: Path, dense_logits: npt.NDArray[np.float32], experts: int
) -> None:
    assert np.abs(logits(moe_split_gguf, experts) - dense_logits).max() > 4 * ROUNDING


def test_half_of_the_slices_say_something_else(moe_split_gguf: Path, dense_texts: list[str]) -> None:
    assert all(
        half != whole for half, whole in zip(greedy_texts(moe_split_gguf, 2), dense_texts, strict=True)
    )


@pytest.fixture
def ask(server: ShimServer) -> Callable[[str], str]:
    def answer(model: str) -> str:
        status, body = server.call("POST", "/api/generate", generate(model, PROMPTS[0], num_predict=48))
        assert status == 200, body
        return text_of([body])

    return answer


def test_the_modelfile_chooses_the_number_of_experts(
    server: ShimServer, moe_copies_gguf: Path, moe_split_gguf: Path, ask: Callable[[str], str]
) -> None:
    dense = ask("dense")
    for experts in (1, 2, 4):
        server.create(f"copies:{experts}", moe_copies_gguf, f"PARAMETER num_experts_used {experts}")
        assert ask(f"copies:{experts}") == dense
    server.create("split:2", moe_split_gguf, "PARAMETER num_experts_used 2")
    assert ask("split:2") != dense


def test_a_request_chooses_the_number_of_experts(server: ShimServer, moe_split_gguf: Path) -> None:
    server.create("split", moe_split_gguf)
    texts = {}
    for experts in (4, 2):
        body = generate("split", PROMPTS[0], num_predict=24, num_experts_used=experts)
        status, answer = server.call("POST", "/api/generate", body)
        assert status == 200, answer
        texts[experts] = text_of([answer])
    assert texts[4] != texts[2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [("PARAMETER num_experts_used 5", "4"), ("PARAMETER num_experts_used 0", "1")],
)
def test_an_impossible_number_is_refused(
    server: ShimServer, moe_copies_gguf: Path, line: str, reason: str
) -> None:
    (server.home / "Modelfile.bad").write_text(f"FROM {moe_copies_gguf}\n{line}\n")
    refused = server.cli("create", "bad", "-f", str(server.home / "Modelfile.bad"), check=False)
    assert refused.returncode != 0
    assert "num_experts_used" in refused.stderr
    assert reason in refused.stderr
    assert "bad" not in server.cli("list").stdout


def test_a_dense_model_has_no_experts_to_choose(server: ShimServer, dense_gguf: Path) -> None:
    (server.home / "Modelfile.bad").write_text(f"FROM {dense_gguf}\nPARAMETER num_experts_used 2\n")
    refused = server.cli("create", "bad", "-f", str(server.home / "Modelfile.bad"), check=False)
    assert refused.returncode != 0
    assert "num_experts_used" in refused.stderr


def test_a_wrong_num_experts_warns_with_the_true_number(server: ShimServer, moe_copies_gguf: Path) -> None:
    (server.home / "Modelfile.warn").write_text(f"FROM {moe_copies_gguf}\nPARAMETER num_experts 32\n")
    created = server.cli("create", "warned", "-f", str(server.home / "Modelfile.warn"))
    said = created.stdout + created.stderr
    assert "32" in said
    assert "4" in said
