"""list, ps, show, cp, stop and rm: what they ask and what they print."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.shim.cli.scripted import Answer, Received, ScriptedServer, Shim

SHOWN = {
    "license": "Apache License\n\n  Version 2.0  \nmore",
    "modelfile": "FROM x\n",
    "parameters": 'num_experts_used               2\nstop                           "<|im_end|>"',
    "template": "{{ .Prompt }}",
    "system": "回答要简短",
    "details": {"family": "qwen3moe", "parameter_size": "30.5B", "quantization_level": "Q4_K_M"},
    "model_info": {
        "general.architecture": "qwen3moe",
        "general.parameter_count": 30532122624,
        "qwen3moe.context_length": 262144,
        "qwen3moe.embedding_length": 2048,
        "qwen3moe.expert_count": 128,
        "qwen3moe.expert_used_count": 8,
        "tokenizer.ggml.tokens": None,
    },
    "capabilities": ["completion", "tools"],
    "modified_at": "2026-11-30T12:00:00Z",
}


def ago(**delta: float) -> str:
    return (datetime.now(UTC) - timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%S.%f123Z")


def test_list(shim: Shim, server: ScriptedServer) -> None:
    server.answers["GET", "/api/tags"] = Answer(
        {
            "models": [
                {
                    "name": "mymoe:latest",
                    "digest": "0123456789abcdef" * 4,
                    "size": 4661230720,
                    "modified_at": ago(days=21),
                },
                {
                    "name": "Other:7b",
                    "digest": "ff",
                    "size": 999,
                    "modified_at": ago(seconds=2.5),
                    "remote_model": "x",
                },
                {"name": "odd:latest"},
            ]
        }
    )
    result = shim("list")
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "NAME            ID              SIZE      MODIFIED\n"
        "mymoe:latest    0123456789ab    4.7 GB    3 weeks ago\n"
        "Other:7b        ff              -         2 seconds ago\n"
        "odd:latest                      0 B       -\n"
    )
    assert server.calls == [("HEAD", "/"), ("GET", "/api/tags")]
    assert shim("ls", "oTHER").out.splitlines()[1:] == ["Other:7b    ff    -       2 seconds ago"]


def test_list_without_models(shim: Shim, server: ScriptedServer) -> None:
    server.answers["GET", "/api/tags"] = Answer({"models": []})
    assert shim("list").out == "NAME    ID    SIZE    MODIFIED\n"


def test_ps(shim: Shim, server: ScriptedServer) -> None:
    def model(name: str, vram: int, expires: str) -> dict[str, object]:
        return {"name": name, "digest": "ab" * 32, "size": 1000, "size_vram": vram, "context_length": 4096,
                "expires_at": expires}  # fmt: skip

    server.answers["GET", "/api/ps"] = Answer(
        {
            "models": [
                model("a:latest", 0, ago(minutes=-4.5)),
                model("b:latest", 600, "2318-11-30T12:00:00+01:00"),
                model("c:latest", 1000, ago(seconds=1)),
            ]
        }
    )
    assert shim("ps").out == (
        "NAME        ID              SIZE    PROCESSOR          CONTEXT    UNTIL\n"
        "a:latest    abababababab    1 KB    100% CPU           4096       4 minutes from now\n"
        "b:latest    abababababab    1 KB    40%/60% CPU/GPU    4096       Forever\n"
        "c:latest    abababababab    1 KB    100% GPU           4096       Stopping...\n"
    )


def test_show(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer(SHOWN)
    result = shim("show", "mymoe")
    assert result.out == (
        "  Model\n"
        "    architecture        qwen3moe\n"
        "    parameters          30.5B\n"
        "    context length      262144\n"
        "    embedding length    2048\n"
        "    experts             128, 2 used (8 by default)\n"
        "    quantization        Q4_K_M\n"
        "\n"
        "  Capabilities\n"
        "    completion\n"
        "    tools\n"
        "\n"
        "  Parameters\n"
        "    num_experts_used    2\n"
        '    stop                "<|im_end|>"\n'
        "\n"
        "  System\n"
        "    回答要简短\n"
        "\n"
        "  License\n"
        "    Apache License\n"
        "    Version 2.0\n"
        "    ...\n"
        "\n"
    )
    assert server.bodies("/api/show") == [{"model": "mymoe", "verbose": False}]


def test_show_verbose(shim: Shim, server: ScriptedServer) -> None:
    tensors = [{"name": "output.weight", "type": "Q6_K", "shape": [2048, 151936]}]
    info = {"general.architecture": "qwen3moe", "a.list": list(range(12)), "a.flag": True, "a.text": "x\ny"}
    server.answers["POST", "/api/show"] = Answer({"model_info": info, "tensors": tensors})
    assert shim("show", "mymoe", "-v").out == (
        "  Model\n"
        "    architecture    qwen3moe\n"
        "\n"
        "  Metadata\n"
        "    a.flag                  true\n"
        "    a.list                  [0, 1, 2, 3, 4, 5, 6, 7, ... 4 more]\n"
        "    a.text                  x\\ny\n"
        "    general.architecture    qwen3moe\n"
        "\n"
        "  Tensors\n"
        "    output.weight    Q6_K    [2048, 151936]\n"
        "\n"
    )


@pytest.mark.parametrize(
    ("selector", "line_end"),
    [("license", "\n"), ("modelfile", "\n"), ("parameters", "\n"), ("system", ""), ("template", "")],
)
def test_show_one_text(shim: Shim, server: ScriptedServer, selector: str, line_end: str) -> None:
    server.answers["POST", "/api/show"] = Answer(SHOWN)
    assert shim("show", "mymoe", f"--{selector}").out == f"{SHOWN[selector]}{line_end}"


def test_show_takes_one_selector(shim: Shim, server: ScriptedServer) -> None:
    assert shim("show", "m", "--license", "--system").err == (
        "Error: only one of '--license', '--modelfile', '--parameters', '--system', or '--template' can be "
        "specified\n"
    )


def test_show_of_a_missing_model(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer({"error": "model 'm:latest' not found"}, 404)
    result = shim("show", "m")
    assert (result.code, result.out, result.err) == (1, "", "Error: model 'm:latest' not found\n")


def test_cp(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/copy"] = Answer()
    assert shim("cp", "a", "b").out == "copied 'a' to 'b'\n"
    assert server.bodies("/api/copy") == [{"source": "a", "destination": "b"}]


def test_stop(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer(SHOWN)
    server.answers["POST", "/api/generate"] = Answer({"done": True, "done_reason": "unload"})
    result = shim("stop", "m")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert server.bodies("/api/generate") == [{"model": "m", "keep_alive": 0, "stream": False}]


def test_stop_of_a_missing_model(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer({"error": "model 'm:latest' not found"}, 404)
    result = shim("stop", "m")
    assert result.code == 1
    assert result.err.startswith('Error: couldn\'t find model "m" to stop\n')


def test_rm_unloads_and_deletes_each(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer(SHOWN)
    server.answers["POST", "/api/generate"] = Answer({"done": True})
    server.answers["DELETE", "/api/delete"] = Answer()
    assert shim("rm", "a", "b").out == "deleted 'a'\ndeleted 'b'\n"
    assert server.bodies("/api/delete") == [{"model": "a"}, {"model": "b"}]
    assert server.calls.count(("POST", "/api/generate")) == 2


def test_rm_goes_on_if_a_model_cannot_be_stopped(shim: Shim, server: ScriptedServer) -> None:
    server.answers["POST", "/api/show"] = Answer({"error": "the config is damaged"}, 500)
    server.answers["DELETE", "/api/delete"] = Answer()
    result = shim("rm", "a")
    assert (result.code, result.out) == (0, "deleted 'a'\n")
    assert result.err == "Warning: unable to stop model 'a'\n"


def test_rm_stops_at_the_first_missing_model(shim: Shim, server: ScriptedServer) -> None:
    def delete(request: Received) -> Answer:
        model = request.body["model"]
        return Answer() if model == "a" else Answer({"error": f"model '{model}' not found"}, 404)

    server.answers["POST", "/api/show"] = Answer({"error": "model not found"}, 404)
    server.answers["DELETE", "/api/delete"] = delete
    result = shim("rm", "a", "b", "c")
    assert (result.code, result.out, result.err) == (1, "deleted 'a'\n", "Error: model 'b' not found\n")
