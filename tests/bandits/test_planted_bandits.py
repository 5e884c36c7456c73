"""Every planted bandit loses the hypotheses that it breaks, read off the running code; the sound ones none."""

import importlib.util
from fractions import Fraction
from pathlib import Path

import pytest

from audits import cli
from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.search import search
from audits.subjects.catalogue import entries, subject_made
from bandits.arm_phases import ArmPhases
from bandits.context_histogram import ContextHistogram
from bandits.doubling_gp_ucb import DoublingGpUcb
from bandits.function_release import FunctionRelease
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.ldp_ata_gp_ucb import LdpAtaGpUcb
from bandits.ldp_ctl_gp_ucb import LdpCtlGpUcb
from bandits.ldp_moma_gp_ucb import LdpMomaGpUcb
from bandits.ldp_tgp_ucb import LdpTgpUcb
from bandits.local_gp_ucb import LocalGpUcb
from bandits.local_posterior import LocalPosterior
from bandits.local_privacy.channels import CHANNELS
from bandits.logged_policy import LoggedPolicy
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_cells import PhasedCells
from bandits.phased_gp_ucb import PhasedGpUcb
from bandits.phased_posterior import PhasedPosterior
from bandits.phased_regression import PhasedRegression
from bandits.surface_gp_ucb import SurfaceGpUcb
from bandits.usca import Usca
from dpaccount.noise.proved import Proved
from dpaccount.proof import hypotheses
from examples.random_projections.random_projections import Projections
from tests.depth import deep
from tests.loading import import_subject

DELTA = Fraction(1, 10**6)


PLANTED = Path(__file__).parent / "planted"
BANDITS = [entry for entry in entries() if entry.layer == "bandits"]


def loaded(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TWINS = {
    **loaded(PLANTED / "bandit_twins.py").SMALL,
    **loaded(PLANTED / "local_reward_twins.py").SMALL,
    **loaded(PLANTED / "projection_twins.py").SMALL,
    **loaded(PLANTED / "published_bandit_twins.py").SMALL,
}


def classes(pattern):
    """Return the classes that files of planted make of bandits."""
    for file in sorted(PLANTED.glob(pattern)):
        if "from bandits." in file.read_text():
            module = loaded(file)
            made = [*vars(module).values(), *getattr(module, "SMALL", ())]
            yield from (each for each in made if isinstance(each, type) and each.__name__[0] != "_")


def broken(subject, examples=25, *, sweep=False):
    """Return the rules of the hypotheses with a counterexample, without shrinking them."""
    theorem = subject.proof(DELTA)
    tested = hypotheses(theorem)
    seen = search(
        subject,
        Proved(theorem),
        [check_of(Proved(theorem), each)[0] for each in tested],
        examples=examples,
        seed=1,
        sweep=sweep,
    )
    return {each.rule for each, failing in zip(tested, seen.failing, strict=True) if failing is not None}


@deep(quick_every=4)
@pytest.mark.parametrize("entry", BANDITS, ids=lambda entry: entry.name)
def test_every_bandit_has_a_broken_twin(entry):
    planted = [made for made in classes("*.py") if entry.made_by in made.__mro__[1:]]
    assert planted, f"plant a broken {entry.name} in tests/bandits/planted, in a file named *_twin.py"


@deep
@pytest.mark.parametrize("entry", BANDITS, ids=lambda entry: entry.name)
def test_a_twin_in_a_file_of_its_own_is_refuted(entry):
    """Small by its own defaults; what it `loses` is found within 1,000 examples."""
    for twin in classes("*_twin.py"):
        if entry.made_by in twin.__mro__[1:]:
            assert broken(twin(), 1000) & twin.loses, twin.__name__


@deep
@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
def test_a_planted_bandit_is_refuted(twin):
    """Most fall within 25 examples; what Hypothesis tries varies a little with the modules that are loaded."""
    assert any(broken(twin(**TWINS[twin]), examples) & twin.loses for examples in (25, 150, 1000))


@deep
def test_a_reward_in_the_next_action_loses_the_view_alone():
    raw = next(twin for twin in TWINS if twin.__name__ == "RawFeatures")
    assert broken(raw(**TWINS[raw]), 80) == raw.loses


@deep
@pytest.mark.parametrize("name", ["leaf-calibrated", "kept-clock", "raw-reward"])
def test_planted_twins_of_the_logged_policy_are_refuted(name):
    """False alarms do not enter: each twin has an exact counterexample."""
    claim = read_claim(PLANTED / f"{name}.toml")
    subject = subject_made(claim, import_subject(claim.use, [str(PLANTED)]))
    certificate, _ = certify(claim, subject, AuditBudget(quick=True))
    assert certificate.verdict == "REFUTED"
    false = [entry for entry in certificate.sensitivity if entry.status == "refuted"]
    assert false
    assert all(entry.counterexample.wrong for entry in false)


FEW = {"rounds": 6, "points": 4, "bound": Fraction(1), "noise_bound": Fraction(1)}


@deep
@pytest.mark.parametrize("stream", ["separate", "correlated"])
def test_a_person_in_two_batches_is_found_where_they_meet(stream):
    """One unit in hundreds shows it: `certify` tries those at the ends of declared batches."""
    twin = loaded(PLANTED / "bandit_twins.py").SharedBorder(rounds=320, sigma=Fraction(1), stream=stream)
    assert broken(twin, 1, sweep=True) & twin.loses


@deep
@pytest.mark.parametrize(
    "subject",
    [
        ArmPhases(rounds=12, arms=2, block=6, law="shuffled", delta=Fraction(1, 100)),
        PhasedPosterior(rounds=40, sigma=Fraction(1)),
        PhasedPosterior(rounds=400, sigma=Fraction(1), stream="correlated"),
        SurfaceGpUcb(rounds=60, batch=10, error=Fraction(1, 2)),
        SurfaceGpUcb(rounds=60, batch=10, error=Fraction(1, 2), calibration="published"),
        MomentGpUcb(rounds=12, candidates=3, size=6, nodes_per_axis=3),
        MomentGpUcb(rounds=12, candidates=3, size=6, nodes_per_axis=3, stream="honaker"),
        MomentGpUcb(rounds=12, candidates=3, size=6, nodes_per_axis=3, refresh=2, stream="tree"),
        MomentGpUcb(rounds=12, candidates=3, size=6, nodes_per_axis=3, growth=Fraction(1, 2)),
        JdpGpUcb(rounds=12, candidates=3, nodes_per_axis=2),
        JdpGpUcb(rounds=12, candidates=3, nodes_per_axis=2, calibration="published", stream="honaker"),
        PhasedGpUcb(rounds=40, candidates=2, size=6, nodes_per_axis=3),
        Projections(rounds=40, candidates=2, size=6, nodes_per_axis=3, projections=3, refresh=8),
        PhasedRegression(rounds=24, candidates=3, first=2, per_learner=2),
        PhasedCells(rounds=24, candidates=3),
        PhasedCells(rounds=40, candidates=2, delays=True),
        DoublingGpUcb(rounds=12, candidates=3, nodes_per_axis=2, mode="carry"),
        DoublingGpUcb(rounds=12, candidates=3, nodes_per_axis=2, mode="restart"),
        LocalGpUcb(rounds=10, candidates=2, nodes_per_axis=2),
        LoggedPolicy(slots=40, arms=("a", "b"), contexts=("x", "y"), steps=4, chance=Fraction(1, 4)),
        LoggedPolicy(
            slots=40,
            arms=("a", "b", "c"),
            offers=((0, 1, Fraction(1, 3)), (0, 2, Fraction(1, 3)), (1, 2, Fraction(1, 3))),
            positions=(Fraction(0), Fraction(1, 2), Fraction(1)),
            prior="positions",
        ),
        LoggedPolicy(slots=60, batch=8, batches=6),
        LocalGpUcb(rounds=10, candidates=2, nodes_per_axis=2, calibration="published"),
        *(LocalPosterior(**FEW, channel=channel) for channel in CHANNELS),
        LdpCtlGpUcb(**FEW, rewards_within=Fraction(2)),
        ContextHistogram(rounds=24, actions=3, contexts=3),
        ContextHistogram(rounds=30, actions=2, contexts=4, delays=True),
        FunctionRelease(rounds=12, served=2, actions=3, contexts=3, sigma=Fraction(2)),
        FunctionRelease(rounds=12, served=2, actions=3, contexts=3, law="k-norm", phases=2),
        Usca(rounds=8, predictions=2, actions=3, contexts=3),
        Usca(rounds=8, predictions=2, actions=3, contexts=3, rule="permute-and-flip"),
        Usca(rounds=8, actions=3, contexts=3, tau="public", kernel="matern-1/2"),
        *(
            made(**FEW, channel=channel, **more)
            for channel in ("duchi", "laplace")
            for made, more in (
                (LdpTgpUcb, {}),
                (LdpAtaGpUcb, {}),
                (LdpMomaGpUcb, {"people": 3}),
                (LdpMomaGpUcb, {"people": 3, "users": "same"}),
            )
        ),
    ],
    ids=repr,
)
def test_the_sound_one_beside_it_loses_nothing(subject):
    assert broken(subject) == set()


@deep
@pytest.mark.parametrize("subject", [PhasedCells(rounds=300, candidates=3), ContextHistogram()], ids=repr)
def test_later_phases_may_release_more_sums(subject):
    """As those of the larger member do, which `certify` tries, too."""
    assert broken(subject, 4) == set()


@deep
def test_a_person_in_two_sums_is_found_where_later_phases_release_more():
    twin = loaded(PLANTED / "phased_cells_twin.py").AddsEarlierPhasesUp(rounds=300)
    assert broken(twin, 50) == twin.loses


@deep
def test_the_published_channel_is_refuted_as_soon_as_rewards_can_be_beyond_its_bounds():
    beyond = LdpCtlGpUcb(**FEW, rewards_within=Fraction(21, 10))
    assert broken(beyond, 150) == {"assume_clipped"}


@deep
def test_an_own_bandit_is_certified_from_its_file(root, tmp_path):
    claim = root / "examples" / "random_projections" / "claim.toml"
    assert cli.run(["certify", str(claim), "--quick", "--out", str(tmp_path / "made")]) == 0
