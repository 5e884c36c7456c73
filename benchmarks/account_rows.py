"""Realistic plans, each with its relation and δ; benchmarks and tests ask for their ε."""

from dpaccount.plan.events import (
    DiscreteLaplace,
    Event,
    Gaussian,
    Laplace,
    PoissonSubsampled,
    RandomAllocation,
    RandomizedResponse,
    Relation,
)

AccountRow = tuple[Relation, tuple[Event, ...], str]


def trained(rate: str, sigma: str, steps: int) -> PoissonSubsampled:
    """Return so many steps of DP-SGD on Poisson samples."""
    return PoissonSubsampled(rate=rate, of=Gaussian(sigma=sigma), count=steps)


def _row(delta: str, *events: Event) -> AccountRow:
    either = Relation.ADD_REMOVE
    if any(isinstance(event, RandomizedResponse) for event in events):
        either = Relation.REPLACE_ONE
    return either, events, delta


REALISTIC = {
    "MNIST": _row("1e-5", trained("0.00427", "1.1", 14063)),
    "CIFAR": _row("1e-5", trained("0.0819", "9.4", 2000)),
    "CIFAR, less noise": _row("1e-5", trained("0.082", "3", 875)),
    "ImageNet": _row("8e-7", trained("0.01279", "2.5", 71589)),
    "language model": _row("1e-6", trained("0.001", "0.7", 3000)),
    "language model, little noise": _row("1e-7", trained("0.002", "0.5", 100_000)),
    "a million steps": _row("1e-6", trained("0.1", "10", 10**6)),
    "large ε": _row("1e-6", trained("0.1", "0.5", 1000)),
    "two phases": _row("1e-6", trained("0.01", "1", 5000), trained("0.05", "2", 2000)),
    "1000 Laplaces": _row("1e-6", Laplace(scale=100, count=1000)),
    "daily, ten years": _row("1e-6", Laplace(scale=365, count=3650)),
    "ten scales": _row("1e-6", *(Laplace(scale=scale, count=36) for scale in range(10, 20))),
    "Gaussians and Laplaces": _row("1e-6", Gaussian(sigma=5, count=20), Laplace(scale=20, count=52)),
    "sampled Laplaces": _row("1e-6", PoissonSubsampled(rate="0.01", of=Laplace(scale=1), count=1000)),
    "daily reports": _row("1e-6", DiscreteLaplace(scale=15, count=30)),
    "random allocation": _row("1e-5", RandomAllocation(steps=234, of=Gaussian(sigma="1.1"), count=60)),
    "1024 answers": _row("1e-6", RandomizedResponse(epsilon=2, k=1024, count=30)),
}
