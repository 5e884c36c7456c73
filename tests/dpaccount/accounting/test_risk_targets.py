"""The least noise for a bound on what an attacker learns: it is kept, and a little less noise does not keep it."""

import json
import math
from fractions import Fraction
from statistics import NormalDist

import pytest

from audits.cli import app
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.risk_targets import calibrate_risk
from dpaccount.errors import InputError
from dpaccount.plan.events import (
    Approximate,
    DiscreteGaussian,
    Gaussian,
    Gdp,
    Laplace,
    Plan,
    PoissonSubsampled,
    Pure,
)
from tests.depth import deep

F = Fraction
LAW = NormalDist()


def noise(sigma):
    return Gaussian(sigma=sigma, count=4)


@deep
@pytest.mark.parametrize(
    ("target", "needed"),
    [
        ({"mu": "0.5"}, 4.0),  # μ = 2/σ
        ({"advantage": "0.1"}, 1 / LAW.inv_cdf(0.55)),  # 2Φ(1/σ) − 1
        ({"true_positives": "0.05"}, 2 / (LAW.inv_cdf(0.05) - LAW.inv_cdf(0.01))),
        ({"true_positives": "0.02", "at": "0.001"}, 2 / (LAW.inv_cdf(0.02) - LAW.inv_cdf(0.001))),
    ],
)
def test_gaussian_noise_is_that_of_the_closed_forms(target, needed):
    found = calibrate_risk(noise, **target)
    assert needed * (1 - 1e-9 if "mu" not in target else 0.999) <= float(found) <= needed * 1.003
    assert found.bounds.upper <= F(target.get("mu") or target.get("advantage") or target["true_positives"])


@deep
@pytest.mark.parametrize("target", [{"mu": "0.4"}, {"advantage": "0.15"}, {"true_positives": "0.03"}])
@pytest.mark.parametrize("name", ["sampled", "laplace"])
def test_the_target_is_kept_and_less_noise_does_not_keep_it(name, target):
    def plan(value):
        if name == "laplace":
            return Plan("replace-one", Laplace(scale=value, count=3))
        return Plan("add-remove", PoissonSubsampled(rate="0.01", of=Gaussian(sigma=value), count=5000))

    def reached(value):
        risk = Accountant(plan(value)).risk()
        bounds = {"mu": risk.mu.upper, "advantage": risk.advantage.upper}
        return bounds.get(*target, risk.true_positives("0.01"))

    ((most),) = target.values()
    found = calibrate_risk(plan, **target)
    assert reached(found.value) <= F(most) * F(1001, 1000)  # asked with other points of the curve
    assert reached(found.value * F(98, 100)) > F(most)


def test_what_grows_is_the_largest():
    found = calibrate_risk(lambda epsilon: Pure(epsilon=epsilon), advantage="0.1", grows=True)
    assert float(found) == pytest.approx(math.log(1.1 / 0.9), rel=1e-9)  # (e^ε − 1)/(e^ε + 1)


@deep
@pytest.mark.parametrize("mu", [1, 20])
def test_gaussian_noise_of_a_mu_is_its_inverse(mu):
    found = calibrate_risk(lambda sigma: Gaussian(sigma=sigma), mu=mu)
    assert 1 <= mu * found.value <= 1 + F(1, 10**8)


TARGETS = {"advantage": "0.1"}, {"mu": 1}, {"true_positives": "0.05"}


@pytest.mark.parametrize(
    "target", [pytest.param(each, marks=deep) if k else each for k, each in enumerate(TARGETS)]
)
def test_what_grows_is_named_where_it_is_wrong(target):
    with pytest.raises(InputError, match=r"the cost grows with the number.*; give grows=True"):
        calibrate_risk(lambda mu: Gdp(mu=mu), **target)
    with pytest.raises(InputError, match=r"the cost falls as the number grows.*; leave grows out"):
        calibrate_risk(noise, grows=True, **target)


@deep
def test_errors_speak_of_the_target():
    def failing(scale):
        return Plan("replace-one", [Approximate(epsilon=0, delta="0.2"), Laplace(scale=scale)])

    with pytest.raises(InputError, match="no noise meets this target; ask for a larger advantage"):
        calibrate_risk(failing, advantage="0.1")


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ({}, "none is given"),
        ({"mu": 1, "advantage": "0.1"}, "mu and advantage is given"),
        ({"mu": 0}, "out of range; it must be above 1e-06 and at most 20"),
        ({"mu": 100}, "out of range; it must be above 1e-06 and at most 20"),
        ({"advantage": 1}, "out of range; it must be above 0 and below 1"),
        ({"true_positives": "0.01"}, "out of range; it must be above 0.01 and below 1"),
        ({"true_positives": "0.5", "at": 0}, "false-positive rate of 0 is out of range"),
        ({"mu": 1, "at": "0.1"}, "belongs to a true-positive rate"),
    ],
)
def test_a_target_that_is_none_is_refused(target, wrong):
    with pytest.raises(InputError, match=wrong):
        calibrate_risk(noise, **target)


def test_discrete_gaussian_noise_has_no_least():
    def plan(sigma):
        return DiscreteGaussian(sigma=sigma)

    for target in ({"mu": 1}, {"advantage": "0.1"}):
        with pytest.raises(InputError, match="more discrete Gaussian noise may cost more"):
            calibrate_risk(plan, **target)


def run(capsys, *words):
    code = app.run([*words, "--json"])
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


@deep
def test_commands_take_the_targets(capsys, tmp_path):
    code, found = run(capsys, "calibrate", "gaussian", "--count", "4", "--target-advantage", "0.1")
    assert code == 0
    assert float(found["value"]) == pytest.approx(1 / LAW.inv_cdf(0.55), rel=1e-9)
    assert found["risk"]["advantage"] <= 0.1
    file = tmp_path / "plan.json"
    file.write_text(
        '{"schema": "dpaccount/events/1", "relation": "replace-one",'
        ' "events": [{"event": "laplace", "scale": "?", "count": 3}]}'
    )
    code, found = run(capsys, "calibrate", str(file), "--target-tpr", "0.03", "--at-fpr", "0.005")
    assert (code, found["at"]) == (0, "/events/0/scale")
    assert [at["false_positive_rate"] for at in found["risk"]["rates"]] == ["0.001", "0.005", "0.01", "0.1"]
    assert found["risk"]["rates"][1]["true_positive_rate"] <= 0.03 * 1.001
    size = ("--examples", "1000", "--batch", "50", "--steps", "40", "--delta", "1e-5")
    code, found = run(capsys, "sgd", *size, "--target-advantage", "0.2")
    assert code == 0
    assert 0.1999 < found["risk"]["advantage"] <= 0.2
    assert found["risk"]["sentence"] in found["statement"]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (
            ["--target-mu", "1", "--target-tpr", "0.5"],
            "--target-mu and --target-tpr are given; give one of them",
        ),
        (["--at-fpr", "0.5"], "--at-fpr belongs to --target-tpr; give both, or neither"),
        (["--target-mu", "1", "--epsilon", "1"], "belong to another target; leave them out"),
        (["--target-tpr", "0.5", "--at-fpr", "0.6"], "true-positive rate of 0.5 is out of range"),
        (["--target-mu", "nan"], "--target-mu"),
        ([], "--epsilon is missing"),
    ],
)
def test_commands_refuse_in_one_line(capsys, words, wrong):
    code, said = run(capsys, "calibrate", "gaussian", *words)
    assert code == 2
    assert wrong in said
    assert said.count("\n") == 1


def test_account_says_the_risk_where_it_is_asked(capsys, tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(
        '{"schema": "dpaccount/events/1", "relation": "replace-one", "events": [{"event": "gaussian", "sigma": 1}]}'
    )
    _, plain = run(capsys, "account", str(file), "--delta", "1e-6")
    assert "risk" not in plain
    _, asked = run(capsys, "account", str(file), "--delta", "1e-6", "--risk")
    assert asked["risk"]["distance"] == "1e-09"
    assert asked["risk"]["mu"]["upper"] == pytest.approx(1, rel=2e-3)
    assert app.run(["account", str(file), "--risk"]) == 0
    assert "\nrisk      An attack with a false-positive rate of 1 % has" in capsys.readouterr().out
