"""The published curator's parameters, as a claim gives them; it has no proof, as what it claims is false."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import InputError, RuleError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import Theorem
from dpaccount.relation import bounded_row
from mechanisms.subject import Domain, Rows, View, wide


@dataclass(frozen=True)
class PoCurator:
    """Algorithm 1 on a table: `rows` of `columns` numbers, projected to `dimension` (the paper's r).

    Run by `dpaccount curate --published-unsound` alone.
    """

    source: ClassVar[str] = "Kharkovskii, Dai & Low 2020, Algorithm 1 (Theorem 1 is refuted)"
    status: ClassVar[str] = "published"
    reads: ClassVar[str] = "numbers"

    rows: int = 20
    columns: int = 2
    dimension: int = 10
    radius: Fraction = Fraction(25)
    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense; few rows are another case of the theorem."""
        if min(self.rows, self.columns, self.dimension) < 1 or min(self.radius, self.unit) <= 0:
            raise out_of_range("rows, columns and dimension >= 1, radius > 0 and a unit > 0")
        if self.rows < self.columns + 2:
            raise InputError(
                f"{self.rows} rows of {self.columns} numbers: n <= d + 1 is another case of the theorem"
                " (dpaccount claims kharkovskii-theorem1)",
                "curate takes n >= d + 2",
            )

    @property
    def relation(self) -> str:
        """Return which datasets are neighbours: one row moves by at most `unit`."""
        return bounded_row(self.unit)

    def domain(self) -> Domain:
        """Return rows of any numbers."""
        return wide(self.rows, self.columns, float(2 * self.radius))

    def proof(self, delta: Fraction) -> Theorem:
        """Refuse: a neighbour moves the column space that Z lies in, so no δ below 1 holds."""
        raise RuleError("Algorithm 1 has no proof: `dpaccount claims kharkovskii-theorem1` refutes it")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Refuse: it draws no noise, so no receipt covers what it shows."""
        raise InputError("po-curator is run by `dpaccount curate --published-unsound` alone")
