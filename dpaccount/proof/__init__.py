"""Proof: theorems `hypotheses ⊢ conclusion`, and their rules.

A rule takes theorems and a witness, asks `dpaccount.checker` what follows, and returns it as a theorem; or
it raises `RuleError` with what the checker says.  So each rule is stated once in Python, in the checker's
families of the same names, and once in Coq, where it is proved.  Numbers are exact fractions; inequalities
are decided by intervals rounded outward, or refused.

Trusted: the checker alone.  This package builds steps, and `search` proposes witnesses.  Guards against
made-up theorems prevent accidents only: a reader infers every written derivation again.
R0 … R22, and sources: docs/rules.md; docs/proofs.md.
"""

from dpaccount.checker.curves import (
    Approximate,
    BoundedRange,
    Curve,
    Gdp,
    Lattice,
    NearGdp,
    Pure,
    Renyi,
    Zcdp,
)
from dpaccount.checker.facts import (
    ANYONE,
    Apart,
    Choice,
    Contribution,
    Covered,
    Judgement,
    Lipschitz,
    Numbers,
    Persons,
    Private,
    Rare,
    Refuted,
    Rounds,
    Shifts,
    Split,
    Stable,
    View,
)
from dpaccount.checker.facts import Units as Cover
from dpaccount.relation import ADD_REMOVE, CENTRAL, JOINT, LOCAL, RELATIONS, REPLACE_ONE, bounded_row

# A line each: premises → conclusion; side conditions.  By the checker's files, which state them.
from .rules import (
    # hypotheses
    assume_ball,  # → Contribution of ℓ2 norm at most r; r ≥ 0, public source
    assume_cell,  # → Contribution of 1 to one cell, or a few, of an open table
    assume_choice,  # → Choice of one part by a public coin; sorted keys of every part
    assume_clipped,  # → Contribution in [low, high]; low ≤ high, public source
    assume_covers,  # → Covered: which units each release reads; 1 ≤ first ≤ last < 2^63
    assume_each,  # → Stable: every number moves by at most w; w ≥ 0
    assume_filter,  # → Private: a budget that adaptive charges never exceed; pure, (ε, δ), zCDP or GDP, ≥ 0
    assume_l1,  # → Stable: all numbers together move by at most w; w ≥ 0
    assume_lipschitz,  # → Lipschitz: factor·ℓ + slack, and reach in all; each ≥ 0, rows of a convex set
    assume_numbers,  # → Numbers: how many a release has at most; at least 1
    assume_persons,  # → Persons: a change is at most k steps of rows; k ≥ 2, who goes takes rows along
    assume_points,  # → Contribution of a finite set; integer vectors of one dimension, public source
    assume_range,  # → Stable: the range of scores' differences is at most w; w ≥ 0
    assume_rank_one,  # → Contribution [φφᵀ, φy, yφᵀ, 0], or with y²; |y| ≤ B, replace-one, public source
    assume_rare,  # → Rare departure; 0 ≤ p ≤ 1
    assume_rounds,  # → Rounds: which unit enters which; 1 ≤ rounds < 2^63
    assume_split,  # → Split by value; cells named once
    assume_tree,  # → Covered by the nodes of a binary tree; no more levels than there are
    assume_view,  # → View: an output, from which releases; no repeated keys
    # sensitivity
    buffered,  # Stable ℓ2, Rounds → Stable ℓ2; covers column and floors of rows of `width` numbers, 0 ≤ λ < 1
    centred,  # Stable ℓ2, Rounds → times 1 − 1/n; replace-one, n public, a unit is a row, not transformed
    differences,  # Contribution of points or to cells → Shifts
    factorised,  # Stable ℓ2, Rounds → times C's columns; lower triangle / 2^bits; several rounds: plain sums
    joint,  # Contribution of rank one → Stable ℓ2 of matrix and vector as one; no corner, w > 0
    linear,  # Contribution → Stable in ℓ1, ℓ2² or Frobenius²; a set with a known closed form
    moved,  # Lipschitz → Stable ℓ2; bounded-row of a radius > 0, or replace-one by the reach
    stream_l1,  # Contribution of an interval, Rounds → Stable ℓ1; one round a unit, which its data may choose
    # noise
    discrete_gaussian,  # Stable ℓ2 or Frobenius → zCDP ρ = μ²/2; variance > 0, values on the grid
    exponential,  # Stable range → BoundedRange rate·width; rate > 0, exact sampler
    fine_gaussian,  # Stable ℓ2 or Frobenius, Numbers → NearGdp; σ ≥ grid, a distance that covers rounding
    finite,  # Contribution of points → Pure; replace-one, rows of probabilities, no one-sided outcome
    gaussian,  # Stable ℓ2 or Frobenius → Gdp μ² = Δ²/σ²; variance > 0, symmetric noise on symmetric queries
    k_norm,  # Stable ℓ2 → Pure rate·Δ; a stated bound of Δ, on a grid, one draw: not transformed
    laplace,  # Stable ℓ1 → Pure Δ/scale; scale > 0, grid > 0 or none
    lattice_gaussian,  # Shifts → Lattice; variance > 0
    permute_and_flip,  # Stable range → Pure rate·width; rate > 0
    shuffled,  # Contribution of points → (ε, δ); a table as of finite, size 2 … 10000, δ covers clones
    sparse_vector,  # Stable each → Pure Δ/b₁ + 2cΔ/b₂; scales > 0, c ≥ 1 answers above
    stable_histogram,  # Contribution to k cells → (k/scale, δ); add-remove, τ ≥ 2, δ covers lone records
    # composition
    billboard,  # Private central, View others → joint; a view of just these releases
    compose,  # Private … → amounts add; one measure, relation and observer
    local,  # Private, Covered → local; every release reads one unit, which is replaced
    local_view,  # Private local, View → Private of the view; a view of just these releases
    mixture,  # Choice, Private … → the worst; alike, keys as chosen, none shared that may depart
    nodes,  # Private, Covered → times what one unit meets; central, of the leaf's query, no units yet
    parallel,  # Private … → the worst; alike, of disjoint units, of single rows
    partition,  # Split, Private … → the worst cell, or two; all cells named, none reads anyone
    post_process,  # Private central, View everyone → Private of the view; a view of just these releases
    # conversions
    despite,  # Private (ε, δ), Rare → δ + p, or δ + (1 + e^ε)p; the same subject
    group,  # Private → of groups of k ≥ 2: kε, k²μ², k²ρ; the path between them stays in the domain
    persons,  # Private of groups, Persons → Private of persons; groups of as many rows, central, no units
    replace_one,  # Private → replace-one; add-remove for groups of 2
    to_approximate,  # Private → (ε, δ); δ(ε) ≤ δ, zCDP and Rényi at an order above 1
    to_gdp,  # Private pure ε, or bounded range 2ε → GDP; Φ(−μ/2)(1 + e^ε) ≤ 1
    to_near_gdp,  # Private GDP → NearGdp at distance 0
    to_pure,  # Private of bounded range → pure η
    to_renyi,  # Private zCDP → Rényi αρ; rising orders above 1
    to_zcdp,  # Private pure, GDP, lattice or bounded range → zCDP ε²/2, μ²/2, k|v|²/2σ², η²/8
    within,  # Private bounded-row for groups of k → bounded-row; radius ≤ k·r, rows of a convex set
    # refutations
    apart,  # Apart, Covered → Apart by noise; covers of its query; every release shown, noise of a known law
    assume_event,  # → Apart by an event likely for one and rare for the other; probabilities
    assume_neighbours,  # → Apart by contributions; inside the relation
    refute,  # Apart by laws → Refuted; δ(ε) of the pair is above δ
)
from .theorem import Hypothesis, Theorem, hypotheses, point, read, releases, walk, write
