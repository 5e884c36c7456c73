"""The command line as contracts state it: exit codes, one line of error, one document of JSON."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dpaccount import checker
from tests.depth import deep

EXAMPLES = Path(__file__).parents[3] / "examples"

QUICK = """
schema = "dpaccount/claim/1"
name = "quick"
[guarantee]
model = "central"
unit = "one row"
relation = "replace-one"
epsilon = {epsilon}
delta = {delta}
[subject]
use = "{use}"
[subject.parameters]
rows = 5
low = 0
high = 1
[audit]
trials = 200
"""


def claim(tmp_path, text=None, *, use="laplace-sum", epsilon="0.5", delta="0", **more):
    body = (text or QUICK).format(use=use, epsilon=epsilon, delta=delta)
    for old, new in more.items():
        body = body.replace(old, new)
    path = tmp_path / "claim.toml"
    path.write_text(body)
    return path


def last_error(result):
    """Return the error of a command that has said something before, such as what it will charge."""
    code, out, err = result
    return is_error((code, out, err.splitlines()[-1]))


def is_error(result):
    code, out, err = result
    lines = [line for line in err.splitlines() if not line.startswith("runs code from")]
    assert code == 2, result
    assert out == ""
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    return lines[0]


# ------------------------------------------------------------------ verdicts


def test_a_folder_that_cannot_be_written_is_said_before_the_work(dpaccount, tmp_path):
    (tmp_path / "file").write_text("")
    assert "name a folder" in is_error(dpaccount("certify", claim(tmp_path), "--out", tmp_path / "file"))


@deep
def test_certified_then_checked_then_tampered(dpaccount, tmp_path):
    code, out, _ = dpaccount("certify", claim(tmp_path), "--json", "--jobs", 1)
    certificate = json.loads(out)
    assert (code, certificate["verdict"]) == (0, "CERTIFIED")
    assert certificate["proved"]["epsilon"]["upper"] == 0.5
    path = tmp_path / "certificates" / "quick" / "certificate.json"
    assert json.loads(path.read_text()) == certificate
    code, out, _ = dpaccount("check", path)
    assert code == 0
    assert out.startswith("valid: CERTIFIED")
    for step in certificate["proved"]["derivation"]:
        for key, value in step["with"].items():
            if value and value[0] in "0123456789":
                damaged = json.loads(path.read_text())
                target = damaged["proved"]["derivation"][certificate["proved"]["derivation"].index(step)]
                target["with"][key] = "7/3"
                (tmp_path / "bad.json").write_text(json.dumps(damaged))
                code, out, _ = dpaccount("check", tmp_path / "bad.json", "--json")
                assert (code, json.loads(out)["valid"]) == (1, False)
                assert json.loads(out)["said"].startswith("step ")


@deep
def test_a_forged_certificate_with_honest_digests_is_rejected(dpaccount, tmp_path):
    _, out, _ = dpaccount("certify", claim(tmp_path), "--json", "--jobs", 1)
    certificate = json.loads(out)
    steps = certificate["proved"]["derivation"]
    for step in steps:
        if step["rule"] == "laplace":
            step["with"]["scale"] = "1000"
        body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
        step["digest"] = checker.digest({**body, "from": [steps[k]["digest"] for k in step["from"]]})
    body = {k: v for k, v in certificate.items() if k not in ("digest", "signature")}
    certificate["digest"] = checker.digest(body)
    (tmp_path / "forged.json").write_text(json.dumps(certificate))
    code, out, _ = dpaccount("check", tmp_path / "forged.json")
    assert code == 1
    assert "(laplace)" in out


def resealed(tmp_path, certificate, edit):
    """Write an edited certificate with a recomputed digest: what a forger can do."""
    edit(certificate)
    body = {k: v for k, v in certificate.items() if k not in ("digest", "signature")}
    certificate["digest"] = checker.digest(body)
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(certificate))
    return path


@deep
@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c["guarantee"].update(epsilon=0.1),
        lambda c: (c["guarantee"].update(epsilon=0.1), c["claim"]["guarantee"].update(epsilon=0.1)),
        lambda c: (c["guarantee"].update(model="local"), c["claim"]["guarantee"].update(model="local")),
        lambda c: (
            c["guarantee"].update(relation="add-remove"),
            c["claim"]["guarantee"].update(relation="add-remove"),
        ),
        lambda c: c.update(sensitivity=[]),
        lambda c: c["sensitivity"][0].update(status="refuted"),
        lambda c: c["proved"]["epsilon"].update(upper=0.4),
        lambda c: c["proved"]["epsilon"].update(lower=0.6),
        lambda c: c["proved"].update(derivation=[]),
        lambda c: c["proved"].update(epsilon=None),
        lambda c: c["subject"].update(name="another"),
        lambda c: c.update(verdict="REFUTED", refutes="claim"),
        lambda c: c.update(verdict="UNPROVEN"),
        lambda c: c.update(refutes="claim"),
        lambda c: c["audit"]["points"][0].update(epsilon_lower=9.0),
        lambda c: c["audit"]["points"][0].update(limit="1/100", epsilon_lower=0.2),
        lambda c: c.pop("claim"),
        lambda c: c.update(proved=3),
    ],
)
def test_a_verdict_that_does_not_follow_is_rejected(dpaccount, tmp_path, edit):
    _, out, _ = dpaccount("certify", claim(tmp_path), "--json", "--jobs", 1)
    code, out, _ = dpaccount("check", resealed(tmp_path, json.loads(out), edit))
    assert code == 1
    assert out.startswith("invalid: ")


@deep
def test_unproven_where_the_claim_is_smaller_than_the_proof(dpaccount, tmp_path):
    smaller = claim(tmp_path, epsilon="0.49", **{"low = 0\n": "low = 0\nscale = 2\n"})
    code, out, _ = dpaccount("certify", smaller, "--json", "--jobs", 1)
    assert (code, json.loads(out)["verdict"]) == (3, "UNPROVEN")
    assert dpaccount("check", tmp_path / "certificates/quick/certificate.json")[0] == 3


@deep
def test_unproven_where_the_model_or_relation_differs(dpaccount, tmp_path):
    for old, new in (('"central"', '"joint"'), ('"replace-one"', '"add-remove"')):
        code, out, _ = dpaccount("certify", claim(tmp_path, **{old: new}), "--json", "--jobs", 1)
        assert (code, json.loads(out)["verdict"]) == (3, "UNPROVEN")


def test_unproven_where_the_mechanism_has_no_proof_at_this_delta(dpaccount, tmp_path):
    code, out, _ = dpaccount(
        "certify", claim(tmp_path, use="gaussian-sum", **{"low = 0\nhigh = 1\n": ""}), "--json", "--jobs", 1
    )
    certificate = json.loads(out)
    assert (code, certificate["verdict"]) == (3, "UNPROVEN")
    assert "zCDP" in certificate["proved"]["reason"]
    assert dpaccount("check", tmp_path / "certificates/quick/certificate.json")[0] == 3


@deep
@pytest.mark.statistical(0.01)  # the claim stands
def test_refuted_where_a_claim_is_far_below_the_truth(dpaccount, tmp_path):
    text = QUICK.replace("trials = 200", "trials = 4000").replace("rows = 5", "rows = 5\nscale = 0.5")
    code, out, _ = dpaccount("certify", claim(tmp_path, text), "--json", "--jobs", 1)
    certificate = json.loads(out)
    assert (code, certificate["verdict"], certificate["refutes"]) == (1, "REFUTED", "claim")
    path = tmp_path / "certificates/quick/certificate.json"
    assert dpaccount("check", path)[:2] == (
        1,
        f"valid: REFUTED: digest, {len(certificate['proved']['derivation'])} proof steps and verdict confirmed, unsigned\n",
    )
    junit = (path.parent / "junit.xml").read_text()
    assert 'failures="2"' in junit
    report = (path.parent / "report.html").read_text()
    assert "REFUTED" in report
    assert "<script" not in report
    assert "Content-Security-Policy" in report


@deep
def test_a_subject_of_ones_own_says_that_it_runs_code(dpaccount, tmp_path):
    shutil.copy(Path(__file__).parents[2] / "planted" / "own_sum.py", tmp_path)
    path = claim(tmp_path, use="own_sum:OwnSum")
    code, _, err = dpaccount("certify", path, "--jobs", 1)
    assert code == 0
    assert "runs code from own_sum" in err
    assert "no-code" in is_error(dpaccount("certify", path, "--no-code"))


@deep
def test_a_policy_gates_the_exit_code(dpaccount, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('epsilon = 0.25\nmodels = ["joint"]\n')
    code, _, err = dpaccount("certify", claim(tmp_path), "--require", policy, "--jobs", 1)
    assert code == 1
    assert "exceeds the policy's 0.25" in err
    assert "central is not among joint" in err
    policy.write_text("epsilon = 0.5\n")
    assert dpaccount("certify", claim(tmp_path), "--require", policy, "--jobs", 1)[0] == 0
    policy.write_text("epsilon = true\n")
    is_error(dpaccount("certify", claim(tmp_path), "--require", policy))


# ------------------------------------------------------------------ bad claims


@deep(quick_every=4)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"dpaccount/claim/1"', '"dpaccount/claim/2"', "schema"),
        ('name = "quick"', 'name = "../quick"', "name"),
        ('name = "quick"', 'name = "Quick"', "name"),
        ("epsilon = 0.5", "epsilon = -1", "guarantee.epsilon"),
        ("epsilon = 0.5", 'epsilon = "one"', "guarantee.epsilon"),
        ("epsilon = 0.5", "epsilon = nan", "finite"),
        ("epsilon = 0.5", "epsilon = inf", "finite"),
        ("epsilon = 0.5", "epsilon = 1e9999", "exponent"),
        ("epsilon = 0.5", "epsilon = true", "a boolean"),
        ("epsilon = 0.5", "", "'epsilon' is missing"),
        ("delta = 0", "delta = 2", "guarantee.delta"),
        ("delta = 0", "delta = 0\nextra = 1", "unknown key 'extra'"),
        ('"replace-one"', '"swap"', "unknown value 'swap'"),
        ('"replace-one"', '"bounded-row"', "radius"),
        ("rows = 5", "rows = 5.5", "subject.parameters.rows"),
        ("rows = 5", "rows = 0", "rows >= 1"),
        ("rows = 5", 'rows = "five"', "subject.parameters.rows"),
        ("rows = 5", "columns = 5", "unknown key 'columns'"),
        ("low = 0", "low = 3", "low <= high"),
        ("low = 0", "", "laplace-sum has no default for low; say them as parameters"),
        ("rows = 5\nlow = 0\nhigh = 1", "", "no default for low, high"),
        ('use = "laplace-sum"', 'use = "unknown-sum"', "unknown subject 'unknown-sum'"),
        ('use = "laplace-sum"', 'use = "no.such.module:thing"', "No module named"),
        ('use = "laplace-sum"', 'use = "os:path"', "not a class"),
        ('use = "laplace-sum"', 'use = "a b:c"', "package.module:name"),
        ("trials = 200", "trials = 1", "audit.trials"),
        ("trials = 200", "confidence = 1", "audit.confidence"),
        ("trials = 200", "seed = -1", "audit.seed"),
        ("[audit]", "[audits]", "unknown key 'audits'"),
        ("[audit]", "[governance]\nowner = 3\n[audit]", "governance.owner"),
        (
            "[audit]",
            '[data]\nfile = "../x.csv"\nledger = "sqlite:///x.db"\n[audit]',
            "leaves the claim's directory",
        ),
        (
            "[audit]",
            '[data]\nfile = "x.csv"\nledger = "sqlite:////etc/x.db"\n[audit]',
            "leaves the claim's directory",
        ),
        ("[audit]", '[data]\nfile = "x.csv"\nledger = "sqlite:///x.db"\n[audit]', "reads no data file"),
        ("[guarantee]", "[guarantee", "TOML"),
    ],
)
def test_a_bad_claim_is_one_line(dpaccount, tmp_path, old, new, said):
    for option in ((), ("--json",)):
        assert said in is_error(dpaccount("certify", claim(tmp_path, **{old: new}), *option))
    assert not (tmp_path / "certificates").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("certify",), ("certify", "none.toml"), ("certify", "."), ("certify", "claim.toml", "--bogus"), ("bogus",),
        ("check",), ("check", "none.json"), ("check", "."), ("account", "none.json"), ("account", "-x"),
        ("audit",), ("audit", "laplace-sum"), ("audit", "none", "--epsilon", "1"),
        ("audit", "laplace-sum", "--epsilon", "x"), ("audit", "laplace-sum", "--epsilon", "-1"),
        ("audit", "laplace-sum", "--epsilon", "1", "--delta", "2"),
        ("audit", "laplace-sum", "--epsilon", "1", "--trials", "1.5"),
        ("audit", "laplace-sum", "--epsilon", "1", "--confidence", "1"),
        ("subjects", "none"), ("subjects", "../x"), ("schema", "none"), ("ledger", "show", "sqlite:///none.db"),
        ("ledger", "verify", "sqlite:///none.db"), ("ledger", "show", "mysql://x"), ("ledger", "charge", "sqlite:///none.db", "x.json"),
        ("ledger", "init", "sqlite:///x.db", "--epsilon", "-1", "--delta", "0", "--unit", "u", "--relation", "replace-one"),
        ("ledger", "init", "sqlite:///x.db", "--epsilon", "1", "--delta", "0", "--unit", "u", "--relation", "swap"),
    ],
)  # fmt: skip
def test_a_bad_request_is_one_line(dpaccount, words):
    is_error(dpaccount(*words))


# ------------------------------------------------------------------ the rest


@deep
@pytest.mark.statistical(0.05)  # one sound claim
def test_audit_alone(dpaccount):
    code, out, _ = dpaccount(
        "audit", "laplace-sum", "--epsilon", "0.1", "--trials", "4000", "--seed", "3", "--json", "--jobs", 1
    )
    answer = json.loads(out)
    assert (code, answer["refuted"], answer["schema"]) == (1, True, "dpaccount/audit/1")
    assert 0.1 < answer["epsilon_lower"] < 0.5
    code, again, _ = dpaccount(
        "audit", "laplace-sum", "--epsilon", "0.5", "--trials", "4000", "--seed", "3", "--json", "--jobs", 1
    )
    assert (code, json.loads(again)["refuted"]) == (0, False)


@deep
def test_account_and_ledger(dpaccount, tmp_path):
    events = tmp_path / "events.json"
    events.write_text(
        '{"schema": "dpaccount/events/1", "relation": "replace-one", "events": [{"event": "gaussian", "sigma": 1}]}'
    )
    code, out, _ = dpaccount("account", events, "--delta", "1e-5", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["epsilon"]["lower"] <= 4.377178095681225 <= answer["epsilon"]["upper"]
    assert answer["delta"] == "1e-05"
    is_error(dpaccount("account", events, "--delta", "1e-5", "--epsilon", "1"))
    url = f"sqlite:///{tmp_path}/budget.db"
    assert (
        dpaccount(
            "ledger",
            "init",
            url,
            *["--epsilon", "5", "--delta", "1e-5", "--unit", "person", "--relation", "replace-one"],
        )[0]
        == 0
    )
    assert dpaccount("ledger", "charge", url, events, "--key", "a")[0] == 0
    code, out, _ = dpaccount("ledger", "charge", url, events, "--key", "b", "--json")
    assert (code, json.loads(out)["accepted"]) == (1, False)
    code, out, _ = dpaccount("ledger", "show", url, "--json")
    assert (json.loads(out)["entries"], json.loads(out)["refused"]) == (1, 1)
    assert dpaccount("ledger", "verify", url)[0] == 0


def test_subjects_and_schema(dpaccount):
    code, out, _ = dpaccount("subjects", "--json")
    listed = {entry["name"]: entry for entry in json.loads(out)}
    assert code == 0
    assert {"laplace-sum", "gaussian-sum", "binary-tree"} <= set(listed)
    assert set(listed["laplace-sum"]) == {"name", "layer", "parameters", "source", "status"}
    code, out, _ = dpaccount("schema", "certificate")
    assert (code, json.loads(out)["$id"]) == (0, "dpaccount/certificate/1")


@deep
def test_certificates_follow_the_published_schema(dpaccount, tmp_path):
    schema = json.loads(dpaccount("schema", "certificate")[1])
    certificate = json.loads(dpaccount("certify", claim(tmp_path), "--json", "--jobs", 1)[1])
    assert set(certificate) == set(schema["required"]) == set(schema["properties"])
    for part in ("subject", "guarantee", "proved"):
        named = schema["properties"][part]["$ref"].removeprefix("#/$defs/")
        assert set(schema["$defs"][named]["required"]) <= set(certificate[part])


@deep
def test_module_and_script_are_the_same(tmp_path):
    for start in ([sys.executable, "-m", "dpaccount"], [str(Path(sys.executable).parent / "dpaccount")]):
        done = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "0.1.0"
    ask = "import sys, dpaccount_packages as ours; sys.argv[1:] = ['--version']; ours.command()"
    lean = f"{ask}; assert not {{'cyclopts', 'rich', 'numpy'}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", lean], check=True)


@deep
def test_calibrate_then_account_meets_the_target(dpaccount, tmp_path):
    code, out, _ = dpaccount(
        "calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--count", "4", "--json"
    )
    found = json.loads(out)
    assert (code, found["schema"], found["parameter"]) == (0, "dpaccount/calibration/1", "sigma")
    events = tmp_path / "events.json"

    def cost(sigma):
        one = {"event": "gaussian", "sigma": 0, "count": 4}
        text = json.dumps({"schema": "dpaccount/events/1", "relation": "replace-one", "events": [one]})
        events.write_text(text.replace('"sigma": 0', f'"sigma": {sigma}'))
        return json.loads(dpaccount("account", events, "--delta", "1e-6", "--json")[1])["epsilon"]

    assert cost(found["value"])["upper"] <= 1
    assert cost(float(found["value"]) * (1 - 1e-6))["lower"] > 1
    is_error(dpaccount("calibrate", "gaussian", "--epsilon", "-1", "--delta", "1e-6"))
    is_error(dpaccount("calibrate", "zcdp", "--epsilon", "1", "--delta", "2"))
    is_error(dpaccount("calibrate", "unknown", "--epsilon", "1", "--delta", "1e-6"))


@deep
def test_account_reads_standard_input_and_writes_profiles(dpaccount, tmp_path, monkeypatch):
    text = b'{"schema": "dpaccount/events/1", "relation": "replace-one", "events": [{"event": "pure", "epsilon": 1}]}'
    monkeypatch.setattr("sys.stdin", type("In", (), {"buffer": io.BytesIO(text)})())
    code, _, _ = dpaccount("account", "-", "--delta", "0", "--profile", "p.csv")
    assert code == 0
    rows = (tmp_path / "p.csv").read_text().splitlines()
    assert rows[0].startswith("epsilon")
    assert len(rows) > 10
