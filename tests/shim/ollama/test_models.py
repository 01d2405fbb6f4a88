"""Models in Ollama's JSON: key order, what is left out, times."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from modelfiles.create import Progress
from modelfiles.describe import Details, ShowInfo, ShowOptions, TensorLine
from modelfiles.messages import Message, ToolCall
from modelfiles.names import parse_name
from modelfiles.package import Config, Package
from runtime.loaded import LoadedModel, ModelSpec
from runtime.options import LoadOptions
from runtime.shape import shape_of
from shim import gojson
from shim.errors import ApiError
from shim.models import Summary
from shim.ollama import models
from shim.ollama.progress import progress_item

DETAILS = Details("base:latest", "gguf", "llama", ("llama",), "134.52M", "Q4_1", 8192, 576)
DETAILS_JSON = (
    '{"parent_model":"base:latest","format":"gguf","family":"llama","families":["llama"],'
    '"parameter_size":"134.52M","quantization_level":"Q4_1","context_length":8192,"embedding_length":576}'
)
NOON_NS = 1_787_313_600_000_000_000


def package(name: str = "m", **config: str) -> Package:
    return Package(
        name=parse_name(name),
        digest="ab" * 32,
        size=98_000_000,
        modified_ns=NOON_NS + 500_000_000,
        config=Config(**config),  # type: ignore[arg-type]  # only texts are given here
        model_path=Path("/store/blobs/sha256-1"),
    )


def test_a_list_entry() -> None:
    told = models.tags([Summary(package(), DETAILS, ("completion", "tools"))], UTC)
    assert gojson.encode(told).decode() == (
        '{"models":[{"name":"m:latest","model":"m:latest","modified_at":"2026-08-21T12:00:00.5Z","size":98000000,'
        f'"digest":"{"ab" * 32}","details":{DETAILS_JSON},"capabilities":["completion","tools"]}}]}}'
    )


def test_a_remote_model_says_where_it_is_and_unknown_families_are_null() -> None:
    bare = Details("", "", "", (), "", "")
    remote = package(remote_model="x", remote_host="https://y:443")
    listed = models.tags([Summary(remote, bare, ())], UTC)["models"]
    assert isinstance(listed, list)
    (entry,) = listed
    assert list(entry)[:4] == ["name", "model", "remote_model", "remote_host"]
    assert entry["details"] == {
        "parent_model": "", "format": "", "family": "", "families": None, "parameter_size": "",
        "quantization_level": "",
    }  # fmt: skip
    assert "capabilities" not in entry


def loaded(name: str, expires_at: float | None) -> LoadedModel:
    spec = ModelSpec("key", "/path", "llama", shape_of({}), name, package(name))
    return LoadedModel(
        name=name, spec=spec, options=LoadOptions(), info=None, size_bytes=5, vram_bytes=0,
        expires_at=expires_at, context_length=4096, pid=1, stopping=False, in_flight=0, progress=0.5,
        warnings=(),
    )  # fmt: skip


def test_what_is_loaded_comes_with_the_last_to_leave_first() -> None:
    summary = Summary(package(), DETAILS, ())
    entries = [
        (loaded("a", NOON_NS / 1e9), summary),
        (loaded("b", None), summary),
        (loaded("c", NOON_NS / 1e9 + 60), summary),
    ]
    told = models.running(entries, NOON_NS, UTC)["models"]
    assert isinstance(told, list)
    assert [(entry["name"], entry["expires_at"]) for entry in told] == [
        ("b", "2318-12-01T11:47:16.854775807Z"),
        ("c", "2026-08-21T12:01:00Z"),
        ("a", "2026-08-21T12:00:00Z"),
    ]
    assert list(told[0]) == [
        "name", "model", "size", "digest", "details", "expires_at", "size_vram", "context_length",
    ]  # fmt: skip
    assert told[0]["details"]["parent_model"] == ""


def test_a_description_keeps_ollamas_order_and_leaves_out_what_is_empty() -> None:
    info = ShowInfo(
        license="MIT", modelfile="FROM x\n", parameters="", template="{{ x }}", system="", details=DETAILS,
        messages=(Message("user", "hi"),), model_info={"b": 1, "a": [1.0], "c": None}, projector_info={},
        tensors=(TensorLine("t", "F16", (2, 3)),), capabilities=("completion",),
        modified_ns=NOON_NS, requires="",
    )  # fmt: skip
    assert gojson.encode(models.shown(info, UTC)).decode() == (
        '{"license":"MIT","modelfile":"FROM x\\n","template":"{{ x }}","details":' + DETAILS_JSON + ","
        '"messages":[{"role":"user","content":"hi"}],"model_info":{"a":[1],"b":1,"c":null},'
        '"tensors":[{"name":"t","type":"F16","shape":[2,3]}],"capabilities":["completion"],'
        '"modified_at":"2026-08-21T12:00:00Z"}'
    )


def test_messages_in_full() -> None:
    message = Message(
        "assistant",
        "",
        "hm",
        (b"hi",),
        (ToolCall("f", {"b": 1, "a": 2}, "call_1", 1), ToolCall("g")),
        "n",
        "i",
    )
    assert gojson.encode(models.message_item(message)).decode() == (
        '{"role":"assistant","content":"","thinking":"hm","images":["aGk="],"tool_calls":['
        '{"id":"call_1","function":{"index":1,"name":"f","arguments":{"b":1,"a":2}}},'
        '{"function":{"index":0,"name":"g","arguments":{}}}],"tool_name":"n","tool_call_id":"i"}'
    )


def test_a_create_request() -> None:
    body: dict[str, object] = {
        "name": "m", "from": "base", "license": ["a", "b", 3], "quantization": "q8_0",
        "parameters": {"top_k": 1},
        "messages": [{"role": "user", "content": "hi", "images": [b"x"]}, {}], "info": {"model_family": "f"},
    }  # fmt: skip
    request = models.create_request(body)
    assert (request.model, request.from_, request.licenses) == ("m", "base", ("a", "b"))
    assert request.quantize == "q8_0"
    assert request.messages == (Message("user", "hi", images=(b"x",)), Message(""))
    assert models.create_request({"license": "MIT"}).licenses == ("MIT",)
    assert models.create_request({}).licenses == ()


def test_empty_files_are_weights_of_no_known_type() -> None:
    models.refuse_no_files({})
    models.refuse_no_files({"files": {}, "from": "m"})
    with pytest.raises(ApiError, match="unknown type"):
        models.refuse_no_files({"files": {}})


def test_show_options() -> None:
    assert models.show_options({}) == ShowOptions()
    body = {"verbose": True, "system": "s", "options": {"top_k": 1}}
    assert models.show_options(body) == ShowOptions(True, "s", {"top_k": 1})


def test_progress_leaves_out_what_is_empty() -> None:
    assert progress_item(Progress("success")) == {"status": "success"}
    assert gojson.encode(progress_item(Progress("reading", "sha256:1", 10, 5))) == (
        b'{"status":"reading","digest":"sha256:1","total":10,"completed":5}'
    )
