"""Versions as Go's semver package takes them, with or without a `v` in front. Pure."""

import re

# Minor and patch may be left out, numbers have no leading zeros
_NUMBER = r"(0|[1-9][0-9]*)"
_IDENTIFIERS = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"{_NUMBER}(\.{_NUMBER}(\.{_NUMBER}(-{_IDENTIFIERS})?(\+{_IDENTIFIERS})?)?)?")
_PADDED_NUMBER = re.compile(r"-(.*\.)?0[0-9]+(\.|\+|$)")


def is_version(text: str) -> bool:
    """Whether the text is a version, such as `0.14.0`."""
    version = text.removeprefix("v")
    return bool(_VERSION.fullmatch(version)) and not _PADDED_NUMBER.search(version.partition("+")[0])
