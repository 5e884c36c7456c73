"""Realistic plans: what the checker confirms lies within 1e-4 of the tight answer, in at most its work."""

import pytest

from audits.accounts.certificate import certificate
from dpaccount.checker.documents import Work
from dpaccount.exact import as_exact
from dpaccount.plan import events as ev
from tests.dpaccount.accounting.test_metamorphic import accountant


def trained(rate, sigma, steps):
    return ev.PoissonSubsampled(rate=rate, of=ev.Gaussian(sigma=sigma), count=steps)


ROWS = {
    "MNIST": ([trained("0.00427", "1.1", 14063)], "1e-5"),
    "CIFAR": ([trained("0.0819", "9.4", 2000)], "1e-5"),
    "CIFAR, less noise": ([trained("0.082", 3, 875)], "1e-5"),
    "ImageNet": ([trained("0.01279", "2.5", 71589)], "8e-7"),
    "language model": ([trained("0.001", "0.7", 3000)], "1e-6"),
    "language model, little noise": ([trained("0.002", "0.5", 100_000)], "1e-7"),
    "a million steps": ([trained("0.1", 10, 10**6)], "1e-6"),
    "large ε": ([trained("0.1", "0.5", 1000)], "1e-6"),
    "two phases": ([trained("0.01", 1, 5000), trained("0.05", 2, 2000)], "1e-6"),
    "1000 Laplaces": ([ev.Laplace(scale=100, count=1000)], "1e-6"),
    "daily, ten years": ([ev.Laplace(scale=365, count=3650)], "1e-6"),
    "ten scales": ([ev.Laplace(scale=scale, count=36) for scale in range(10, 20)], "1e-6"),
    "Gaussians and Laplaces": ([ev.Gaussian(sigma=5, count=20), ev.Laplace(scale=20, count=52)], "1e-6"),
    "sampled Laplaces": ([ev.PoissonSubsampled(rate="0.01", of=ev.Laplace(scale=1), count=1000)], "1e-6"),
    "daily reports": ([ev.DiscreteLaplace(scale=15, count=30)], "1e-6"),
    "random allocation": ([ev.RandomAllocation(steps=234, of=ev.Gaussian(sigma="1.1"), count=60)], "1e-5"),
    "two steps": ([ev.RandomAllocation(steps=2, of=ev.Pure(epsilon="0.5"), count=30)], "1e-6"),
    "1024 answers": ([ev.RandomizedResponse(epsilon=2, k=1024, count=30)], "1e-6"),
}
QUICK = ("1000 Laplaces", "daily, ten years", "daily reports", "1024 answers", "two steps")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in ROWS]
)
def test_the_confirmed_end_is_near_the_tight_one(name):
    events, delta = ROWS[name]
    total = accountant(*events)
    tight = total.epsilon(delta)
    document = certificate(total.plan.as_json(), tight.as_json(), delta=as_exact(delta))
    confirmed = as_exact(document["confirmed"]["upper"])
    assert tight.lower <= confirmed <= tight.upper * (1 + as_exact("1e-4"))
    assert Work.spent <= Work.limit
