"""Keys in OpenSSH's files."""

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from mirrors.errors import BadSetting
from mirrors.identity import Identity, identity_at, private_file, read_private_file

SEED = bytes(range(32))


def test_written_and_read_again() -> None:
    assert read_private_file(private_file(Identity(SEED))) == Identity(SEED)


def test_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "id_ed25519"
    made = identity_at(path)
    assert identity_at(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.with_name("id_ed25519.pub").read_text() == f"ssh-ed25519 {made.public_text}\n"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")
def test_openssh_reads_ours_and_we_read_theirs(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    made = identity_at(ours)
    told = subprocess.run(["ssh-keygen", "-y", "-f", str(ours)], capture_output=True, text=True, check=True)
    assert told.stdout.split()[1] == made.public_text
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(theirs)], check=True)
    assert theirs.with_name("theirs.pub").read_text().split()[1] == identity_at(theirs).public_text


def test_the_secret_is_not_shown() -> None:
    assert SEED.hex() not in repr(Identity(SEED))
    assert str(SEED) not in repr(Identity(SEED))


@pytest.mark.parametrize("cut", [0, 40, 80, 200])
def test_a_damaged_file_is_named(tmp_path: Path, cut: int) -> None:
    text = private_file(Identity(SEED))
    path = tmp_path / "id"
    path.write_text(text[:cut] + "\n-----END OPENSSH PRIVATE KEY-----\n")
    with pytest.raises(BadSetting) as refused:
        identity_at(path)
    assert str(path) in str(refused.value)
