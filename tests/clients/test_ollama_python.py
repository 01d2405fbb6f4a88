"""The official Python client: what `tests/live/test_client.py` leaves out, and the asynchronous one."""

import time
from pathlib import Path

import ollama
import pytest

from tests.clients.dictated import ASK_WEATHER, ENDLESS, WEATHER, say
from tests.live.server import ShimServer
from tests.shim.serving import CAPABLE

pytestmark = [pytest.mark.live, pytest.mark.slow]

GREEDY = {"temperature": 0, "num_predict": 16}
THANKS = {"role": "user", "content": say("It is sunny.")}


def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: its name
    """
    return f"sunny in {city}"


def test_a_tool_is_called_and_its_result_read(scripted: ShimServer) -> None:
    with scripted.client() as client:
        question = {"role": "user", "content": ASK_WEATHER}
        answer = client.chat("capable", [question], tools=[get_weather], think=False)
        (call,) = answer.message.tool_calls or []
        assert call.function.name == "get_weather"
        assert call.function.arguments == {"city": "Zürich"}
        result = {
            "role": "tool",
            "tool_name": "get_weather",
            "content": get_weather(**call.function.arguments),
        }
        turns = [question, answer.message, result, THANKS]
        assert (
            client.chat("capable", turns, tools=[get_weather], think=False).message.content == "It is sunny."
        )


def test_a_streamed_tool_call_comes_alone_and_before_the_end(scripted: ShimServer) -> None:
    with scripted.client() as client:
        question = {"role": "user", "content": ASK_WEATHER}
        items = list(client.chat("capable", [question], tools=[WEATHER], think=False, stream=True))
    (place,) = [at for at, item in enumerate(items) if item.message.tool_calls]
    assert not items[place].message.content
    assert not items[place].done
    assert items[-1].done
    assert not items[-1].message.content


def test_a_stream_that_is_closed_frees_the_only_slot(scripted: ShimServer) -> None:
    with scripted.client() as client:
        for _ in range(5):
            stream = client.generate("capable", ENDLESS, think=False, stream=True)
            assert [next(stream).done for _ in range(3)] == [False] * 3
            stream.close()
            started = time.monotonic()
            assert client.generate("capable", say("free"), think=False).response == "free"
            assert time.monotonic() - started < 10


def test_embeddings(real: ShimServer) -> None:
    with real.client() as client:
        many = client.embed("dense", ["one", "two"])
        assert len(many.embeddings) == 2
        assert len(many.embeddings[0]) == 576
        assert (many.prompt_eval_count or 0) >= 2
        assert many.total_duration
        assert many.load_duration
        short = client.embed("dense", "one", dimensions=8).embeddings[0]
        assert sum(value * value for value in short) == pytest.approx(1, abs=1e-4)
        assert len(client.embeddings("dense", "one").embedding) == 576


async def test_the_asynchronous_client(scripted: ShimServer, tmp_path: Path) -> None:
    weights = tmp_path / "weights.gguf"
    weights.write_bytes(CAPABLE)
    async with ollama.AsyncClient(host=scripted.host, trust_env=False, timeout=120) as client:
        digest = await client.create_blob(weights)
        steps = [
            step.status async for step in await client.create("async", files={"w.gguf": digest}, stream=True)
        ]
        assert steps[-1] == "success"
        answer = await client.chat("async", [{"role": "user", "content": ASK_WEATHER}], tools=[get_weather])
        assert [call.function.name for call in answer.message.tool_calls or []] == ["get_weather"]
        stream = await client.chat("async", [{"role": "user", "content": ENDLESS}], think=False, stream=True)
        async for _ in stream:
            break
        await stream.aclose()
        assert (await client.generate("async", say("free"), think=False)).response == "free"
        assert len((await client.embed("async", "text")).embeddings) == 1
        await client.delete("async")
