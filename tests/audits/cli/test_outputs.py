"""No certificate, profile or report replaces a file that its command reads, whatever that holds."""

import pytest


@pytest.mark.parametrize(
    "command",
    [
        "account in --delta 1e-5 --certificate in",
        "account in --delta 1e-5 --profile in",
        "calibrate in.json --epsilon 1 --delta 1e-5 --certificate in.json",
        "report in --output in",
        "report other --regret in --output in",
        "report other --part more=in --output in",
        "ledger report sqlite:///in.db --output in.db",
        "ledger report sqlite:///in.db --output in.db-wal",
        "ledger report sqlite:///other.db?witness=in --output in",
        "audit-one-run in --epsilon 1 --certificate in",
        "audit-one-run other --plan in --certificate in",
        "audit --one-run in --epsilon 1 --certificate in",
        "audit-samples in other --claim claim --certificate in",
        "audit-samples other in --claim claim --certificate in",
        "audit-samples other more --claim in --certificate in",
    ],
)
def test_an_output_that_is_read_is_refused(dpaccount, tmp_path, command):
    for name in ("in", "in.json", "in.db", "in.db-wal", "other", "other.db"):
        (tmp_path / name).write_text(name)
    held = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = dpaccount(*command.split())
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "the command reads this file" in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == held
