"""`dpaccount sensitivity` on classes: what their proofs declare is tested, and twins that break it are caught."""

import json
import shutil

import pytest

from tests.depth import deep


@deep
@pytest.mark.parametrize("name", ["clipped-mean", "randomised-response"])
def test_a_catalogued_class_is_tested_on_the_bounds_that_it_declares(dpaccount, name):
    code, out, _ = dpaccount("sensitivity", name, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["refuted"] is False
    assert answer["worst"] > 0
    assert {each["status"] for each in answer["hypotheses"]} == {"tested"}


@deep
@pytest.mark.parametrize(("name", "code"), [("own_sum:OwnSum", 0), ("broken_sums:Unclipped", 1)])
def test_a_class_of_ones_own_is_tested_in_a_process_of_its_own(dpaccount, root, tmp_path, name, code):
    shutil.copy(root / "tests" / "planted" / f"{name.partition(':')[0]}.py", tmp_path)
    ended, out, err = dpaccount("sensitivity", name, "--seconds", "1e6", "--json")
    answer = json.loads(out)
    assert ended == code
    assert answer["refuted"] is bool(code)
    assert (answer["left"] is not None) == bool(code)
    assert "runs code from" in err
    assert dpaccount("sensitivity", name, "--no-code")[0] == 2
