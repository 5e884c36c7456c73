"""The plan finder: its replay is unbiased, its nodes are what the proof says, and it learns."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from bandits.plan_finder import ARMS, PlanFinder, Slots, expected_kept, regret
from hypothesis import given
from hypothesis import strategies as st

from bandits.worlds import insurance
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal

DELTA = Fraction(1, 10**6)


@pytest.fixture(scope="module")
def trial():
    file = Path(__file__).parent.parent.parent / "examples" / "plan_finder" / "insurance_trial.csv"
    return insurance.read(file, 5630)


# ------------------------------------------------------------------ public constants


def test_declared_pairs_have_the_declared_plan_shares():
    assert insurance.PAIR_MATRIX.sum(axis=1) / 2 == pytest.approx(insurance.LOGGED, abs=1e-12)
    assert sum(insurance.PAIRS.values()) == pytest.approx(1)


@pytest.mark.parametrize("batches", range(1, 40))
def test_tree_nodes_make_up_every_prefix_and_meet_a_slot_as_often_as_proved(batches):
    subject = PlanFinder(slots=2 * batches + 1, batch=2, batches=batches)
    covers = subject.covers()
    touched = [sum(a <= u <= b for a, b in covers) for u in range(1, 2 * batches + 1)]
    assert max(touched) == touched[0] == batches.bit_length()
    for b in range(1, batches + 1):
        left, parts = b, []
        while left:
            parts.append(covers[left - 1])
            left -= left & -left
        assert sorted(u for a, e in parts for u in range(a, e + 1)) == list(range(1, 2 * b + 1))


def test_the_proof_covers_every_slot_once_and_the_claim_is_met():
    for schedule, most in (("tree", 4), ("phases", 1)):
        subject = PlanFinder(schedule=schedule)
        fact = subject.proof(DELTA).conclusion
        assert fact.units == (1, 5630)
        assert fact.observer == "joint"
        assert fact.curve.epsilon < 1
        assert max(sum(a <= u <= b for a, b in subject.covers()) for u in range(1, 5630, 7)) <= most


def test_expected_kept_counts_are_those_of_the_replay(trial):
    """Mean over 40 coins within 4 standard errors, for one order of plans and for none."""
    for order in (np.array([0.3, 0.1, 0.2, -0.5]), np.zeros(ARMS)):
        kept = []
        for coins in range(40):
            slots = Slots(trial, "seen", coins)
            chosen = slots.recommend(slice(0, 5630), order)
            kept.append(np.bincount(slots.logged[chosen == slots.logged], minlength=ARMS)[:ARMS])
        expected = 5630 * expected_kept(order)
        assert np.mean(kept, axis=0) == pytest.approx(expected, rel=0.05)


def test_keeping_if_recommended_is_unbiased(trial):
    """Replay of a fixed policy against its exact value: within 4 standard errors over 60 coins."""
    means = np.array([insurance.rewards(trial, "seen")[trial[:, 0] == arm].mean() for arm in range(ARMS)])
    order = np.array([0.0, 1.0, 2.0, 3.0])  # prefers the dearer plan of a pair
    exact = sum(p * means[high] for (_, high), p in insurance.PAIRS.items())
    values = []
    for coins in range(60):
        slots = Slots(trial, "seen", coins)
        chosen = slots.recommend(slice(0, 5630), order)
        values.append(slots.reward[chosen == slots.logged].mean())
    assert (
        abs(np.mean(values) - exact) < 4 * np.std(values) / np.sqrt(60) + 0.005
    )  # declared, not counted, shares


def test_plan_means_are_those_of_the_file(trial):
    expected = {"seen": [0.781, 0.679, 0.698, 0.574], "under-60": [0.331, 0.402, 0.532, 0.343]}
    for kind, means in expected.items():
        reward = insurance.rewards(trial, kind)
        assert [reward[trial[:, 0] == arm].mean() for arm in range(ARMS)] == pytest.approx(means, abs=5e-4)


def test_a_rejected_person_puts_the_zero_record_into_their_own_slot(trial):
    slots = Slots(trial, "seen", 0)
    nothing = np.full(5630, -1)
    assert slots.arm_sums(slice(0, 5630), nothing).tolist() == [0, 0, 0, 0]
    assert slots.report(slice(0, 5630), nothing).tolist() == [0, 0]
    deductible = trial[:, 0] == insurance.DEDUCTIBLE
    assert (slots.pairs[deductible] == -1).all()


# ------------------------------------------------------------------ learning


def mean_fraction(trial, seeds, **parameters):
    subject = PlanFinder(**parameters)
    theorem = subject.proof(DELTA)
    views = ((s, subject.play(trial, rehearse(theorem, Rehearsal(s)), s)) for s in seeds)
    return np.mean([regret(trial, subject.reward, v, s)["regret_fraction_of_uniform"] for s, v in views])


@pytest.mark.statistical  # seeded
@pytest.mark.parametrize(
    ("schedule", "reward", "most"),
    [
        ("tree", "under-60", 0.45),
        ("phases", "under-60", 0.40),
        ("tree", "seen", 0.33),
        ("phases", "seen", 0.30),
    ],
)
def test_it_learns_at_epsilon_one(trial, schedule, reward, most):
    assert mean_fraction(trial, range(20), schedule=schedule, reward=reward) <= most


@pytest.mark.statistical  # seeded
def test_phases_beat_the_tree_over_a_hundred_seeds(trial):
    phases = mean_fraction(trial, range(100), schedule="phases")
    assert phases < mean_fraction(trial, range(100), schedule="tree")


@pytest.mark.statistical  # seeded
def test_without_noise_it_learns_more(trial):
    subject = PlanFinder(sigma=Fraction(1, 2**20))
    beside = regret(trial, "under-60", subject.play(trial, NoNoise(), 0), 0)
    assert beside["regret_fraction_of_uniform"] <= 0.27
    assert 1950 <= beside["kept"] <= 2200


@pytest.mark.statistical  # seeded
def test_the_cost_of_privacy_is_said_in_one_line_and_falls_with_the_noise(trial):
    said = []
    for sigma in (Fraction(271, 8), Fraction(271, 32)):
        subject = PlanFinder(schedule="phases", sigma=sigma)
        beside = subject.evaluate(trial, subject.play(trial, NoNoise(), 0), 0)
        said.append(beside["privacy_cost"])
        assert "\n" not in said[-1]
    strict, usual = (float(text.split(" ")[0]) for text in said)
    assert strict > usual > 0
    assert "100 rehearsals" in said[1]


def test_reports_publish_releases_only(trial):
    subject = PlanFinder()
    theorem = subject.proof(DELTA)
    view = subject.play(trial, rehearse(theorem, Rehearsal(1)), 1)
    other = trial.copy()
    other[:, 1] = 0  # nobody saw a doctor: the same view must give the same report
    assert subject.report(view) == subject.report(view)
    assert subject.report(view)["best_plan"] in insurance.PLANS
    assert subject.evaluate(other, view, 1) != subject.evaluate(trial, view, 1)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    "parameters",
    [
        {"schedule": "forest"}, {"reward": "money"}, {"sigma": Fraction(0)}, {"report_sigma": Fraction(-1)},
        {"batch": 400, "batches": 15}, {"batch": -1}, {"slots": 10},
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(parameters):
    with pytest.raises(InputError):
        PlanFinder(**parameters)


HEADER = "person,plan,md_visits,spending_usd\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("person,plan,md_visits\n1,free,2\n", "no column spending_usd"),
        (HEADER + "1,free,2,3\n1,free,2,3\n", "2 people; the public number of slots is 1"),
        (HEADER + "1,free,2,3\n\n", "2 people"),
        (HEADER, "0 people"),
        ("", "no column plan"),
    ],
)
def test_what_is_public_and_wrong_is_refused(tmp_path, text, said):
    file = tmp_path / "trial.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        insurance.read(file, 1)
    with pytest.raises(InputError, match="No such file"):
        insurance.read(tmp_path / "none.csv", 1)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("1,free,2,3", (0, 2, 3)),
        ("1,free,2", (0, 2, 0)),
        ("1,free,2,3,4", (0, 2, 3)),
        ("1,gold,2,3", (insurance.DEDUCTIBLE, 2, 3)),
        ("1,free,-1,3", (0, 0, 3)),
        ("1,free,1.5,3", (0, 1, 3)),
        ("1,free,nan,inf", (0, 0, insurance.MAX_SPENDING)),
        ("1,free,two,1e99", (0, 0, insurance.MAX_SPENDING)),
        ('1,"free,2,3', (insurance.DEDUCTIBLE, 0, 0)),
        ("", (insurance.DEDUCTIBLE, 0, 0)),
        ("1,free," + "9" * 200_000 + ",3", (insurance.DEDUCTIBLE, 0, 0)),
    ],
)
def test_a_cell_that_is_missing_or_wrong_takes_its_default_or_bound(tmp_path, line, row):
    """Refusing it would tell what it is; the line before and after are as they were."""
    file, subject = tmp_path / "trial.csv", PlanFinder(slots=3, batch=1, batches=1)
    file.write_text(f"{HEADER}1,coins25,1,9\n{line}\r\n1,coins95,4,8\n")
    rows = subject.domain().clamped(subject.read(file))
    assert rows.tolist() == [[1, 1, 9], list(row), [3, 4, 8]]


CONTENT = st.one_of(
    st.text(alphabet=st.characters(exclude_characters="\n"), max_size=12).map(str.encode),
    st.binary(max_size=8).map(lambda found: found.replace(b"\n", b"")),
    st.sampled_from([b"1,free,2,3", b'"', b'1,"free"', b"\r", b"1,free,nan,-inf", b"\0", b",,,,,,", b"\xff"]),
)


@given(cells=st.lists(CONTENT, max_size=4), other=CONTENT, slots=st.integers(2, 4))
def test_whether_a_file_is_refused_does_not_depend_on_what_a_line_holds(
    tmp_path_factory, cells, other, slots
):
    """Files that differ in one person's line: both refused, in one sentence, or both within the domain."""
    file, subject = tmp_path_factory.getbasetemp() / "any.csv", PlanFinder(slots=slots, batch=1, batches=1)

    def read(lines):
        file.write_bytes(HEADER.encode() + b"".join(line + b"\n" for line in lines))
        try:
            return subject.domain().clamped(subject.read(file))
        except InputError as refused:
            return str(refused)

    left, right = read([b"1,free,2,3", *cells]), read([other, *cells])
    if len(cells) + 1 == slots:
        assert subject.domain().contains(left)
        assert subject.domain().contains(right)
        assert (left[1:] == right[1:]).all()  # nobody else's row is another
    else:
        assert left == right == f"{file}: {len(cells) + 1} people; the public number of slots is {slots}"
