"""How a registry asks who we are, and what is answered: challenges, token URLs and signatures as values.

A registry that wants to know answers 401 with `WWW-Authenticate: Bearer realm="…",service="…",scope="a b"`.
The realm's URL, with what was asked for, the time and a nonce, is then fetched with a signature over it. The
realm must be at the host that was asked: any other could be after the token of somebody else's registry
(CVE-2025-51471). Pure: knows neither clock nor network.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote_plus, urlsplit, urlunsplit

from mirrors.errors import BadAnswer, Refused
from mirrors.identity import Identity
from mirrors.listed import SAME_SITE

NONCE_BYTES = 16

_PAIR = re.compile(r'([A-Za-z_]+)=(?:"([^"]*)"|([^\s,"]*))')
_EMPTY_HASH = base64.b64encode(hashlib.sha256(b"").hexdigest().encode()).decode()


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a registry asks for. `scopes` are single words."""

    realm: str
    service: str = ""
    scopes: tuple[str, ...] = ()


def read_challenge(header: str) -> Challenge:
    """The challenge in a WWW-Authenticate header. BadAnswer if it is none that we can meet."""
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise BadAnswer(f"asks for a kind of login that is not known here: {scheme[:40] or 'none named'}")
    values = {found[1].lower(): found[2] or found[3] or "" for found in _PAIR.finditer(rest)}
    if not values.get("realm"):
        raise BadAnswer("asks for a login, but does not say where")
    return Challenge(values["realm"], values.get("service", ""), tuple(values.get("scope", "").split()))


def check_realm(challenge: Challenge, asked_url: str) -> None:
    """Raise Refused if the token would be fetched elsewhere than from where the model comes."""
    realm, asked = urlsplit(challenge.realm), urlsplit(asked_url)
    if not _same_site(realm.netloc.lower(), asked.netloc.lower()):
        raise Refused(
            f'realm host "{realm.netloc[:100]}" does not match original host "{asked.netloc[:100]}": '
            "no signature is sent there"
        )
    if realm.scheme != asked.scheme and not (realm.scheme == "https" and asked.scheme == "http"):
        raise Refused(f"{asked.netloc} wants the login sent by {realm.scheme or 'no'}:, not {asked.scheme}:")


def token_url(challenge: Challenge, unix_seconds: int, nonce: bytes) -> str:
    """Where the token is: the realm with its own query, ours, and the keys sorted."""
    parts = urlsplit(challenge.realm)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    pairs.append(("service", challenge.service))
    pairs += [("scope", scope) for scope in challenge.scopes]
    pairs.append(("ts", str(unix_seconds)))
    pairs.append(("nonce", base64.urlsafe_b64encode(nonce).decode().rstrip("=")))
    pairs.sort(key=lambda pair: pair[0])
    query = "&".join(f"{quote_plus(key)}={quote_plus(value)}" for key, value in pairs)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def signed_header(identity: Identity, url: str) -> str:
    """The Authorization header for fetching a token from `url`: the public key and a signature, no scheme."""
    signature = identity.sign(f"GET,{url},{_EMPTY_HASH}".encode())
    return f"{identity.public_text}:{base64.b64encode(signature).decode()}"


def _same_site(a: str, b: str) -> bool:
    return a == b or SAME_SITE.get(a, a) == SAME_SITE.get(b, b)
