"""A width in place of Theorem 1's of Dubey 2021, for the noise that `jdp-gp-ucb` really adds.

After t people the server has V = Σ + R, R = N + (1 + shift)·I, and u = Σφy + h.  N is symmetric; its entries
above the diagonal and those of h are independent and sub-Gaussian of variance s², the diagonal's of 2s²: each
is a weighted sum of discrete Gaussian draws, sub-Gaussian of their own σ² (Canonne, Kamath & Steinke 2020).
N and h are drawn whatever the data are, so what holds of them holds for people who were chosen by
earlier sums too.  Let y = ⟨θ, φ⟩ + e + η with ‖θ‖ ≤ B, |e| ≤ E and η sub-Gaussian of ρ² given φ and the past.
Then θ̃ = V⁻¹u has θ̃ − θ = V⁻¹(Σφη + Σφe + h − Rθ), and |⟨θ̃ − θ, φ⟩| ≤ w·√(φᵀV⁻¹φ) for every φ, w the sum of
four norms in V⁻¹.  With m features and K posteriors, all at once but for a chance of ζ:

* ‖N‖ ≤ a = s√(2(m + 1) ln(8mK/ζ)) but for ζ/4K each: N is a series Σ ξA of such ξ, and the norm of Σ var(ξ)A²
  is (m + 1)s² (Tropp 2012, Theorem 4.1, whose proof needs the scalar moment generating functions alone).  So
  c·I ≤ R ≤ (1 + shift + a)·I, c = 1 + shift − a, if that is above 0, and no eigenvalue had to be raised.
* ‖h‖ ≤ s(√m + √(2 ln(4K/ζ))) but for ζ/4K each (Hsu, Kakade & Zhang 2012), and in V⁻¹ at most ‖h‖/√c.
* ‖Σφη‖ ≤ ρ√(ln(det V/c^m) + 2 ln(2K/ζ)) but for ζ/2K each: that of Abbasi-Yadkori et al. 2011 in the norm
  of (Σ + cI)⁻¹, which is no smaller, and Σ + cI ≤ V.  c differs between posteriors, hence K times.
* ‖Σφe‖ ≤ E√t, since Φ(ΦᵀΦ + R)⁻¹Φᵀ ≤ I; and ‖Rθ‖ ≤ √(θᵀRθ) ≤ B√(1 + shift + a).

The paper has tBε/√λ_min in place of E√t, and one λ_min for all rounds.
"""

from math import log, sqrt

import numpy as np

from bandits.jdp_gp_ucb import DEVIATION, JdpGpUcb
from bandits.statistics import continual_sums
from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError, out_of_range
from mechanisms.symmetric_gaussian import FEATURE_BITS


def exact_width(
    subject: JdpGpUcb, people: int, gram: Floats, *, norm: float, error: float = 0.0, zeta: float = 0.1
) -> float:
    """Return w: |⟨θ̃ − θ, φ⟩| ≤ w·√(φᵀV⁻¹φ) for all φ and all posteriors at once, but for a chance of `zeta`.

    `subject`: with its noise and shift; rewards in [0, 1], whose deviation ρ is ½ by Hoeffding's lemma.
    `people`, `gram`: those whom the posterior sums, t, and its V.
    `norm`: B, at least ‖θ‖, where ⟨θ, φ⟩ is the mean reward, less ½ where the subject centres it.
    `error`: the most by which the mean reward deviates from that; what truncation adds is added here.
    Raises `InputError` for a shift that does not surely exceed the noise.
    """
    if not 0 < zeta < 1 or min(norm, error) < 0 or not 1 <= people <= subject.rounds:
        raise out_of_range("0 < zeta < 1, norm >= 0, error >= 0 and people of the subject's")
    size, looks = subject.features.size, len(subject.batches)
    deviation = float(subject.noise_scale) * continual_sums.deviation(subject.stream, people, subject.rounds)
    edge = deviation * sqrt(2 * (size + 1) * log(8 * size * looks / zeta))
    shift = subject.shift_after(people)
    least, most = 1 + shift - edge, 1 + shift + edge
    if least <= 0:
        right = f"take {float(subject.shift) * edge / shift:.3g} at least" if shift else "take one above 0"
        raise InputError(f"the shift {float(subject.shift):.3g} may be below the noise", right)
    moved = deviation * (sqrt(size) + sqrt(2 * log(4 * looks / zeta)))
    _, volume = np.linalg.slogdet(gram)
    learned = DEVIATION * sqrt(max(float(volume) - size * log(least), 0.0) + 2 * log(2 * looks / zeta))
    # Features and rewards are truncated to multiples of 2^−15 where they enter the sums.
    off = error + (1 + norm * sqrt(size)) / 2.0**FEATURE_BITS
    return norm * sqrt(most) + off * sqrt(people) + moved / sqrt(least) + learned
