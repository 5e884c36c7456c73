"""The checker's numbers at their edges: intervals, curves, lattices, exact numbers, and the reading of files."""

import math
from decimal import Decimal
from fractions import Fraction
from unittest import mock

import mpmath
import numpy as np
import pytest

from dpaccount.checker import Rejected, Unreadable, curves, distributions, documents, intervals, sensitivity
from dpaccount.checker.accounting.releases import real
from dpaccount.checker.certificate import shapes, written_alike
from dpaccount.checker.certificate.verdict import unmeasured
from dpaccount.checker.intervals import Interval
from tests.looped import looped

F = Fraction
BIG = str(2**256 - 1)


# ------------------------------------------------------------------ curves against other formulas


def points_of(curve, delta):
    """ε of the curve at δ by mpmath."""
    with mpmath.workdps(40):
        match curve:
            case ["pure", b]:
                return lambda e: (mpmath.exp(b) - mpmath.exp(e)) / (1 + mpmath.exp(b)) - delta
            case ["bounded-range", b]:
                return lambda e: (
                    (mpmath.exp(mpmath.mpf(b) / 2) - mpmath.exp(e / 2)) ** 2 / mpmath.expm1(b) - delta
                )
            case ["gdp", square] | ["near-gdp", square, _]:
                mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
                far = mpmath.mpf(str(float(curve[2]))) if len(curve) == 3 else 0

                def value(e):
                    return (
                        mpmath.ncdf(mu / 2 - e / mu)
                        - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
                        + far * (1 + mpmath.exp(e))
                        - delta
                    )

                return value
            case ["renyi", [order, d]]:
                a = mpmath.mpf(order)
                return lambda e: (
                    mpmath.exp((a - 1) * (d - e) + (a - 1) * mpmath.log1p(-1 / a) - mpmath.log(a)) - delta
                )
    raise AssertionError


CURVES = [
    (["pure", F(2)], "0.125", (0, 2)),
    (["pure", F(2)], "0.001", (0, 2)),
    (["bounded-range", F(3)], "0.125", (0, 3)),
    (["gdp", F(1)], "0.125", (0, 9)),
    (["gdp", F(9)], "1e-12", (0, 90)),
    (["gdp", F(1, 64)], "1e-30", (0, 9)),
    (["near-gdp", F(1), F(1, 64)], "0.25", (0, 1)),
    (["renyi", [4, 2]], "0.0001", (0, 90)),
]


@looped(("curve", "delta", "ends"), CURVES)
def test_points_are_decided_on_both_sides(curve, delta, ends):
    """ε by mpmath, then a part in 10⁹ above and below it."""
    with mpmath.workdps(40):
        low, high = map(mpmath.mpf, ends)
        excess = points_of(curve, mpmath.mpf(delta))
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        truth = F(mpmath.nstr(low, 30, min_fixed=-50, max_fixed=50))
    if curve[0] == "renyi":
        written, order = ["renyi", ["4", "2"], ["2", "1"]], F(4)
    else:
        written, order = [curve[0], *map(str, curve[1:])], None
    for side, expected in ((1 + F(1, 10**9), True), (1 - F(1, 10**9), False)):
        assert curves.implies(curves.curve_of(written), truth * side, F(delta), order) is expected


@looped("reward", ["11/10", "3/2", "19/10", "2", "9/4", "47/20", "471/200", "3", "10", "40", "1000"])
def test_outer_products_are_bounded_just_above_their_supremum(reward):
    """The inner maximum at the cubic's smaller root, by mpmath; 8B² where that is larger."""
    b, exact = F(reward), None
    with mpmath.workdps(60):
        c = mpmath.mpf(b.numerator) / b.denominator
        exact, low, high = 8 * c * c, 1 / c, mpmath.sqrt((c * c - 1) / 3)
        if c > 2:
            for _ in range(180):
                middle = (low + high) / 2
                low, high = (middle, high) if middle**3 + (1 - c * c) * middle + c > 0 else (low, middle)
            exact = max(exact, (1 + c * c) ** 2 + (1 + low**2) ** 2 - 2 * (c * low - 1) ** 2)
        truth = F(mpmath.nstr(exact, 40, min_fixed=-90, max_fixed=90))
    bound = sensitivity.outer_supremum(b)
    assert truth * (1 - F(1, 10**30)) <= bound <= truth * (1 + F(1, 10**15))
    c, t = float(b), np.linspace(0, float(b), 2_000_001)  # and by a dense search
    best = ((1 + c * c) ** 2 + (1 + t * t) ** 2 - 2 * np.maximum(c * t - 1, 0) ** 2).max()
    assert float(bound) == pytest.approx(best, rel=1e-9)


# ------------------------------------------------------------------ numbers


@looped("digits", [2, 5, 30])
def test_wide_intervals_are_mapped_to_both_ends(digits):
    i = Interval(digits)
    wide = (i.of(F(1, 3))[0], i.of(F(7, 3))[1])
    with mpmath.workdps(60):
        for mapped, exact in (
            (i.exp(wide), mpmath.exp),
            (i.ln(wide), mpmath.log),
            (i.sqrt(wide), mpmath.sqrt),
        ):
            low, high = (exact(mpmath.mpf(str(end))) for end in wide)
            slack = 30 * mpmath.mpf(10) ** (2 - digits)
            assert low - slack < mpmath.mpf(str(mapped[0])) < low
            assert high < mpmath.mpf(str(mapped[1])) < high + slack
    assert i.neg(wide) == (wide[1].copy_negate(), wide[0].copy_negate())


@looped(("top", "bottom"), [(1, 3), (-1, 3), (2, 7), (-5, 9)])
def test_quotients_are_rounded_apart(top, bottom):
    i = Interval(3)
    low, high = i.of(F(top, bottom))
    assert F(low) < F(top, bottom) < F(high)
    low, high = i.div((Decimal(top),) * 2, (Decimal(bottom),) * 2)
    assert F(low) < F(top, bottom) < F(high)
    low, high = i.div((Decimal(-2), Decimal(3)), (Decimal(3), Decimal(7)))
    assert F(low) < F(-2, 3)
    assert F(high) == 1


@pytest.mark.parametrize("digits", [2, 9])
def test_sums_and_products_of_wide_intervals(digits):
    i = Interval(digits)
    ends = [F(-7, 3), F(-1, 3), F(1, 7), F(22, 7)]
    wide = [(i.of(a)[0], i.of(b)[1]) for a in ends for b in ends if a <= b]
    for x in wide:
        for y in wide:
            corners = [(F(a), F(b)) for a in x for b in y]
            for pair, exact in (
                (i.add(x, y), [a + b for a, b in corners]),
                (i.sub(x, y), [a - b for a, b in corners]),
                (i.mul(x, y), [a * b for a, b in corners]),
            ):
                slack = F(100, 10**digits)
                assert min(exact) - slack <= F(pair[0]) <= min(exact)
                assert max(exact) <= F(pair[1]) <= max(exact) + slack


def test_impossible_arithmetic_is_refused():
    i = Interval(9)
    one = (Decimal(1), Decimal(1))
    for bottom in ((Decimal(0), Decimal(1)), (Decimal(-1), Decimal(1)), (Decimal(-2), Decimal(-1))):
        with pytest.raises(Rejected, match="division"):
            i.div(one, bottom)
    for bad in ((Decimal(0), Decimal(1)), (Decimal(-1), Decimal(1))):
        with pytest.raises(Rejected, match="logarithm"):
            i.ln(bad)
    with pytest.raises(Rejected, match="root"):
        i.sqrt((Decimal(-1), Decimal(1)))
    assert i.sqrt((Decimal(0), Decimal(4)))[0] == 0
    small = (Decimal("0.5"), Decimal("0.5"))
    assert i.div(one, small) == (Decimal(2), Decimal(2))
    assert i.ln(small)[1] < 0


def test_pi_is_a_lower_bound_at_every_precision_that_is_used():
    with mpmath.workdps(560):
        for digits in range(1, 520):
            low = distributions.pi(digits)
            gap = mpmath.pi - mpmath.mpf(low.numerator) / low.denominator
            assert 0 < gap < mpmath.mpf(10) ** (1 - digits)


@looped("digits", [3, 12, 40])
def test_the_upper_tail_of_a_wide_interval(digits):
    i = Interval(digits)
    with mpmath.workdps(80):
        for a, b in (
            (F(-3), F(-1)),
            (F(-1), F(1, 2)),
            (F(1), F(5)),
            (F(3, 2), F(2)),
            (F(7), F(9)),
            (F(0), F(0)),
        ):
            pair = distributions.upper_tail(i, (i.of(a)[0], i.of(b)[1]))
            high, low = (mpmath.erfc(float(x) / mpmath.sqrt(2)) / 2 for x in (a, b))
            assert mpmath.mpf(str(pair[0])) <= low
            assert mpmath.mpf(str(pair[1])) >= high
            slack = mpmath.mpf(10) ** (4 - digits) + mpmath.mpf(10) ** (2 - digits // 2)
            assert (
                high - low - slack
                <= mpmath.mpf(str(pair[1])) - mpmath.mpf(str(pair[0]))
                <= high - low + slack
            )


def test_a_series_that_is_too_short_is_refused():
    with pytest.raises(Rejected, match="too few"):
        distributions.tail_series(Interval(30), Decimal(4), 3)


def test_undecided_is_refused_and_the_ends_are_read_in_order():
    third = F(1, 3)
    assert intervals.at_most(lambda i: i.of(third), F(1, 3) + F(1, 10**300))
    assert not intervals.at_most(lambda i: i.of(third), F(1, 3) - F(1, 10**300))
    assert not intervals.at_most(lambda i: (i.of(0)[0], i.of(1)[1]), F(1, 2))  # never narrow
    assert not intervals.at_most(lambda i: i.of(third), third)  # equality that no digits decide
    assert intervals.at_most(lambda i: i.of(F(1, 4)), F(1, 4))
    assert not intervals.at_most(lambda i: (Decimal(-9), Decimal(2)), F(1))
    assert intervals.at_most(lambda i: (Decimal(-9), Decimal(1)), F(1))


def test_work_is_counted_and_ends():
    i, one = Interval(150), (Decimal(1), Decimal(1))
    for call in (i.exp, i.ln, lambda x: i.mul(x, x), lambda x: i.div(x, x)):
        before = documents.Work.spent
        call(one)
        assert documents.Work.spent > before
        documents.Work.spent = documents.MAX_WORK
        with pytest.raises(Rejected, match="more arithmetic"):
            call(one)
        documents.Work.spent = 0
    documents.spend(documents.MAX_WORK)
    with pytest.raises(Rejected, match="more arithmetic"):
        documents.spend(1)


def lattice_delta(variance, shift, count, epsilon):
    """By mpmath, all coordinates convolved."""
    with mpmath.workdps(60):
        s2 = mpmath.mpf(variance.numerator) / variance.denominator
        reach = 12 * int(mpmath.sqrt(s2)) + 12
        one = {x: mpmath.exp(-mpmath.mpf(x * x) / (2 * s2)) for x in range(-reach, reach + 1)}
        norm = mpmath.fsum(one.values())
        law = {0: mpmath.mpf(1)}
        for v in list(shift) * count:
            new = {}
            for s, p in law.items():
                for x, w in one.items():
                    new[s + v * x] = new.get(s + v * x, 0) + p * w / norm
            law = new
        half = mpmath.mpf(count * sum(v * v for v in shift)) / 2
        edge = s2 * mpmath.mpf(epsilon.numerator) / epsilon.denominator
        low = mpmath.fsum(p for s, p in law.items() if s < half - edge)
        high = mpmath.fsum(p for s, p in law.items() if s > half + edge)
        return low - mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator) * high


@looped(
    ("variance", "shift", "count", "epsilon"),
    [(F(4), (1,), 1, F(1, 2)), (F(9, 4), (2,), 1, F(1)), (F(2), (1, 1), 1, F(3, 4)), (F(5), (1,), 2, F(1, 3)),
     (F(4), (1,), 1, F(0)), (F(4), (2,), 1, F(1, 2))],
)  # fmt: skip
def test_lattices_are_decided_on_both_sides(variance, shift, count, epsilon):
    """The steps of the loss meet their edges exactly at some of these ε."""
    truth = lattice_delta(variance, shift, count, epsilon)
    exact = F(mpmath.nstr(truth, 40, min_fixed=-90, max_fixed=50))
    for side, expected in ((1 + F(1, 10**9), True), (1 - F(1, 10**9), False)):
        assert distributions.lattice_at_most(variance, list(shift), count, epsilon, exact * side) is expected
    assert distributions.lattice_at_most(variance, [0] * len(shift), count, epsilon, F(0))
    with pytest.raises(Rejected, match="beyond"):
        distributions.lattice_at_most(variance, list(shift), count, epsilon, F(0))


def test_what_floors_leave_out_is_allowed_for():
    """With two digits the floors matter: no δ below the true one is accepted, and a larger one is."""
    law, variance = distributions.lattice_law, F(9)
    with mock.patch.object(distributions, "lattice_law", lambda v, steps, count, _: law(v, steps, count, 2)):
        _floors_are_allowed_for(law, variance)


def _floors_are_allowed_for(law, variance):
    for shift, count, epsilon in (((1,), 1, F(1, 3)), ((1, 1), 1, F(0)), ((2,), 3, F(1, 2))):
        truth = F(int(lattice_delta(variance, shift, count, epsilon) * 10**12), 10**12)
        assert not distributions.lattice_at_most(variance, list(shift), count, epsilon, truth * F(999, 1000))
        assert distributions.lattice_at_most(variance, list(shift), count, epsilon, F(1))
        cells, reach, least, excess = law(variance, shift, count, 2)
        half = F(count * sum(v * v for v in shift), 2)
        hit = sum(cells[: max(math.ceil(half - variance * epsilon) + reach, 0)])
        miss = sum(cells[math.floor(half + variance * epsilon) + reach + 1 :])
        bare = F(hit, least) - F(math.exp(epsilon)) * F(miss, least)
        assert not distributions.lattice_at_most(variance, list(shift), count, epsilon, bare)
        assert bare < truth + F(excess, least)


def test_lattices_out_of_reach_are_refused():
    with pytest.raises(Rejected, match="too large"):
        distributions.lattice_at_most(F(10**8), [1000], 1, F(1), F(1, 100))
    with pytest.raises(Rejected, match="beyond"):
        distributions.lattice_at_most(F(4), [1], 1, F(1), F(1, 10**400))


NUMBERS = ["1/0", "0/0", "-1/0", "2/4", "4/2", "+1", "1.5", "1e3", " 1", "1 ", "01", "-0", "", "-", "1/", "/2", "1/-2",
           "١", "1" * 1001, None, 1, 1.0, True, ["1"]]  # fmt: skip


@looped("text", NUMBERS, ids=str)
def test_numbers_have_one_spelling(text):
    with pytest.raises(Rejected):
        intervals.number(text)


def test_numbers_are_read():
    assert [intervals.number(t) for t in ("0", "-3", "1/2", "-7/3")] == [F(0), F(-3), F(1, 2), F(-7, 3)]
    assert intervals.number("9" * 1000) == 10**1000 - 1
    assert documents.integer(2**256 - 1) == 2**256 - 1
    assert documents.integer(0, 0) == 0
    for bad in (0, 2**256, True, "1", 1.0, None):
        with pytest.raises(Rejected):
            documents.integer(bad)
    for bad in (1, None, ["q"]):
        with pytest.raises(Rejected):
            documents.text(bad)
    for bad in ("0", "-1"):
        with pytest.raises(Rejected):
            intervals.positive(bad)
    assert intervals.positive("1/9") == F(1, 9)
    for bad in ([], "keys", None):
        with pytest.raises(Rejected):
            documents.check_members(bad, [])


def test_products_of_masses_keep_every_digit():
    a = [10**k for k in range(9)]
    assert distributions.multiply([7], [9]) == [63]
    assert distributions.multiply(a, [1]) == a
    assert distributions.multiply([10**5000], [10**5000, 3]) == [10**10000, 3 * 10**5000]
    assert distributions.multiply([10**30 - 1] * 3, [1, 10**9]) == [
        10**30 - 1, (10**30 - 1) * (1 + 10**9), (10**30 - 1) * (1 + 10**9), (10**30 - 1) * 10**9
    ]  # fmt: skip
    assert distributions.power([1, 2], 0) == [1]
    assert distributions.power([1, 2], 5) == [1, 10, 40, 80, 80, 32]
    with pytest.raises(Rejected, match="negative"):
        distributions.multiply([1, -1], [1])
    with pytest.raises(Rejected, match="negative"):
        distributions.multiply([1], [2, -1])


# ------------------------------------------------------------------ reading


@looped(
    ("value", "exact"),
    [(1, 1), (0.5, Fraction(1, 2)), ("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("-2e-3", Fraction(-1, 500)),
     (".5", Fraction(1, 2)), ("5.", 5), ("inf", None), (1e300, 10**300)],
)  # fmt: skip
def test_numbers_of_certificates(value, exact):
    assert shapes.exact_of(value, "x") == exact


@looped("value", [True, None, [], "nan", "-inf", "1e", "1e123456", "", "0x1", "1" * 1001, "1 "])
def test_what_is_no_number_of_a_certificate(value):
    with pytest.raises(Rejected):
        shapes.exact_of(value, "x")


@looped(
    "raw",
    [b'{"a": 1e999}', b'{"a": -Infinity}', b'{"a": "\\ud800"}', b'{"\\udfff": 1}', b'{"a": 1, "a": 1}',
     b"[" * 66 + b"]" * 66, b"\xff", b"{} {}", b'{"a": ' + b"1" * 401 + b"}", b'{"a": 0.' + b"1" * 401 + b"}"],
)  # fmt: skip
def test_files_that_are_not_read(raw):
    with pytest.raises(Unreadable):
        documents.parse(raw)


def test_files_that_are_read():
    deep = b"[" * 64 + b"]" * 64
    assert documents.parse(deep)
    assert documents.parse(b'{"a": ' + b"1" * 400 + b"}") == {"a": int("1" * 400)}
    assert documents.parse(b'{"a": "\\ud83d\\ude00"}')


def test_a_number_has_no_more_digits_than_are_counted():
    """A power of 2 just below one of 10 (2²¹³⁶ is 1.0001·10⁶⁴³) shows every digit of the logarithm."""
    for bits in (1, 3, 4, 10, 93, 485, 2136, 2137, 13301):
        for value in (2**bits - 2, 2**bits - 1, 2**bits):
            digits = len(str(value))
            assert digits <= intervals.digits_of(value) <= digits + 1


@looped("digits", [1, 2, 3, 5, 8, 60])
@looped("n", [0, 1, 2, 5, 30, 150, 200, 201, 202, 210, 333, 1000, 12345, 10**6, 10**7])
def test_log_factorials_of_few_digits_enclose(n, digits):
    with mpmath.workdps(80):
        exact = mpmath.loggamma(n + 1)
        low, high = distributions.log_factorial(Interval(digits), n)
        assert mpmath.mpf(str(low)) <= exact <= mpmath.mpf(str(high))
        assert digits < 60 or high - low < Decimal("1e-18")


@looped("digits", [2, 4, 9, 40])
@looped(
    ("n", "p", "k"),
    [(10, "1/2", 7), (300, "1/3", 130), (1000, "1/100", 25), (50, "1/10", 9), (200, "1/2", 120), (30, "9/10", 30)],
)  # fmt: skip
def test_binomial_tails_of_few_digits_enclose(n, p, k, digits):
    exact = F(p)
    with mpmath.workdps(60):
        q = mpmath.mpf(exact.numerator) / exact.denominator
        tail = mpmath.fsum(mpmath.binomial(n, j) * q**j * (1 - q) ** (n - j) for j in range(k, n + 1))
        for pair in (
            distributions.binomial_tail(Interval(digits), n, exact, k, up=True),
            distributions.binomial_tail(Interval(digits), n, 1 - exact, n - k, up=False),
        ):
            assert mpmath.mpf(str(pair[0])) <= tail <= mpmath.mpf(str(pair[1]))


def test_sums_are_exact():
    for parts in ([], [F(1, 3)], [F(1, k * k + 1) for k in range(40)], [F(7), F(-7, 2), F(-1, 3)]):
        assert intervals.added(iter(parts)) == sum(parts, F(0))


@looped("base", ["0", "1/1000", "1/3", "999/1000", "1"])
@looped("times", [0, 1, 2, 3, 4, 5, 7, 8, 31, 100])
def test_powers_enclose(base, times):
    i = Interval(30)
    low, high = intervals.power_of(i, i.of(F(base)), times)
    assert Fraction(low) <= F(base) ** times <= Fraction(high)
    assert Fraction(high) - Fraction(low) <= Fraction(1, 10**26)


@looped("form", ["0", "-1", "12", "0.0", "0.1", "-1.5", "1e+16", "1e-05", "5e-324"])
def test_a_number_in_its_shortest_form_is_read(form):
    assert repr(documents.parse(b'{"a": ' + form.encode() + b"}")["a"]) == form


@looped("form", ["-0", "-0.0", "0.10", "1.00", "1E5", "1e16", "1e+016", "0.00001", "1.0e0"])
def test_no_number_has_two_forms_in_a_file(form):
    """Two texts never are one document of the same digest."""
    with pytest.raises(Rejected, match=r"is not how .* is written"):
        documents.parse(b'{"a": ' + form.encode() + b"}")


def test_what_a_terminal_would_act_on_is_escaped():
    for shown in ("plain text", "ε ≤ 2, naïve", "back\\slash", ""):
        assert documents.plain(shown) == shown
    for text, shown in (
        ("a\x1b[2J", r"a\x1b[2J"),
        ("\n", r"\n"),
        ("a\u202eb", r"a\u202eb"),
        ("\x00", r"\x00"),
    ):
        assert documents.plain(text) == shown == str(Rejected(text))


@looped("digits", [12, 30])
@looped("radius", [0, 1, 2, 5, 12])
@looped("variance", [F(1, 4), F(1), F(7, 2), F(100)])
def test_weights_are_floors_and_what_they_lack_is_counted(variance, radius, digits):
    """One unit for each floor and the geometric bound on both tails, which lies above them, in whole units."""
    one, wrong = distributions.weights(variance, radius, digits)
    with mpmath.workdps(digits + 40):
        rate = mpmath.mpf(variance.denominator) / (2 * variance.numerator)
        scale = mpmath.mpf(10) ** digits
        for x, weight in zip(range(-radius, radius + 1), one, strict=True):
            assert 0 <= scale * mpmath.exp(-rate * x * x) - weight <= 1
        assert scale * mpmath.jtheta(3, 0, mpmath.exp(-rate)) - sum(one) <= wrong
        rest = 2 * scale * mpmath.exp(-rate * (radius + 1) ** 2) / -mpmath.expm1(-2 * rate * (radius + 1))
        assert rest < wrong - len(one) <= rest + 1 + mpmath.mpf(10) ** -6


@looped("terms", [1, 2, 3, 4, 5, 6, 8, 12])
@looped("x", ["0.25", "0.3", "1", "1.5", "1.7", "2"])
def test_a_series_of_few_terms_encloses(x, terms):
    """What is left is bounded wherever the series stops."""
    low, high = distributions.tail_series(Interval(40), Decimal(x), terms)
    with mpmath.workdps(50):
        square = mpmath.mpf(x) ** 2 / 2
        exact = mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(square) * mpmath.erf(mpmath.sqrt(square))
        assert mpmath.mpf(str(low)) < exact < mpmath.mpf(str(high))


@looped("n", [201, 202, 250, 1000, 10**4])
def test_log_factorials_enclose_to_many_digits(n):
    """As narrow as the last term of Stirling's series, which lies beyond the truth."""
    low, high = distributions.log_factorial(Interval(80), n)
    with mpmath.workdps(120):
        exact = mpmath.loggamma(n + 1)
        assert mpmath.mpf(str(low)) < exact < mpmath.mpf(str(high))
    assert Fraction(high - low) <= Fraction(1, 1679 * n**7)


@looped(("n", "k"), [(200, 110), (200, 130), (150, 100), (1000, 560)])
def test_a_binomial_tail_that_stops_early_encloses(n, k):
    """Exact sums of binomial coefficients: what is left out is counted."""
    exact = Fraction(sum(math.comb(n, j) for j in range(k, n + 1)), 2**n)
    i = Interval(60)
    for low, high in (
        distributions.binomial_tail(i, n, F(1, 2), k, up=True),
        distributions.binomial_tail(i, n, F(1, 2), n - k, up=False),
    ):
        assert Fraction(low) < exact < Fraction(high)


def test_a_decimal_of_a_huge_exponent_is_no_fraction_but_zero_is():
    assert intervals.exact(Decimal("1e-39999")) == Fraction(1, 10**39999)
    assert intervals.exact(Decimal("0e-999999")) == 0
    for far in ("1e-40000", "-1e-999999", "1e40000"):
        with pytest.raises(Rejected, match="too large an exponent"):
            intervals.exact(Decimal(far))


def test_the_richest_of_few_values_stay_so_however_many_times_are_allowed():
    assert sensitivity.richest([5, 1], 4, 1) == [5, 6, 6, 6]
    assert sensitivity.richest([5, 1, 3], 5, 2) == [5, 8, 8, 8, 8]


def test_texts_are_alike_as_numbers_where_both_are():
    for same in ((0.5, "0.50"), ("1/2", "0.5"), ("north", "north"), (3, "3")):
        assert written_alike(*same), same
    for other in ((0.5, "0.6"), ("north", "south"), (0.5, "north"), ("0.5", 0.25), (None, "0")):
        assert not written_alike(*other), other


def test_a_number_of_a_plan_has_at_most_400_characters():
    longest = "0." + "3" * 398
    assert real(longest, "sigma") == Fraction(longest)
    with pytest.raises(Rejected, match="sigma should be a number"):
        real(longest + "3", "sigma")


def test_columns_of_a_radius_are_numbers_that_are_read_once():
    def wrong(relation="bounded-row", read=("a", "b"), **types):
        columns = {name: {"type": types.get(name, "number")} for name in "ab"}
        guarantee = {"relation": relation, "radius": 1}
        subject = {"parameters": {"columns": [*read]}}
        return unmeasured(
            {"guarantee": guarantee, "subject": subject, "data": {"columns": columns, "id": "who"}}
        )

    assert wrong() is None
    for case in ({"read": ("a", "a")}, {"b": "category"}, {"read": ("a", "who")}):
        assert "moves further" in wrong(**case)
        assert wrong("replace-one", **case) is None
    text = {
        "guarantee": {"relation": "bounded-row", "radius": 1},
        "subject": {"parameters": {"columns": "ab"}},
    }
    assert unmeasured({**text, "data": {"columns": {"a": {"type": "category"}}}}) is None
