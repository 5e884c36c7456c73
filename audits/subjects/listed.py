"""Functions that `dpaccount list` shows after the catalogued classes: what each claims, on which data."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from audits.datasets.shape import Described, Shape
from audits.subjects import broken
from dpaccount.errors import InputError

if TYPE_CHECKING:
    from audits.subjects.code import Code


@dataclass(frozen=True)
class ListedFunction:
    """A function to attack, the data and the (ε, δ) that it claims, and whether that holds."""

    function: Callable[..., Any]
    shape: Shape
    status: str
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)

    @property
    def name(self) -> str:
        """Return the name in claims and lists."""
        return self.function.__name__.replace("_", "-")

    def on(self, relation: str) -> Described:
        """Return the data; raises `InputError` where the function is about another relation."""
        if relation != self.shape.relation:
            raise InputError(f"{self.name} is about {self.shape.relation}", "say that as the relation")
        return Described(self.shape)

    @property
    def code(self) -> "Code":
        """Return the function as a worker imports it."""
        from audits.subjects.code import Code  # a list runs none of them

        return Code(f"{self.function.__module__}:{self.function.__name__}", ())

    @property
    def source(self) -> str:
        """Return what it does and whose mistake it is: the first line of its docstring."""
        return str(self.function.__doc__).splitlines()[0]

    def claimed(self) -> str:
        """Return the claim and its data in words."""
        shape = self.shape
        size = f"{shape.rows}" if shape.columns is None else f"{shape.rows},{shape.columns}"
        kind = "int" if shape.integer else "float"
        data = f"shape {size} in [{min(shape.low):g}, {max(shape.high):g}] ({kind})"
        return f"epsilon {float(self.epsilon):g}, delta {float(self.delta):g}, {shape.relation}, {data}"


def described(
    rows: int,
    columns: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    integer: bool = True,
    relation: str = "replace-one",
) -> Shape:
    """Return the shape of datasets with the same bounds in every column."""
    width = columns or 1
    return Shape(rows, columns, (low,) * width, (high,) * width, integer, relation)


TABLE = (
    ListedFunction(broken.svt_1, described(10, 10), "sound"),
    ListedFunction(broken.svt_5, described(10, 10), "broken"),
    ListedFunction(broken.geometric_count, described(10), "sound"),
    ListedFunction(broken.fixed_seed, described(10), "broken"),
    ListedFunction(broken.floating_laplace, described(10, integer=False), "broken"),
    ListedFunction(broken.histogram_half, described(20, high=3.0), "broken"),
)


def function_named(name: str) -> ListedFunction | None:
    """Return the function of this name, or None."""
    return next((each for each in TABLE if each.name == name), None)
