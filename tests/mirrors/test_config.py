"""Settings about mirrors, in every shape that users have."""

import json

import pytest

from mirrors.config import Mirror, MirrorConfig, read_json, read_text

A, B = "https://a.example", "https://b.example/path"
REGISTRY, HUB = "registry.ollama.ai", "huggingface.co"


def urls(config: MirrorConfig, site: str = REGISTRY) -> list[str]:
    return [mirror.url for mirror in config.of(site)]


@pytest.mark.parametrize(
    ("text", "site", "expected"),
    [
        (f"{A},{B}", REGISTRY, [A, B]),
        (f" {A}/ , {B}/v2/ ", REGISTRY, [A, B]),
        (f'["{A}/v2", "{B}"]', REGISTRY, [A, B]),
        (f'{{"url": "{A}"}}', REGISTRY, [A]),
        (f'{{"https://registry.ollama.ai": {{"location": "{A}"}}}}', REGISTRY, [A]),
        (f'{{"hf.co": "{A}"}}', HUB, [A]),
        (f'{{"huggingface.co": ["{A}", "{B}"]}}', "hf.co", [A, B]),
        (f'[{{"url": "{A}", "priority": 2}}, {{"url": "{B}", "priority": 1}}]', REGISTRY, [B, A]),
        (f'[{{"url": "{A}", "upstream": "hf.co"}}]', HUB, [A]),
        (f'{{"OLLAMA_REGISTRIES": ["{A}"]}}', REGISTRY, [A]),
        (f'\ufeff["{A}",\r\n"{B}"]', REGISTRY, [A, B]),
        ("", REGISTRY, []),
    ],
)
def test_shapes(text: str, site: str, expected: list[str]) -> None:
    config = read_json(text, "f") if text[:1] in ("[", "{", "\ufeff") else read_text(text, "f")
    assert urls(config, site) == expected
    assert config.problems == ()


def test_all_that_an_entry_can_say() -> None:
    entry = {
        "url": A, "priority": 3, "connections": 2, "auth": "env:TOKEN", "ca_file": "/c.pem",
        "proxy": "http://p:1", "insecure": True, "manifest_from": "mirror",
    }  # fmt: skip
    config = read_json(json.dumps([entry]), "f")
    assert config.of(REGISTRY) == (Mirror(A, 3, 2, "env:TOKEN", "/c.pem", "http://p:1", True),)
    assert config.order_of(REGISTRY) == "mirror"
    assert config.hosts == {"a.example"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('["https://a.example",]', "f, line 1, column 22: a comma before the closing ]"),
        ('{"a":\n}', "f, line 2, column 1"),
        ('["ftp://a.example"]', "entry 1: 'ftp://a.example' is no address"),
        ('["https://u:secret@a.example"]', "password"),
        ('["https://a.example?x=1"]', "query"),
        ('["https://a.example:99999"]', "port"),
        ("[5]", "neither an address nor an object"),
        ("[{}]", 'needs a "url"'),
        ('[{"url": "https://a.example", "auth": "secret"}]', "env:NAME or file:PATH"),
        ('[{"url": "https://a.example", "priority": "x"}]', "whole number"),
        ('[{"url": "https://a.example", "insecure": 1}]', "true or false"),
        ('[{"url": "https://a.example", "colour": 1}]', "colour: no such key"),
        ('{"sp ace": "https://a.example"}', "is no host"),
        ("[" * 100000, "f"),
    ],
)
def test_faults_are_told_and_stop_nothing(text: str, fault: str) -> None:
    (problem,) = read_json(text, "f").problems
    assert fault in problem
    assert "secret@" not in problem


def test_the_good_entries_of_a_faulty_list_count() -> None:
    config = read_json(f'["{A}", 5, "{B}"]', "f")
    assert urls(config) == [A, B]
    assert len(config.problems) == 1


def test_plain_http_does_not_say_what_a_tag_means() -> None:
    config = read_json('["http://a.example", {"url": "http://b.example", "insecure": true}]', "f")
    assert [mirror.may_name for mirror in config.of(REGISTRY)] == [False, True]
