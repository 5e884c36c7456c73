"""Signatures: the right key, the wrong key, an edited certificate, no signature, other files."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from audits import cli
from audits.sign import problem, sign
from dpaccount.errors import InputError


def keys(folder, name, key=None):
    key = key or Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.fixture
def certificate(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps({"digest": "sha256:00", "delta": 1e-06, "signature": None}))
    return path


def test_the_right_key_and_no_other(tmp_path, certificate):
    private, public = keys(tmp_path, "a")
    _, other = keys(tmp_path, "b")
    assert problem(certificate, public) == "the certificate is not signed"
    sign(certificate, private)
    assert problem(certificate, public) is None
    assert "does not belong" in problem(certificate, other)
    assert json.loads(certificate.read_text())["delta"] == 1e-06


@pytest.mark.parametrize(
    "edit", [{"digest": "sha256:01"}, {"signature": {"algorithm": "ed25519", "value": "!"}}]
)
def test_an_edit_breaks_it(tmp_path, certificate, edit):
    private, public = keys(tmp_path, "a")
    sign(certificate, private)
    certificate.write_text(json.dumps({**json.loads(certificate.read_text()), **edit}))
    assert problem(certificate, public) is not None


def test_other_files_are_refused(tmp_path, certificate):
    private, public = keys(tmp_path, "a")
    rsa, rsa_public = keys(tmp_path, "rsa", generate_private_key(65537, 2048))
    for wrong in (public, certificate, rsa, tmp_path / "none"):
        with pytest.raises(InputError):
            sign(certificate, wrong)
    for wrong in (private, certificate, rsa_public):
        with pytest.raises(InputError):
            problem(certificate, wrong)
    for wrong in (private, tmp_path):
        with pytest.raises(InputError):
            sign(wrong, private)


def test_on_the_command_line(tmp_path, monkeypatch, capsys, root):
    monkeypatch.chdir(tmp_path)
    claim = tmp_path / "claim.toml"
    text = (root / "examples" / "simulated_people" / "claim.toml").read_text()
    claim.write_text(text.replace("trials = 1000", "trials = 60").replace("rounds = 64", "rounds = 8"))
    assert cli.run(["certify", str(claim), "--jobs", "1"]) == 0
    path, (private, public) = "certificates/simulated-people/certificate.json", keys(tmp_path, "a")
    assert cli.run(["check", path, "--key", str(public)]) == 1
    assert cli.run(["sign", path, "--key", str(private)]) == 0
    assert cli.run(["check", path, "--key", str(public)]) == 0
    assert cli.run(["check", path]) == 0
    assert cli.run(["check", path, "--key", str(private)]) == 2
    assert capsys.readouterr().err.strip().endswith("give one")
