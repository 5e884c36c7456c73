"""Logged trials: rewards from text, rows from declarations, what a record adds, and what estimates claim."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandits.arm_means import ArmMeans
from bandits.logged import arm_estimates as estimates
from bandits.logged.arm_counts import ArmCounts, least_sigma
from bandits.logged.logged_trials import read_trial, taking_part
from bandits.logged.reward_expressions import condition
from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from dpaccount.proof import point
from dpaccount.proof.search import approximate
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column, read_table
from tests.depth import deep
from tests.looped import looped

COLUMNS = (
    Column("visits", "integer", Fraction(0), Fraction(1000)),
    Column("spending", "number", Fraction(0), Fraction(10**7)),
    Column("seen", "boolean"),
    Column("city", "category", values=("north", "south")),
    Column("day of week", "integer", Fraction(0), Fraction(6)),
)
POSITIONS = (Fraction(0), Fraction(1, 4), Fraction(19, 20))


# ------------------------------------------------------------------ rewards


def holds(text, arm=0, **cells):
    codes = {each.name: np.zeros(1) for each in COLUMNS} | {k: np.array([float(v)]) for k, v in cells.items()}
    return bool(condition(text, COLUMNS, POSITIONS, 3)[1](codes, np.array([arm]))[0])


@deep
@given(
    visits=st.integers(0, 5),
    spending=st.integers(0, 200),
    arm=st.integers(0, 2),
    least=st.integers(0, 3),
    most=st.integers(0, 100),
    sign=st.sampled_from([">=", "<=", ">", "<", "==", "!="]),
)
def test_a_condition_means_what_python_says(visits, spending, arm, least, most, sign):
    text = f"visits {sign} {least} and (1 - position) * spending <= {most} and {most} >= position*spending"
    position = POSITIONS[arm]
    meant = eval(f"{visits} {sign} {least}")  # noqa: S307
    meant = meant and (1 - position) * spending <= most and position * spending <= most
    assert holds(text, arm, visits=visits, spending=spending) == meant


@looped(
    ("text", "cells", "meant"),
    [
        ("seen", {"seen": 1}, True),
        ("seen and visits >= 2", {"seen": 1, "visits": 1}, False),
        ("city == 'south'", {"city": 1}, True),
        ("true == seen", {"seen": 1}, True),
        ("visits >= 1 or seen", {"seen": 1}, True),
        ("not visits + 1 >= 2 * spending", {"spending": 0.6}, True),
        ("visits >= position and position < .5", {}, True),
        ("city != \"south\"", {"city": 1}, False),
        ("city != 'south'", {"city": -1}, True),
        ("`day of week` == 6", {"day of week": 6}, True),
        ("2 * spending < 1e2", {"spending": 49.9}, True),
        ("spending > -1", {}, True),
        ("(2 - position) * spending * .5 >= 1", {"spending": 1}, True),
    ],
)  # fmt: skip
def test_what_a_condition_may_say(text, cells, meant):
    assert holds(text, **cells) == meant


@looped(
    "text",
    [
        "", "visits", "visits >=", "1 >= 2", "and", "visits >= 1 and", "nobody >= 1",
        "__import__('os').system('true')", "city == 'west'", "city >= 1", "visits == 'north'", "position >= .5",
        "visits = 1", "seen; visits", "spending ** 2 > 1", "x" * 3000, "(1 - position", "-", "city",
        "visits >= 1e999", "1e10 * 1e10 * visits >= 1", "visits >= " + "9" * 400, "2 * city == 'south'",
        "'south' != city * position", "2 * seen", "position * seen and visits >= 1",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_refused_in_one_sentence(text):
    with pytest.raises(InputError, match="; ") as refused:
        condition(text, COLUMNS, POSITIONS, 3)
    assert "\n" not in str(refused.value)


def test_a_position_is_asked_for_only_where_it_is_declared():
    with pytest.raises(InputError, match="give positions"):
        condition("position * spending <= 1", COLUMNS, (), 3)


# ------------------------------------------------------------------ rows

DECLARED = """
[data]
rows = 3
[data.columns]
variant = { type = "category", values = ["A", "B"], other = true }
city = { type = "category", values = ["north", "south"] }
phone = { type = "boolean" }
chance = { type = "number", low = 0.2, high = 0.8 }
converted = { type = "boolean" }
revenue = { type = "number", low = 0, high = 500 }
rating = { type = "number", low = 0, high = 1 }
many = { type = "integer", low = 0, high = 9999 }
note = { type = "text" }
[p]
"""


def declared(text):
    place = parse_toml(DECLARED + text, "claim.toml")
    return place.child("p"), read_table(place.child("data"))


def trial_of(text):
    return read_trial(*declared(text))


def test_rows_are_cell_arm_chance_and_reward():
    trial = trial_of(
        'arm = "variant"\nreward = "revenue >= 20"\ncontext = ["city", "phone"]\nlogging = "chance"'
    )
    assert trial.arms == ("A", "B")
    assert trial.cells == ("north, false", "north, true", "south, false", "south, true")
    assert (trial.chance, trial.steps) == (Fraction(1, 5), 1)
    assert trial.reading.names == ("variant", "city", "phone", "chance", "revenue")
    rows = trial.reading.encode(np.array([[1, 1, 0, 0.5, 20], [2, 0, 1, 0.2, 3], [0, -1, 1, 0.8, 400.0]]))
    assert rows.tolist() == [[2, 1, 0.5, 1], [1, -1, 0.2, 0], [-1, 0, 0.8, 1]]
    assert taking_part(rows, trial.chance, np.zeros(3)).tolist() == [True, False, False]


def test_cells_between_near_cuts_have_names_of_their_own():
    """All of them read 0.333333 with six digits."""
    cuts = "[0.3333331, 0.3333332, 0.33333321]"
    trial = trial_of(f'arm = "variant"\nreward = "phone"\ncontext = "rating"\ncuts = {{ rating = {cuts} }}')
    assert trial.cells == (
        "rating [0, 0.3333331)",
        "rating [0.3333331, 0.3333332)",
        "rating [0.3333332, 0.33333321)",
        "rating [0.33333321, 1]",
    )
    nearer = "[0.1, 0.10000000000000000001]"  # the same double: no value lies between
    with pytest.raises(InputError, match="do not rise") as refused:
        trial_of(f'arm = "variant"\nreward = "phone"\ncontext = "rating"\ncuts = {{ rating = {nearer} }}')
    assert str(refused.value).startswith("claim.toml: ")


def test_a_column_that_reads_as_a_condition_on_others_is_refused():
    """Else the records would be judged by another column than the author meant."""
    text = DECLARED.replace("phone =", '"rating >= .5" =') + 'arm = "variant"\nreward = "rating >= .5"'
    place = parse_toml(text, "claim.toml")
    with pytest.raises(InputError, match="is a condition, and the name of a column; rename the column"):
        read_trial(place.child("p"), read_table(place.child("data")))


def test_two_cells_of_one_name_are_refused():
    text = DECLARED.replace('["north", "south"]', '["a, b", "a"]').replace(
        "phone =", 'street = { type = "category", values = ["c", "b, c"] }\nphone ='
    )
    place = parse_toml(text + 'arm = "variant"\nreward = "phone"\ncontext = ["city", "street"]', "claim.toml")
    with pytest.raises(InputError, match="two cells have the same name"):
        read_trial(place.child("p"), read_table(place.child("data")))


@looped(
    ("text", "message"),
    [
        ('reward = "converted"', "'arm' is missing"),
        ('arm = "shop"\nreward = "converted"', "no column 'shop'"),
        ('arm = "revenue"\nreward = "converted"', "is a number"),
        ('arm = "variant"\nreward = "revenue"', r"let it lie in \[0, 1\]"),
        ('arm = "variant"\nreward = "city"', "no reward"),
        ('arm = "variant"\nreward = "converted"\nlogging = [0.5, 0.3, 0.2]', "one for each of 2"),
        ('arm = "variant"\nreward = "converted"\nlogging = [0.5, 0.6]', "add up to 1.1"),
        ('arm = "variant"\nreward = "converted"\nlogging = [1, 0]', "above 0"),
        ('arm = "variant"\nreward = "converted"\nlogging = "revenue"', "no chance"),
        ('arm = "variant"\nreward = "converted"\npositions = [1]', "one for each of 2"),
        ('arm = "variant"\nreward = "converted"\ncontext = "revenue"', "a number"),
        ('arm = "variant"\nreward = "converted"\nepsilon = 1', "unknown key"),
        ('arm = "variant"\nreward = "converted"\ncontext = ["many", "many", "many"]', "at most 64"),
        ('arm = "note"\nreward = "converted"', "is a text"),
        ('arm = "variant"\nreward = "note"', "no reward"),
        ('arm = "variant"\nreward = "position * revenue <= 3"', "give positions"),
    ],
)  # fmt: skip
def test_declarations_that_make_no_sense_are_refused_at_their_place(text, message):
    with pytest.raises(InputError, match=message) as refused:
        trial_of(text)
    assert str(refused.value).startswith("claim.toml: ")


def test_context_and_strata_are_not_given_together():
    place, table = declared('arm = "variant"\nreward = "converted"\ncontext = "city"\nstrata = "phone"')
    with pytest.raises(InputError, match="both context and strata"):
        read_trial(place, table, ("strata",))


def test_several_rows_of_a_person_are_refused():
    place = parse_toml(
        DECLARED.replace("rows = 3", 'rows = 3\nid = "city"\nmax_rows = 2') + 'arm="variant"\nreward="phone"',
        "claim.toml",
    )
    with pytest.raises(InputError, match="one row a person"):
        read_trial(place.child("p"), read_table(place.child("data")))


def test_an_arm_by_its_own_chance_is_thinned_to_the_least():
    """Within 5 standard deviations: false by chance once in a million."""
    rng = np.random.default_rng(1)
    chance = rng.choice([0.2, 0.5, 0.8], 30_000)
    rows = np.column_stack([np.zeros(30_000), np.zeros(30_000), chance, np.ones(30_000)])
    kept = taking_part(rows, Fraction(1, 5), rng.random(30_000))
    for value in (0.2, 0.5, 0.8):
        among = kept[chance == value]
        assert abs(among.mean() - 0.2 / value) < 5 * np.sqrt(0.25 / len(among)) + 1e-12


# ------------------------------------------------------------------ what a record adds

STATISTICS = [
    ArmCounts(3),
    ArmCounts(2, cells=3, passed=True),
    ArmCounts(2, cells=2, steps=4, passed=True),
    ArmCounts(3, steps=16),
]


@looped("counts", STATISTICS)
def test_every_record_adds_a_declared_vector_and_all_of_them_occur(counts):
    seen = {(0,) * counts.size}
    one = np.ones(1, dtype=np.int64)
    nothing = one[:0]
    for cell, arm, reward in product(range(counts.cells), range(counts.arms), range(counts.steps + 1)):
        passed = nothing if counts.passed else None
        seen.add(tuple(counts.totals(cell * one, arm * one, reward * one, passed).tolist()))
    for arm in range(counts.arms * counts.passed):
        seen.add(tuple(counts.totals(nothing, nothing, nothing, arm * one).tolist()))
    assert seen == set(counts.points())


@looped("counts", STATISTICS)
def test_a_record_replaced_moves_the_whole_by_at_most_two(counts):
    moves = [
        sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for p, q in product(counts.points(), repeat=2)
    ]
    assert max(moves) == (2 * counts.unit) ** 2


def test_counts_beside_sums_cost_nothing_but_a_new_shift():
    shifts = ArmCounts(4).leaf(Fraction(271, 32), "sums").premises[0].conclusion.shifts
    assert set(shifts) == {(), (2,), (1, 1), (1, 1, 1, 1)}
    with_counts = ArmCounts(4, passed=True).leaf(Fraction(271, 32), "sums").premises[0].conclusion.shifts
    assert set(with_counts) - set(shifts) == {(1,), (1, 1, 1)}


@looped("counts", [ArmCounts(4), ArmCounts(4, steps=16), ArmCounts(2, cells=2, passed=True)])
@looped(("epsilon", "delta"), [(Fraction(1), Fraction(1, 10**6)), (Fraction(3), Fraction(1, 1000))])
def test_the_noise_is_the_least_that_is_proved(counts, epsilon, delta):
    sigma = least_sigma(counts, epsilon, delta)
    spent = [point(approximate(counts.leaf(s, "sums"), delta))[0] for s in (sigma, sigma - Fraction(1, 32))]
    assert spent[0] <= epsilon < spent[1]


def test_no_noise_is_promised_without_delta():
    for epsilon, delta in (
        (Fraction(1), Fraction(0)),
        (Fraction(0), Fraction(1, 100)),
        (Fraction(1), Fraction(1)),
    ):
        with pytest.raises(InputError, match="no pure epsilon"):
            least_sigma(ArmCounts(2), epsilon, delta)


def test_rewards_are_rounded_right_on_average():
    """Mean of 40,000 within 5 standard deviations: false by chance once in a million."""
    counts, rng = ArmCounts(2, steps=16), np.random.default_rng(2)
    for reward in (0.0, 0.01, 0.3, 0.97, 1.0):
        steps = counts.rounded(np.full(40_000, reward), rng.random(40_000))
        assert set(steps) <= {int(np.floor(16 * reward)), int(np.ceil(16 * reward))}
        assert abs(steps.mean() / 16 - reward) < 5 / 32 / np.sqrt(40_000) + 1e-12


@looped("wrong", [(0, 1, 1), (2, 0, 1), (2, 1, 0), (9, 8, 1), (4, 1, 64)])
def test_statistics_without_a_proof_of_bearable_length_are_refused(wrong):
    with pytest.raises(InputError):
        ArmCounts(*wrong)


# ------------------------------------------------------------------ what estimates claim


@pytest.mark.statistical(1e-4)  # 4,000 intervals of 95 % each
@looped(("mean", "people"), [(0.02, 3000), (0.12, 1500), (0.5, 200), (0.97, 800)])
def test_an_interval_covers_noise_and_sampling(mean, people):
    rng, sigma = np.random.default_rng(3), 8.46875
    ups = rng.binomial(people, mean, 4000)
    sums = 2 * ups - people + np.rint(rng.normal(0, sigma, 4000))
    counts = people + np.rint(rng.normal(0, sigma, 4000))
    ends = np.array([estimates.interval(s, c, sigma) for s, c in zip(sums, counts, strict=True)])
    held = ((ends[:, 0] <= mean) & (mean <= ends[:, 1])).mean()
    assert 0.935 <= held <= 0.975
    without = np.array([estimates.interval(s, c, 0.0) for s, c in zip(sums, counts, strict=True)])
    assert ((without[:, 0] <= mean) & (mean <= without[:, 1])).mean() < held  # the noise is in it


@given(total=st.floats(-1e4, 1e4), count=st.floats(-100, 1e4), sigma=st.floats(0.1, 100))
def test_an_interval_lies_within_what_a_mean_can_be(total, count, sigma):
    low, high = estimates.interval(total, count, sigma)
    assert 0 <= low <= high <= 1


@pytest.mark.statistical(
    1e-3
)  # of 300 true shares more than 4 are called wrong, each with probability at most .002
def test_shares_are_called_wrong_where_they_are():
    rng, declared = np.random.default_rng(4), (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    warnings = {0.0: 0, 0.1: 0}
    for off, _ in product(warnings, range(300)):
        true = np.array([0.5, 0.3, 0.2]) * [1 + off, 1, 1]
        logged = rng.multinomial(5000, true / true.sum()) + rng.normal(0, 30, 3)
        warnings[off] += estimates.share_warning(logged, 900, declared, "abc") is not None
    assert warnings[0.0] <= 4
    assert warnings[0.1] >= 60


def test_the_best_arm_is_as_sure_as_normal_means_make_it():
    sure = estimates.chance_of_best(np.array([0.3, 0.2]), np.array([0.06, 0.08]))
    assert sure[0] == pytest.approx(0.8413, abs=1e-3)  # Φ(.1/.1)
    assert sure.sum() == pytest.approx(1)


def test_arm_means_says_by_stratum_what_a_table_declares():
    place, table = declared('arm = "variant"\nreward = "rating"\nstrata = "city"')
    mechanism, reading = ArmMeans.on_table(
        table, place, Promise("replace-one", Fraction(2), Fraction(1, 10**6))
    )
    assert (mechanism.strata, mechanism.steps, mechanism.reward) == (("north", "south"), 16, "rating")
    assert reading.labels["sums"] == ("north, A", "north, B", "south, A", "south, B")
    assert point(mechanism.proof(Fraction(1, 10**6)))[0] <= 2
