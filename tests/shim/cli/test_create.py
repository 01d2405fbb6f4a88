"""`shim create`: the request that is made, files linked or uploaded, and mistakes shown where they are."""

import hashlib
import os
from pathlib import Path

import pytest

from modelfiles.store import Store
from tests.modelfiles.gguf.building import gguf, weights
from tests.shim.cli.scripted import Answer, Received, ScriptedServer, Shim

SUCCESS = [{"status": "writing manifest"}, {"status": "success"}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with a small GGUF file in it."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "m.gguf").write_bytes(gguf(tensors=weights()))
    monkeypatch.chdir(here)
    return here


def digest_of(path: Path) -> str:
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def take_blobs(server: ScriptedServer, path: Path) -> None:
    """Answer for one blob as a server does that gets it by upload."""
    url = f"/api/blobs/{digest_of(path)}"
    server.answers["HEAD", url] = lambda _: Answer(status=200 if ("POST", url) in server.calls else 404)
    server.answers["POST", url] = Answer(status=201)


def test_from_a_model(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    (folder / "Modelfile").write_text(
        "FROM base:7b\nPARAMETER num_experts_used 2\nPARAMETER stop A\nPARAMETER stop B\n"
        "PARAMETER mirostat 1\nSYSTEM 要简短\nMESSAGE user hi\nLICENSE L\n",
        "utf-8",
    )
    server.answers["POST", "/api/create"] = Answer(SUCCESS)
    result = shim("create", "mine")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines() == [
        "warning: parameter mirostat is deprecated",
        "gathering model components",
        "writing manifest",
        "success",
    ]
    assert server.calls == [("HEAD", "/"), ("POST", "/api/create")]
    assert server.bodies("/api/create") == [
        {
            "model": "mine",
            "stream": True,
            "from": "base:7b",
            "license": ["L"],
            "system": "要简短",
            "parameters": {"num_experts_used": 2, "stop": ["A", "B"]},
            "messages": [{"role": "user", "content": "hi"}],
        }
    ]


def test_a_file_is_uploaded_once(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM ./m.gguf\n")
    server.answers["POST", "/api/create"] = Answer(SUCCESS)
    file = folder / "m.gguf"
    take_blobs(server, file)
    for _ in range(2):
        assert shim("create", "mine", "-q", "Q4_K_M").code == 0
    url = f"/api/blobs/{digest_of(file)}"
    assert server.bodies(url) == [None, file.read_bytes(), None]
    uploads = [request for request in server.received if request.path == url and request.method == "POST"]
    assert uploads[0].headers["Content-Length"] == str(file.stat().st_size)
    body = {"model": "mine", "stream": True, "quantize": "Q4_K_M", "files": {"m.gguf": digest_of(file)}}
    assert server.bodies("/api/create") == [body, body]


def test_a_file_is_linked_into_a_store_that_the_server_shares(
    shim: Shim, server: ScriptedServer, folder: Path, tmp_path: Path
) -> None:
    (folder / "Modelfile").write_text("FROM m.gguf\nADAPTER m.gguf\n")
    store = Store(tmp_path / "models")
    store.root.mkdir()
    server.answers["POST", "/api/create"] = Answer(SUCCESS)

    def has(request: Received) -> Answer:
        return Answer(status=200 if store.has_blob(request.path.rpartition("/")[2]) else 404)

    server.answer_blobs = has
    assert shim("create", "mine").code == 0
    digest = digest_of(folder / "m.gguf")
    assert [method for method, _ in server.calls] == ["HEAD", "HEAD", "POST"]
    assert os.listdir(store.root / "blobs") == [digest.replace(":", "-")]
    assert store.blob_path(digest).read_bytes() == (folder / "m.gguf").read_bytes()
    assert server.bodies("/api/create")[0]["files"] == {"m.gguf": digest}
    assert server.bodies("/api/create")[0]["adapters"] == {"m.gguf": digest}


def test_how_to_quantise(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM base\n")
    server.answers["POST", "/api/create"] = Answer(SUCCESS)
    take_blobs(server, folder / "m.gguf")
    flags = [
        "-q",
        "Q6_K",
        "--quantize-experts",
        "IQ4_XS",
        "--tensor-type",
        "a=b=Q8_0",
        "--tensor-type",
        "c=F16",
    ]
    flags += ["--imatrix", "m.gguf", "--allow-requantize", "--draft-quantize", "Q4_0"]
    assert shim("create", "mine", *flags).code == 0
    assert server.bodies("/api/create") == [
        {
            "model": "mine",
            "stream": True,
            "from": "base",
            "quantize": "Q6_K",
            "quantize_experts": "IQ4_XS",
            "tensor_types": {"a=b": "Q8_0", "c": "F16"},
            "imatrix": digest_of(folder / "m.gguf"),
            "allow_requantize": True,
            "draft_quantize": "Q4_0",
        }
    ]


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--tensor-type", "attn_v"], "--tensor-type attn_v: not PATTERN=TYPE"),
        (["--imatrix", "absent.gguf"], "--imatrix absent.gguf: no such file: "),
    ],
)
def test_flags_that_say_nothing(
    shim: Shim, server: ScriptedServer, folder: Path, flags: list[str], error: str
) -> None:
    result = shim("create", "mine", *flags)
    assert result.code == 1
    assert result.err.startswith(f"Error: {error}")
    assert server.received == []


def test_one_part_brings_the_others(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    names = [f"x-0000{index}-of-00002.gguf" for index in (1, 2)]
    for index, name in enumerate(names):
        (folder / name).write_bytes(gguf(tensors=weights(index + 1)))
        take_blobs(server, folder / name)
    (folder / "Modelfile").write_text(f"FROM {names[0]}\n")
    server.answers["POST", "/api/create"] = Answer(SUCCESS)
    assert shim("create", "mine").code == 0
    assert list(server.bodies("/api/create")[0]["files"]) == names


def test_another_server_gets_an_upload_and_the_local_store_stays_as_it_was(
    shim: Shim, server: ScriptedServer, folder: Path, tmp_path: Path
) -> None:
    (folder / "Modelfile").write_text("FROM m.gguf\n")
    (tmp_path / "models").mkdir()
    server.answers["POST", "/api/create"] = Answer(SUCCESS)
    take_blobs(server, folder / "m.gguf")
    assert shim("create", "mine").code == 0
    assert os.listdir(tmp_path / "models" / "blobs") == []
    assert ("POST", f"/api/blobs/{digest_of(folder / 'm.gguf')}") in server.calls


def test_without_a_modelfile_the_files_of_the_folder_are_taken(
    shim: Shim, server: ScriptedServer, folder: Path
) -> None:
    server.answers["POST", "/api/create"] = Answer(SUCCESS)
    take_blobs(server, folder / "m.gguf")
    result = shim("create", "mine", "-f", "missing/Modelfile")
    assert result.code == 0
    assert result.err.startswith(
        "warning: missing/Modelfile does not exist, looking for model files in this folder"
    )
    assert shim("create", "mine").code == 0
    assert [list(body["files"]) for body in server.bodies("/api/create")] == [["m.gguf"], ["m.gguf"]]


def test_a_modelfile_from_stdin_or_another_folder(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    server.answers["POST", "/api/create"] = Answer(SUCCESS)
    take_blobs(server, folder / "m.gguf")
    other = folder / "other"
    other.mkdir()
    (other / "Modelfile").write_text("FROM ../m.gguf\n")
    assert shim("create", "mine", "-f", "other/Modelfile").code == 0
    assert shim("create", "mine", "-f", "-", stdin=b"FROM m.gguf\n").code == 0
    assert [list(body["files"]) for body in server.bodies("/api/create")] == [["m.gguf"], ["m.gguf"]]


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("FROM m\nPROMPT hi\n", "(line 2): command must be one of", "Modelfile, line 2: PROMPT hi"),
        ("FROM m\r\n\r\nPROMPT hi\r\n", "(line 5): command must be one of", "Modelfile, line 3: PROMPT hi"),
        ('FROM m\nSYSTEM "open\n', "unexpected EOF", 'Modelfile, line 2: SYSTEM "open'),
        ("SYSTEM x\n", "no FROM line", ""),
        ("FROM m\nPARAMETER num_ctx 4k\n", "invalid int value [4k]",
         "Modelfile, line 2: PARAMETER num_ctx 4k; num_ctx takes a whole number, such as 4096"),
        ("FROM m\nPARAMETER num_expert_used 2\n", "unknown parameter 'num_expert_used'",
         "Modelfile, line 2: PARAMETER num_expert_used 2; did you mean num_experts_used?"),
        ("FROM m\nREQUIRES soon\n", "requires must be a valid semver (e.g. 0.14.0)",
         "Modelfile, line 2: REQUIRES soon"),
    ],
)  # fmt: skip
def test_mistakes_are_shown_with_their_line(
    shim: Shim, server: ScriptedServer, folder: Path, text: str, error: str, hint: str
) -> None:
    (folder / "Modelfile").write_bytes(text.encode())
    result = shim("create", "mine")
    assert (result.code, result.out) == (1, "")
    lines = result.err.splitlines()
    assert lines[0].startswith(f"Error: {error}")
    assert lines[1:] == ([f"hint: {hint}"] if hint else [])
    assert server.received == []


def test_a_wrong_name(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    result = shim("create", "a b")
    assert result.err.splitlines()[0] == "Error: invalid model name: a b"
    assert server.received == []


def test_a_damaged_gguf_is_neither_linked_nor_uploaded(
    shim: Shim, server: ScriptedServer, folder: Path, tmp_path: Path
) -> None:
    (folder / "Modelfile").write_text("FROM m.gguf\n")
    whole = (folder / "m.gguf").read_bytes()
    (folder / "m.gguf").write_bytes(whole[:-40])
    server.answer_blobs = lambda _: Answer(status=200)
    result = shim("create", "mine")
    assert result.code == 1
    assert result.err.splitlines()[-1].startswith("Error: ")
    assert [method for method, _ in server.calls] == ["HEAD"]
    (tmp_path / "models").mkdir()
    assert shim("create", "mine").code == 1
    assert os.listdir(tmp_path / "models" / "blobs") == []


def test_an_error_of_the_server(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM base\n")
    server.answers["POST", "/api/create"] = Answer([{"status": "parsing GGUF"}, {"error": "no space left"}])
    result = shim("create", "mine")
    assert result.code == 1
    assert result.err.splitlines()[-1] == "Error: no space left"


def test_a_base_that_is_nowhere(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM base\n")
    server.answers["POST", "/api/create"] = Answer({"error": "model 'base' not found"}, 404)
    lines = shim("create", "mine").err.splitlines()
    assert lines[-2] == "Error: model 'base' not found"
    assert lines[-1].startswith("hint: there is no file of that name either; ")


def test_a_refused_upload_shows_the_reason(shim: Shim, server: ScriptedServer, folder: Path) -> None:
    (folder / "Modelfile").write_text("FROM m.gguf\n")
    url = f"/api/blobs/{digest_of(folder / 'm.gguf')}"
    server.answers["HEAD", url] = Answer(status=404)
    server.answers["POST", url] = Answer({"error": "no space left on device"}, 500)
    result = shim("create", "mine")
    assert (result.code, result.err.splitlines()[-1]) == (1, "Error: no space left on device")
