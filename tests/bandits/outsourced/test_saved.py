"""A modeler's state file: what it began with stands, and facts that are no facts are refused."""

import hashlib
import json

import pytest

from bandits.outsourced.saved import Settings, opened
from dpaccount.errors import InputError

RAW = b"z1,z2\n0,0\n1,1\n2,2\n3,5\n"


def handed_out(folder, **facts):
    (folder / "t.csv").write_bytes(RAW)
    known = {"sha256": hashlib.sha256(RAW).hexdigest(), "radius": 25, "noise_variance": 0.1}
    (folder / "t.csv.json").write_text(json.dumps({**known, **facts}))
    return folder / "t.csv"


@pytest.mark.parametrize("more", [{"smallest": True}, {"length": 9.0}, {"seed": 4}])
def test_what_a_modeler_began_with_is_not_changed_by_the_way(tmp_path, more):
    """It would go on looking for the largest output, and not say so."""
    state, table = tmp_path / "state", handed_out(tmp_path)
    with opened(state, table, Settings()) as modeler:
        modeler.tell(modeler.ask(), 1.0)
    before = state.read_bytes()
    with (
        pytest.raises(InputError, match=f"leave --{next(iter(more))} out"),
        opened(state, table, Settings(**more)),
    ):
        pass
    assert state.read_bytes() == before
    with opened(state, table, Settings()) as modeler:
        assert modeler.answered == 1


@pytest.mark.parametrize("value", ["x", -5, float("inf"), float("nan"), True, [1]])
@pytest.mark.parametrize("name", ["radius", "noise_variance"])
def test_facts_that_are_no_sizes_are_refused(tmp_path, name, value):
    table = handed_out(tmp_path, **{name: value})
    with (
        pytest.raises(InputError, match=f"{name} is no number"),
        opened(tmp_path / "state", table, Settings()),
    ):
        pass
    assert not (tmp_path / "state").exists()
