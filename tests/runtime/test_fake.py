"""The fake engine keeps the engines' contract, and does what its scripts say."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.engine_protocol import EngineLoader
from runtime.errors import LoadError
from runtime.events import Submit
from runtime.fake import FakeEngine, load_fake_engine
from runtime.fake_script import read_script
from runtime.options import Constraint, LoadOptions
from tests.runtime.engine_contract import Collector, EngineCase, EngineContract, greedy


def load(options: LoadOptions) -> FakeEngine:
    return load_fake_engine("/nowhere/model.gguf", "llama", options, lambda fraction: True)


class TestFakeEngine(EngineContract):
    @pytest.fixture
    def case(self) -> EngineCase:
        return EngineCase(load=load, prompt="Once upon a time", long_prompt="[[fake:forever]] tell me")


def test_it_has_the_loader_s_signature() -> None:
    loader: EngineLoader = load_fake_engine
    assert loader is load_fake_engine


def test_say_gives_exactly_that_text() -> None:
    engine = load(LoadOptions())
    [reply] = Collector(engine).run(Submit(1, "x [[fake:say]]<think>é</think>\n{}[[fake:end]] y", greedy()))
    assert reply.text == "<think>é</think>\n{}"
    assert reply.finished.detail == "eos"
    engine.close()


def test_fail_fails_the_request_alone() -> None:
    engine = load(LoadOptions())
    [bad, good] = Collector(engine).run(Submit(1, "[[fake:fail=engine]]"), Submit(2, "[[fake:words=2]]"))
    assert bad.failed.kind == "engine"
    assert good.finished.generated_tokens == 2
    engine.close()


def test_until_waits_for_the_file(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    engine = load(LoadOptions(num_parallel=2))
    collector = Collector(engine)
    collector.submit(Submit(1, f"[[fake:until={gate}]] [[fake:words=5]]", greedy()))
    collector.run(Submit(2, "other", greedy(20)))
    assert collector.replies[1].end is None
    gate.touch()
    collector.wait_until(lambda: collector.replies[1].end is not None)
    assert collector.replies[1].finished.generated_tokens == 5
    engine.close()


def test_the_last_directive_of_a_kind_counts() -> None:
    script = read_script("[[fake:words=3]] and [[fake:words=4]] [[fake:die=SIGKILL@2]] [[fake:delay=0.5]]")
    assert (script.words, script.die, script.die_after, script.delay_seconds) == (4, "SIGKILL", 2, 0.5)


@pytest.mark.parametrize("kind", ["bad_model", "out_of_memory", "unsupported", "engine"])
def test_load_can_be_made_to_fail(kind: str) -> None:
    with pytest.raises(LoadError) as caught:
        load(LoadOptions(kv_overrides={"fake.load_fail": kind}))
    assert caught.value.kind == kind


def test_load_is_aborted_by_the_progress_callback() -> None:
    seen: list[float] = []

    def stop_at_half(fraction: float) -> bool:
        seen.append(fraction)
        return fraction < 0.5

    with pytest.raises(LoadError) as caught:
        load_fake_engine("x", "llama", LoadOptions(), stop_at_half)
    assert caught.value.kind == "aborted"
    assert seen == [0.0, 0.25, 0.5]


def test_context_is_clamped_to_the_trained_one() -> None:
    engine = load(LoadOptions(num_ctx=8192, kv_overrides={"fake.n_ctx_train": 1024}))
    assert engine.info.num_ctx == 1024
    engine.close()


def test_a_script_that_fits_its_constraint_is_said_as_it_is() -> None:
    engine = load(LoadOptions())
    said = '{"colour": "café"}'
    prompt = f"[[fake:say]]{said}[[fake:end]]"
    thinking = f"[[fake:say]]<think>hm</think>{said}[[fake:end]]"
    first, second, third = Collector(engine).run(
        Submit(1, prompt, constraint=Constraint("json")),
        Submit(2, thinking, constraint=Constraint("json", "", "</think>", "<think>")),
        Submit(3, "[[fake:say]]no JSON[[fake:end]]", constraint=Constraint("json")),
    )
    engine.close()
    assert first.text == said
    assert second.text == f"<think>hm</think>{said}"
    assert third.text == "{}"
