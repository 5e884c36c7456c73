"""What docs/public-interface.md promises stays: a name that goes from these lists breaks the promise."""

import re
from types import ModuleType

import pytest

import dpaccount
import dpaccount.proof
import mechanisms
from dpaccount import errors
from dpaccount.checker.derivation import RULES


@pytest.fixture
def sections(root):
    """Return the page's sections: heading → text."""
    page = (root / "docs" / "public-interface.md").read_text()
    return {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}


DPACCOUNT = """
    Accountant Approximate BallsInBins BandedPoisson BoundedRange DiscreteGaussian DiscreteLaplace DominatingPair
    DpFtrl DpaccountError Enclosure Exponential Filter Gaussian GaussianMixture Gdp Laplace Ledger MatrixFactorisation
    Measure Odometer PermuteAndFlip Plan PoissonExamples PoissonReplaced PoissonSubsampled Private Pure
    RandomAllocation RandomizedResponse Rdp Relation Repeated SampledWithoutReplacement Sequence Session Shuffled
    ShuffledResponse Study Table Tree TruncatedPoisson TruncatedReplaced Zcdp audit calibrate certify check events
    read_events release release_file sgd sql
"""
MECHANISMS = """
    Domain EXAMPLE InputError Integers Noise Private Rows Subject Tabular View accuracy confidence grid
    known_relation release released shown shown_to_all wide
"""
PROOF = """
    ADD_REMOVE ANYONE Apart Approximate BoundedRange CENTRAL Choice Contribution Cover Covered Curve Gdp
    Hypothesis JOINT Judgement LOCAL Lattice Lipschitz NearGdp Numbers Persons Private Pure RELATIONS
    REPLACE_ONE Rare Refuted Renyi Rounds Shifts Split Stable Theorem View Zcdp bounded_row hypotheses
    point read releases walk write
"""  #: and the rules


def test_the_public_names_are_those_that_were_promised():
    proof = {
        name
        for name, value in vars(dpaccount.proof).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert set(DPACCOUNT.split()) == set(dpaccount.__all__)
    assert set(MECHANISMS.split()) == set(mechanisms.__all__)
    assert set(PROOF.split()) | set(RULES) == proof


def test_every_public_name_can_be_imported():
    for module in (dpaccount, mechanisms):
        for name in module.__all__:
            assert getattr(module, name) is not None, name
        with pytest.raises(AttributeError):
            module.no_such_name  # noqa: B018


def test_exit_codes_are_those_of_the_errors(sections):
    rows = re.findall(r"^\| (\d) \| .* \|$", sections["Exit codes"], re.MULTILINE)
    assert rows == ["0", "1", "2", "3"]
    assert (errors.BudgetError.exit_code, errors.InputError.exit_code, errors.RuleError.exit_code) == (
        1,
        2,
        3,
    )


def test_the_documents_have_schemas(sections, root):
    formats = (root / "docs" / "formats.md").read_text()
    named = re.findall(r"`(dpaccount/[a-z-]+/\d)`", sections["Documents"])
    assert {"dpaccount/study/2", "dpaccount/study-plan/1"} <= set(named)
    for schema in named:
        assert schema in formats, schema
