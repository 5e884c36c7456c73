"""The logged policy: its replay is unbiased, its releases are what the proof says, and it learns from any log."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from bandits.learning.arm_posterior import ArmPrior, models, posterior
from bandits.logged.arm_counts import ArmCounts
from bandits.logged_policy import LoggedPolicy
from bandits.simulation.replay import Offers, Replay
from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import read_table
from tests.bandits import shop_logs
from tests.bandits.shop_logs import CONVERSIONS, DELTA, EVEN, UNEVEN
from tests.depth import deep
from tests.looped import looped

SEEN = "md_visits >= 1"
WHOLE_SET = ArmCounts(3, passed=True)


@pytest.fixture(scope="module")
def trial():
    return shop_logs.insurance(LoggedPolicy)


def made(seed, shares=(0.5, 0.3, 0.2), rows=3000, cells=1):
    """Return rows (context, arm, chance, reward) of a made-up log."""
    rng = np.random.default_rng(seed)
    arm, cell = rng.choice(len(shares), rows, p=shares), rng.integers(0, cells, rows)
    reward = rng.random(rows) < 0.2 + 0.2 * ((arm + cell) % len(shares))
    return np.column_stack([cell, arm, np.ones(rows), reward]).astype(float)


# ------------------------------------------------------------------ public constants


@looped("slots", [2, 9, 60, 5630])
def test_every_slot_is_in_one_release(slots):
    covers = LoggedPolicy(slots=slots).covers()
    assert covers[0][0] == 1
    assert covers[-1][1] == slots
    assert all(a <= b and b + 1 == c for (a, b), (c, _) in pairwise(covers))


@deep
def test_the_proof_covers_every_slot_once_and_the_claim_is_met(trial):
    fact = trial[0].proof(DELTA).conclusion
    assert trial[0].sigma == Fraction(271, 32)
    assert (fact.units, fact.observer) == ((1, 5630), "joint")
    assert fact.curve.epsilon < 1


@deep
def test_plan_means_are_those_of_the_file(trial):
    for (_, rows), means in (
        (trial, [0.331, 0.402, 0.532, 0.343]),
        (shop_logs.insurance(LoggedPolicy, SEEN), [0.781, 0.679, 0.698, 0.574]),
    ):
        found = [rows[rows[:, 1] == arm, 3].mean() for arm in range(4)]
        assert found == pytest.approx(means, abs=5e-4)


# ------------------------------------------------------------------ the replay


def replay_of(rows, offers, coins, counts=WHOLE_SET):
    return Replay(rows, offers, counts, Fraction(1), coins)


@pytest.mark.statistical(3e-6)  # each within 5 standard deviations
def test_of_the_whole_set_recommendations_have_the_policys_law_and_are_kept_as_often_as_can_be():
    rows, shares = made(1), (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    policy = np.array([[0.1, 0.6, 0.3]])
    drawn = [replay_of(rows, Offers(shares), coins) for coins in range(20)]
    chosen = [(each, each.recommend(slice(0, 3000), policy)) for each in drawn]
    found = np.mean([np.bincount(arms, minlength=3) / 3000 for _, arms in chosen], axis=0)
    assert found == pytest.approx(policy[0], abs=5 * 0.5 / np.sqrt(3000))  # the log is one draw for all coins
    kept = np.mean([each.kept(slice(0, 3000), arms).mean() for each, arms in chosen])
    assert kept == pytest.approx(0.1 + 0.3 + 0.2, abs=5 * 0.5 / np.sqrt(3000))


@pytest.mark.statistical(2e-4)  # within 4 standard errors over 60 coins
def test_keeping_if_recommended_is_unbiased(trial):
    """Of pairs: a fixed policy against its exact value, with declared shares and not counted ones."""
    subject, rows = trial
    means = np.array([rows[rows[:, 1] == arm, 3].mean() for arm in range(4)])
    policy = np.array([[0.0, 1.0, 2.0, 3.0]])  # prefers the dearer plan of a pair
    exact = sum(float(p) * means[max(a, b)] for a, b, p in subject.offers)
    values = []
    for coins in range(60):
        slots = replay_of(rows, subject.offered, coins, subject.counts)
        kept = slots.kept(slice(0, 5630), slots.recommend(slice(0, 5630), policy))
        values.append(slots.reward[kept].mean())
    assert abs(np.mean(values) - exact) < 4 * np.std(values) / np.sqrt(60) + 0.005


def test_without_a_preference_everybody_is_kept_of_a_pair(trial):
    subject, rows = trial
    slots = replay_of(rows, subject.offered, 3, subject.counts)
    chosen = slots.recommend(slice(0, 5630), subject.offered.indifferent(1))
    assert (slots.kept(slice(0, 5630), chosen) == slots.inside).all()


def test_who_is_passed_over_counts_in_their_own_slot_and_an_undeclared_arm_nowhere():
    rows = made(2)
    rows[::7, 1] = -1
    slots = replay_of(rows, Offers((Fraction(1, 3),) * 3), 0)
    nobody = np.full(3000, -1)
    sums, counts, passed = WHOLE_SET.parts(slots.totals(slice(0, 3000), nobody, everyone=False))
    assert (sums == 0).all()
    assert (counts == 0).all()
    assert passed.tolist() == [(rows[:, 1] == arm).sum() for arm in range(3)]
    sums, counts, passed = WHOLE_SET.parts(slots.totals(slice(0, 3000), nobody, everyone=True))
    assert counts[0].tolist() == [(rows[:, 1] == arm).sum() for arm in range(3)]
    assert (passed == 0).all()
    assert (slots.recommend(slice(0, 3000), np.full((1, 3), 1 / 3))[::7] == -1).all()


@looped("odd", [(0, 5, 1, 1), (3, 0, 1, 1), (np.inf, 0, 1, 1), (0, 0, 1, np.nan), (0, np.nan, 1, 1)])
def test_what_a_row_may_not_be_is_clamped_and_stops_no_run(odd):
    subject, rows = LoggedPolicy(arms=("a", "b"), slots=20, steps=16), made(6, (0.5, 0.5), 20)
    rows[19] = odd
    shown = [subject.play(each, NoNoise(), 3).public for each in (rows, subject.domain().clamped(rows))]
    assert all(np.array_equal(shown[0][name], shown[1][name]) for name in shown[0])


# ------------------------------------------------------------------ the posterior


def test_the_posterior_is_bayes_rule_and_knows_its_noise():
    """One model, two arms: against the formula; and more noise leaves more doubt."""
    sums, counts = np.array([[[-150.0, -120.0]]]), np.array([[[200.0, 210.0]]])
    belief = posterior(ArmPrior(2), sums, counts, 8.0)
    centre, people = belief.centre, counts.ravel()
    ups = (sums.ravel() + people) / 2
    noise = people * centre * (1 - centre) + 64 * (0.25 + (0.5 - centre) ** 2)
    for model, mean, covariance in zip(
        centre * (1 - centre) * models(ArmPrior(2)), belief.means, belief.covariances, strict=True
    ):
        exact = np.linalg.inv(np.linalg.inv(model) + np.diag(people**2 / noise))
        assert covariance == pytest.approx(exact, rel=1e-6)
        assert mean == pytest.approx(exact @ (people * (ups - centre * people) / noise), rel=1e-6, abs=1e-9)
    assert (posterior(ArmPrior(2), sums, counts, 40.0).deviation() > belief.deviation()).all()


def test_means_far_from_one_half_and_shares_that_are_off_mislead_nobody():
    """No noise: with the counts beside the sums, the larger mean is the larger, whoever was logged more."""
    people = np.array([[[4000.0, 500.0]]])
    sums = people * (2 * np.array([0.02, 0.03]) - 1)
    low, high = posterior(ArmPrior(2), sums, people, 1e-3).mean()[0]
    assert low < high
    assert low == pytest.approx(0.02, abs=0.003)


# ------------------------------------------------------------------ learning


def runs(subject, rows_of, seeds):
    theorem = subject.proof(DELTA)
    for seed in seeds:
        rows = rows_of(seed)
        view = subject.play(rows, rehearse(theorem, Rehearsal(seed)), seed)
        yield subject.report(view), subject.regret(rows, view, seed)["regret_fraction_of_uniform"]


def shop_runs(shares, seeds, declared=None):
    changes = shop_logs.declaring(shares if declared is None else declared)
    subject, _, reading = shop_logs.on_table(LoggedPolicy, "shop_log/logged-policy.toml", changes)
    return list(runs(subject, lambda seed: reading.encode(shop_logs.shop_rows(seed, shares)), seeds))


def insurance_regret(seeds, reward=None):
    subject, rows = shop_logs.insurance(LoggedPolicy, reward)
    return np.mean([regret for _, regret in runs(subject, lambda _: rows, seeds)])


@deep
@pytest.mark.statistical(1)  # values are pooled over logs; regrets are those of these seeds
@pytest.mark.parametrize("shares", [EVEN, UNEVEN])
def test_it_learns_from_a_hundred_logs_of_a_shop(shares):
    found = shop_runs(shares, range(100))
    assert sum(said["best_arm"] == "bundle" for said, _ in found) >= 95  # one in 60 is not
    assert np.mean([regret for _, regret in found]) <= 0.35
    assert sum(said["share_warning"] is not None for said, _ in found) <= 5
    held = [m["low"] <= CONVERSIONS[a] <= m["high"] for said, _ in found for a, m in said["means"].items()]
    assert np.mean(held) >= 0.9
    off = [
        (said["value"] - CONVERSIONS[said["order"][0]])
        / np.hypot(said["value_noise_sd"], said["value_sampling_sd"])
        for said, _ in found
    ]
    assert np.mean(np.abs(off) <= 1.96) >= 0.9


@deep
@pytest.mark.statistical(1)  # how many are seen is counted at these seeds
@pytest.mark.parametrize("shares", [EVEN, UNEVEN])
@pytest.mark.parametrize("off", [0.9, 1.1])
def test_a_share_that_is_declared_a_tenth_wrong_is_reported_and_nothing_is_named_best(shares, off):
    wrong = np.array(shares) * [1, 1, 1, off]
    found = shop_runs(shares, range(100), wrong / wrong.sum())
    warned = [said for said, _ in found if said["share_warning"] is not None]
    assert len(warned) >= 80
    assert all(said["best_arm"] is None and said["order"] for said in warned)


@deep
@pytest.mark.statistical(1)  # the figures are those of these seeds
@pytest.mark.parametrize(("reward", "most"), [(None, 0.204), (SEEN, 0.151)])
def test_it_learns_on_the_insurance_trial_in_a_hundred_runs(reward, most):
    assert insurance_regret(range(100), reward) <= most


@pytest.mark.statistical(1)  # one run
def test_contexts_that_matter_are_told_apart():
    """Every arm is the best in one context: an order for all learns nothing, one by context does."""
    subject = LoggedPolicy(arms=("a", "b", "c"), contexts=("x", "y", "z"), slots=6000)
    rows = np.concatenate([made(seed, (1 / 3,) * 3, 3000, cells=3) for seed in (1, 2)])
    ((said, regret),) = runs(subject, lambda _: rows, [0])
    assert regret <= 0.5
    assert {name: order[0] for name, order in said["order_in"].items()} == {"x": "c", "y": "b", "z": "a"}


def segments(seeds):
    """Return the share of what contexts can gain, whether the value is within two errors, and what is said."""
    for seed in seeds:
        subject, rows = shop_logs.segment_log(LoggedPolicy, seed)
        view = subject.play(
            rows, rehearse(subject.proof(DELTA), Rehearsal(np.random.SeedSequence([seed, 1]))), seed
        )
        said, policy = subject.report(view), np.asarray(view.public["policies"])[-1]
        truth = (
            (policy * shop_logs.SEGMENTS).sum(axis=1).mean()
        )  # .14 by segment at best, .12 for one variant
        errors = np.hypot(said["value_noise_sd"], said["value_sampling_sd"])
        yield (truth - 0.12) / 0.02, abs(said["value"] - truth) <= 2 * errors, said["context_gain"]


@deep
@pytest.mark.statistical(0.05)  # two errors miss a normal estimate in 5 of 100, so 90 in 1 of 20 at worst
def test_segments_that_want_other_variants_get_them():
    shares, within, gains = zip(*segments(range(100)), strict=True)
    assert np.mean(shares) >= 0.5
    assert np.mean(within) >= 0.9
    assert all(gain["low"] <= gain["gain"] <= gain["high"] for gain in gains)
    says = {gain["says"] for gain in gains}
    assert "contexts help" in says
    assert "contexts harm" not in says


@deep
@pytest.mark.statistical(0.07)  # more than 3 of 30 intervals miss, each with probability at most .05
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 10)])
def test_age_and_income_say_nothing_of_the_insurance_plan(epsilon):
    subject, rows = shop_logs.insurance(LoggedPolicy, changes=shop_logs.CUT)
    subject = replace(subject, sigma=subject.sigma if epsilon == 1 else Fraction(2324, 32))
    gains = [said["context_gain"] for said, _ in runs(subject, lambda _: rows, range(30))]
    assert sum(gain["says"] != "nothing is seen" for gain in gains) <= 3
    assert abs(np.mean([gain["gain"] for gain in gains])) < 0.03


@pytest.mark.statistical(1)  # one run
def test_rewards_that_are_numbers_are_learned_from():
    subject = LoggedPolicy(arms=("a", "b", "c"), slots=6000, steps=16)
    rows = np.concatenate([made(seed, (1 / 3,) * 3) for seed in (3, 4)])
    rows[:, 3] = rows[:, 3] * 0.5 + 0.1 * np.random.default_rng(5).random(6000)
    ((said, regret),) = runs(subject, lambda _: rows, [0])
    assert (said["best_arm"], regret <= 0.35) == ("c", True)
    assert said["value"] == pytest.approx(0.35, abs=0.05)


@deep
@pytest.mark.statistical(1)  # one run
def test_the_cost_of_privacy_is_said_in_one_line(trial):
    subject, rows = trial
    beside = subject.evaluate(rows, subject.play(rows, NoNoise(), 0), 0)
    assert "\n" not in beside["privacy_cost"]
    assert "100 rehearsals" in beside["privacy_cost"]
    assert 0 < float(beside["privacy_cost"].split(" ")[0]) < 0.01


def test_reports_publish_releases_only(trial):
    subject, rows = trial
    view = subject.play(rows, rehearse(subject.proof(DELTA), Rehearsal(1)), 1)
    said = subject.report(view)
    assert said == LoggedPolicy(**vars(subject)).report(view)
    assert said["best_arm"] == said["order"][0]
    assert said["value_over"] == "the offered pairs"
    assert min(said["value_noise_sd"], said["value_sampling_sd"]) > 0


# ------------------------------------------------------------------ bad input


@looped(
    "parameters",
    [
        {"arms": "ab"}, {"prior": "lucky"}, {"prior": "positions"}, {"sigma": Fraction(0)}, {"reward": ""},
        {"sigma": Fraction(1, 3)}, {"batch": 400, "batches": 15}, {"batch": -1}, {"slots": 1}, {"arms": ("a",)},
        {"logging": (Fraction(1),)}, {"chance": Fraction(2)}, {"batches": 600}, {"offers": "a, b"},
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(parameters):
    with pytest.raises(InputError):
        LoggedPolicy(**parameters)


@looped(
    ("before", "after", "said"),
    [
        ('"positions"', '"lucky"', "known here: exchangeable, positions"),
        ('["free", "coins25", 0.458]', '["free", "gold", 0.458]', "known here: free"),
        ('["free", "coins25", 0.458]', '["free", "free", 0.458]', "appears twice, or is one arm"),
        ('["free", "coins25", 0.458]', '["free", "coins25"]', "found 2 members"),
        ('["free", "coins25", 0.458]', '["free", "coins25", 0.9]', "add up to"),
        ("[0.451, 0.270, 0.090, 0.189]", "[0.25, 0.25, 0.25, 0.25]", "contradict the logging of free"),
        ("positions = [", "places = [", "unknown key 'places'"),
        ("rows = 5630", "rows = 5", "leave nothing|keep some|batches of"),
        (
            'arm = "plan"',
            'arm = "plan"\ncontext = "md_visits"\ncuts = { md_visits = [0] }',
            "do not rise within",
        ),
        (
            'arm = "plan"',
            'arm = "plan"\ncontext = "md_visits"\ncuts = { md_visits = [5, 2] }',
            "do not rise within",
        ),
        ('arm = "plan"', 'arm = "plan"\ncontext = "plan"\ncuts = { plan = [5] }', "no number with bounds"),
        (
            'arm = "plan"',
            'arm = "plan"\ncontext = "plan"\ncuts = { md_visits = [5] }',
            "unknown key 'md_visits'",
        ),
        ('arm = "plan"', 'arm = "plan"\ncuts = { md_visits = [5] }', "unknown key 'md_visits'"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused_where_it_is_wrong(before, after, said):
    change = [(before, after)] + (
        [("[subject.parameters]", "[subject.parameters]\nbatch = 9")] * ("5630" in before)
    )
    with pytest.raises(InputError, match=said) as refused:
        shop_logs.on_table(LoggedPolicy, "plan_finder/claim.toml", change)
    assert str(refused.value).startswith("plan_finder/claim.toml: ")


def test_an_arm_that_is_offered_beside_no_other_is_refused():
    """Its share is within the rounding of shares; nobody logged on it could be offered a pair."""
    offers = '[["plain", "photos", 0.333], ["plain", "reviews", 0.333], ["photos", "reviews", 0.334]]'
    change = [('logging = "uniform"', f"logging = [0.332, 0.332, 0.332, 0.004]\noffers = {offers}")]
    with pytest.raises(InputError, match="bundle stands in no pair"):
        shop_logs.on_table(LoggedPolicy, "shop_log/logged-policy.toml", change)


@deep
@pytest.mark.statistical(1)  # the least sure of 3 runs, and the surest of 20
def test_what_cannot_be_known_is_not_said_to_be_sure():
    """Of 100 people with equal arms nobody knows the best; of 20,000 with clear ones it is known."""
    few = LoggedPolicy(arms=("a", "b", "c"), slots=100)
    none = [
        said["best_probability"]
        for said, _ in runs(few, lambda seed: made(seed, (1 / 3,) * 3, 100), range(20))
    ]
    assert max(none) < 0.95
    clear = [said["best_probability"] for said, _ in shop_runs(EVEN, range(3))]
    assert min(clear) > 0.7


def test_records_that_come_and_go_are_refused():
    place = parse_toml((shop_logs.EXAMPLES / "shop_log" / "logged-policy.toml").read_text(), "claim.toml")
    with pytest.raises(InputError, match="replace-one"):
        LoggedPolicy.on_table(
            read_table(place.child("data")),
            place.child("subject").child("parameters"),
            Promise("add-remove", Fraction(1), DELTA),
        )


def test_nothing_in_bandits_names_insurance(root):
    worlds = {*(root / "bandits" / "papers").rglob("*.py")}  # environments, of which learners know nothing
    for file in {*(root / "bandits").rglob("*.py")} - worlds:
        assert "insurance" not in file.read_text().lower(), file
