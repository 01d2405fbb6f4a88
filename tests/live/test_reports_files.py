"""What people reported as broken about files: split models, full disks.

Each test is a case of `tests/data/reports.jsonl`; its number is in the name.
"""

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import gguf
import pytest

from demo.writing import Value, copied, read_metadata, u32, write_gguf
from tests.live.jobs import generate
from tests.live.server import COMMAND, ShimServer, wait_until

pytestmark = [pytest.mark.live, pytest.mark.slow]

PARTS = 3


@pytest.fixture(scope="module")
def parts(dense_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """`dense` in three files that are named as llama.cpp's tool names them."""
    folder = tmp_path_factory.mktemp("parts")
    reader = gguf.GGUFReader(dense_gguf)
    metadata = read_metadata(reader)
    count = len(reader.tensors)
    made = []
    for part in range(PARTS):
        path = folder / f"x-{part + 1:05}-of-{PARTS:05}.gguf"
        numbers = {
            "split.no": u16(part),
            "split.count": u16(PARTS),
            "split.tensors.count": Value(count, gguf.GGUFValueType.INT32),
        }
        tensors = reader.tensors[count * part // PARTS : count * (part + 1) // PARTS]
        name = "general.architecture"
        described = metadata if part == 0 else {name: metadata[name]}
        write_gguf(path, {**described, **numbers}, [copied(tensor) for tensor in tensors])
        made.append(path)
    return made


def u16(number: int) -> Value:
    return Value(number, gguf.GGUFValueType.UINT16)


def says(server: ShimServer, model: str) -> str:
    status, answer = server.call("POST", "/api/generate", generate(model, "1 2 3 4", num_predict=12))
    assert status == 200, answer
    return str(answer["response"])


def create_from(server: ShimServer, *lines: str) -> subprocess.CompletedProcess[str]:
    modelfile = server.home / "Modelfile.parts"
    modelfile.write_text("\n".join(lines) + "\n")
    return server.cli("create", "parts", "-f", str(modelfile), check=False)


def sizes(server: ShimServer) -> dict[str, int]:
    return {model["name"]: model["size"] for model in server.call("GET", "/api/tags")[1]["models"]}


def test_18_a_split_model_is_one_model(server: ShimServer, parts: list[Path]) -> None:
    whole = says(server, "dense")
    expected = sum(part.stat().st_size for part in parts)
    shuffled = random.Random(18).sample(parts, PARTS)
    for lines in ([f"FROM {part}" for part in shuffled], [f"FROM {parts[0].parent}"]):
        done = create_from(server, *lines)
        assert done.returncode == 0, done.stderr
        assert sizes(server)["parts:latest"] == pytest.approx(expected, rel=0.01)
        assert says(server, "parts") == whole
        server.cli("rm", "parts")


def test_18_the_first_part_alone_is_refused_or_brings_the_others(
    server: ShimServer, parts: list[Path]
) -> None:
    if create_from(server, f"FROM {parts[0]}").returncode == 0:
        assert says(server, "parts") == says(server, "dense")
        server.cli("rm", "parts")
    assert "parts:latest" not in sizes(server)


def test_18_a_missing_part_is_named(server: ShimServer, parts: list[Path], tmp_path: Path) -> None:
    first, _, last = parts
    there = [Path(shutil.copy(part, tmp_path / part.name)) for part in (first, last)]
    done = create_from(server, *(f"FROM {path}" for path in there))
    assert done.returncode == 1
    assert "00002-of-00003" in done.stderr or "part 2" in done.stderr, done.stderr
    assert "parts:latest" not in sizes(server)


def test_18_parts_of_other_names_are_refused(server: ShimServer, parts: list[Path], tmp_path: Path) -> None:
    renamed = [
        Path(shutil.copy(part, tmp_path / f"{letter}.gguf"))
        for part, letter in zip(parts, "abc", strict=True)
    ]
    done = create_from(server, *(f"FROM {path}" for path in renamed))
    assert done.returncode == 1
    assert "-of-0000" in done.stderr, done.stderr
    assert "parts:latest" not in sizes(server)


class SmallDisk(ShimServer):
    """A server whose store is a small file system of its own, in a mount namespace of its own."""

    size_bytes: int

    def start(self) -> None:
        self.store.mkdir(parents=True, exist_ok=True)
        mount = f"mount -t tmpfs -o size={self.size_bytes} tmpfs '{self.store}' && exec \"$@\""
        with (self.home / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                ["unshare", "-rm", "sh", "-c", mount, "sh", *COMMAND, "serve"],
                env=self.environment(), cwd=self.home, stdout=log, stderr=log,
            )  # fmt: skip
        wait_until(self._answers, 30, f"the server answers; its log:\n{self.log}")

    @property
    def inside(self) -> Path:
        """The store as the server sees it."""
        return Path(f"/proc/{self.process.pid}/root{self.store}")


@pytest.fixture
def small_disk(servers_folder: Path, dense_gguf: Path) -> Iterator[SmallDisk]:
    """Room for `dense`, a ballast of 100 MB, and 30 MB more."""
    if (
        not shutil.which("unshare")
        or subprocess.run(
            ["unshare", "-rm", "sh", "-c", "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("no file systems can be mounted here")
    server = SmallDisk(servers_folder / "small-disk")
    server.size_bytes = dense_gguf.stat().st_size + 130_000_000
    server.start()
    try:
        (server.inside / "ballast").write_bytes(bytes(100_000_000))
        yield server
    finally:
        server.stop()


def used(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def test_22_a_full_disk_leaves_nothing_and_a_known_file_needs_no_room(
    small_disk: SmallDisk, dense_gguf: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.gguf"
    reader = gguf.GGUFReader(dense_gguf)
    metadata = {**read_metadata(reader), "general.alignment": u32(32), "llama.other": u32(1)}
    write_gguf(other, metadata, [copied(tensor) for tensor in reader.tensors])
    with small_disk.client() as client:
        digest = client.create_blob(dense_gguf)
        client.create("dense", files={"m.gguf": digest}, stream=False)
        before = sum(used(small_disk.inside).values())
        client.create("second", files={"m.gguf": client.create_blob(dense_gguf)}, system="Be brief.")
        assert sum(used(small_disk.inside).values()) - before < 1_000_000
        files, listed = used(small_disk.inside), sizes(small_disk)
        with pytest.raises(Exception, match="no space left"):
            client.create_blob(other)
        assert used(small_disk.inside) == files
        assert sizes(small_disk) == listed
        assert says(small_disk, "dense")
        (small_disk.inside / "ballast").unlink()
        client.create("third", files={"m.gguf": client.create_blob(other)}, stream=False)
        assert says(small_disk, "third") == says(small_disk, "dense")
