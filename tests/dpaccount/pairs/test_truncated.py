"""Truncated Poisson samples: every small dataset, exact chances, the values of dp_accounting, what is refused."""

import itertools
import json
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from audits import cli
from dpaccount import Accountant, Gaussian, Plan, PoissonReplaced, PoissonSubsampled
from dpaccount.errors import InputError
from dpaccount.numerics.closed.sampling import truncation
from dpaccount.numerics.intervals import ball, precision
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.of_events import composition_of
from dpaccount.pairs.poisson import SampledGaussian
from dpaccount.pairs.replaced import ReplacedGaussian
from dpaccount.pairs.truncated import TruncatedPair
from dpaccount.plan.events import Sequence, TruncatedPoisson, TruncatedReplaced
from tests.depth import deep
from tests.looped import looped

X = np.linspace(-12, 12, 4001)


def truncated(examples, rate, batch, sigma=1, count=1, kind=TruncatedPoisson):
    return kind(population=examples, rate=rate, batch=batch, of=Gaussian(sigma=sigma), count=count)


def law(rows, q, batch, sigma):
    """The density of the noisy sum of a dataset, over every sample and every subset that is kept."""
    found = np.zeros_like(X)
    for size in range(len(rows) + 1):
        for drawn in itertools.combinations(rows, size):
            subsets = list(itertools.combinations(drawn, min(size, batch)))
            weight = q**size * (1 - q) ** (len(rows) - size) / len(subsets)
            found += sum(weight * norm.pdf(X, sum(kept), sigma) for kept in subsets)
    return found


def cost(p, q, epsilon):
    return np.maximum(p - math.exp(epsilon) * q, 0).sum() * (X[1] - X[0])


def curves(event, epsilon):
    whole = composition_of([(event, 1)])
    with precision(96):
        return [float(way.curve(64)(Fraction(epsilon)).upper()) for way in (whole, whole.reversed())]


@looped(
    ("examples", "rate", "batch", "sigma"), [(3, "0.5", 1, "1"), (4, "0.5", 2, "1"), (4, "0.8", 1, "0.7")]
)
def test_no_small_dataset_costs_more(examples, rate, batch, sigma):
    values = [truncated(examples, rate, batch, sigma, kind=k) for k in (TruncatedPoisson, TruncatedReplaced)]
    given = float(rate), batch, float(sigma)
    for epsilon in ("0", "0.3", "1", "2"):
        (removed, added), (replaced, _) = (curves(event, epsilon) for event in values)
        at, most = float(epsilon), 0.0
        for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), examples - 1):
            gone, laws = law(others, *given), {u: law((*others, u), *given) for u in (-1.0, 0.0, 1.0)}
            for one, p in laws.items():
                most = max(most, cost(p, gone, at) / removed)
                assert cost(p, gone, at) <= removed + 1e-6
                assert cost(gone, p, at) <= added + 1e-6
                assert all(cost(p, q, at) <= replaced + 1e-6 for other, q in laws.items() if other != one)
        assert rate != "0.8" or most > 0.95  # close where samples are mostly cut


def test_the_case_must_count_as_seen():
    """With little noise the others' sum tells the case; moves of 0, 1, 2 by the same chances cost less."""
    p, q = law((1.0, -1.0), 0.5, 1, 0.2), law((1.0,), 0.5, 1, 0.2)
    hidden = 0.625 * norm.pdf(X, 0, 0.2) + 0.25 * norm.pdf(X, 1, 0.2) + 0.125 * norm.pdf(X, 2, 0.2)
    bound = curves(truncated(2, "0.5", 1, "0.2"), "0.4")[1]
    assert 1.8 * cost(norm.pdf(X, 0, 0.2), hidden, 0.4) < cost(q, p, 0.4) <= bound + 1e-6


@looped("rate", ["1/2", "1/100", "99/100", "1"])
def test_chances_are_those_of_exact_binomial_sums(rate):
    q = Fraction(rate)
    for examples, batch in ((2, 1), (4, 2), (9, 1), (9, 8), (40, 13)):
        chance = [math.comb(examples - 1, j) * q**j * (1 - q) ** (examples - 1 - j) for j in range(examples)]
        more = sum(chance[batch:])
        drawn = sum(w * q * batch / (j + 1) for j, w in enumerate(chance) if j >= batch) / more
        for found, truth in zip(truncation(examples, q, batch, 200), (1 - more, more, drawn), strict=True):
            with precision(400):
                assert abs(found - ball(truth)) < 1e-50
        assert drawn <= q


def test_a_tail_of_a_million_by_mpmath():
    with mpmath.workdps(60):
        q = mpmath.mpf(1) / 1000
        more = mpmath.betainc(1100, 10**6 - 1100, 0, q, regularized=True)
    found = truncation(10**6, Fraction(1, 1000), 1100, 200)[1]
    assert abs(float(found.mid()) / float(more) - 1) < 1e-14


@deep
def test_the_value_of_dp_accounting_is_that_of_a_row_replaced_where_samples_are_cut():
    """Theirs is 17.904330; a unit that takes another one's place costs less, 16.4565."""
    parts = []
    for population, drawn, count in ((4, "5/16", 3), (3, "1/3", 2)):
        ways = SampledGaussian(Fraction(1, 2), Fraction(1)), ReplacedGaussian(Fraction(drawn), Fraction(4))
        parts.append((TruncatedPair((population, Fraction(1, 2), 2), ways), count))
    total = Composition(pairs=tuple(parts))
    with precision(96):
        curve = total.curve(64)
        assert float(curve(Fraction("17.9043")).upper()) > 1e-6 > float(curve(Fraction("17.9045")).lower())
    ours = Accountant([truncated(4, "1/2", 2, count=3), truncated(3, "1/2", 2, count=2)]).epsilon("1e-6")
    assert float(ours.upper) == pytest.approx(16.4565093, abs=1e-6)
    assert ours.lower is None


@deep
def test_a_batch_that_is_never_full_is_a_plain_sample_and_a_rare_one_nearly():
    for kind, plain in ((TruncatedPoisson, PoissonSubsampled), (TruncatedReplaced, PoissonReplaced)):
        whole = Accountant(plain(rate="0.3", of=Gaussian(sigma=2), count=5))
        assert Accountant(truncated(9, "0.3", 9, 2, 5, kind)).epsilon("1e-6") == whole.epsilon("1e-6")
    plain = Accountant(PoissonSubsampled(rate="256/60000", of=Gaussian(sigma="1.1"), count=500)).epsilon(
        "1e-5"
    )
    costs = [
        Accountant(truncated(60000, "256/60000", b, "1.1", 500)).epsilon("1e-5").upper for b in (300, 600)
    ]
    assert costs[0] > costs[1] > plain.lower
    assert costs[1] < plain.upper + Fraction(1, 10**6)
    assert Accountant(truncated(4, 0, 2)).epsilon("1e-6").upper == 0


def test_it_costs_less_with_more_noise_and_little_more_for_many_examples():
    costs = [Accountant(truncated(5, "1/2", 2, sigma)).delta(1).upper for sigma in ("1/2", 1, 2, 9)]
    assert costs == sorted(costs, reverse=True)
    assert Accountant(truncated(10**9, "1/100000", 10300)).delta(1).upper < 1e-4
    assert Accountant(truncated(5, 1, 2, 9)).gdp() == Fraction(4, 81)  # always cut: no mere sample
    assert Accountant(truncated(5, "1/2", 2, 9)).gdp() is None


@looped(
    ("make", "said"),
    [
        (
            lambda: truncated(4, "1/2", 5),
            "4 examples are never more than a batch of 5; give a batch of at most 4",
        ),
        (lambda: truncated(4, "1/2", 0), "batch = 0 is out of range"),
        (lambda: truncated(4, "1.5", 2), "rate = 1.5 is out of range"),
        (lambda: truncated(4, "1/2", "2.5"), "batch = 2.5 is not whole"),
        (lambda: PoissonSubsampled(rate="1/2", of=truncated(4, "1/2", 2)), "it rests on an assumption"),
        (lambda: Accountant(truncated(4, "1/2", 2), group=2).delta(1), "no bound is known for 2 units"),
        (lambda: Plan("replace-one", truncated(4, "1/2", 2)), "use truncated_replaced"),
        (lambda: Plan("add-remove", Sequence(of=(truncated(4, ".5", 2),), cover=(1, 3))), "fewer units than"),
        (lambda: Accountant(truncated(10**30, "1/2", 10**29)).delta(1), "so large a dataset is out of reach"),
    ],
)
def test_what_has_no_bound_is_refused_in_one_sentence(make, said):
    with pytest.raises(InputError) as wrong:
        make()
    assert said in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_files_say_it_with_its_assumption_and_refuse_it_in_a_line(tmp_path, capsys):
    plan = tmp_path / "plan.json"
    text = Plan("add-remove", truncated(4, "1/2", 2)).to_json()
    plan.write_text(text)
    assert cli.run(["account", str(plan), "--epsilon", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "the larger one of two neighbouring datasets has 4 examples" in answer["assumptions"][0]
    plan.write_text(text.replace('"batch": 2', '"batch": 5'))
    assert cli.run(["account", str(plan), "--epsilon", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
