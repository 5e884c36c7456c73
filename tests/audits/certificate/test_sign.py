"""Signatures: of valid certificates only, and of all that a reader holds on to; the right key and no other."""

import copy
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from msgspec import to_builtins

from audits import cli, consistency
from audits.certificate.document import describe_proof
from audits.certificate.sign import fingerprint, problem, read_key, sign
from audits.cli.options import show
from dpaccount import checker
from dpaccount.checker.__main__ import main
from dpaccount.errors import InputError
from tests.depth import deep


def keys(folder, name, key=None):
    key = key or Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def unproven(name="a-claim", unit="one row"):
    """Return the least certificate that is valid: nothing is proved and nothing attacked."""
    promise = {"model": "central", "unit": unit, "relation": "replace-one", "epsilon": 0.5, "delta": 1e-06}
    use = {"use": "some.rows:mean"}
    rows = {**use, "name": "rows", "source": "ours", "status": "unproved", "parameters": {}, "code": None}
    body = {
        "schema": "dpaccount/certificate/1",
        "verdict": "UNPROVEN",
        "refutes": None,
        "claim": {"schema": "dpaccount/claim/1", "name": name, "guarantee": promise, "subject": use},
        "subject": rows,
        "guarantee": promise,
        "proved": to_builtins(describe_proof(None, "no proof")),
        "sensitivity": [],
        "audit": None,
        "release": None,
        "releasable": False,
        "environment": {},
        "created": "2026-11-20T10:00:00Z",
    }
    body["hazards"] = consistency.hazards_of(body)
    return {**body, "digest": checker.digest(body), "signature": None}


@pytest.fixture
def certificate(tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(unproven()))
    return path


def read(path):
    return json.loads(path.read_text())


def test_the_right_key_and_no_other(tmp_path, certificate):
    private, public = keys(tmp_path, "a")
    _, other = keys(tmp_path, "b")
    assert problem(read(certificate), public) == "the certificate is not signed"
    signature = sign(certificate, private)
    assert problem(read(certificate), public) is None
    assert "does not belong" in problem(read(certificate), other)
    assert signature["key"] == fingerprint(read_key(public))
    assert read(certificate)["guarantee"]["delta"] == 1e-06
    assert consistency.judged(certificate.read_bytes())[0] == "UNPROVEN"  # a signed one is still valid


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("digest", "sha256:" + "1" * 64), ("verdict", "CERTIFIED"), ("created", "2027-11-20T10:00:00Z")),
        ("signature", {"signed": "2027-11-20T10:00:00Z"}),
        ("signature", {"key": "0" * 64}),
        ("signature", {"value": "A" * 86 + "=="}),
        ("claim", {"name": "another"}),
        ("claim", {"guarantee": {"epsilon": 0.1}}),
    ],
    ids=str,
)
def test_an_edit_breaks_it(tmp_path, certificate, member, value):
    private, public = keys(tmp_path, "a")
    sign(certificate, private)
    document = read(certificate)
    document[member] = {**document[member], **value} if isinstance(value, dict) else value
    assert problem(document, public) is not None


def test_no_signature_is_put_on_another_certificate(tmp_path, certificate):
    """A harmless text with the digest of a forged certificate is not signed; nor is any invalid one."""
    private, public = keys(tmp_path, "a")
    forged = unproven(unit="one hospital with all its patients")
    for harmless in (
        {**unproven(), "digest": forged["digest"]},
        {**unproven(), "verdict": "CERTIFIED"},
        {**unproven(), "hazards": []},
        {"digest": forged["digest"], "signature": None},
    ):
        certificate.write_text(json.dumps(harmless))
        with pytest.raises(InputError, match="calls valid"):
            sign(certificate, private)
        assert read(certificate) == harmless
    certificate.write_text(json.dumps(unproven()))
    signature = sign(certificate, private)
    assert problem({**forged, "signature": signature}, public) is not None
    same_digest = {**copy.deepcopy(forged), "digest": unproven()["digest"], "signature": signature}
    assert problem(same_digest, public) is not None  # the claim is signed beside the digest


def test_other_files_are_refused(tmp_path, certificate):
    private, public = keys(tmp_path, "a")
    rsa, rsa_public = keys(tmp_path, "rsa", generate_private_key(65537, 2048))
    for wrong in (public, certificate, rsa, tmp_path / "none"):
        with pytest.raises(InputError):
            sign(certificate, wrong)
    for wrong in (private, certificate, rsa_public):
        with pytest.raises(InputError):
            problem(read(certificate), wrong)
    for wrong in (private, tmp_path):
        with pytest.raises(InputError):
            sign(wrong, private)


@deep
def test_on_the_command_line(tmp_path, monkeypatch, capsys, root):
    monkeypatch.chdir(tmp_path)
    claim = tmp_path / "claim.toml"
    text = (root / "examples" / "mechanisms" / "binary-tree.toml").read_text()
    claim.write_text(text)
    assert cli.run(["certify", str(claim), "--jobs", "1"]) == 0
    path, (private, public) = "certificates/binary-tree/certificate.json", keys(tmp_path, "a")
    _, other = keys(tmp_path, "b")
    capsys.readouterr()

    def said(*options):
        code = cli.run(["check", path, *options])
        return code, capsys.readouterr().out.strip()

    assert said("--key", str(public)) == (1, "invalid: the certificate is not signed")
    assert said()[0] == 0
    assert said()[1].endswith(", unsigned")
    assert cli.run(["sign", path, "--key", str(private)]) == 0
    capsys.readouterr()
    key = fingerprint(read_key(public))
    assert said("--key", str(public))[1].split(", ")[-1].startswith(f"signed by {key} on 20")
    assert said()[1].endswith(", signed, not checked")
    assert said("--key", str(other))[0] == 1
    found = json.loads(said("--json")[1])
    assert (found["valid"], found["verdict"]) == (True, "CERTIFIED")
    assert cli.run(["check", path, "--key", str(private)]) == 2
    assert capsys.readouterr().err.strip().endswith("give one")


@pytest.mark.parametrize(("member", "code"), [(None, 3), ("verdict", 1), ("schema", 2)])
def test_exit_codes(certificate, capsys, member, code):
    if member is not None:
        certificate.write_text(json.dumps({**unproven(), member: "CERTIFIED"}))
    assert cli.run(["check", str(certificate)]) == code
    assert main([str(certificate)]) == code
    out, err = capsys.readouterr()
    assert (out == "") == (code == 2)
    assert (err == "") == (code != 2)


def test_a_bare_derivation_is_asked_for(tmp_path):
    given = {"query": "x", "audience": "everyone", "releases": [], "because": "r"}
    step = {"rule": "assume_view", "from": [], "with": given, "gives": ["View", "x", "everyone", []]}
    document = {"schema": "dpaccount/derivation/1", "steps": [{**step, "digest": checker.digest(step)}]}
    path = tmp_path / "d.json"
    path.write_text(json.dumps(document))
    assert cli.run(["check", str(path)]) == 2
    assert cli.run(["check", str(path), "--derivation"]) == 0
    assert cli.run(["check", str(path), "--derivation", "--key", "x"]) == 2
    document["steps"][0]["gives"][1] = "y"
    path.write_text(json.dumps(document))
    assert cli.run(["check", str(path), "--derivation"]) == 1
    path.write_text(json.dumps({**unproven(), **document}))
    assert cli.run(["check", str(path)]) == 2
    assert cli.run(["check", str(path), "--derivation"]) == 2


EVIL = "one row\x1b[2K\r\nCERTIFIED  a-claim\x9b8m\u202e"


def test_texts_of_a_claim_do_not_control_the_terminal():
    """A claim's unit, names and reasons are shown on one line, and nothing of them is obeyed."""
    from audits.certificate.summary import summary

    certificate = unproven(unit=EVIL)
    certificate["proved"]["reason"] = EVIL
    certificate["claim"]["name"] = EVIL
    shown = summary(certificate, EVIL)
    assert all(line.isprintable() for line in shown.split("\n"))
    assert not any(line.startswith("CERTIFIED") for line in shown.split("\n"))
    assert len(shown.split("\n")) == len(summary(unproven(), "path").split("\n"))


def test_json_answers_do_not_control_the_terminal_either(capsys):
    show({"unit": EVIL}, True, str)
    out = capsys.readouterr().out
    assert out[:-1].isprintable()
    assert json.loads(out) == {"unit": EVIL}
