"""Every member of a bandit's certificate is bound, or among the free ones."""

import json

import pytest

from audits import consistency
from dpaccount.checker import Rejected
from tests.audits.certificate.test_free_members import is_bound_or_free
from tests.depth import deep
from tests.dpaccount.checker.test_forgeries import forged


def simulated(dpaccount, folder, root):
    """Return the certificate of a bandit on simulated people."""
    claim = root / "examples" / "simulated_people" / "claim.toml"
    code, out, err = dpaccount("certify", claim, "--quick", "--out", "out")
    assert code == 0, out + err
    return next(folder.rglob("certificate.json"))


@deep
def test_every_member_is_bound_or_listed_as_free(dpaccount, tmp_path, root):
    is_bound_or_free(dpaccount, tmp_path, root, simulated)


@deep
def test_a_certificate_without_its_hazards_is_refused(dpaccount, tmp_path, root):
    document = json.loads(simulated(dpaccount, tmp_path, root).read_text())
    with pytest.raises(Rejected, match="not listed first among the hazards"):
        consistency.judged(json.dumps(forged(document, ("hazards",), [])).encode())
