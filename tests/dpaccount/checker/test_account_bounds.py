"""Numbers of a plan that add up: the largest loss, what is lost, and Rényi divergences, beside laws written out."""

from decimal import Decimal
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from dpaccount.checker import Rejected
from dpaccount.checker.accounting import methods
from dpaccount.checker.accounting.bounds import largest, renyi
from dpaccount.checker.accounting.releases import PlanRelease, Releases
from dpaccount.checker.intervals import Interval
from tests.dpaccount.checker.enumeration import laws, number
from tests.dpaccount.checker.test_account_events import releases
from tests.looped import looped

F = Fraction
ARITHMETIC = Interval(40)
ADD, SWAP = "add-remove", "replace-one"
PURE, FAILING = (
    {"event": "pure", "epsilon": "0.7"},
    {"event": "approximate", "epsilon": "0.3", "delta": "1/50"},
)
PAIR = {"event": "dominating_pair", "p": ["0.5", "0.4", "0.1", "0"], "q": ["0.2", "0.4", "0.3", "0.1"]}
NOISE, GAUSSIAN = (
    {"event": "discrete_laplace", "scale": "3", "sensitivity": 2},
    {"event": "gaussian", "sigma": 2},
)
NEAR = {"event": "dominating_pair", "p": ["0.55", "0.45"], "q": ["0.5", "0.5"]}
APART = {"event": "dominating_pair", "p": ["1", "0"], "q": ["0", "1"]}
FINITE = {
    "pure": (ADD, PURE),
    "many answers": (SWAP, {"event": "randomized_response", "epsilon": "0.7", "k": 5}),
    "approximate": (ADD, {**FAILING, "delta": "1/7"}),
    "discrete_laplace": (SWAP, NOISE),
    "pair": (ADD, PAIR),
    "near pair": (ADD, NEAR),
    "twice": (ADD, {**FAILING, "count": 2}),
    "sample": (ADD, {"event": "poisson_subsampled", "rate": "1/4", "of": PURE}),
    "sample of noise": (ADD, {"event": "poisson_subsampled", "rate": "1/4", "of": {**NOISE, "count": 2}}),
}


def law(relation, event):
    p, q = [mpf(1)], [mpf(1)]
    for _ in range(event.get("count", 1)):
        one = laws(event, relation)
        p, q = ([x * y for x in have for y in more] for have, more in zip((p, q), one, strict=True))
    return p, q


@looped("name", FINITE)
@looped("back", [False, True])
def test_the_largest_loss_and_what_is_lost_are_those_of_the_law(name, back):
    relation, event = FINITE[name]
    p, q = law(relation, event)[:: -1 if back else 1]
    loss = max(mp.log(a / b) for a, b in zip(p, q, strict=True) if a and b)
    lost = mp.fsum(a for a, b in zip(p, q, strict=True) if not b)
    found = largest(ARITHMETIC, releases(relation, event), back=back)
    for ends, truth in zip(found, (loss, lost), strict=True):
        assert number(F(ends[1])) >= truth - mpf(10) ** -30
        assert number(F(ends[0])) <= truth + mpf(10) ** -30


@looped("name", FINITE.keys() - {"twice", "sample of noise"})
@looped("back", [False, True])
def test_the_measure_of_few_outcomes_is_their_curve_rounded_up(name, back):
    relation, event = FINITE[name]
    [(release, _)] = releases(relation, event).others
    p, q = law(relation, event)[:: -1 if back else 1]
    inside = "0" if release.kind in methods.SAMPLES else None
    for digits in (4, 40):
        measure = methods.measure_of(Interval(digits), release, F(0), inside, digits, back=back)
        for x in (mpf(k) / 8 for k in (0, 1, 4, 7, 9, 15, 18)):
            truth = mp.fsum(max(0, a - x * b) for a, b in zip(p, q, strict=True))
            found = mp.fsum(number(F(m)) * max(0, 1 - x / number(F(z))) for z, m in measure.atoms)
            more = found + number(F(measure.lost)) - truth
            assert -(mpf(10) ** -50) <= more <= mpf(10) ** (2 - digits)


@looped("name", FINITE)
def test_renyi_bounds_are_no_smaller_than_the_divergences(name):
    relation, event = FINITE[name]
    for order in (F(101, 100), F(3, 2), F(4)):
        try:
            found = renyi(ARITHMETIC, releases(relation, event), order)
        except Rejected:
            assert name in ("approximate", "twice", "pair", "near pair")  # infinite, or beyond this checker
            continue
        p, q = law(relation, event)
        for there, back in ((p, q), (q, p)):
            moment = mp.fsum(
                a ** number(order) * b ** (1 - number(order)) for a, b in zip(there, back, strict=True)
            )
            assert mp.log(moment) / (number(order) - 1) <= number(F(found[1]))
        assert found[1] - found[0] < F(1, 10**20)


def test_renyi_bounds_are_the_known_ones():
    for order in (F(3, 2), F(9)):
        for events, known in (
            ([GAUSSIAN], order / 8),
            ([{**GAUSSIAN, "count": 3}], order * F(3, 8)),
            ([{"event": "zcdp", "rho": "0.1"}], order / 10),
            ([{"event": "exponential", "epsilon": "0.2"}], min(F(1, 5), order / 200)),
            ([{"event": "laplace", "scale": 2, "sensitivity": 3}], min(F(3, 2), order * F(9, 8))),
            ([NOISE], min(F(2, 3), order * F(2, 9))),
            ([{"event": "discrete_gaussian", "sigma": 3, "sensitivity": 2}], order * F(2, 9)),
            ([{"event": "rdp", "points": [[8, "0.3"], [9, "0.4"], [16, "0.5"]]}, PURE],
             (F(3, 10) if order < 8 else F(4, 10)) + min(F(7, 10), order * F(49, 200))),
        ):  # fmt: skip
            low, high = renyi(ARITHMETIC, releases(ADD, *events), order)
            assert F(low) <= known <= F(high), events
            assert F(high) - F(low) < F(1, 10**20)


def test_no_divergence_is_known_beyond_the_listed_orders_and_of_replaced_rows():
    with pytest.raises(Rejected, match="beyond the listed ones"):
        renyi(ARITHMETIC, releases(ADD, {"event": "rdp", "points": [[8, "0.3"]]}), F(9))
    replaced = {"event": "poisson_replaced", "rate": "1/4", "of": PURE}
    with pytest.raises(Rejected, match="no Rényi bound"):
        renyi(ARITHMETIC, releases(SWAP, replaced), F(2))


def test_the_largest_loss_of_a_replaced_row():
    found = largest(
        ARITHMETIC, releases(SWAP, {"event": "poisson_replaced", "rate": "1/4", "of": PURE}), back=False
    )
    up, down = (mpf(3) / 4 + mp.exp(way * number("0.7")) / 4 for way in (1, -1))
    assert abs(number(F(found[0][1])) - mp.log(up / down)) < mpf(10) ** -30
    assert found[1] == (0, 0)


def test_the_largest_loss_of_a_sample_of_fixed_size():
    given = {"event": "sampled_without_replacement", "size": 1, "population": 4}
    on = releases(SWAP, {**given, "of": {"event": "sequence", "of": [PURE, FAILING]}})
    loss, lost = largest(ARITHMETIC, on, back=True)
    assert abs(number(F(loss[1])) - mp.log(mpf(3) / 4 + mp.exp(1) / 4)) < mpf(10) ** -30
    assert F(lost[0]) <= F(1, 200) <= F(lost[1])


@pytest.mark.parametrize("back", [False, True])
def test_gaussian_noise_has_no_largest_loss_alone_or_on_a_sample(back):
    for event in (
        GAUSSIAN,
        {"event": "poisson_subsampled", "rate": "1/4", "of": GAUSSIAN},
        {"event": "zcdp", "rho": 1},
        {"event": "discrete_gaussian", "sigma": 2},
    ):
        with pytest.raises(Rejected, match="no bound"):
            methods.holds("largest-losses", releases(ADD, event), F(50), F(1, 2), {}, back=back)


@looped("delta", ["1/50", "1e-20", "1e-60"])
def test_a_failure_on_a_sample_however_rare_has_a_finite_loss_where_the_unit_is_added(delta):
    on = releases(ADD, {"event": "poisson_subsampled", "rate": "1/4", "of": {**FAILING, "delta": delta}})
    with pytest.raises(Rejected, match="finite loss"):
        largest(ARITHMETIC, on, back=True)
    assert largest(ARITHMETIC, on, back=False)[1][1] >= F(delta) / 4


@looped("name", ["pure", "approximate", "twice", "pair", "sample"])
def test_a_largest_loss_shows_its_answer_and_nothing_less(name):
    relation, event = FINITE[name]
    on = releases(relation, event)
    loss, lost = (F(ends[1]) for ends in largest(ARITHMETIC, on, back=False))

    def shown(epsilon, delta):
        return methods.holds("largest-losses", on, epsilon, delta, {}, back=False)

    assert shown(loss + F(1, 10**9), lost + F(1, 10**9))
    assert not shown(loss - F(1, 10**9), lost + F(1, 10**9))
    assert not shown(loss + F(1, 10**9), lost - F(1, 10**9))
    assert shown(loss, F(0)) is (lost == 0)


def test_what_costs_more_in_one_direction_has_no_largest_loss_on_a_sample_of_fixed_size():
    inner = releases(ADD, {"event": "poisson_subsampled", "rate": "1/4", "of": PURE})
    on = Releases(F(0), ((PlanRelease("without-replacement", (F(1, 4),), inner), 1),))
    with pytest.raises(Rejected, match="the other direction"):
        largest(ARITHMETIC, on, back=False)


def test_a_sample_has_the_bound_by_joint_convexity():
    sample = {"event": "poisson_subsampled", "rate": "1/4", "of": GAUSSIAN}
    for order in (F(3, 2), F(5)):
        inner = mp.exp((number(order) - 1) * number(order) / 8)
        known = mp.log(mpf(3) / 4 + inner / 4) / (number(order) - 1)
        found = renyi(ARITHMETIC, releases(ADD, sample), order)
        assert number(F(found[0])) <= known <= number(F(found[1])) <= known + mpf(10) ** -30


def test_an_order_and_its_bound_show_what_follows_and_nothing_less():
    """Canonne, Kamath & Steinke 2020, Proposition 12: ε + (ln(1/δ) + (α − 1) ln(1 − 1/α) − ln α)/(α − 1)."""
    on, order, delta = releases(ADD, {"event": "zcdp", "rho": "0.1"}), F(6), F(1, 10**4)
    truth = F(str(mp.nstr(mpf(6) / 10 + (mp.log(10**4) + 5 * mp.log(mpf(5) / 6) - mp.log(6)) / 5, 30)))
    for more, shown in ((F(1, 10**9), True), (-F(1, 10**9), False)):
        given = {"order": str(order)}
        assert methods.holds("renyi-bound", on, truth + more, delta, given, back=False) is shown
    for order in ("1", "1/2", "0", "-3"):
        with pytest.raises(Rejected, match="an order exceeds 1"):
            methods.holds("renyi-bound", on, F(50), delta, {"order": order}, back=False)
    for given in ({}, {"order": "6", "digits": 20}):
        with pytest.raises(Rejected):
            methods.holds("renyi-bound", on, F(50), delta, given, back=False)


def test_gaussian_releases_alone_have_the_gaussian_curve():
    on = releases(ADD, {**GAUSSIAN, "count": 4})
    truth = F(mp.nstr(mp.ncdf(-mpf(1) / 2 + mpf(1) / 2) - mp.exp(mpf(1) / 2) * mp.ncdf(-1), 30))
    for more, shown in ((F(1, 10**9), True), (-F(1, 10**9), False)):
        assert methods.holds("gaussian-curve", on, F(1, 2), truth + more, {}, back=False) is shown
    with pytest.raises(Rejected, match="not all releases are Gaussian"):
        methods.holds("gaussian-curve", releases(ADD, GAUSSIAN, PURE), F(1), F(1, 2), {}, back=False)
    with pytest.raises(Rejected, match="unknown rule"):
        methods.holds("gaussian", on, F(1), F(1, 2), {}, back=False)


def test_laws_without_a_common_outcome_are_told_apart_for_certain():
    loss, lost = largest(ARITHMETIC, releases(ADD, APART), back=False)
    assert loss[1] < Decimal("1e-30")
    assert lost == (1, 1)
