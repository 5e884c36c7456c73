"""Persons by an OpenID Connect provider: its tokens name a subject, whose person the file of tokens knows."""

import json
import math
import threading
from http.client import HTTPException
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import urlopen

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from dpaccount.errors import InputError
from service.access import NotAllowedError, Subject

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SECONDS: Final = 5.0  #: for which the provider is waited for
PAUSE: Final = 2.0  #: seconds for which keys are not fetched again, whoever names an unknown one
KEPT: Final = 3600.0  #: seconds after which a key counts no more: the provider may have taken it back
LEEWAY: Final = 30  #: seconds by which clocks may differ
RSA_BITS: Final = 2048
TYPES: Final = ("jwt", "at+jwt", "application/at+jwt")  #: of tokens that say who somebody is
MOST: Final = 1_000_000  #: bytes of its answer
AWAY: Final = "the provider of identities does not answer; ask again"
NO_ANSWER: Final = (OSError, HTTPException, ValueError, TypeError, RecursionError, InputError, jwt.PyJWTError)


class OtherIssuerError(InputError):
    """The provider calls itself otherwise."""


class Provider:
    """The provider at `issuer`, of whose tokens those for `audience` are taken."""

    def __init__(self, issuer: str, audience: str, leeway: float = LEEWAY) -> None:
        self.issuer, self._audience, self._leeway = _address(issuer), audience, leeway
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._asked = self._fetched = -math.inf
        self._fetching, self._gate = False, threading.Lock()

    def begin(self) -> bool:
        """Return whether the provider answers now; raises `InputError` if it calls itself otherwise."""
        try:
            self._keys, self._fetched = self._fetch(), monotonic()
        except NO_ANSWER as error:
            if isinstance(error, OtherIssuerError):
                raise
            return False
        return True

    def subject(self, token: str) -> Subject:
        """Return whose token it is; raises `NotAllowedError` for one that is not valid now, or not for us."""
        try:
            header = jwt.get_unverified_header(token)
            if str(header.get("typ", "jwt")).lower() not in TYPES:
                raise jwt.InvalidTokenError("it is of another kind")
            key = self._key(header.get("kid"))
            of: Any = {"audience": self._audience, "issuer": self.issuer, "leeway": self._leeway}
            required: Any = {"require": ["exp", "iss", "aud", "sub"]}
            said = jwt.decode(token, key, algorithms=ALGORITHMS, options=required, **of)
            if "events" in said:  # it ends a session
                raise jwt.InvalidTokenError("it is of another kind")
            return self.issuer, str(said["sub"]).encode(errors="backslashreplace").decode()
        except jwt.PyJWTError as error:
            why = f"the provider's token is not valid ({error}); sign in again"
            raise NotAllowedError(401, why) from None

    def _key(self, name: str | None) -> jwt.PyJWK:
        """Return a key; who names one that is not known may fetch all, while others' are still used."""
        with self._gate:
            now = monotonic()
            age = now - self._fetched
            if age > KEPT:
                self._keys = {}
            wanted = name not in self._keys or age > KEPT / 2
            fetches = wanted and not self._fetching and now - self._asked > PAUSE
            if fetches:
                self._fetching, self._asked = True, now
        if fetches:
            self._renew(now)
        keys = self._keys
        if name in keys:
            return keys[name]
        if keys and fetches:
            raise jwt.InvalidKeyError("its key is unknown")
        raise NotAllowedError(
            503, "the key of the provider's token is not known yet; ask again" if keys else AWAY
        )

    def _renew(self, now: float) -> None:
        try:
            found = self._fetch()
            with self._gate:
                self._keys, self._fetched = found, now
        except NO_ANSWER:
            pass  # keys that are not too old are still used
        finally:
            self._fetching = False

    def _fetch(self) -> dict[str | None, jwt.PyJWK]:
        found = _answer(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        named = found.get("issuer")
        if not isinstance(named, str) or named.rstrip("/") != self.issuer.rstrip("/"):
            raise OtherIssuerError(f"the provider at {self.issuer} calls itself {named!r}", "give that name")
        self.issuer = named  # as its tokens spell it
        listed = jwt.PyJWKSet.from_dict(_answer(_address(str(found.get("jwks_uri")))))
        return {one.key_id: one for one in listed.keys if _signs(one)}


def _signs(key: jwt.PyJWK) -> bool:
    """Return whether a key is for signatures, and not too short."""
    weak = isinstance(key.key, RSAPublicKey) and key.key.key_size < RSA_BITS
    return key.public_key_use in (None, "sig") and not weak


def _answer(url: str) -> Any:
    with urlopen(url, timeout=SECONDS) as answer:  # noqa: S310 - `_address`
        found = json.loads(answer.read(MOST))
        if answer.url != url or not isinstance(found, dict):  # a redirection may lead anywhere
            raise ValueError
        return found


def _address(url: str) -> str:
    """Return a URL that nobody on the way can answer; raises `InputError` for another."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost")):
        return url
    raise InputError(f"the provider's address is {url!r}", "give https://HOST, as the provider calls itself")
