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

from dpaccount.errors import InputError
from service.access import NotAllowedError, Subject

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SECONDS: Final = 5.0  #: for which the provider is waited for
PAUSE: Final = 30.0  #: seconds for which keys are not fetched again, whoever names an unknown one
KEPT: Final = 3600.0  #: seconds after which keys are fetched anew: the provider may have taken one back
MOST: Final = 1_000_000  #: bytes of its answer
AWAY: Final = "the provider of identities does not answer; ask again"
NO_ANSWER: Final = (OSError, HTTPException, ValueError, TypeError, RecursionError, InputError, jwt.PyJWTError)


class Provider:
    """The provider at `issuer`, of whose tokens those for `audience` are taken."""

    def __init__(self, issuer: str, audience: str) -> None:
        self.issuer, self._audience = _address(issuer), audience
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._asked = self._fetched = -math.inf
        self._gate = threading.Lock()

    def subject(self, token: str) -> Subject:
        """Return whose token it is; raises `NotAllowedError` for one that is not valid now, or not for us."""
        of: Any = {"audience": self._audience, "issuer": self.issuer, "algorithms": ALGORITHMS}
        try:
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            said = jwt.decode(token, key, options={"require": ["exp", "iss", "aud", "sub"]}, **of)
            return self.issuer, str(said["sub"]).encode(errors="backslashreplace").decode()
        except jwt.PyJWTError as error:
            why = f"the provider's token is not valid ({error}); sign in again"
            raise NotAllowedError(401, why) from None

    def _key(self, name: str | None) -> jwt.PyJWK:
        with self._gate:
            now = monotonic()
            if now - self._fetched > KEPT:
                self._keys = {}
            if name not in self._keys and now - self._asked > PAUSE:
                self._asked = now
                try:
                    self._keys = self._fetch()
                except NO_ANSWER:
                    raise NotAllowedError(503, AWAY) from None
                self._fetched = now
            if not self._keys:
                raise NotAllowedError(503, AWAY)
            if name not in self._keys:
                raise jwt.InvalidKeyError("its key is unknown")
            return self._keys[name]

    def _fetch(self) -> dict[str | None, jwt.PyJWK]:
        found = _answer(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != self.issuer:
            raise NotAllowedError(503, f"the provider calls itself otherwise than {self.issuer}")
        listed = jwt.PyJWKSet.from_dict(_answer(_address(str(found.get("jwks_uri")))))
        return {one.key_id: one for one in listed.keys}


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
