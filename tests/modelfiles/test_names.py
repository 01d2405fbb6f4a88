"""Names, references and digests against recorded right values, and against arbitrary text."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelfiles.errors import ConflictingSource, InvalidDigest, InvalidName, ModelfilesError, ModelRequired
from modelfiles.names import Name, equal_fold, name_from_path, parse_digest, parse_name, parse_reference

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "names.jsonl").read_text("utf-8").splitlines()
]
PARTS: dict[str, Callable[[Name], str]] = {
    "host": lambda name: name.host,
    "namespace": lambda name: name.namespace,
    "model": lambda name: name.model,
    "tag": lambda name: name.tag,
    "scheme": lambda name: name.scheme,
    "base_url": lambda name: name.base_url,
    "display_shortest": lambda name: name.display,
    "full": lambda name: name.full,
    "filepath": lambda name: name.path,
}
OTHER_KEYS = {"valid", "equal_fold", "ref", "ref_error", "pull"}


def read(case: Mapping[str, Any]) -> Name:
    return name_from_path(case["path"]) if "path" in case else parse_name(case["name"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["id"]))
def test_case_name(case: dict[str, Any]) -> None:
    expect = case["expect"]
    assert set(expect) <= OTHER_KEYS | set(PARTS)
    if not expect["valid"]:
        with pytest.raises(InvalidName):
            read(case)
        return
    name = read(case)
    assert {key: part(name) for key, part in PARTS.items() if key in expect} == {
        key: expect[key] for key in PARTS if key in expect
    }
    if "equal_fold" in expect:
        assert equal_fold(name, parse_name(case["other"])) is expect["equal_fold"]


@pytest.mark.parametrize("case", [c for c in CASES if "ref" in c["expect"]], ids=lambda c: str(c["id"]))
def test_case_reference(case: dict[str, Any]) -> None:
    reference = parse_reference(case["name"])
    assert {"base": reference.base, "source": reference.source} == case["expect"]["ref"]
    if "pull" in case["expect"]:
        pull = {"name": reference.pull_name, "cloud": reference.source == "cloud"}
        assert pull == case["expect"]["pull"]


@pytest.mark.parametrize("case", [c for c in CASES if "ref_error" in c["expect"]], ids=lambda c: str(c["id"]))
def test_case_reference_error(case: dict[str, Any]) -> None:
    with pytest.raises(ModelfilesError) as caught:
        parse_reference(case["name"])
    assert str(caught.value) == case["expect"]["ref_error"]


@pytest.mark.parametrize(
    ("text", "base", "source"),
    [
        ("otter:7b-cloud", "otter:7b", "cloud"),
        ("otter:7B-CLOUD", "otter:7B", "cloud"),
        ("  otter:LOCAL ", "otter", "local"),
        ("nas:8500/river/otter-cloud", "nas:8500/river/otter-cloud", "unspecified"),
        ("otter: cloud", "otter", "cloud"),
        ("cloud", "cloud", "unspecified"),
    ],
)
def test_reference_suffixes(text: str, base: str, source: str) -> None:
    reference = parse_reference(text)
    assert (reference.base, reference.source) == (base, source)


def test_pull_name_of_a_cloud_tag_is_unchanged() -> None:
    assert parse_reference("otter:7b-cloud").pull_name == "otter:7b-cloud"
    assert parse_reference("nas:8500/river/otter:cloud").pull_name == "nas:8500/river/otter:cloud"


@pytest.mark.parametrize("text", ["", "\t\n", ":cloud", ":local", " :CLOUD "])
def test_reference_without_a_name(text: str) -> None:
    with pytest.raises(ModelRequired):
        parse_reference(text)


@pytest.mark.parametrize("text", ["x:local:local", "x:7b-cloud:cloud"])
def test_reference_with_two_suffixes(text: str) -> None:
    with pytest.raises(ConflictingSource):
        parse_reference(text)


@pytest.mark.parametrize("separator", [":", "-"])
def test_digest_is_canonical(separator: str) -> None:
    assert parse_digest("sha256" + separator + "AB" * 32) == "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    "text", ["", "sha256:", "sha256:" + "a" * 63, "sha256:" + "a" * 65, "sha256:" + "g" * 64, "a" * 64,
             "sha256:" + "a" * 64 + "\n", "SHA256:" + "a" * 64, "sha256_" + "a" * 64]
)  # fmt: skip
def test_bad_digest(text: str) -> None:
    with pytest.raises(InvalidDigest, match="invalid digest format"):
        parse_digest(text)


@pytest.mark.parametrize(
    "text", ["otter\n", "otter:7b\n", "river/\notter", "ot\x00ter", "hub.example.org/r/o:t/"]
)
def test_control_characters_and_trailing_separators(text: str) -> None:
    with pytest.raises(InvalidName):
        parse_name(text)


@given(st.text())
def test_any_text_is_a_name_or_refused(text: str) -> None:
    try:
        name = parse_name(text)
    except InvalidName:
        return
    assert ".." not in name.path.split("/")


names = st.from_regex(
    r"\A([a-z0-9_][a-z0-9.:_-]{0,9}/[a-z0-9_]{1,9}/|[A-Z_-]{1,3}/|)[A-Za-z0-9_][.\w-]{0,9}(:[a-z0-9_]{1,5})?\Z"
)


@given(names)
def test_display_and_path_round_trip(text: str) -> None:
    try:
        name = parse_name(text)
    except InvalidName:
        return
    assert equal_fold(parse_name(name.display), name)
    assert parse_name(name.full) == name
    assert name_from_path(name.path) == name
