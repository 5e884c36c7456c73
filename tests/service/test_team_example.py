"""examples/team: what its files say is what the service, its image and its page say."""

import re

import yaml


def test_the_compose_file_runs_commands_that_there_are(root, dpaccount, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    services = yaml.safe_load((root / "examples" / "team" / "compose.yaml").read_text())["services"]
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]  # nothing else is reached
    command = services["ledger"]["command"]
    assert services["ledger"]["deploy"]["replicas"] == 2
    words = [word.replace("/tokens/", f"{tmp_path}/") for word in command]
    words[words.index("--ledger") + 1] = "sqlite:///missing.db"
    words[words.index("--port") + 1] = "0"
    assert dpaccount("token", "add", words[words.index("--tokens") + 1], "ada")[0] == 0
    code, _, err = dpaccount(*words)
    assert (code, "does not exist" in err) == (2, True)
    said = (root / "examples" / "team" / "compose.yaml").read_text()
    for secret in ("POSTGRES_PASSWORD", "PGPASSWORD"):
        assert re.findall(rf"{secret}: (\S+)", said) == ["${POSTGRES_PASSWORD:?}"]
    assert "COPY service service" in (root / "Dockerfile").read_text()


def test_the_proxy_limits_rates_keeps_the_name_and_asks_nobody_twice(root):
    conf = (root / "examples" / "team" / "nginx.conf").read_text()
    settings = ("limit_req zone=person burst=40;", "proxy_read_timeout 90s;", "proxy_next_upstream off;")
    for setting in (*settings, "proxy_set_header Host $host;"):  # by which forms of other sites are known
        assert setting in conf
    assert "(../examples/team)" in (root / "docs" / "service.md").read_text()
