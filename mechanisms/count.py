"""The number of rows that satisfy a public condition; each row is 0 or 1."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem
from mechanisms.shared.counts import NoisyCounts
from mechanisms.shared.votes import votes
from mechanisms.subject import Domain, Rows


@dataclass(frozen=True)
class Count(NoisyCounts):
    """Release how many of `rows` numbers are 1; noise of `law` and `scale` on the integers.

    A number is rounded down and clipped to 0 … 1 (NaN is 0).  Replacing a row changes the count by
    at most 1, as adding one does.  `law` is ``laplace`` (pure ε) or ``gaussian`` (the exact curve
    of discrete Gaussian noise, whose standard deviation is `scale`, a double exactly).
    """

    source: ClassVar[str] = "Ghosh, Roughgarden & Sundararajan 2012; Canonne, Kamath & Steinke 2020"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "number"

    def domain(self) -> Domain:
        """Return one column of integers that reaches beyond 0 and 1, so that rows are clipped."""
        return Domain(self.rows, (-1.0,), (2.0,), (True,))

    def query(self, data: Rows) -> Integers:
        """Return the exact count."""
        return votes(data[:, :1], 1)

    def proof(self, delta: Fraction) -> Theorem:
        """Count 0 or 1 for every row; noise by the law."""
        return self.noisy_counts("count", self.zero_or_one(), delta)
