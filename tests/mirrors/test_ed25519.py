"""Signatures: the vectors of RFC 8032, section 7.1."""

import pytest

from mirrors.ed25519 import public_key, sign


@pytest.mark.parametrize(
    ("seed", "known", "message", "signature"),
    [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00",
        ),
    ],
)
def test_vectors(seed: str, known: str, message: str, signature: str) -> None:
    secret = bytes.fromhex(seed)
    assert public_key(secret).hex() == known
    assert sign(secret, bytes.fromhex(message)).hex() == signature


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 secret bytes"):
        sign(b"short", b"")
