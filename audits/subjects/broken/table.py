"""What every function of this folder claims, and about which data."""

import importlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audits.datasets.shape import Data, Described, Shape
from audits.subjects.code import Code
from dpaccount.errors import InputError


@dataclass(frozen=True)
class ListedFunction:
    """A function to attack: its place, its data, the (ε, δ) that it claims, and whether that holds."""

    name: str
    where: str
    shape: Shape
    epsilon: Fraction
    delta: Fraction
    status: str

    def on(self, relation: str) -> Described:
        """Return the data; raises `InputError` where the function is about another relation."""
        if relation != self.shape.relation:
            raise InputError(f"{self.name} is about {self.shape.relation}", "say that as the relation")
        return self.described

    @property
    def described(self) -> Described:
        """Return the data; with a pair only where it is beyond what the shape suggests."""
        return Described(self.shape, _last_rises() if self.where == "sparse_vector:alg3" else None)

    @property
    def code(self) -> Code:
        """Return the function as a worker imports it."""
        return Code(f"audits.subjects.broken.{self.where}", ())

    @property
    def source(self) -> str:
        """Return what it does and whose mistake it is: the first line of its docstring."""
        module, _, function = self.where.partition(":")
        docstring = (
            getattr(importlib.import_module(f"audits.subjects.broken.{module}"), function).__doc__ or ""
        )
        return str(docstring).splitlines()[0]

    def claimed(self) -> str:
        """Return the claim and its data in words."""
        shape = self.shape
        size = f"{shape.rows}" if shape.columns is None else f"{shape.rows},{shape.columns}"
        kind = "int" if shape.integer else "float"
        data = f"shape {size} in [{min(shape.low):g}, {max(shape.high):g}] ({kind})"
        return f"epsilon {float(self.epsilon):g}, delta {float(self.delta):g}, {shape.relation}, {data}"


def _bits(rows: int, columns: int | None = None, high: float = 1.0, relation: str = "replace-one") -> Shape:
    width = columns or 1
    return Shape(rows, columns, (0.0,) * width, (high,) * width, integer=True, relation=relation)


def _reals(rows: int, columns: int | None, low: float, high: float) -> Shape:
    width = columns or 1
    return Shape(rows, columns, (low,) * width, (high,) * width, integer=False, relation="replace-one")


QUERIES = _bits(10, 10)
SCORES = _bits(10, 5)
TEN = _bits(10)


def _last_rises() -> tuple[Data, Data]:
    """Return the pair on which Algorithm 3 shows most: a low positive after nine negatives."""
    left = np.zeros((10, 10), dtype=np.int64)
    left[:4] = 1
    right = left.copy()
    left[9, 9], right[9, :9] = 1, 1
    return left, right


ONE, TWO, SMALL = Fraction(1), Fraction(2), Fraction(1, 10**5)
NONE = Fraction(0)

TABLE = tuple(
    ListedFunction(name, where, shape, epsilon, delta, status)
    for name, where, shape, epsilon, delta, status in (
        ("svt-1", "sparse_vector:alg1", QUERIES, ONE, NONE, "sound"),
        ("svt-2", "sparse_vector:alg2", QUERIES, ONE, NONE, "sound"),
        ("svt-3", "sparse_vector:alg3", QUERIES, TWO, NONE, "broken"),
        ("svt-4", "sparse_vector:alg4", QUERIES, ONE, NONE, "broken"),
        ("svt-5", "sparse_vector:alg5", QUERIES, ONE, NONE, "broken"),
        ("svt-6", "sparse_vector:alg6", QUERIES, ONE, NONE, "broken"),
        ("noisy-max", "selection:noisy_max", SCORES, ONE, NONE, "sound"),
        ("noisy-max-half", "selection:noisy_max_half", SCORES, ONE, NONE, "broken"),
        ("noisy-max-value", "selection:noisy_max_value", SCORES, ONE, NONE, "broken"),
        ("noisy-max-one-sided", "selection:noisy_max_exponential_value", SCORES, ONE, NONE, "broken"),
        ("exponential-choice", "selection:exponential", SCORES, ONE, NONE, "sound"),
        ("exponential-choice-twice", "selection:exponential_twice", SCORES, ONE, NONE, "broken"),
        ("permute-and-flip-choice", "selection:permute_and_flip", SCORES, ONE, NONE, "sound"),
        ("geometric-count", "counts:geometric_count", TEN, ONE, NONE, "sound"),
        ("clamped-count", "counts:clamped_count", TEN, ONE, NONE, "sound"),
        ("truncated-geometric", "counts:truncated_geometric", TEN, ONE, NONE, "broken"),
        ("grid-sum", "counts:laplace_on_grid", _reals(10, None, -1.0, 2.0), ONE, NONE, "sound"),
        ("unclipped-sum", "counts:unclipped", _reals(10, None, -1.0, 2.0), ONE, NONE, "broken"),
        ("floating-laplace", "counts:floating_laplace", _reals(10, None, 0.0, 1.0), ONE, NONE, "broken"),
        ("floating-gaussian", "counts:floating_gaussian", _reals(10, None, 0.0, 1.0), ONE, SMALL, "broken"),
        ("rounded-gaussian", "counts:rounded_gaussian", TEN, ONE, SMALL, "sound"),
        ("histogram-full", "counts:histogram", _bits(20, None, 3.0), ONE, NONE, "sound"),
        ("histogram-half", "counts:histogram_half", _bits(20, None, 3.0), ONE, NONE, "broken"),
        ("histogram-seen", "counts:histogram_seen", _bits(20, None, 9.0), TWO, SMALL, "broken"),
        (
            "mean-of-private-size",
            "counts:mean_of_private_size",
            _bits(10, None, 1.0, "add-remove"),
            ONE,
            NONE,
            "broken",
        ),
        ("squared-deviations", "counts:deviations", _bits(9, None, 4.0), ONE, NONE, "broken"),
        ("randomised-answers", "counts:randomised_response", _bits(3), ONE, NONE, "sound"),
        ("randomised-answers-loose", "counts:randomised_response_loose", _bits(3), ONE, NONE, "broken"),
        ("sampled-raw", "counts:sampled_raw", _bits(3), ONE, SMALL, "broken"),
        ("reused-noise", "noise:reused_noise", _bits(10, 2), TWO, NONE, "broken"),
        ("separate-noise", "noise:separate_noise", _bits(10, 2), TWO, NONE, "sound"),
        ("fixed-seed", "noise:fixed_seed", TEN, ONE, NONE, "broken"),
        ("tree-nodes", "noise:tree", _bits(8), ONE, NONE, "sound"),
        ("tree-leaf", "noise:tree_leaf", _bits(8), ONE, NONE, "broken"),
        ("tree-prefixes", "noise:tree_prefixes", _bits(8), ONE, NONE, "broken"),
        ("tree-shared", "noise:tree_shared", _bits(8), ONE, NONE, "broken"),
        ("outer-product", "noise:outer_product", _reals(5, 2, -1.0, 1.0), ONE, SMALL, "sound"),
        ("outer-product-short", "noise:outer_product_short", _reals(5, 2, -1.0, 1.0), ONE, SMALL, "broken"),
        ("branch-on-data", "noise:branch", TEN, ONE, NONE, "broken"),
        ("noise-from-range", "noise:spread_noise", _bits(10, None, 4.0), ONE, NONE, "broken"),
        ("local-median", "noise:local_median", _bits(9, None, 10.0), ONE, NONE, "broken"),
        ("bare-projection", "noise:projection", _reals(6, 3, -1.0, 1.0), ONE, SMALL, "broken"),
        ("shuffled-records", "noise:shuffled", _bits(4), ONE, SMALL, "broken"),
    )
)


def function_named(name: str) -> ListedFunction | None:
    """Return the function of this name, or None."""
    return next((each for each in TABLE if each.name == name), None)
