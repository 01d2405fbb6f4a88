"""Constrained answers of the real engine."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime import grammar_cache, grammars
from runtime.engine import load_engine
from runtime.events import Submit
from runtime.options import Constraint, LoadOptions, SamplingOptions
from tests.runtime.engine_contract import Collector, greedy

JSON = Constraint("json")
CAT = "Describe a cat as JSON."


@pytest.fixture(scope="module")
def engine(dense_gguf: Path) -> Iterator[Collector]:
    """Four slots of 512 tokens."""
    loaded = load_engine(str(dense_gguf), "llama", LoadOptions(num_ctx=512, num_parallel=4), lambda _: True)
    yield Collector(loaded)
    loaded.close()


@pytest.fixture(scope="module")
def random_engine(tiny_qwen3moe_gguf: Path) -> Iterator[Collector]:
    """Random weights with a real vocabulary: quick, and as far from sensible text as can be."""
    options = LoadOptions(num_ctx=1024, num_parallel=4)
    loaded = load_engine(str(tiny_qwen3moe_gguf), "qwen3moe", options, lambda _: True)
    yield Collector(loaded)
    loaded.close()


def chat(question: str) -> str:
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def schema(value: Any) -> Constraint:
    return Constraint("json_schema", json.dumps(value))


def wild(seed: int, num_predict: int = 400) -> SamplingOptions:
    return SamplingOptions(temperature=1.5, seed=seed, num_predict=num_predict, top_k=0, top_p=1.0)


def is_person(value: Any) -> bool:
    return (
        set(value) == {"name", "age", "kind"}
        and re.fullmatch("[A-Z][a-z]{1,9}", value["name"]) is not None
        and isinstance(value["age"], int)
        and 0 <= value["age"] <= 30
        and value["kind"] in ("cat", "dog")
    )


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]{1,9}$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 30},
        "kind": {"enum": ["cat", "dog"]},
    },
    "required": ["name", "age", "kind"],
    "additionalProperties": False,
}
CASES: dict[str, tuple[dict[str, Any], Callable[[Any], bool]]] = {
    "flat": (PERSON, is_person),
    "nested": (
        {
            "type": "object",
            "properties": {"a": PERSON, "b": {"type": "array", "items": PERSON, "maxItems": 2}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        lambda value: is_person(value["a"]) and all(map(is_person, value["b"])) and len(value["b"]) <= 2,
    ),
    "ref": (
        {
            "$defs": {
                "Person": PERSON,
                "Pair": {
                    "type": "object",
                    "properties": {"one": {"$ref": "#/$defs/Person"}},
                    "required": ["one"],
                    "additionalProperties": False,
                },
            },
            "$ref": "#/$defs/Pair",
        },
        lambda value: is_person(value["one"]),
    ),
    "anyOf": (
        {
            "anyOf": [
                {"type": "boolean"},
                {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 4},
            ]
        },
        lambda value: (
            isinstance(value, bool) or (2 <= len(value) <= 4 and all(isinstance(i, bool) for i in value))
        ),
    ),
    "bounds": (
        {
            "type": "object",
            "properties": {
                "none": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
                "three": {"type": "array", "items": {"enum": list(range(10))}, "minItems": 3, "maxItems": 3},
            },
            "required": ["none", "three"],
            "additionalProperties": False,
        },
        lambda value: (
            value["none"] == [] and len(value["three"]) == 3 and set(value["three"]) <= set(range(10))
        ),
    ),
    "format": (
        {
            "type": "object",
            "properties": {"day": {"type": "string", "format": "date"}},
            "required": ["day"],
            "additionalProperties": False,
        },
        lambda value: re.fullmatch(r"\d{4}-\d{2}-\d{2}", value["day"]) is not None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_schema_holds_at_any_temperature(random_engine: Collector, name: str) -> None:
    shape, valid = CASES[name]
    replies = random_engine.run(
        *(Submit(n, chat("Tell me of two pets."), wild(n), constraint=schema(shape)) for n in range(4))
    )
    for reply in replies:
        assert reply.finished.detail == "eos"
        assert valid(json.loads(reply.text)), reply.text


@pytest.mark.parametrize(
    ("constraint", "pattern"),
    [
        (Constraint("choice", '["red", "green", "café"]'), "red|green|café"),
        (Constraint("regex", r"^\d{3}-\d{4}$"), r"\d{3}-\d{4}"),
        (Constraint("grammar", 'root ::= ("yes" | "no") [.!]{1,3}'), r"(yes|no)[.!]{1,3}"),
        (Constraint("lark", 'start: "<" /[a-f]{4}/ ">"'), "<[a-f]{4}>"),
    ],
)
def test_other_kinds_hold(random_engine: Collector, constraint: Constraint, pattern: str) -> None:
    replies = random_engine.run(
        *(Submit(n, chat("Say it."), wild(n), constraint=constraint) for n in range(4))
    )
    for reply in replies:
        assert re.fullmatch(pattern, reply.text), reply.text
        assert reply.finished.detail == "eos"


def test_json_is_an_object(engine: Collector) -> None:
    [reply] = engine.run(
        Submit(1, chat("Describe a cat as JSON with name and age."), greedy(400), constraint=JSON)
    )
    assert isinstance(json.loads(reply.text), dict)


def test_free_streams_beside_constrained_ones_stay_as_they_are(engine: Collector) -> None:
    [alone] = engine.run(Submit(1, chat("Name three colours."), greedy(40)))
    free = [Submit(n, chat("Name three colours."), greedy(40)) for n in (2, 3)]
    bound = [Submit(n, chat(CAT), wild(n), constraint=schema(PERSON)) for n in (4, 5, 6)]
    replies = engine.run(*(request for pair in zip(free, bound, strict=False) for request in pair), bound[2])
    texts = {request.id: engine.replies[request.id].text for request in (*free, *bound)}
    assert len(replies) == 5
    assert texts[2] == texts[3] == alone.text
    assert all(is_person(json.loads(texts[n])) for n in (4, 5, 6))


def test_a_seed_gives_the_same_answer(random_engine: Collector) -> None:
    replies = random_engine.run(
        *(Submit(n, chat(CAT), wild(seed), constraint=schema(PERSON)) for n, seed in enumerate((7, 7, 8)))
    )
    texts = [reply.text for reply in replies]
    assert texts[0] == texts[1] != texts[2]


def test_order_of_definitions_changes_nothing(random_engine: Collector) -> None:
    parts = {"Label": {"enum": ["oak", "elm"]}, "Crate": {"type": "array", "items": {"$ref": "#/$defs/Label"},
             "minItems": 1, "maxItems": 3}}  # fmt: skip
    rest = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Crate"}}, "required": ["a"],
            "additionalProperties": False}  # fmt: skip
    texts = []
    for number, items in enumerate((parts.items(), reversed(parts.items()))):
        constraint = schema({"$defs": dict(items), **rest})
        [reply] = random_engine.run(Submit(number, chat("Go."), wild(3), constraint=constraint))
        texts.append(reply.text)
    assert texts[0] == texts[1]


def test_num_predict_cuts(engine: Collector) -> None:
    [reply] = engine.run(Submit(1, chat(CAT), greedy(4), constraint=JSON))
    assert (reply.finished.detail, reply.finished.generated_tokens) == ("num_predict", 4)
    assert reply.text.startswith("{")


def test_a_stop_string_stops(engine: Collector) -> None:
    [reply] = engine.run(Submit(1, chat(CAT), greedy(100, (":",)), constraint=schema(PERSON)))
    assert (reply.finished.detail, reply.text.split()) == ("stop_string", ["{", '"name"'])


def test_the_context_ends_it(engine: Collector) -> None:
    endless = Constraint("regex", "[a-z ]+z{900}")
    [reply] = engine.run(Submit(1, chat("Go."), greedy(), shift=False, constraint=endless))
    assert reply.finished.detail == "context"


def test_logprobs_are_those_of_the_model(engine: Collector) -> None:
    """As the model would have it, not what the mask makes of it: a forced token stays unlikely."""
    only = Constraint("choice", '["zebra crossing"]')
    [reply] = engine.run(Submit(1, chat("What is 1 + 1?"), greedy(), logprobs=1, constraint=only))
    assert reply.text == "zebra crossing"
    assert reply.logprobs[0].logprob < -1
    assert reply.logprobs[0].top[0][0] != reply.logprobs[0].token


def test_one_that_cannot_be_compiled_fails_alone(engine: Collector) -> None:
    bad = Submit(1, chat(CAT), greedy(5), constraint=schema({"type": "object", "not": {}}))
    failed, other = engine.run(bad, Submit(2, chat(CAT), greedy(5), constraint=JSON))
    assert failed.tokens == []
    assert failed.failed.kind == "bad_request"
    assert "not" in failed.failed.message
    assert other.finished.generated_tokens == 5


def test_thinking_is_free_before_the_answer(engine: Collector) -> None:
    """What the model says up to the closing tag, here a full stop, is what it says without a constraint."""
    question = chat("What is the capital of France?")
    [free] = engine.run(Submit(1, question, greedy(40)))
    thought = free.text.partition(".")[0] + "."
    [reply] = engine.run(Submit(2, question, greedy(60), constraint=Constraint("choice", '["Paris!"]', ".")))
    assert reply.text.replace("\n", "").replace(". ", ".") == thought + "Paris!"


def test_a_regex_of_many_states_ends(random_engine: Collector) -> None:
    only = Constraint("regex", "(a|b){1,50}(.*a){40}.{40}b.{40}c")
    [reply] = random_engine.run(Submit(1, chat("Go."), wild(1, 200), constraint=only))
    assert reply.end is not None


def test_cancel(engine: Collector) -> None:
    engine.submit(Submit(1, chat("Go."), greedy(), constraint=Constraint("regex", "[a-z ]+z{900}")))
    engine.wait_until(lambda: bool(engine.replies[1].tokens))
    engine.engine.cancel(1)
    engine.wait_until(lambda: engine.replies[1].end is not None)
    assert engine.replies[1].finished.reason == "cancelled"


def test_cancel_while_the_grammar_is_compiled(engine: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go_on = threading.Event(), threading.Event()

    compile_grammar = grammars.compile_grammar

    def slow(tokenizer: Any, constraint: Constraint) -> Any:
        entered.set()
        go_on.wait(30)
        return compile_grammar(tokenizer, constraint)

    monkeypatch.setattr(grammar_cache, "compile_grammar", slow)
    engine.submit(Submit(1, chat("Go."), greedy(), constraint=Constraint("regex", "slow")))
    assert entered.wait(30)
    engine.engine.cancel(1)
    engine.wait_until(lambda: engine.replies[1].end is not None)
    assert engine.replies[1].finished.reason == "cancelled"
    [other] = engine.run(Submit(2, chat("Go."), greedy(3)))
    assert other.finished.generated_tokens == 3
    go_on.set()
    [later] = engine.run(Submit(3, chat("Go."), greedy(), constraint=Constraint("regex", "slow")))
    assert later.text == "slow"


def test_close_while_streams_and_compilers_work(dense_gguf: Path) -> None:
    engine = load_engine(str(dense_gguf), "llama", LoadOptions(num_ctx=256, num_parallel=2), lambda _: True)
    collector = Collector(engine)
    collector.submit(
        *(Submit(n, "Go.", greedy(), constraint=Constraint("regex", "[a-z ]+")) for n in range(6))
    )
    collector.wait_until(lambda: any(reply.tokens for reply in collector.replies.values()))
    engine.close()
    assert engine.wait_events(0.0) == []
