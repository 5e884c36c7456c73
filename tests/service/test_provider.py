"""Tokens of an OpenID Connect provider: whose count, and none that is forged, old, or for somebody else."""

import json
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from dpaccount.documents import canonical
from dpaccount.errors import InputError
from service.access import NotAllowedError, Tokens
from service.provider import KEPT, LEEWAY, PAUSE, Provider
from service.web import Service


class Identities:
    """A provider on loopback with two keys."""

    def __init__(self):
        self.keys = {
            "one": rsa.generate_private_key(65537, 2048),
            "two": ec.generate_private_key(ec.SECP256R1()),
            "three": rsa.generate_private_key(65537, 2048),
            "four": rsa.generate_private_key(65537, 1024),  # noqa: S505 - it is to be refused
        }
        self.asked, self.calls_itself = [], None

        class Answers(BaseHTTPRequestHandler):
            def do_GET(answer):  # noqa: N805
                self.asked.append(answer.path)
                told = self.document(answer.path)
                body = told if isinstance(told, bytes) else json.dumps(told).encode()
                answer.send_response(200)
                answer.end_headers()
                answer.wfile.write(body)

            def log_message(answer, *_):  # noqa: N805
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server.server_port}/realm"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def document(self, path):
        if path == "/realm/.well-known/openid-configuration":
            return {"issuer": self.calls_itself or self.url, "jwks_uri": f"{self.url}/keys"}
        kinds = {"one": (RSAAlgorithm, "RS256"), "two": (ECAlgorithm, "ES256")}
        kinds |= {"three": (RSAAlgorithm, "RS256"), "four": (RSAAlgorithm, "RS256")}
        public = {name: key.public_key() for name, key in self.keys.items()}
        return {
            "keys": [
                {
                    **json.loads(kind.to_jwk(public[name])),
                    "kid": name,
                    "use": "enc" if name == "three" else "sig",
                    "alg": alg,
                }
                for name, (kind, alg) in kinds.items()
                if name in public
            ]
        }

    def token(self, key="one", alg="RS256", sign=None, kid=None, typ="JWT", **claims):
        now = int(time.time())
        said = {"iss": self.url, "aud": "dpaccount", "sub": "s-1", "iat": now, "exp": now + 60, **claims}
        said = {name: value for name, value in said.items() if value is not None}
        headers = {"kid": kid or key, "typ": typ}
        with warnings.catch_warnings(action="ignore"):  # of a short key
            return jwt.encode(said, sign if sign is not None else self.keys[key], alg, headers=headers)


@pytest.fixture(scope="module")
def identities():
    found = Identities()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture
def known(served, server_thread, identities):
    """Return the service with the provider, where s-1 is ada."""
    served.tokens.add("ada", None, None, arrange=False, subject=(identities.url, "s-1"))
    tokens = Tokens(served.file, Provider(identities.url, "dpaccount").subject)
    server_thread.application = Service(served.desk, tokens).application()
    return served


def asks(known, token):
    return known.ask("GET", "/v1/show", None, None, Authorization=f"Bearer {token}")


def test_a_subject_is_the_person_that_the_file_says(known, identities):
    for token in (
        identities.token(),
        identities.token("two", "ES256"),
        identities.token(aud=["x", "dpaccount"]),
    ):
        assert asks(known, token)[0] == 200
    assert asks(known, known.secrets["bob"])[0] == 200  # secrets of ours count as before


def test_no_other_token_of_a_provider_counts(known, identities, monkeypatch):
    moments = count(time.monotonic(), PAUSE + 1)  # its keys may be fetched for each
    monkeypatch.setattr("service.provider.monotonic", lambda: next(moments))
    other = rsa.generate_private_key(65537, 2048)
    now = int(time.time())
    pem = identities.keys["one"].public_key()
    wrong = {
        "another key": identities.token(sign=other),
        "another key's name": identities.token("two", "ES256", kid="one"),
        "an unknown key": identities.token(sign=other, kid="three"),
        "expired": identities.token(exp=now - LEEWAY - 2),
        "not yet": identities.token(nbf=now + 60),
        "no end": identities.token(exp=None),
        "no subject": identities.token(sub=None),
        "another subject": identities.token(sub="s-2"),
        "another audience": identities.token(aud="elsewhere"),
        "no audience": identities.token(aud=None),
        "another issuer": identities.token(iss="https://elsewhere.example"),
        "a shared secret": identities.token(
            alg="HS256", sign=json.dumps(RSAAlgorithm.to_jwk(pem)).encode() * 2
        ),
        "unsigned": f"{identities.token().rpartition('.')[0].rpartition('.')[0]}.e30.",
        "one that ends a session": identities.token(typ="logout+jwt"),
        "the same, by what it says": identities.token(
            events={"http://schemas.openid.net/event/backchannel-logout": {}}
        ),
        "some other kind": identities.token(typ="secevent+jwt"),
        "a key for encryption": identities.token("three"),
        "a short key": identities.token("four"),
        "none": jwt.encode(
            {"iss": identities.url, "aud": "dpaccount", "sub": "s-1", "exp": now + 60}, None, "none"
        ),
        "no token": "a.b.c",
        "no text": identities.token(sub="\ud800"),
    }
    for what, token in wrong.items():
        status, answer = asks(known, token)
        assert status == 401, what
        assert token not in json.dumps(answer)


def test_clocks_may_differ_a_little(known, identities):
    now = int(time.time())
    for token in (identities.token(nbf=now + 20, iat=now + 20), identities.token(exp=now - 20)):
        assert asks(known, token)[0] == 200
        with pytest.raises(NotAllowedError):
            Provider(identities.url, "dpaccount", 0).subject(token)


def test_an_issuer_is_called_as_it_calls_itself(served, identities, monkeypatch):
    """With a slash at its end or without, in the command, in the file and by the provider: the same."""
    for number, own in enumerate((identities.url, f"{identities.url}/")):
        monkeypatch.setattr(identities, "calls_itself", own)
        for given in (identities.url, f"{identities.url}/"):
            provider = Provider(given, "dpaccount")
            assert provider.begin()
            for spelled in (identities.url, f"{identities.url}/"):
                tokens = Tokens(served.file, provider.subject)
                name, _ = tokens.add(f"p-{number}", None, None, arrange=False, subject=(spelled, "s-9"))
                token = identities.token(iss=own, sub="s-9")
                assert tokens.of(f"Bearer {token}").id == name
                with pytest.raises(InputError, match="already"):
                    tokens.add("q", None, None, arrange=False, subject=(f"{identities.url}/", "s-9"))
                tokens.revoke(name)
    monkeypatch.setattr(identities, "calls_itself", "https://elsewhere.example")
    with pytest.raises(InputError, match=r"calls itself 'https://elsewhere\.example'; give that name"):
        Provider(identities.url, "dpaccount").begin()
    assert not Provider("http://127.0.0.1:9/realm", "dpaccount").begin()


def test_a_new_key_is_found_and_nobody_waits_for_a_strangers(identities, monkeypatch):
    keys, moment, document = dict(identities.keys), [time.monotonic()], identities.document
    monkeypatch.setattr("service.provider.monotonic", lambda: moment[0])
    monkeypatch.setattr(identities, "keys", keys)
    provider, good = Provider(identities.url, "dpaccount"), identities.token()
    assert provider.begin()
    begun, go = threading.Event(), threading.Event()
    monkeypatch.setattr(identities, "document", lambda path: (begun.set(), go.wait(20), document(path))[2])
    stranger = identities.token(kid="nobody's")
    refused = []

    def ask():
        with pytest.raises(NotAllowedError) as one:
            provider.subject(stranger)
        refused.append(one.value.status)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(20)
    assert provider.subject(good) == (identities.url, "s-1")  # while the stranger's is looked for
    keys["two"] = ec.generate_private_key(ec.SECP256R1())
    fresh = identities.token("two", "ES256", kid="two-b")
    with pytest.raises(NotAllowedError, match="not known yet; ask again") as told:
        provider.subject(fresh)
    assert told.value.status == 503
    go.set()
    asking.join()
    assert refused == [401]
    monkeypatch.setattr(
        identities,
        "document",
        lambda path: json.loads(json.dumps(document(path)).replace('"kid": "two"', '"kid": "two-b"')),
    )
    moment[0] += PAUSE + 0.1
    assert provider.subject(fresh) == (identities.url, "s-1")


def test_the_name_of_a_subject_is_no_token(known, identities, served):
    """Its digest stands where a secret's does, and whoever knows the subject can say it."""
    for dots, issuer in enumerate(("https://idp", "https://idp.example", identities.url, "https://a.b.c")):
        subject = f"s-{dots}"
        served.tokens.add("ada", None, None, arrange=False, subject=(issuer, subject))
        for tokens in (served.tokens, Tokens(served.file, Provider(identities.url, "dpaccount").subject)):
            with pytest.raises(NotAllowedError) as refused:
                tokens.of(f"Bearer {canonical((issuer, subject)).decode()}")
            assert refused.value.status == 401


def test_who_is_revoked_or_of_another_issuer_is_unknown(known, identities, served):
    name = next(one.id for one in served.tokens.listed() if one.id not in served.ids.values())
    served.tokens.revoke(name)
    assert asks(known, identities.token())[0] == 401
    served.tokens.add("ada", None, None, arrange=False, subject=("https://elsewhere.example", "s-1"))
    assert asks(known, identities.token())[0] == 401


def test_keys_are_fetched_once_whoever_asks_for_unknown_ones(known, identities):
    del identities.asked[:]
    for number in range(20):
        asks(known, identities.token(sign=identities.keys["one"], kid=f"new {number}"))
    assert len(identities.asked) == 2


def test_a_provider_that_is_away_or_another_is_no_reason_to_believe(identities, monkeypatch):
    monkeypatch.setattr(identities, "calls_itself", "https://elsewhere.example")
    for url in (identities.url, "http://127.0.0.1:9/realm"):
        with pytest.raises(NotAllowedError) as refused:
            Provider(url, "dpaccount").subject(identities.token())
        assert refused.value.status == 503
    for url in ("http://idp.example", "file:///etc/passwd", "ftp://127.0.0.1", ""):
        with pytest.raises(InputError, match="https"):
            Provider(url, "dpaccount")


@pytest.mark.parametrize(
    "answer",
    [
        *({"keys": keys} for keys in (5, [], [5], [{"kty": "oct", "k": "AA", "kid": []}], [{"alg": [1]}])),
        *(
            {"jwks_uri": url}
            for url in (5, "https://[x", "http://127.0.0.1:x/", "file:///etc/passwd", "http://a b/")
        ),
        b"[" * 100_000,
        b"{" + b" " * 1_000_000,
        b"\xff",
    ],
)
def test_whatever_a_provider_answers_is_one_sentence(identities, monkeypatch, answer):
    document = identities.document
    other = answer if isinstance(answer, bytes) else None
    monkeypatch.setattr(identities, "document", lambda path: other or {**document(path), **answer})
    provider = Provider(identities.url, "dpaccount")
    for _ in range(2):  # also while it is not asked again
        with pytest.raises(NotAllowedError, match="does not answer; ask again") as refused:
            provider.subject(identities.token())
        assert refused.value.status == 503


def test_a_key_that_a_provider_took_back_ends(identities, monkeypatch):
    keys, moment = dict(identities.keys), [time.monotonic()]
    monkeypatch.setattr("service.provider.monotonic", lambda: moment[0])
    monkeypatch.setattr(identities, "keys", keys)
    provider, stolen = Provider(identities.url, "dpaccount"), identities.token("two", "ES256")
    assert provider.subject(stolen) == (identities.url, "s-1")
    del keys["two"]
    moment[0] += KEPT + 1
    with pytest.raises(NotAllowedError, match="its key is unknown"):
        provider.subject(stolen)
    keys["two"] = ec.generate_private_key(ec.SECP256R1())
    moment[0] += PAUSE + 1
    assert provider.subject(identities.token("two", "ES256")) == (identities.url, "s-1")


def test_a_token_of_a_subject_has_no_secret(dpaccount, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("token", "add", "tokens.db", "ada", "--issuer", "https://idp.example", "--subject", "s-1")
    code, out, err = dpaccount(*words)
    assert (code, out) == (0, "")
    assert "of ada" in err
    code, _, err = dpaccount(*words)  # which of two would hold?
    assert (code, "revoke that first" in err) == (2, True)
    code, _, err = dpaccount(*words[:-2])
    assert code == 2
    assert "--issuer and --subject belong together" in err
