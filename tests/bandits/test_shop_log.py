"""Both analyses of a shop's log by TOML alone: the example's log is made, charged, analysed and printed."""

import importlib.util
import json
import shutil

import pytest

from audits import cli
from tests.depth import deep


@pytest.fixture
def shop(root, tmp_path, monkeypatch):
    """Return a copy of the example with its log and an open ledger, and short audits."""
    folder = shutil.copytree(
        root / "examples" / "shop_log", tmp_path / "shop", ignore=shutil.ignore_patterns("*.db*", "*.csv")
    )
    spec = importlib.util.spec_from_file_location("make_sessions", folder / "make_sessions.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    maker.write(folder / "sessions.csv", seed=1)
    for claim in folder.glob("*.toml"):
        claim.write_text(claim.read_text().replace("trials = 2000", "trials = 200"))
    monkeypatch.chdir(tmp_path)
    budget = ["--epsilon", "2", "--delta", "2e-6", "--unit", "session", "--relation", "replace-one"]
    url = f"sqlite:///{folder}/shop.db"
    assert cli.run(["ledger", "init", url, *budget, "--measure", "approximate"]) == 0
    return folder


@deep
@pytest.mark.statistical(0.05)  # that a sound claim is refuted; the noise is secure
@pytest.mark.parametrize("analysis", ["arm-means", "logged-policy"])
def test_a_shops_log_is_analysed_by_toml_alone(shop, capsys, analysis):
    capsys.readouterr()
    assert cli.run(["release", str(shop / f"{analysis}.toml"), "--json", "--jobs", "1"]) == 0
    answer = json.loads(capsys.readouterr().out)
    said = answer["release"]
    assert (answer["verdict"], answer["releasable"], said["best_arm"]) == ("CERTIFIED", True, "bundle")
    assert said["share_warning"] is None
    assert all(0 <= mean["low"] <= mean["mean"] <= mean["high"] <= 1 for mean in said["means"].values())
    if analysis == "logged-policy":
        assert said["order"][0] == "bundle"
        assert abs(said["value"] - 0.15) < 5 * (said["value_noise_sd"] + said["value_sampling_sd"])


@pytest.mark.parametrize("analysis", ["arm-means", "logged-policy"])
def test_a_claim_that_asks_for_no_such_column_is_one_line(shop, capsys, analysis):
    claim = shop / f"{analysis}.toml"
    claim.write_text(claim.read_text().replace('reward = "converted"', 'reward = "clicked"'))
    capsys.readouterr()
    assert cli.run(["certify", str(claim)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "no declared column" in said.err.splitlines()[-1]
    assert "subject.parameters.reward" in said.err
